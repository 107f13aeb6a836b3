"""Spellings become Lark symbols, in which markers are named as the vocabulary has them."""

from __future__ import annotations

from troth.domain import Tool
from troth.formats.lark import INDEX, json_rule, literal, spelled, text_before


def mark(text: str) -> str:
    return {"<a>": "<[7]>"}.get(text, literal(text))


def test_markers_are_named_and_all_else_is_a_literal() -> None:
    assert spelled('x"<a>\n<b>', ("<a>", "<b>"), mark) == '"x\\"" <[7]> "\\n" "<b>"'
    assert spelled("", ("<a>",), mark) == ""
    assert spelled(f"{INDEX}<a>", ("<a>",), mark) == "CALL_INDEX <[7]>"


def test_arguments_are_an_object_whatever_the_schema_says() -> None:
    assert json_rule(Tool(name="f")) == '%json {"type": "object"}'
    assert json_rule(Tool(name="f", parameters={"type": ["object", "null"]})) == '%json {"type": "object"}'


def test_text_before_a_control_token_is_no_lazy_rule() -> None:
    def spell(text: str) -> str:
        return spelled(text, ("<a>", "<b>"), mark)

    assert text_before("<a>", "t", spell, "\n") == ("T <[7]>", "T: /(.|\\n)*\\n/\n")
    assert text_before("<b>", "t", spell, "\n") == ("t", 't[lazy]: /(.|\\n)*/ "\\n<b>"\n')
