"""Moderation by a classifier in ONNX form: a real graph on the real engine, with weights of chance."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import onnxruntime
import pytest
import tokenizers

from tests.contract.conftest import Connect, ServeWith
from tests.support.classifier import make_classifier
from tests.support.live import config
from tests.support.vector_models import SOURCES, fetched
from troth.sources.address import beside

PATH = "/v1/moderations"
LABELS = ["toxic", "threat", "insult"]
TEXTS = ["I will find you.", "What a lovely day.", "You fool.", "Bread is made of flour."]

Body = dict[str, Any]


def classifier(path: Path, name: str, **options: Any) -> Body:
    return {
        "id": name,
        "kind": "moderation",
        "engine": "onnx",
        "source": str(path),
        "tokenizer_source": beside(SOURCES["embedding"], "tokenizer.json"),
        "options": {"labels": LABELS, "threads": 2, "context_tokens": 64} | options,
    }


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_classifier(tmp_path_factory.mktemp("classifier") / "model.onnx", len(LABELS))


@pytest.fixture(scope="module")
def client(file: Path, serve_with: ServeWith, connect: Connect) -> httpx.Client:
    """A client of a server with the classifier, once with labels that go together and once with one that is true."""
    models = [
        classifier(file, "several", categories={"threat": "violence"}),
        classifier(file, "one", activation="softmax", safe_labels=["insult"]) | {"aliases": ["omni-moderation-latest"]},
    ]
    return connect(serve_with(config(models)))


def logits(file: Path, text: str) -> Any:
    """The numbers of the model, computed apart from the server."""
    tokenizer = tokenizers.Tokenizer.from_file(str(fetched("embedding").tokenizer))
    tokenizer.encode_special_tokens = True
    ids = np.array([tokenizer.encode(text).ids], np.int64)
    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    return session.run(["logits"], {"input_ids": ids, "attention_mask": np.ones_like(ids)})[0][0]


def results(client: httpx.Client, **body: Any) -> list[Body]:
    answer = client.post(PATH, json=body)
    assert answer.status_code == 200, answer.text
    found: list[Body] = answer.json()["results"]
    return found


def test_labels_that_go_together_are_each_as_likely_as_the_model_says(client: httpx.Client, file: Path) -> None:
    for text, result in zip(TEXTS, results(client, input=TEXTS), strict=True):
        expected = 1 / (1 + np.exp(-logits(file, text)))
        assert list(result["label_scores"].values()) == pytest.approx(expected.tolist(), abs=1e-4)
        assert result["category_scores"]["violence"] == result["label_scores"]["threat"]
        wrong = {name for name, score in result["category_scores"].items() if score >= 0.5}
        assert {name for name, is_wrong in result["categories"].items() if is_wrong} == wrong
        assert result["flagged"] == bool(wrong)
        assert (result["label"] in LABELS) == result["flagged"]


def test_of_labels_of_which_one_is_true_the_likeliest_decides(client: httpx.Client, file: Path) -> None:
    for text, result in zip(TEXTS, results(client, model="one", input=TEXTS), strict=True):
        numbers = logits(file, text)
        expected = np.exp(numbers - numbers.max()) / np.exp(numbers - numbers.max()).sum()
        assert list(result["label_scores"].values()) == pytest.approx(expected.tolist(), abs=1e-4)
        assert result["label"] == LABELS[int(numbers.argmax())]
        assert result["flagged"] == (result["label"] != "insult")
        assert "insult" not in result["categories"]


def test_a_text_is_judged_the_same_alone_and_among_others(client: httpx.Client) -> None:
    alone = [results(client, input=text)[0] for text in TEXTS]
    with ThreadPoolExecutor(8) as pool:
        beside_others = list(pool.map(lambda text: results(client, input=text)[0], TEXTS * 4))
    assert beside_others == alone * 4


def test_a_conversation_is_its_messages_one_under_the_other(client: httpx.Client) -> None:
    turns = [{"role": "user", "content": TEXTS[0]}, {"role": "assistant", "content": TEXTS[1]}]
    assert results(client, messages=turns) == results(client, input=f"{TEXTS[0]}\n{TEXTS[1]}")


def test_calls_in_a_conversation_are_judged(client: httpx.Client) -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "insult", "arguments": '{"words": "You fool."}'}}
    user = {"role": "user", "content": TEXTS[1]}
    assistant = {"role": "assistant", "content": None, "tool_calls": [call]}
    told = f'{TEXTS[1]}\ninsult({{"words": "You fool."}})'
    assert results(client, messages=[user, assistant]) == results(client, input=told)


def test_an_openai_name_that_a_model_has_is_its_name(client: httpx.Client) -> None:
    for name, model in (("omni-moderation-latest", "one"), ("omni-moderation-2024", "several")):
        assert client.post(PATH, json={"model": name, "input": TEXTS[0]}).json()["model"] == model


def test_a_text_that_is_too_long_is_told_no_cure_that_there_is_not(client: httpx.Client) -> None:
    answer = client.post(PATH, json={"input": "word " * 100})
    assert "truncate" not in answer.json()["error"]["message"]


def test_markers_in_a_text_are_text(client: httpx.Client, file: Path) -> None:
    (result,) = results(client, input="Bread [SEP] [MASK] flour.")
    expected = 1 / (1 + np.exp(-logits(file, "Bread [SEP] [MASK] flour.")))
    assert list(result["label_scores"].values()) == pytest.approx(expected.tolist(), abs=1e-4)


def test_the_tokens_are_counted(client: httpx.Client) -> None:
    answer = client.post(PATH, json={"input": TEXTS}).json()
    assert answer["usage"]["prompt_tokens"] > 4 * 2
    assert answer["usage"]["total_tokens"] == answer["usage"]["prompt_tokens"]


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"input": TEXTS[0], "strict": True}, "strict"),
        ({"input": "word " * 100}, "input"),
        ({"input": ["good", "word " * 100]}, "input.1"),
        ({"messages": [{"role": "user", "content": "word " * 100}]}, "messages"),
        ({"input": [TEXTS[0], ""]}, "input.1"),
        ({"input": ["a"] * 65}, "input"),
        (
            {
                "messages": [
                    {
                        "role": "user",
                        "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}],
                    }
                ]
            },
            "messages.0.content.0.image_url.url",
        ),
    ],
)
def test_what_cannot_be_judged_is_refused_by_name(client: httpx.Client, body: Body, param: str) -> None:
    answer = client.post(PATH, json=body)
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == param


def test_health_tells_what_a_classifier_cannot_do(client: httpx.Client) -> None:
    table = client.get("/health").json()["contract"][f"POST {PATH}"]
    assert set(table) == {"several", "one"}
    assert "strict" in table["several"]["guarded"]
    assert "input" in table["several"]["honoured"]


def test_it_is_listed_and_answers_no_chat(client: httpx.Client) -> None:
    assert client.get("/v1/models/several").json()["kind"] == "moderation"
    answer = client.post(
        "/v1/chat/completions", json={"model": "several", "messages": [{"role": "user", "content": "a"}]}
    )
    assert answer.status_code in (400, 501)
    assert client.get("/health").status_code == 200
