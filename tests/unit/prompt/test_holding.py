"""What holds an answer, and how it is read: tools, forms and reasoning together, on a scripted vocabulary."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from tests.support.formats import WEATHER, Vocabulary
from troth.domain import Form, Grammar, GrammarSource, Tool, ToolRules
from troth.engines.base import GrammarFault
from troth.engines.gbnf import lark_of
from troth.errors import BadRequest
from troth.formats.registry import FORMATS
from troth.formats.thoughts import THOUGHTS
from troth.prompt.grammar import Shape, compiled

CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris", "days": 1}}\n</tool_call>'
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}
JSON = '{"a": 1}'
FORM = Form(kind="json_schema", body=SCHEMA)


class Compiled:
    """A grammar over bytes."""

    def __init__(self, source: GrammarSource, text: str) -> None:
        self.source = source
        self.text = text


class Compiler:
    """Compiles for a vocabulary of bytes, as an engine does for its own."""

    def __init__(self) -> None:
        self.vocabulary = Vocabulary()

    def compile(self, source: GrammarSource) -> Grammar:
        from llguidance import LLMatcher, LLTokenizer
        from llguidance._tokenizer import TokenizerWrapper

        parts: list[dict[str, Any]] = [{"name": "answer", "lark_grammar": source.rules}]
        for name, kind, text in source.patterns:
            if kind == "json_schema":
                parts.append({"name": name, "json_schema": json.loads(text)})
            else:
                try:
                    parts.append({"name": name, "lark_grammar": lark_of(text)})
                except ValueError as fault:
                    raise GrammarFault(str(fault)) from fault
        whole = json.dumps({"grammars": parts})
        matcher = LLMatcher(LLTokenizer(TokenizerWrapper(self.vocabulary)), whole, log_level=0)
        if matcher.get_error():
            raise GrammarFault(matcher.get_error())
        return Compiled(source, whole)


class Plain:
    """A vocabulary without control tokens."""

    control_texts: tuple[str, ...] = ()


def takes(shape: Shape, text: str) -> bool:
    """True when the shape takes the text as a whole answer."""
    from llguidance import LLMatcher, LLTokenizer
    from llguidance._tokenizer import TokenizerWrapper

    compiler = Compiler()
    grammar = compiled(shape, Plain(), compiler)  # type: ignore[arg-type]  # no text is asked of it
    assert isinstance(grammar, Compiled)
    matcher = LLMatcher(LLTokenizer(TokenizerWrapper(compiler.vocabulary)), grammar.text)
    ids = compiler.vocabulary.encode(text)
    return bool(matcher.try_consume_tokens(ids) == len(ids) and matcher.is_accepting())


def shaped(tools: Sequence[Tool] = (WEATHER,), *, thinks: bool = False, inside: bool = False, **more: Any) -> Shape:
    rules = ToolRules(tools=tuple(tools), mode=more.pop("mode", "auto"))
    thoughts = THOUGHTS["think"] if thinks else None
    return Shape(rules=rules, calls=FORMATS["hermes"], thoughts=thoughts, is_thinking=inside, **more)


@pytest.mark.parametrize(
    ("shape", "text", "is_taken"),
    [
        (shaped(), "Just words, with < and > and {.", True),
        (shaped(), f"Let me see. {CALL}", True),
        (shaped(), f"{CALL}\n{CALL}", True),
        (shaped(), f"{CALL} and words", False),
        (shaped(), CALL.replace("get_weather", "get_wether"), False),
        (shaped(), CALL.replace('"Paris"', "5"), False),
        (shaped(mode="required"), CALL, True),
        (shaped(mode="required"), "Just words.", False),
        (shaped((), form=FORM), JSON, True),
        (shaped((), form=FORM), '{"a": "x"}', False),
        (shaped((), form=FORM), "words", False),
        (shaped(form=FORM), JSON, True),
        (shaped(form=FORM), CALL, True),
        (shaped(form=FORM), "words", False),
        (shaped((), form=FORM, thinks=True), JSON, True),
        (shaped((), form=FORM, thinks=True), f"<think>hm {{</think>\n\n{JSON}", True),
        (shaped((), form=FORM, thinks=True), "<think>hm", False),
        (shaped((), form=FORM, thinks=True, inside=True), f"hm {{</think>{JSON}", True),
        (shaped((), form=FORM, thinks=True, inside=True), JSON, False),
        (shaped(thinks=True), "<think>I could <tool_call> it</think>No.", True),
        (shaped(thinks=True), f"<think>I will</think>\n\n{CALL}", True),
        (shaped(thinks=True), "<think>I will</think>\n\n<tool_call>no", False),
        (shaped(thinks=True, inside=True, mode="required"), f"I must</think>\n\n{CALL}", True),
        (shaped(thinks=True, inside=True, mode="required"), CALL, False),
        (shaped((), form=Form(kind="choice", body=("yes", 'n"o'))), 'n"o', True),
        (shaped((), form=Form(kind="choice", body=("yes", "no"))), "maybe", False),
        (shaped((), form=Form(kind="grammar", body='root ::= "a" [0-9]+')), "a12", True),
        (shaped((), form=Form(kind="json_object")), '{"any": [1, {"thing": null}]}', True),
        (shaped((), form=Form(kind="json_object")), "[1]", False),
    ],
)
def test_an_answer_is_taken_or_not(shape: Shape, text: str, is_taken: bool) -> None:
    assert takes(shape, text) == is_taken


HM = "<|channel|>analysis<|message|>hm {<|end|><|start|>assistant"
FINAL = "<|channel|>final<|message|>"
AS_JSON = "<|channel|>final <|constrain|>json<|message|>"
HARMONY_CALL = '<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city": "Paris"}'


def channelled(tools: Sequence[Tool] = (), *, thinks: bool = True) -> Shape:
    """A form, in the channels of gpt-oss."""
    thoughts = THOUGHTS["harmony"] if thinks else None
    return Shape(form=FORM, rules=ToolRules(tools=tuple(tools)), calls=FORMATS["harmony"], thoughts=thoughts)


@pytest.mark.parametrize(
    ("shape", "text", "is_taken"),
    [
        (channelled(), FINAL + JSON, True),
        (channelled(), HM + FINAL + JSON, True),
        (channelled(), HM + HM + AS_JSON + JSON, True),
        (channelled(), f"<|start|>assistant{FINAL}{JSON}", True),
        (channelled(), JSON, False),
        (channelled(), HM + FINAL + "words", False),
        (channelled(), HM + JSON, False),
        (channelled(), HARMONY_CALL, False),
        (channelled(), HM.replace("analysis", "commentary") + FINAL + JSON, False),
        (channelled(thinks=False), FINAL + JSON, True),
        (channelled(thinks=False), JSON, False),
        (channelled(thinks=False), HM + FINAL + JSON, False),
        (channelled((WEATHER,)), HM + FINAL + JSON, True),
        (channelled((WEATHER,)), HM + HARMONY_CALL, True),
        (channelled((WEATHER,)), HM + FINAL + "words", False),
    ],
)
def test_a_form_holds_the_final_channel(shape: Shape, text: str, is_taken: bool) -> None:
    assert takes(shape, text) == is_taken


def test_a_form_of_a_model_whose_channels_are_not_read_is_refused() -> None:
    shape = Shape(form=FORM, rules=ToolRules(), calls=FORMATS["hermes"], thoughts=THOUGHTS["harmony"])
    with pytest.raises(BadRequest, match="markers of its own"):
        takes(shape, "")


def json_shape(schema: Any) -> Shape:
    return shaped((), form=Form(kind="json_schema", body=schema))


@pytest.mark.parametrize(
    ("day", "is_one"),
    [
        ("2023-02-28", True),
        ("2023-02-29", False),
        ("2024-02-29", True),
        ("1900-02-29", False),
        ("2000-02-29", True),
        ("2023-04-31", False),
        ("2023-12-31", True),
        ("0000-01-01", False),
    ],
)
@pytest.mark.parametrize("schema", [{"format": "date"}, {"anyOf": [{"type": "string", "format": "date"}]}])
def test_a_date_is_a_day_that_there_is(schema: Any, day: str, is_one: bool) -> None:
    assert takes(json_shape(schema), f'"{day}"') == is_one


def test_what_is_only_called_format_is_left_alone() -> None:
    schema = {"properties": {"format": {"const": "date"}}, "required": ["format"], "additionalProperties": False}
    assert takes(json_shape(schema), '{"format": "date"}')
    assert takes(json_shape({"const": {"format": "date"}}), '{"format": "date"}')


@pytest.mark.parametrize("key", ["a", "\\u0061"])
def test_a_name_is_not_written_twice_in_whatever_spelling(key: str) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": {"type": "string"}}
    assert not takes(json_shape(schema), f'{{"a": 1, "{key}": "x"}}')


ODD = Tool(name="odd", parameters={"type": "object", "not": {"required": ["a"]}}, path="tools.1.function")


def test_a_tool_that_cannot_be_held_is_loosened_and_the_others_are_held() -> None:
    shape = shaped((WEATHER, ODD))
    assert takes(shape, '<tool_call>\n{"name": "odd", "arguments": {"b": 1}}\n</tool_call>')
    assert not takes(shape, CALL.replace('"Paris"', "5"))


@pytest.mark.parametrize(
    "shape",
    [
        shaped((WEATHER, ODD), mode="required"),
        shaped((WEATHER, Tool(name="odd", parameters=ODD.parameters, strict=True))),
    ],
)
def test_a_tool_that_must_be_held_and_cannot_be_is_refused_by_name(shape: Shape) -> None:
    with pytest.raises(BadRequest, match=r"odd cannot be held: .*not"):
        takes(shape, "")


def test_a_form_that_cannot_be_compiled_names_its_field() -> None:
    shape = shaped((), form=Form(kind="grammar", body="root ::= missing", path="grammar"))
    with pytest.raises(BadRequest, match="`grammar` cannot be held") as refused:
        takes(shape, "")
    assert (refused.value.param, refused.value.code) == ("grammar", "invalid_grammar")
