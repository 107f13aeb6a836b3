"""Metrics that are read off the engines at the moment of a scrape, from snapshots that never wait."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Protocol

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from troth.engines.base import CacheReport, EngineReport
from troth.engines.sight import SightReport
from troth.errors import Unavailable

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

# Our own counters of a model: our total, the metric's name, its help.
OWN_COUNTERS = (
    ("decode_calls", "engine_steps", "Batches computed."),
    ("preemptions", "preemptions", "Sequences parked for a more urgent request."),
)
STEP_PARTS = ("draft", "build", "decode", "sample", "emit")

# Of the prefix cache: the report's field, the metric's name, its help.
CACHE_COUNTERS = (
    ("hits", "prefix_cache_hits", "Prompts that began with something saved."),
    ("misses", "prefix_cache_misses", "Prompts that did not."),
    ("hit_tokens", "prefix_cache_hit_tokens", "Prompt tokens that did not have to be computed."),
    ("asked_tokens", "prefix_cache_queried_tokens", "Prompt tokens looked up."),
    ("stores", "prefix_cache_stores", "States saved."),
    ("evicted", "prefix_cache_evictions", "States given up for room."),
    ("store_seconds", "prefix_cache_store_seconds", "Seconds spent on saving."),
    ("restore_seconds", "prefix_cache_restore_seconds", "Seconds spent on restoring."),
)
CACHE_GAUGES = (
    ("entries", "prefix_cache_entries", "States saved now."),
    ("held_entries", "prefix_cache_held_entries", "Those of them that a handle keeps."),
    ("size_bytes", "prefix_cache_bytes", "Memory that saved states take."),
    ("budget_bytes", "prefix_cache_budget_bytes", "Memory that they may take; 0 is off."),
)

# Of pictures and sound: the report's field, the metric's name, its help.
SIGHT_COUNTERS = (
    ("hits", "media_cache_hits", "Pictures and sounds that had been seen before."),
    ("misses", "media_cache_misses", "Pictures and sounds that had to be encoded."),
    ("encode_seconds", "media_encode_seconds", "Seconds spent on encoding them."),
)
SIGHT_GAUGES = (
    ("entries", "media_cache_entries", "Pictures and sounds that are remembered."),
    ("size_bytes", "media_cache_bytes", "Memory that they take."),
    ("budget_bytes", "media_cache_budget_bytes", "Memory that they may take; 0 is off."),
)


# Of a model of vectors or of relevance: our total, the metric's name, its help.
VECTOR_COUNTERS = (
    ("requests", "vector_requests", "Requests for vectors or relevance that were answered."),
    ("busy_slots", "vector_sequences", "Items and pairs that were computed."),
    ("prompt_tokens", "vector_tokens", "Tokens of these."),
    ("prompt_seconds", "vector_seconds", "Seconds spent on computing them."),
    ("dropped_sequences", "vector_dropped_sequences", "Items and pairs that nobody waited for any more."),
)
VECTOR_BATCH_BOUNDS = ("1.0", "2.0", "4.0", "8.0", "16.0", "32.0", "64.0", "128.0", "256.0", "+Inf")


class EngineTotals(Protocol):
    """What an engine counts. Every number only grows; names and units as in `scheduler.Counters`.

    `draft_tokens`, `draft_tokens_accepted`, `drafts`, `preemptions` and the seconds of `STEP_PARTS` are
    read too where they exist.
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
    """Where one model's numbers come from. All callables must return at once, from any thread.

    `cache` may raise Unavailable while the model loads: its numbers are zeros until then.
    """

    report: Callable[[], EngineReport]
    totals: Callable[[], EngineTotals | None]
    cache: Callable[[], CacheReport | None]


@dataclass(frozen=True, slots=True)
class _Reading:
    """One engine at the moment of the scrape."""

    report: EngineReport
    totals: EngineTotals | None
    cache: CacheReport | None
    seen: SightReport | None

    @classmethod
    def of(cls, source: EngineSource, seen: Callable[[], SightReport] | None) -> _Reading:
        try:
            cache = source.cache()
        except Unavailable:
            cache = None
        return cls(source.report(), source.totals(), cache, seen() if seen is not None else None)

    def cached(self, name: str) -> float:
        return float(getattr(self.cache, name)) if self.cache is not None else 0.0

    def looked_at(self, name: str) -> float:
        return float(getattr(self.seen, name)) if self.seen is not None else 0.0

    def total(self, name: str) -> float:
        return float(getattr(self.totals, name, 0)) if self.totals is not None else 0.0


@dataclass(slots=True, eq=False)
class EngineCollector(Collector):
    """Reads every engine once per scrape and says it in vLLM's, llama-server's and Troth's names."""

    own_prefix: str
    sources: dict[str, EngineSource] = field(default_factory=dict)
    seen: dict[str, Callable[[], SightReport]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _last: dict[str, float] = field(default_factory=dict)

    def collect(self) -> Iterator[Metric]:
        """The metrics of this moment; the two rates cover the time since the scrape before."""
        readings = {name: _Reading.of(source, self.seen.get(name)) for name, source in self.sources.items()}
        yield from self._vllm(readings)
        with self._lock:
            yield from self._llama(readings)
        yield from self._own(readings)
        yield from self._own_totals(readings)
        yield from self._vectors(readings)

    def _vllm(self, readings: Mapping[str, _Reading]) -> Iterator[Metric]:
        labels = ["model_name", "engine"]
        usage = "Share of the cache's places in use; 1 is full."
        gauges: tuple[tuple[str, str, Callable[[_Reading], float]], ...] = (
            ("num_requests_running", "Requests that are being computed.", lambda r: r.report.running),
            ("num_requests_waiting", "Requests that wait in the queue.", lambda r: r.report.queued),
            ("kv_cache_usage_perc", usage, lambda r: _cache_usage(r.report)),
            ("gpu_cache_usage_perc", usage + " The older name.", lambda r: _cache_usage(r.report)),
            ("gpu_prefix_cache_hit_rate", "Share of prompt tokens taken from the cache.", _token_hit_rate),
        )
        for name, words, value in gauges:
            gauge = GaugeMetricFamily(f"vllm:{name}", words, labels=labels)
            for model, reading in readings.items():
                gauge.add_metric([model, ENGINE], value(reading))
            yield gauge
        counters: tuple[tuple[str, str, Callable[[_Reading], float]], ...] = (
            ("num_preemptions", "Requests put back by the engine.", lambda r: r.total("preemptions")),
            ("prefix_cache_queries", "Prompt tokens looked up in the cache.", lambda r: r.cached("asked_tokens")),
            ("prefix_cache_hits", "Prompt tokens taken from the cache.", lambda r: r.cached("hit_tokens")),
        )
        for name, words, value in counters:
            counter = CounterMetricFamily(f"vllm:{name}", words, labels=labels)
            for model, reading in readings.items():
                counter.add_metric([model, ENGINE], value(reading))
            yield counter

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

    def _own_totals(self, readings: Mapping[str, _Reading]) -> Iterator[Metric]:
        for ours, name, words in OWN_COUNTERS:
            counter = CounterMetricFamily(f"{self.own_prefix}:{name}", words, labels=["model"])
            for model, reading in readings.items():
                counter.add_metric([model], reading.total(ours))
            yield counter
        parts = CounterMetricFamily(
            f"{self.own_prefix}:engine_step_seconds", "Seconds of all steps, by part.", labels=["model", "part"]
        )
        for model, reading in readings.items():
            for part in STEP_PARTS:
                parts.add_metric([model, part], reading.total(f"{part}_seconds"))
        yield parts
        for family, rows, value in (
            (CounterMetricFamily, CACHE_COUNTERS, _Reading.cached),
            (GaugeMetricFamily, CACHE_GAUGES, _Reading.cached),
            (CounterMetricFamily, SIGHT_COUNTERS, _Reading.looked_at),
            (GaugeMetricFamily, SIGHT_GAUGES, _Reading.looked_at),
        ):
            for ours, name, words in rows:
                metric = family(f"{self.own_prefix}:{name}", words, labels=["model"])
                for model, reading in readings.items():
                    metric.add_metric([model], value(reading, ours))
                yield metric

    def _vectors(self, readings: Mapping[str, _Reading]) -> Iterator[Metric]:
        of_vectors = {model: reading for model, reading in readings.items() if hasattr(reading.totals, "batch_sizes")}
        for ours, name, words in VECTOR_COUNTERS:
            counter = CounterMetricFamily(f"{self.own_prefix}:{name}", words, labels=["model"])
            for model, reading in of_vectors.items():
                counter.add_metric([model], reading.total(ours))
            yield counter
        sizes = HistogramMetricFamily(f"{self.own_prefix}:vector_batch_size", "Sequences of a batch.", labels=["model"])
        for model, reading in of_vectors.items():
            counts = accumulate(getattr(reading.totals, "batch_sizes", ()))
            buckets = [(bound, float(count)) for bound, count in zip(VECTOR_BATCH_BOUNDS, counts, strict=True)]
            sizes.add_metric([model], buckets, reading.total("busy_slots"))
        yield sizes


def _token_hit_rate(reading: _Reading) -> float:
    asked = reading.cached("asked_tokens")
    return reading.cached("hit_tokens") / asked if asked else 0.0


def _cache_usage(report: EngineReport) -> float:
    """The engine's own figure, `kv_cache_usage` in its details (0.0 to 1.0); else the share of busy slots."""
    known = report.details.get("kv_cache_usage")
    if known is not None:
        return float(known)
    return report.running / report.slots if report.slots else 0.0
