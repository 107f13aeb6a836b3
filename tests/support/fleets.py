"""Slots whose engines do as they are told, for the tests of the fleet."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from troth.engines.base import Engine, EngineReport, LoadProgress
from troth.errors import EngineFault
from troth.fleet.backoff import BackOff, BackOffLimits
from troth.fleet.facts import Making, Report, SlotFacts
from troth.fleet.slot import Slot

MEBIBYTE = 1 << 20
SOON = BackOffLimits(first_seconds=0.01, seconds_max=0.02, crashes_max=3)


@dataclass(eq=False)
class PuppetEngine:
    """An engine that loads when it is let and reports what it is told to."""

    gate: asyncio.Event
    farewell: asyncio.Event  # `stop` waits for it
    fault: str | None = None
    honours: frozenset[str] = frozenset()
    running: int = 0
    status: str = "loading"
    stops: int = 0

    async def start(self, progress: LoadProgress) -> None:
        progress(0.5)
        await self.gate.wait()
        if self.fault is not None:
            raise EngineFault(self.fault)
        self.status = "ready"

    async def stop(self) -> None:
        self.stops += 1
        await self.farewell.wait()
        self.status = "stopped"

    def report(self) -> EngineReport:
        fault = "it broke" if self.status == "failed" else None
        return EngineReport(status=self.status, running=self.running, fault=fault)  # type: ignore[arg-type]


@dataclass
class Stage:
    """One slot and every engine that it made."""

    facts: SlotFacts
    is_here: bool = True  # its files
    weight: int = MEBIBYTE
    fault: str | None = None  # of the next engines
    opens: bool = True  # engines load at once
    limits: BackOffLimits = SOON
    engines: list[PuppetEngine] = field(default_factory=list)
    buried: list[Engine] = field(default_factory=list)
    pulls: int = 0
    looks: Callable[[], Awaitable[None]] | None = None  # at an engine that has loaded
    puller: Callable[[Report], None] | None = None

    def __post_init__(self) -> None:
        making = Making(
            has_files=lambda: self.is_here,
            pull=self._pull,
            make=self._make,
            look_at=self._look_at,
            bury=self.buried.append,
            weigh=lambda: self.weight,
        )
        self.slot = Slot(self.facts, making, BackOff(self.limits, time.monotonic))

    @property
    def engine(self) -> PuppetEngine:
        """The newest engine."""
        return self.engines[-1]

    def _pull(self, report: Report) -> None:
        if self.puller is not None:
            self.puller(report)
        report(1.0)
        self.pulls += 1
        self.is_here = True

    def _make(self) -> Engine:
        gate = asyncio.Event()
        if self.opens:
            gate.set()
        farewell = asyncio.Event()
        farewell.set()
        self.engines.append(PuppetEngine(gate, farewell, self.fault))
        return self.engines[-1]

    async def _look_at(self, engine: Engine) -> None:
        assert engine is self.engine
        if self.looks is not None:
            await self.looks()


def stage(name: str = "one", *, lazy: bool = True, pinned: bool = False, **more: object) -> Stage:
    """A slot of this name; `idle_seconds` and `memory_bytes` are facts of it, the rest is the stage's."""
    known = {key: more.pop(key) for key in ("idle_seconds", "memory_bytes") if key in more}
    facts = SlotFacts(name=name, model=name, kind="chat", engine="puppet", lazy=lazy, pinned=pinned, **known)  # type: ignore[arg-type]
    return Stage(facts, **more)  # type: ignore[arg-type]
