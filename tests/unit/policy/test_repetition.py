"""How large patterns are when their repetitions are written out."""

from __future__ import annotations

import pytest

from troth.policy.repetition import expanded_size


@pytest.mark.parametrize(
    ("pattern", "size"),
    [
        ("", 0),
        ("abc", 3),
        ("a{3}", 3),
        ("a{2,5}", 5),
        ("a{2,}", 2),
        ("(ab){10}", 20),
        ("((a{10}){10}){10}", 1000),
        ("[a-z{9}]{4}x", 5),
        (r"\{9}", 3),
        (r"\(a{3}", 4),
        ("a{0}", 1),
        ("(", 0),
        (")", 1),
        ("[", 1),
        ("a{99999999999999999999}", 9_999_999),
    ],
)
def test_repetitions_multiply(pattern: str, size: int) -> None:
    assert expanded_size(pattern) == size


def test_no_pattern_takes_long() -> None:
    assert expanded_size("(" * 100_000 + "a" + "){9}" * 100_000) == 10**12
