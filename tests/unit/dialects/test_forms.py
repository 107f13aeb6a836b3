"""Forms of answers in the words of a request."""

from __future__ import annotations

from typing import Any

import pytest

from troth._generated.models import ChatCompletionRequest, NativeCompletionRequest
from troth.dialects.forms import form_of
from troth.dialects.native_request import read_completion
from troth.domain import Form
from troth.errors import BadRequest

WORD = {"type": "word", "value": "<go>"}
LAZY: dict[str, Any] = {"grammar": 'root ::= "a"', "grammar_lazy": True}


def asked(**fields: Any) -> Form | None:
    body = ChatCompletionRequest.model_validate({"messages": [{"role": "user", "content": "a"}], **fields})
    return form_of(body, body)


@pytest.mark.parametrize(
    ("trigger", "read"),
    [
        (WORD, "<go>"),
        ({"type": 1, "value": "<go>"}, "<go>"),
        ({"type": "token", "token": 5}, 5),
        ({"type": 0, "value": "x", "token": 5}, 5),
    ],
)
def test_a_lazy_grammar_has_triggers_by_name_or_by_number(trigger: Any, read: str | int) -> None:
    form = asked(**LAZY, grammar_triggers=[trigger])
    assert form is not None
    assert form.triggers == (read,)


def test_triggers_say_nothing_of_a_grammar_that_is_not_lazy() -> None:
    form = asked(grammar='root ::= "a"', grammar_triggers=[WORD])
    assert form == Form(kind="grammar", body='root ::= "a"', path="grammar")


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"grammar_lazy": True}, "grammar_lazy"),
        (LAZY, "grammar_triggers"),
        (LAZY | {"grammar_triggers": []}, "grammar_triggers"),
        (LAZY | {"grammar_triggers": [WORD, {"type": "word"}]}, "grammar_triggers.1.value"),
        (LAZY | {"grammar_triggers": [{"type": 0, "value": "a"}]}, "grammar_triggers.0.token"),
        (LAZY | {"grammar_triggers": [{"type": "pattern", "value": "a+"}]}, "grammar_triggers.0.type"),
        (LAZY | {"grammar_triggers": [{"type": 3, "value": "a+"}]}, "grammar_triggers.0.type"),
    ],
)
def test_a_lazy_grammar_that_could_not_begin_is_refused(fields: dict[str, Any], param: str) -> None:
    with pytest.raises(BadRequest) as refused:
        asked(**fields)
    assert refused.value.param == param


@pytest.mark.parametrize("field", ["guided_json", "json_schema"])
def test_the_native_route_reads_both_families_of_forms(field: str) -> None:
    body = NativeCompletionRequest.model_validate({"prompt": "a", field: {"const": 5}})
    (ask,) = read_completion(body, frozenset({field}), "", 8)
    assert ask.form == Form(kind="json_schema", body={"const": 5}, path=field)
