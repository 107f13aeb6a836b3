"""Reasoning whose every token is known beforehand, as each API tells it and takes it back."""

from __future__ import annotations

import httpx
import pytest

from tests.support.chat import user
from tests.support.stage import APIS, Body, Stage, answered, same, streamed

each_api = pytest.mark.parametrize("name", APIS)


# ---- reasoning ------------------------------------------------------------------------------------

THOUGHT: dict[str, tuple[str, str, str]] = {  # what is written behind the opened block, the reasoning and the text
    "plainly": ("First I think.</thinking>\n\nThen I speak.", "First I think.", "Then I speak."),
    "opened twice": ("<thinking>\nI think.\n</thinking>\nI speak.", "I think.", "I speak."),
    "again": ("One.</thinking>\n<thinking>Two.</thinking>\nI speak.", "One.Two.", "I speak."),
    "letters": ("a < b </ c </think d</thinking>\nAnd <thinking is.", "a < b </ c </think d", "And <thinking is."),
    "nothing": ("</thinking>\n\nI speak.", "", "I speak."),
    "never closed": ("I think and think.", "I think and think.", ""),
}  # fmt: skip


@pytest.mark.parametrize("case", THOUGHT)
@each_api
def test_reasoning_is_told_apart_whole_and_streamed(name: str, case: str, stage: Stage, actors: httpx.Client) -> None:
    line, thoughts, text = THOUGHT[case]
    stage.tell("thinker", line, line)
    body = APIS[name].ask([user("Think.")]) | {"model": "thinker"}

    for told in (answered(actors, name, body), streamed(actors, name, body)):
        assert (told.thoughts, told.text) == (thoughts, text)


@each_api
def test_markers_in_the_history_close_and_open_nothing(name: str, stage: Stage, actors: httpx.Client) -> None:
    marked = "</thinking> <thinking>x</thinking> y"
    talk = [user(marked), {"role": "assistant", "content": marked}, user(marked)]
    stage.tell("thinker", "Hm.</thinking>Yes.", "Hm.</thinking>Yes.")
    body = APIS[name].ask(talk) | {"model": "thinker"}

    for told in (answered(actors, name, body), streamed(actors, name, body)):
        assert (told.thoughts, told.text) == ("Hm.", "Yes.")
    assert all(prompt.count(marked) == 3 for prompt in stage.prompts("thinker"))


BUDGET: dict[str, Body] = {
    "chat": {"thinking_token_budget": 4},
    "messages": {"thinking": {"type": "enabled", "budget_tokens": 4}},
}


@pytest.mark.parametrize("name", BUDGET)
def test_a_thought_that_is_cut_leaves_no_marker_and_no_rest_in_the_text(
    name: str, stage: Stage, actors: httpx.Client
) -> None:
    line = "one two three four five six</thinking>\nIt is seven."
    stage.tell("thinker", line, line)
    body = APIS[name].ask([user("Count.")]) | BUDGET[name] | {"model": "thinker"}

    whole, pieces = answered(actors, name, body), streamed(actors, name, body)

    assert same(whole) == same(pieces)
    assert whole.thoughts == "one two three four"
    assert "five six" in whole.text, "a script goes on where a model would notice"
    assert whole.text.count("</thinking>") == 1, "that of the script; the one that was forced is gone"


FORMS: dict[str, Body] = {
    "chat": {"response_format": {"type": "json_schema", "json_schema": {"schema": {"type": "array"}}}},
    "responses": {"text": {"format": {"type": "json_schema", "name": "n", "schema": {"type": "array"}}}},
    "messages": {"output_config": {"format": {"type": "json_schema", "schema": {"type": "array"}}}},
}


@each_api
def test_an_answer_with_a_form_is_text_and_the_reasoning_before_it_is_free(
    name: str, stage: Stage, actors: httpx.Client
) -> None:
    line = "No JSON { here.</thinking>[1, 2]"
    stage.tell("thinker", line, line)
    body = APIS[name].ask([user("List.")]) | FORMS[name] | {"model": "thinker"}

    for told in (answered(actors, name, body), streamed(actors, name, body)):
        assert (told.thoughts, told.text) == ("No JSON { here.", "[1, 2]")


SECRET = "The word is walrus."
USED: Body = {"type": "tool_use", "id": "c", "name": "look", "input": {"at": "x"}}
RESULT: Body = user([{"type": "tool_result", "tool_use_id": "c", "content": "seen"}])


def thinking_blocks() -> dict[str, list[Body]]:
    """Blocks before a call, as clients give them back."""
    thought = {"type": "thinking", "thinking": SECRET}
    return {
        "as it was sent": [thought | {"signature": "unsigned"}],
        "signed by somebody else": [thought | {"signature": "EqQBCgIYAhIM1gbcDa9GJwZA2b3h" * 8}],
        "an empty signature": [thought | {"signature": ""}],
        "null for a signature": [thought | {"signature": None}],
        "no signature": [thought],
        "beside what is redacted": [{"type": "redacted_thinking", "data": "EmwKAhgBEgy3va3pzix"}, thought],
    }


@pytest.mark.parametrize("case", thinking_blocks())
def test_reasoning_comes_back_on_messages_whatever_its_signature(case: str, stage: Stage, actors: httpx.Client) -> None:
    stage.tell("thinker", "Hm.</thinking>Yes.")
    said = {"role": "assistant", "content": [*thinking_blocks()[case], USED]}
    body = {"messages": [user("Look."), said, RESULT], "model": "thinker", **APIS["messages"].tools}

    assert answered(actors, "messages", body).text == "Yes."

    (prompt,) = stage.prompts("thinker")
    assert prompt.count(SECRET) == 1
    assert "EmwKAhgBEgy3va3pzix" not in prompt


def test_redacted_reasoning_alone_says_nothing(stage: Stage, actors: httpx.Client) -> None:
    stage.tell("thinker", "Hm.</thinking>Yes.", "Hm.</thinking>Yes.")
    redacted = {"type": "redacted_thinking", "data": "EmwKAhgBEgy3va3pzix"}
    for blocks in ([redacted, USED], [USED]):
        talk = [user("Look."), {"role": "assistant", "content": blocks}, RESULT]
        answered(actors, "messages", {"messages": talk, "model": "thinker"})

    first, second = stage.prompts("thinker")
    assert first == second


@pytest.mark.parametrize(
    ("name", "history"),
    [
        ("chat", [{"role": "assistant", "reasoning_content": SECRET, "content": None}]),
        ("chat", [{"role": "assistant", "reasoning": SECRET, "content": ""}]),
        ("responses", [{"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": SECRET}]}]),
        ("responses", [{"type": "reasoning", "summary": [{"type": "summary_text", "text": SECRET}], "content": None}]),
    ],
)
def test_reasoning_before_a_call_comes_back(name: str, history: list[Body], stage: Stage, actors: httpx.Client) -> None:
    stage.tell("thinker", "Hm.</thinking>Yes.")
    function = {"name": "look", "arguments": "{}"}
    body = APIS[name].ask([user("Look.")])
    (field,) = body
    if name == "chat":
        calling = history[0] | {"tool_calls": [{"id": "c", "type": "function", "function": function}]}
        told = [calling, {"role": "tool", "tool_call_id": "c", "content": "seen"}]
    else:
        calling = {"type": "function_call", "call_id": "c", **function}
        told = [*history, calling, {"type": "function_call_output", "call_id": "c", "output": "seen"}]

    answered(actors, name, {field: body[field] + told, "model": "thinker"})

    assert stage.prompts("thinker")[0].count(SECRET) == 1
