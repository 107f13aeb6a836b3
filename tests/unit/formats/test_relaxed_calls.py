"""Arguments that are almost JSON become JSON, however deep and however wrong they are."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.formats import Folded, Vocabulary, forced, rejection, same_however_cut
from troth.domain import Tool
from troth.formats.registry import FORMATS

PLAN = Tool(
    name="plan",
    parameters={
        "type": "object",
        "properties": {
            "kind": {"enum": ["a", "b"]},
            "steps": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"what": {"type": "string"}, "cost": {"type": ["number", "null"]}},
                    "required": ["what"],
                },
            },
            "who": {"anyOf": [{"type": "string"}, {"type": "integer", "minimum": 1}]},
            "more": {"type": "object"},
        },
        "required": ["steps"],
    },
)


def read(text: str, name: str) -> Folded:
    return same_however_cut(lambda: FORMATS[name].reader(()), text)


@pytest.mark.parametrize(
    ("written", "arguments"),
    [
        ("", {}),
        ('a:<|"|>x<|"|>', {"a": "x"}),
        ('a:<|"|>{"b": "}"}<|"|>,c:[]', {"a": '{"b": "}"}', "c": []}),
        ('a:{b:{c:[1,-2.5,<|"|>x<|"|>]},d:true},e:null', {"a": {"b": {"c": [1, -2.5, "x"]}, "d": True}, "e": None}),
        ('a : 1 ,\n b: <|"|>\n<|"|> ', {"a": 1, "b": "\n"}),
        ("a:word,b:", {"a": "word", "b": None}),
        ("a:[1,,2,],b:1", {"a": [1, 2], "b": 1}),
    ],
)
def test_gemma_s_notation_becomes_json(written: str, arguments: dict[str, Any]) -> None:
    folded = read(f"<|tool_call>call:f{{{written}}}<tool_call|>", "gemma4")
    assert folded.arguments == [("f", arguments)]
    assert folded.words == ""


@pytest.mark.parametrize(
    ("written", "arguments"),
    [
        ("", {}),
        ("a='x'", {"a": "x"}),
        ("a='it\\'s \"1\"\\n', b=\"it's\"", {"a": 'it\'s "1"\n', "b": "it's"}),
        ("a={'b': [True, None, 1.5]}, c=[]", {"a": {"b": [True, None, 1.5]}, "c": []}),
        ("a = 1 , b = False", {"a": 1, "b": False}),
    ],
)
def test_python_s_notation_becomes_json(written: str, arguments: dict[str, Any]) -> None:
    folded = read(f"<|tool_call_start|>[f({written}), g(x=1)]<|tool_call_end|> ok", "lfm2")
    assert folded.arguments == [("f", arguments), ("g", {"x": 1})]
    assert folded.words == " ok"


def test_lfm2_may_write_json() -> None:
    text = '<|tool_call_start|>[{"name": "f", "arguments": {"a": 1}}]<|tool_call_end|>'
    assert read(text, "lfm2") == Folded("", "", (("f", '{"a": 1}'),), False)


def test_what_is_no_call_is_words() -> None:
    for name, text in {"gemma4": "<|tool_call>hello", "lfm2": "<|tool_call_start|>[not a (call"}.items():
        assert read(text + " .", name) == Folded(text + " .", "", (), False)


@pytest.mark.parametrize(
    ("written", "is_taken"),
    [
        ('steps:[{cost:1.5,what:<|"|>x<|"|>},{what:<|"|>y<|"|>}]', True),
        ('kind:<|"|>a<|"|>,more:{x:[1,{y:<|"|>z<|"|>}]},steps:[],who:3', True),
        ('steps:[],who:<|"|>me<|"|>', True),
        ("steps:[{what:3}]", False),
        ("steps:[{}]", False),
        ('kind:<|"|>c<|"|>,steps:[]', False),
        ("who:0,steps:[]", False),
        ("steps:[],who:0", False),
        ("", False),
    ],
)
@pytest.mark.parametrize("has_control_tokens", [False, True])
def test_gemma_s_grammar_holds_the_schema(written: str, is_taken: bool, has_control_tokens: bool) -> None:
    its = Vocabulary(FORMATS["gemma4"].markers if has_control_tokens else ())
    grammar = forced(FORMATS["gemma4"].grammar((PLAN,), its.mark, parallel=True), its.mark)
    refused = rejection(grammar, its, f"<|tool_call>call:plan{{{written}}}<tool_call|>")
    assert (refused is None) is is_taken, refused
