"""What the server says of itself is complete and true: models, health, properties, metrics, the document."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.contract import servers
from tests.contract.conftest import Connect, ServeWith
from tests.support.demonstrations import content, user
from tests.support.fields import CHAT, fields_of
from tests.support.judge import LATER, Document
from tests.support.live import LiveServer, busy, health_of, wait_idle, wait_until
from troth import __version__
from troth._generated.fields import FIELDS, PREFIXES
from troth._generated.operations import OPERATIONS
from troth.config.models import DEFAULT_SOURCE
from troth.contract import Neutral

PATH = "/v1/chat/completions"
DOCS = Path(__file__).parents[2] / "docs"
TINY = "org/tiny:latest"


@pytest.fixture(scope="session")
def pair(serve_with: ServeWith, connect: Connect) -> httpx.Client:
    """A server with two models, one of them called TINY."""
    return connect(serve_with(servers.two_models()))


# ---- models --------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/v1/models", "/models"])
def test_every_model_is_listed_for_every_client(path: str, pair: httpx.Client) -> None:
    listed = pair.get(path).json()
    assert [model["id"] for model in listed["data"]] == [TINY, "second"]
    assert (listed["first_id"], listed["last_id"], listed["has_more"]) == (TINY, "second", False)
    assert [model["name"] for model in listed["models"]] == [TINY, "second"]
    for model in listed["data"]:
        assert model["max_model_len"] == model["context_length"] == model["meta"]["n_ctx"] == 256
        assert model["root"] == DEFAULT_SOURCE
        assert model["capabilities"]["chat"] is True
        assert model["meta"]["n_vocab"] == 49152


@pytest.mark.parametrize("name", [TINY, "second", "agent/small"])
def test_a_model_is_found_by_its_id_or_alias_with_slashes(name: str, pair: httpx.Client) -> None:
    listed = {model["id"]: model for model in pair.get("/v1/models").json()["data"]}
    for path in (f"/v1/models/{name}", f"/models/{name}", f"/v1/models/{name.replace('/', '%2F')}"):
        assert pair.get(path).json() == listed["second" if name == "second" else TINY]


@pytest.mark.parametrize("name", [TINY, "second", "agent/small"])
def test_a_model_answers_to_its_id_and_aliases(name: str, pair: httpx.Client) -> None:
    body = {"model": name, "messages": user(), "max_tokens": 1}
    assert pair.post(PATH, json=body).json()["model"] == ("second" if name == "second" else TINY)


def test_the_first_model_answers_when_none_is_named(pair: httpx.Client) -> None:
    assert pair.post(PATH, json={"messages": user(), "max_tokens": 1}).json()["model"] == TINY


def test_any_name_is_served_by_the_only_model(client: httpx.Client) -> None:
    body = {"model": "gpt-4o", "messages": user(), "max_tokens": 1}
    assert client.post(PATH, json=body).json()["model"] == "smollm2-135m"


@pytest.mark.parametrize("name", ["third", "org", "org/tiny", "ORG/TINY:LATEST", "a" * 512])
def test_a_model_that_is_not_there_is_named_with_those_that_are(name: str, pair: httpx.Client) -> None:
    response = pair.get(f"/v1/models/{name}")
    assert response.status_code == 404
    error = response.json()["error"]
    assert (error["code"], error["param"]) == ("model_not_found", "model")
    assert TINY in error["message"]


@pytest.mark.parametrize(
    ("query", "headers", "count"),
    [
        ({"show_all": "true"}, {}, 2),
        ({"show_all": "false"}, {}, 2),
        ({"owned_by": "troth"}, {}, 2),
        ({"owned_by": "openai"}, {}, 0),
        ({}, {"X-hal0-Model-Filter": "openai"}, 0),
        ({}, {"X-hal0-Model-Filter": "troth"}, 2),
        ({"owned_by": "troth"}, {"X-hal0-Model-Filter": "openai"}, 2),
        ({"unknown": "x"}, {}, 2),
    ],
)
def test_the_list_is_filtered(query: dict[str, str], headers: dict[str, str], count: int, pair: httpx.Client) -> None:
    assert len(pair.get("/v1/models", params=query, headers=headers).json()["data"]) == count


def test_a_filter_of_the_wrong_type_is_refused(pair: httpx.Client) -> None:
    response = pair.get("/v1/models", params={"show_all": "perhaps"})
    assert (response.status_code, response.json()["error"]["param"]) == (400, "show_all")


# ---- health, ping, version, props ----------------------------------------------------------------


def test_health_publishes_the_class_of_every_field(client: httpx.Client, document: Document) -> None:
    fields = fields_of(document)
    for path in ("/v1/chat/completions", "/chat/completions"):
        table = health_of(client)["contract"][f"POST {path}"]["smollm2-135m"]
        said = {name: kind for kind in ("honoured", "inert", "guarded", "alias", "clamped") for name in table[kind]}
        assert {name: said.pop(name) for name in fields} == {path: each.contract_class for path, each in fields.items()}
        assert set(said) == set(FIELDS["CreateChatCompletionParameters"])
        assert table["guarded"] == {
            name: Neutral.of(field.neutral).words for name, field in fields.items() if field.contract_class == "guarded"
        }
        assert table["alias"] == {name: rule.of for name, rule in FIELDS[CHAT].items() if rule.of}
        assert table["clamped"] == {name: rule.to for name, rule in FIELDS[CHAT].items() if rule.to}
        assert table["prefixes"] == PREFIXES[CHAT]
        assert table["unknown"] == "ignore"


def test_health_publishes_what_the_operator_switched_off(
    serve_with: ServeWith, connect: Connect, document: Document
) -> None:
    fields = fields_of(document)
    account = health_of(connect(serve_with(servers.guarding(fields))))
    table = account["contract"][f"POST {PATH}"]["smollm2-135m"]
    guarded = servers.guardable(fields)
    assert set(guarded) <= set(table["guarded"])
    assert [name for name in table["honoured"] if name in guarded] == []
    assert table["unknown"] == "refuse"


def test_health_lists_every_operation(client: httpx.Client) -> None:
    served = {f"{operation.method} {operation.path}" for operation in OPERATIONS.values()}
    assert set(health_of(client)["endpoints"]) == served


def test_health_counts_what_runs_and_waits(serve_with: ServeWith, connect: Connect) -> None:
    client = connect(serve_with(servers.narrow()))
    wait_idle(client)
    quiet = health_of(client)
    assert (quiet["busy"], quiet["in_flight"], quiet["queued"], quiet["busy_for_s"]) == (False, 0, 0, 0.0)
    with busy(client), client.stream("POST", PATH, json=story(), extensions=LATER):
        account = health_of(client)
        assert (account["busy"], account["in_flight"], account["queued"]) == (True, 1, 1)
        assert account["longest_wait_s"] > 0
        assert account["busy_for_s"] > 0
        assert (account["slots"], account["queue_cap"], account["status"]) == (1, 2, "ok")
        assert client.get("/ping").json()["in_flight"] == 1
    wait_idle(client)


def story() -> dict[str, Any]:
    return {"messages": user(), "stream": True, "max_tokens": 2}


@pytest.mark.parametrize("path", ["/health", "/v1/health"])
def test_health_is_of_this_configuration(path: str, serve_with: ServeWith, connect: Connect) -> None:
    account = connect(serve_with(servers.small())).get(path).json()
    assert account["max_tokens_cap"] == 5
    assert account["max_tokens_over_cap"] == "clamp"
    assert account["streaming"]["first_event"] == "role"
    assert account["context"] == account["slot_ctx"] == 128
    assert set(account["token_budget_aliases"]) == {
        "max_tokens",
        "max_completion_tokens",
        "max_output_tokens",
        "n_predict",
    }
    assert account["version"]["api"] == __version__


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_ping_is_a_sign_of_life(method: str, client: httpx.Client) -> None:
    answer = client.request(method, "/ping")
    assert answer.json()["status"] == "ok"
    assert answer.json()["model"] == "smollm2-135m"


def test_version_names_all_three_releases(client: httpx.Client, document: Document) -> None:
    answer = client.get("/version").json()
    assert (answer["version"], answer["spec"]) == (__version__, document["info"]["version"])
    assert "llama" in answer["engine"]


def test_props_describes_the_default_model(client: httpx.Client) -> None:
    props = client.get("/props").json()
    assert (props["total_slots"], props["default_generation_settings"]["n_ctx"]) == (4, 1024)
    assert props["default_generation_settings"]["params"]["temperature"] == 0.8
    assert props["model_alias"] == "smollm2-135m"
    assert "<|im_start|>" in props["chat_template"]
    assert props["eos_token"] == "<|im_end|>"


def test_the_defaults_that_props_tells_are_those_in_force(client: httpx.Client) -> None:
    defaults = client.get("/props").json()["default_generation_settings"]["params"]
    told = {name: defaults[name] for name in defaults if name in FIELDS[CHAT] and name not in ("seed", "stream")}
    body = {"messages": user(), "max_tokens": 8, "seed": 2}
    silent, spoken = (client.post(PATH, json=each) for each in (body, told | body | {"n_predict": 8}))
    assert content(silent) == content(spoken)


# ---- the document and its page -------------------------------------------------------------------


def test_the_served_document_is_the_generated_one(client: httpx.Client, document: Document) -> None:
    assert client.get("/openapi.json").json() == document


def test_the_page_and_all_it_loads_come_from_here(client: httpx.Client) -> None:
    page = client.get("/docs")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    links = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert len(links) >= 3
    for link in links:
        assert not link.startswith(("http:", "https:", "//"))
        asset = client.get(page.url.join(link))
        assert asset.status_code == 200
        assert asset.content
    assert 'url: "openapi.json"' in page.text


@pytest.mark.parametrize(
    "path", ["/docs/assets/", "/docs/assets/nothing.js", "/docs/assets/%2e%2e/%2e%2e/openapi.json"]
)
def test_there_is_nothing_else_among_the_assets(path: str, client: httpx.Client) -> None:
    response = client.get(client.base_url.copy_with(raw_path=path.encode()))
    assert response.status_code == 404


# ---- metrics -------------------------------------------------------------------------------------

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def samples(client: httpx.Client) -> Samples:
    """Every sample of a scrape, by name and labels."""
    text = client.get("/metrics").text
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def total(scrape: Samples, name: str, **labels: str) -> float:
    """The sum of a metric over the samples with these labels."""
    return sum(value for (found, has), value in scrape.items() if found == name and set(labels.items()) <= set(has))


def documented() -> Iterator[tuple[str, str]]:
    """Name and type of every metric in the documentation."""
    for line in (DOCS / "operations.md").read_text("utf-8").splitlines():
        if row := re.match(r"\| `((?:troth|vllm|llamacpp):\w+)` \| (counter|gauge|histogram) \|", line):
            yield row.group(1), row.group(2)


def test_every_documented_metric_is_there_and_no_other(server: LiveServer, client: httpx.Client) -> None:
    client.post(PATH, json={"messages": user(), "max_tokens": 2})
    text = client.get("/metrics").text
    declared = dict(re.findall(r"^# TYPE (\S+) (\w+)$", text, re.MULTILINE))
    assert {name: kind for name, kind in declared.items() if ":" in name} == dict(documented())


def test_counters_only_grow(client: httpx.Client) -> None:
    before = samples(client)
    client.post(PATH, json={"messages": user(), "max_tokens": 3})
    client.post(PATH, json={"messages": user(), "plugins": [{}]})
    after = samples(client)
    for key, value in before.items():
        if key[0].endswith(("_total", "_count", "_sum", "_bucket")):
            assert after[key] >= value, key


ASKED = {"messages": user(), "max_tokens": 5, "ignore_eos": True, "n": 2, "temperature": 0}


def test_one_request_is_counted_exactly_once_everywhere(client: httpx.Client) -> None:
    wait_idle(client)
    before = samples(client)
    usage = client.post(PATH, json=ASKED).json()["usage"]
    after = samples(client)
    assert (usage["completion_tokens"], usage["prompt_tokens"] > 0) == (10, True)

    grown = {
        ("troth:requests_total", "operation", "create_chat_completion"): 1,
        ("vllm:prompt_tokens_total", "model_name", "smollm2-135m"): usage["prompt_tokens"],
        ("vllm:generation_tokens_total", "model_name", "smollm2-135m"): 10,
        ("vllm:request_success_total", "finished_reason", "length"): 2,
        ("vllm:request_params_n_sum", "model_name", "smollm2-135m"): 2,
        ("vllm:request_params_max_tokens_sum", "model_name", "smollm2-135m"): 5,
        ("vllm:time_to_first_token_seconds_count", "model_name", "smollm2-135m"): 1,
        ("vllm:e2e_request_latency_seconds_count", "model_name", "smollm2-135m"): 1,
        ("vllm:inter_token_latency_seconds_count", "model_name", "smollm2-135m"): 8,
        ("vllm:request_queue_time_seconds_count", "model_name", "smollm2-135m"): 1,
        ("troth:queue_seconds_count", "model", "smollm2-135m"): 1,
    }
    for (name, label, value), by in grown.items():
        assert total(after, name, **{label: value}) - total(before, name, **{label: value}) == by, name
    assert total(after, "llamacpp:tokens_predicted_total") - total(before, "llamacpp:tokens_predicted_total") == 10
    read = ("llamacpp:prompt_tokens_total", "llamacpp:prompt_tokens_cached_total")
    assert sum(total(after, name) - total(before, name) for name in read) == usage["prompt_tokens"]


@pytest.mark.parametrize(
    ("body", "labels"),
    [
        ({"messages": []}, {"field": "messages", "code": "invalid_value"}),
        ({"messages": user(), "plugins": [{}]}, {"field": "plugins", "code": "unsupported_value"}),
        ({"messages": user(), "n": 1, "n_cmpl": 2}, {"field": "n_cmpl", "code": "conflicting_values"}),
        ({"messages": user("word " * 1100)}, {"field": "messages", "code": "context_length_exceeded"}),
    ],
)
def test_a_refusal_is_counted_by_field_and_code(
    body: dict[str, Any], labels: dict[str, str], client: httpx.Client
) -> None:
    before = samples(client)
    assert client.post(PATH, json=body).status_code == 400
    after = samples(client)
    assert total(after, "troth:refusals_total", **labels) - total(before, "troth:refusals_total", **labels) == 1
    status = {"operation": "create_chat_completion", "status": "400"}
    counted = [total(scrape, "troth:http_responses_total", **status) for scrape in (before, after)]
    assert counted[1] - counted[0] == 1


def test_a_clamp_is_counted(serve_with: ServeWith, connect: Connect) -> None:
    client = connect(serve_with(servers.small()))
    before = samples(client)
    client.post(PATH, json={"messages": user(), "max_tokens": 99})
    assert (
        total(samples(client), "troth:clamps_total", field="max_tokens")
        - total(before, "troth:clamps_total", field="max_tokens")
        == 1
    )


def test_the_gauges_show_what_runs(serve_with: ServeWith, connect: Connect) -> None:
    client = connect(serve_with(servers.narrow()))
    wait_idle(client)
    with busy(client), client.stream("POST", PATH, json=story(), extensions=LATER):
        scrape = samples(client)
        assert total(scrape, "vllm:num_requests_running") == total(scrape, "llamacpp:requests_processing") == 1
        assert total(scrape, "vllm:num_requests_waiting") == total(scrape, "llamacpp:requests_deferred") == 1
        assert total(scrape, "troth:load", model="smollm2-135m") == 2
    wait_until(lambda: total(samples(client), "troth:load") == 0, "nothing runs")


def test_no_metric_repeats_what_a_client_sent(client: httpx.Client) -> None:
    client.post(PATH, json={"messages": user(), "model": "sent-by-me", "sent-by-me": 1, "tools": ["sent-by-me"]})
    client.get("/sent-by-me")
    assert "sent-by-me" not in client.get("/metrics").text.lower()


def test_server_info_tells_the_limits_and_no_secret(serve_with: ServeWith, connect: Connect) -> None:
    settings = servers.locked()
    client = connect(serve_with(settings), headers={"x-api-key": settings["auth"]["api_keys"][0]})

    response = client.get("/server_info")

    told = response.json()
    assert told["server"]["max_n"] == 8
    assert told["server"]["max_model_len"] == 256
    assert told["request_defaults"]["temperature"] == 0.8
    assert "POST /v1/messages" in told["endpoints"]
    assert told["capabilities"]["chat"]
    assert all(key not in response.text for key in settings["auth"]["api_keys"])
