"""The lane: one line of requests before one engine, seen from the event loop.

`submit` puts a job into the line and gives a ticket; the scheduler, on the lane's own thread, takes it
from there. What crosses the threads: orders inwards through the scheduler's inbox, and once a step all
deliveries outwards through one `call_soon_threadsafe`. The loop only waits.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from troth.domain import Job
from troth.engines.base import (
    CacheReport,
    Compiles,
    ConversationReport,
    Decoder,
    Decodes,
    Distant,
    EngineGone,
    EngineReport,
    EngineStatus,
    LoadProgress,
    SlotReport,
    Vocabulary,
)
from troth.engines.sight import Sees
from troth.errors import EngineFault, QueueFull, QueueTimeout, Refusal, Unavailable
from troth.scheduler.counters import Counters
from troth.scheduler.disk_tier import DiskTier
from troth.scheduler.drafts import Drafter
from troth.scheduler.pace import Pace
from troth.scheduler.prefix_cache import CacheLimits, PrefixCache, Saved
from troth.scheduler.reports import cache_report, conversation_report, slot_report
from troth.scheduler.request import Delivery, Request
from troth.scheduler.scheduler import Scheduler, stopping_fault
from troth.scheduler.ticket import LaneTicket

logger = logging.getLogger(__name__)
T = TypeVar("T")

RETRY_SECONDS = 1
LOADING_RETRY_SECONDS = 2
HANG_SECONDS = 10.0  # after which a process that was to stop is taken to hang
# Short calls into the engine's library drop the interpreter lock; with the default 5 ms interval each of
# them can wait that long to get it back while another Python thread is busy.
SWITCH_INTERVAL_SECONDS = 0.0005


@dataclass(frozen=True, slots=True)
class LaneSettings:
    """How long the line may get, how large a step, what is kept, and how far ahead is guessed."""

    queue_max: int = 64  # requests that wait
    queue_seconds_max: float = 3600.0
    pace: Pace = field(default_factory=Pace)
    cache: CacheLimits = field(default_factory=CacheLimits)
    disk_folder: Path | None = None  # for states beyond memory; None: no disk tier
    disk_budget_bytes: int = 0
    draft_tokens_max: int = 8  # 0: no speculation


class Lane:
    """One engine with its line and its thread: a `Generates` built from a `Decodes`."""

    def __init__(self, name: str, engine: Decodes, settings: LaneSettings) -> None:
        self.name = name
        self.honours = engine.honours
        self._engine = engine
        self._settings = settings
        self._status: EngineStatus = "loading"
        self._load_progress = 0.0
        self._fault: str | None = None
        self._decoder: Decoder | None = None
        self._scheduler: Scheduler | None = None
        self._thread: threading.Thread | None = None
        self._is_stopping = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ended: asyncio.Future[EngineGone | None] | None = None  # the engine that was started last
        self._counters = Counters()  # of all schedulers, one after the other
        self._asked: set[concurrent.futures.Future[Any]] = set()  # by those who wait for the scheduler's thread
        self._tickets: dict[int, LaneTicket] = {}  # by id of the request
        self._queued: dict[int, LaneTicket] = {}  # the same, in order of arrival, until started

    # ---- life -----------------------------------------------------------------------------------

    async def start(self, progress: LoadProgress) -> None:
        """The model is loaded and the lane takes requests. May be called again when the engine has ended.

        Raises EngineFault with words for the operator, Unavailable when `stop` came first.
        """
        sys.setswitchinterval(SWITCH_INTERVAL_SECONDS)
        if self._thread is not None:
            self._is_stopping = False  # that was for an earlier engine
            await self._join()
        if self._is_stopping:
            raise stopping_fault()
        self._status, self._fault, self._load_progress = "loading", None, 0.0
        self._loop = loop = asyncio.get_running_loop()
        self._ended = ended = loop.create_future()
        loaded: asyncio.Future[None] = loop.create_future()

        def note(fraction: float) -> bool:
            self._load_progress = fraction
            progress(fraction)
            return not self._is_stopping

        def settle(fault: Refusal | None) -> None:
            if loaded.done():
                return
            if fault is None:
                loaded.set_result(None)
            else:
                loaded.set_exception(fault)

        def body() -> None:
            try:
                decoder = self._engine.load(note)
            except Exception as error:  # the boundary of the thread: whatever failed is the operator's to read
                loop.call_soon_threadsafe(settle, self._not_loaded(error))
                return
            scheduler = self._take(decoder)
            loop.call_soon_threadsafe(settle, None)
            self._run(decoder, scheduler, ended)

        self._thread = threading.Thread(target=body, name=f"lane-{self.name}", daemon=True)
        self._thread.start()
        await loaded

    async def gone(self) -> EngineGone | None:
        """What became of the engine, once it has ended by itself; None when `stop` ended it.

        To be awaited after `start`, which may then be called again.
        """
        assert self._ended is not None, "the lane was never started"
        return await asyncio.shield(self._ended)

    def _not_loaded(self, error: Exception) -> Refusal:
        """What ended the load, in words. On the lane's thread."""
        if self._is_stopping:
            self._status = "stopped"
            return stopping_fault()
        fault = error if isinstance(error, Refusal) else EngineFault(f"{type(error).__name__}: {error}")
        self._status, self._fault = "failed", str(fault)
        return fault

    def _take(self, decoder: Decoder) -> Scheduler:
        """The lane is ready, with this decoder. On the lane's thread."""
        cache = PrefixCache(self._settings.cache, can_cut=decoder.can_cut, disk=self._disk_tier(decoder))
        drafts_max = self._settings.draft_tokens_max if decoder.can_cut else 0
        drafter = Drafter(drafts_max, proposer=decoder.proposer)
        scheduler = Scheduler(decoder, self._post, self._settings.pace, cache, drafter, counters=self._counters)
        if isinstance(decoder, Distant):
            decoder.when_gone(scheduler.lose)
        self._decoder, self._scheduler, self._status = decoder, scheduler, "ready"
        return scheduler

    def _run(self, decoder: Decoder, scheduler: Scheduler, ended: asyncio.Future[EngineGone | None]) -> None:
        """The scheduler has run, and the memory is given back. On the lane's thread."""
        gone: EngineGone | None = None
        try:
            if self._is_stopping:
                scheduler.stop()  # asked while nobody could be told
            scheduler.run()
        except EngineGone as fault:
            gone = fault
            logger.error("event=engine_gone model=%s error=%s", self.name, fault)
        finally:
            self._status, self._fault = ("failed", gone.message) if gone is not None else ("stopped", None)
            scheduler.cache.close()
            decoder.close()
            self._on_loop(self._end, scheduler, ended, gone)

    def _end(self, scheduler: Scheduler, ended: asyncio.Future[EngineGone | None], gone: EngineGone | None) -> None:
        """Whoever still waits for the engine is told, and so is who awaits `gone`. On the event loop."""
        fault = gone or stopping_fault()
        for ticket in list(self._tickets.values()):
            ticket.fail(fault)
        self._tickets.clear()
        for asked in self._asked:
            if not asked.done():
                asked.set_exception(fault)
        if gone is not None and self._scheduler is scheduler:
            self._decoder = self._scheduler = None
        ended.set_result(gone)

    def _disk_tier(self, decoder: Decoder) -> DiskTier | None:
        """The disk tier that the settings ask for; without the folder that it needs, none, and a warning."""
        folder, budget_bytes = self._settings.disk_folder, self._settings.disk_budget_bytes
        if folder is None or budget_bytes == 0:
            return None
        try:
            return DiskTier(folder, decoder.state_key, budget_bytes)
        except OSError as error:
            logger.warning("event=no_disk_tier folder=%s error=%s", folder, error)
            return None

    async def stop(self) -> None:
        """Everything running has ended with a fault, and the engine's memory is given back."""
        self._is_stopping = True  # a load under way gives up at its next report
        if self._scheduler is not None:
            self._scheduler.stop()
        if isinstance(self._decoder, Distant) and not await self._join(HANG_SECONDS):
            self._decoder.kill()  # it does not answer, and nothing that is left to do needs it
        await self._join()

    async def _join(self, seconds: float | None = None) -> bool:
        """True when the lane's thread has ended, within `seconds` if they are given."""
        thread = self._thread
        if thread is None or not thread.is_alive():
            return True
        await asyncio.to_thread(thread.join, seconds)
        return not thread.is_alive()

    # ---- the line -------------------------------------------------------------------------------

    @property
    def vocabulary(self) -> Vocabulary:
        """The loaded model's vocabulary. Raises Unavailable while the model loads."""
        return self._ready()[0].vocabulary

    @property
    def grammars(self) -> Compiles | None:
        """What compiles grammars for the model. Raises Unavailable while the model loads."""
        return self._ready()[0].grammars

    @property
    def sight(self) -> Sees | None:
        """What reads pictures and sound for the model, if anything does. Raises Unavailable while the model loads."""
        return self._ready()[0].sight

    @property
    def context_tokens(self) -> int:
        """Tokens of one sequence, prompt and answer together. Raises Unavailable while the model loads."""
        return self._ready()[0].context_tokens

    def submit(self, job: Job) -> LaneTicket:
        """The job is in the line. Raises QueueFull, or Unavailable while the model loads."""
        decoder, scheduler = self._ready()
        free = max(decoder.slots - len(scheduler.slots.running), 0)  # those who go there wait for one step only
        if len(self._queued) >= self._settings.queue_max + free:
            raise QueueFull(len(self._queued), RETRY_SECONDS)
        request = Request(job)
        ticket = LaneTicket(request, self)
        self._tickets[id(request)] = self._queued[id(request)] = ticket
        assert self._loop is not None
        ticket.deadline = self._loop.call_later(self._settings.queue_seconds_max, self._time_out, ticket)
        scheduler.submit(request)
        return ticket

    def cancel(self, ticket: LaneTicket) -> None:
        """The scheduler drops the ticket's request within one step."""
        self._tickets.pop(id(ticket.request), None)
        if self._scheduler is not None:
            self._scheduler.cancel(ticket.request)

    def left_queue(self, ticket: LaneTicket) -> None:
        """The ticket no longer waits: its request runs, or is over."""
        self._queued.pop(id(ticket.request), None)
        if ticket.deadline is not None:
            ticket.deadline.cancel()
            ticket.deadline = None

    def _time_out(self, ticket: LaneTicket) -> None:
        if not ticket.is_started and not ticket.is_over:
            waited = ticket.queue_seconds
            ticket.fail(QueueTimeout(f"No slot came free within {waited:.0f} s.", retry_seconds=RETRY_SECONDS))
            self.cancel(ticket)

    def _post(self, deliveries: list[Delivery]) -> None:
        """The deliveries of one step cross to the event loop. On the lane's thread."""
        self._on_loop(self._hand_out, deliveries)

    def _on_loop(self, tell: Callable[..., None], *what: object) -> None:
        """The event loop will call `tell` with this. On the lane's thread."""
        assert self._loop is not None
        try:
            self._loop.call_soon_threadsafe(tell, *what)
        except RuntimeError:
            logger.info("event=delivery_dropped reason=event_loop_closed")

    def _hand_out(self, deliveries: list[Delivery]) -> None:
        for delivery in deliveries:
            ticket = self._tickets.get(id(delivery.request))
            if ticket is None:
                continue  # cancelled: nobody waits for it any more
            ticket.deliver(delivery.events, delivery.fault)
            if ticket.is_over:
                del self._tickets[id(delivery.request)]

    def _ready(self) -> tuple[Decoder, Scheduler]:
        if self._status == "ready" and self._decoder is not None and self._scheduler is not None:
            return self._decoder, self._scheduler
        if self._status == "loading":
            percent = int(self._load_progress * 100)
            raise Unavailable(f"The model {self.name} is loading: {percent} %.", retry_seconds=LOADING_RETRY_SECONDS)
        words = (self._fault or f"it is {self._status}").removesuffix(".")
        raise Unavailable(
            f"The model {self.name} cannot answer: {words}.",
            retry_seconds=LOADING_RETRY_SECONDS,
            code="model_unavailable",
        )

    # ---- what it tells --------------------------------------------------------------------------

    def totals(self) -> Counters:
        """The totals of all schedulers that the lane has had."""
        return self._counters

    def slots(self) -> list[SlotReport]:
        """Every slot now. Raises Unavailable while the model loads."""
        decoder, scheduler = self._ready()
        running = dict(scheduler.slots.running)
        return [slot_report(slot, decoder, running.get(slot)) for slot in range(decoder.slots)]

    def cache(self) -> CacheReport:
        """The prefix cache now. Raises Unavailable while the model loads."""
        decoder, scheduler = self._ready()
        return cache_report(scheduler.cache, can_cut=decoder.can_cut, moves=scheduler.counters.moves)

    def conversations(self, owner: str | None = None) -> list[ConversationReport]:
        """Saved states, an owner's or all, the most recently used first. Raises Unavailable while the model loads."""
        _, scheduler = self._ready()
        return [conversation_report(each) for each in scheduler.cache.conversations(owner)]

    async def forget(self, *, state_id: str | None = None, label: str | None = None, owner: str | None = None) -> int:
        """The saved states of this id, label and owner, None meaning any, are gone; returns how many they were."""

        def is_meant(saved: Saved) -> bool:
            tag = saved.tag
            return state_id in (None, saved.id) and label in (None, tag.label) and owner in (None, tag.owner)

        return await self._on_thread(lambda cache: cache.forget(is_meant))

    async def release(self, handle: str, owner: str | None = None) -> bool:
        """Nothing is held under the owner's handle any more. True if something was."""
        return await self._on_thread(lambda cache: cache.release(handle, owner))

    async def _on_thread(self, work: Callable[[PrefixCache], T]) -> T:
        """What `work` returns when the scheduler's thread has done it, between two steps."""
        _, scheduler = self._ready()
        done: concurrent.futures.Future[T] = concurrent.futures.Future()

        def run() -> None:
            if done.set_running_or_notify_cancel():  # from here on nobody else can end it
                try:
                    done.set_result(work(scheduler.cache))
                except Exception as error:  # the boundary of the caller: what fails for one must not end the loop
                    done.set_exception(error)

        self._asked.add(done)
        try:
            scheduler.call(run)
            return await asyncio.wrap_future(done)
        finally:
            self._asked.discard(done)

    def report(self) -> EngineReport:
        """The lane's state now, without waiting for the engine."""
        decoder, scheduler = self._decoder, self._scheduler
        oldest = next(iter(self._queued.values()), None)
        busy_since = scheduler.busy_since if scheduler is not None else 0.0
        return EngineReport(
            status=self._status,
            load_progress=self._load_progress if self._status == "loading" else 1.0,
            fault=self._fault,
            slots=decoder.slots if decoder is not None else 0,
            context_tokens=decoder.context_tokens if decoder is not None else 0,
            running=len(scheduler.slots.running) if scheduler is not None else 0,
            queued=len(self._queued),
            longest_wait_seconds=oldest.queue_seconds if oldest is not None else 0.0,
            busy_seconds=time.perf_counter() - busy_since if busy_since else 0.0,
            can_cut=decoder is not None and decoder.can_cut,
            draft_tokens_max=scheduler.drafter.tokens_max if scheduler is not None else 0,
            prefix_cache_bytes=self._settings.cache.budget_bytes,
            vision=decoder is not None and decoder.sight is not None and decoder.sight.vision,
            audio=decoder is not None and decoder.sight is not None and decoder.sight.audio,
            details={"isolation": "thread", **decoder.describe()} if decoder is not None else {},
        )
