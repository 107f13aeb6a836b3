"""Vectors and relevance of another server: a second Troth with real models, and one that plays what goes wrong."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from tests.contract.conftest import Connect, ServeWith
from tests.support.live import LiveServer, config, wait_until
from tests.support.upstream_server import UpstreamServer, broken_off, playing, silence, whole
from tests.support.vector_models import QUERY_PROMPT, embedder, reranker

EMBED, RERANK = "/v1/embeddings", "/v1/rerank"
TEXTS = ["The cat sat on the mat.", "A feline was resting on a rug.", "Stocks fell."]
QUESTION = "What is the capital of France?"
DOCUMENTS = ["Bread is made of flour.", "Paris is the capital of France.", "France is known for its wine."]
SHORT_SECONDS = 0.5

Body = dict[str, Any]


def remote(kind: str, *urls: str, model: str | None = None, server: str = "vllm", **more: Any) -> Body:
    options = {"server": server, "urls": list(urls), "model": model, **more.pop("options", {})}
    return {"id": f"near-{kind}", "kind": kind, "engine": "upstream", "options": options, **more}


@pytest.fixture(scope="module")
def far_server(serve_with: ServeWith) -> LiveServer:
    """The server that computes."""
    server = serve_with(config([embedder(), reranker()]))
    server.wait_ready()
    return server


@pytest.fixture(scope="module")
def far(far_server: LiveServer, connect: Connect) -> httpx.Client:
    """A client of it."""
    return connect(far_server)


@pytest.fixture(scope="module")
def near(far_server: LiveServer, serve_with: ServeWith, connect: Connect) -> httpx.Client:
    """A client of the server in front of it."""
    models = [
        remote("embedding", far_server.url, model="bge-small-en", prompts={"query": QUERY_PROMPT}),
        remote("rerank", far_server.url, model="minilm-reranker"),
        remote("embedding", far_server.url, model="bge-small-en", server="llama_server") | {"id": "raw"},
        remote("embedding", far_server.url, model="bge-small-en", server="ollama") | {"id": "plain"},
    ]
    return connect(serve_with(config(models)))


def posted(client: httpx.Client, path: str, **body: Any) -> Body:
    answer = client.post(path, json=body)
    assert answer.status_code == 200, answer.text
    told: Body = answer.json()
    return told


def vectors_of(answer: Body) -> Any:
    return np.array([each["embedding"] for each in answer["data"]], np.float32)


# ---- real models ------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["near-embedding", "raw", "plain"])
def test_vectors_are_those_of_the_other_server(near: httpx.Client, far: httpx.Client, model: str) -> None:
    mine, other = posted(near, EMBED, input=TEXTS, model=model), posted(far, EMBED, input=TEXTS)

    np.testing.assert_allclose(vectors_of(mine), vectors_of(other), atol=1e-6)
    assert mine["usage"] == other["usage"]
    assert (mine["model"], [each["index"] for each in mine["data"]]) == (model, [0, 1, 2])


def test_forms_dimensions_and_prompts_are_done_here(near: httpx.Client, far: httpx.Client) -> None:
    fields = {"input": TEXTS[0], "dimensions": 64, "encoding_format": "base64"}
    mine, other = (
        np.frombuffer(base64.b64decode(posted(each, EMBED, **fields)["data"][0]["embedding"]), "<f4")
        for each in (near, far)
    )
    np.testing.assert_allclose(mine, other, atol=1e-6)
    asked = {"input": TEXTS[0], "prompt_name": "query"}
    np.testing.assert_allclose(
        vectors_of(posted(near, EMBED, **asked)), vectors_of(posted(far, EMBED, **asked)), atol=1e-6
    )


def test_a_llama_server_is_asked_for_vectors_as_the_model_gives_them(near: httpx.Client, far: httpx.Client) -> None:
    raw = posted(near, EMBED, input=TEXTS, model="raw", embd_normalize=-1)
    np.testing.assert_allclose(
        vectors_of(raw), vectors_of(posted(far, EMBED, input=TEXTS, embd_normalize=-1)), rtol=1e-5, atol=1e-5
    )


def test_token_ids_are_passed_on(near: httpx.Client, far: httpx.Client) -> None:
    ids = [101, 1996, 4937, 102]
    np.testing.assert_allclose(
        vectors_of(posted(near, EMBED, input=ids)), vectors_of(posted(far, EMBED, input=ids)), atol=1e-6
    )


def test_an_order_is_that_of_the_other_server(near: httpx.Client, far: httpx.Client) -> None:
    asked = {"query": QUESTION, "documents": DOCUMENTS, "top_n": 2, "return_documents": True}
    mine, other = posted(near, RERANK, **asked), posted(far, RERANK, **asked)

    assert [each["index"] for each in mine["results"]] == [each["index"] for each in other["results"]]
    assert mine["results"][0]["document"]["text"] == DOCUMENTS[1]
    for one, another in zip(mine["results"], other["results"], strict=True):
        assert one["relevance_score"] == pytest.approx(another["relevance_score"], abs=1e-6)


def test_many_clients_at_once_get_their_own(near: httpx.Client) -> None:
    alone = [vectors_of(posted(near, EMBED, input=text))[0] for text in TEXTS]
    with ThreadPoolExecutor(9) as pool:
        together = list(pool.map(lambda text: vectors_of(posted(near, EMBED, input=text))[0], TEXTS * 3))
    for found, expected in zip(together, alone * 3, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-2)  # eight bits, and a batch of another size


@pytest.mark.parametrize(
    ("path", "body", "param"),
    [
        (EMBED, {"input": TEXTS, "truncate": True}, "truncate"),
        (EMBED, {"input": TEXTS, "normalize": False}, "normalize"),
        (EMBED, {"input": TEXTS, "dimensions": 4096}, "dimensions"),
        (EMBED, {"input": ["a", [1, 2]], "model": "plain"}, "input"),
        (EMBED, {"input": [[1, 2], [3]], "model": "plain"}, "input.0"),
        (EMBED, {"input": ["a", ""]}, "input.1"),
        (RERANK, {"query": QUESTION, "documents": DOCUMENTS, "raw_scores": True}, "raw_scores"),
        (RERANK, {"query": QUESTION, "documents": []}, "documents"),
        (RERANK, {"query": QUESTION, "documents": DOCUMENTS, "model": "near-embedding"}, "model"),
    ],
)
def test_what_cannot_be_honoured_is_refused_by_name(near: httpx.Client, path: str, body: Body, param: str) -> None:
    answer = near.post(path, json=body)
    assert answer.status_code == 400
    assert str(answer.json()["error"]["param"]).startswith(param)


def test_an_item_that_is_too_long_is_refused_in_the_other_servers_words(near: httpx.Client) -> None:
    answer = near.post(EMBED, json={"input": ["short", "word " * 900]})
    assert answer.status_code == 400
    assert "input.1" in answer.json()["error"]["message"]


def test_health_tells_what_the_model_is(near: httpx.Client) -> None:
    posted(near, EMBED, input=TEXTS)
    models = {each["id"]: each for each in near.get("/health").json()["models"]}
    assert models["near-embedding"]["details"]["dimensions"] == 384
    assert models["near-rerank"]["details"]["server"] == "vllm"


# ---- what goes wrong --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def actor() -> Iterator[UpstreamServer]:
    """A server that plays what a test gives it."""
    with playing(silence) as server:
        yield server


@pytest.fixture(scope="module")
def front(actor: UpstreamServer, tmp_path_factory: pytest.TempPathFactory, connect: Connect) -> Iterator[httpx.Client]:
    """A client of the server in front of it."""
    options = {"idle_seconds": SHORT_SECONDS, "health_seconds": 60.0, "total_seconds": 5.0}
    models = [remote(kind, actor.url, options=options) for kind in ("embedding", "rerank")]
    server = LiveServer(config(models), tmp_path_factory.mktemp("front"))
    try:
        server.wait_ready()
        yield connect(server)
    finally:
        assert server.stop() == 0


def play(actor: UpstreamServer, *plays: Any) -> None:
    actor.plays.clear()
    actor.plays.extend(plays)


def given(*vectors: Any, first: int = 0) -> Any:
    data = [{"index": first + index, "embedding": vector} for index, vector in enumerate(vectors)]
    return whole({"data": data, "usage": {"prompt_tokens": 2, "total_tokens": 2}})


UNIT = [0.6, 0.8]


@pytest.mark.parametrize(
    "nonsense",
    [
        given(UNIT, UNIT),
        given(UNIT, first=1),
        given([]),
        given([0.1, "x"]),
        given("!!!"),
        given("AAAA"),
        given([1e999, 0.0]),
        given([0.6, 0.8, 0.0]),
        whole({"data": "none"}),
        whole({"data": [3]}),
        whole([]),
        whole(b"{"),
        whole({"data": [{"index": 0}]}),
    ],
)
def test_vectors_that_are_none_are_a_fault_of_the_upstream(
    front: httpx.Client, actor: UpstreamServer, nonsense: Any
) -> None:
    play(actor, given(UNIT))
    posted(front, EMBED, input="known by now")
    play(actor, nonsense)

    answer = front.post(EMBED, json={"input": "a"})

    assert (answer.status_code, answer.json()["error"]["code"]) == (502, "upstream_broken")


def test_scores_that_are_missing_are_a_fault_of_the_upstream(front: httpx.Client, actor: UpstreamServer) -> None:
    play(actor, whole({"results": [{"index": 1, "relevance_score": 0.5}]}))
    answer = front.post(RERANK, json={"query": "a", "documents": ["b", "c"]})
    assert (answer.status_code, answer.json()["error"]["code"]) == (502, "upstream_broken")


def test_a_silence_is_504(front: httpx.Client, actor: UpstreamServer) -> None:
    play(actor, silence)
    assert front.post(RERANK, json={"query": "a", "documents": ["b"]}).status_code == 504


def test_a_refusal_keeps_its_status(front: httpx.Client, actor: UpstreamServer) -> None:
    play(actor, whole({"error": {"message": "slow down"}}, 429, **{"Retry-After": "9"}))
    answer = front.post(RERANK, json={"query": "a", "documents": ["b"]})
    assert (answer.status_code, answer.headers["Retry-After"]) == (429, "9")


def test_a_text_that_is_too_long_for_a_llama_server_is_bad_input(front: httpx.Client, actor: UpstreamServer) -> None:
    words = "input (902 tokens) is too large to process. increase the physical batch size (current batch size: 512)"
    play(actor, whole({"error": {"code": 500, "message": words, "type": "server_error"}}, 500))
    answer = front.post(RERANK, json={"query": "a", "documents": ["b"]})
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "documents")
    assert words in answer.json()["error"]["message"]


def test_a_replica_that_breaks_off_is_invisible(
    actor: UpstreamServer, tmp_path: Path, connect: Connect, far_server: LiveServer
) -> None:
    with playing(broken_off) as dying:
        server = LiveServer(config([remote("embedding", dying.url, far_server.url, model="bge-small-en")]), tmp_path)
        try:
            server.wait_ready()
            client = connect(server)
            for _ in range(4):
                assert len(posted(client, EMBED, input="a")["data"][0]["embedding"]) == 384
        finally:
            assert server.stop() == 0


def test_a_server_that_cannot_be_reached_is_502_and_comes_back(
    actor: UpstreamServer, tmp_path: Path, connect: Connect
) -> None:
    actor.is_well = False
    play(actor, whole({}, 503))
    model = remote("embedding", actor.url, options={"health_seconds": 0.1})
    server = LiveServer(config([model]), tmp_path)
    try:
        client = connect(server)
        wait_until(lambda: client.get("/health").json()["status"] != "loading", "the upstream was asked")
        assert client.post(EMBED, json={"input": "a"}).status_code in (502, 503)
        actor.is_well = True
        play(actor, given(UNIT))
        wait_until(lambda: client.post(EMBED, json={"input": "a"}).status_code == 200, "the upstream is back")
    finally:
        actor.is_well = True
        assert server.stop() == 0
