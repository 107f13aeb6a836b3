"""hal0's tool loop over exact events, such as a tiny model cannot be brought to give."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from troth.conversation import Conversation
from troth.domain import (
    Account,
    Ask,
    CallBegan,
    CallSaid,
    Ended,
    Event,
    Finished,
    Said,
    ServedModel,
    Talk,
    Timings,
    ToolCall,
    Turn,
    Usage,
)
from troth.errors import OverContext
from troth.omni.loop import Looping
from troth.omni.offer import OF_KIND
from troth.omni.tools import OmniLimits, ToolResult, Tools, same
from troth.vectors import Vectors

MODEL = ServedModel(id="caller", kind="chat", engine="scripted")
ASK = Ask(source=Talk((Turn(role="user", text="Go on."),)))
END = Finished(Usage(1, 2), Timings())


def calling(number: int) -> list[Event]:
    arguments = f'{{"input": ["{number}"]}}'
    return [
        Said("Well. "),
        CallBegan(0, f"call_{number}", "embed_text"),
        CallSaid(0, arguments),
        Ended(0, "tool_calls"),
        END,
    ]


class Rounds:
    """A conversation in which the model says these events, a list for each round; a refusal keeps a round from it."""

    def __init__(self, *rounds: Sequence[Event] | OverContext) -> None:
        self._rounds = list(rounds)

    async def open(self, ask: Ask, account: Account) -> Any:
        events = self._rounds.pop(0)
        account.model, account.route = MODEL.id, "registry"
        if isinstance(events, OverContext):
            raise events
        return Round(events, account)


class Round:
    """One answer under way."""

    def __init__(self, events: Sequence[Event], account: Account) -> None:
        self.plan, self.prompt, self.engine = SimpleNamespace(model=MODEL), None, None
        self._events = events
        self._account = account

    async def events(self) -> AsyncIterator[Event]:
        for event in self._events:
            yield event
        self._account.finish, self._account.answer_tokens = "stop", 2

    def cancel(self) -> None:
        """Nothing runs."""


class Done:
    """Tools whose results are all the same."""

    async def run(self, call: ToolCall, ask: Ask, caller: ServedModel) -> ToolResult:
        return ToolResult(call, {"ok": True}, 0.0)


def heard(account: Account, *rounds: Sequence[Event] | OverContext, rounds_max: int) -> list[Event]:
    async def run() -> list[Event]:
        conversation, tools = cast(Conversation, Rounds(*rounds)), cast(Tools, Done())
        asked = (ASK, MODEL, tuple(OF_KIND.values()))
        looping = Looping(conversation, tools, rounds_max, asked, account)
        await looping.begin()
        return [event async for event in looping.events()]

    return asyncio.run(run())


def test_a_model_that_calls_where_it_may_not_has_said_the_rest() -> None:
    account = Account(request_id="a")
    events = heard(account, calling(0), calling(1), rounds_max=2)

    assert events == [Said("Well. "), Ended(0, "stop"), Finished(Usage(2, 4), Timings())]
    assert (account.answer_tokens, account.finish) == (4, "stop")


def test_a_refusal_in_a_later_round_is_in_the_account() -> None:
    account = Account(request_id="a")
    with pytest.raises(OverContext):
        heard(account, calling(0), OverContext(9000, 4096), rounds_max=4)

    assert (account.finish, account.answer_tokens) == ("context_length_exceeded", 2)


HALF = "\\ud83d"  # of a pair


@pytest.mark.parametrize(
    "arguments",
    [f'{{"input": ["a", "{HALF}"]}}', "[" * 200_000, '{"input": []}', "no JSON", f'{{"query": "{HALF}"}}'],
    ids=["half a letter", "too deep", "empty", "no JSON", "half a query"],
)
@pytest.mark.parametrize("name", ["embed_text", "rerank_documents", "draw"])
def test_whatever_fails_in_a_tool_is_a_result(name: str, arguments: str) -> None:
    limits = OmniLimits(rounds_max=2, tool_seconds_max=5.0, chat_seconds_max=5.0)
    tools = Tools(cast(Conversation, None), cast(Vectors, None), (), limits)
    done = asyncio.run(tools.run(ToolCall("call_1", name, arguments), ASK, MODEL))

    assert set(done.result) == {"error"}
    assert same(done.call) == same(done.call)


def test_a_tool_that_breaks_is_a_result() -> None:
    limits = OmniLimits(rounds_max=2, tool_seconds_max=5.0, chat_seconds_max=5.0)
    tools = Tools(cast(Conversation, None), cast(Vectors, None), (), limits)
    done = asyncio.run(tools.run(ToolCall("call_1", "embed_text", '{"input": ["a"]}'), ASK, MODEL))

    assert done.result == {"error": "embed_text failed"}
