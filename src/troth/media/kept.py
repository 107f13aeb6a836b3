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
        if key in self.entries:
            del self.entries[key]
        self.entries[key] = entry
        # Counted anew each time, since an entry grows when it is encoded: there are hundreds of them at most.
        sizes = {each: kept.size for each, kept in self.entries.items()}
        self.size = sum(sizes.values())
        while self.size > self.budget_bytes:
            oldest = next(iter(self.entries))
            del self.entries[oldest]
            self.size -= sizes[oldest]
