"""Every keyword of JSON Schema is enforced or refused: the JSON Schema Test Suite is the judge.

A schema of the suite is refused by name, or compiled. What is compiled never takes an instance that the suite calls
invalid, but for what no grammar can say, which the verdict on the finished text sees; and it takes the valid ones,
but for those that a model would not write.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from llguidance import LLMatcher, LLTokenizer
from llguidance._tokenizer import TokenizerWrapper

from tests.support.formats import Vocabulary
from troth.domain import NO_TOOLS, Form
from troth.engines.guidance import Guides
from troth.errors import BadRequest
from troth.formats.registry import FORMATS, GENERIC
from troth.policy import schema as keywords
from troth.prompt.grammar import Shape, compiled
from troth.reply.verdict import fault_of

Case = dict[str, Any]
DEPTH_MAX = 64
COMPILED_MIN = 160  # of some 350 schemas; the rest is refused by name

# Valid instances that are refused, by file: another order of keys, 1.0 for 1, and forms of addresses that
# are rarely met. An answer without them is still an answer.
NARROWER = {
    "allOf.json",
    "const.json",
    "enum.json",
    "type.json",
    "optional/format/email.json",
    "optional/format/ipv6.json",
}
LEAP_SECOND = ":60"  # whether there is one depends on the day and on the zone: the 60th second is taken everywhere


class Bytes(Vocabulary):
    """A vocabulary without control tokens, as the prompt room sees one."""

    control_texts: tuple[str, ...] = ()


VOCABULARY = Bytes()
TOKENIZER = LLTokenizer(TokenizerWrapper(VOCABULARY))
GUIDES = Guides(TOKENIZER, len(VOCABULARY.tokens))


def form_of(schema: Any) -> Form | None:
    """The form of a schema; None when it is refused by name."""
    try:
        keywords.check(schema, "json_schema", depth_max=DEPTH_MAX)
    except BadRequest:
        return None
    return Form(kind="json_schema", body=keywords.without_neutral(schema), path="json_schema")


def matcher_of(form: Form) -> LLMatcher | None:
    """What follows the form; None when it does not compile."""
    shape = Shape(form=form, rules=NO_TOOLS, calls=FORMATS[GENERIC])
    try:
        grammar = compiled(shape, VOCABULARY, GUIDES)  # type: ignore[arg-type]  # only its control texts are asked
    except BadRequest:
        return None
    return grammar.start()  # type: ignore[attr-defined, no-any-return]


def takes(form: Form, text: str) -> bool:
    """True when the whole text may be an answer."""
    matcher = matcher_of(form)
    assert matcher is not None
    ids = VOCABULARY.encode(text)
    return bool(matcher.try_consume_tokens(ids) == len(ids) and matcher.is_accepting() and fault_of(text, form) is None)


def spellings(value: Any) -> set[str]:
    return {json.dumps(value, ensure_ascii=False), json.dumps(value, ensure_ascii=False, separators=(",", ":"))}


def held(suite: dict[str, list[Case]]) -> Iterator[tuple[str, Case, Form]]:
    """The cases whose schema is compiled."""
    for name, cases in suite.items():
        for case in cases:
            form = form_of(case["schema"])
            if form is not None and matcher_of(form) is not None:
                yield name, case, form


def test_nothing_is_taken_that_the_suite_calls_invalid(suite: dict[str, list[Case]]) -> None:
    wrong = [
        (name, case["schema"], test["data"])
        for name, case, form in held(suite)
        for test in case["tests"]
        if not test["valid"]
        and LEAP_SECOND not in str(test["data"])
        and any(takes(form, text) for text in spellings(test["data"]))
    ]
    assert wrong == []


def test_what_the_suite_calls_valid_is_taken_but_for_the_few_that_are_known(suite: dict[str, list[Case]]) -> None:
    missed = {
        name
        for name, case, form in held(suite)
        for test in case["tests"]
        if test["valid"] and not any(takes(form, text) for text in spellings(test["data"]))
    }
    assert missed <= NARROWER


def test_most_schemas_can_be_held(suite: dict[str, list[Case]]) -> None:
    assert len(list(held(suite))) >= COMPILED_MIN
