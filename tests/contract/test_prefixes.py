"""Saved prompts: found again whatever came between, for nobody else where callers are kept apart, never a wrong one."""

from __future__ import annotations

import secrets
from typing import Any

import httpx
import pytest

from tests.contract.conftest import Connect, ServeWith
from tests.contract.servers import quick
from tests.support.chat import ask, text_of
from tests.support.live import config, embedded
from tests.support.wire import CHAT

KEYS = ("first-key", "second-key")


def prompt() -> str:
    """A text of some hundred tokens that no server has seen."""
    return " ".join(secrets.choice(("river", "stone", "lamp", "green", "seven")) for _ in range(150))


def cached(answer: dict[str, Any]) -> int:
    tokens: int = answer["usage"]["prompt_tokens_details"]["cached_tokens"]
    assert answer["timings"]["cache_n"] == tokens
    return tokens


def computed(answer: dict[str, Any]) -> int:
    tokens: int = answer["timings"]["prompt_n"]
    return tokens


@pytest.fixture(scope="module")
def one_slot(serve_with: ServeWith, connect: Connect) -> httpx.Client:
    """A client of a server that runs one answer at a time."""
    return connect(serve_with(config([quick(slots=1)])))


def test_a_prompt_is_found_again_after_another_one(one_slot: httpx.Client) -> None:
    first, second = prompt(), prompt()
    ask(one_slot, first, max_tokens=1)
    ask(one_slot, second, max_tokens=1)

    again = ask(one_slot, first, max_tokens=1)

    assert computed(again) == 1
    assert cached(again) == again["usage"]["prompt_tokens"] - 1


def test_conversations_in_turn_compute_only_what_is_new(one_slot: httpx.Client) -> None:
    talks: list[list[dict[str, Any]]] = [[{"role": "user", "content": prompt()}] for _ in range(3)]
    for turn in range(3):
        for talk in talks:
            body = {"messages": talk, "max_tokens": 8, "temperature": 0}
            answer: dict[str, Any] = one_slot.post(CHAT, json=body).json()
            if turn:
                assert computed(answer) < 40, "the history was read again"
            talk += [answer["choices"][0]["message"], {"role": "user", "content": "And then?"}]


def test_a_changed_line_costs_what_follows_it(one_slot: httpx.Client) -> None:
    head, tail = prompt(), " The time is 10:41."
    ask(one_slot, head + tail, max_tokens=1)

    changed = ask(one_slot, head + tail.replace("41", "42"), max_tokens=1)

    assert computed(changed) < 40


def test_a_common_system_prompt_carries_no_secret_over(serve_with: ServeWith, connect: Connect) -> None:
    plain = connect(serve_with(config([embedded(prefix_cache_bytes=0)])))
    kept = connect(serve_with(config([embedded()])))
    system = {"role": "system", "content": prompt()}

    def tell(client: httpx.Client, word: str) -> str:
        talk = [system, {"role": "user", "content": f"The secret word is {word}. Repeat the secret word."}]
        answer = client.post(CHAT, json={"messages": talk, "max_tokens": 24, "temperature": 0})
        return text_of(answer.json())

    said = {word: tell(kept, word) for word in ("walrus", "trombone", "walrus", "cinnamon")}

    assert said == {word: tell(plain, word) for word in said}


def test_a_seed_repeats_its_answer_from_the_cache_too(client: httpx.Client) -> None:
    drawn: dict[str, Any] = {"temperature": 1.0, "seed": 11, "max_tokens": 24}
    text = prompt()

    assert text_of(ask(client, text, **drawn)) == text_of(ask(client, text, **drawn))


@pytest.mark.parametrize("slot", [0, 77, 10**6])
def test_a_slot_that_a_client_counts_by_itself_is_no_matter(client: httpx.Client, slot: int) -> None:
    assert ask(client, "Hi.", max_tokens=1, id_slot=slot)["usage"]["completion_tokens"] == 1


@pytest.mark.parametrize("options", [{"num_ctx": 128}, {"num_ctx": 4096}, {"num_gpu": 99, "num_thread": 1}])
def test_no_field_of_a_request_loads_the_model_again(client: httpx.Client, options: dict[str, Any]) -> None:
    before = client.get("/health").json()["models"][0]

    ask(client, "Hi.", max_tokens=1, **options)

    after = client.get("/health").json()["models"][0]
    assert (after["status"], after["context_tokens"]) == ("ready", before["context_tokens"])
    assert after["details"] == before["details"]


# ---- who shares with whom -------------------------------------------------------------------------


def callers(serve_with: ServeWith, connect: Connect, *, isolate: bool) -> list[httpx.Client]:
    server = serve_with(config([quick(slots=2)], auth={"api_keys": list(KEYS), "isolate_keys": isolate}))
    return [connect(server, headers={"Authorization": f"Bearer {key}"}) for key in KEYS]


def test_one_key_learns_nothing_of_what_another_has_asked(serve_with: ServeWith, connect: Connect) -> None:
    mine, yours = callers(serve_with, connect, isolate=True)
    text = prompt()
    ask(mine, text, max_tokens=1, session_id="mine", handle="desk")

    assert cached(ask(yours, text, max_tokens=1)) == 0
    assert cached(ask(mine, text, max_tokens=1)) > 100
    assert "mine" not in {each["label"] for each in yours.get("/sessions").json()["sessions"]}
    assert yours.get("/halogen/handles").json()["data"] == []
    assert yours.delete("/sessions/mine").status_code == 404
    assert yours.delete("/halogen/handles/desk").status_code == 404
    yours.post("/reset_prefix_cache")
    assert cached(ask(mine, text, max_tokens=1)) > 100
    assert mine.delete("/halogen/handles/desk").status_code == 200


def test_keys_share_when_the_operator_says_so(serve_with: ServeWith, connect: Connect) -> None:
    mine, yours = callers(serve_with, connect, isolate=False)
    text = prompt()
    ask(mine, text, max_tokens=1)

    assert cached(ask(yours, text, max_tokens=1)) > 100


def test_a_salt_keeps_prompts_apart(client: httpx.Client) -> None:
    text = prompt()
    ask(client, text, max_tokens=1, cache_salt="one")

    assert cached(ask(client, text, max_tokens=1)) == 0
    assert cached(ask(client, text, max_tokens=1, cache_salt="two")) == 0
    assert cached(ask(client, text, max_tokens=1, cache_salt="one")) > 100
