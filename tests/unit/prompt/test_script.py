"""What a chat template can say, found by asking it; and what is done where it cannot."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.scripted import CHATML, ScriptedVocabulary
from troth.domain import Talk, Thinking, Tool, ToolCall, ToolRules, Turn
from troth.errors import BadRequest
from troth.prompt.script import Script, make_script
from troth.prompt.talk import rendered, write_talk
from troth.prompt.template import Template, TemplateLimits
from troth.prompt.thinking import Room, ThoughtLimits, thought_bounds

PLAIN = ("<s>", "<|im_start|>", "<|im_end|>")  # the least that the scripted vocabulary has
TOOL_TALK = (
    "{% for t in tools or [] %}<tool>{{ t | tojson }}</tool>{% endfor %}"
    "{% for m in messages %}[{{ m.role }}]{{ m.content }}"
    "{% for c in m.tool_calls or [] %}<tool_call>{{ c.function.name }}{{ ARGUMENTS }}</tool_call>{% endfor %}"
    "{% endfor %}"
)
AS_OBJECT = TOOL_TALK.replace("ARGUMENTS", "c.function.arguments.items() | list")
AS_TEXT = TOOL_TALK.replace("ARGUMENTS", "c.function.arguments + ''")
WITHOUT_RESULTS = AS_OBJECT.replace("{% for m in messages %}", "{% for m in messages if m.role != 'tool' %}")
SWITCHED = "{{ messages[0].content }}<think>\n{% if enable_thinking is false %}\n</think>\n{% endif %}"
ALWAYS = "{{ messages[0].content }}{% if add_generation_prompt %}<think>\n{# </think> #}{% endif %}"
SOMETIMES = "{{ messages[0].content }}{# <think> </think> #}"
ADD = Tool(name="add", description="Adds.", parameters={"type": "object"})
TALKED = (
    Turn(role="system", text="Rules."),
    Turn(role="user", text="2+2?"),
    Turn(role="assistant", text="I add.", calls=(ToolCall("c1", "add", '{"a": 2}'),)),
    Turn(role="tool", text="4", call_id="c1"),
    Turn(role="tool", text="5", call_id="c1"),
)


def script_of(source: str, **vocabulary: Any) -> Script:
    return make_script(Template(source, TemplateLimits()), ScriptedVocabulary(PLAIN, **vocabulary))


def text_of(talk: Talk, source: str) -> str:
    script = script_of(source)
    return script.quotation.plain(rendered(talk, script, ScriptedVocabulary(PLAIN), "hoist"))


@pytest.mark.parametrize(
    ("source", "is_native", "as_text"),
    [(AS_OBJECT, True, False), (AS_TEXT, True, True), (WITHOUT_RESULTS, False, False), (CHATML, False, False)],
)
def test_a_template_shows_tools_calls_and_results_or_all_of_them_are_text(
    source: str, is_native: bool, as_text: bool
) -> None:
    script = script_of(source)
    assert (script.is_native, script.takes_text_arguments) == (is_native, as_text)
    assert script.calls.name == ("hermes" if is_native else "generic")


def test_a_native_template_is_told_of_the_tools() -> None:
    text = text_of(Talk(TALKED, tools=ToolRules(tools=(ADD,))), AS_OBJECT)
    assert '"name": "add"' in text
    assert "[('a', 2)]" in text
    assert "[tool]4" in text


def test_other_templates_get_tools_in_the_instructions_calls_and_results_as_text() -> None:
    text = text_of(Talk(TALKED, tools=ToolRules(tools=(ADD,))), CHATML)
    system, _, rest = text.partition("<|im_end|>")
    assert "Rules.\n\n" in system
    assert json.dumps({"name": "add", "description": "Adds.", "parameters": {"type": "object"}}) in system
    assert 'I add.\n<tool_call>\n{"name": "add", "arguments": {"a": 2}}\n</tool_call>' in rest
    assert '<|im_start|>user\n<tool_response name="add">\n4\n</tool_response>\n<tool_response' in rest


@pytest.mark.parametrize("rules", [ToolRules(tools=(ADD,), mode="none"), ToolRules()])
def test_instructions_without_a_callable_tool_are_as_the_client_wrote_them(rules: ToolRules) -> None:
    assert text_of(Talk(TALKED[:2], tools=rules), CHATML).startswith("<|im_start|>system\nRules.<|im_end|>")


def test_tools_without_instructions_make_a_system_message() -> None:
    assert text_of(Talk(TALKED[1:2], tools=ToolRules(tools=(ADD,))), CHATML).startswith("<|im_start|>system\nYou have")


def written(source: str, thinking: Thinking, **talk: Any) -> tuple[str, bool]:
    turns = (Turn(role="user", text="Q "),)
    found = write_talk(
        Talk(turns, thinking=thinking, **talk),
        script_of(source),
        ScriptedVocabulary(PLAIN, chat_template=source),
        "hoist",
    )
    return found.text, found.is_thinking


@pytest.mark.parametrize(
    ("source", "enabled", "text", "is_thinking"),
    [
        (SWITCHED, None, "Q <think>\n", True),
        (SWITCHED, True, "Q <think>\n", True),
        (SWITCHED, False, "Q <think>\n</think>\n", False),
        (ALWAYS, None, "Q <think>\n", True),
        (ALWAYS, False, "Q <think>\n\n</think>\n\n", False),
        (SOMETIMES, None, "Q ", False),
        (SOMETIMES, False, "Q <think>\n\n</think>\n\n", False),
    ],
)
def test_reasoning_is_switched_by_the_template_or_closed_behind_it(
    source: str, enabled: bool | None, text: str, is_thinking: bool
) -> None:
    assert written(source, Thinking(enabled=enabled)) == (text, is_thinking)


@pytest.mark.parametrize(
    ("source", "thinking", "words"),
    [
        (CHATML, Thinking(enabled=True), "has none"),
        (CHATML, Thinking(effort="high", field="reasoning_effort"), "knows no levels"),
        (SWITCHED, Thinking(keeps=True), "decides by itself"),
    ],
)
def test_what_the_template_has_no_word_for_is_refused(source: str, thinking: Thinking, words: str) -> None:
    with pytest.raises(BadRequest, match=words):
        written(source, thinking)


def test_a_wish_for_effort_is_passed_on_only_to_templates_that_know_levels() -> None:
    wish = Thinking(effort="high", effort_is_wish=True)
    assert written(SWITCHED, wish) == written(SWITCHED, Thinking())
    assert written(SWITCHED + "{{ reasoning_effort }}", wish)[0].endswith("high")


def test_the_last_message_is_gone_on_with_from_its_last_letter() -> None:
    turns = (Turn(role="user", text="a"), Turn(role="assistant", text="so then  "))
    talk = Talk(turns, continues=True)
    found = write_talk(talk, script_of(CHATML), ScriptedVocabulary(PLAIN), "hoist")
    assert found.text == "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\nso then  "


def test_a_template_that_hides_the_last_message_cannot_go_on_with_it() -> None:
    talk = Talk((Turn(role="assistant", text="so"),), continues=True)
    with pytest.raises(BadRequest, match="cannot be continued"):
        write_talk(talk, script_of("nothing"), ScriptedVocabulary(PLAIN), "hoist")


def bounds(thinking: Thinking, limits: ThoughtLimits, markers: tuple[str, ...]) -> Any:
    script = script_of(SWITCHED)
    vocabulary = ScriptedVocabulary(markers)
    return thought_bounds(thinking, script.thoughts, vocabulary, is_open=True, room=Room(100, limits))


MARKERS = ("<s>", "<|im_end|>", "<think>", "</think>")


@pytest.mark.parametrize(
    ("asked", "limits", "budget", "by"),
    [
        (None, ThoughtLimits(), None, "max_thinking_tokens"),
        (8, ThoughtLimits(), 8, "max_thinking_tokens"),
        (None, ThoughtLimits(budget_tokens=5), 5, "max_thinking_tokens"),
        (8, ThoughtLimits(budget_tokens=5), 8, "max_thinking_tokens"),
        (None, ThoughtLimits(room_tokens=30), 70, "answer_room"),
        (None, ThoughtLimits(room_tokens=30, room_share=0.5), 50, "answer_room"),
        (8, ThoughtLimits(room_tokens=30), 8, "max_thinking_tokens"),
        (90, ThoughtLimits(room_tokens=30), 70, "answer_room"),
    ],
)
def test_the_smaller_of_budget_and_room_holds(
    asked: int | None, limits: ThoughtLimits, budget: int | None, by: str
) -> None:
    found = bounds(Thinking(budget_tokens=asked), limits, MARKERS)
    assert (found.budget_tokens, found.closed_by) == (budget, by)


def test_a_budget_needs_an_end_that_is_one_token() -> None:
    assert bounds(Thinking(), ThoughtLimits(), ("<s>", "<|im_end|>")) is None
    with pytest.raises(BadRequest, match="no single token"):
        bounds(Thinking(budget_tokens=5), ThoughtLimits(), ("<s>", "<|im_end|>"))
