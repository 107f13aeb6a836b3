"""Files that are whole or not there."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path

from troth.sources.transfer import CHUNK_BYTES, Settled, copy, hash_file, put_in_place, write_in_place

CONTENT = bytes(range(256)) * (CHUNK_BYTES // 128)  # two chunks
SETTLED = Settled(hashlib.sha256(CONTENT).hexdigest(), len(CONTENT))


def test_a_copy_is_hashed_on_the_way(tmp_path: Path) -> None:
    positions: list[int] = []

    assert copy(io.BytesIO(CONTENT), tmp_path / "f.part", positions.append) == SETTLED
    assert (tmp_path / "f.part").read_bytes() == CONTENT
    assert positions == [CHUNK_BYTES, 2 * CHUNK_BYTES]


def test_a_hash_tells_how_far_it_is(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(CONTENT)
    positions: list[int] = []

    assert hash_file(tmp_path / "f", positions.append) == SETTLED
    assert positions[-1] == len(CONTENT)


def test_the_new_file_takes_the_place_of_the_old(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"old")
    (tmp_path / "f.part").write_bytes(b"new")

    put_in_place(tmp_path / "f.part", tmp_path / "f")

    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("f", b"new")]


def test_a_small_file_is_written_whole(tmp_path: Path) -> None:
    write_in_place(tmp_path / "f", b"x")

    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("f", b"x")]
