"""Arguments between tags become JSON by the tool's schema, whatever the text of a string is."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.formats import Folded, Vocabulary, forced, rejection, same_however_cut
from troth.domain import Tool
from troth.formats.registry import FORMATS

EDIT = Tool(
    name="edit",
    parameters={
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "mode": {"type": "string", "enum": ["all", "first line"]},
            "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "size": {"$ref": "#/$defs/size"},
            "any": {},
            "list": {"type": "array", "items": {"type": "integer"}},
        },
        "required": ["text"],
        "$defs": {"size": {"type": "number"}},
    },
)


def read(text: str, name: str = "qwen3_coder") -> Folded:
    return same_however_cut(lambda: FORMATS[name].reader((EDIT,)), text)


def argument(key: str, value: str) -> Any:
    text = f"<tool_call>\n<function=edit>\n<parameter={key}>\n{value}\n</parameter>\n</function>\n</tool_call>"
    [(name, arguments)] = read(text).arguments
    assert name == "edit"
    return arguments[key]


@pytest.mark.parametrize(
    "value", ["", " ", "\n", "a\n", "\n\na\n\n", "3", "true", '"x"', "<b></param>", "</parameter", "\x00\\\u2028😀"]
)
def test_a_string_is_what_stands_between_the_tags(value: str) -> None:
    assert argument("text", value) == value


@pytest.mark.parametrize(
    ("key", "written", "value"),
    [
        ("size", "3", 3),
        ("size", " 2.5 ", 2.5),
        ("size", "big", "big"),
        ("list", "[1, 2]", [1, 2]),
        ("list", "[1, 2", "[1, 2"),
        ("note", "null", None),
        ("note", "None", None),
        ("note", "3", "3"),
        ("note", '"x"', '"x"'),
        ("any", '{"a": [true]}', {"a": [True]}),
        ("any", "True", True),
        ("any", "words", "words"),
        ("other", "NaN", "NaN"),
        ("other", "1", 1),
    ],
)
def test_other_types_are_json_and_a_string_where_that_fails(key: str, written: str, value: Any) -> None:
    assert argument(key, written) == value


def test_a_function_without_arguments_has_an_empty_object() -> None:
    for name, text in {
        "qwen3_coder": "<tool_call>\n<function=edit>\n</function>\n</tool_call>",
        "glm45": "<tool_call>edit\n</tool_call>",
        "glm47": "<tool_call>edit</tool_call>",
        "minimax_m2": '<minimax:tool_call>\n<invoke name="edit">\n</invoke>\n</minimax:tool_call>',
        "minicpm5": '<function name="edit"></function>',
    }.items():
        assert read(text, name) == Folded("", "", (("edit", "{}"),), False)


def test_the_outer_tag_may_be_missing() -> None:
    text = "Now <function=edit><parameter=text>a</parameter></function> done"
    assert read(text) == Folded("Now done", "", (("edit", '{"text": "a"}'),), False)


def test_a_call_as_json_is_read_as_well() -> None:
    text = '<tool_call>\n{"name": "edit", "arguments": {"text": "a"}}\n</tool_call>'
    for name in ("qwen3_coder", "glm45"):
        assert read(text, name).calls == (("edit", '{"text": "a"}'),)


def test_what_is_no_call_is_words() -> None:
    for text in ("<tool_call> what? </tool_call>", "<function=a b></function>", "x <tool_call"):
        folded = read(text + " .")
        assert folded == Folded(text + " .", "", (), False)


def test_a_call_that_is_cut_is_told() -> None:
    folded = read("<tool_call>\n<function=edit>\n<parameter=text>\nab\n</para")
    assert folded == Folded("", "", (("edit", '{"text": "ab'),), True)
    assert read("<tool_call>\n<function=edit>\n<parameter=text>\nab\n</parameter>").is_broken_off


def test_strings_stream_as_they_are_written() -> None:
    from troth.formats.base import CallArguments

    reader = FORMATS["qwen3_coder"].reader((EDIT,))
    reader.feed("<tool_call>\n<function=edit>\n<parameter=text>\nab")
    assert list(reader.feed('c"d')) == [CallArguments('c\\"d')]


@pytest.mark.parametrize(
    "name", ["qwen3_coder", "glm45", "glm47", "minimax_m2", "seed_oss", "deepseek_v32", "minicpm5"]
)
def test_the_grammar_holds_the_order_what_is_required_and_fixed_values(name: str) -> None:
    its = Vocabulary()
    form = FORMATS[name]
    grammar = forced(form.grammar((EDIT,), its.mark, parallel=False), its.mark)
    written = {
        "qwen3_coder": "<tool_call>\n<function=edit>\n{}</function>\n</tool_call>",
        "glm45": "<tool_call>edit\n{}</tool_call>",
        "glm47": "<tool_call>edit{}</tool_call>",
        "minimax_m2": '<minimax:tool_call>\n<invoke name="edit">\n{}</invoke>\n</minimax:tool_call>',
        "seed_oss": "<seed:tool_call>\n<function=edit>\n{}</function>\n</seed:tool_call>",
        "deepseek_v32": (
            '<｜DSML｜function_calls>\n<｜DSML｜invoke name="edit">\n{}</｜DSML｜invoke>\n</｜DSML｜function_calls>'
        ),
        "minicpm5": '<function name="edit">{}</function>',
    }[name]
    pair = {
        "qwen3_coder": "<parameter={}>\n{}\n</parameter>\n",
        "glm45": "<arg_key>{}</arg_key>\n<arg_value>{}</arg_value>\n",
        "glm47": "<arg_key>{}</arg_key><arg_value>{}</arg_value>",
        "minimax_m2": '<parameter name="{}">{}</parameter>\n',
        "seed_oss": "<parameter={}>{}</parameter>\n",
        "deepseek_v32": '<｜DSML｜parameter name="{}" string="KIND">{}</｜DSML｜parameter>\n',
        "minicpm5": '<param name="{}">{}</param>',
    }[name]

    def tried(**arguments: str) -> str | None:
        pairs = ""
        for key, value in arguments.items():
            kind = "false" if key in ("size", "list") else "true"
            pairs += pair.format(key, value).replace("KIND", kind)
        text = written.format(pairs)
        refused = rejection(grammar, its, text)
        if refused is None:
            [(called, read_back)] = read(text, name).arguments
            assert called == "edit"
            assert set(read_back) == set(arguments)
        return refused

    assert tried(text="a") is None
    assert tried(text="a\nb", mode="first line", note="null", size="2.5", any="x", list="[1, 2]") is None
    assert tried(mode="all")
    assert tried(text="a", mode="none")
    assert tried(text="a", size="x")
    assert tried(text="a", list='["x"]')
    assert tried(text="a", other="x")
