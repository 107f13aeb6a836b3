"""The lane of a model that reads whole sequences: one line, one thread, and batches across requests.

Nothing waits for a batch to fill up: while one is computed, requests gather, and the next takes what is there. What
crosses the threads: requests inwards through a queue, and once a batch what it finished outwards, by one
`call_soon_threadsafe`. Texts become tokens on a thread of their own, so that this does not hold up computing.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import cast

import numpy as np

from troth.domain.vectors import EmbedJob, Planes, Reading, RerankJob, Rows
from troth.engines.base import Encoder, Encodes, EngineReport, EngineStatus, LoadProgress, TextEncoder, VectorFacts
from troth.errors import EngineFault, QueueFull, QueueTimeout, Refusal, Unavailable
from troth.scheduler.lane import LOADING_RETRY_SECONDS, RETRY_SECONDS, SWITCH_INTERVAL_SECONDS
from troth.scheduler.readings import read_items, read_pairs, read_pictures
from troth.scheduler.scheduler import stopping_fault
from troth.scheduler.vector_batch import Place, Work, compose
from troth.scheduler.vector_counters import VectorCounters

logger = logging.getLogger(__name__)

Read = Callable[[Encoder], list[Reading]]


@dataclass(frozen=True, slots=True)
class VectorLaneSettings:
    """How long the line may get."""

    queue_max: int = 64  # requests that wait
    queue_seconds_max: float = 3600.0
    requests_max: int = 64  # that are worked on at once, a sequence of each in turn


class VectorLane:
    """One engine with its line and its threads: an `Embeds`, a `Reranks` and a `Classifies` built from an `Encodes`."""

    def __init__(self, name: str, engine: Encodes, settings: VectorLaneSettings) -> None:
        self.name = name
        self.honours = engine.honours
        self.counters = VectorCounters()
        self._engine = engine
        self._settings = settings
        self._status: EngineStatus = "loading"
        self._load_progress = 0.0
        self._fault: str | None = None
        self._encoder: Encoder | None = None
        self._thread: threading.Thread | None = None
        self._reader = ThreadPoolExecutor(1, f"read-{name}")
        self._inbox: queue.SimpleQueue[Work | None] = queue.SimpleQueue()  # None: stop
        self._is_stopping = False
        self._busy_since = 0.0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._queued: dict[int, Work] = {}  # by id, in order of arrival, until begun
        self._running: dict[int, Work] = {}

    # ---- life -----------------------------------------------------------------------------------

    async def start(self, progress: LoadProgress) -> None:
        """The model is loaded and the lane takes requests.

        Raises EngineFault with words for the operator, Unavailable when `stop` came first.
        """
        sys.setswitchinterval(SWITCH_INTERVAL_SECONDS)
        self._loop = loop = asyncio.get_running_loop()
        loaded: asyncio.Future[None] = loop.create_future()

        def note(fraction: float) -> bool:
            self._load_progress = fraction
            progress(fraction)
            return not self._is_stopping

        def settle(fault: Exception | None) -> None:
            if loaded.done():
                return
            if fault is None:
                loaded.set_result(None)
            else:
                loaded.set_exception(fault)

        def body() -> None:
            try:
                encoder = self._engine.open(note)
            except Exception as error:  # the boundary of the thread: whatever failed is the operator's to read
                loop.call_soon_threadsafe(settle, self._load_fault(error))
                return
            self._encoder, self._status = encoder, "ready"
            loop.call_soon_threadsafe(settle, None)
            try:
                self._run(encoder)
            finally:
                self._status = "stopped"
                encoder.close()

        self._thread = threading.Thread(target=body, name=f"lane-{self.name}", daemon=True)
        self._thread.start()
        await loaded

    def _load_fault(self, error: Exception) -> Refusal:
        if self._is_stopping:
            self._status = "stopped"
            return stopping_fault()
        fault = error if isinstance(error, Refusal) else EngineFault(f"{type(error).__name__}: {error}")
        self._status, self._fault = "failed", str(fault)
        return fault

    async def stop(self) -> None:
        """Everything under way has ended with a fault, and the model's memory is given back."""
        self._is_stopping = True  # a load under way gives up at its next report
        self._inbox.put(None)
        self._reader.shutdown(wait=False, cancel_futures=True)  # nothing more is read with memory that goes
        if self._thread is not None and self._thread.is_alive():
            await asyncio.to_thread(self._thread.join)
        for work in (*self._queued.values(), *self._running.values()):
            self._end(work, stopping_fault())

    # ---- the line -------------------------------------------------------------------------------

    @property
    def facts(self) -> VectorFacts:
        """What the loaded model is. Raises Unavailable while it loads."""
        return self._ready().facts

    async def embed(self, job: EmbedJob) -> Rows:
        """One vector for each item. Raises as `Embeds.embed` says."""
        return await self._answer(lambda encoder: read_items(cast(TextEncoder, encoder), job))

    async def rerank(self, job: RerankJob) -> Rows:
        """One score for each document. Raises as `Embeds.embed` says."""
        return await self._answer(lambda encoder: read_pairs(cast(TextEncoder, encoder), job))

    async def classify(self, pictures: Sequence[Planes]) -> Rows:
        """The model's numbers for each picture. Raises as `Embeds.embed` says."""
        return await self._answer(lambda _: read_pictures(pictures))

    async def _answer(self, read: Read) -> Rows:
        encoder = self._ready()
        free = max(self._settings.requests_max - len(self._running), 0)  # those who go there wait for one batch only
        if len(self._queued) >= self._settings.queue_max + free:
            raise QueueFull(len(self._queued), RETRY_SECONDS)
        work = Work()
        self._queued[id(work)] = work
        try:
            await self._begin(work, encoder, read)
            await work.over.wait()
            return work.result()
        finally:
            work.is_gone = True  # on every way out: what is not computed yet never is
            self._queued.pop(id(work), None)
            self._running.pop(id(work), None)

    async def _begin(self, work: Work, encoder: Encoder, read: Read) -> None:
        """The work is being computed, or over."""
        assert self._loop is not None
        deadline = asyncio.timeout(self._settings.queue_seconds_max)
        try:
            async with deadline:
                readings = await self._loop.run_in_executor(self._reader, read, encoder)
                work.prepare(readings, encoder.facts.dimensions)
                self._inbox.put(work)
                await work.begun.wait()
        except asyncio.CancelledError:
            caller = asyncio.current_task()
            if not self._is_stopping or (caller is not None and caller.cancelling()):
                raise
            raise stopping_fault() from None
        except TimeoutError:
            if not deadline.expired():
                raise
            waited = time.perf_counter() - work.arrived_at
            raise QueueTimeout(f"The engine was not free within {waited:.0f} s.", retry_seconds=RETRY_SECONDS) from None

    def _ready(self) -> Encoder:
        if self._status == "ready" and self._encoder is not None and not self._is_stopping:
            return self._encoder
        if self._status == "loading":
            percent = int(self._load_progress * 100)
            raise Unavailable(f"The model {self.name} is loading: {percent} %.", retry_seconds=LOADING_RETRY_SECONDS)
        words = self._fault or f"it is {'stopping' if self._is_stopping else self._status}"
        raise Unavailable(
            f"The model {self.name} cannot answer: {words}.",
            retry_seconds=LOADING_RETRY_SECONDS,
            code="model_unavailable",
        )

    # ---- on the engine's thread -------------------------------------------------------------------

    def _run(self, encoder: Encoder) -> None:
        works: list[Work] = []
        while not self._is_stopping:
            works = self._wanted(self._arrived(works))
            batch = compose(works, encoder)
            if not batch:
                continue
            self._busy_since = self._busy_since or time.perf_counter()
            in_batch = list(dict.fromkeys(work for work, _ in batch))
            if new := [work for work in in_batch if not work.begun_at]:
                self._post(new, [])
            self._compute(encoder, batch)
            over = [work for work in in_batch if work.is_done or work.fault]
            self.counters.requests += sum(work.fault is None for work in over)
            works = [work for work in works if not work.is_done and work.fault is None]
            if over:
                self._post([], over)

    def _arrived(self, works: list[Work]) -> list[Work]:
        """The works under way and, up to so many, those that came meanwhile; with nothing to do, what comes next."""
        if not works:
            self._busy_since = 0.0
            first = self._inbox.get()
            works = [first] if first is not None else []
        while len(works) < self._settings.requests_max:
            try:
                work = self._inbox.get_nowait()
            except queue.Empty:
                break
            if work is not None:
                works.append(work)
        return works

    def _wanted(self, works: list[Work]) -> list[Work]:
        for work in works:
            if work.is_gone:
                self.counters.dropped_sequences += work.left
        return [work for work in works if not work.is_gone]

    def _compute(self, encoder: Encoder, batch: list[Place]) -> None:
        """Every sequence of the batch has its row, or its request a fault."""
        readings = [work.readings[index] for work, index in batch]
        started = time.perf_counter()
        try:
            rows = encoder.encode(readings)
        except Exception as error:  # the boundary of the engine: what fails there fails these requests, not the server
            logger.exception("event=batch_failed model=%s sequences=%d", self.name, len(batch))
            for work, _ in batch:
                work.fault = EngineFault(f"The engine could not compute this: {type(error).__name__}.")
            return
        self.counters.note_batch([len(reading.tokens) for reading in readings], time.perf_counter() - started)
        for (work, index), row in zip(batch, rows, strict=True):
            work.put(index, row)
            if not np.isfinite(row).all():
                work.fault = EngineFault(f"The model gave no number for item {index}.")

    def _post(self, begun: list[Work], over: list[Work]) -> None:
        """What became of requests crosses to the event loop."""
        now = time.perf_counter()
        for work in begun:
            work.begun_at = now
        assert self._loop is not None
        try:
            self._loop.call_soon_threadsafe(self._hand_out, begun, over)
        except RuntimeError:
            logger.info("event=delivery_dropped reason=event_loop_closed")

    # ---- on the event loop ------------------------------------------------------------------------

    def _hand_out(self, begun: list[Work], over: list[Work]) -> None:
        for work in begun:
            if self._queued.pop(id(work), None) is not None:
                self._running[id(work)] = work
                work.begun.set()
        for work in over:
            work.over.set()

    def _end(self, work: Work, fault: Refusal) -> None:
        if work.over.is_set():
            return  # it was answered, and its caller has not woken up yet
        work.fault = work.fault or fault
        work.begun.set()
        work.over.set()

    # ---- what it tells ----------------------------------------------------------------------------

    def totals(self) -> VectorCounters:
        """What was counted since the start."""
        return self.counters

    def report(self) -> EngineReport:
        """The lane's state now, without waiting for the engine."""
        encoder, busy_since = self._encoder, self._busy_since
        oldest = next(iter(self._queued.values()), None)
        now = time.perf_counter()
        return EngineReport(
            status=self._status,
            load_progress=self._load_progress if self._status == "loading" else 1.0,
            fault=self._fault,
            context_tokens=encoder.facts.tokens_max if encoder is not None else 0,
            running=len(self._running),
            queued=len(self._queued),
            longest_wait_seconds=now - oldest.arrived_at if oldest is not None else 0.0,
            busy_seconds=now - busy_since if busy_since else 0.0,
            details=encoder.describe() if encoder is not None else {},
        )
