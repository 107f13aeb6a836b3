"""Bytes on their way to disk: written to a `.part` file, hashed, and put in place in one step."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Settled:
    """What is on disk now."""

    sha256: str  # hexadecimal, lower case
    size: int  # bytes


def copy(source: IO[bytes], part: Path, at: Callable[[int], None]) -> Settled:
    """`part` holds all of `source` and is on disk. `at` is told the bytes written so far."""
    digest = hashlib.sha256()
    size = 0
    with part.open("wb") as target:
        while chunk := source.read(CHUNK_BYTES):
            target.write(chunk)
            digest.update(chunk)
            size += len(chunk)
            at(size)
        flush(target)
    return Settled(digest.hexdigest(), size)


def hash_file(path: Path, at: Callable[[int], None] | None = None) -> Settled:
    """The hash and size of a file, read once in pieces."""
    digest = hashlib.sha256()
    size = 0
    with path.open("rb") as source:
        while chunk := source.read(CHUNK_BYTES):
            digest.update(chunk)
            size += len(chunk)
            if at is not None:
                at(size)
    return Settled(digest.hexdigest(), size)


def flush(target: IO[bytes]) -> None:
    """What was written to `target` is on disk."""
    target.flush()
    os.fsync(target.fileno())


def put_in_place(part: Path, target: Path) -> None:
    """`target` is the new file, whole; a crash at any moment leaves the old one or the new one."""
    os.replace(part, target)
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def write_in_place(target: Path, content: bytes) -> None:
    """`target` holds `content`, whole."""
    part = target.with_name(f"{target.name}.{os.getpid()}.new")
    with part.open("wb") as stream:
        stream.write(content)
        flush(stream)
    put_in_place(part, target)
