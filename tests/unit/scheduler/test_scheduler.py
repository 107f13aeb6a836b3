"""The scheduler against a decoder whose answers are known."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import count

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.decoder import END, LetterVocabulary, ScriptedDecoder, alone, fail_once, next_token
from troth.domain import (
    NO_ADAPTERS,
    Adapters,
    Began,
    Ended,
    Event,
    Finished,
    FinishReason,
    Job,
    Piece,
    Progress,
    Prompt,
    Said,
    Sampling,
    Tag,
)
from troth.errors import EngineFault
from troth.scheduler.drafts import Drafter
from troth.scheduler.pace import Pace
from troth.scheduler.prefix_cache import CacheLimits, PrefixCache
from troth.scheduler.request import Delivery, Request
from troth.scheduler.scheduler import Scheduler


class Letters:
    """An interpreter that says every token at once and stops at a letter."""

    def __init__(self, choice: int = 0, stop: str | None = None) -> None:
        self.choice = choice
        self.stop = stop
        self.stopped: str | None = None

    @property
    def finish(self) -> FinishReason | None:
        return "stop" if self.stopped else None

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

    def __init__(
        self,
        decoder: ScriptedDecoder,
        pace: Pace | None = None,
        cache: CacheLimits | None = None,
        draft_tokens_max: int = 0,
    ) -> None:
        self.decoder = decoder
        self.cache = PrefixCache(cache or CacheLimits(budget_bytes=0), can_cut=decoder.can_cut)
        self.scheduler = Scheduler(
            decoder,
            self.deliver,
            pace or Pace(read_tokens=16, read_tokens_beside_speech=4),
            self.cache,
            Drafter(draft_tokens_max),
            clock=count().__next__,  # every look at the clock takes one second, and so does every batch
        )
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


SETS = (NO_ADAPTERS, Adapters(((0, 1.0),)), Adapters(((0, 0.5),), control=True))


@pytest.mark.parametrize("choices", [1, 3])
def test_a_batch_has_one_set_of_adapters_and_a_state_serves_its_own_set_alone(choices: int) -> None:
    bench = Bench(ScriptedDecoder(slots=4), cache=CacheLimits(tokens_min=2), draft_tokens_max=4)
    prompt = [1, 2, 3, 4, 5, 6, 7, 8]

    asked = [
        (bench.submit(prompt, 12, choices=choices, adapters=each, tag=Tag(adapters=each.key)), each)
        for _ in range(3)
        for each in SETS
    ]
    bench.settle()  # the decoder fails the test when a memory is gone on with under other adapters

    for request, _ in asked:
        for choice in range(choices):
            assert bench.said(request, choice) == words(alone(prompt, 7 + choice, 12))
    assert 3 <= sum(request.cached_tokens > 0 for request, _ in asked) <= 6  # the first of each set read for itself
    assert is_clean(bench.decoder)


def test_a_step_computes_one_batch_for_each_set_that_is_running() -> None:
    used: list[Adapters] = []
    decoder = ScriptedDecoder(slots=4, before_decode=lambda decoder: used.append(decoder.adapters))
    bench = Bench(decoder)
    for each in (*SETS, SETS[0]):
        bench.submit([1, 2, 3], 2, adapters=each)

    bench.scheduler.step()

    assert sorted(used, key=lambda each: each.key) == sorted(SETS, key=lambda each: each.key)


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


@pytest.mark.parametrize("call", [1, 2, 3])
@pytest.mark.parametrize(
    "stage", ["begin", "add", "decode", "sampler", "pick", "logprobs", "save", "restore", "forget"]
)
def test_an_error_at_any_stage_leaves_the_scheduler_serving(stage: str, call: int) -> None:
    decoder = ScriptedDecoder(slots=3)
    real, calls = getattr(decoder, stage), count(1)

    def failing(*arguments: object, **more: object) -> object:
        if next(calls) == call:
            raise KeyError("surprise")
        return real(*arguments, **more)

    setattr(decoder, stage, failing)
    bench = Bench(decoder, cache=CacheLimits(1 << 20, tokens_min=2), draft_tokens_max=4)
    shared = list(range(1, 9))
    for number in range(5):
        bench.submit([*shared, number + 9], 6, choices=1 + number % 2, logprobs=1, priority=-number)
        bench.scheduler.step()
    bench.settle()
    assert next(calls) > call, "the stage was never reached"
    good = bench.submit([3, 4, 5], 5)
    bench.settle()

    assert bench.said(good) == words(alone([3, 4, 5], 7, 5))
    assert bench.scheduler.slots.running == {}
    assert is_clean(decoder)


@pytest.mark.parametrize("call", [1, 2, 3])
@pytest.mark.parametrize("stage", ["save", "restore", "forget"])
def test_an_error_while_a_hole_is_closed_loses_nobody(stage: str, call: int) -> None:
    decoder = ScriptedDecoder(slots=3, picker=lambda held, seed: 1 + len(held) % 20)
    bench = Bench(decoder)
    short = bench.submit([1, 2], 2)
    long = bench.submit([3, 4], 30)
    bench.scheduler.step()
    real, calls = getattr(decoder, stage), count(1)

    def failing(*arguments: object, **more: object) -> object:
        if next(calls) == call:
            raise KeyError("surprise")
        return real(*arguments, **more)

    setattr(decoder, stage, failing)
    bench.settle()

    for request in (short, long):
        assert request.is_over
        assert id(request) in bench.faults or bench.events[id(request)][-1].__class__ is Finished
    bench.submit([5, 6], 1)
    bench.settle()
    assert bench.scheduler.slots.running == {}
    assert is_clean(decoder)


def test_stop_ends_what_runs_and_what_waits_with_a_fault() -> None:
    bench = Bench(ScriptedDecoder(slots=1, picker=lambda held, seed: 1))
    first, second = bench.submit([1, 2], 50), bench.submit([3, 4], 50)
    bench.scheduler.step()

    bench.scheduler.stop()
    bench.scheduler.run()

    assert {id(first), id(second)} == set(bench.faults)
    assert is_clean(bench.decoder)


def echo(held: Sequence[int], seed: int) -> int:
    """Repeats what stood seven tokens ago, so that drafts come true, and errs now and then."""
    return next_token(held, seed) if len(held) % 11 == 0 or len(held) < 7 else held[-7]


PICKERS = [next_token, echo]


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    slots=st.integers(1, 6),
    batch=st.integers(8, 40),
    count=st.integers(1, 14),
    can_cut=st.booleans(),
    cache_bytes=st.sampled_from([0, 300, 3000, 1 << 20]),
    drafts=st.sampled_from([0, 4]),
)
def test_every_request_gets_what_it_would_get_alone(
    seed: int, slots: int, batch: int, count: int, can_cut: bool, cache_bytes: int, drafts: int
) -> None:
    chance = random.Random(seed)
    bench = Bench(
        ScriptedDecoder(slots=slots, batch_tokens=batch, can_cut=can_cut, picker=chance.choice(PICKERS)),
        Pace(read_tokens=chance.randint(1, 40), read_tokens_beside_speech=chance.randint(1, 12)),
        CacheLimits(cache_bytes, tokens_min=chance.choice([1, 4, 16])),
        drafts if can_cut else 0,
    )
    picker = bench.decoder.picker
    cancelled: set[int] = set()
    beginnings = [[chance.randint(1, 27) for _ in range(chance.randint(1, 80))] for _ in range(3)]
    for _ in range(count):
        prompt = chance.choice([[], *beginnings]) + [chance.randint(1, 27) for _ in range(chance.randint(1, 30))]
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
            expected = alone(job.prompt.tokens.tolist(), job.seed + choice, job.prompt.answer_tokens, picker)
            assert bench.said(request, choice) == words(expected)
        assert isinstance(bench.events[id(request)][-1], Finished)
    assert is_clean(bench.decoder)
    assert not bench.scheduler.slots.running


CACHE = CacheLimits(budget_bytes=1 << 20, tokens_min=4)
SYSTEM = [1 + k % 27 for k in range(80)]


def test_a_second_prompt_computes_only_what_the_first_did_not() -> None:
    bench = Bench(ScriptedDecoder(), cache=CACHE)
    first = bench.submit([*SYSTEM, 3, 3], 4)
    bench.settle()
    computed = bench.decoder.computed_tokens

    second = bench.submit([*SYSTEM, 5, 5, 5], 1)
    bench.settle()

    assert first.cached_tokens == 0
    assert second.cached_tokens == len(SYSTEM)
    assert bench.decoder.computed_tokens - computed == 3
    assert bench.said(second) == words(alone([*SYSTEM, 5, 5, 5], 7, 1))


def test_a_repeated_prompt_computes_one_token() -> None:
    bench = Bench(ScriptedDecoder(), cache=CACHE)
    for _ in range(2):
        last = bench.submit(SYSTEM, 1)
        bench.settle()

    assert last.cached_tokens == len(SYSTEM) - 1


def test_the_next_turn_continues_from_the_answer() -> None:
    bench = Bench(ScriptedDecoder(picker=lambda held, seed: 1 + len(held) % 27), cache=CACHE)
    first = bench.submit(SYSTEM, 6)
    bench.settle()
    answer = [1 + (len(SYSTEM) + k) % 27 for k in range(6)]
    assert bench.said(first) == words(answer)

    second = bench.submit([*SYSTEM, *answer, 9, 9], 1)
    bench.settle()

    assert second.cached_tokens == len(SYSTEM) + len(answer) - 1  # the last token was picked, not computed


def test_requests_that_share_a_beginning_read_it_once_even_when_they_come_together() -> None:
    bench = Bench(ScriptedDecoder(slots=4), cache=CACHE)
    together = [bench.submit([*SYSTEM, k, k], 3) for k in range(1, 5)]
    bench.settle()

    assert [request.cached_tokens for request in together] == [0, 80, 80, 80]
    for k, request in enumerate(together, 1):
        assert bench.said(request) == words(alone([*SYSTEM, k, k], 7, 3))


def test_a_follower_whose_leader_is_cancelled_reads_for_itself() -> None:
    bench = Bench(ScriptedDecoder(slots=2), cache=CacheLimits(1 << 20, tokens_min=40))
    leader = bench.submit([*SYSTEM, 1], 3)
    follower = bench.submit([*SYSTEM, 2], 3)
    bench.scheduler.step()
    bench.scheduler.cancel(leader)

    bench.settle()

    assert follower.cached_tokens == 0
    assert bench.said(follower) == words(alone([*SYSTEM, 2], 7, 3))


def test_what_a_cancelled_request_has_read_is_kept() -> None:
    bench = Bench(ScriptedDecoder(), cache=CACHE)
    request = bench.submit([*SYSTEM, 1], 3)
    bench.scheduler.step()
    bench.scheduler.step()
    bench.scheduler.cancel(request)

    again = bench.submit([*SYSTEM, 1], 3)
    bench.settle()

    assert again.cached_tokens == 32  # two steps of sixteen


def test_an_urgent_request_takes_the_slot_of_the_least_urgent_which_goes_on_later() -> None:
    steady = ScriptedDecoder(slots=1, picker=lambda held, seed: 1 + sum(held) % 27)
    bench = Bench(steady)
    patient = bench.submit([1, 2, 3], 30, priority=5)
    for _ in range(6):
        bench.scheduler.step()
    urgent = bench.submit([4, 5, 6], 4, priority=-5)

    bench.settle()

    assert bench.scheduler.counters.preemptions == 1
    assert bench.said(urgent) == words(alone([4, 5, 6], 7, 4, steady.picker))
    assert bench.said(patient) == words(alone([1, 2, 3], 7, 30, steady.picker))
    assert [type(event) for event in bench.events[id(patient)]].count(Began) == 1
    assert is_clean(steady)


def test_equals_do_not_take_each_other_s_slots() -> None:
    bench = Bench(ScriptedDecoder(slots=1, picker=lambda held, seed: 1))
    bench.submit([1], 10)
    bench.submit([2], 10)

    bench.settle()

    assert bench.scheduler.counters.preemptions == 0


def test_a_hole_between_running_sequences_is_closed_after_some_steps() -> None:
    bench = Bench(ScriptedDecoder(slots=3, picker=lambda held, seed: 1 + sum(held) % 27))
    short, long = bench.submit([1, 2], 2), bench.submit([3, 4], 40)
    for _ in range(10):
        bench.scheduler.step()

    assert short.is_over
    assert list(bench.scheduler.slots.running) == [0]
    bench.settle()
    assert bench.said(long) == words(alone([3, 4], 7, 40, bench.decoder.picker))


def test_drafts_that_come_true_save_steps_and_change_no_token() -> None:
    def steps(draft_tokens_max: int) -> tuple[int, str, Request]:
        repeats = ScriptedDecoder(picker=lambda held, seed: held[-7] if len(held) % 40 else 9)
        bench = Bench(repeats, draft_tokens_max=draft_tokens_max)
        request = bench.submit([1, 2, 3, 4, 5, 6, 7] * 2, 160)
        bench.settle()
        return bench.scheduler.counters.decode_calls, bench.said(request), request

    plain, expected, _ = steps(0)
    drafted, said, request = steps(6)

    assert said == expected
    assert drafted < plain * 0.6
    assert request.draft_tokens > request.draft_tokens_accepted > 0


def test_the_least_recently_used_states_go_when_the_budget_is_spent() -> None:
    bench = Bench(ScriptedDecoder(), cache=CacheLimits(budget_bytes=700, tokens_min=4))
    for letter in (1, 2, 3):
        bench.submit([letter] * 60, 1)
        bench.settle()

    assert bench.cache.size <= 700
    assert bench.cache.counters.evicted > 0
    newest, oldest = bench.submit([3] * 60, 1), bench.submit([1] * 60, 1)
    bench.settle()
    assert newest.cached_tokens == 59
    assert oldest.cached_tokens == 0


def test_a_memory_that_cannot_be_cut_is_reused_only_whole() -> None:
    bench = Bench(ScriptedDecoder(can_cut=False, picker=lambda held, seed: 1 + len(held) % 27), cache=CACHE)
    bench.submit(SYSTEM, 1)
    bench.settle()

    inside = bench.submit([*SYSTEM[:40], 9], 1)
    beyond = bench.submit([*SYSTEM, 9, 9], 1)
    bench.settle()

    assert inside.cached_tokens == 0
    assert beyond.cached_tokens == len(SYSTEM)


def test_a_state_larger_than_the_budget_is_not_kept() -> None:
    bench = Bench(ScriptedDecoder(), cache=CacheLimits(budget_bytes=50, tokens_min=4))
    bench.submit(SYSTEM, 1)
    bench.settle()

    assert bench.cache.size == 0
    assert bench.cache.counters.refused > 0


def test_a_state_with_a_handle_stays_until_the_handle_is_released() -> None:
    bench = Bench(ScriptedDecoder(), cache=CacheLimits(budget_bytes=700, tokens_min=4))
    bench.submit([1] * 60, 1, tag=Tag(handle="mine"))
    bench.settle()
    for letter in (2, 3, 4):
        bench.submit([letter] * 60, 1)
        bench.settle()

    held = bench.submit([1] * 60, 1)
    bench.settle()
    assert held.cached_tokens == 59

    assert bench.cache.release("mine")
    assert not bench.cache.release("mine")
    for letter in (5, 6, 7):
        bench.submit([letter] * 60, 1)
        bench.settle()
    gone = bench.submit([1] * 60, 1)
    bench.settle()
    assert gone.cached_tokens == 0


def test_a_label_names_a_conversation_across_its_turns() -> None:
    bench = Bench(ScriptedDecoder(picker=lambda held, seed: 1 + len(held) % 27), cache=CACHE)
    for turns in (1, 2):
        bench.submit(SYSTEM + [3] * turns, 2, tag=Tag(label="chat-7"))
        bench.settle()

    labelled = [saved for saved in bench.cache.conversations() if saved.tag.label == "chat-7"]
    assert labelled
    assert bench.cache.forget(lambda saved: saved.tag.label == "chat-7") == len(labelled)
    assert bench.cache.conversations() == []
    assert bench.cache.size == 0
