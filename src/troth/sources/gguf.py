"""A look at a GGUF file before an engine loads it: llama.cpp's own words for a broken file help nobody.

The whole header is read (GGUF versions 2 and 3), every count and length held against the size of the file, and
the end of the tensor data computed from it.
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from pathlib import Path

from troth.sources.faults import SourceFault

_MAGIC = b"GGUF"
_DEFAULT_ALIGNMENT = 32  # bytes
_DIMENSIONS_MAX = 4
_STRING, _ARRAY = 8, 9
_NESTING_MAX = 8
_FIXED_BYTES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
# The weights and bytes of a block, and the ggml types that have it (ggml-common.h).
_LAYOUTS = (
    ((1, 1), (24,)),
    ((1, 2), (1, 25, 30)),
    ((1, 4), (0, 26)),
    ((1, 8), (27, 28)),
    ((32, 17), (39,)),
    ((32, 18), (2, 20)),
    ((32, 20), (3,)),
    ((32, 22), (6,)),
    ((32, 24), (7,)),
    ((32, 34), (8,)),
    ((32, 36), (9,)),
    ((64, 18), (42,)),
    ((64, 36), (40,)),
    ((128, 18), (41,)),
    ((256, 50), (19,)),
    ((256, 54), (34,)),
    ((256, 56), (29,)),
    ((256, 66), (16, 35)),
    ((256, 74), (17,)),
    ((256, 82), (22,)),
    ((256, 84), (10,)),
    ((256, 98), (18,)),
    ((256, 110), (11, 21)),
    ((256, 136), (23,)),
    ((256, 144), (12,)),
    ((256, 176), (13,)),
    ((256, 210), (14,)),
    ((256, 292), (15,)),
)
_BLOCKS = {kind: layout for layout, kinds in _LAYOUTS for kind in kinds}
_OTHER_FILES = (
    (b"PK\x03\x04", "a zip archive, such as a wheel"),
    (b"version https://git-lfs", "a Git LFS pointer: run `git lfs pull` where it came from"),
    (b"ggml", "a model in the old GGML format: convert it to GGUF"),
    (b"lmgg", "a model in the old GGML format: convert it to GGUF"),
    (b"tjgg", "a model in the old GGJT format: convert it to GGUF"),
    (b"<", "a web page or XML: the download went wrong"),
    (b"{", "JSON text: the download may have gone wrong"),
)
_SAFETENSORS = b'{"'


def inspect_gguf(path: Path) -> None:
    """The file is a GGUF model and whole, as far as its header tells. Raises: SourceFault."""
    try:
        with path.open("rb") as file:
            size = path.stat().st_size
            if size == 0:
                raise SourceFault(f"{path} is empty")
            start = file.read(64)
            if start[:4] != _MAGIC:
                raise SourceFault(f"{path} is not a GGUF file: {_resembles(start)}")
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                _Header(content, size, path).check()
    except OSError as error:
        raise SourceFault(f"cannot read {path}: {error.strerror or error}") from error


def _resembles(start: bytes) -> str:
    if start[8:10] == _SAFETENSORS:
        return "it looks like safetensors; convert it to GGUF"
    known = next((words for magic, words in _OTHER_FILES if start.startswith(magic)), None)
    if known is not None:
        return f"it looks like {known}"
    return f"it begins with {start[:4]!r} where GGUF has {_MAGIC!r}"


@dataclass(slots=True)
class _Header:
    content: mmap.mmap
    size: int
    path: Path
    position: int = 4
    alignment: int = _DEFAULT_ALIGNMENT

    def check(self) -> None:
        version = self._number("<I")
        if version not in (2, 3):
            turned = int.from_bytes(version.to_bytes(4, "little"), "big")
            words = "it is big-endian" if turned in (2, 3) else f"its GGUF version is {version}"
            raise SourceFault(f"{self.path}: {words}; versions 2 and 3, little-endian, can be loaded")
        tensors, entries = self._number("<Q"), self._number("<Q")
        # An entry takes 13 bytes and a tensor 24 at the least: counts beyond that are no counts.
        if entries * 13 + tensors * 24 > self.size:
            raise self._cut_off("the header announces more than the file holds")
        for _ in range(entries):
            self._entry()
        end = 0
        for _ in range(tensors):
            end = max(end, self._tensor())
        data = -(-self.position // self.alignment) * self.alignment
        if tensors and data + end > self.size:
            raise self._cut_off(f"it should have {data + end} bytes")

    def _cut_off(self, why: str) -> SourceFault:
        return SourceFault(f"{self.path} is cut off or damaged: {why}, and it has {self.size} bytes. Fetch it again")

    def _skip(self, count: int) -> int:
        at = self.position
        if count > self.size - at:
            raise self._cut_off("it ends inside the header")
        self.position = at + count
        return at

    def _number(self, form: str) -> int:
        at = self._skip(struct.calcsize(form))
        return int(struct.unpack_from(form, self.content, at)[0])

    def _string(self) -> bytes:
        length = self._number("<Q")
        at = self._skip(length)
        return self.content[at : at + length]

    def _entry(self) -> None:
        key = self._string()
        kind = self._number("<I")
        if key == b"general.alignment" and kind == 4:
            self.alignment = self._number("<I")
            if self.alignment == 0 or self.alignment % 8:
                raise SourceFault(f"{self.path} is damaged: its alignment is {self.alignment}")
            return
        self._value(kind, depth=0)

    def _value(self, kind: int, *, depth: int) -> None:
        if kind in _FIXED_BYTES:
            self._skip(_FIXED_BYTES[kind])
        elif kind == _STRING:
            self._skip(self._number("<Q"))
        elif kind == _ARRAY and depth < _NESTING_MAX:
            item, count = self._number("<I"), self._number("<Q")
            if item in _FIXED_BYTES:
                self._skip(_FIXED_BYTES[item] * count)
            elif item == _STRING:
                self._strings(count)
            else:
                for _ in range(min(count, self.size)):
                    self._value(item, depth=depth + 1)
        else:
            raise SourceFault(f"{self.path} is damaged: its header has a value of the unknown type {kind}")

    def _strings(self, count: int) -> None:
        """Skip a list of strings; a vocabulary has a quarter of a million, so this loop is kept bare."""
        content, size, at = self.content, self.size, self.position
        length_at = struct.Struct("<Q").unpack_from
        for _ in range(count):
            if at + 8 > size:
                raise self._cut_off("it ends inside the header")
            at += 8 + length_at(content, at)[0]
        if at > size:
            raise self._cut_off("it ends inside the header")
        self.position = at

    def _tensor(self) -> int:
        """The end of one tensor, in bytes from the start of the tensor data."""
        name = self._string().decode(errors="replace")
        dimensions = self._number("<I")
        if dimensions > _DIMENSIONS_MAX:
            raise SourceFault(f"{self.path} is damaged: tensor {name} has {dimensions} dimensions")
        weights = 1
        for _ in range(dimensions):
            weights *= self._number("<Q")
        kind, offset = self._number("<I"), self._number("<Q")
        # A type made after this table was: the offset alone still shows most cuts.
        block_weights, block_bytes = _BLOCKS.get(kind, (1, 0))
        return offset + weights // block_weights * block_bytes
