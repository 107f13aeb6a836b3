"""Raw texts, continued: prompts of every form, in batches, echoed, streamed; and what tokens they are."""

from __future__ import annotations

import math
from typing import Any

import httpx
import pytest
from openai import OpenAI

from tests.contract import servers
from tests.contract.conftest import Connect, ServeWith
from tests.support.judge import chunks_of
from tests.support.live import LiveServer
from tests.support.sdk import MODEL, sdk
from tests.support.wire import Gauges

PATH = "/v1/completions"
GREEDY: dict[str, Any] = {"temperature": 0, "max_tokens": 6}


def ask(client: httpx.Client, prompt: Any, **fields: Any) -> dict[str, Any]:
    response = client.post(PATH, json={"prompt": prompt, **GREEDY, **fields})
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


def texts(answer: dict[str, Any]) -> list[str]:
    return [choice["text"] for choice in answer["choices"]]


def ids(client: httpx.Client, text: str) -> list[int]:
    tokens: list[int] = client.post("/tokenize", json={"content": text}).json()["tokens"]
    return tokens


def refused(client: httpx.Client, **fields: Any) -> str:
    response = client.post(PATH, json={"prompt": "x", **fields})
    assert response.status_code == 400, response.text
    message: str = response.json()["error"]["message"]
    return message


def test_a_text_its_ids_a_mixture_and_an_object_are_one_prompt(client: httpx.Client) -> None:
    text = "The capital of France is"
    half = ids(client, "The capital")
    forms = [text, ids(client, text), [*half, " of France is"], {"prompt_string": text}, [{"prompt_string": text}]]

    answers = [ask(client, form) for form in forms]

    assert len({tuple(texts(answer)) for answer in answers}) == 1
    assert "Paris" in texts(answers[0])[0]


def test_a_batch_answers_each_prompt_in_order_as_it_is_answered_alone(client: httpx.Client) -> None:
    prompts = ["One, two,", "The sky is", ids(client, "Once upon a"), "A B C"]

    batch = ask(client, prompts)

    assert texts(batch) == [texts(ask(client, prompt))[0] for prompt in prompts]
    assert [choice["index"] for choice in batch["choices"]] == [0, 1, 2, 3]
    assert batch["usage"]["completion_tokens"] == 24


def test_choices_are_counted_prompt_by_prompt(client: httpx.Client) -> None:
    answer = ask(client, ["One", "Two"], n=2, temperature=1, seed=4, echo=True)

    assert [text[:3] for text in texts(answer)] == ["One", "One", "Two", "Two"]


def test_a_streamed_batch_adds_up_to_the_whole_one(client: httpx.Client) -> None:
    body = {"prompt": ["One, two,", "The sky is"], **GREEDY, "echo": True}
    whole = texts(ask(client, body["prompt"], echo=True))

    chunks = chunks_of(client.post(PATH, json={**body, "stream": True, "stream_options": {"include_usage": True}}).text)

    said = ["", ""]
    for chunk in chunks:
        for choice in chunk["choices"]:
            said[choice["index"]] += choice["text"]
    assert said == whole
    assert chunks[-1]["choices"] == []
    assert chunks[-1]["usage"]["completion_tokens"] == 12


def test_more_prompts_than_slots_are_all_answered(client: httpx.Client) -> None:
    answer = ask(client, [f"Number {number}:" for number in range(20)], max_tokens=2)

    assert len(answer["choices"]) == 20
    assert all(texts(answer))


def test_a_batch_larger_than_the_queue_is_answered(serve_with: ServeWith, connect: Connect) -> None:
    client = connect(serve_with(servers.narrow()))

    assert len(ask(client, [f"Number {number}:" for number in range(6)], max_tokens=1)["choices"]) == 6


def test_the_prompt_at_fault_is_named_and_nothing_is_worked_on(server: LiveServer, client: httpx.Client) -> None:
    response = client.post(PATH, json={"prompt": ["fine", "word " * 3000], **GREEDY})

    error = response.json()["error"]
    assert response.status_code == 400
    assert error["code"] == "context_length_exceeded"
    assert error["message"].startswith("Prompt 1: ")
    assert Gauges(client).running == 0


def test_log_probabilities_come_in_both_forms(client: httpx.Client) -> None:
    logprobs = ask(client, "The capital of France is", logprobs=2)["choices"][0]["logprobs"]

    assert "".join(logprobs["tokens"]) == texts(ask(client, "The capital of France is"))[0]
    assert [entry["logprob"] for entry in logprobs["content"]] == logprobs["token_logprobs"]
    assert all(len(entry["top_logprobs"]) == 2 for entry in logprobs["content"])
    assert logprobs["text_offset"][:2] == [0, len(logprobs["tokens"][0])]


def test_offsets_in_a_stream_are_those_of_the_whole_answer(client: httpx.Client) -> None:
    fields = {"logprobs": 0, "max_tokens": 8, "stop": ["zebra", "the zoo"]}
    whole = ask(client, "Once upon a", **fields)["choices"][0]["logprobs"]
    body = {"prompt": "Once upon a", "stream": True, **GREEDY, **fields}
    with client.stream("POST", PATH, json=body) as answer:
        answer.read()
        told = [choice.get("logprobs") for chunk in chunks_of(answer.text) for choice in chunk["choices"]]

    assert [offset for each in told if each for offset in each["text_offset"]] == whole["text_offset"]


def test_probabilities_of_the_draw_come_in_both_forms(client: httpx.Client) -> None:
    fields = {"logprobs": 3, "post_sampling_probs": True, "temperature": 1.5, "seed": 3, "max_tokens": 3}
    logprobs = ask(client, "The capital of France is", **fields)["choices"][0]["logprobs"]
    assert all("logprob" not in entry and 0 < entry["prob"] <= 1 for entry in logprobs["content"])
    assert [math.log(entry["prob"]) for entry in logprobs["content"]] == pytest.approx(logprobs["token_logprobs"])
    greedy = ask(client, "The capital of France is", **fields | {"temperature": 0})["choices"][0]["logprobs"]
    assert greedy["token_logprobs"] == [0, 0, 0]


def test_a_control_token_is_written_out_where_it_is_preserved(client: httpx.Client) -> None:
    prompt = "<|im_start|>user\nSay yes.<|im_end|>\n"
    biased = {"logit_bias": {"1": 100}, "max_tokens": 2}

    assert texts(ask(client, prompt, **biased)) == [""]
    assert texts(ask(client, prompt, **biased, preserved_tokens=["<|im_start|>"])) == ["<|im_start|>" * 2]
    assert "not one token" in refused(client, preserved_tokens=["two words"])


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"prompt": ""}, "at least 1 character"),
        ({"prompt": []}, "prompt"),
        ({"prompt": ["a", ""]}, "prompt.1"),
        ({"prompt": [[]]}, "prompt.0"),
        ({"prompt": [1, ["a"]]}, "mixes"),
        ({"prompt": [49152]}, "49151"),
        ({"prompt": [-1]}, "prompt"),
        ({"prompt": [1.5]}, "prompt"),
        ({"prompt": None}, "prompt"),
        ({"prompt": ["x"] * 129}, "at most 128"),
        ({"suffix": "x"}, "/infill"),
        ({"echo": True, "logprobs": 0}, "echo"),
        ({"logprobs": 21}, "logprobs"),
    ],
    ids=str,
)
def test_what_is_no_prompt_is_refused_in_words(client: httpx.Client, fields: dict[str, Any], word: str) -> None:
    assert word in refused(client, **fields)


def test_the_sdk_completes(server: LiveServer) -> None:
    asked: dict[str, Any] = {"model": MODEL, "prompt": "The capital of France is", "temperature": 0, "max_tokens": 4}
    with sdk(server.url) as api:
        whole = api.completions.create(**asked)
    # The SDK has one type for answers and chunks, in which the reason of the end is never absent: not checked here.
    with (
        OpenAI(base_url=f"{server.url}/v1", api_key="unused", max_retries=0) as api,
        api.completions.create(**asked, stream=True) as stream,
    ):
        pieces = [choice.text for chunk in stream for choice in chunk.choices]
    assert "".join(pieces) == whole.choices[0].text
    assert whole.usage is not None
    assert whole.usage.completion_tokens == 4


# ---- tokens ---------------------------------------------------------------------------------------


def test_tokens_are_written_out_as_they_were_read(client: httpx.Client) -> None:
    text = "Ünïcödé 👍 <|im_start|> and\nlines"
    tokens = client.post("/tokenize", json={"content": text}).json()["tokens"]

    assert client.post("/detokenize", json={"tokens": tokens}).json() == {"content": text, "prompt": text}


def test_a_token_that_is_no_text_alone_is_given_as_bytes(client: httpx.Client) -> None:
    pieces = client.post("/tokenize", json={"content": "👍🏽", "with_pieces": True}).json()["tokens"]

    assert any(isinstance(each["piece"], list) for each in pieces)


def test_control_texts_are_text_when_asked(client: httpx.Client) -> None:
    one, several = (
        client.post("/tokenize", json={"content": "<|im_end|>", "parse_special": on}).json()["count"]
        for on in (True, False)
    )
    assert one == 1 < several


def test_the_counts_are_those_of_the_real_call(client: httpx.Client) -> None:
    body = {"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi there"}]}
    counted = client.post("/v1/chat/completions/input_tokens", json=body).json()["input_tokens"]
    rendered = client.post("/apply-template", json=body).json()["prompt"]

    real = client.post("/v1/chat/completions", json={**body, "max_tokens": 1}).json()["usage"]["prompt_tokens"]

    assert counted == real
    assert client.post("/tokenize", json={"content": rendered}).json()["count"] == real
    assert client.post("/tokenize", json=body).json()["count"] == real


def test_a_count_may_be_longer_than_the_context(client: httpx.Client) -> None:
    body = {"messages": [{"role": "user", "content": "word " * 3000}]}

    assert client.post("/v1/chat/completions/input_tokens", json=body).json()["input_tokens"] > 3000


@pytest.mark.parametrize(
    "body", [{"content": "a", "prompt": "b"}, {"prompt": "a", "messages": [{"role": "user", "content": "b"}]}]
)
def test_two_forms_of_a_text_are_refused(client: httpx.Client, body: dict[str, Any]) -> None:
    response = client.post("/tokenize", json=body)

    assert response.status_code == 400
    assert "send one of them" in response.json()["error"]["message"]


@pytest.mark.parametrize(
    ("form", "fields"),
    [
        ({"prompt": "a"}, {"add_special": True}),
        ({"content": "a"}, {"add_special_tokens": False}),
        ({"messages": [{"role": "user", "content": "a"}]}, {"parse_special": False}),
        ({"content": "a"}, {"add_generation_prompt": False}),
        ({"prompt": "a"}, {"chat_template_kwargs": {"a": 1}}),
    ],
    ids=str,
)
def test_a_field_that_means_nothing_beside_this_form_is_refused(
    client: httpx.Client, form: dict[str, Any], fields: dict[str, Any]
) -> None:
    response = client.post("/tokenize", json=form | fields)

    assert response.status_code == 400
    assert "goes with" in response.json()["error"]["message"]
    assert client.post("/tokenize", json=form | dict.fromkeys(fields)).status_code == 200


def test_an_id_that_is_no_token_is_named(client: httpx.Client) -> None:
    response = client.post("/detokenize", json={"tokens": [1, 99999]})

    assert response.status_code == 400
    assert "99999" in response.json()["error"]["message"]
