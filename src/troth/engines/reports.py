"""What engines tell of themselves: snapshots for /health, /props, /slots and /metrics. `base.py` names them too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from troth.domain import Sampling
from troth.domain.vectors import PictureForm

EngineStatus = Literal["loading", "ready", "failed", "stopped", "offline", "unreached"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineReport:
    """A snapshot of an engine for /health, /props and /metrics. Taking it never waits for the engine."""

    status: EngineStatus
    load_progress: float = 0.0
    fault: str | None = None
    slots: int = 0
    context_tokens: int = 0  # of one sequence
    running: int = 0  # sequences that occupy a slot
    queued: int = 0  # requests that wait
    longest_wait_seconds: float = 0.0  # of the oldest queued request; 0 when none
    busy_seconds: float = 0.0  # since the engine was last idle; 0 when idle
    can_cut: bool = False  # a sequence may be shortened; otherwise saved states are used whole
    draft_tokens_max: int = 0  # the longest draft; 0: no speculation
    prefix_cache_bytes: int = 0  # what the prefix cache may take; 0 is off
    vision: bool = False  # the loaded model reads pictures
    audio: bool = False  # it hears sound
    details: Mapping[str, Any] = field(default_factory=dict)  # the engine's own facts, JSON-ready


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotReport:
    """One slot, and the request that has it."""

    id: int
    context_tokens: int
    task: int | None = None  # the number of the request; None when the slot is free
    prompt_tokens: int = 0
    cached_tokens: int = 0
    read_tokens: int = 0
    answer_tokens: int = 0
    answer_tokens_max: int = 0
    has_newline: bool = False  # the answer has a line break so far
    sampling: Sampling | None = None
    handle: str | None = None  # the keep-name of the request


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationReport:
    """One saved state of the prefix cache."""

    id: str
    label: str | None
    handle: str | None
    tokens: int
    size_bytes: int
    hits: int
    created_at: float  # Unix seconds
    used_at: float
    in_memory: bool = True
    on_disk: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheReport:
    """The prefix cache. Counts and seconds are totals since the start."""

    is_on: bool
    can_cut: bool  # states may be shortened; otherwise only whole ones are used
    entries: int
    size_bytes: int
    budget_bytes: int
    hits: int
    misses: int
    hit_tokens: int
    asked_tokens: int
    stores: int
    stored_bytes: int
    superseded: int
    evicted: int
    refused: int
    store_seconds: float
    restore_seconds: float
    held_entries: int
    moves: int = 0  # running sequences that changed their slot
    memory_entries: int = 0  # of the entries, those that are in memory
    disk_entries: int = 0  # of the entries, those that are on disk; many are both
    disk_bytes: int = 0
    disk_budget_bytes: int = 0  # 0: there is no disk tier
    disk_hits: int = 0  # states that were read from disk
    disk_stores: int = 0
    disk_evicted: int = 0
    disk_lost: int = 0  # files that were not what they had been


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorFacts:
    """What a loaded model of vectors or of relevance is; fixed until it is stopped."""

    tokens_max: int  # of one sequence, what the model puts around a text included
    dimensions: int = 1  # numbers of a vector
    pooling: str = ""  # how a vector is made of those of its tokens
    normalizes: bool = True  # vectors have length 1 unless a request says otherwise
    gives_shares: bool = False  # its scores are from 0 to 1 as they are
    picture: PictureForm | None = None  # how it wants to be shown pictures; None: it reads texts
