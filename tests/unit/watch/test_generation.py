from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np
import pytest

from troth.domain import (
    Began,
    Ended,
    Event,
    Finished,
    FinishReason,
    Interpreter,
    Job,
    Piece,
    Prompt,
    Said,
    Sampling,
    Timings,
    Usage,
)
from troth.engines.base import Generates
from troth.errors import EngineFault, QueueTimeout, Refusal
from troth.watch.generation import WatchedEngine
from troth.watch.metrics import Metrics

FINISHED = Finished(Usage(prompt_tokens=3, answer_tokens=2), Timings(predicted_n=2, predicted_ms=10.0))
WHOLE = (Said("a"), Said("b"), Ended(0, "stop"), FINISHED)
LABELS = '{engine="0",model_name="m"}'


class Deaf:
    """An interpreter that hears nothing."""

    stopped: str | None = None
    finish: FinishReason | None = None

    def feed(self, piece: Piece) -> Said | None:
        return None

    def flush(self) -> Said | None:
        return None


@dataclass
class ScriptedTicket:
    """A ticket whose events are written down, ending in a refusal if there is one."""

    script: Sequence[Event]
    refusal: Refusal | None = None
    queue_seconds: float = 0.5
    cancelled: bool = False

    async def wait_started(self, seconds: float) -> bool:
        if self.refusal is not None:
            raise self.refusal
        return True

    async def events(self) -> AsyncIterator[Event]:
        for event in self.script:
            yield event
        if self.refusal is not None:
            raise self.refusal

    def cancel(self) -> None:
        self.cancelled = True


@dataclass
class ScriptedEngine:
    """As much of an engine as is asked for here."""

    ticket: ScriptedTicket
    honours: frozenset[str] = field(default_factory=frozenset)

    def submit(self, job: Job) -> ScriptedTicket:
        return self.ticket


def job(choices: int = 1) -> Job:
    prompt = Prompt(np.array([1, 2, 3], np.int32), answer_tokens=8, context_tokens=64)
    interpreters: list[Interpreter] = [Deaf() for _ in range(choices)]
    return Job(prompt=prompt, sampling=Sampling(), seed=1, interpreters=interpreters)


def watched(ticket: ScriptedTicket, metrics: Metrics) -> WatchedEngine:
    ticks = itertools.count()
    return WatchedEngine(cast(Generates, ScriptedEngine(ticket)), "m", metrics, clock=lambda: float(next(ticks)))


def heard(ticket: ScriptedTicket, metrics: Metrics, events: int = 99) -> list[Event]:
    """The first `events` events of a request, which is then cancelled, as the corridor does on every exit."""

    async def listen() -> list[Event]:
        watching = watched(ticket, metrics).submit(job())
        got: list[Event] = []
        stream = watching.events()
        try:
            async for event in stream:
                got.append(event)
                if len(got) == events:
                    break
        finally:
            watching.cancel()
        return got

    return asyncio.run(listen())


def broken(metrics: Metrics, reason: str) -> bool:
    series = f'vllm:request_success_total{{engine="0",finished_reason="{reason}",model_name="m"}} 1.0'
    return series in metrics.render().decode()


def test_the_text_of_the_first_token_is_no_gap_after_it() -> None:
    metrics = Metrics()
    heard(ScriptedTicket((Began(0), *WHOLE)), metrics)
    scrape = metrics.render().decode()
    assert f"vllm:time_to_first_token_seconds_count{LABELS} 1.0" in scrape
    assert f"vllm:inter_token_latency_seconds_count{LABELS} 1.0" in scrape


def test_a_request_is_timed_and_charged_when_it_finishes() -> None:
    metrics = Metrics()

    assert heard(ScriptedTicket(WHOLE), metrics) == list(WHOLE)

    scrape = metrics.render().decode()
    assert f"vllm:time_to_first_token_seconds_sum{LABELS} 1.0" in scrape
    assert f"vllm:inter_token_latency_seconds_count{LABELS} 1.0" in scrape
    assert f"vllm:e2e_request_latency_seconds_sum{LABELS} 3.0" in scrape
    assert f"vllm:request_queue_time_seconds_sum{LABELS} 0.5" in scrape
    assert f"vllm:request_params_max_tokens_sum{LABELS} 8.0" in scrape
    assert broken(metrics, "stop")
    assert not broken(metrics, "abort")


def test_a_request_that_is_cancelled_is_counted_once_as_aborted() -> None:
    metrics = Metrics()
    ticket = ScriptedTicket(WHOLE)

    heard(ticket, metrics, events=1)

    assert ticket.cancelled
    assert broken(metrics, "abort")


def test_an_engine_fault_is_counted_as_an_error() -> None:
    metrics = Metrics()

    with pytest.raises(EngineFault):
        heard(ScriptedTicket(WHOLE[:1], EngineFault("torn")), metrics)

    assert broken(metrics, "error")
    assert not broken(metrics, "abort")


def test_a_request_that_never_started_is_counted_as_an_error() -> None:
    metrics = Metrics()
    ticket = ScriptedTicket((), QueueTimeout("too long", retry_seconds=1))

    with pytest.raises(QueueTimeout):
        asyncio.run(watched(ticket, metrics).submit(job()).wait_started(1.0))

    assert broken(metrics, "error")
