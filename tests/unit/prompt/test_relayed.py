"""The room of an answer that another server gives."""

from __future__ import annotations

import pytest

from troth.domain import Budget, Fit
from troth.prompt.relayed import fit_unread


@pytest.mark.parametrize(
    ("asked", "default", "cap", "fit"),
    [
        (None, None, None, Fit(-1, None)),
        (5, None, None, Fit(5, None)),
        (None, 7, None, Fit(7, None)),
        (None, None, 9, Fit(9, None)),
        (None, 12, 9, Fit(9, None)),
        (9, None, 9, Fit(9, None)),
        (10, None, 9, Fit(9, 10)),
    ],
)
def test_an_unread_prompt_leaves_what_the_cap_leaves(
    asked: int | None, default: int | None, cap: int | None, fit: Fit
) -> None:
    assert fit_unread(Budget(asked, default, cap)) == fit
