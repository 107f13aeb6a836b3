"""Finished texts are judged by their form, and by what no grammar can say."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from troth.domain import Ended, Event, Form, Said
from troth.errors import EngineFault
from troth.reply.verdict import fault_of, judged

DATE = Form(kind="json_schema", body={"type": "object", "properties": {"day": {"type": "string", "format": "date"}}})

STEPS = Form(kind="json_schema", body={"multipleOf": 0.05})


@pytest.mark.parametrize(
    ("form", "text", "fault"),
    [
        (DATE, '{"day": "2024-02-29"}', None),
        (DATE, '{"day": "2023-02-29"}', "$.day: format"),
        (DATE, '{"day": 5}', "$.day: type"),
        (DATE, '{"day"', "it is no JSON"),
        (Form(kind="json_object"), "{}", None),
        (Form(kind="json_object"), "[]", "it is no object"),
        (Form(kind="json_schema", body=True), "5", None),
        (Form(kind="json_schema", body={"pattern": "(a+)+$"}), '"' + "a" * 50 + 'b"', None),
        (Form(kind="grammar", body="root ::= x"), "anything", None),
        (STEPS, "0.15", None),
        (STEPS, "2.3000", None),
        (STEPS, "0.16", "$: multipleOf"),
        (STEPS, "1e999999999", None),
        (Form(kind="json_schema", body={"type": "integer"}), "1.0", None),
        (Form(kind="json_schema", body={"enum": [0.1, 1.5]}), "0.10", None),
    ],
)
def test_a_text_keeps_its_form_or_not(form: Form, text: str, fault: str | None) -> None:
    assert fault_of(text, form) == fault


def told(events: Sequence[Event]) -> list[Event]:
    async def stream() -> AsyncIterator[Event]:
        for event in events:
            yield event

    async def collect() -> list[Event]:
        return [event async for event in judged(stream(), DATE)]

    return asyncio.run(collect())


def test_an_answer_of_another_form_never_ends_well() -> None:
    with pytest.raises(EngineFault, match="format"):
        told([Said('{"day": '), Said('"2023-02-29"}'), Ended(0, "stop")])


@pytest.mark.parametrize("end", [Ended(0, "length"), Ended(0, "stop", "."), Ended(0, "tool_calls")])
def test_what_is_cut_or_is_calls_is_not_judged(end: Ended) -> None:
    events: list[Any] = [Said('{"day'), end]
    assert told(events) == events
