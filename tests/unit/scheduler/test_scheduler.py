"""The scheduler against a decoder whose answers are known."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.decoder import END, LetterVocabulary, ScriptedDecoder, alone, fail_once
from troth.domain import Began, Ended, Event, Finished, Job, Piece, Progress, Prompt, Said, Sampling
from troth.errors import EngineFault
from troth.scheduler.pace import Pace
from troth.scheduler.request import Delivery, Request
from troth.scheduler.scheduler import Scheduler


class Letters:
    """An interpreter that says every token at once and stops at a letter."""

    def __init__(self, choice: int = 0, stop: str | None = None) -> None:
        self.choice = choice
        self.stop = stop
        self.stopped: str | None = None

    def feed(self, piece: Piece) -> Said | None:
        text = piece.piece.decode()
        if text == self.stop:
            self.stopped = text
            return None
        return Said(text, choice=self.choice)

    def flush(self) -> Said | None:
        return None


class Bench:
    """A scheduler that is stepped by hand, and what it delivered."""

    def __init__(self, decoder: ScriptedDecoder, pace: Pace | None = None) -> None:
        self.decoder = decoder
        self.scheduler = Scheduler(decoder, self.deliver, pace or Pace(read_tokens=16, read_tokens_beside_speech=4))
        self.events: dict[int, list[Event]] = {}
        self.faults: dict[int, Exception] = {}
        self.requests: list[Request] = []

    def deliver(self, deliveries: list[Delivery]) -> None:
        for delivery in deliveries:
            self.events.setdefault(id(delivery.request), []).extend(delivery.events)
            if delivery.fault is not None:
                self.faults[id(delivery.request)] = delivery.fault

    def submit(self, prompt: Sequence[int], answer_tokens: int = 8, *, choices: int = 1, **more: object) -> Request:
        stop = more.pop("stop", None)
        assert stop is None or isinstance(stop, str)
        context = self.decoder.context_tokens
        job = Job(
            prompt=Prompt(np.array(prompt, dtype=np.int32), answer_tokens, context),
            sampling=Sampling(),
            interpreters=[Letters(index, stop) for index in range(choices)],
            **{"seed": 7, **more},  # type: ignore[arg-type]  # the keywords of Job
        )
        request = Request(job)
        self.requests.append(request)
        self.scheduler.submit(request)
        return request

    def settle(self, steps_max: int = 5000) -> None:
        """Steps until every request is over."""
        for _ in range(steps_max):
            if all(request.is_over for request in self.requests):
                return
            self.scheduler.step()
        raise AssertionError("a request never ended")

    def said(self, request: Request, choice: int = 0) -> str:
        events = self.events.get(id(request), [])
        return "".join(event.text for event in events if isinstance(event, Said) and event.choice == choice)

    def kinds(self, request: Request) -> list[type[Event]]:
        return [type(event) for event in self.events.get(id(request), [])]


def words(tokens: Sequence[int]) -> str:
    return b"".join(LetterVocabulary().piece(token) for token in tokens if token != END).decode()


def is_clean(decoder: ScriptedDecoder) -> bool:
    return not any(decoder.memory) and all(sampler.is_closed for sampler in decoder.samplers)


def test_a_request_gets_the_tokens_that_follow_its_prompt() -> None:
    bench = Bench(ScriptedDecoder())

    request = bench.submit([1, 2, 3], 20)
    bench.settle()

    assert bench.said(request) == words(alone([1, 2, 3], 7, 20))
    assert bench.kinds(request)[0] is Began
    assert bench.kinds(request)[-2:] == [Ended, Finished]
    assert is_clean(bench.decoder)


def test_siblings_fork_from_one_reading_of_the_prompt() -> None:
    bench = Bench(ScriptedDecoder(slots=4))

    request = bench.submit([1, 2, 3, 4, 5, 6], 1, choices=4)
    bench.settle()

    assert bench.decoder.computed_tokens == 6
    assert [bench.said(request, k) for k in range(4)] == [words(alone([1, 2, 3, 4, 5, 6], 7 + k, 1)) for k in range(4)]


def test_siblings_without_a_slot_run_later_with_their_own_seeds() -> None:
    bench = Bench(ScriptedDecoder(slots=2))

    request = bench.submit([5, 6, 7], 12, choices=5)
    bench.settle()

    assert [bench.said(request, k) for k in range(5)] == [words(alone([5, 6, 7], 7 + k, 12)) for k in range(5)]
    assert is_clean(bench.decoder)


def test_a_stop_string_ends_the_choice_in_the_step_that_met_it() -> None:
    prompt = [3, 1, 4]
    answer = alone(prompt, 7, 30)
    stop = words(answer)[2]
    bench = Bench(ScriptedDecoder())

    request = bench.submit(prompt, 30, stop=stop)
    bench.settle()

    first = words(answer).index(stop)
    assert bench.said(request) == words(answer)[:first]
    assert request.spoken_tokens == first + 1
    ended = next(event for event in bench.events[id(request)] if isinstance(event, Ended))
    assert (ended.finish, ended.stop_text) == ("stop", stop)


def test_a_budget_of_zero_reads_the_prompt_and_says_nothing() -> None:
    bench = Bench(ScriptedDecoder())

    request = bench.submit([1, 2], 0)
    bench.settle()

    assert bench.kinds(request) == [Ended, Finished]
    assert request.spoken_tokens == 0


def test_progress_starts_with_nothing_read_and_ends_with_everything_read() -> None:
    bench = Bench(ScriptedDecoder())

    request = bench.submit(list(range(1, 27)) * 2, 2, progress=True)
    bench.settle()

    seen = [event for event in bench.events[id(request)] if isinstance(event, Progress)]
    assert [event.processed for event in seen] == [0, 16, 32, 48, 52]
    assert {event.total for event in seen} == {52}


def test_a_lower_priority_number_is_served_first() -> None:
    bench = Bench(ScriptedDecoder(slots=1))
    bench.submit([1], 3)
    late = bench.submit([2], 3)
    soon = bench.submit([3], 3, priority=-1)

    bench.settle()

    assert soon.started_at < late.started_at


def test_a_cancelled_request_leaves_the_line_and_says_nothing_more() -> None:
    bench = Bench(ScriptedDecoder(slots=1, picker=lambda held, seed: 1))
    running = bench.submit([1, 2], 50)
    waiting = bench.submit([3, 4], 50)
    bench.scheduler.step()

    bench.scheduler.cancel(waiting)
    bench.scheduler.cancel(running)
    bench.submit([9], 1)
    bench.settle()

    assert bench.said(waiting) == ""
    assert not any(isinstance(event, Finished) for event in bench.events[id(running)])
    assert is_clean(bench.decoder)


def test_cancelling_the_only_request_of_a_batch_interrupts_the_batch() -> None:
    decoder = ScriptedDecoder()
    bench = Bench(decoder)
    request = bench.submit([1] * 30, 5)
    decoder.before_decode = lambda _: bench.scheduler.cancel(request)

    bench.scheduler.step()

    assert decoder.computed_tokens == 0
    decoder.before_decode = lambda _: None
    other = bench.submit([2, 2], 3)
    bench.settle()
    assert bench.said(other) == words(alone([2, 2], 7, 3))


def test_cancelling_one_of_two_requests_does_not_interrupt_the_other() -> None:
    decoder = ScriptedDecoder()
    bench = Bench(decoder)
    kept, dropped = bench.submit([1, 2], 20), bench.submit([3, 4], 20)
    decoder.before_decode = lambda _: bench.scheduler.cancel(dropped)

    bench.settle()

    assert bench.said(kept) == words(alone([1, 2], 7, 20))


def test_a_decode_fault_ends_the_requests_of_the_batch_and_nobody_else() -> None:
    bench = Bench(ScriptedDecoder(slots=1, before_decode=fail_once("boom")))
    hit, next_one = bench.submit([1, 2], 5), bench.submit([3, 4], 5)

    bench.settle()

    assert isinstance(bench.faults[id(hit)], EngineFault)
    assert "boom" in str(bench.faults[id(hit)])
    assert bench.said(next_one) == words(alone([3, 4], 7, 5))
    assert is_clean(bench.decoder)


def test_an_interpreter_that_fails_ends_its_own_request_only() -> None:
    class Broken(Letters):
        def feed(self, piece: Piece) -> Said | None:
            raise ValueError("cannot read this")

    bench = Bench(ScriptedDecoder())
    bad, good = bench.submit([3, 1, 4], 5), bench.submit([3, 4], 5)
    bad.waiting[0].interpreter = Broken()

    bench.settle()

    assert isinstance(bench.faults[id(bad)], EngineFault)
    assert bench.said(good) == words(alone([3, 4], 7, 5))
    assert is_clean(bench.decoder)


def test_an_unexpected_error_in_a_step_leaves_the_scheduler_serving(caplog: pytest.LogCaptureFixture) -> None:
    decoder = ScriptedDecoder()
    bench = Bench(decoder)
    bad = bench.submit([1, 2], 5)

    def explode(_: ScriptedDecoder) -> None:
        decoder.before_decode = lambda _: None
        raise KeyError("surprise")

    decoder.before_decode = explode
    bench.settle()
    good = bench.submit([3, 4], 5)
    bench.settle()

    assert isinstance(bench.faults[id(bad)], EngineFault)
    assert bench.said(good) == words(alone([3, 4], 7, 5))
    assert "surprise" in caplog.text


def test_stop_ends_what_runs_and_what_waits_with_a_fault() -> None:
    bench = Bench(ScriptedDecoder(slots=1, picker=lambda held, seed: 1))
    first, second = bench.submit([1, 2], 50), bench.submit([3, 4], 50)
    bench.scheduler.step()

    bench.scheduler.stop()
    bench.scheduler.run()

    assert {id(first), id(second)} == set(bench.faults)
    assert is_clean(bench.decoder)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    slots=st.integers(1, 6),
    batch=st.integers(8, 40),
    count=st.integers(1, 14),
)
def test_every_request_gets_what_it_would_get_alone(seed: int, slots: int, batch: int, count: int) -> None:
    chance = random.Random(seed)
    bench = Bench(
        ScriptedDecoder(slots=slots, batch_tokens=batch),
        Pace(read_tokens=chance.randint(1, 40), read_tokens_beside_speech=chance.randint(1, 12)),
    )
    cancelled: set[int] = set()
    for _ in range(count):
        prompt = [chance.randint(1, 27) for _ in range(chance.randint(1, 90))]
        request = bench.submit(
            prompt,
            chance.randint(0, 40),
            choices=chance.choice([1, 1, 1, 2, 5]),
            seed=chance.randint(0, 99),
            priority=chance.choice([0, 0, -1, 3]),
        )
        for _ in range(chance.randint(0, 6)):
            if not all(each.is_over for each in bench.requests):  # an idle step would wait for orders
                bench.scheduler.step()
        if chance.random() < 0.25 and not request.is_over:
            bench.scheduler.cancel(request)
            cancelled.add(id(request))
    bench.settle()

    for request in bench.requests:
        if id(request) in cancelled:
            continue
        job = request.job
        for choice in range(len(job.interpreters)):
            expected = alone(job.prompt.tokens.tolist(), job.seed + choice, job.prompt.answer_tokens)
            assert bench.said(request, choice) == words(expected)
        assert isinstance(bench.events[id(request)][-1], Finished)
    assert is_clean(bench.decoder)
    assert bench.scheduler.running_choices == 0
