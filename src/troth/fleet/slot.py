"""One slot: a configured model on its way into memory, at work, and out of it.

1. `load` fetches the files if they are not here, makes the engine and starts it; callers share one load.
2. `look` is called again and again: it sees work begin and end, a quiet slot become idle, an engine die.
3. `unload` gives the memory back; the next `load` makes a new engine.
4. An engine that dies costs its requests only. The breaker decides when it may be started again.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace

from troth.engines.base import Engine, EngineReport
from troth.errors import Conflict, EngineFault, LoadFailed, Refusal, Unavailable
from troth.fleet.backoff import BackOff
from troth.fleet.states import DISPATCHABLE, LOADING, SlotState, path_between

logger = logging.getLogger(__name__)

IDLE_AFTER_SECONDS = 60.0  # of quiet: then a slot is shown as idle
NEWS_MAX = 64  # states that a slow watcher may be behind; then the oldest are lost
RETRY_SECONDS = 2
LOGGED_STEPS = 4  # of a load

Report = Callable[[float], None]  # 0.0 … 1.0
Admit = Callable[["Slot", Callable[[], None]], Awaitable[None]]  # memory is there for it: the callable is called then


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotFacts:
    """What the operator said of one slot."""

    name: str
    model: str
    kind: str
    engine: str
    pinned: bool = False
    lazy: bool = False
    idle_seconds: float | None = None  # of quiet until it is unloaded; None: never
    memory_bytes: int | None = None  # None: told by its files


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotNews:
    """One change of state, as watchers are told."""

    name: str
    model: str
    state: SlotState
    message: str
    updated_at: float  # Unix seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Making:
    """How a slot gets its engine."""

    has_files: Callable[[], bool]
    pull: Callable[[Report], None]  # the files are on disk; blocks. Raises EngineFault in words
    make: Callable[[], Engine]
    look_at: Callable[[Engine], Awaitable[None]]  # what else has to be ready before it answers
    bury: Callable[[Engine], None]  # the engine is gone: its totals are wanted
    weigh: Callable[[], int]  # bytes that the model takes in memory


class Slot:
    """One model's place. Everything here runs on the event loop."""

    def __init__(self, facts: SlotFacts, making: Making, breaker: BackOff) -> None:
        self.facts = facts
        self.breaker = breaker
        self.state = SlotState.OFFLINE
        self.message = ""
        self.updated_at = time.time()
        self.used_at = time.monotonic()  # when it last had something to do
        self.loads = 0
        self.loaded_at = 0.0  # monotonic
        self.is_wanted = not facts.lazy  # in memory, as far as the operator goes
        self.engine: Engine | None = None
        self.load_progress = 0.0
        self._making = making
        self.admit: Admit = _anyone
        self._loading: asyncio.Task[None] | None = None
        self._watchers: set[asyncio.Queue[SlotNews]] = set()

    # ---- what it is -------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The slot's name."""
        return self.facts.name

    @property
    def is_dispatchable(self) -> bool:
        """True when requests can be given to its engine."""
        return self.state in DISPATCHABLE

    @property
    def is_loading(self) -> bool:
        """True while it is on its way into memory."""
        return self.state in LOADING

    @property
    def takes_memory(self) -> bool:
        """True while its model is in memory, comes or goes."""
        return self.state not in (SlotState.OFFLINE, SlotState.PULLING, SlotState.ERROR)

    @property
    def is_busy(self) -> bool:
        """True while requests run or wait."""
        report = self.engine.report() if self.engine is not None else None
        return report is not None and report.running + report.queued > 0

    @property
    def quiet_seconds(self) -> float:
        """How long it has had nothing to do."""
        return time.monotonic() - self.used_at

    @property
    def memory_bytes(self) -> int:
        """What the model takes in memory, as the operator or its files say."""
        return self.facts.memory_bytes if self.facts.memory_bytes is not None else self._making.weigh()

    def report(self) -> EngineReport:
        """The engine's report; of a slot without one, what is known."""
        if self.engine is not None:
            return self.engine.report()
        if self.state is SlotState.ERROR:
            return EngineReport(status="failed", fault=self.message)
        if self.is_loading or self.is_wanted:
            return EngineReport(status="loading", load_progress=self.load_progress)
        return EngineReport(status="offline")

    def news(self) -> SlotNews:
        """The state now."""
        return SlotNews(
            name=self.name,
            model=self.facts.model,
            state=self.state,
            message=self.message,
            updated_at=self.updated_at,
        )

    async def watch(self) -> AsyncIterator[SlotNews]:
        """The state now, and every one that follows, until nobody reads on."""
        queue: asyncio.Queue[SlotNews] = asyncio.Queue(NEWS_MAX)
        self._watchers.add(queue)
        try:
            yield self.news()
            while True:
                yield await queue.get()
        finally:
            self._watchers.discard(queue)

    def touch(self) -> None:
        """The slot is wanted now."""
        self.used_at = time.monotonic()

    # ---- into memory ------------------------------------------------------------------------------

    def begin_loading(self, *, by_hand: bool = False) -> asyncio.Task[None]:
        """The load that is under way, or a new one. Raises Unavailable while the breaker holds it back.

        `by_hand`: the operator asks; the breaker forgets.
        """
        if self._loading is not None and not self._loading.done():
            return self._loading
        self.is_wanted = True
        if by_hand:
            self.breaker.reset()
        self._check_breaker()
        self._loading = asyncio.create_task(self._load(), name=f"load-{self.name}")
        self._loading.add_done_callback(_retrieve)
        return self._loading

    async def load(self, *, by_hand: bool = False) -> None:
        """The engine answers. A load under way is shared. Raises LoadFailed or Unavailable in words."""
        if not self.is_dispatchable:
            await asyncio.shield(self.begin_loading(by_hand=by_hand))

    def _check_breaker(self) -> None:
        breaker = self.breaker
        if breaker.is_parked:
            raise Unavailable(
                f"The slot {self.name} is parked after {breaker.crashes} failures in a row, the last: {self.message} "
                f"It starts again when it is told to: POST /api/slots/{self.name}/load.",
                retry_seconds=int(self._retry_seconds()),
                code="slot_crash_looping",
                details=self._details(),
            )
        if breaker.wait_seconds > 0:
            raise Unavailable(
                f"The slot {self.name} failed and is started again in {breaker.wait_seconds:.0f} s: {self.message}",
                retry_seconds=int(self._retry_seconds()),
                code="slot_crash_looping",
                details=self._details(),
            )

    def _retry_seconds(self) -> float:
        return max(self.breaker.wait_seconds, RETRY_SECONDS)

    async def _load(self) -> None:
        engine: Engine | None = None
        started, self.load_progress = time.perf_counter(), 0.0
        try:
            if not self._making.has_files():
                self._go(SlotState.PULLING, "fetching its files")
                await asyncio.to_thread(self._making.pull, self._note_progress)
            await self.admit(self, lambda: self._go(SlotState.STARTING))
            self.load_progress = 0.0
            engine = self.engine = self._making.make()
            self._go(SlotState.WARMING)
            await engine.start(self._note_progress)
            await self._making.look_at(engine)
        except asyncio.CancelledError:
            await self._drop(engine, SlotState.OFFLINE, "the load was given up")
            raise
        except Unavailable as refusal:  # no memory now, or the server ends: nothing is wrong with the model
            self.is_wanted = False
            await self._drop(engine, SlotState.OFFLINE, refusal.message)
            raise
        except Refusal as refusal:
            await self._drop(engine, SlotState.ERROR, refusal.message)
            self.breaker.note_crash()
            if isinstance(refusal, EngineFault):
                raise LoadFailed(f"The slot {self.name} could not load its model: {refusal.message}") from refusal
            raise
        except Exception as error:
            logger.exception("event=load_failed slot=%s", self.name)
            await self._drop(engine, SlotState.ERROR, f"{type(error).__name__}: {error}")
            self.breaker.note_crash()
            raise LoadFailed(f"The slot {self.name} could not load its model: {self.message}") from error
        self.loads += 1
        self.loaded_at = time.monotonic()
        self.breaker.note_ready()
        self.touch()
        self._go(SlotState.READY)
        report = engine.report()
        logger.info(
            "event=ready model=%s load_seconds=%.2f slots=%d context_tokens=%d",
            self.facts.model,
            time.perf_counter() - started,
            report.slots,
            report.context_tokens,
        )

    def _note_progress(self, done: float) -> None:
        """Called on any thread, some hundred times a load."""
        if int(done * LOGGED_STEPS) > int(self.load_progress * LOGGED_STEPS):
            logger.info("event=loading model=%s progress=%.2f", self.facts.model, done)
        self.load_progress = done

    async def _drop(self, engine: Engine | None, state: SlotState, message: str) -> None:
        """The engine is stopped and forgotten, and the slot is in `state`."""
        if engine is not None:
            await engine.stop()
            self._making.bury(engine)
        self.engine = None
        self._go(state, message)

    # ---- out of it --------------------------------------------------------------------------------

    async def unload(self, *, force: bool = False, why: str = "") -> None:
        """The memory is given back. Requests that run have ended with a fault.

        Raises Conflict for a slot that is pinned, or that is on its way, unless it is forced.
        """
        if self.facts.pinned and not force:
            raise Conflict(f"The slot {self.name} is pinned; ?force=true unloads it all the same.", code="slot_pinned")
        self.is_wanted = False
        if self.state is SlotState.OFFLINE:
            return
        if self.is_loading:
            if not force:
                raise Conflict(
                    f"The slot {self.name} is {self.state}, and from there it cannot be unloaded; ?force=true gives "
                    "the load up.",
                    code="illegal_transition",
                )
            await self.give_up()
            return
        if self.state is SlotState.ERROR:
            self.breaker.reset()
            self._go(SlotState.OFFLINE, why)
            return
        if self.state is SlotState.UNLOADING:
            raise Conflict(f"The slot {self.name} is being unloaded already.", code="illegal_transition")
        self._go(SlotState.UNLOADING, why)
        await self._drop(self.engine, SlotState.OFFLINE, why)

    async def give_up(self) -> None:
        """A load under way has ended, and the slot is offline. Nothing happens otherwise."""
        task = self._loading
        if task is not None and not task.done():
            if self.engine is not None:
                await self.engine.stop()  # a load on a thread gives up at its next report
            task.cancel()
            await asyncio.wait([task])

    async def stop(self) -> None:
        """The server ends: nothing loads or runs any more, and no memory is held."""
        await self.give_up()
        if self.engine is not None:
            await self.engine.stop()

    # ---- seen from outside ------------------------------------------------------------------------

    def look(self) -> bool:
        """What the engine does is in the state. True when it has died since the last look."""
        if not self.is_dispatchable or self.engine is None:
            return False
        report = self.engine.report()
        if report.status in ("failed", "stopped"):
            return True
        if report.running + report.queued > 0:
            self.touch()
            self._go(SlotState.SERVING)
        elif self.state is SlotState.SERVING:
            self._go(SlotState.READY)
        elif self.state is SlotState.READY and self.quiet_seconds >= self._idle_after():
            self._go(SlotState.IDLE, f"quiet for {self.quiet_seconds:.0f} s")
        return False

    async def mourn(self) -> None:
        """The engine has died: its remains are put away and the breaker knows."""
        engine = self.engine
        words = (engine.report().fault if engine is not None else None) or "its engine stopped"
        logger.error("event=engine_died slot=%s model=%s fault=%s", self.name, self.facts.model, words)
        await self._drop(engine, SlotState.ERROR, words)
        self.breaker.note_crash()

    @property
    def is_due_for_sleep(self) -> bool:
        """True when it has been quiet for as long as the operator allows."""
        limit = self.facts.idle_seconds
        return (
            limit is not None
            and self.is_dispatchable
            and not self.facts.pinned
            and not self.is_busy
            and self.quiet_seconds >= limit
        )

    def _idle_after(self) -> float:
        limit = self.facts.idle_seconds
        return IDLE_AFTER_SECONDS if limit is None else min(IDLE_AFTER_SECONDS, limit / 2)

    def _details(self) -> dict[str, object]:
        return {"slot": self.name, "state": str(self.state)}

    def unavailable(self) -> Unavailable:
        """What a request hears while the slot is on its way."""
        percent = int(self.load_progress * 100)
        progress = {"phase": str(self.state), "requested_model": self.facts.model, "percent": percent}
        return Unavailable(
            f"The model {self.facts.model} is loading: {percent} %.",
            retry_seconds=RETRY_SECONDS,
            details=self._details() | {"progress": progress},
        )

    def _go(self, state: SlotState, message: str = "") -> None:
        """The slot is in `state`, by legal steps, and whoever watches is told each."""
        if state is self.state:
            return
        steps = path_between(self.state, state)
        assert steps, f"no way from {self.state} to {state}"
        for step in steps:
            self.state, self.message, self.updated_at = step, message if step is state else "", time.time()
            logger.info("event=slot slot=%s state=%s message=%s", self.name, step, self.message or "-")
            for queue in self._watchers:
                if queue.full():
                    queue.get_nowait()
                queue.put_nowait(replace(self.news()))


async def _anyone(slot: Slot, enter: Callable[[], None]) -> None:
    enter()


def _retrieve(task: asyncio.Task[None]) -> None:
    """A load that nobody waits for must not be reported as an error that nobody saw."""
    if not task.cancelled():
        task.exception()
