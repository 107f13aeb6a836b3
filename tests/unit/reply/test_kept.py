"""Calls that another server made are judged by the rules of the request."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from troth.domain import Began, CallBegan, CallSaid, Ended, Event, Said, Tool, ToolRules
from troth.errors import UpstreamFault
from troth.reply.kept import kept

ADD = Tool(name="add", parameters={"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}}})
STRICT = Tool(name="add", parameters=ADD.parameters, strict=True)
CALL = (Began(0), CallBegan(0, "c", "add"), CallSaid(0, '{"a"'), CallSaid(0, ":1}"), Ended(0, "tool_calls"))
WRONG = (Began(0), CallBegan(0, "c", "add"), CallSaid(0, '{"a":"x"}'), Ended(0, "tool_calls"))


def judged(events: tuple[Event, ...], rules: ToolRules) -> list[Event]:
    async def told() -> AsyncIterator[Event]:
        for event in events:
            yield event

    async def run() -> list[Event]:
        return [event async for event in kept(told(), rules)]

    return asyncio.run(run())


@pytest.mark.parametrize("mode", ["auto", "required"])
def test_a_call_that_keeps_the_rules_passes(mode: str) -> None:
    rules = ToolRules(tools=(STRICT,), mode=mode)  # type: ignore[arg-type]

    assert judged(CALL, rules) == list(CALL)


@pytest.mark.parametrize(
    ("events", "rules", "words"),
    [
        (CALL, ToolRules(tools=(Tool(name="sub"),)), "none of the functions"),
        (CALL, ToolRules(tools=(ADD,), mode="none"), "none of the functions"),
        ((Said("x"), Ended(0, "stop")), ToolRules(tools=(ADD,), mode="required"), "was demanded"),
        ((*CALL[:-1], CallBegan(1, "d", "add")), ToolRules(tools=(ADD,), parallel=False), "several calls"),
        (WRONG, ToolRules(tools=(STRICT,)), "do not fit"),
        (WRONG, ToolRules(tools=(ADD,), mode="required"), "do not fit"),
    ],
)
def test_a_call_that_breaks_the_rules_is_the_upstreams_fault(
    events: tuple[Event, ...], rules: ToolRules, words: str
) -> None:
    with pytest.raises(UpstreamFault, match=words) as caught:
        judged(events, rules)
    assert caught.value.code == "upstream_broken"


def test_an_answer_that_was_cut_is_not_judged() -> None:
    events = (Said("x"), Ended(0, "length"))

    assert judged(events, ToolRules(tools=(ADD,), mode="required")) == list(events)


def test_loose_arguments_are_not_judged_where_nobody_asked() -> None:
    assert judged(WRONG, ToolRules(tools=(ADD,))) == list(WRONG)
