"""A small source that breaks no rule, in `small/`, for tests that break one."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from codegen.source import Source

SMALL = Path(__file__).parent / "small"

Write = Callable[[dict[str, str | None]], Source]
Edit = Callable[[str, str, str], Source]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Copies the small source with some files replaced, or left out where None, and reads it."""

    def written(changes: dict[str, str | None]) -> Source:
        root = tmp_path / "openapi"
        shutil.copytree(SMALL, root)
        for name, text in changes.items():
            if text is None:
                (root / name).unlink()
            else:
                (root / name).write_text(text, "utf-8")
        return Source(root)

    return written


@pytest.fixture
def edit(write: Write) -> Edit:
    """Reads the small source with one text replaced in one file."""

    def edited(file: str, old: str, new: str) -> Source:
        text = (SMALL / file).read_text("utf-8")
        assert old in text
        return write({file: text.replace(old, new)})

    return edited


@pytest.fixture
def small(write: Write) -> Source:
    """The small source as it is."""
    return write({})
