"""Metrics that are read off the engines at the moment of a scrape, from snapshots that never wait."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from troth.engines.base import EngineReport

ENGINE = "0"  # vLLM's `engine` label: one engine runs a model

# llama-server's counters: our total, its name, its help. README of tools/server, GET /metrics.
LLAMA_COUNTERS = (
    ("prompt_tokens", "prompt_tokens", "Prompt tokens computed; cached ones are not in it."),
    ("prompt_tokens_cached", "prompt_tokens_cached", "Prompt tokens taken from the cache."),
    ("prompt_seconds", "prompt_seconds", "Seconds spent on prompts."),
    ("predicted_tokens", "tokens_predicted", "Tokens generated."),
    ("predicted_seconds", "tokens_predicted_seconds", "Seconds spent on generating."),
    ("decode_calls", "n_decode", "Calls of llama_decode()."),
    ("draft_tokens", "spec_decode_num_draft_tokens", "Tokens drafted; 0 without speculation."),
    ("draft_tokens_accepted", "spec_decode_num_accepted_tokens", "Drafted tokens accepted."),
    ("drafts", "spec_decode_num_drafts", "Drafts made."),
)


class EngineTotals(Protocol):
    """What an engine counts. Every number only grows; names and units as in `scheduler.Counters`.

    `draft_tokens`, `draft_tokens_accepted`, `drafts` and `preemptions` are read too where they exist.
    """

    prompt_tokens: int
    prompt_tokens_cached: int
    prompt_seconds: float
    predicted_tokens: int
    predicted_seconds: float
    decode_calls: int
    busy_slots: int
    sequence_tokens_max: int


@dataclass(frozen=True, slots=True)
class EngineSource:
    """Where one model's numbers come from. Both callables must return at once, from any thread."""

    report: Callable[[], EngineReport]
    totals: Callable[[], EngineTotals | None]


@dataclass(frozen=True, slots=True)
class _Reading:
    """One engine at the moment of the scrape."""

    report: EngineReport
    totals: EngineTotals | None

    def total(self, name: str) -> float:
        return float(getattr(self.totals, name, 0)) if self.totals is not None else 0.0


@dataclass(slots=True, eq=False)
class EngineCollector(Collector):
    """Reads every engine once per scrape and says it in vLLM's, llama-server's and Troth's names."""

    own_prefix: str
    sources: dict[str, EngineSource] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _last: dict[str, float] = field(default_factory=dict)

    def collect(self) -> Iterator[Metric]:
        """The metrics of this moment; the two rates cover the time since the scrape before."""
        readings = {name: _Reading(source.report(), source.totals()) for name, source in self.sources.items()}
        yield from self._vllm(readings)
        with self._lock:
            yield from self._llama(readings)
        yield from self._own(readings)

    def _vllm(self, readings: Mapping[str, _Reading]) -> Iterator[Metric]:
        labels = ["model_name", "engine"]
        usage = "Share of the cache's places in use; 1 is full."
        gauges: tuple[tuple[str, str, Callable[[_Reading], float]], ...] = (
            ("num_requests_running", "Requests that are being computed.", lambda r: r.report.running),
            ("num_requests_waiting", "Requests that wait in the queue.", lambda r: r.report.queued),
            ("kv_cache_usage_perc", usage, lambda r: _cache_usage(r.report)),
            ("gpu_cache_usage_perc", usage + " The older name.", lambda r: _cache_usage(r.report)),
        )
        for name, words, value in gauges:
            gauge = GaugeMetricFamily(f"vllm:{name}", words, labels=labels)
            for model, reading in readings.items():
                gauge.add_metric([model, ENGINE], value(reading))
            yield gauge
        preemptions = CounterMetricFamily("vllm:num_preemptions", "Requests put back by the engine.", labels=labels)
        for model, reading in readings.items():
            preemptions.add_metric([model, ENGINE], reading.total("preemptions"))
        yield preemptions

    def _llama(self, readings: Mapping[str, _Reading]) -> Iterator[Metric]:
        def total(name: str) -> float:
            return sum(reading.total(name) for reading in readings.values())

        for ours, theirs, words in LLAMA_COUNTERS:
            yield CounterMetricFamily(f"llamacpp:{theirs}", words, value=total(ours))
        longest = max((reading.total("sequence_tokens_max") for reading in readings.values()), default=0.0)
        calls = total("decode_calls")
        gauges = (
            # llama-server calls this one a counter, whose name would have to end in `_total`.
            ("n_tokens_max", "Tokens of the longest sequence seen.", longest),
            ("prompt_tokens_seconds", "Prompt tokens per second since the scrape before.", self._rate("prompt", total)),
            (
                "predicted_tokens_seconds",
                "Generated tokens per second since the scrape before.",
                self._rate("predicted", total),
            ),
            ("requests_processing", "Requests being computed.", sum(r.report.running for r in readings.values())),
            ("requests_deferred", "Requests that wait.", sum(r.report.queued for r in readings.values())),
            ("n_busy_slots_per_decode", "Busy slots per decode call.", total("busy_slots") / calls if calls else 0.0),
        )
        for name, words, value in gauges:
            yield GaugeMetricFamily(f"llamacpp:{name}", words, value=value)

    def _rate(self, kind: str, total: Callable[[str], float]) -> float:
        tokens, seconds = total(f"{kind}_tokens"), total(f"{kind}_seconds")
        new_tokens = tokens - self._last.get(f"{kind}_tokens", 0.0)
        new_seconds = seconds - self._last.get(f"{kind}_seconds", 0.0)
        self._last[f"{kind}_tokens"], self._last[f"{kind}_seconds"] = tokens, seconds
        return new_tokens / new_seconds if new_seconds > 0 else 0.0

    def _own(self, readings: Mapping[str, _Reading]) -> Iterator[Metric]:
        gauges: tuple[tuple[str, str, Callable[[EngineReport], float]], ...] = (
            ("engine_up", "1 while the model answers.", lambda report: float(report.status == "ready")),
            ("engine_load_progress", "How much of the model is loaded; 1 is all.", lambda report: report.load_progress),
            ("load", "Requests running and waiting.", lambda report: report.running + report.queued),
            ("longest_wait_seconds", "Wait of the oldest queued request.", lambda report: report.longest_wait_seconds),
            ("busy_for_seconds", "Since the engine was last idle; 0 when idle.", lambda report: report.busy_seconds),
            ("slots", "Sequences that can run at once.", lambda report: report.slots),
        )
        for name, words, value in gauges:
            gauge = GaugeMetricFamily(f"{self.own_prefix}:{name}", words, labels=["model"])
            for model, reading in readings.items():
                gauge.add_metric([model], value(reading.report))
            yield gauge


def _cache_usage(report: EngineReport) -> float:
    """The engine's own figure, `kv_cache_usage` in its details (0.0 to 1.0); else the share of busy slots."""
    known = report.details.get("kv_cache_usage")
    if known is not None:
        return float(known)
    return report.running / report.slots if report.slots else 0.0
