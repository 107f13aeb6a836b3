"""The step loop: which tokens of which sequences go into the next batch, and what becomes of them.

The life of a request:

 1. `submit` puts it into the inbox; the next step takes it out and lines it up by priority and arrival.
 2. When a slot is free its first choice is seated, with the longest beginning of its prompt that the
    prefix cache holds. It waits instead while another request reads a beginning that both share.
 3. Every step builds one batch: one token of each speaking choice, or several where a draft says what
    will probably follow; then chunks of the prompts being read.
 4. The decoder computes the batch; rows of logits come back for every sequence that is to speak.
 5. The choice that has read the whole prompt has its state saved. Its siblings are restored from it into
    free slots and pick their own first token from the same row; those without a slot wait for one.
 6. Each row gives a token; the interpreter turns it into text and says whether a stop string was met.
    A drafted token counts only if it is the token that was picked; the rest of the draft is forgotten.
 7. A choice ends by end of turn, by stop string or by its budget, and its slot is free in the same step.
 8. The events of the step go out in one delivery. `cancel` takes a request out at the next step, from the
    line, while it reads, or while it speaks; a batch that works for it alone is interrupted.

When all slots are taken, requests wait; one of lower priority number takes the slot of the least urgent,
which is parked and goes on later as if nothing had happened. No running request ever fails for room.

One thread calls `run`. Only `submit`, `cancel`, `call`, `lose` and `stop` may be called from others.
"""

from __future__ import annotations

import logging
import queue
import time
from collections.abc import Callable, Sequence
from typing import Literal

from troth.engines.base import DecodeFault, DecodeInterrupted, Decoder, Distant, EngineGone
from troth.errors import EngineFault, Refusal, Unavailable
from troth.scheduler.batch import Batch, compose, groups
from troth.scheduler.counters import Counters
from troth.scheduler.drafts import Drafter
from troth.scheduler.hearing import Hearing
from troth.scheduler.outbox import Deliver, Outbox
from troth.scheduler.pace import Pace
from troth.scheduler.prefix_cache import PrefixCache
from troth.scheduler.request import Request, in_line
from troth.scheduler.slots import Slots

logger = logging.getLogger(__name__)

RETRY_SECONDS = 5  # after which another server may listen here

Order = tuple[Literal["submit", "cancel"], Request] | Callable[[], None] | EngineGone | None


class Scheduler:
    """Continuous batching over one decoder. See the module's docstring for the life of a request."""

    def __init__(
        self,
        decoder: Decoder,
        deliver: Deliver,
        pace: Pace,
        cache: PrefixCache,
        drafter: Drafter | None = None,
        clock: Callable[[], float] = time.perf_counter,
        counters: Counters | None = None,
    ) -> None:
        """`counters`: those of an earlier scheduler, which go on."""
        self.decoder = decoder
        self.counters = counters or Counters()
        self.cache = cache
        self.slots = Slots(decoder, cache, self.counters)
        self.drafter = drafter or Drafter(tokens_max=0)
        self.busy_since = 0.0
        self._pace = pace
        self._clock = clock
        self._inbox: queue.SimpleQueue[Order] = queue.SimpleQueue()
        self._line: list[Request] = []  # requests with at least one choice that waits for a slot
        self._outbox = Outbox(deliver, self.counters)
        self._alone: Request | None = None  # the request that the batch being computed works for alone
        self._arrivals = 0
        self._is_stopping = False
        self._gone: EngineGone | None = None
        self._hearing = Hearing(self.slots, self.drafter, self.counters, self._outbox, clock, self._abandon)
        self._foresee = decoder.foresee if isinstance(decoder, Distant) else None

    # ---- from any thread ------------------------------------------------------------------------

    def submit(self, request: Request) -> None:
        """The request will be lined up by the next step."""
        self._inbox.put(("submit", request))

    def cancel(self, request: Request) -> None:
        """The request will be out of the line and out of its slots after the next step at the latest."""
        self._inbox.put(("cancel", request))
        if self._alone is request:
            self.decoder.interrupt()

    def call(self, work: Callable[[], None]) -> None:
        """`work` will run on the scheduler's thread between two steps; it must be short and not raise."""
        self._inbox.put(work)

    def stop(self) -> None:
        """`run` will return soon; what is running then ends with an EngineFault."""
        self._inbox.put(None)
        self.decoder.interrupt()

    def lose(self, gone: EngineGone) -> None:
        """`run` will end as with `stop`, but with this fault: the decoder is no more."""
        self._inbox.put(gone)

    # ---- the loop -------------------------------------------------------------------------------

    def run(self) -> None:
        """Steps until `stop`. An error inside a step ends the requests that it worked for, never the loop.

        Raises EngineGone when the decoder is lost; every request has ended with it.
        """
        try:
            while not self._is_stopping:
                self.step()
        except EngineGone as gone:
            self._end_all(gone)
            raise
        self._end_all(stopping_fault())

    def _end_all(self, fault: Refusal) -> None:
        """Nobody runs or waits any more; those that did have ended with the fault."""
        self._is_stopping = True
        self._take_orders()  # what came in meanwhile is answered too
        self._abandon([*self._line, *self.slots.requests()], fault)
        self._outbox.flush()
        self.busy_since = 0.0

    def step(self) -> None:
        """One step: take orders, fill slots, compute one batch, say what came of it. Raises EngineGone."""
        self._take_orders()
        if self._gone is not None:
            raise self._gone
        try:
            self._admit()
            self._outbox.flush()  # whoever has a slot now is told before the batch is computed
            for adapters in groups(self.slots):
                self._compute(compose(self.slots, self._pace, self.drafter, adapters))
        except EngineGone:
            raise
        except Exception as error:  # the boundary of the step: one bad step must not end the loop
            logger.exception("event=step_failed")
            self._abandon(self.slots.requests(), EngineFault(f"The engine failed: {type(error).__name__}."))
        self._outbox.flush()

    def _take_orders(self) -> None:
        """The inbox is empty. Waits for an order when there is nothing to do."""
        block = not self.slots.running and not self._line and not self._is_stopping
        self.busy_since = 0.0 if block else self.busy_since
        while True:
            try:
                order = self._inbox.get(block=block)
            except queue.Empty:
                return
            block = False
            if not self.busy_since:
                self.busy_since = self._clock()
            if order is None:
                self._is_stopping = True
            elif isinstance(order, EngineGone):
                self._gone = order
            elif callable(order):
                order()
            elif order[0] == "submit":
                self._arrivals += 1
                order[1].arrival = self._arrivals
                self._line = in_line([*self._line, order[1]])
            elif not order[1].is_over:
                self._drop(order[1], keep=True)
                self.counters.requests_cancelled += 1

    def _admit(self) -> None:
        """Free slots are given to waiting choices, in line order; a request starts with its first slot."""
        for request in list(self._line):
            if self.slots.is_full:
                weakest = self.slots.least_urgent(request)
                if weakest is None:
                    break
                self.slots.park(weakest)
                if weakest.request not in self._line:
                    self._line = in_line([*self._line, weakest.request])
            self._admit_choices(request)
        self._line = [request for request in self._line if request.waiting]
        self.slots.close_holes()

    def _admit_choices(self, request: Request) -> None:
        while request.waiting and not self.slots.is_full:
            if any(choice.is_reading for choice in request.running) or self.slots.is_following(request):
                return  # siblings fork from their reader, followers from the prefix cache
            self.slots.seat(request.waiting.pop(0))
            if not request.is_started:
                request.is_started = True
                request.started_at = self._clock()
                if request.job.progress:
                    request.events.append(request.progress(request.started_at))
                self._outbox.touch(request)

    # ---- one batch ------------------------------------------------------------------------------

    def _compute(self, batch: Batch) -> None:
        """The batch is computed and its tokens are part of the answers, unless it was cut short or failed."""
        owners = batch.owners()
        if not owners:
            return  # whom this batch was for has ended in an earlier one of this step
        self._alone = owners[0] if len(owners) == 1 else None
        if self._foresee is not None:
            self._foresee(batch.picks())
        started, counters = self._clock(), self.counters
        try:
            self.decoder.decode()
        except DecodeInterrupted:
            return
        except DecodeFault as fault:
            logger.error("event=decode_failed error=%s", fault)
            self._abandon(owners, EngineFault(f"The engine could not compute the next token: {fault}."))
            return
        finally:
            self._alone = None
        decoded = self._clock()
        counters.decode_calls += 1
        counters.busy_slots += len(self.slots.running)
        counters.draft_seconds += batch.draft_seconds
        counters.build_seconds += batch.build_seconds
        counters.decode_seconds += decoded - started
        said = counters.predicted_tokens
        self._read(batch)
        self._hearing.take(batch)
        if len(batch.speakers) == 1 and not batch.readers:
            rows = 1 + len(batch.speakers[0].draft)
            self.drafter.note_step(rows, decoded - started, heard=counters.predicted_tokens - said)
        counters.sample_seconds += self._clock() - decoded

    def _read(self, batch: Batch) -> None:
        """The prompt tokens of this batch are held, and progress is reported to those who asked."""
        now = self._clock()
        for choice, chunk in batch.readers:
            request = choice.request
            choice.held += chunk
            self.counters.prompt_tokens += chunk
            if request.answering_at:
                continue  # a late sibling reads what its request has already been charged for
            request.read_tokens += chunk
            if request.job.progress:
                request.events.append(request.progress(now))
                self._outbox.touch(request)

    # ---- endings --------------------------------------------------------------------------------

    def _drop(self, request: Request, *, keep: bool) -> None:
        """The request is nowhere in the scheduler and will say nothing more; what it read may be kept."""
        for choice in list(request.running):
            self.slots.unseat(choice, keep=keep)
        for choice in request.waiting:
            if choice.sampler is not None:
                choice.sampler.close()
        request.waiting.clear()
        self._line = [each for each in self._line if each is not request]
        request.is_over = True

    def _abandon(self, requests: Sequence[Request], fault: Exception) -> None:
        """These requests end with the fault; what they said before it stays said."""
        for request in requests:
            if not request.is_over:
                self._drop(request, keep=False)
                request.fault = fault
                self.counters.requests_failed += 1
                self._outbox.touch(request)


def stopping_fault() -> Unavailable:
    """What ends requests when their model is unloaded, or the server ends."""
    words = "The model is being stopped, or the server is shutting down."
    return Unavailable(words, retry_seconds=RETRY_SECONDS, code="stopping")
