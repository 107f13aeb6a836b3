"""Saved states on disk: written behind the scheduler's back, read when a prompt begins with their tokens.

One file a state, `ID.state`: a header line of JSON, the tokens, the state. The header's `key` names the
model and the settings that made the state; a file with another key is left alone. A file is complete or
absent: it is written under another name and renamed. Nothing here decides what is kept.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from troth.domain import Tag, TokenIds
from troth.engines.base import State

logger = logging.getLogger(__name__)

FORMAT = "troth-state-2"
SUFFIX = ".state"
HEADER_BYTES_MAX = 4096


@dataclass(frozen=True, slots=True)
class Filed:
    """What a file on disk says of its state."""

    id: str
    tokens: TokenIds
    tag: Tag
    size: int  # bytes of the state and of its tokens
    used_at: float  # Unix seconds


@dataclass(frozen=True, slots=True)
class Header:
    """The first line of a file, as JSON."""

    key: str
    tokens: int
    state_bytes: int
    label: str | None
    handle: str | None
    owner: str
    salt: str
    adapters: str = ""
    format: str = FORMAT

    @classmethod
    def read(cls, line: bytes, key: str) -> Header | None:
        """The header that `line` is; None when it is none of ours, or of another key."""
        try:
            header = cls(**json.loads(line))
        except (ValueError, TypeError):
            return None
        counts = (header.tokens, header.state_bytes)
        is_ours = header.format == FORMAT and header.key == key and all(type(count) is int for count in counts)
        return header if is_ours and header.tokens > 0 and header.state_bytes >= 0 else None


class DiskTier:
    """The files of one model in one folder. `write` and `remove` return at once; the rest reads."""

    def __init__(self, folder: Path, key: str, budget_bytes: int) -> None:
        """The folder exists afterwards. Raises OSError when it cannot be made."""
        folder.mkdir(parents=True, exist_ok=True)
        self.budget_bytes = budget_bytes
        self._folder = folder
        self._key = key
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="disk-tier")

    def write(self, filed: Filed, state: State) -> None:
        """The state will be on disk; until then, and if the disk is full, it is not (`has` says)."""
        self._writer.submit(self._write, filed, state)

    def has(self, state_id: str) -> bool:
        """True when the state's file is complete."""
        return self._path(state_id).exists()

    def read(self, state_id: str) -> State | None:
        """The state, or None when its file is gone or is not what it was."""
        try:
            with self._path(state_id).open("rb") as file:
                header = Header.read(file.readline(HEADER_BYTES_MAX), self._key)
                if header is None:
                    return None
                file.seek(4 * header.tokens, 1)
                state = np.fromfile(file, np.uint8)
        except OSError:
            return None
        return state if len(state) == header.state_bytes else None

    def remove(self, state_id: str) -> None:
        """The file will be gone."""
        self._writer.submit(lambda: self._path(state_id).unlink(missing_ok=True))

    def touch(self, state_id: str) -> None:
        """The file counts as used now, for the next run too."""
        with contextlib.suppress(OSError):
            os.utime(self._path(state_id))

    def scan(self) -> Iterator[Filed]:
        """What earlier runs left for this model, the least recently used first."""
        found = []
        for path in self._folder.glob(f"*{SUFFIX}"):
            with contextlib.suppress(OSError):
                found.append((path.stat().st_mtime, path))
        for used_at, path in sorted(found):
            filed = self._look(path, used_at)
            if filed is not None:
                yield filed

    def close(self) -> None:
        """Everything that was to be written is written."""
        self._writer.shutdown(wait=True)

    def _write(self, filed: Filed, state: State) -> None:
        header = Header(self._key, len(filed.tokens), len(state), **asdict(filed.tag))
        partial = self._path(filed.id).with_suffix(".part")
        try:
            with partial.open("wb") as file:
                file.write(json.dumps(asdict(header)).encode() + b"\n")
                file.write(filed.tokens.astype("<i4").tobytes())
                file.write(state.data)
            partial.replace(self._path(filed.id))
        except OSError as error:
            logger.warning("event=state_not_written error=%s", error)
            with contextlib.suppress(OSError):
                partial.unlink(missing_ok=True)

    def _look(self, path: Path, used_at: float) -> Filed | None:
        try:
            with path.open("rb") as file:
                line = file.readline(HEADER_BYTES_MAX)
                header = Header.read(line, self._key)
                if header is None:
                    return None
                tokens = np.fromfile(file, "<i4", header.tokens).astype(np.int32)
            size = path.stat().st_size
        except OSError:
            return None
        if size != len(line) + 4 * header.tokens + header.state_bytes:
            return None
        in_memory = 4 * header.tokens + header.state_bytes
        tag = Tag(header.label, header.handle, header.owner, header.salt, header.adapters)
        return Filed(path.stem, tokens, tag, in_memory, used_at)

    def _path(self, state_id: str) -> Path:
        return self._folder / f"{state_id}{SUFFIX}"
