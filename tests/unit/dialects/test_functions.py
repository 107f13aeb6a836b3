"""Tools, forms and reasoning, read from the words of OpenAI's chat."""

from __future__ import annotations

import json
from typing import Any

import pytest

from troth._generated.models import ChatCompletionRequest
from troth.dialects.chat_request import read
from troth.domain import Ask, Form, Talk, Thinking, Tool, ToolCall, ToolRules
from troth.errors import BadRequest

QUESTION = {"role": "user", "content": "hello"}
ADD = {"name": "add", "description": "Adds.", "parameters": {"type": "object"}, "strict": True}
TOOL = {"type": "function", "function": ADD}
READ_TOOL = Tool(name="add", description="Adds.", parameters={"type": "object"}, strict=True, path="tools.0.function")


def ask(**fields: Any) -> Ask:
    body = ChatCompletionRequest.model_validate_json(json.dumps({"messages": [QUESTION], **fields}))
    return read(body, frozenset())


def talk(**fields: Any) -> Talk:
    source = ask(**fields).source
    assert isinstance(source, Talk)
    return source


@pytest.mark.parametrize(
    ("fields", "rules"),
    [
        ({}, ToolRules()),
        ({"tools": []}, ToolRules()),
        ({"tools": [TOOL]}, ToolRules(tools=(READ_TOOL,))),
        ({"tools": [TOOL], "tool_choice": "none"}, ToolRules(tools=(READ_TOOL,), mode="none")),
        ({"tools": [TOOL], "tool_choice": "required"}, ToolRules(tools=(READ_TOOL,), mode="required")),
        (
            {"tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "add"}}},
            ToolRules(tools=(READ_TOOL,), mode="required", only="add", parallel=False),
        ),
        ({"tools": [TOOL], "parallel_tool_calls": False}, ToolRules(tools=(READ_TOOL,), parallel=False)),
        ({"tools": [TOOL], "parse_tool_calls": False}, ToolRules(tools=(READ_TOOL,), reads_calls=False)),
    ],
)
def test_tools_are_rules(fields: dict[str, Any], rules: ToolRules) -> None:
    assert talk(**fields).tools == rules


@pytest.mark.parametrize(
    ("choice", "mode", "only"), [(None, "auto", None), ("none", "none", None), ({"name": "add"}, "required", "add")]
)
def test_functions_are_tools_with_one_call(choice: Any, mode: str, only: str | None) -> None:
    rules = talk(functions=[ADD], function_call=choice).tools
    assert [tool.name for tool in rules.tools] == ["add"]
    assert (rules.mode, rules.only, rules.parallel) == (mode, only, False)


def test_calls_and_results_are_turns() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
    messages = [
        QUESTION,
        {"role": "assistant", "content": None, "tool_calls": [call], "reasoning_content": "hm"},
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "4"}]},
    ]
    _, assistant, tool = talk(messages=messages).turns
    assert assistant.calls == (ToolCall("c1", "add", '{"a": 1}'),)
    assert (assistant.text, assistant.reasoning) == ("", "hm")
    assert (tool.role, tool.text, tool.call_id) == ("tool", "4", "c1")


def test_the_older_form_of_a_result_answers_the_call_before_it() -> None:
    messages = [
        QUESTION,
        {"role": "assistant", "content": None, "function_call": {"name": "add", "arguments": {"a": 1}}},
        {"role": "function", "name": "add", "content": "4"},
    ]
    _, assistant, result = talk(messages=messages).turns
    assert assistant.calls == (ToolCall("call_1", "add", '{"a": 1}'),)
    assert result.call_id == "call_1"


@pytest.mark.parametrize(
    ("fields", "form"),
    [
        ({}, None),
        ({"response_format": {"type": "text"}}, None),
        ({"response_format": {"type": "json_object"}}, Form(kind="json_object")),
        (
            {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {"a": 1}}}},
            Form(kind="json_schema", body={"a": 1}, path="response_format.json_schema.schema"),
        ),
        (
            {"response_format": {"type": "json_object", "schema": {"a": 1}}},
            Form(kind="json_schema", body={"a": 1}, path="response_format.schema"),
        ),
        ({"json_schema": False}, Form(kind="json_schema", body=False, path="json_schema")),
        ({"grammar": ""}, None),
        ({"grammar": "root ::= x"}, Form(kind="grammar", body="root ::= x", path="grammar")),
        ({"guided_json": '{"a": 1}'}, Form(kind="json_schema", body={"a": 1}, path="guided_json")),
        ({"guided_choice": ["a", "b"]}, Form(kind="choice", body=("a", "b"), path="guided_choice")),
        ({"structured_outputs": {}}, None),
        (
            {"structured_outputs": {"regex": "a+"}},
            Form(kind="regex", body="a+", path="structured_outputs.regex"),
        ),
    ],
)
def test_one_form_is_read_in_every_spelling(fields: dict[str, Any], form: Form | None) -> None:
    assert ask(**fields).form == form


KWARG = "chat_template_kwargs.enable_thinking"


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"grammar": "root ::= x", "json_schema": {}}, "grammar"),
        ({"response_format": {"type": "json_object"}, "grammar": "root ::= x"}, "grammar"),
        ({"structured_outputs": {"regex": "a", "choice": ["a"]}}, "structured_outputs.choice"),
        ({"response_format": {"type": "json_schema"}}, "response_format.json_schema"),
        ({"structured_outputs": {"choice": []}}, "structured_outputs.choice"),
        ({"guided_json": "{"}, "guided_json"),
        ({"guided_json": "5"}, "guided_json"),
        ({"functions": [ADD], "tools": [TOOL]}, "functions"),
        ({"function_call": {"name": "add"}}, "function_call"),
        ({"tools": [TOOL], "function_call": "none"}, "function_call"),
        ({"tools": [TOOL], "tool_choice": "auto", "function_call": {"name": "add"}}, "function_call"),
        ({"functions": [ADD], "tool_choice": "required"}, "tool_choice"),
        ({"functions": [ADD], "function_call": "none", "tool_choice": "none"}, "tool_choice"),
        ({"response_format": {"type": "text", "schema": {"type": "object"}}}, "response_format.type"),
        ({"response_format": {"type": "text", "json_schema": {"schema": {"const": 1}}}}, "response_format.type"),
        ({"continue_final_message": True}, "continue_final_message"),
        ({"enable_thinking": True, "reasoning_effort": "none"}, "reasoning_effort"),
        ({"enable_thinking": True, "thinking": False}, "thinking"),
        ({"enable_thinking": False, "reasoning": {"effort": "high"}}, "reasoning.effort"),
        ({"thinking_token_budget": 5, "reasoning": {"max_tokens": 6}}, "reasoning.max_tokens"),
        ({"enable_thinking": False, "chat_template_kwargs": {"enable_thinking": True}}, KWARG),
    ],
)  # fmt: skip
def test_what_contradicts_itself_or_lacks_something_is_refused(fields: dict[str, Any], param: str) -> None:
    with pytest.raises(BadRequest) as refused:
        ask(**fields)
    assert refused.value.param == param


@pytest.mark.parametrize(
    ("fields", "thinking"),
    [
        ({}, Thinking()),
        ({"enable_thinking": False}, Thinking(enabled=False)),
        ({"reasoning_effort": "none"}, Thinking(enabled=False, field="reasoning_effort")),
        ({"reasoning_effort": "high"}, Thinking(effort="high", field="reasoning_effort")),
        ({"thinking_token_budget": -1}, Thinking()),
        ({"thinking": {"type": "enabled", "budget_tokens": 9}}, Thinking(
            enabled=True, budget_tokens=9, field="thinking.type", budget_field="thinking.budget_tokens")),
        ({"thinking": {"type": "adaptive"}}, Thinking()),
        ({"reasoning_format": "none"}, Thinking(separate=False)),
        ({"preserve_thinking": True}, Thinking(keeps=True)),
        ({"enable_thinking": True, "reasoning": {"enabled": True}}, Thinking(enabled=True)),
    ],
)  # fmt: skip
def test_many_spellings_are_one_decision_about_reasoning(fields: dict[str, Any], thinking: Thinking) -> None:
    told = talk(**fields).thinking
    budget = told.budget_field if told.budget_tokens is not None else "thinking_token_budget"
    assert (told.enabled, told.effort, told.budget_tokens, told.keeps, told.separate, told.field, budget) == (
        thinking.enabled, thinking.effort, thinking.budget_tokens, thinking.keeps, thinking.separate, thinking.field,
        thinking.budget_field,
    )  # fmt: skip
