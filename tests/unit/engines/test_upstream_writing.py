"""Plans in the words of other servers: nothing is dropped, and what would be is refused by name."""

from __future__ import annotations

import math
from typing import Any

import pytest

from troth._generated.fields import FIELDS
from troth.domain import (
    Ask,
    Budget,
    Form,
    Gap,
    Plan,
    RawText,
    Sampling,
    ServedModel,
    Tag,
    Talk,
    Thinking,
    Tool,
    ToolCall,
    ToolRules,
    Turn,
)
from troth.engines.llama_cpp import HONOURS
from troth.engines.upstream.kinds import KINDS, Kind
from troth.engines.upstream.writing import Target, body_of, check
from troth.errors import NotImplementedHere, Unsupported

HELLO = (Turn(role="user", text="Hello"),)
TOOLS = (Tool(name="add", parameters={"type": "object"}), Tool(name="sub"))
EVERY = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


def plan_of(source: Any = None, *, sampling: dict[str, Any] | None = None, **asked: Any) -> Plan:
    chosen = sampling or {}
    origins = {"seed": "default", **dict.fromkeys(chosen, "request")}
    ask = Ask(source=source or Talk(HELLO), **asked)
    model = ServedModel("near", "chat", "upstream")
    return Plan(ask, model, Sampling(**chosen), 7, Budget(None, None, None), origins)


def written(kind: str, plan: Plan, answer_tokens: int = -1, template: str | None = None) -> dict[str, Any]:
    target = Target(KINDS[kind], "far", template)  # type: ignore[index]
    check(plan, target)
    body = body_of(plan, target, choice=0, answer_tokens=answer_tokens)[1]
    for name in ("model", "stream", "stream_options"):
        del body[name]
    return body


def refusal(kind: str, plan: Plan, template: str | None = None) -> Unsupported:
    with pytest.raises(Unsupported) as caught:
        check(plan, Target(KINDS[kind], "far", template))  # type: ignore[index]
    return caught.value


@EVERY
def test_a_kind_honours_fields_of_the_document_only(kind: Kind) -> None:
    known = {path.split(".")[0].split("[")[0] for fields in FIELDS.values() for path in fields}

    assert kind.honours <= known
    assert kind.honours - {"content"} <= HONOURS


@EVERY
def test_a_kind_takes_the_sampling_that_it_honours(kind: Kind) -> None:
    assert kind.sampling == kind.honours & set(Sampling.__dataclass_fields__)


@EVERY
def test_every_sampling_value_that_is_honoured_is_written(kind: Kind) -> None:
    chosen = {name: getattr(Sampling(), name) for name in kind.sampling}

    body = written(kind.name, plan_of(sampling=chosen))

    assert {kind.renamed.get(name, name) for name in chosen} <= set(body)


def test_a_value_that_is_not_taken_is_refused_whoever_set_it() -> None:
    found = refusal("openai", plan_of(sampling={"top_k": 5}))

    assert found.param == "top_k"
    assert "openai" in found.message


def test_a_server_without_top_k_off_is_told_minus_one() -> None:
    assert written("vllm", plan_of(sampling={"top_k": 0}))["top_k"] == -1


def test_a_budget_is_written_where_there_is_one() -> None:
    assert written("openai", plan_of(), 5)["max_tokens"] == 5
    assert written("openai", plan_of(), 0)["max_tokens"] == 1
    assert "max_tokens" not in written("openai", plan_of(), -1)


# ---- conversations ----------------------------------------------------------------------------------


def test_calls_and_results_are_written_as_they_were() -> None:
    call = ToolCall("c1", "add", '{"a":1}')
    turns = (*HELLO, Turn(role="assistant", text="", calls=(call,)), Turn(role="tool", text="2", call_id="c1"))

    messages = written("openai", plan_of(Talk(turns)))["messages"]

    function = {"name": "add", "arguments": '{"a":1}'}
    assert messages[1:] == [
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function", "function": function}]},
        {"role": "tool", "content": "2", "tool_call_id": "c1"},
    ]


def test_a_function_that_is_named_is_the_only_one_where_no_name_is_read() -> None:
    rules = ToolRules(tools=TOOLS, mode="required", only="add", parallel=False)

    body = written("llama_server", plan_of(Talk(HELLO, tools=rules)))
    assert ([tool["function"]["name"] for tool in body["tools"]], body["tool_choice"]) == (["add"], "required")

    body = written("vllm", plan_of(Talk(HELLO, tools=rules)))
    assert len(body["tools"]) == 2
    assert body["tool_choice"] == {"type": "function", "function": {"name": "add"}}


def test_a_server_that_reads_no_choice_gets_no_functions_that_must_not_be_called() -> None:
    body = written("ollama", plan_of(Talk(HELLO, tools=ToolRules(tools=TOOLS, mode="none"))))

    assert "tools" not in body
    assert "tool_choice" not in body


def test_a_last_message_of_the_assistant_is_answered_or_refused() -> None:
    talk = Talk((*HELLO, Turn(role="assistant", text="So")))

    assert refusal("llama_server", plan_of(talk)).param == "messages"
    assert "continue_final_message" not in written("vllm", plan_of(talk))


def test_a_last_message_is_gone_on_with_where_that_can_be_asked_for() -> None:
    talk = Talk((*HELLO, Turn(role="assistant", text="So")), continues=True)

    body = written("llama_server", plan_of(talk))
    assert (body["continue_final_message"], body["add_generation_prompt"]) == (True, False)
    assert refusal("openai", plan_of(talk)).param == "messages"


# ---- reasoning --------------------------------------------------------------------------------------


def test_a_switch_is_a_variable_of_the_template() -> None:
    body = written("vllm", plan_of(Talk(HELLO, thinking=Thinking(enabled=False), template_kwargs={"x": 1})))

    assert body["chat_template_kwargs"] == {"x": 1, "enable_thinking": False}


def test_a_switch_that_nobody_reads_is_refused() -> None:
    talk = Talk(HELLO, thinking=Thinking(enabled=True, field="thinking.type"))

    assert refusal("openai", plan_of(talk)).param == "thinking.type"
    assert refusal("llama_server", plan_of(talk), template="{{ messages }}").param == "thinking.type"
    assert written("llama_server", plan_of(talk), template="{% if enable_thinking %}")["chat_template_kwargs"]


def test_a_variable_that_the_template_does_not_read_is_refused() -> None:
    plan = plan_of(Talk(HELLO, template_kwargs={"tone": "mild"}))

    assert refusal("llama_server", plan, template="{{ messages }}").param == "chat_template_kwargs.tone"
    assert written("llama_server", plan, template="{{ tone }}")["chat_template_kwargs"] == {"tone": "mild"}


@pytest.mark.parametrize(
    ("kind", "name"), [("llama_server", "thinking_budget_tokens"), ("vllm", "thinking_token_budget")]
)
def test_a_budget_of_reasoning_has_the_servers_name(kind: str, name: str) -> None:
    assert written(kind, plan_of(Talk(HELLO, thinking=Thinking(budget_tokens=9))))[name] == 9


def test_a_budget_of_reasoning_is_refused_where_there_is_none() -> None:
    talk = Talk(HELLO, thinking=Thinking(budget_tokens=9, budget_field="thinking.budget_tokens"))

    assert refusal("sglang", plan_of(talk)).param == "thinking.budget_tokens"


def test_a_level_that_is_only_a_wish_is_left_out_where_there_are_none() -> None:
    wish = Talk(HELLO, thinking=Thinking(effort="high", effort_is_wish=True))

    assert written("openai", plan_of(wish))["reasoning_effort"] == "high"
    assert "reasoning_effort" in written("llama_server", plan_of(wish), template="x")


# ---- forms ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "form", "expected"),
    [
        ("openai", Form(kind="json_object"), {"response_format": {"type": "json_object"}}),
        ("vllm", Form(kind="regex", body="a+"), {"structured_outputs": {"regex": "a+"}}),
        ("vllm", Form(kind="choice", body=("a", "b")), {"structured_outputs": {"choice": ["a", "b"]}}),
        ("sglang", Form(kind="regex", body="a+"), {"regex": "a+"}),
        ("llama_server", Form(kind="grammar", body='root ::= "a"'), {"grammar": 'root ::= "a"'}),
        ("llama_server", Form(kind="choice", body=('a"', "b\n")), {"grammar": 'root ::= "a\\"" | "b\\n"'}),
    ],
)
def test_a_form_is_written_in_the_servers_words(kind: str, form: Form, expected: dict[str, Any]) -> None:
    body = written(kind, plan_of(form=form))

    assert {name: body[name] for name in expected} == expected


def test_a_schema_is_written_where_the_route_reads_it() -> None:
    form = Form(kind="json_schema", body={"type": "integer"})

    held = {"name": "answer", "schema": {"type": "integer"}, "strict": True}
    assert written("llama_server", plan_of(form=form))["response_format"]["json_schema"] == held
    assert written("llama_server", plan_of(RawText(("x",)), form=form))["json_schema"] == {"type": "integer"}


@pytest.mark.parametrize(("kind", "form"), [("vllm", "grammar"), ("openai", "regex"), ("llama_server", "regex")])
def test_a_form_that_is_not_held_is_refused(kind: str, form: Any) -> None:
    assert refusal(kind, plan_of(form=Form(kind=form, body="a", path="guided_x"))).param == "guided_x"


# ---- texts, biases, log probabilities ---------------------------------------------------------------


def test_texts_and_ids_are_one_prompt_where_that_is_read() -> None:
    raw = RawText(("a", (1, 2), "b"))

    assert written("llama_server", plan_of(raw))["prompt"] == ["a", 1, 2, "b"]
    assert refusal("vllm", plan_of(raw)).param == "prompt"
    assert written("vllm", plan_of(RawText(((1, 2),))))["prompt"] == [1, 2]
    assert refusal("openai", plan_of(RawText(((1, 2),)))).param == "prompt"


def test_a_server_that_wraps_texts_continues_none() -> None:
    with pytest.raises(NotImplementedHere, match="ollama"):
        check(plan_of(RawText(("x",))), Target(KINDS["ollama"], "far"))


@EVERY
def test_gaps_are_not_filled(kind: Kind) -> None:
    with pytest.raises(NotImplementedHere):
        check(plan_of(Gap(("a",), ("b",))), Target(kind, "far"))


def test_a_bias_is_pairs_or_an_object() -> None:
    plan = plan_of(logit_bias=((5, 1.5), ("x", -math.inf)))

    assert written("llama_server", plan)["logit_bias"] == [[5, 1.5], ["x", False]]
    assert written("vllm", plan_of(logit_bias=((5, 1.5),)))["logit_bias"] == {"5": 1.5}
    assert refusal("vllm", plan).param == "logit_bias"


def test_log_probabilities_are_asked_for_as_the_route_reads_it() -> None:
    assert written("vllm", plan_of(logprobs=0))["top_logprobs"] == 0
    assert written("llama_server", plan_of(logprobs=0))["top_logprobs"] == 1
    assert written("vllm", plan_of(RawText(("x",)), logprobs=3))["logprobs"] == 3


def test_prompts_of_different_callers_stay_apart_where_they_can() -> None:
    plan = plan_of(tag=Tag(owner="a", salt="b"))

    assert written("vllm", plan)["cache_salt"] == "a-b"
    assert "cache_salt" not in written("llama_server", plan)
