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
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from troth.engines.base import Engine, EngineReport
from troth.errors import Conflict, EngineFault, LoadFailed, Refusal, Unavailable
from troth.fleet.aside import Fetch
from troth.fleet.backoff import BackOff
from troth.fleet.facts import Making, SlotFacts, SlotNews
from troth.fleet.states import DISPATCHABLE, LOADING, SlotState, path_between
from troth.fleet.watchers import Watchers

logger = logging.getLogger(__name__)

IDLE_AFTER_SECONDS = 60.0  # of quiet: then a slot is shown as idle
RETRY_SECONDS = 2
LOGGED_STEPS = 4  # of a load

Admit = Callable[["Slot", Callable[[], None]], Awaitable[None]]  # memory is there for it: the callable is called then


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
        self._fetch: Fetch | None = None  # the latest of its files
        self._leaving: asyncio.Task[None] | None = None  # an engine is being stopped
        self._held = 0  # requests on their way to the engine
        self._watchers = Watchers()

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
    def is_coming(self) -> bool:
        """True while a load is under way, also one that waits for room or for its own engine to leave."""
        return self._loading is not None and not self._loading.done()

    @property
    def takes_memory(self) -> bool:
        """True while its model is in memory, comes or goes."""
        return self.is_leaving or self.state not in (SlotState.OFFLINE, SlotState.PULLING, SlotState.ERROR)

    @property
    def is_leaving(self) -> bool:
        """True while an engine of it is being stopped."""
        return self._leaving is not None and not self._leaving.done()

    @property
    def is_busy(self) -> bool:
        """True while requests run, wait, or are prepared for it."""
        report = self.engine.report() if self.engine is not None else None
        return self._held > 0 or (report is not None and report.running + report.queued > 0)

    @contextmanager
    def held(self) -> Iterator[None]:
        """A request is being prepared for the engine, which stays meanwhile."""
        self._held += 1
        try:
            yield
        finally:
            self._held -= 1
            self.touch()

    @property
    def quiet_seconds(self) -> float:
        """How long it has had nothing to do."""
        return time.monotonic() - self.used_at

    @property
    def memory_bytes(self) -> int:
        """What the model takes in memory, as the operator or its files say."""
        return self.facts.memory_bytes if self.facts.memory_bytes is not None else self._making.weigh()

    def report(self) -> EngineReport:
        """The engine's report; of a slot without one, what is known. It is ready only once requests are taken."""
        if self.engine is not None:
            report = self.engine.report()
            is_early = self.is_loading and report.status == "ready"  # the engine is, and what the slot needs is not
            return replace(report, status="loading") if is_early else report
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

    def watch(self) -> AsyncIterator[SlotNews]:
        """The state now, and every one that follows, until nobody reads on or the server ends."""
        return self._watchers.watch(self.news())

    def touch(self) -> None:
        """The slot is wanted now."""
        self.used_at = time.monotonic()

    # ---- into memory ------------------------------------------------------------------------------

    def begin_loading(self, *, by_hand: bool = False) -> asyncio.Task[None]:
        """The load that is under way, or a new one. Raises Unavailable while the breaker holds it back.

        `by_hand`: the operator asks; the breaker forgets.
        """
        if self._loading is not None and self.is_coming:
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
        if self.is_dispatchable:
            return
        task = self.begin_loading(by_hand=by_hand)
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            caller = asyncio.current_task()
            if not task.cancelled() or (caller is not None and caller.cancelling()):
                raise
            raise Unavailable(
                f"The load of the model {self.facts.model} was given up.",
                retry_seconds=RETRY_SECONDS,
                code="model_unavailable",
                details=self._details(),
            ) from None

    def _check_breaker(self) -> None:
        breaker = self.breaker
        if not breaker.is_parked and breaker.wait_seconds <= 0:
            return
        words = (
            f"is parked after {breaker.crashes} failures in a row: POST /api/slots/{self.name}/load starts it again. "
            if breaker.is_parked
            else f"failed and is started again in {breaker.wait_seconds:.0f} s. "
        )
        raise Unavailable(
            f"The slot {self.name} {words}The last failure: {self.message}",
            retry_seconds=int(max(breaker.wait_seconds, RETRY_SECONDS)),
            code="slot_crash_looping",
            details=self._details(),
        )

    async def _load(self) -> None:
        started, self.load_progress = time.perf_counter(), 0.0
        try:
            await self.left()
            if not self._making.has_files():
                self._go(SlotState.PULLING, "fetching its files")
                self._fetch = Fetch(self._making.pull, self._note_progress, f"fetch-{self.name}")
                await self._fetch.wait()
            await self.admit(self, lambda: self._go(SlotState.STARTING))
            self.load_progress = 0.0
            engine = self.engine = self._making.make()
            self._go(SlotState.WARMING)
            await engine.start(self._note_progress)
            await self._making.look_at(engine)
        except asyncio.CancelledError:
            if self._fetch is not None:
                await self._fetch.give_up()
            await self._drop(SlotState.OFFLINE, "the load was given up")
            raise
        except Unavailable as refusal:  # no memory now, or the server ends: nothing is wrong with the model
            self.is_wanted = False
            await self._drop(SlotState.OFFLINE, refusal.message)
            raise
        except Refusal as refusal:
            await self._drop(SlotState.ERROR, refusal.message)
            self.breaker.note_crash()
            if isinstance(refusal, EngineFault):
                raise LoadFailed(f"The slot {self.name} could not load its model: {refusal.message}") from refusal
            raise
        except Exception as error:
            logger.exception("event=load_failed slot=%s", self.name)
            await self._drop(SlotState.ERROR, f"{type(error).__name__}: {error}")
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

    async def _drop(self, state: SlotState, message: str) -> None:
        """The engine is nobody's any more, and once it is stopped the slot is in `state`, whoever stops waiting."""
        engine, self.engine = self.engine, None
        self._leaving = asyncio.create_task(self._stop(engine, state, message))
        await asyncio.shield(self._leaving)

    async def _stop(self, engine: Engine | None, state: SlotState, message: str) -> None:
        try:
            if engine is not None:
                await engine.stop()
                self._making.bury(engine)
        finally:
            self._go(state, message)

    # ---- out of it --------------------------------------------------------------------------------

    async def unload(self, *, force: bool = False, why: str = "") -> None:
        """The memory is given back. Requests that run have ended with a fault.

        Raises Conflict for a slot that is pinned, or that is on its way, unless it is forced.
        """
        if self.facts.pinned and not force:
            raise Conflict(f"The slot {self.name} is pinned; ?force=true unloads it all the same.", code="slot_pinned")
        self.is_wanted = False
        if self.is_coming:
            if not force:
                words = str(self.state) if self.is_loading else "about to be loaded"
                raise Conflict(
                    f"The slot {self.name} is {words}, and from there it cannot be unloaded; ?force=true gives the "
                    "load up.",
                    code="illegal_transition",
                )
            await self.give_up()
            return
        if self.state is SlotState.OFFLINE:
            return
        if self.state is SlotState.ERROR:
            await self.left()  # its remains are being put away, which ends in this state
            self.breaker.reset()
            self._go(SlotState.OFFLINE, why)
            return
        if self.state is SlotState.UNLOADING:
            raise Conflict(f"The slot {self.name} is being unloaded already.", code="illegal_transition")
        self._go(SlotState.UNLOADING, why)
        await self._drop(SlotState.OFFLINE, why)

    async def left(self) -> None:
        """An engine that is being stopped has gone."""
        if self._leaving is not None:
            await asyncio.wait([self._leaving])

    async def give_up(self) -> None:
        """A load under way has ended, and the slot is offline. Nothing happens otherwise."""
        task = self._loading
        if task is not None and not task.done():
            if self.engine is not None:
                await self.engine.stop()  # a load on a thread gives up at its next report
            task.cancel()
            await asyncio.wait([task])

    async def stop(self) -> None:
        """The server ends: nothing loads or runs any more, no memory is held, and nobody watches."""
        await self.give_up()
        await self.left()
        if self.engine is not None:
            await self.engine.stop()
        self._watchers.tell(None)

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
        """The engine has died: its remains are put away and the breaker knows. Of several callers the first does it."""
        if self.engine is None:
            return
        words = self.engine.report().fault or "its engine stopped"
        logger.error("event=engine_died slot=%s model=%s fault=%s", self.name, self.facts.model, words)
        self.breaker.note_crash()
        self._go(SlotState.ERROR, words)
        await self._drop(SlotState.ERROR, words)

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
            self.message = message or self.message
            return
        steps = path_between(self.state, state)
        assert steps, f"no way from {self.state} to {state}"
        for step in steps:
            self.state, self.message, self.updated_at = step, message if step is state else "", time.time()
            logger.info("event=slot slot=%s state=%s message=%s", self.name, step, self.message or "-")
            self._watchers.tell(self.news())


async def _anyone(slot: Slot, enter: Callable[[], None]) -> None:
    enter()


def _retrieve(task: asyncio.Task[None]) -> None:
    """A load that nobody waits for must not be reported as an error that nobody saw."""
    if not task.cancelled():
        task.exception()
