"""What was seen, kept under a budget of bytes: the same picture is not encoded twice. The event loop alone uses it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from troth.domain import Embeddings, View

Key = tuple[tuple[str, ...], bytes]  # the realm, as with saved states, and the digest of the view
ENTRY_BYTES = 512  # of an entry beside its arrays


@dataclass(slots=True, eq=False)
class Entry:
    """One view, and its embeddings once it has been encoded, one array for each segment that is seen."""

    view: View
    embeddings: list[Embeddings] | None = None
    encoding: asyncio.Future[list[Embeddings]] | None = None  # while somebody encodes it
    counted: int = 0  # of its bytes, those in the sum of all: an entry grows when it is encoded

    @property
    def size(self) -> int:
        """Bytes."""
        seen = sum(each.nbytes for each in self.embeddings or ())
        return ENTRY_BYTES + sum(segment.tokens.nbytes for segment in self.view.segments) + seen


@dataclass(slots=True)
class Kept:
    """Entries by what they are of, the least recently used first."""

    budget_bytes: int
    size: int = 0
    entries: dict[Key, Entry] = field(default_factory=dict)

    def get(self, key: Key) -> Entry | None:
        """The entry, which is now the most recently used one."""
        entry = self.entries.pop(key, None)
        if entry is not None:
            self.entries[key] = entry
        return entry

    def put(self, key: Key, entry: Entry) -> None:
        """The entry is kept, and what the budget cannot hold any more is not."""
        self._leave(self.entries.pop(key, None))
        self.entries[key] = entry
        entry.counted = entry.size
        self.size += entry.counted
        while self.size > self.budget_bytes:
            self._leave(self.entries.pop(next(iter(self.entries))))

    def _leave(self, entry: Entry | None) -> None:
        if entry is not None:
            self.size -= entry.counted
            entry.counted = 0
