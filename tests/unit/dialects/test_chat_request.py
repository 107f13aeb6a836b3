"""What a chat completion request asks for, field by field."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from pydantic import ValidationError

from troth._generated.models import ChatCompletionRequest, CreateChatCompletionParameters
from troth.dialects.chat_request import read
from troth.dialects.fields import include_usage
from troth.domain import SAMPLER_NAMES, Ask, Tag, Talk, Turn
from troth.errors import BadRequest

HELLO = [{"role": "user", "content": "hello"}]


def body(**fields: Any) -> ChatCompletionRequest:
    return ChatCompletionRequest.model_validate_json(json.dumps({"messages": HELLO, **fields}))


def ask(**fields: Any) -> Ask:
    return read(body(**fields), frozenset(fields))


def talk(**fields: Any) -> Talk:
    source = ask(**fields).source
    assert isinstance(source, Talk)
    return source


def test_a_bare_request_asks_for_nothing_but_an_answer() -> None:
    assert read(body(), frozenset()) == Ask(source=Talk((Turn(role="user", text="hello"),)))


def test_developers_are_system_and_parts_are_lines() -> None:
    parts = [{"type": "text", "text": "be"}, {"type": "text", "text": "brief"}]
    messages = [
        {"role": "developer", "content": parts},
        {"role": "user", "content": "hi", "name": "ann"},
        {"role": "assistant", "content": None},
        {"role": "user", "content": []},
    ]

    assert talk(messages=messages).turns == (
        Turn(role="system", text="be\nbrief"),
        Turn(role="user", text="hi", name="ann"),
        Turn(role="assistant", text=""),
        Turn(role="user", text=""),
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("temperature", 0.0),
        ("dynatemp_range", 0.5),
        ("dynatemp_exponent", 2.0),
        ("top_k", 0),
        ("top_p", 0.5),
        ("min_p", 0.0),
        ("top_n_sigma", 1.5),
        ("typical_p", 0.9),
        ("xtc_probability", 0.5),
        ("xtc_threshold", 0.2),
        ("repeat_last_n", -1),
        ("repeat_penalty", 1.3),
        ("presence_penalty", -0.5),
        ("frequency_penalty", 0.5),
        ("dry_multiplier", 0.8),
        ("dry_base", 2.0),
        ("dry_allowed_length", 3),
        ("dry_penalty_last_n", -1),
        ("mirostat", 2),
        ("mirostat_tau", 4.0),
        ("mirostat_eta", 0.2),
        ("min_keep", 1),
    ],
)
def test_every_sampling_field_keeps_its_name(name: str, value: float) -> None:
    assert ask(**{name: value}).sampling == {name: value}


def test_sequence_breakers_are_kept_in_order() -> None:
    assert ask(dry_sequence_breakers=["\n", "."]).sampling == {"dry_sequence_breakers": ("\n", ".")}


def test_samplers_are_names_or_letters() -> None:
    assert ask(samplers=["top_k", "temperature"]).sampling == {"samplers": ("top_k", "temperature")}
    assert ask(samplers="edskypmxt").sampling == {"samplers": SAMPLER_NAMES}
    assert ask(samplers="ki").sampling == {"samplers": ("top_k", "infill")}
    assert ask(samplers=[]).sampling == {"samplers": ()}


@pytest.mark.parametrize(
    ("bias", "read_as"),
    [
        ({"15": -100, " the": 2.5, "16": False}, ((15, -100.0), (" the", 2.5), (16, -math.inf))),
        ([[15, 1], ["15", 2], [7, False]], ((15, 1.0), ("15", 2.0), (7, -math.inf))),
        ({}, ()),
        ([], ()),
    ],
)
def test_logit_bias_has_two_forms(bias: Any, read_as: tuple[Any, ...]) -> None:
    assert ask(logit_bias=bias).logit_bias == read_as


@pytest.mark.parametrize("bias", [[[False, 1]], [[1.5, 1]], [["a", "b"]]])
def test_a_pair_that_is_no_bias_is_refused(bias: Any) -> None:
    with pytest.raises(BadRequest) as refused:
        ask(logit_bias=bias)

    assert refused.value.param == "logit_bias"


@pytest.mark.parametrize(("sent", "tokens"), [(-1, None), (0, 0), (7, 7), (None, None)])
def test_minus_one_is_no_limit_and_zero_is_zero(sent: int | None, tokens: int | None) -> None:
    assert ask(max_tokens=sent).budget_tokens == tokens


@pytest.mark.parametrize("sent", [-1, 0, 2**40])
def test_a_seed_is_handed_on_as_it_was_sent(sent: int) -> None:
    assert ask(seed=sent).seed == sent


@pytest.mark.parametrize(("stop", "texts"), [("a", ("a",)), (["b", "", "c"], ("b", "c")), ("", ()), ([], ())])
def test_stop_is_one_text_or_several(stop: Any, texts: tuple[str, ...]) -> None:
    assert ask(stop=stop).stop == texts


@pytest.mark.parametrize(
    ("fields", "alternatives"),
    [
        ({}, None),
        ({"logprobs": False}, None),
        ({"logprobs": True}, 0),
        ({"logprobs": True, "top_logprobs": 3}, 3),
        ({"top_logprobs": 0}, None),
        ({"n_probs": 4}, 4),
        ({"n_probs": 0, "logprobs": True}, 0),
        ({"n_probs": 4, "top_logprobs": 4}, 4),
    ],
)
def test_logprobs_have_three_names(fields: dict[str, Any], alternatives: int | None) -> None:
    assert ask(**fields).logprobs == alternatives


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"top_logprobs": 3}, "top_logprobs"),
        ({"top_logprobs": 3, "logprobs": False}, "top_logprobs"),
        ({"top_logprobs": 3, "logprobs": True, "n_probs": 4}, "n_probs"),
        ({"top_logprobs": 0, "logprobs": True, "n_probs": 4}, "n_probs"),
    ],
)
def test_contradicting_logprobs_are_refused(fields: dict[str, Any], param: str) -> None:
    with pytest.raises(BadRequest) as refused:
        ask(**fields)

    assert refused.value.param == param


def named(header: str | None, **fields: Any) -> Tag:
    parameters = CreateChatCompletionParameters.model_validate({"X-Halogen-Handle": header})
    return read(body(**fields), frozenset(fields), parameters).tag


def test_a_conversation_is_tagged_with_label_and_handle() -> None:
    assert ask(session_id="chat-7", handle="desk").tag == Tag("chat-7", "desk")
    assert ask().tag == Tag()


@pytest.mark.parametrize("session_id", ["", "x" * 257, 7, {"id": "chat-7"}, None])
def test_what_is_no_label_labels_nothing(session_id: Any) -> None:
    assert ask(session_id=session_id).tag == Tag()


def test_the_handle_may_come_as_a_header() -> None:
    assert named("desk") == named("desk", handle="desk") == named(None, handle="desk") == Tag(handle="desk")
    assert named(None) == Tag()


def test_two_different_handles_are_refused() -> None:
    with pytest.raises(BadRequest) as refused:
        named("desk", handle="stand")

    assert (refused.value.param, refused.value.code) == ("handle", "conflicting_values")


@pytest.mark.parametrize("handle", ["", "a b", "x" * 65, "dé", "a\n"])
def test_a_handle_that_could_not_stand_in_a_path_is_refused(handle: str) -> None:
    with pytest.raises(ValidationError):
        body(handle=handle)
    with pytest.raises(ValidationError):
        named(handle)


def test_progress_and_timings_are_for_streams() -> None:
    streamed, whole = (ask(stream=on, return_progress=True, timings_per_token=True) for on in (True, False))

    assert (streamed.progress, streamed.token_timings) == (True, True)
    assert (whole.progress, whole.token_timings) == (False, False)


def test_the_other_fields_are_handed_on() -> None:
    fields = {
        "model": "m",
        "n": 3,
        "ignore_eos": True,
        "priority": -2,
        "add_generation_prompt": False,
        "chat_template_kwargs": {"tone": "dry"},
    }

    heard = ask(**fields)

    assert (heard.model, heard.choices, heard.ignore_eos, heard.priority) == ("m", 3, True, -2)
    assert (talk(**fields).add_generation_prompt, talk(**fields).template_kwargs) == (False, {"tone": "dry"})
    assert heard.given == frozenset(fields)


@pytest.mark.parametrize(("options", "included"), [(None, False), ({}, False), ({"include_usage": True}, True)])
def test_usage_is_included_when_asked_for(options: Any, included: bool) -> None:
    assert include_usage(body(stream_options=options)) is included
