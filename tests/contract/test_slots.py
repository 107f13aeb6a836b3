"""Models that come into memory when they are wanted, and go; the routes that show it and do it by hand."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from tests.contract.conftest import Connect, ServeWith
from tests.contract.servers import quick
from tests.support.chat import user
from tests.support.judge import events_of
from tests.support.live import LiveServer, config, health_of, wait_until
from tests.support.wire import CHAT

SLOTS = "/api/slots"
MODEL_MB = 118  # the file of the embedded model and a quarter more


def model(name: str, **more: Any) -> dict[str, Any]:
    return {**quick(context_tokens=256, slots=1), "id": name, **more}


@pytest.fixture(scope="module")
def server(serve_with: ServeWith) -> LiveServer:
    """One pinned model, and two lazy ones of which one fits beside it; a request waits for what it wants."""
    models = [
        model("steady", pinned=True, slot="agent"),
        model("first", lazy=True, aliases=["one"]),
        model("second", lazy=True, slot="utility"),
    ]
    return serve_with(config(models, slots={"memory_mb": 2 * MODEL_MB + 50, "when_loading": "wait"}))


@pytest.fixture(scope="module")
def slots(server: LiveServer, connect: Connect) -> httpx.Client:
    """A client of that server."""
    return connect(server)


@pytest.fixture(scope="module")
def strict(serve_with: ServeWith, connect: Connect) -> httpx.Client:
    """A client of a server in hal0's words whose lazy model sleeps after a moment; nobody waits for a load."""
    lazy = model("lazy", lazy=True, idle_seconds=0.5)
    return connect(serve_with(config([lazy], errors={"envelope": "hal0"}, routing={"unknown_model": "refuse"})))


def ask(client: httpx.Client, name: str | None) -> httpx.Response:
    return client.post(CHAT, json={"model": name, "messages": [user("Hi.")], "max_tokens": 2})


def state(client: httpx.Client, name: str) -> str:
    answer = client.get(f"{SLOTS}/{name}/state")
    assert answer.status_code == 200, answer.text
    found: str = answer.json()["state"]
    return found


def wait_for(client: httpx.Client, name: str, wanted: str) -> None:
    wait_until(lambda: state(client, name) == wanted, f"{name} is {wanted}")


def test_a_lazy_model_is_loaded_by_the_request_that_wants_it(slots: httpx.Client) -> None:
    slots.post(f"{SLOTS}/first/unload")
    assert state(slots, "first") == "offline"

    answers: list[httpx.Response] = []

    def is_answered() -> bool:
        answers.append(ask(slots, "one"))
        return answers[-1].status_code == 200

    wait_until(is_answered, "whoever was there before was quiet for long enough to go")
    answer = answers[-1]
    assert answer.json()["model"] == "first"
    assert answer.headers["x-troth-route"] == "rule=registry; model=first"
    assert ask(slots, "first").headers["x-troth-route"] == "rule=slot; model=first"


def test_the_least_recently_used_model_makes_room_and_a_pinned_one_stays(slots: httpx.Client) -> None:
    assert ask(slots, "first").status_code == 200

    wait_until(lambda: ask(slots, "second").status_code == 200, "the first was quiet for long enough to go")

    assert [state(slots, name) in ("ready", "serving") for name in ("agent", "first", "utility")] == [True, False, True]


@pytest.mark.parametrize(
    ("name", "rule"),
    [("agent", "slot"), ("hal0/agent", "virtual"), ("hal0/nobody", "virtual"), ("agent-hermes", "virtual")],
)
def test_slot_names_and_virtual_names_choose_a_model(slots: httpx.Client, name: str, rule: str) -> None:
    answer = ask(slots, name)

    assert answer.json()["model"] == "steady"
    assert answer.headers["x-troth-route"] == f"rule={rule}; model=steady"


def test_an_unknown_name_and_no_name_get_the_default_and_say_so(slots: httpx.Client) -> None:
    for name in (None, "gpt-4o"):
        assert ask(slots, name).headers["x-troth-route"] == "rule=default; model=steady"


def test_the_list_has_every_slot_in_the_order_of_the_configuration(slots: httpx.Client) -> None:
    listed = slots.get(SLOTS).json()

    assert [(each["name"], each["model_id"]) for each in listed] == [
        ("agent", "steady"),
        ("first", "first"),
        ("utility", "second"),
    ]
    assert listed[0] == slots.get(f"{SLOTS}/steady").json() | {"updated_at": listed[0]["updated_at"]}
    assert listed[0]["pinned"]
    assert listed[1]["lazy"]


def test_what_a_slot_did_outlives_its_engine(slots: httpx.Client) -> None:
    ask(slots, "first")
    before = slots.get(f"{SLOTS}/metrics").json()["first"]
    assert before["predicted_tokens"] >= 2
    slots.post(f"{SLOTS}/first/unload")

    after = slots.get(f"{SLOTS}/metrics").json()["first"]

    assert after["predicted_tokens"] == before["predicted_tokens"]
    assert (after["state"], after["ctx"], after["uptime_seconds"]) == ("offline", 0, 0)


def test_the_memory_of_the_models_is_told(slots: httpx.Client) -> None:
    capacity = slots.get(f"{SLOTS}/capacity").json()

    assert capacity["memory_mb"] == 2 * MODEL_MB + 50
    assert capacity["slot_budget"]["max_slots"] == 3
    assert capacity["per_slot"]["agent"]["mem_mb"] == pytest.approx(MODEL_MB, abs=2)
    assert capacity["used_mb"] <= capacity["memory_mb"]


def test_a_pinned_slot_is_unloaded_by_force_alone_and_comes_back(slots: httpx.Client) -> None:
    refused = slots.post(f"{SLOTS}/agent/unload")
    assert refused.status_code == 409
    assert refused.json()["error"]["code"] == "slot_pinned"

    assert slots.post(f"{SLOTS}/agent/unload", params={"force": True}).json()["state"] == "offline"
    assert health_of(slots)["models"][0]["state"] == "offline"

    wait_until(lambda: slots.post(f"{SLOTS}/agent/load").status_code == 200, "there is room for it")
    assert state(slots, "agent") == "ready"


def test_a_restarted_slot_has_a_new_engine(slots: httpx.Client) -> None:
    ask(slots, "first")
    loads = slots.get(f"{SLOTS}/first").json()["loads"]

    restarted = slots.post(f"{SLOTS}/first/restart").json()

    assert (restarted["state"], restarted["loads"]) == ("ready", loads + 1)


def test_a_stream_tells_the_state_and_what_follows(slots: httpx.Client) -> None:
    wait_until(lambda: ask(slots, "first").status_code == 200, "its files are here")
    slots.post(f"{SLOTS}/first/unload", params={"force": True})
    with slots.stream("GET", f"{SLOTS}/first/state/stream", extensions={"judge": "later"}) as response:
        lines = response.iter_lines()
        told = [next(lines), next(lines)]
        wait_until(lambda: ask(slots, "first").status_code == 200, "there is room for it")
        while not any('"state":"ready"' in line for line in told):
            told.append(next(lines))

    states = [json.loads(each)["state"] for each in events_of("\n".join(told))]
    assert states[:4] == ["offline", "starting", "warming", "ready"]


@pytest.mark.parametrize("path", ["", "/state", "/state/stream"])
def test_a_slot_that_is_not_there_is_not_found(slots: httpx.Client, path: str) -> None:
    answer = slots.get(f"{SLOTS}/nobody{path}")

    assert answer.status_code == 404
    assert answer.json()["error"]["code"] == "slot_not_found"
    assert "agent, first, utility" in answer.json()["error"]["message"]


def test_a_model_that_is_not_in_memory_does_not_make_the_server_ill(strict: httpx.Client) -> None:
    wait_for(strict, "lazy", "offline")
    answer = strict.get("/health")

    assert (answer.status_code, answer.json()["status"]) == (200, "ok")
    assert answer.json()["models"][0]["status"] == "offline"
    assert strict.get("/slots").status_code == 503


def test_where_nobody_waits_the_first_request_is_told_when_to_come_back(strict: httpx.Client) -> None:
    wait_for(strict, "lazy", "offline")

    refused = ask(strict, "lazy")

    assert refused.status_code == 503
    assert int(refused.headers["retry-after"]) >= 1
    error = refused.json()["error"]
    assert error["code"] == "slot.loading"
    assert error["details"]["slot"] == "lazy"
    assert error["details"]["progress"]["requested_model"] == "lazy"
    wait_until(lambda: ask(strict, "lazy").status_code == 200, "the model was loaded")


def test_a_quiet_model_goes(strict: httpx.Client) -> None:
    wait_until(lambda: ask(strict, "lazy").status_code == 200, "the model was loaded")

    wait_for(strict, "lazy", "offline")


def test_hal0_s_words_for_slots(strict: httpx.Client) -> None:
    assert strict.get(f"{SLOTS}/nobody").json()["error"]["code"] == "slot.not_found"
    assert ask(strict, "nobody").json()["error"]["code"] == "dispatch.no_route"
