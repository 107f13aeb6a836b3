"""Telling a whole GGUF from everything else."""

from __future__ import annotations

import contextlib
import random
import struct
from pathlib import Path

import pytest

from troth.sources.faults import SourceFault
from troth.sources.gguf import inspect_gguf

F32, Q4_0 = 0, 2


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()


def strings(key: str, values: list[str]) -> bytes:
    return text(key) + struct.pack("<IIQ", 9, 8, len(values)) + b"".join(map(text, values))


def tensor(name: str, shape: tuple[int, ...], kind: int, offset: int) -> bytes:
    return text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, offset)


def gguf(*, version: int = 3, alignment: int | None = None, entries: list[bytes] | None = None) -> bytes:
    """A small whole file: two tensors, values of every kind in the header."""
    held = [
        text("general.architecture") + struct.pack("<I", 8) + text("llama"),
        text("a.bool") + struct.pack("<I?", 7, True),
        text("a.float64") + struct.pack("<Id", 12, 1.5),
        text("a.ints") + struct.pack("<IIQ3i", 9, 5, 3, 1, 2, 3),
        strings("tokenizer.ggml.tokens", ["a", "bc", ""]),
        text("a.nested") + struct.pack("<IIQ", 9, 9, 1) + struct.pack("<IQ2B", 0, 2, 1, 2),
        *(entries or []),
    ]
    if alignment is not None:
        held.append(text("general.alignment") + struct.pack("<II", 4, alignment))
    step = alignment or 32
    tensors = tensor("x", (3,), F32, 0) + tensor("y", (32, 2), Q4_0, step)
    header = b"GGUF" + struct.pack("<IQQ", version, 2, len(held)) + b"".join(held) + tensors
    padding = -len(header) % step
    return header + bytes(padding) + bytes(step) + bytes(36)


def fault_of(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    with pytest.raises(SourceFault) as caught:
        inspect_gguf(path)
    return caught.value.message


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("alignment", [None, 64])
def test_a_whole_file_is_accepted(tmp_path: Path, version: int, alignment: int | None) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(gguf(version=version, alignment=alignment))

    inspect_gguf(path)


def test_a_file_cut_anywhere_is_refused(tmp_path: Path) -> None:
    whole = gguf()

    for length in range(4, len(whole)):
        assert "cut off or damaged" in fault_of(tmp_path / "m.gguf", whole[:length]), length


def test_the_missing_bytes_are_told(tmp_path: Path) -> None:
    whole = gguf()

    message = fault_of(tmp_path / "m.gguf", whole[:-1])

    assert f"it should have {len(whole)} bytes, and it has {len(whole) - 1} bytes. Fetch it again" in message


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"GG", "is not a GGUF file: it begins with b'GG' where GGUF has b'GGUF'"),
        (b"PK\x03\x04rest", "it looks like a zip archive"),
        (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS pointer"),
        (b"<!DOCTYPE html>", "a web page"),
        (b'{"error": 1}', "JSON text"),
        (struct.pack("<Q", 20) + b'{"__metadata__":{}}', "safetensors"),
        (b"ggml" + bytes(100), "old GGML format"),
    ],
)
def test_another_kind_of_file_is_named(tmp_path: Path, content: bytes, words: str) -> None:
    assert words in fault_of(tmp_path / "m.gguf", content)


@pytest.mark.parametrize(
    ("start", "words"),
    [
        (b"GGUF" + struct.pack("<IQQ", 1, 0, 0), "its GGUF version is 1"),
        (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "it is big-endian"),
        (b"GGUF" + struct.pack("<IQQ", 3, 2**60, 1), "the header announces more than the file holds"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("k") + struct.pack("<I", 77), "the unknown type 77"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<QI", 2**63, 0), "it ends inside the header"),
        (
            b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("general.alignment") + struct.pack("<II", 4, 0),
            "its alignment is 0",
        ),
        (b"GGUF" + struct.pack("<IQQ", 3, 1, 0) + text("t") + struct.pack("<I", 9) + bytes(99), "9 dimensions"),
    ],
)
def test_a_header_that_makes_no_sense_is_refused(tmp_path: Path, start: bytes, words: str) -> None:
    assert words in fault_of(tmp_path / "m.gguf", start)


def test_lists_in_lists_without_end_are_refused(tmp_path: Path) -> None:
    deep = text("k") + struct.pack("<I", 9) + struct.pack("<IQ", 9, 1) * 100

    assert "damaged" in fault_of(tmp_path / "m.gguf", b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + deep)


def test_random_damage_gives_a_fault_or_nothing_and_never_another_error(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    numbers = random.Random(7)
    for _ in range(300):
        content = bytearray(gguf())
        for _ in range(3):
            content[numbers.randrange(4, len(content))] = numbers.randrange(256)
        path.write_bytes(content)
        with contextlib.suppress(SourceFault):
            inspect_gguf(path)


def test_a_file_that_cannot_be_read_is_a_fault(tmp_path: Path) -> None:
    with pytest.raises(SourceFault, match="cannot read"):
        inspect_gguf(tmp_path / "absent.gguf")
