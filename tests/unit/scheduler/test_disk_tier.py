"""States on disk: complete or absent, found again by the next run, and never another model's."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from troth.domain import Tag, TokenIds
from troth.scheduler.disk_tier import DiskTier, Filed
from troth.scheduler.prefix_cache import CacheLimits, PrefixCache


def ids(*tokens: int) -> TokenIds:
    return np.array(tokens, dtype=np.int32)


def filed(name: str, *tokens: int, label: str | None = None) -> Filed:
    return Filed(name, ids(*tokens), Tag(label), 4 * len(tokens) + 100, 1.0)


STATE = np.arange(100, dtype=np.uint8)


def tier(folder: Path, key: str = "model", budget_bytes: int = 10_000) -> DiskTier:
    return DiskTier(folder, key, budget_bytes)


def cache(disk: DiskTier, budget_bytes: int = 250) -> PrefixCache:
    """Room for two states in memory."""
    return PrefixCache(CacheLimits(budget_bytes, tokens_min=2), disk=disk)


def written(disk: DiskTier, *names: str) -> None:
    """Waits until the writer is idle."""
    disk._writer.submit(lambda: None).result(5)
    assert all(disk.has(name) for name in names)


def test_a_written_state_is_read_back_and_found_by_the_next_run(tmp_path: Path) -> None:
    disk = tier(tmp_path)
    disk.write(filed("seq-a", 1, 2, 3, label="talk"), STATE)
    disk.close()

    (found,) = tier(tmp_path).scan()

    assert (found.id, found.tokens.tolist(), found.tag, found.size) == ("seq-a", [1, 2, 3], Tag("talk"), 112)
    state = tier(tmp_path).read("seq-a")
    assert state is not None
    assert np.array_equal(state, STATE)


def test_a_state_belongs_to_its_adapters_after_a_restart_too(tmp_path: Path) -> None:
    tag, disk = Tag(adapters="[[[0, 1.0]], false]"), tier(tmp_path)
    disk.write(replace(filed("seq-a", 1, 2, 3), tag=tag), STATE)
    disk.close()

    again = cache(tier(tmp_path))

    assert again.match(ids(1, 2, 3)) == (None, 0)
    assert again.match(ids(1, 2, 3), tag.realm)[1] == 3


def test_a_state_of_another_model_is_neither_found_nor_read(tmp_path: Path) -> None:
    disk = tier(tmp_path)
    disk.write(filed("seq-a", 1, 2, 3), STATE)
    disk.close()

    other = tier(tmp_path, key="another")

    assert list(other.scan()) == []
    assert other.read("seq-a") is None


@pytest.mark.parametrize("damage", [b"", b"{}\n", b"noise", b'{"key": "model"}\n', b"[1]\n"])
def test_a_damaged_file_is_neither_found_nor_read(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / "seq-a.state").write_bytes(damage)

    assert list(tier(tmp_path).scan()) == []
    assert tier(tmp_path).read("seq-a") is None


def test_a_truncated_file_is_neither_found_nor_read(tmp_path: Path) -> None:
    disk = tier(tmp_path)
    disk.write(filed("seq-a", 1, 2, 3), STATE)
    disk.close()
    path = tmp_path / "seq-a.state"
    path.write_bytes(path.read_bytes()[:-1])

    assert list(tier(tmp_path).scan()) == []
    assert tier(tmp_path).read("seq-a") is None


def test_what_memory_cannot_hold_is_read_from_disk(tmp_path: Path) -> None:
    disk = tier(tmp_path)
    kept = cache(disk)
    for first in (1, 3, 5):
        kept.store(ids(first, first + 1), STATE, Tag())
        written(disk)

    saved, length = kept.match(ids(1, 2, 9))

    assert length == 2
    assert saved is not None
    assert saved.state is None
    loaded = kept.load(saved)
    assert loaded is not None
    assert np.array_equal(loaded, STATE)
    assert kept.size <= 250
    assert (kept.counters.disk_hits, kept.counters.evicted, len(kept.conversations())) == (1, 0, 3)


def test_a_file_that_is_gone_is_a_miss_and_is_forgotten(tmp_path: Path) -> None:
    disk = tier(tmp_path)
    kept = cache(disk)
    for first in (1, 3, 5):
        kept.store(ids(first, first + 1), STATE, Tag())
        written(disk)
    saved, _ = kept.match(ids(1, 2, 9))
    assert saved is not None
    (tmp_path / f"{saved.id}.state").unlink()

    assert kept.load(saved) is None
    assert kept.match(ids(1, 2, 9)) == (None, 0)
    assert kept.counters.disk_lost == 1


def test_the_disk_budget_is_kept(tmp_path: Path) -> None:
    disk = tier(tmp_path, budget_bytes=250)
    kept = cache(disk)
    for first in (1, 3, 5, 7):
        kept.store(ids(first, first + 1), STATE, Tag())
        written(disk)

    assert kept.disk_size <= 250
    assert len(list(tmp_path.glob("*.state"))) == 2
    assert kept.counters.disk_evicted == 2


def test_the_next_run_starts_with_what_is_on_disk(tmp_path: Path) -> None:
    disk = tier(tmp_path)
    kept = cache(disk)
    kept.store(ids(1, 2), STATE, Tag("talk", "mine"))
    kept.close()

    again = cache(tier(tmp_path))

    saved, length = again.match(ids(1, 2, 9))
    assert length == 2
    assert saved is not None
    assert saved.tag == Tag("talk", "mine")
    assert again.load(saved) is not None


def test_forgetting_removes_the_files(tmp_path: Path) -> None:
    disk = tier(tmp_path)
    kept = cache(disk)
    kept.store(ids(1, 2), STATE, Tag())
    kept.store(ids(1, 2, 3), STATE, Tag())  # takes the place of the first
    written(disk)
    assert len(list(tmp_path.glob("*.state"))) == 1

    kept.forget(lambda saved: True)
    kept.close()

    assert list(tmp_path.glob("*")) == []
    assert kept.disk_size == 0


def test_a_full_disk_loses_the_state_and_nothing_else(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    disk = tier(tmp_path)
    (tmp_path / "seq-a.part").mkdir()

    disk.write(filed("seq-a", 1, 2, 3), STATE)
    written(disk)

    assert not disk.has("seq-a")
    assert "state_not_written" in caplog.text
