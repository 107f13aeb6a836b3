"""The step loop: which tokens of which sequences go into the next batch, and what becomes of them.

The life of a request:

 1. `submit` puts it into the inbox; the next step takes it out and lines it up by priority and arrival.
 2. When a slot is free its first choice takes the lowest one and starts to read the prompt.
 3. Every step builds one batch: one token of each speaking choice, then chunks of the prompts being read.
 4. The decoder computes the batch; rows of logits come back for every sequence that is to speak.
 5. The choice that has read the whole prompt forks: its siblings copy its memory into free slots and pick
    their own first token from the same row. Siblings without a slot wait, and read when one is free.
 6. Each row gives a token; the interpreter turns it into text and says whether a stop string was met.
 7. A choice ends by end of turn, by stop string or by its budget, and its slot is free in the same step.
 8. The events of the step go out in one delivery. `cancel` takes a request out at the next step, from the
    line, while it reads, or while it speaks; a batch that works for it alone is interrupted.

One thread calls `run`. Only `submit`, `cancel` and `stop` may be called from others.
"""

from __future__ import annotations

import heapq
import logging
import queue
import time
from collections.abc import Callable, Sequence
from typing import Literal

from troth.domain import Began, Piece
from troth.engines.base import DecodeFault, DecodeInterrupted, Decoder
from troth.errors import EngineFault
from troth.scheduler.counters import Counters
from troth.scheduler.pace import Pace
from troth.scheduler.request import Choice, Delivery, Request, in_line

logger = logging.getLogger(__name__)

Deliver = Callable[[list[Delivery]], None]
Order = Literal["submit", "cancel", "stop"]


class Scheduler:
    """Continuous batching over one decoder. See the module's docstring for the life of a request."""

    def __init__(
        self,
        decoder: Decoder,
        deliver: Deliver,
        pace: Pace,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.decoder = decoder
        self.counters = Counters()
        self._deliver = deliver
        self._pace = pace
        self._clock = clock
        self._inbox: queue.SimpleQueue[tuple[Order, Request | None]] = queue.SimpleQueue()
        self._line: list[Request] = []  # requests with at least one choice that waits for a slot
        self._running: dict[int, Choice] = {}  # by slot
        self._free: list[int] = list(range(decoder.slots))  # heap: the lowest slot first
        self._touched: list[Request] = []  # requests with something to deliver after this step
        self._alone: Request | None = None  # the request that the batch being computed works for alone
        self._arrivals = 0
        self._is_stopping = False
        self.busy_since = 0.0

    # ---- from any thread ------------------------------------------------------------------------

    def submit(self, request: Request) -> None:
        """The request will be lined up by the next step."""
        self._inbox.put(("submit", request))

    def cancel(self, request: Request) -> None:
        """The request will be out of the line and out of its slots after the next step at the latest."""
        self._inbox.put(("cancel", request))
        if self._alone is request:
            self.decoder.interrupt()

    def stop(self) -> None:
        """`run` will return soon; what is running then ends with an EngineFault."""
        self._inbox.put(("stop", None))
        self.decoder.interrupt()

    @property
    def running_choices(self) -> int:
        """How many slots are in use."""
        return len(self._running)

    # ---- the loop -------------------------------------------------------------------------------

    def run(self) -> None:
        """Steps until `stop`. An error inside a step ends the requests that it worked for, never the loop."""
        while not self._is_stopping:
            self.step()
        self._abandon([*self._line, *self._requests()], EngineFault("The server is shutting down.", code="stopping"))
        self._flush()

    def step(self) -> None:
        """One step: take orders, fill slots, compute one batch, say what came of it."""
        self._take_orders()
        self._admit()
        self._flush()  # whoever has a slot now is told before the batch is computed
        if self._running:
            try:
                self._batch()
            except Exception as error:  # the boundary of the step: one bad step must not end the loop
                logger.exception("event=step_failed")
                self._abandon(self._requests(), EngineFault(f"The engine failed: {type(error).__name__}."))
        self._flush()

    def _batch(self) -> None:
        """One batch is composed, computed, and its tokens are part of the answers."""
        counters, started = self.counters, self._clock()
        readers, speakers = self._compose()
        built = self._clock()
        if not self._compute():
            return
        decoded = self._clock()
        counters.decode_calls += 1
        counters.busy_slots += len(self._running)
        counters.build_seconds += built - started
        counters.decode_seconds += decoded - built
        self._read(readers)
        self._speak(self._ready(speakers))
        counters.sample_seconds += self._clock() - decoded

    def _take_orders(self) -> None:
        """The inbox is empty. Waits for an order when there is nothing to do."""
        block = not self._running and not self._line and not self._is_stopping
        self.busy_since = 0.0 if block else self.busy_since
        while True:
            try:
                order, request = self._inbox.get(block=block)
            except queue.Empty:
                return
            block = False
            if not self.busy_since:
                self.busy_since = self._clock()
            if request is None:
                self._is_stopping = True
            elif order == "submit":
                self._arrivals += 1
                request.arrival = self._arrivals
                self._line = in_line([*self._line, request])
            elif not request.is_over:
                self._drop(request)
                self.counters.requests_cancelled += 1

    def _admit(self) -> None:
        """Free slots are given to waiting choices, in line order; a request starts with its first slot."""
        for request in list(self._line):
            while request.waiting and self._free:
                reader = next((choice for choice in request.running if choice.is_reading), None)
                if reader is not None and request.waiting[0] is not reader:
                    break  # siblings fork from the reader instead of reading the same prompt beside it
                self._start(request.waiting.pop(0), request.prompt_tokens - 1)
            if not request.waiting:
                self._line.remove(request)
            if not self._free:
                return

    def _start(self, choice: Choice, copied_tokens_max: int) -> None:
        """The choice has the lowest free slot, and as much of the prompt as a running sibling can give."""
        request, decoder = choice.request, self.decoder
        choice.slot = heapq.heappop(self._free)
        self._running[choice.slot] = choice
        donor = next((other for other in request.running if other.held), None)
        request.running.append(choice)
        if donor is not None:
            choice.held = min(donor.held, copied_tokens_max)
            decoder.copy(donor.slot, choice.slot, choice.held)
        if not request.is_started:
            request.is_started = True
            request.started_at = self._clock()
            if request.job.progress:
                request.events.append(request.progress(request.started_at))
            self._touch(request)

    # ---- one batch ------------------------------------------------------------------------------

    def _compose(self) -> tuple[list[tuple[Choice, int]], list[tuple[Choice, int]]]:
        """The batch is filled. Returns the readers with their token counts and the speakers with their rows.

        Sequences go in by ascending slot: a decoder with one memory per sequence computes neighbours
        together and would split the batch at every step backwards.
        """
        chunks = self._pace.chunks(self._running.values(), self.decoder.batch_tokens)
        readers: list[tuple[Choice, int]] = []
        speakers: list[tuple[Choice, int]] = []
        self.decoder.begin()
        for slot in sorted(self._running):
            choice = self._running[slot]
            if not choice.is_reading:
                row = self.decoder.add(slot, (choice.last_token,), choice.held, wants_logits=True)
                speakers.append((choice, row))
            elif chunk := chunks.get(slot, 0):
                prompt = choice.request.job.prompt.tokens
                ends = choice.held + chunk == len(prompt)
                tokens = prompt[choice.held : choice.held + chunk]
                row = self.decoder.add(slot, tokens, choice.held, wants_logits=ends)
                readers.append((choice, chunk))
                if ends:
                    speakers.append((choice, row))
        owners = {id(choice.request): choice.request for choice, _ in (*readers, *speakers)}
        self._alone = next(iter(owners.values())) if len(owners) == 1 else None
        return readers, speakers

    def _compute(self) -> bool:
        """True when the decoder computed the batch; False when it was cut short or failed."""
        try:
            self.decoder.decode()
        except DecodeInterrupted:
            return False
        except DecodeFault as fault:
            logger.error("event=decode_failed error=%s", fault)
            self._abandon(self._requests(), EngineFault(f"The engine could not compute the next token: {fault}."))
            return False
        finally:
            self._alone = None
        return True

    def _read(self, readers: list[tuple[Choice, int]]) -> None:
        """The prompt tokens of this batch are held, and progress is reported to those who asked."""
        now = self._clock()
        for choice, chunk in readers:
            request = choice.request
            choice.held += chunk
            self.counters.prompt_tokens += chunk
            if request.answering_at:
                continue  # a late sibling reads what its request has already been charged for
            request.read_tokens += chunk
            if request.job.progress:
                request.events.append(request.progress(now))
                self._touch(request)

    def _ready(self, speakers: list[tuple[Choice, int]]) -> list[tuple[Choice, int]]:
        """The choices that pick a token now, with their rows: the speakers, and the siblings that fork."""
        ready: list[tuple[Choice, int]] = []
        for choice, row in speakers:
            if choice.spoken:
                choice.held += 1
                ready.append((choice, row))
                continue
            request = choice.request
            if not request.answering_at:
                request.answering_at = request.last_token_at = self._clock()
                self.counters.prompt_seconds += request.answering_at - request.started_at
            group = [choice]
            while request.waiting and self._free:
                group.append(request.waiting.pop(0))
                self._start(group[-1], request.prompt_tokens)
            if not request.waiting and request in self._line:
                self._line.remove(request)
            ready.extend((each, row) for each in group if self._opens(each))
        return ready

    def _opens(self, choice: Choice) -> bool:
        """True when the choice may speak: it has its sampler. A budget of zero tokens ends it here."""
        job = choice.request.job
        if job.prompt.answer_tokens == 0:
            self._end(choice, "length")
            return False
        bias = dict(job.prompt.logit_bias)
        if job.ignore_eos:
            bias.update(dict.fromkeys(self.decoder.vocabulary.end_ids, float("-inf")))
        seed = (job.seed + choice.index) % 0xFFFFFFFF
        choice.sampler = self.decoder.sampler(job.sampling, seed=seed, prompt=job.prompt.tokens, bias=bias)
        return True

    def _speak(self, ready: list[tuple[Choice, int]]) -> None:
        """Every choice of `ready` has its next token, and ends if that was its last."""
        picks = [(choice.sampler, row) for choice, row in ready if choice.sampler is not None]
        assert len(picks) == len(ready)
        tokens = self.decoder.pick(picks)
        now = self._clock()
        for (choice, row), token in zip(ready, tokens, strict=True):
            request = choice.request
            if request.is_over:
                continue  # a sibling failed in this very step and took the request with it
            self.counters.predicted_seconds += now - request.last_token_at if request.spoken_tokens else 0.0
            request.last_token_at = now
            try:
                self._hear(choice, row, token)
            except Exception as error:  # one answer's fault must not end the others: the boundary of the step
                logger.exception("event=answer_failed")
                self._abandon([request], EngineFault(f"The answer could not be read: {type(error).__name__}."))
            self._touch(request)

    def _hear(self, choice: Choice, row: int, token: int) -> None:
        """The token is part of the answer, or its end."""
        request, job = choice.request, choice.request.job
        choice.last_token = token
        choice.spoken += 1
        request.spoken_tokens += 1
        self.counters.predicted_tokens += 1
        if choice.spoken == 1:
            request.events.append(Began(choice.index))
        if token in self.decoder.vocabulary.end_ids:
            self._end(choice, "stop")
            return
        said = choice.interpreter.feed(self._piece(token, row, job.logprobs))
        if said is not None:
            if job.token_timings:
                said = type(said)(said.text, said.pieces, said.choice, request.timings())
            request.events.append(said)
        if choice.interpreter.stopped is not None:
            self._end(choice, "stop")
        elif choice.spoken == job.prompt.answer_tokens:
            self._end(choice, "length")

    def _piece(self, token: int, row: int, alternatives: int | None) -> Piece:
        """The token with its bytes, and its logprobs when they were asked for."""
        text = self.decoder.vocabulary.spoken(token)
        if alternatives is None:
            return Piece(token, text)
        chosen, others = self.decoder.logprobs(row, token, alternatives)
        return Piece(token, text, chosen, others)

    # ---- endings --------------------------------------------------------------------------------

    def _end(self, choice: Choice, finish: Literal["stop", "length"]) -> None:
        """The choice is complete and its slot free."""
        longest = choice.request.prompt_tokens + choice.spoken
        self.counters.sequence_tokens_max = max(self.counters.sequence_tokens_max, longest)
        self._release(choice)
        choice.request.end(choice, finish)
        self._touch(choice.request)
        if choice.request.is_over:
            self.counters.requests_finished += 1

    def _release(self, choice: Choice) -> None:
        """The choice has no slot and no sampler."""
        if choice.sampler is not None:
            choice.sampler.close()
            choice.sampler = None
        del self._running[choice.slot]
        self.decoder.forget(choice.slot, 0)
        heapq.heappush(self._free, choice.slot)
        choice.request.running.remove(choice)

    def _drop(self, request: Request) -> None:
        """The request is nowhere in the scheduler and will say nothing more."""
        for choice in list(request.running):
            self._release(choice)
        request.waiting.clear()
        if request in self._line:
            self._line.remove(request)
        request.is_over = True

    def _abandon(self, requests: Sequence[Request], fault: Exception) -> None:
        """These requests end with the fault; what they said before it stays said."""
        for request in requests:
            if not request.is_over:
                self._drop(request)
                request.fault = fault
                self.counters.requests_failed += 1
                self._touch(request)

    def _requests(self) -> list[Request]:
        """The requests that hold at least one slot."""
        return list({id(choice.request): choice.request for choice in self._running.values()}.values())

    # ---- what goes out --------------------------------------------------------------------------

    def _touch(self, request: Request) -> None:
        if request not in self._touched:
            self._touched.append(request)

    def _flush(self) -> None:
        """Everything said in this step is delivered, in one call."""
        if not self._touched:
            return
        started = self._clock()
        touched, self._touched = self._touched, []
        deliveries = []
        for request in touched:
            deliveries.append(Delivery(request, request.events, request.fault))
            request.events = []
        self._deliver(deliveries)
        self.counters.emit_seconds += self._clock() - started
