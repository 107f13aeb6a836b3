"""What the server says of itself, from snapshots alone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from troth.dialects.served import ModelState, ServerFacts
from troth.dialects.status import Status
from troth.domain import Account, Answer, Call, ServedModel, TokenIds, Whole
from troth.engines.base import EngineReport, EngineStatus
from troth.errors import NotImplementedHere

Judge = Callable[[str, Any], None]
CALL = Call("health", None, None, frozenset(), Account(), True)
PROMISE = {"determinism": {"setting": "strict", "promised": True, "probe": {"batched": True}, "repacked": False}}
HONOURS = frozenset({"messages", "temperature", "top_k", "seed", "max_tokens", "logprobs"})


class Words:
    """A vocabulary that writes no tokens."""

    size = 3
    adds_bos = True
    bos_text = "<s>"
    eos_text = "</s>"
    end_ids = frozenset({2, 0})
    control_texts: tuple[str, ...] = ("<s>", "</s>")
    fill_ids: Mapping[str, int] = MappingProxyType({})
    chat_template: str | None = "{{ messages }}"

    def tokenize(self, text: str, *, special: bool, bos: bool) -> TokenIds:
        return np.zeros(0, np.int32)

    def piece(self, token_id: int) -> bytes:
        return b""

    def spoken(self, token_id: int) -> bytes:
        return b""


WORDS = Words()


def state(
    status: EngineStatus = "ready", name: str = "smol", details: Mapping[str, Any] | None = None, **report: Any
) -> ModelState:
    ready = status == "ready"
    facts = (
        {"build": "llama-cpp-python 0.3.36", "meta": {"ftype": "Q4_1"}, **PROMISE, **(details or {})} if ready else {}
    )
    return ModelState(
        model=ServedModel(name, "chat", "llama_cpp", ("agent",), HONOURS, {"temperature": 0.2}),
        report=EngineReport(status=status, slots=4, context_tokens=512 if ready else 0, details=facts, **report),
        vocabulary=WORDS if ready else None,
        root="pypi:x",
        created=5,
    )


async def scrape() -> bytes:
    return b"up 1\n"


def status(*states: ModelState, facts: ServerFacts | None = None) -> Status:
    return Status(lambda: states, facts or ServerFacts(), scrape)


def reply(handler: Callable[[Call], Awaitable[Answer]]) -> Whole:
    async def run() -> Answer:
        return await handler(CALL)

    answer = asyncio.run(run())
    assert isinstance(answer, Whole)
    return answer


def body(handler: Callable[[Call], Awaitable[Answer]]) -> Any:
    whole = reply(handler)
    return json.loads(whole.body) if isinstance(whole.body, bytes) else whole.body


@pytest.mark.parametrize(
    "states",
    [
        (state(),),
        (state(), state(name="other")),
        (state("loading", load_progress=0.4),),
        (state("failed", fault="no such file"),),
        (),
    ],
)
def test_every_account_is_as_published(states: Sequence[ModelState], judge: Judge) -> None:
    server = status(*states)

    judge("Health", body(server.health))
    judge("Ping", body(server.ping))
    judge("Version", body(server.version))
    judge("Load", body(server.load))
    if states:
        judge("Props", body(server.props))


def test_health_is_the_account_of_the_running_build() -> None:
    facts = ServerFacts(version="1.2", cap_tokens=100, over_cap="refuse", guard=frozenset({"top_k"}), limits={"x": 1})

    account = body(
        status(state(running=2, queued=3, longest_wait_seconds=1.23456, busy_seconds=9.0), facts=facts).health
    )

    assert (account["status"], account["model"], account["context"], account["slots"]) == ("ok", "smol", 512, 4)
    assert account["version"] == {"api": "1.2", "engine": "llama-cpp-python 0.3.36"}
    assert (account["busy"], account["in_flight"], account["queued"]) == (True, 2, 3)
    assert (account["longest_wait_s"], account["busy_for_s"]) == (1.235, 9.0)
    assert account["stop_ids"] == [0, 2]
    assert account["chat_template"]["source"] == "model"
    assert len(account["chat_template"]["sha256"]) == 64
    assert (account["max_tokens_cap"], account["max_tokens_default"], account["max_tokens_over_cap"]) == (
        100,
        None,
        "400",
    )
    assert account["token_budget_aliases"][0] == "max_tokens"
    assert "max_completion_tokens" in account["token_budget_aliases"]
    assert "temperature" in account["supported"]
    assert "top_k" in account["not_implemented"]
    assert "user" in account["accepted_but_ignored"]
    assert account["server_defaults"]["temperature"] == 0.2
    assert account["contract"]["POST /v1/chat/completions"]["smol"]["guarded"]["top_k"].startswith("leave it out")


def test_health_says_what_is_promised_of_the_default_model() -> None:
    account = body(status(state(can_cut=True, draft_tokens_max=8, prefix_cache_bytes=3 << 20), state(name="b")).health)

    assert account["determinism"] == PROMISE["determinism"]
    assert account["prompt_cache"] == {
        "enabled": True,
        "budget_bytes": 3 << 20,
        "cap_mb": 3.0,
        "bitwise_identical_to_cold": True,
    }
    assert account["speculation"] == {
        "enabled": True,
        "kind": "prompt_lookup",
        "draft_tokens_max": 8,
        "draft_model": None,
    }
    assert account["memory"] == {"can_cut": True}
    assert account["cache_counters"] == "/cache"


def test_a_drafting_model_is_named() -> None:
    details = {"draft_model": "small.gguf"}
    account = body(status(state("ready", draft_tokens_max=8, details=details)).health)

    assert account["speculation"] == {
        "enabled": True, "kind": "draft_model", "draft_tokens_max": 8, "draft_model": "small.gguf",
    }  # fmt: skip


def test_nothing_is_promised_while_the_model_loads() -> None:
    account = body(status(state("loading", prefix_cache_bytes=1)).health)

    assert account["determinism"] == {"setting": None, "promised": False}
    assert account["prompt_cache"]["bitwise_identical_to_cold"] is False
    assert account["speculation"] == {"enabled": False, "kind": None, "draft_tokens_max": 0, "draft_model": None}
    assert account["memory"] == {"can_cut": None}


@pytest.mark.parametrize(
    ("states", "said"),
    [
        ((state("loading"), state()), "loading"),
        ((state("failed", fault="bad file"), state("loading")), "failed"),
        ((state("stopped"), state("failed")), "stopping"),
    ],
)
def test_health_and_ping_are_503_until_every_model_answers(states: tuple[ModelState, ...], said: str) -> None:
    server = status(*states)

    for handler in (server.health, server.ping):
        assert reply(handler).status == 503
        assert reply(handler).headers["Retry-After"] == "1"
        assert body(handler)["status"] == said
    assert body(server.health)["error"]["code"] == 503


def test_health_follows_a_model_that_finishes_loading() -> None:
    states = [state("loading")]
    server = Status(lambda: states, ServerFacts(), scrape)
    assert body(server.health)["stop_ids"] == []

    states[0] = state()

    assert body(server.health)["stop_ids"] == [0, 2]
    assert reply(server.health).status == 200


def test_ping_is_small() -> None:
    assert body(status(state(running=2), facts=ServerFacts(queue_max=7)).ping) == {
        "status": "ok",
        "model": "smol",
        "in_flight": 2,
        "queue_cap": 7,
    }


def test_the_load_is_what_runs_and_what_waits_over_all_models() -> None:
    server = status(state(running=2, queued=3), state(name="b", running=1), facts=ServerFacts(queue_max=7))

    assert body(server.load) == {"server_load": 6, "queue_cap": 7, "running": 3, "waiting": 3}


def test_props_speak_llama_servers_terms() -> None:
    props = body(status(state(), facts=ServerFacts(default_tokens=64)).props)

    params = props["default_generation_settings"]["params"]
    assert (params["n_predict"], params["temperature"], params["top_k"]) == (64, 0.2, 40)
    assert (props["default_generation_settings"]["n_ctx"], props["total_slots"]) == (512, 4)
    assert (props["bos_token"], props["eos_token"], props["chat_template"]) == ("<s>", "</s>", "{{ messages }}")
    assert (props["endpoint_slots"], props["endpoint_metrics"], props["endpoint_props"]) == (True, True, False)
    assert props["modalities"] == {"vision": False, "audio": False, "video": False}


def test_the_operators_template_is_the_one_reported() -> None:
    replaced = ModelState(model=state().model, report=state().report, vocabulary=WORDS, chat_template="{{ mine }}")

    server = status(replaced)

    assert body(server.props)["chat_template"] == "{{ mine }}"
    assert body(server.health)["chat_template"]["source"] == "file"


def test_props_without_a_chat_model_are_not_implemented() -> None:
    with pytest.raises(NotImplementedHere):
        reply(status().props)


def test_metrics_are_text() -> None:
    answer = reply(status(state()).metrics)

    assert (answer.body, answer.media_type) == (b"up 1\n", "text/plain; version=0.0.4; charset=utf-8")
