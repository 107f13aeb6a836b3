"""An answer that another server gives: each choice a request of its own, all of them one stream of events."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack

from troth.domain import Event, Finished, Plan, Prompt, Usage
from troth.engines.upstream.line import LineFault, Silent
from troth.engines.upstream.reading import Reader, broken
from troth.engines.upstream.replicas import Answering
from troth.engines.upstream.sse import Frames
from troth.errors import EngineFault, Refusal, UpstreamStalled

logger = logging.getLogger(__name__)

DONE = b"[DONE]"
END_SECONDS_MAX = 0.5
WAITING_MAX = 1024  # events that a slow client may be behind; then nothing is read from the other server

Open = Callable[[int], Awaitable[Answering]]  # by the number of the choice


class RelayTicket:
    """The `Ticket` of the domain for a plan that another server works on. Lives on the event loop."""

    def __init__(
        self,
        plan: Plan,
        prompt: Prompt,
        open_choice: Open,
        total_seconds: float,
        forget: Callable[[RelayTicket], object],
    ) -> None:
        """`forget` is called once, when it is over. The work begins at once."""
        self._plan = plan
        self._open = open_choice
        self._total_seconds = total_seconds
        self._asked_at = time.perf_counter()
        self._started_at = 0.0
        self._events: deque[Event] = deque()
        self._fault: Refusal | None = None
        self._is_finished = False
        self._answering = ExitStack()  # closes the connections
        self._end: AsyncIterator[bytes] | None = None  # what comes behind the last words
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        is_mute = prompt.answer_tokens == 0
        self._readers = [Reader(plan.ask, choice, is_mute=is_mute) for choice in range(plan.ask.choices)]
        self._upstream = plan.model.id
        self._task = asyncio.ensure_future(self._work())
        self._task.add_done_callback(lambda _: forget(self))

    @property
    def queue_seconds(self) -> float:
        """How long the other server took to begin its answer, so far or in all."""
        return (self._started_at or time.perf_counter()) - self._asked_at

    async def wait_started(self, seconds: float) -> bool:
        """True once the other server has begun to answer; False when `seconds` passed first. Raises Refusal."""
        try:
            async with asyncio.timeout(seconds):
                while not self._started_at and self._fault is None:
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            return False
        if self._fault is not None and not self._events:
            raise self._fault
        return True

    async def events(self) -> AsyncIterator[Event]:
        """The events in order; ends after Finished, raises the refusal that ended the answer."""
        while True:
            while self._events:
                event = self._events.popleft()
                yield event
                if isinstance(event, Finished):
                    return
            self._room.set()
            if self._fault is not None:
                raise self._fault
            self._news.clear()
            await self._news.wait()

    def cancel(self) -> None:
        """The connections are closed, whatever is under way. Safe to call twice."""
        if not self._is_finished:
            self._task.cancel()

    def fail(self, fault: Refusal) -> None:
        """The answer ends with this refusal, after the events that came before it, and the connections are closed."""
        self._break(fault)
        self._task.cancel()

    def _break(self, fault: Refusal) -> None:
        self._fault = self._fault or fault
        self._news.set()

    async def _work(self) -> None:
        with self._answering:
            await self._answer()
            if self._end is not None:
                await _read_to_end(self._end)

    async def _answer(self) -> None:
        try:
            async with asyncio.timeout(self._total_seconds or None):
                if len(self._readers) == 1:
                    await self._relay(0)
                else:
                    await self._relay_all()
            self._is_finished = True
            self._say([Finished(self._usage(), self._readers[0].timings())])
        except Refusal as refusal:
            self._break(refusal)
        except TimeoutError:
            self._break(UpstreamStalled("total", time.perf_counter() - self._asked_at, self._upstream))
        except Exception:  # the boundary of the task: whatever failed is for the log
            logger.exception("event=relay_failed model=%s", self._plan.model.id)
            self._break(EngineFault("The server failed to relay this answer.", code="internal_error"))

    async def _relay_all(self) -> None:
        """Every choice is relayed; the first that fails ends them all."""
        tasks = [asyncio.ensure_future(self._relay(choice)) for choice in range(len(self._readers))]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _relay(self, choice: int) -> None:
        """One choice, from the first byte to the last."""
        answering = await self._open(choice)
        self._answering.callback(answering.close)
        self._upstream = answering.upstream
        self._started_at = self._started_at or time.perf_counter()
        self._news.set()
        pieces = answering.reply.pieces()
        await self._read(self._readers[choice], answering, pieces)
        if len(self._readers) == 1:
            self._end = pieces
        else:  # its place is free for a choice that waits for one
            await _read_to_end(pieces)
            answering.close()

    async def _read(self, reader: Reader, answering: Answering, pieces: AsyncIterator[bytes]) -> None:
        frames = Frames()
        if not answering.reply.headers.get("Content-Type", "").startswith("text/event-stream"):
            raise broken("it is no stream of events")
        heard_at = time.perf_counter()
        try:
            async for piece in pieces:
                heard_at = time.perf_counter()
                events: list[Event] = []
                for data in frames.feed(piece):
                    if data == DONE:
                        self._say([*events, *reader.end()])
                        return
                    events += reader.read(data)
                if events:
                    self._say(events)
                    await self._has_room()
        except Silent as error:
            raise UpstreamStalled("idle", time.perf_counter() - self._asked_at, answering.upstream) from error
        except LineFault as error:
            if not reader.is_complete:
                raise broken(
                    f"the connection broke {time.perf_counter() - heard_at:.1f} s after its last words"
                ) from error
        self._say(reader.end())

    def _say(self, events: list[Event]) -> None:
        self._events.extend(events)
        self._news.set()

    async def _has_room(self) -> None:
        """Whoever reads the events is not too far behind."""
        if len(self._events) > WAITING_MAX:
            self._room.clear()
            await self._room.wait()

    def _usage(self) -> Usage:
        """Over all choices; the prompt is counted once."""
        each = [reader.usage() for reader in self._readers]
        thoughts = each[0].thoughts
        for other in each[1:]:
            thoughts += other.thoughts
        return Usage(each[0].prompt_tokens, sum(one.answer_tokens for one in each), each[0].cached_tokens, thoughts)


async def _read_to_end(pieces: AsyncIterator[bytes]) -> None:
    """The answer has been read to its end, so that its connection is good for the next request, or is not worth it."""
    try:
        async with asyncio.timeout(END_SECONDS_MAX):
            async for _ in pieces:
                continue
    except (TimeoutError, LineFault):
        return  # then it is closed
