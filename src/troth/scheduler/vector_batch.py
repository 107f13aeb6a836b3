"""Which sequences are computed together: one of each request in turn, so that none waits for a large one."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from troth.domain.vectors import Reading, Rows, Values

Place = tuple["Work", int]  # a request, and which of its sequences


class Room(Protocol):
    """How much one batch holds."""

    batch_tokens: int
    batch_sequences: int
    pads: bool


@dataclass(eq=False, slots=True)
class Work:
    """One request under way. The event loop owns `is_gone` and the two events, the engine's thread the rest."""

    readings: list[Reading] = field(default_factory=list)
    arrived_at: float = field(default_factory=time.perf_counter)
    begun_at: float = 0.0
    is_gone: bool = False  # nobody waits for it any more
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    over: asyncio.Event = field(default_factory=asyncio.Event)
    rows: Values | None = None
    fault: Exception | None = None
    _order: deque[int] = field(default_factory=deque)  # sequences not yet taken, the longest first
    _missing: int = 0

    def prepare(self, readings: list[Reading], width: int) -> None:
        """The sequences are known, and there is room for a row of `width` numbers for each."""
        self.readings = readings
        self.rows = np.zeros((len(readings), width), np.float32)
        self._order = deque(sorted(range(len(readings)), key=lambda index: -len(readings[index].tokens)))
        self._missing = len(readings)

    @property
    def is_taken(self) -> bool:
        """True when no sequence waits for a batch any more."""
        return not self._order

    @property
    def is_done(self) -> bool:
        """True when every sequence has its row."""
        return self._missing == 0

    @property
    def left(self) -> int:
        """How many sequences wait for a batch."""
        return len(self._order)

    @property
    def next_tokens(self) -> int:
        """The length of the next sequence."""
        return len(self.readings[self._order[0]].tokens)

    def take(self) -> int:
        """The next sequence, which is in a batch from now on."""
        return self._order.popleft()

    def put(self, index: int, row: Values) -> None:
        """The row of a sequence is here."""
        assert self.rows is not None
        self.rows[index] = row
        self._missing -= 1

    def result(self) -> Rows:
        """The rows of all sequences. Raises the fault that ended the request."""
        if self.fault is not None:
            raise self.fault
        assert self.rows is not None
        return Rows(
            self.rows,
            sum(len(reading.tokens) for reading in self.readings),
            tuple(reading.cut_from for reading in self.readings),
            max(self.begun_at - self.arrived_at, 0.0),
        )


def compose(works: Iterable[Work], room: Room) -> list[Place]:
    """The next batch: as many sequences as fit, one of each request in turn, the oldest request first."""
    turns = deque(work for work in works if not work.is_taken)
    batch: list[Place] = []
    longest = total = 0
    while turns and len(batch) < room.batch_sequences:
        work = turns.popleft()
        tokens = work.next_tokens
        longest, total = max(longest, tokens), total + tokens
        cost = longest * (len(batch) + 1) if room.pads else total
        if batch and cost > room.batch_tokens:
            break
        batch.append((work, work.take()))
        if not work.is_taken:
            turns.append(work)
    return batch
