"""llama-server's own routes, in its words."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from tests.support.judge import chunks_of, events_of

GREEDY: dict[str, Any] = {"temperature": 0, "n_predict": 8}


def ask(client: httpx.Client, path: str = "/completion", **fields: Any) -> Any:
    response = client.post(path, json={"prompt": "The capital of France is", **GREEDY, **fields})
    assert response.status_code == 200, response.text
    return response.json()


def test_an_answer_says_what_was_read_and_written_and_why_it_ended(client: httpx.Client) -> None:
    answer = ask(client)

    assert answer["stop"] is True
    assert answer["stop_type"] == "limit"
    assert answer["tokens_predicted"] == answer["timings"]["predicted_n"] == 8
    assert answer["tokens_evaluated"] == 5
    assert answer["tokens_cached"] == 12
    assert answer["prompt"] == "The capital of France is"
    assert answer["generation_settings"]["temperature"] == 0
    assert answer["generation_settings"]["n_predict"] == 8
    assert answer["has_new_line"] == ("\n" in answer["content"])


def test_a_word_an_end_and_a_full_context_are_told_apart(client: httpx.Client) -> None:
    word = ask(client, stop=["Paris"])
    assert (word["stop_type"], word["stopping_word"]) == ("word", "Paris")
    assert "Paris" not in word["content"]
    asked = {"messages": [{"role": "user", "content": "Hi"}]}
    turn = ask(client, prompt=client.post("/apply-template", json=asked).json()["prompt"], n_predict=-1)
    assert turn["stop_type"] == "eos"


def test_json_is_compact(client: httpx.Client) -> None:
    raw = client.post("/completion", json={"prompt": "x", **GREEDY}).text
    assert '"content":"' in raw
    frames = events_of(client.post("/completion", json={"prompt": "x", "stream": True, **GREEDY}).text)
    assert all('"content":"' in frame for frame in frames)


def test_a_stream_adds_up_and_its_last_event_is_the_whole_object(client: httpx.Client) -> None:
    whole = ask(client, return_tokens=True)
    text = client.post("/completion", json={"prompt": "The capital of France is", **GREEDY, "stream": True}).text
    *pieces, last = chunks_of(text)

    assert "[DONE]" not in text
    assert "".join(piece["content"] for piece in pieces) == whole["content"]
    assert [token for piece in pieces for token in piece["tokens"]] == whole["tokens"]
    assert [piece["tokens_predicted"] for piece in pieces] == list(range(1, 9))
    assert (last["stop"], last["content"], last["tokens_predicted"]) == (True, "", 8)
    assert last["stop_type"] == whole["stop_type"]


def test_ids_are_told_of_every_piece_and_of_a_whole_answer_when_asked_for(client: httpx.Client) -> None:
    text = client.post("/completion", json={"prompt": "The capital of France is", **GREEDY, "stream": True}).text

    assert all(piece["tokens"] for piece in chunks_of(text)[:-1])
    assert ask(client)["tokens"] == []


def test_probabilities_after_the_samplers_are_those_of_the_draw(client: httpx.Client) -> None:
    drawn: dict[str, Any] = {"n_probs": 5, "post_sampling_probs": True, "temperature": 1.5, "seed": 3}
    answer = ask(client, **drawn)

    assert answer["content"] == ask(client, **(drawn | {"post_sampling_probs": False}))["content"]
    assert answer["generation_settings"]["post_sampling_probs"] is True
    assert len(answer["completion_probabilities"]) == 8
    for entry in answer["completion_probabilities"]:
        shares = [each["prob"] for each in entry["top_probs"]]
        assert 0 < entry["prob"] <= 1
        assert shares == sorted(shares, reverse=True)
        assert sum(shares) <= 1 + 1e-6
    greedy = ask(client, n_probs=5, post_sampling_probs=True)["completion_probabilities"]
    assert [[each["prob"] for each in entry["top_probs"]] for entry in greedy] == [[1]] * 8


def test_chat_tells_the_probabilities_of_the_draw_too(client: httpx.Client) -> None:
    asked = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 3, "logprobs": True, "top_logprobs": 2}
    answer = client.post("/v1/chat/completions", json={**asked, "post_sampling_probs": True}).json()

    entries = answer["choices"][0]["logprobs"]["content"]
    assert all(0 < entry["prob"] <= 1 and len(entry["top_probs"]) <= 2 for entry in entries)


def test_the_tokens_that_ignore_eos_bans_are_told(client: httpx.Client) -> None:
    banned = ask(client, ignore_eos=True)["generation_settings"]["logit_bias"]

    assert banned
    assert all(entry["bias"] is None for entry in banned)
    assert ask(client)["generation_settings"]["logit_bias"] == []


def test_fields_are_chosen_with_slashes(client: httpx.Client) -> None:
    answer = ask(client, response_fields=["content", "timings/prompt_n", "generation_settings/n_predict", "a/b", ""])

    assert set(answer) == {"content", "timings/prompt_n", "generation_settings/n_predict"}
    assert answer["generation_settings/n_predict"] == 8


def test_several_prompts_or_choices_are_a_list(client: httpx.Client) -> None:
    assert [each["index"] for each in ask(client, prompt=["a", "b"])] == [0, 1]
    assert len(ask(client, n_cmpl=2)) == 2
    assert isinstance(ask(client, prompt=["a"]), dict)


def test_progress_comes_before_the_first_token(client: httpx.Client) -> None:
    prompt = "river stone lamp " * 100
    body = {"prompt": prompt, "n_predict": 1, "stream": True, "return_progress": True}
    chunks = chunks_of(client.post("/completion", json=body).text)

    progress = [chunk["prompt_progress"] for chunk in chunks if "prompt_progress" in chunk]
    assert progress[0]["processed"] == progress[0]["cache"]
    assert progress[-1]["processed"] == progress[-1]["total"]


def test_a_line_that_is_indented_less_ends_the_answer(client: httpx.Client) -> None:
    code = "def add(a, b):\n    total = a + b\n    return total\n\ndef sub(a, b):\n    result ="
    free = ask(client, prompt=code, n_predict=40)
    bounded = ask(client, prompt=code, n_predict=40, n_indent=4)

    assert free["content"].startswith(bounded["content"])
    assert len(bounded["content"]) < len(free["content"])
    assert bounded["stop_type"] == "limit"
    lines = [line for line in bounded["content"].split("\n")[1:] if line.strip()]
    assert all(line.startswith("    ") for line in lines)


def test_time_ends_an_answer_that_has_a_line_break(client: httpx.Client) -> None:
    answer = ask(client, prompt="List ten fruits:\n1. Apple\n2.", n_predict=200, t_max_predict_ms=1)

    assert answer["tokens_predicted"] < 200
    assert "\n" in answer["content"]
    assert answer["stop_type"] == "limit"


def test_what_an_editor_sends_to_warm_up_is_answered(client: httpx.Client) -> None:
    body = {
        "id_slot": 0, "prompt": "x", "temperature": 0.0, "samplers": [], "n_predict": 0, "t_max_prompt_ms": 1,
        "t_max_predict_ms": 1, "stream": False, "cache_prompt": True, "response_fields": [""],
    }  # fmt: skip
    response = client.post("/completion", json=body)

    assert response.status_code == 200
    assert json.loads(response.text) == {}


def test_a_model_without_tokens_for_gaps_says_so(client: httpx.Client) -> None:
    response = client.post("/infill", json={"input_prefix": "a", "input_suffix": "b", "input_extra": []})

    assert response.status_code == 501
    assert response.json()["error"]["code"] == 501
    assert "prefix token is missing. suffix token is missing. middle token is missing." in response.text


@pytest.mark.parametrize(
    ("path", "body", "word"),
    [
        ("/completion", {}, "prompt"),
        ("/completion", {"prompt": "x", "n_probs": -3}, "n_probs"),
        ("/completion", {"prompt": "x", "stop": 5}, "stop"),
        ("/completion", {"prompt": "x", "samplers": ["magic"]}, "samplers"),
        ("/completion", {"prompt": {"prompt_string": "x", "multimodal_data": ["YQ=="]}}, "multimodal_data"),
        ("/completion", {"prompt": "x", "response_fields": "content"}, "response_fields"),
        ("/infill", {"input_prefix": "a"}, "input_suffix"),
        ("/infill", {"input_prefix": "a", "input_suffix": "b", "input_extra": [{"filename": "c"}]}, "text"),
        ("/infill", {"input_prefix": "a", "input_suffix": "b", "input_extra": [{"text": 5}]}, "text"),
    ],
    ids=str,
)
def test_bad_input_is_named_in_the_native_shape(client: httpx.Client, path: str, body: Any, word: str) -> None:
    response = client.post(path, json=body)
    error = response.json()["error"]

    assert response.status_code == error["code"] == 400
    assert word in error["message"]
