"""A progress that remembers, and a package index in a folder."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest


@dataclass
class Told:
    """Everything that a fetch reported."""

    titles: list[str] = field(default_factory=list)
    totals: list[int | None] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    open: int = 0

    def begin(self, title: str, total_bytes: int | None) -> None:
        self.titles.append(title)
        self.totals.append(total_bytes)
        self.open += 1

    def at(self, done_bytes: int) -> None:
        self.positions.append(done_bytes)

    def end(self) -> None:
        self.open -= 1

    def note(self, line: str) -> None:
        self.notes.append(line)


@pytest.fixture
def told() -> Told:
    return Told()


def build_wheel(folder: Path, members: dict[str, bytes], *, name: str = "tiny_model", version: str = "1.0") -> Path:
    """A wheel that pip accepts, with `members` inside."""
    info = f"{name}-{version}.dist-info"
    files = {
        **members,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    rows = [
        f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b'=').decode()},"
        f"{len(content)}"
        for path, content in files.items()
    ]
    files[f"{info}/RECORD"] = "\n".join([*rows, f"{info}/RECORD,,", ""]).encode()
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            archive.writestr(path, content)
    return wheel


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Adds a wheel to the only index that pip knows in this test."""
    folder = tmp_path / "index"
    folder.mkdir()
    for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_CONSTRAINT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))

    def add(members: dict[str, bytes], **names: str) -> Path:
        return build_wheel(folder, members, **names)

    return add
