"""hal0's tool loop: which tools a model is offered, how its calls are done and told, and where the loop ends."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.contract import servers
from tests.contract.conftest import Connect, ServeWith
from tests.support.judge import chunks_of
from tests.support.live import config, scripted, wait_until
from tests.support.vector_models import embedder, reranker

CHAT = "/v1/chat/completions"
SHORT = {"temperature": 0, "max_tokens": 200}
TEXTS = ["A cat sleeps.", "A kitten naps.", "Stocks fell."]

Body = dict[str, Any]
Speak = Callable[..., httpx.Client]


def call(name: str, **arguments: Any) -> str:
    """How the model says that a function is to be called."""
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>"


EMBED = call("embed_text", input=TEXTS)
RERANK = call("rerank_documents", query="What sleeps?", documents=TEXTS, top_n=2)
ROUTE = call("route_to_chat", target="smollm2-135m", prompt="Say hello.", context="Be brief.")


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file with what the model says."""
    file = tmp_path_factory.mktemp("omni") / "omni.jsonl"
    file.write_text("", "utf-8")
    return file


@pytest.fixture
def speak(script: Path, serve_with: ServeWith, connect: Connect) -> Speak:
    """`speak(text, …)`: a client of a server whose first model says these texts, one an answer, and that has another
    chat model, a model of vectors and one of relevance."""
    models = [scripted(script, context_tokens=4096, slots=2), servers.quick(context_tokens=256, slots=1)]
    settings = config([*models, embedder(), reranker()], omni={"rounds_max": 4})

    def speaking(*texts: str) -> httpx.Client:
        fresh = script.with_suffix(".fresh")
        fresh.write_text("".join(json.dumps(text) + "\n" for text in texts), "utf-8")
        fresh.replace(script)
        script.with_suffix(".prompts").unlink(missing_ok=True)
        return connect(serve_with(settings))

    return speaking


def ask(client: httpx.Client, **fields: Any) -> Body:
    answer = client.post(
        CHAT, json={"messages": [{"role": "user", "content": "Go on."}], "omni": True} | SHORT | fields
    )
    assert answer.status_code == 200, answer.text
    told: Body = answer.json()
    return told


def streamed(client: httpx.Client, **fields: Any) -> list[Body]:
    """The chunks of a streamed answer."""
    body = {"messages": [{"role": "user", "content": "Go on."}], "omni": True, "stream": True} | SHORT | fields
    with client.stream("POST", CHAT, json=body) as answer:
        answer.read()
        assert answer.status_code == 200, answer.text
        return chunks_of(answer.text)


def words(chunks: list[Body]) -> str:
    return "".join(choice["delta"].get("content") or "" for chunk in chunks for choice in chunk["choices"])


def results(answer: Body) -> list[Body]:
    return [each["result"] for each in answer["hal0"]["omni"]["tool_results"]]


def prompts(script: Path) -> list[str]:
    return [json.loads(line) for line in script.with_suffix(".prompts").read_text("utf-8").splitlines()]


def test_the_calls_of_a_round_are_done_and_their_results_are_read(speak: Speak, script: Path) -> None:
    answer = ask(speak(EMBED + "\n" + RERANK, "Cats sleep."))

    choice, report = answer["choices"][0], answer["hal0"]["omni"]
    assert (choice["message"]["content"], choice["finish_reason"]) == ("Cats sleep.", "stop")
    assert "tool_calls" not in choice["message"]
    assert (report["caller_slot"], report["rounds"]) == ("scripted", 2)
    assert [each["name"] for each in report["tool_results"]] == ["embed_text", "rerank_documents"]
    vectors, ranking = results(answer)
    assert (len(vectors["embeddings"]), len(vectors["embeddings"][0])) == (3, vectors["dimensions"])
    assert vectors["similarities"][0][1] > vectors["similarities"][0][2]
    assert [each["index"] for each in ranking["results"]] == [0, 1]
    told = prompts(script)[1]
    assert '"similarities"' in told
    assert '"relevance_score"' in told
    assert '"embeddings"' not in told


def test_what_the_vectors_are_is_what_their_own_route_says(speak: Speak) -> None:
    client = speak(EMBED, "Done.")
    (vectors,) = results(ask(client))
    direct = client.post("/v1/embeddings", json={"input": TEXTS}).json()
    assert vectors["embeddings"] == [each["embedding"] for each in direct["data"]]


def test_another_chat_model_is_asked(speak: Speak) -> None:
    client = speak(ROUTE, "It said hello.")
    answer = ask(client, seed=1)
    (routed,) = results(answer)
    direct = client.post(
        CHAT,
        json={
            "model": "smollm2-135m",
            "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Say hello."}],
            "max_tokens": SHORT["max_tokens"],
            "seed": 1,
        },
    ).json()
    assert routed["model"] == "smollm2-135m"
    assert routed["content"] == direct["choices"][0]["message"]["content"]
    assert routed["completion_tokens"] == direct["usage"]["completion_tokens"]


def test_the_counts_are_of_all_rounds(speak: Speak) -> None:
    once = ask(speak("Done."))["usage"]
    twice = ask(speak(RERANK, "Done."))["usage"]
    assert twice["completion_tokens"] > once["completion_tokens"]
    assert twice["prompt_tokens"] > 2 * once["prompt_tokens"]


def test_a_budget_is_of_all_rounds(speak: Speak) -> None:
    spent = ask(speak(RERANK, "Done."))["usage"]["completion_tokens"]
    answer = ask(speak(RERANK, "Done and more of it than fits."), max_tokens=spent)
    assert answer["choices"][0]["finish_reason"] == "length"
    assert answer["usage"]["completion_tokens"] == spent


def test_a_budget_that_ends_in_a_call_leaves_no_call_behind(speak: Speak) -> None:
    answer = ask(speak(EMBED, "Done."), max_tokens=12)
    choice = answer["choices"][0]
    assert (choice["finish_reason"], answer["hal0"]["omni"]["tool_results"]) == ("length", [])
    assert "tool_calls" not in choice["message"]


def test_a_call_that_was_made_before_is_not_made_again(speak: Speak) -> None:
    answer = ask(speak(RERANK, RERANK, "Done."))
    first, second = results(answer)
    assert "results" in first
    assert "called before" in second["error"]
    assert answer["choices"][0]["message"]["content"] == "Done."


def test_the_last_round_has_no_calls(speak: Speak) -> None:
    calls = [call("rerank_documents", query=f"{number}?", documents=TEXTS) for number in range(6)]
    answer = ask(speak(*calls), max_tokens=1000)
    assert answer["hal0"]["omni"]["rounds"] == 4
    assert len(results(answer)) == 3
    assert "tool_calls" not in answer["choices"][0]["message"]


def test_a_tool_that_fails_is_a_result_that_is_read(speak: Speak, script: Path) -> None:
    long = call("embed_text", input=["word " * 900])
    answer = ask(speak(long, "Too long."), max_tokens=2000)
    (failed,) = results(answer)
    assert set(failed) == {"error"}
    assert answer["choices"][0]["message"]["content"] == "Too long."
    assert json.dumps(failed, ensure_ascii=False) in prompts(script)[1]


def test_a_model_is_not_offered_itself(speak: Speak, script: Path) -> None:
    ask(speak("Done."))
    told = prompts(script)[0]
    assert "route_to_chat" in told
    assert '"smollm2-135m"' in told
    assert '"scripted"' not in told


def without_time(told: Body) -> Body:
    """The calls of an answer without what differs from run to run."""
    rounds: Body = told["hal0"]["omni"]
    return rounds | {"tool_results": [each | {"seconds": 0, "id": ""} for each in rounds["tool_results"]]}


@pytest.mark.parametrize(
    "said",
    [
        ("Just words.",),
        (f"Let me see. {EMBED}\n{RERANK}", "The cats."),
        (RERANK, RERANK, "Enough."),
        (RERANK, ROUTE, EMBED, "The last round."),
    ],
)
def test_a_stream_says_what_the_whole_answer_says(speak: Speak, said: tuple[str, ...]) -> None:
    whole = ask(speak(*said), seed=1)
    chunks = streamed(speak(*said), seed=1, stream_options={"include_usage": True})
    (told,) = [chunk for chunk in chunks if "hal0" in chunk]
    assert words(chunks) == whole["choices"][0]["message"]["content"] == said[-1]
    assert without_time(told) == without_time(whole)
    assert chunks[-1]["usage"]["total_tokens"] == whole["usage"]["total_tokens"]
    assert [choice["finish_reason"] for chunk in chunks for choice in chunk["choices"]][-1] == "stop"
    assert not any("tool_calls" in choice["delta"] for chunk in chunks for choice in chunk["choices"])


def test_a_stream_whose_budget_ends_in_a_call_has_no_call(speak: Speak) -> None:
    chunks = streamed(speak(EMBED, "Never said."), max_tokens=10)
    assert words(chunks) == ""
    assert [choice["finish_reason"] for chunk in chunks for choice in chunk["choices"]][-1] == "length"


def test_a_stream_that_cannot_begin_is_refused_with_its_status(speak: Speak) -> None:
    long = [{"role": "user", "content": "word " * 6000}]
    body = {"messages": long, "omni": True, "stream": True} | SHORT
    answer = speak("a").post(CHAT, json=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "context_length_exceeded")


def test_a_refusal_in_a_later_round_ends_the_stream_with_its_words(speak: Speak) -> None:
    nearly_full = [{"role": "user", "content": "word " * 3250}]
    calls = "\n".join(call("embed_text", input=["word " * 80, str(number)]) for number in range(3))
    chunks = streamed(speak(calls, "Never said."), messages=nearly_full, max_tokens=1000)
    assert chunks[-1]["error"]["code"] == "context_length_exceeded"
    assert words(chunks[:-1]) == ""


def test_progress_of_every_round_is_told_as_it_comes(speak: Speak) -> None:
    chunks = streamed(speak(RERANK, "Done."), return_progress=True)
    totals = [chunk["prompt_progress"]["total"] for chunk in chunks if "prompt_progress" in chunk]
    assert len(set(totals)) == 2
    assert words(chunks) == "Done."


def test_whoever_leaves_a_stream_ends_the_loop(speak: Speak) -> None:
    client = speak(ROUTE, "Never said.")
    body = {"messages": [{"role": "user", "content": "Go on."}], "omni": True, "stream": True} | SHORT
    with client.stream("POST", CHAT, json=body) as answer:
        assert answer.status_code == 200
    wait_until(lambda: all(not model["running"] for model in client.get("/health").json()["models"]), "nothing runs")


def test_an_answer_may_have_a_form(speak: Speak) -> None:
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"enum": ["yes", "no"]}}}
    answer = ask(speak(RERANK, '"yes"'), response_format=form)
    assert json.loads(answer["choices"][0]["message"]["content"]) == "yes"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("tools", [{"type": "function", "function": {"name": "add"}}]),
        ("functions", [{"name": "add"}]),
        ("n", 2),
        ("parse_tool_calls", False),
        ("add_generation_prompt", False),
    ],
)
def test_what_contradicts_it_is_refused_by_name(field: str, value: Any, speak: Speak) -> None:
    body = {"messages": [{"role": "user", "content": "Go on."}], "omni": True, field: value}
    answer = speak().post(CHAT, json=body)
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == field


@pytest.mark.parametrize("path", ["/v1/chat/completions/input_tokens", "/apply-template"])
def test_routes_that_do_not_run_it_refuse_it(path: str, speak: Speak) -> None:
    answer = speak().post(path, json={"messages": [{"role": "user", "content": "Go on."}], "omni": True})
    assert answer.status_code == 400
    assert "omni" in answer.json()["error"]["message"]
