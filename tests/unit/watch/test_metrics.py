from __future__ import annotations

import re
from dataclasses import dataclass

import pytest

from troth.domain import Timings, Usage
from troth.engines.base import CacheReport, EngineReport
from troth.errors import Unavailable
from troth.watch.buckets import token_counts
from troth.watch.metrics import Finished, Metrics

VLLM_NAMES = (
    "num_requests_running",
    "num_requests_waiting",
    "kv_cache_usage_perc",
    "gpu_cache_usage_perc",
    "prompt_tokens_total",
    "generation_tokens_total",
    "request_success_total",
    "num_preemptions_total",
    "time_to_first_token_seconds_bucket",
    "time_per_output_token_seconds_bucket",
    "inter_token_latency_seconds_bucket",
    "e2e_request_latency_seconds_bucket",
    "request_decode_time_seconds_bucket",
    "request_queue_time_seconds_bucket",
    "request_prompt_tokens_bucket",
    "request_generation_tokens_bucket",
    "request_params_n_bucket",
    "request_params_max_tokens_bucket",
)
LLAMA_NAMES = (
    "prompt_tokens_total",
    "prompt_tokens_cached_total",
    "prompt_seconds_total",
    "tokens_predicted_total",
    "tokens_predicted_seconds_total",
    "n_decode_total",
    "n_tokens_max",
    "spec_decode_num_draft_tokens_total",
    "spec_decode_num_accepted_tokens_total",
    "spec_decode_num_drafts_total",
    "prompt_tokens_seconds",
    "predicted_tokens_seconds",
    "requests_processing",
    "requests_deferred",
    "n_busy_slots_per_decode",
)


@dataclass
class Totals:
    prompt_tokens: int = 0
    prompt_tokens_cached: int = 0
    prompt_seconds: float = 0.0
    predicted_tokens: int = 0
    predicted_seconds: float = 0.0
    decode_calls: int = 0
    busy_slots: int = 0
    sequence_tokens_max: int = 0


KEPT = CacheReport(
    is_on=True,
    can_cut=True,
    entries=2,
    size_bytes=700,
    budget_bytes=1000,
    hits=3,
    misses=1,
    hit_tokens=60,
    asked_tokens=80,
    stores=4,
    stored_bytes=900,
    superseded=1,
    evicted=1,
    refused=0,
    store_seconds=0.5,
    restore_seconds=0.25,
    held_entries=1,
)


@dataclass
class StepTotals(Totals):
    preemptions: int = 2
    draft_seconds: float = 0.0
    build_seconds: float = 0.1
    decode_seconds: float = 7.0
    sample_seconds: float = 0.2
    emit_seconds: float = 0.3


def report() -> EngineReport:
    return EngineReport(status="ready", load_progress=1.0, slots=4, running=3, queued=2)


def followed(totals: Totals | None = None) -> Metrics:
    metrics = Metrics(version="1.2")
    metrics.follow("m", report, lambda: totals or Totals())
    return metrics


def value(metrics: Metrics, series: str) -> float:
    """The value of the one series that is written so."""
    (found,) = re.findall(rf"^{re.escape(series)} (\S+)$", metrics.render().decode(), re.MULTILINE)
    return float(found)


def finished(metrics: Metrics, *, answer_tokens: int = 5, finishes: tuple[str, ...] = ("stop",)) -> None:
    metrics.observe_finished(
        Finished(
            model="m",
            usage=Usage(prompt_tokens=10, answer_tokens=answer_tokens),
            timings=Timings(predicted_n=answer_tokens, predicted_ms=400.0),
            finishes=finishes,
            total_seconds=1.5,
            asked_tokens=100,
        )
    )


def test_every_name_that_dashboards_of_vllm_and_llama_server_read_is_there() -> None:
    metrics = followed()
    finished(metrics)

    names = {re.split(r"[ {]", line)[0] for line in metrics.render().decode().splitlines() if line[0] != "#"}

    assert {f"vllm:{name}" for name in VLLM_NAMES} <= names
    assert {f"llamacpp:{name}" for name in LLAMA_NAMES} <= names
    assert {"troth:engine_up", "troth:load", "troth:build_info", "troth:queue_full_total"} <= names


def test_every_metric_says_its_type_and_none_says_when_it_was_created() -> None:
    text = followed().render().decode()

    assert "_created" not in text
    for line in text.splitlines():
        if not line.startswith("#"):
            name = re.split(r"[ {]", line)[0]
            stem = re.sub(r"_(bucket|count|sum)$", "", name)
            assert f"# TYPE {name} " in text or f"# TYPE {stem} histogram" in text, name


def test_gauges_are_the_engines_own_state_at_the_scrape() -> None:
    metrics = followed()

    assert value(metrics, 'vllm:num_requests_running{engine="0",model_name="m"}') == 3
    assert value(metrics, 'vllm:num_requests_waiting{engine="0",model_name="m"}') == 2
    assert value(metrics, "llamacpp:requests_processing") == 3
    assert value(metrics, 'troth:engine_up{model="m"}') == 1
    assert value(metrics, 'troth:load{model="m"}') == 5


def test_counters_of_a_model_start_at_zero() -> None:
    metrics = followed()

    assert value(metrics, 'vllm:request_success_total{engine="0",finished_reason="length",model_name="m"}') == 0
    assert value(metrics, 'vllm:prompt_tokens_total{engine="0",model_name="m"}') == 0


def test_rates_cover_the_time_since_the_scrape_before() -> None:
    totals = Totals(predicted_tokens=100, predicted_seconds=2.0)
    metrics = followed(totals)

    first = value(metrics, "llamacpp:predicted_tokens_seconds")
    totals.predicted_tokens, totals.predicted_seconds = 130, 3.0
    second = value(metrics, "llamacpp:predicted_tokens_seconds")
    third = value(metrics, "llamacpp:predicted_tokens_seconds")

    assert (first, second, third) == (50.0, 30.0, 0.0)


def test_totals_of_several_models_are_added_up_in_llama_servers_names() -> None:
    metrics = followed(Totals(prompt_tokens=3, sequence_tokens_max=7))
    metrics.follow("other", report, lambda: Totals(prompt_tokens=4, sequence_tokens_max=5))

    assert value(metrics, "llamacpp:prompt_tokens_total") == 7
    assert value(metrics, "llamacpp:n_tokens_max") == 7


def test_a_model_that_is_loading_has_no_totals_yet() -> None:
    metrics = Metrics()
    metrics.follow("m", lambda: EngineReport(status="loading", load_progress=0.25))

    assert value(metrics, 'troth:engine_up{model="m"}') == 0
    assert value(metrics, 'troth:engine_load_progress{model="m"}') == 0.25
    assert value(metrics, "llamacpp:prompt_tokens_total") == 0


def test_the_prefix_cache_is_told_in_our_names_and_in_vllms() -> None:
    metrics = Metrics()
    metrics.follow("m", report, cache=lambda: KEPT)

    own: dict[str, float] = {
        "hits_total": 3,
        "misses_total": 1,
        "hit_tokens_total": 60,
        "queried_tokens_total": 80,
        "bytes": 700,
    }
    own |= {"evictions_total": 1, "budget_bytes": 1000, "entries": 2, "held_entries": 1, "store_seconds_total": 0.5}
    for name, number in own.items():
        assert value(metrics, f'troth:prefix_cache_{name}{{model="m"}}') == number, name
    labels = '{engine="0",model_name="m"}'
    assert value(metrics, f"vllm:gpu_prefix_cache_hit_rate{labels}") == 0.75
    assert value(metrics, f"vllm:prefix_cache_queries_total{labels}") == 80
    assert value(metrics, f"vllm:prefix_cache_hits_total{labels}") == 60


def test_the_prefix_cache_of_a_model_that_loads_is_zeros() -> None:
    def cache() -> CacheReport:
        raise Unavailable("it loads", retry_seconds=1)

    metrics = Metrics()
    metrics.follow("m", report, cache=cache)

    assert value(metrics, 'troth:prefix_cache_hits_total{model="m"}') == 0
    assert value(metrics, 'vllm:gpu_prefix_cache_hit_rate{engine="0",model_name="m"}') == 0


def test_steps_are_counted_and_their_seconds_told_by_part() -> None:
    metrics = followed(StepTotals(decode_calls=9))

    assert value(metrics, 'troth:engine_steps_total{model="m"}') == 9
    assert value(metrics, 'troth:preemptions_total{model="m"}') == 2
    assert value(metrics, 'troth:engine_step_seconds_total{model="m",part="decode"}') == 7
    assert value(metrics, 'troth:engine_step_seconds_total{model="m",part="emit"}') == 0.3


def test_a_finished_request_is_charged_once_with_everything_it_cost() -> None:
    metrics = followed()

    finished(metrics, finishes=("stop", "length"))

    labels = '{engine="0",model_name="m"}'
    assert value(metrics, f"vllm:prompt_tokens_total{labels}") == 10
    assert value(metrics, f"vllm:generation_tokens_total{labels}") == 5
    assert value(metrics, 'vllm:request_success_total{engine="0",finished_reason="length",model_name="m"}') == 1
    assert value(metrics, f"vllm:e2e_request_latency_seconds_sum{labels}") == 1.5
    assert value(metrics, f"vllm:request_params_max_tokens_sum{labels}") == 100
    assert value(metrics, f"vllm:time_per_output_token_seconds_sum{labels}") == pytest.approx(0.1)


def test_one_token_has_no_time_per_token() -> None:
    metrics = followed()

    finished(metrics, answer_tokens=1)

    assert value(metrics, 'vllm:time_per_output_token_seconds_count{engine="0",model_name="m"}') == 0


def test_own_metrics_take_the_operators_prefix() -> None:
    metrics = Metrics(own_prefix="halogen", version="1.2")

    metrics.observe_clamp("max_tokens")
    metrics.observe_refusal(operation="chat", field="", code="queue_full")

    assert value(metrics, 'halogen:clamps_total{field="max_tokens"}') == 1
    assert value(metrics, 'halogen:build_info{version="1.2"}') == 1
    assert value(metrics, "halogen:queue_full_total") == 1


def test_the_buckets_are_those_that_vllm_documents() -> None:
    text = followed().render().decode()

    bounds = re.findall(r'vllm:time_to_first_token_seconds_bucket\{.*le="([^"]+)"', text)
    assert bounds[:4] == ["0.001", "0.005", "0.01", "0.02"]
    assert bounds[-2:] == ["2560.0", "+Inf"]


@pytest.mark.parametrize(("tokens_max", "last"), [(1, 1), (9, 5), (10, 10), (32768, 20000)])
def test_token_buckets_go_one_two_five_up_to_the_context(tokens_max: int, last: int) -> None:
    assert token_counts(tokens_max)[0] == 1
    assert token_counts(tokens_max)[-1] == last
