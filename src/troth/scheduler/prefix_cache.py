"""Saved states of sequences in ordinary memory, found again by the tokens that made them.

A state is the decoder's memory of one sequence. It is saved when a prompt has been read and when an
answer has ended, and restored into a free slot when a new prompt of the same realm begins with the same
tokens: token for token, so that no state of one conversation ever reaches another. Least recently used states go first
when the budget is spent: to disk, if there is a disk tier and it has them by then, and read from there
when they are needed again. The scheduler's thread alone matches, loads, stores and forgets; anyone may
call `size` and `conversations`, which take one look.
"""

from __future__ import annotations

import secrets
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from troth.domain import Tag, TokenIds
from troth.engines.base import State
from troth.scheduler.disk_tier import DiskTier, Filed
from troth.scheduler.prefix_tree import PrefixTree

Realm = tuple[str, str, str]  # see `Tag.realm`
OPEN: Realm = Tag().realm


@dataclass(frozen=True, slots=True)
class CacheLimits:
    """What may be kept. A budget of 0 switches the cache off."""

    budget_bytes: int = 1 << 30
    tokens_min: int = 32  # shorter beginnings are computed again: that is cheaper than keeping them


@dataclass(slots=True, eq=False)
class Saved:
    """One saved state. `tag` says whose it is."""

    id: str  # never given again, not even after a restart: who forgets a state means this one
    tokens: TokenIds
    state: State | None  # None: on disk alone
    size: int  # bytes of the state and of its tokens
    tag: Tag
    created_at: float  # Unix seconds, as the two below
    used_at: float
    hits: int = 0
    is_filed: bool = False  # on disk, or on its way there


@dataclass(slots=True)
class CacheCounters:
    """Totals since the start; every field only grows."""

    hits: int = 0
    misses: int = 0
    hit_tokens: int = 0
    asked_tokens: int = 0
    stores: int = 0
    stored_bytes: int = 0
    superseded: int = 0
    evicted: int = 0
    refused: int = 0  # states larger than the budget
    disk_hits: int = 0
    disk_stores: int = 0
    disk_evicted: int = 0
    disk_lost: int = 0  # files that were not what they had been
    store_seconds: float = 0.0
    restore_seconds: float = 0.0


class PrefixCache:
    """See the module's docstring."""

    def __init__(
        self,
        limits: CacheLimits,
        *,
        can_cut: bool = True,
        disk: DiskTier | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`can_cut`: a restored state may be shortened; otherwise only whole states are used."""
        self.limits = limits
        self.counters = CacheCounters()
        self._can_cut = can_cut
        self._clock = clock
        self._trees: defaultdict[Realm, PrefixTree[Saved]] = defaultdict(PrefixTree)
        self._by_age: dict[str, Saved] = {}  # the least recently used first
        self._bytes = 0  # in memory
        self._disk_bytes = 0
        self._disk = disk if limits.budget_bytes > 0 else None
        for filed in self._disk.scan() if self._disk is not None else ():
            self._take(
                Saved(filed.id, filed.tokens, None, filed.size, filed.tag, filed.used_at, filed.used_at, 0, True)
            )
        self._trim()

    @property
    def is_on(self) -> bool:
        """True when states are kept at all."""
        return self.limits.budget_bytes > 0

    # ---- for the scheduler ----------------------------------------------------------------------

    def match(self, tokens: TokenIds, realm: Realm = OPEN) -> tuple[Saved | None, int]:
        """The state of this realm that gives the longest beginning of `tokens`, and that length. Counts nothing."""
        tree = self._trees.get(realm)
        if not self.is_on or tree is None:
            return None, 0
        saved, length = tree.longest(tokens)
        if saved is None or length < self.limits.tokens_min:
            return None, 0
        if not self._can_cut and length < len(saved.tokens):
            whole = tree.beginnings(tokens)
            return (whole[-1], len(whole[-1].tokens)) if whole else (None, 0)
        return saved, length

    def use(self, saved: Saved | None, length: int, asked: int) -> None:
        """The state was restored for `length` of `asked` tokens, or nothing was found for them."""
        self.counters.asked_tokens += asked
        if saved is None:
            self.counters.misses += 1
            return
        self.counters.hits += 1
        self.counters.hit_tokens += length
        saved.hits += 1
        saved.used_at = self._clock()
        if self._by_age.pop(saved.id, None) is not None:
            self._by_age[saved.id] = saved

    def wants(self, tokens: TokenIds, tag: Tag) -> bool:
        """True when a state of these tokens would be worth saving: nothing stored covers it already."""
        if not self.is_on or len(tokens) < self.limits.tokens_min:
            return False
        tree = self._trees.get(tag.realm)
        saved, length = tree.longest(tokens) if tree is not None else (None, 0)
        if saved is None or length < len(tokens):
            return True
        if len(saved.tokens) == len(tokens):
            saved.tag = saved.tag.or_else(tag)
            return False
        return not self._can_cut or tag.handle is not None

    def store(self, tokens: TokenIds, state: State, tag: Tag) -> None:
        """The state is kept, and what it makes superfluous or the budget cannot hold is not.

        A state with a handle is held until the handle is released or moves on to a newer state.
        """
        now, size = self._clock(), state.nbytes + tokens.nbytes
        saved = Saved(f"seq-{secrets.token_hex(6)}", tokens.copy(), state, size, tag, now, now)
        if tag.handle is not None:
            self.release(tag.handle, tag.owner)
        if saved.size + self._held_bytes() > self.limits.budget_bytes:
            self.counters.refused += 1
            return
        for shorter in self._trees[tag.realm].beginnings(tokens) if self._can_cut else ():
            # The longer state gives every beginning that the shorter one gave.
            if shorter.tag.handle is None:
                saved.tag = saved.tag.or_else(shorter.tag)
                self._drop(shorter)
                self.counters.superseded += 1
        self.counters.stores += 1
        self.counters.stored_bytes += saved.size
        if self._disk is not None and saved.size <= self._disk.budget_bytes:
            saved.is_filed = True
            self._disk.write(Filed(saved.id, saved.tokens, saved.tag, saved.size, now), state)
            self.counters.disk_stores += 1
        self._take(saved)
        self._trim()

    def load(self, saved: Saved) -> State | None:
        """The state, from disk if need be; None when its file is not what it was, and then it is forgotten."""
        if saved.state is not None or self._disk is None:
            return saved.state
        state = self._disk.read(saved.id)
        if state is None:
            self._drop(saved)
            self.counters.disk_lost += 1
            return None
        self.counters.disk_hits += 1
        self._disk.touch(saved.id)
        saved.state = state
        self._bytes += saved.size
        self._trim(but=saved)
        return state

    def _take(self, saved: Saved) -> None:
        """The state is in the tree and counted."""
        replaced = self._trees[saved.tag.realm].add(saved.tokens, saved)
        if replaced is not None:
            self._forget_bytes(replaced)
        self._by_age[saved.id] = saved
        self._bytes += saved.size if saved.state is not None else 0
        self._disk_bytes += saved.size if saved.is_filed else 0

    def _trim(self, but: Saved | None = None) -> None:
        """Both budgets are kept: the least recently used states leave memory, or disk, or both."""
        while self._bytes > self.limits.budget_bytes:
            may_leave = (each for each in self._by_age.values() if self._may_leave(each) and each is not but)
            saved = next(may_leave, None)
            if saved is None:
                break  # what is held and what is needed now stay, for the moment above the budget
            if saved.is_filed and self._disk is not None and self._disk.has(saved.id):
                saved.state = None
                self._bytes -= saved.size
            else:
                self._drop(saved)
                self.counters.evicted += 1
        while self._disk is not None and self._disk_bytes > self._disk.budget_bytes:
            saved = next(each for each in self._by_age.values() if each.is_filed)
            self._disk.remove(saved.id)
            self._disk_bytes -= saved.size
            saved.is_filed = False
            self.counters.disk_evicted += 1
            if saved.state is None:
                self._drop(saved)

    def _may_leave(self, saved: Saved) -> bool:
        """True for a state in memory that nobody holds, or that disk holds as well."""
        return saved.state is not None and (saved.tag.handle is None or saved.is_filed)

    def release(self, handle: str, owner: str | None = None) -> bool:
        """No state is held under the owner's handle; what it held may be evicted like any other. True if one was
        held. Without an owner it is anybody's handle."""
        for saved in self._by_age.values():
            if saved.tag.handle == handle and owner in (None, saved.tag.owner):
                saved.tag = replace(saved.tag, handle=None)
                return True
        return False

    def _held_bytes(self) -> int:
        """Bytes in memory that may not leave it."""
        return sum(saved.size for saved in self._by_age.values() if saved.tag.handle is not None and not saved.is_filed)

    def forget(self, is_meant: Callable[[Saved], bool]) -> int:
        """The states that `is_meant` picks are gone; returns how many they were."""
        meant = [saved for saved in self._by_age.values() if is_meant(saved)]
        for saved in meant:
            self._drop(saved)
        return len(meant)

    def _drop(self, saved: Saved) -> None:
        tree = self._trees[saved.tag.realm]
        tree.remove(saved.tokens)
        if tree.is_empty:
            del self._trees[saved.tag.realm]
        self._forget_bytes(saved)

    def _forget_bytes(self, saved: Saved) -> None:
        del self._by_age[saved.id]
        self._bytes -= saved.size if saved.state is not None else 0
        if saved.is_filed and self._disk is not None:
            self._disk.remove(saved.id)
            self._disk_bytes -= saved.size
            saved.is_filed = False

    # ---- for reports ----------------------------------------------------------------------------

    @property
    def size(self) -> int:
        """Bytes kept in memory now."""
        return self._bytes

    @property
    def disk_size(self) -> int:
        """Bytes kept on disk now."""
        return self._disk_bytes

    @property
    def disk_budget(self) -> int:
        """Bytes that disk may hold; 0 without a disk tier."""
        return self._disk.budget_bytes if self._disk is not None else 0

    def close(self) -> None:
        """What was to be written is on disk."""
        if self._disk is not None:
            self._disk.close()

    def conversations(self, owner: str | None = None) -> Sequence[Saved]:
        """What is kept now, the owner's or everybody's, the most recently used first."""
        return [saved for saved in list(self._by_age.values())[::-1] if owner in (None, saved.tag.owner)]
