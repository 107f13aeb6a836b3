"""Vectors and relevance on a live server with real models: every form of a request, every refusal, every field."""

from __future__ import annotations

import base64
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from openai import OpenAI

from tests.contract import servers
from tests.contract.conftest import Connect, ServeWith
from tests.support.bert_gguf import write_gguf
from tests.support.fields import fields_of
from tests.support.judge import Document
from tests.support.live import config, health_of, wait_idle, wait_until
from tests.support.vector_models import QUERY_PROMPT, fetched, in_gguf
from tests.support.wire import Wire

EMBED, RERANK = "/v1/embeddings", "/v1/rerank"
TEXT = "The cat sat on the mat."
OTHER = "A feline was resting on a rug."
QUESTION = "What is the capital of France?"
BREAD, PARIS, WINE = "Bread is made of flour.", "Paris is the capital of France.", "France is known for its wine."
LONG = "word " * 600
Body = dict[str, Any]


@pytest.fixture
def client(vectors: httpx.Client) -> httpx.Client:
    """A client of a server with a model of vectors and one of relevance."""
    return vectors


def embed(client: httpx.Client, sent: Any, **fields: Any) -> Body:
    response = client.post(EMBED, json={"input": sent, **fields})
    assert response.status_code == 200, response.text
    answer: Body = response.json()
    return answer


def vectors_of(answer: Body) -> Any:
    return np.array([each["embedding"] for each in answer["data"]])


def rerank(client: httpx.Client, documents: list[Any] | None = None, **fields: Any) -> Body:
    body = {"query": QUESTION, "documents": documents or [BREAD, PARIS, WINE], **fields}
    response = client.post(RERANK, json=body)
    assert response.status_code == 200, response.text
    answer: Body = response.json()
    return answer


def refused(client: httpx.Client, path: str, status: int = 400, **body: Any) -> Body:
    response = client.post(path, json=body)
    assert response.status_code == status, response.text
    error: Body = response.json()["error"]
    return error


# ---- vectors -------------------------------------------------------------------------------------


def test_a_vector_for_each_text_in_their_order_with_the_tokens_counted(client: httpx.Client) -> None:
    answer = embed(client, [TEXT, OTHER, TEXT])
    one, other, same = vectors_of(answer)

    assert answer["model"] == "bge-small-en"
    assert [each["index"] for each in answer["data"]] == [0, 1, 2]
    assert one.shape == (384,)
    assert (one == same).all()
    assert 0.6 < one @ other < 0.95
    assert answer["usage"] == {"prompt_tokens": 29, "total_tokens": 29}


def test_one_text_by_itself_and_in_a_list_are_the_same(client: httpx.Client) -> None:
    assert embed(client, TEXT)["data"] == embed(client, [TEXT])["data"]


def test_a_text_has_the_same_vector_whatever_is_asked_beside_it(client: httpx.Client) -> None:
    alone = embed(client, TEXT)["data"][0]
    assert embed(client, [OTHER, LONG[:900], TEXT])["data"][2] == alone | {"index": 2}


def test_ids_are_those_of_the_model_and_taken_as_they_are(client: httpx.Client) -> None:
    ids = [101, 1996, 4937, 2938, 2006, 1996, 13523, 1012, 102]  # with [CLS] and [SEP]
    text = vectors_of(embed(client, TEXT))[0]

    assert (vectors_of(embed(client, ids))[0] == text).all()
    assert (vectors_of(embed(client, [OTHER, ids]))[1] == text).all()
    assert not np.allclose(vectors_of(embed(client, [ids[1:-1]]))[0], text, atol=1e-3)


def test_a_text_reads_control_tokens_as_tokens_and_what_stands_around_it_is_there_once(client: httpx.Client) -> None:
    assert embed(client, f"[CLS]{TEXT}")["data"] == embed(client, TEXT)["data"]
    assert embed(client, "a [SEP] b")["usage"]["prompt_tokens"] == 5


def test_base64_is_of_the_same_numbers(client: httpx.Client) -> None:
    (written,) = (each["embedding"] for each in embed(client, TEXT, encoding_format="base64")["data"])
    numbers = np.frombuffer(base64.b64decode(written), "<f4")

    assert (numbers == vectors_of(embed(client, TEXT))[0].astype(np.float32)).all()


@pytest.mark.parametrize("dimensions", [1, 64, 384])
def test_fewer_dimensions_are_the_first_ones_with_length_one(dimensions: int, client: httpx.Client) -> None:
    whole, cut = (vectors_of(embed(client, TEXT, **more))[0] for more in ({}, {"dimensions": dimensions}))

    assert np.linalg.norm(cut) == pytest.approx(1, abs=1e-6)
    assert cut == pytest.approx(whole[:dimensions] / np.linalg.norm(whole[:dimensions]), abs=1e-6)


def test_a_named_prompt_is_put_before_the_text(client: httpx.Client) -> None:
    for name in ("prompt_name", "input_type"):
        assert embed(client, TEXT, **{name: "query"})["data"] == embed(client, QUERY_PROMPT + TEXT)["data"]


def test_many_texts_come_back_in_their_order(client: httpx.Client) -> None:
    texts = [f"Number {number}" for number in range(65)]
    answer = embed(client, texts)

    assert [each["index"] for each in answer["data"]] == list(range(65))
    assert answer["data"][64]["embedding"] == embed(client, texts[64])["data"][0]["embedding"]


def test_an_unversioned_path_is_the_same(client: httpx.Client) -> None:
    assert client.post("/embeddings", json={"input": TEXT}).json()["data"] == embed(client, TEXT)["data"]


# ---- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"input": ""}, "input"),
        ({"input": "a", "truncation_direction": "left"}, "truncation_direction"),
        ({"input": "a", "prompt": "query: "}, "prompt"),
        ({"input": "a", "instruction": "find"}, "instruction"),
        ({"input": "a", "return_multivector": True}, "return_multivector"),
        ({"input": "a", "images": ["a"]}, "images"),
        ({"input": []}, "input"),
        ({"input": ["a", ""]}, "input.1"),
        ({"input": [[]]}, "input.0"),
        ({"input": [1, "a"]}, "input.1"),
        ({"input": [TEXT, [5, 30522]]}, "input.1"),
        ({"input": [9906, 100257]}, "input"),
        ({"input": TEXT, "dimensions": 385}, "dimensions"),
        ({"input": TEXT, "dimensions": 0}, "dimensions"),
        ({"input": TEXT, "prompt_name": "document"}, "prompt_name"),
        ({"input": [[5]], "prompt_name": "query"}, "prompt_name"),
        ({"input": TEXT, "encoding_format": "bytes"}, "encoding_format"),
        ({"input": TEXT, "embd_normalize": 1, "dimensions": 4}, "dimensions"),
        ({"input": ["a"] * 101}, "input"),
        ({"input": ["a" * 4000] * 6}, "input"),
        ({}, "input"),
    ],
)
def test_an_input_that_cannot_be_served_as_sent_is_refused_by_name(
    fields: Body, param: str, client: httpx.Client
) -> None:
    assert refused(client, EMBED, **fields)["param"] == param


def test_a_text_that_is_too_long_is_refused_with_its_place_and_the_counts(client: httpx.Client) -> None:
    error = refused(client, EMBED, input=[TEXT, LONG])

    assert (error["code"], error["param"]) == ("context_length_exceeded", "input.1")
    assert (error["n_prompt_tokens"], error["n_ctx"], error["n_surplus_tokens"]) == (602, 512, 90)


def test_a_text_is_cut_only_where_that_was_asked_for_and_is_told(client: httpx.Client) -> None:
    answer = embed(client, [TEXT, LONG], truncate=True)

    assert [each.get("truncated_from") for each in answer["data"]] == [None, 602]
    assert answer["usage"]["prompt_tokens"] == 9 + 512
    assert answer["data"][1]["embedding"] == embed(client, "word " * 510)["data"][0]["embedding"]


def test_an_unknown_prompt_names_the_known_ones(client: httpx.Client) -> None:
    assert "It has: query." in refused(client, EMBED, input=TEXT, prompt_name="document")["message"]


def test_a_model_of_another_kind_is_refused_with_its_route(client: httpx.Client) -> None:
    assert EMBED in refused(client, RERANK, query="a", documents=["b"], model="bge-small-en")["message"]
    error = refused(client, EMBED, input=TEXT, model="minilm-reranker")
    assert RERANK in error["message"]
    assert error["code"] == "wrong_model_kind"


def test_a_server_without_such_a_model_says_so(serve_with: ServeWith, connect: Connect, client: httpx.Client) -> None:
    chat = connect(serve_with(config()))
    assert "embedding" in refused(chat, EMBED, 501, input=TEXT)["message"]
    assert "rerank" in refused(chat, RERANK, 501, query="a", documents=["b"])["message"]
    assert (
        "chat" in refused(client, "/v1/chat/completions", 501, messages=[{"role": "user", "content": "x"}])["message"]
    )


# ---- relevance -----------------------------------------------------------------------------------


def test_documents_come_in_the_order_of_their_relevance(client: httpx.Client) -> None:
    answer = rerank(client)
    scores = [each["relevance_score"] for each in answer["results"]]

    assert [each["index"] for each in answer["results"]] == [1, 2, 0]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] > 0.99
    assert 0 <= scores[2] < 0.01
    assert answer["model"] == "minilm-reranker"
    assert answer["usage"]["prompt_tokens"] == answer["usage"]["total_tokens"] > 40


def test_a_score_is_the_logistic_function_of_the_model_s_own(client: httpx.Client) -> None:
    for each in rerank(client)["results"]:
        assert each["relevance_score"] == pytest.approx(1 / (1 + np.exp(-each["raw_score"])))


@pytest.mark.parametrize("path", [RERANK, "/v1/rerankings", "/v1/reranking", "/rerank", "/reranking"])
def test_every_name_of_the_route_answers_alike(path: str, client: httpx.Client) -> None:
    body = {"query": QUESTION, "documents": [BREAD, PARIS]}
    assert client.post(path, json=body).json()["results"] == rerank(client, [BREAD, PARIS])["results"]


def test_documents_may_be_objects_and_are_given_back_when_asked_for(client: httpx.Client) -> None:
    answer = rerank(client, [{"text": BREAD}, {"text": PARIS, "id": 5}], return_documents=True)
    assert [each["document"] for each in answer["results"]] == [{"text": PARIS}, {"text": BREAD}]
    assert "document" not in rerank(client)["results"][0]


def test_named_fields_of_objects_are_read(client: httpx.Client) -> None:
    documents = [{"title": PARIS, "text": BREAD}, {"title": BREAD, "text": WINE}]
    answer = rerank(client, documents, rank_fields=["title"], return_documents=True)
    assert answer["results"][0]["document"] == {"text": PARIS}


def test_texts_are_answered_with_a_list(client: httpx.Client) -> None:
    body = {"query": QUESTION, "texts": [BREAD, PARIS], "return_text": True, "top_n": 1}
    (only,) = client.post("/rerank", json=body).json()
    assert (only["index"], only["text"]) == (1, PARIS)


def test_control_tokens_in_documents_are_text(client: httpx.Client) -> None:
    marked, plain = (rerank(client, [text])["usage"]["prompt_tokens"] for text in (f"[SEP] {PARIS}", PARIS))
    assert marked == plain + 3


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"query": "", "documents": ["a"]}, "query"),
        ({"query": "a", "documents": [{"text": "a", "image": "data:,"}]}, "documents.0.image"),
        ({"query": {"text": "a", "image": "data:,"}, "documents": ["a"]}, "query.image"),
        ({"query": "a", "documents": ["a"], "truncation_direction": "left"}, "truncation_direction"),
        ({"query": "a", "documents": []}, "documents"),
        ({"query": "a", "texts": []}, "texts"),
        ({"query": "a", "documents": ["b", ""]}, "documents.1"),
        ({"query": "a", "documents": ["b", {"title": "c"}]}, "documents.1.text"),
        ({"query": "a", "documents": ["b"], "texts": ["c"]}, "texts"),
        ({"query": "a", "documents": ["b"], "top_n": 0}, "top_n"),
        ({"query": "a", "documents": ["b", LONG]}, "documents.1"),
        ({"query": LONG, "documents": ["b"]}, "query"),
        ({"query": "a", "documents": ["b"] * 101}, "documents"),
        ({"query": "a"}, "documents"),
        ({"documents": ["a"]}, "query"),
    ],
)
def test_a_ranking_that_cannot_be_served_as_sent_is_refused_by_name(
    fields: Body, param: str, client: httpx.Client
) -> None:
    assert refused(client, RERANK, **fields)["param"] == param


def test_a_document_is_cut_only_where_that_was_asked_for_and_is_told(client: httpx.Client) -> None:
    results = rerank(client, [PARIS, LONG], truncate=True)["results"]
    assert {each["index"]: each.get("truncated_from") for each in results} == {0: None, 1: 610}


# ---- every honoured field ------------------------------------------------------------------------

Look = Callable[[httpx.Response], Any]
Case = tuple[Body, Body, Look]


def first(response: httpx.Response) -> Any:
    return response.json()["data"][0]["embedding"]


def results(response: httpx.Response) -> Any:
    return response.json()["results"]


def outcome(response: httpx.Response) -> Any:
    return response.status_code


def field(name: str, one: Any, other: Any, look: Look, **same: Any) -> Case:
    return ({name: one, **same}, {name: other, **same}, look)


SHOWN: dict[str, dict[str, Case]] = {
    "EmbeddingRequest": {
        "model": field("model", "text-embedding-3-small", "minilm-reranker", outcome),
        "input": field("input", TEXT, OTHER, first),
        "encoding_format": field("encoding_format", "float", "base64", first),
        "dimensions": field("dimensions", 8, 9, first),
        "prompt_name": field("prompt_name", None, "query", first),
        "normalize": field("normalize", True, False, first),
        "embd_normalize": field("embd_normalize", 0, 1, first),
        "truncate": field("truncate", False, "END", outcome, input=LONG),
    },
    "RerankRequest": {
        "model": field("model", "minilm-reranker", "bge-small-en", outcome),
        "query": field("query", QUESTION, "What is bread?", results),
        "documents": field("documents", [BREAD], [PARIS], results),
        "texts": field("texts", [BREAD], [PARIS], lambda response: response.json(), documents=None),
        "top_n": field("top_n", 1, 2, results),
        "return_documents": field("return_documents", False, True, results),
        "raw_scores": field("raw_scores", False, True, results),
        "rank_fields": field("rank_fields", ["a"], ["b"], results, documents=[{"a": BREAD, "b": PARIS}]),
        "truncate": field("truncate", False, True, outcome, documents=[LONG]),
    },
}
BASE: dict[str, tuple[str, Body]] = {
    "EmbeddingRequest": (EMBED, {"input": TEXT}),
    "RerankRequest": (RERANK, {"query": QUESTION, "documents": [BREAD, PARIS]}),
}


@pytest.mark.parametrize("name", SHOWN)
def test_every_honoured_field_is_shown_to_do_something(name: str, document: Document) -> None:
    fields = fields_of(document, name)
    assert {path for path, each in fields.items() if each.contract_class == "honoured"} == set(SHOWN[name])


@pytest.mark.parametrize(("name", "path"), [(name, path) for name, shown in SHOWN.items() for path in shown])
def test_an_honoured_field_changes_the_answer(name: str, path: str, client: httpx.Client) -> None:
    route, base = BASE[name]
    one, other, look = SHOWN[name][path]
    assert look(client.post(route, json=base | one)) != look(client.post(route, json=base | other))


# ---- status --------------------------------------------------------------------------------------


def test_the_models_are_listed_with_what_they_are(client: httpx.Client) -> None:
    listed = {each["id"]: each for each in client.get("/v1/models").json()["data"]}
    vectors, relevance = listed["bge-small-en"], listed["minilm-reranker"]

    assert (vectors["kind"], vectors["max_model_len"], vectors["dimensions"]) == ("embedding", 512, 384)
    assert (vectors["pooling"], vectors["prompts"]) == ("cls", ["query"])
    assert vectors["capabilities"]["embedding"] is True
    assert (relevance["kind"], relevance["max_model_len"]) == ("rerank", 512)
    assert relevance["capabilities"]["rerank"] is True
    assert client.get("/v1/models/text-embedding-3-small").json()["id"] == "bge-small-en"


def test_health_tells_of_them_and_of_the_fields_of_their_routes(client: httpx.Client) -> None:
    account = health_of(client)
    kinds = {each["id"]: (each["kind"], each["engine"], each["status"]) for each in account["models"]}

    assert account["status"] == "ok"
    assert kinds == {"bge-small-en": ("embedding", "onnx", "ready"), "minilm-reranker": ("rerank", "onnx", "ready")}
    assert set(account["contract"][f"POST {EMBED}"]) == {"bge-small-en"}
    assert "dimensions" in account["contract"][f"POST {EMBED}"]["bge-small-en"]["honoured"]
    assert "POST /v1/chat/completions" not in account["contract"]


def test_what_was_computed_is_counted(client: httpx.Client) -> None:
    def counted(name: str) -> float:
        lines = client.get("/metrics").text.splitlines()
        return float(next(line for line in lines if line.startswith(name + '{model="bge-small-en"')).split()[-1])

    names = ("requests_total", "sequences_total", "tokens_total", "batch_size_count")
    before = [counted(f"troth:vector_{name}") for name in names]
    embed(client, [TEXT, OTHER])
    after = [counted(f"troth:vector_{name}") for name in names]

    assert [new - old for new, old in zip(after, before, strict=True)] == [1, 2, 20, 2]
    assert 'vllm:request_success_total{engine="0",finished_reason="stop",model_name="bge-small-en"}' in (
        client.get("/metrics").text
    )


# ---- limits, and clients that leave ---------------------------------------------------------------


def test_one_request_too_many_is_refused_and_those_that_leave_make_room(
    serve_with: ServeWith, connect: Connect
) -> None:
    server = serve_with(servers.narrow_vectors())
    client = connect(server)
    with Wire(server.url) as running:
        running.ask({"input": [LONG[:180]] * 100}, path=EMBED)
        wait_until(lambda: health_of(client)["in_flight"] == 1, "a request runs")
        error = client.post(EMBED, json={"input": TEXT})
        assert (error.status_code, error.json()["error"]["code"]) == (429, "queue_full")
        assert error.headers["retry-after"]
        running.hang_up()
        wait_idle(client)
    assert embed(client, TEXT)["usage"]["prompt_tokens"] == 9
    metrics = client.get("/metrics").text
    dropped = next(line for line in metrics.splitlines() if line.startswith("troth:vector_dropped_sequences_total{"))
    assert float(dropped.split()[-1]) > 0
    assert server.accounts("create_embedding")[1]["status"] == "499"


# ---- GGUF ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def gguf(tmp_path_factory: pytest.TempPathFactory, serve_with: ServeWith, connect: Connect) -> httpx.Client:
    """A client of a server with the same models as GGUF files."""
    folder: Path = tmp_path_factory.mktemp("gguf")
    paths = {kind: write_gguf(fetched(kind), kind, folder / f"{kind}.gguf") for kind in ("embedding", "rerank")}
    return connect(serve_with(config([in_gguf(kind, path) for kind, path in paths.items()])))


def test_a_gguf_model_gives_nearly_the_same_vectors(gguf: httpx.Client, client: httpx.Client) -> None:
    answer = embed(gguf, [TEXT, OTHER])

    assert answer["model"] == "embedding-gguf"
    assert answer["usage"] == {"prompt_tokens": 20, "total_tokens": 20}
    assert (vectors_of(answer) * vectors_of(embed(client, [TEXT, OTHER]))).sum(axis=1).min() > 0.99


def test_a_gguf_model_ranks_alike(gguf: httpx.Client) -> None:
    answer = rerank(gguf)
    assert [each["index"] for each in answer["results"]] == [1, 2, 0]


def test_requests_of_many_clients_are_computed_together(gguf: httpx.Client) -> None:
    def sizes() -> dict[str, float]:
        lines = (line for line in gguf.get("/metrics").text.splitlines() if 'model="embedding-gguf"' in line)
        return {line.partition("{")[0]: float(line.split()[-1]) for line in lines if "vector_" in line}

    before = sizes()
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda number: embed(gguf, f"Number {number}"), range(64)))
    after = sizes()

    assert [vectors_of(answer).shape for answer in answers] == [(1, 384)] * 64
    assert after["troth:vector_sequences_total"] - before["troth:vector_sequences_total"] == 64
    assert after["troth:vector_batch_size_count"] - before["troth:vector_batch_size_count"] < 56


# ---- openai-python -------------------------------------------------------------------------------


def test_the_python_library_reads_the_base64_that_it_asks_for(client: httpx.Client) -> None:
    url = httpx.URL(str(client.base_url)).join("/v1")
    with OpenAI(base_url=str(url), api_key="none", max_retries=0) as openai:
        answer = openai.embeddings.create(model="bge-small-en", input=[TEXT, OTHER])
    assert np.array(answer.data[0].embedding) == pytest.approx(vectors_of(embed(client, TEXT))[0], abs=1e-7)
