"""Pictures and sound on every dialect, through projectors with random weights: what is read, counted and refused."""

from __future__ import annotations

import base64
import socket
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.support.judge import chunks_of
from tests.support.live import busy
from tests.support.png import data_url, huge_png
from tests.support.projector import IMAGE_TOKENS, moving, picture, tone

CHAT, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/responses", "/v1/messages"
COUNTS = {CHAT: f"{CHAT}/input_tokens", RESPONSES: f"{RESPONSES}/input_tokens", MESSAGES: f"{MESSAGES}/count_tokens"}
RED, BLUE = picture((220, 20, 20)), picture((20, 20, 220))
TOKENS = IMAGE_TOKENS["mlp"]
EXACT = {"temperature": 0, "max_tokens": 8}


def asked(path: str, *parts: bytes | str, **fields: Any) -> dict[str, Any]:
    """A request in the words of the route: texts, and files with pictures, in order."""
    chat = [
        {"type": "text", "text": part}
        if isinstance(part, str)
        else {"type": "image_url", "image_url": {"url": data_url(part), "detail": "high"}}
        for part in parts
    ]
    responses = [
        {"type": "input_text", "text": part}
        if isinstance(part, str)
        else {"type": "input_image", "image_url": data_url(part), "detail": "auto"}
        for part in parts
    ]
    messages = [
        {"type": "text", "text": part}
        if isinstance(part, str)
        else {
            "type": "image",
            "source": {"type": "base64", "media_type": "image/png", "data": base64.b64encode(part).decode()},
        }
        for part in parts
    ]
    if path == RESPONSES:
        limit = fields.pop("max_tokens", None)
        fields |= {"max_output_tokens": limit} if limit is not None else {}
        return {"input": [{"role": "user", "content": responses}], **fields}
    return {"messages": [{"role": "user", "content": messages if path == MESSAGES else chat}], **fields}


def text_of(path: str, answer: dict[str, Any]) -> str:
    match path:
        case "/v1/chat/completions":
            return str(answer["choices"][0]["message"]["content"])
        case "/v1/responses":
            return str(answer["output"][-1]["content"][0]["text"])
        case _:
            return str(answer["content"][0]["text"])


def read_tokens(path: str, answer: dict[str, Any]) -> int:
    """The tokens of the whole prompt, cached ones included."""
    usage = answer["usage"]
    if path == CHAT:
        return int(usage["prompt_tokens"])
    if path == RESPONSES:
        return int(usage["input_tokens"])
    return int(usage["input_tokens"] + usage["cache_read_input_tokens"])


def posted(client: httpx.Client, path: str, body: dict[str, Any]) -> dict[str, Any]:
    answer = client.post(path, json=body)
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    return told


def refused(client: httpx.Client, path: str, body: dict[str, Any]) -> dict[str, Any]:
    answer = client.post(path, json=body)
    assert answer.status_code == 400, answer.text
    assert len(answer.content) < 1500
    error: dict[str, Any] = answer.json()["error"]
    return error


def seen_so_far(client: httpx.Client) -> dict[str, Any]:
    media: dict[str, Any] = client.get("/health").json()["models"][0]["media"]
    return media


# ---- what is read -------------------------------------------------------------------------------


@pytest.mark.parametrize("path", COUNTS)
def test_a_picture_changes_the_answer_and_the_same_one_does_not(sighted: httpx.Client, path: str) -> None:
    first, again, other = (
        text_of(path, posted(sighted, path, asked(path, "What is it?", data, **EXACT))) for data in (RED, RED, BLUE)
    )
    assert first == again
    assert first != other


@pytest.mark.parametrize("path", COUNTS)
def test_what_is_counted_is_what_is_used(sighted: httpx.Client, path: str) -> None:
    question = asked(path, "First ", RED, " then ", BLUE, ".", max_tokens=1)
    bare = asked(path, "First ", " then ", ".", max_tokens=1)
    used = read_tokens(path, posted(sighted, path, question))

    question.pop("max_tokens", None)
    question.pop("max_output_tokens", None)
    assert posted(sighted, COUNTS[path], question)["input_tokens"] == used
    assert used > 2 * TOKENS + 10
    assert abs(used - 2 * TOKENS - read_tokens(path, posted(sighted, path, bare))) <= 4  # joints of the texts


def test_counting_waits_for_no_answer(sighted: httpx.Client) -> None:
    with busy(sighted), busy(sighted):
        assert posted(sighted, COUNTS[CHAT], asked(CHAT, picture((3, 2, 1))))["input_tokens"] > TOKENS


def test_counting_encodes_nothing(sighted: httpx.Client) -> None:
    before = seen_so_far(sighted)
    posted(sighted, COUNTS[CHAT], asked(CHAT, picture((1, 2, 3))))
    assert seen_so_far(sighted)["misses"] == before["misses"]


def test_a_streamed_answer_is_the_whole_one(sighted: httpx.Client) -> None:
    body = asked(CHAT, "Look: ", RED, **EXACT)
    whole = posted(sighted, CHAT, body)
    streamed = chunks_of(sighted.post(CHAT, json={**body, "stream": True}).text)
    said = "".join(chunk["choices"][0]["delta"].get("content") or "" for chunk in streamed if chunk.get("choices"))
    assert said == text_of(CHAT, whole)


def test_the_same_picture_is_encoded_once_and_its_prompt_read_once(sighted: httpx.Client) -> None:
    before = seen_so_far(sighted)
    body = asked(CHAT, "A question that nobody asked before: ", picture((9, 99, 9)), **EXACT)
    first, second = posted(sighted, CHAT, body), posted(sighted, CHAT, body)
    after = seen_so_far(sighted)

    assert (after["misses"] - before["misses"], after["hits"] - before["hits"]) == (1, 1)
    assert first["timings"]["cache_n"] < second["timings"]["cache_n"] == second["usage"]["prompt_tokens"] - 1
    assert text_of(CHAT, first) == text_of(CHAT, second)
    exposed = sighted.get("/metrics").text
    assert f'troth:media_cache_hits_total{{model="smollm2-135m"}} {float(after["hits"])}' in exposed
    assert f'troth:media_cache_misses_total{{model="smollm2-135m"}} {float(after["misses"])}' in exposed


def test_a_kept_beginning_is_that_of_this_picture_alone(sighted: httpx.Client) -> None:
    cold = {}
    for data in (RED, BLUE):
        posted(sighted, "/reset_prefix_cache", {})
        cold[data] = text_of(CHAT, posted(sighted, CHAT, asked(CHAT, data, "What is in it?", **EXACT)))
    for data in (RED, BLUE, RED):
        assert text_of(CHAT, posted(sighted, CHAT, asked(CHAT, data, "What is in it?", **EXACT))) == cold[data]


def test_a_conversation_goes_on_behind_a_picture(sighted: httpx.Client) -> None:
    turns = asked(CHAT, RED, "What is it?")["messages"]
    first = posted(sighted, CHAT, {"messages": turns, **EXACT})
    turns += [{"role": "assistant", "content": text_of(CHAT, first)}, {"role": "user", "content": "And what else?"}]
    second = posted(sighted, CHAT, {"messages": turns, **EXACT})
    assert second["timings"]["cache_n"] > TOKENS


def test_the_place_of_a_picture_matters(sighted: httpx.Client) -> None:
    first, second = (
        posted(sighted, CHAT, asked(CHAT, *parts, logprobs=True, temperature=0, max_tokens=1))["choices"][0]["logprobs"]
        for parts in ((RED, "one", BLUE, "two"), (BLUE, "one", RED, "two"))
    )
    assert first != second


def test_the_result_of_a_call_may_be_a_picture(sighted: httpx.Client) -> None:
    source = {"type": "base64", "media_type": "image/png", "data": base64.b64encode(RED).decode()}
    call = {"type": "tool_use", "id": "call_1", "name": "Read", "input": {"file": "a.png"}}
    result = {"type": "tool_result", "tool_use_id": "call_1", "content": [{"type": "image", "source": source}]}
    turns = [
        {"role": "user", "content": "Read it."},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
    ]
    assert posted(sighted, COUNTS[MESSAGES], {"messages": turns})["input_tokens"] > TOKENS
    assert posted(sighted, MESSAGES, {"messages": turns, **EXACT})["content"]

    items = [
        {"type": "function_call", "call_id": "c", "name": "view_image", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": asked(RESPONSES, RED)["input"][0]["content"]},
    ]
    assert posted(sighted, RESPONSES, {"input": items, "max_output_tokens": 4})["output"]

    chat = [
        {"role": "user", "content": "Look at it."},
        {
            "role": "assistant",
            "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "c", "content": asked(CHAT, "Here: ", RED)["messages"][0]["content"]},
    ]
    assert posted(sighted, CHAT, {"messages": chat, **EXACT})["usage"]["prompt_tokens"] > TOKENS


def test_several_answers_see_the_same_picture(sighted: httpx.Client) -> None:
    answer = posted(sighted, CHAT, asked(CHAT, RED, "Say something.", n=3, max_tokens=4, temperature=0))
    assert len({choice["message"]["content"] for choice in answer["choices"]}) == 1


def test_progress_sums_up_to_the_whole_prompt(sighted: httpx.Client) -> None:
    body = asked(CHAT, picture((77, 7, 7)), "Word " * 40, stream=True, return_progress=True, max_tokens=2)
    told = [
        chunk["prompt_progress"]
        for chunk in chunks_of(sighted.post(CHAT, json=body).text)
        if "prompt_progress" in chunk
    ]
    assert told[-1]["processed"] == told[-1]["total"] > TOKENS


@pytest.mark.parametrize("fields", [
    {"repeat_penalty": 1.3, "dry_multiplier": 0.8, "seed": 1},
    {"mirostat": 2, "seed": 1},
    {"logprobs": True, "top_logprobs": 3, "temperature": 0},
    {"response_format": {"type": "json_object"}, "temperature": 0},
    {"logit_bias": {"5": -100}, "temperature": 0},
])  # fmt: skip
def test_ids_of_pictures_reach_no_sampler(sighted: httpx.Client, fields: dict[str, Any]) -> None:
    posted(sighted, CHAT, asked(CHAT, "say say say say ", RED, " say say say say", max_tokens=12, **fields))


@pytest.mark.parametrize("spelling", ["object", "text", "base64", "input_image"])
def test_every_spelling_of_a_picture_is_the_same_picture(sighted: httpx.Client, spelling: str) -> None:
    url = data_url(RED)
    parts: dict[str, dict[str, Any]] = {
        "object": {"type": "image_url", "image_url": {"url": url}},
        "text": {"type": "image_url", "image_url": url},
        "base64": {"type": "image_url", "image_url": {"url": url.partition(",")[2]}},
        "input_image": {"type": "input_image", "image_url": url},
    }
    body = {"messages": [{"role": "user", "content": [parts[spelling]]}], **EXACT}
    assert text_of(CHAT, posted(sighted, CHAT, body)) == text_of(CHAT, posted(sighted, CHAT, asked(CHAT, RED, **EXACT)))


@pytest.mark.parametrize("form", ["JPEG", "WEBP", "GIF", "BMP"])
def test_other_forms_than_png_are_read(sighted: httpx.Client, form: str) -> None:
    body = asked(CHAT, picture(form=form), max_tokens=1)
    assert posted(sighted, CHAT, body)["usage"]["prompt_tokens"] > TOKENS


def test_nobody_writes_a_place(sighted: httpx.Client) -> None:
    plain = posted(sighted, COUNTS[CHAT], {"messages": [{"role": "user", "content": "<__media__> <image>"}]})
    assert plain["input_tokens"] < 60
    shown = posted(sighted, "/apply-template", asked(CHAT, "<__media__>", RED))["prompt"]
    assert shown.count("<__media__>") == 2


@pytest.mark.parametrize("path", ["/completion", "/v1/completions"])
def test_llama_servers_own_form_is_read(sighted: httpx.Client, path: str) -> None:
    data = [base64.b64encode(RED).decode(), base64.b64encode(BLUE).decode()]
    prompt = {"prompt_string": "One <__media__> and two <__media__>.", "multimodal_data": data}
    answer = posted(sighted, path, {"prompt": prompt, "max_tokens": 4, "temperature": 0})
    told = answer["tokens_evaluated"] if path == "/completion" else answer["usage"]["prompt_tokens"]
    assert told > 2 * TOKENS

    error = refused(sighted, path, {"prompt": {**prompt, "prompt_string": "One <__media__>."}})
    assert "2 entries" in error["message"]


def test_the_capability_is_told(sighted: httpx.Client) -> None:
    props, health = sighted.get("/props").json(), sighted.get("/health").json()
    (model,) = sighted.get("/v1/models").json()["data"]

    assert props["modalities"] == {"vision": True, "audio": True, "video": False}
    assert health["vision"]["enabled"] is True
    assert health["vision"]["pixels_max"] == 1_000_000
    assert (model["capabilities"]["image"], model["capabilities"]["audio"]) == (True, True)
    assert sighted.get("/server_info").json()["capabilities"]["image"] is True


# ---- sound --------------------------------------------------------------------------------------


def said_aloud(data: str, **fields: Any) -> dict[str, Any]:
    return {
        "messages": [{"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": data, **fields}}]}]
    }


def test_sound_changes_the_answer(sighted: httpx.Client) -> None:
    low, high = (
        posted(sighted, CHAT, {**said_aloud(base64.b64encode(tone(0.5, hertz)).decode(), format="wav"), **EXACT})
        for hertz in (220.0, 2200.0)
    )
    assert low["usage"]["prompt_tokens"] == high["usage"]["prompt_tokens"] > 300
    assert text_of(CHAT, low) != text_of(CHAT, high)


def test_sound_in_another_form_is_refused(sighted: httpx.Client) -> None:
    data = base64.b64encode(tone(0.5)).decode()
    assert refused(sighted, CHAT, said_aloud(data, format="mp3"))["param"] == "messages.0.content.0.input_audio.format"
    error = refused(sighted, CHAT, said_aloud(base64.b64encode(b"ID3\4 no wav").decode()))
    assert error["param"] == "messages.0.content.0.input_audio.data"
    assert "only WAV" in error["message"]


# ---- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize("path", COUNTS)
def test_a_model_without_a_projector_refuses_and_names_the_setting(client: httpx.Client, path: str) -> None:
    for route in (path, COUNTS[path]):
        error = refused(client, route, asked(path, "What is it?", RED))
        assert "options.mmproj" in error["message"]


@pytest.fixture
def trap() -> Iterator[tuple[str, socket.socket]]:
    """An address on this machine where somebody would answer, and who that is."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.05)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/a.png", listener


def test_no_address_is_asked_that_is_not_allowed(sighted: httpx.Client, trap: tuple[str, socket.socket]) -> None:
    address, listener = trap
    body = {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": address}}]}]}
    error = refused(sighted, CHAT, body)

    assert error["param"] == "messages.0.content.0.image_url.url"
    assert "media.allowed_hosts" in error["message"]
    with pytest.raises(TimeoutError):
        listener.accept()


WRONG: dict[str, tuple[str, str]] = {
    "file": ("file:///etc/passwd", "of the form file:"),
    "metadata": ("http://169.254.169.254/latest", "media.allowed_hosts"),
    "scheme": ("gopher://example.org/x", "of the form gopher:"),
    "svg": ("data:image/svg+xml;base64,PHN2Zy8+", "none of PNG"),
    "text": ("data:text/plain;base64,aGk=", "is no image"),
    "bomb": (data_url(huge_png()), "media.pixels_max"),
    "moving": (data_url(moving(), "image/gif"), "it moves"),
    "cut": (data_url(RED[: len(RED) // 2]), "damaged or not complete"),
    "header alone": (data_url(RED[:24]), "damaged or not complete"),
    "noise": (data_url(b"\x89PNG\r\n\x1a\n" + b"\0" * 64), "damaged or not complete"),
    "base64": ("data:image/png;base64,@@@@", "no valid base64"),
    "half base64": ("data:image/png;base64,abc", "no valid base64"),
    "empty": ("data:image/png;base64,", "is empty"),
    "too large": (data_url(b"\x89PNG" + b"\0" * 200_001), "media.bytes_max"),
    "strip": (data_url(picture(size=(1, 200))), "one side is more than"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_picture_is_refused_by_path_and_reason(sighted: httpx.Client, name: str) -> None:
    source, words = WRONG[name]
    parts = [{"type": "text", "text": "Look:"}, {"type": "image_url", "image_url": {"url": source}}]
    turns = [
        {"role": "user", "content": "Hi."},
        {"role": "assistant", "content": "Hi."},
        {"role": "user", "content": parts},
    ]
    for route in (CHAT, COUNTS[CHAT]):
        error = refused(sighted, route, {"messages": turns})
        assert error["param"] == "messages.2.content.1.image_url.url"
        assert words in error["message"]


def test_one_picture_too_many_is_refused(sighted: httpx.Client) -> None:
    error = refused(sighted, CHAT, asked(CHAT, *[RED] * 5))
    assert error["param"] == "messages.0.content.4.image_url.url"
    assert "media.images_max" in error["message"]


def test_pictures_that_fill_the_context_are_counted_in_the_refusal(sighted: httpx.Client) -> None:
    error = refused(sighted, CHAT, asked(CHAT, RED, "word " * 600))
    assert error["code"] == "context_length_exceeded"
    assert error["n_prompt_tokens"] > 600 + TOKENS


@pytest.mark.parametrize("role", ["system", "assistant"])
def test_a_picture_is_the_users(sighted: httpx.Client, role: str) -> None:
    content = asked(CHAT, RED)["messages"][0]["content"]
    refused(sighted, CHAT, {"messages": [{"role": role, "content": content}, {"role": "user", "content": "Hi."}]})
    items = asked(RESPONSES, RED)["input"][0]["content"]
    body = {"input": [{"role": role, "content": items}, {"role": "user", "content": "Hi."}]}
    assert refused(sighted, RESPONSES, body)["param"] == "input.0.content.0.image_url"


def test_a_conversation_with_pictures_is_not_shown_as_tokens(sighted: httpx.Client) -> None:
    error = refused(sighted, "/tokenize", asked(CHAT, RED))
    assert "input_tokens" in error["message"]


def test_a_source_of_anthropics_lacks_nothing(sighted: httpx.Client) -> None:
    for source, param in (
        ({"type": "base64"}, "messages.0.content.0.source.data"),
        ({"type": "url"}, "messages.0.content.0.source.url"),
        ({"type": "file", "file_id": "x"}, "messages.0.content.0.source.type"),
        (None, "messages.0.content.0.source"),
    ):
        block = {"type": "image", **({"source": source} if source is not None else {})}
        answer = sighted.post(MESSAGES, json={"messages": [{"role": "user", "content": [block]}], "max_tokens": 1})
        assert answer.status_code == 400
        assert param in answer.json()["error"]["message"]


def test_the_server_is_well_after_all_of_it(sighted: httpx.Client) -> None:
    assert sighted.get("/health").json()["status"] == "ok"
