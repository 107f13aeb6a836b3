"""A model whose template has no word for tools is told of them, and reads its calls and their results again."""

from __future__ import annotations

import json

from tests.support.formats import TOOLS, WEATHER, fold
from troth.domain import ToolCall
from troth.formats.generic import generic_call, generic_instructions, generic_result
from troth.formats.registry import FORMATS


def test_the_instructions_hold_every_tool_and_the_way_to_call_it() -> None:
    text = generic_instructions(TOOLS, parallel=True, required=False)
    lines = text[text.index("<tools>\n") + 8 : text.index("\n</tools>")].split("\n")
    assert [json.loads(line)["name"] for line in lines] == ["get_weather", "take_note"]
    assert json.loads(lines[0])["parameters"] == WEATHER.parameters
    assert "<tool_call>\n" in text
    assert "You may call one or more" in text


def test_the_instructions_say_what_is_required_and_how_many() -> None:
    text = generic_instructions(TOOLS, parallel=False, required=True)
    assert "You must call one function" in text
    assert "several" not in text


def test_a_call_of_an_earlier_turn_is_written_as_it_is_read() -> None:
    text = generic_call(ToolCall("call_1", "get_weather", '{"city": "Rome"}'))
    assert fold(FORMATS["generic"].reader(TOOLS), [text]).calls == (("get_weather", '{"city": "Rome"}'),)
    assert fold(FORMATS["generic"].reader(TOOLS), [generic_call(ToolCall("c", "f", ""))]).calls == (("f", "{}"),)


def test_a_result_stands_between_its_tags() -> None:
    assert generic_result("21 °C", "get_weather") == '<tool_response name="get_weather">\n21 °C\n</tool_response>'
