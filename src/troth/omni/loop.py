"""hal0's tool loop (`omni`): a chat model asks the other models of this server before it answers.

1. The model is offered what the other models can do. Alone, it just answers.
2. It answers, or it calls. The calls of one answer are done at the same time, and their results go back to it.
3. Its last round, and one after nothing but calls that it had made before, has no calls: it must speak.

`max_tokens` is of all rounds together, and so are the counts of the answer. Nobody outside sees a call as one to do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from troth.conversation import Conversation, Prepared
from troth.domain import Account, Ask, Choice, Reply, ServedModel, Talk, Tool, ToolCall, Turn
from troth.omni.offer import offered
from troth.omni.tools import OmniLimits, ToolResult, Tools, same
from troth.reply.fold import fold
from troth.reply.totals import total_timings, total_usage
from troth.vectors import Vectors

FIELD = "omni"
AGAIN = {"error": "this was called before with the same arguments, and the result is above"}


@dataclass(frozen=True, slots=True)
class Looped:
    """The answer, and how the model came to it."""

    prepared: Prepared  # the last round
    reply: Reply  # its text; the counts are of all rounds
    results: Sequence[ToolResult]
    rounds: int


class Omni:
    """Answers Asks with the help of the other models."""

    def __init__(
        self, conversation: Conversation, vectors: Vectors, catalogue: Sequence[ServedModel], limits: OmniLimits
    ) -> None:
        self._conversation = conversation
        self._catalogue = catalogue
        self._limits = limits
        self._tools = Tools(conversation, vectors, catalogue, limits)

    async def answer(self, ask: Ask, account: Account) -> Looped:
        """The model's answer. Raises what a conversation raises; a tool that fails is told to the model alone."""
        caller, _ = await self._conversation.engine(ask.model)
        tools = offered(self._catalogue, caller)
        given = ask.given - {FIELD}
        ask = replace(ask, given=given | {"tools"} if tools else given)
        replies: list[Reply] = []
        results: list[ToolResult] = []
        may_call = bool(tools)
        while True:
            is_last = not may_call or len(replies) + 1 >= self._limits.rounds_max
            prepared, reply = await self._round(_offering(ask, tools, calls=not is_last), account)
            replies.append(reply)
            choice = reply.choices[0]
            calls = choice.calls if choice.finish == "tool_calls" and not is_last else []
            left = None if ask.budget_tokens is None else ask.budget_tokens - reply.usage.answer_tokens
            if not calls or left == 0:
                return Looped(prepared, _whole(replies, is_cut=bool(calls)), results, len(replies))
            known = {same(each.call) for each in results}
            done = await asyncio.gather(*(self._result(call, known, ask, caller) for call in calls))
            may_call = any(same(call) not in known for call in calls)
            results += done
            ask = replace(ask, budget_tokens=left, source=_continued(ask, choice, done))

    async def _round(self, ask: Ask, account: Account) -> tuple[Prepared, Reply]:
        """One answer of the model. What it took is added to the account on every way out."""
        each = Account(request_id=account.request_id)
        try:
            opened = await self._conversation.open(ask, each)
            try:
                reply = await fold(opened.events())
            finally:
                opened.cancel()
        finally:
            account.model, account.route, account.finish = each.model, account.route or each.route, each.finish
            account.prompt_tokens += each.prompt_tokens
            account.cached_tokens += each.cached_tokens
            account.answer_tokens += each.answer_tokens
            account.queue_seconds += each.queue_seconds
        return Prepared(opened.plan, opened.prompt, opened.engine), reply

    async def _result(self, call: ToolCall, known: set[tuple[str, str]], ask: Ask, caller: ServedModel) -> ToolResult:
        return ToolResult(call, AGAIN, 0.0) if same(call) in known else await self._tools.run(call, ask, caller)


def _offering(ask: Ask, tools: tuple[Tool, ...], *, calls: bool) -> Ask:
    """The ask with these tools in its prompt, which may be called or may not."""
    talk = ask.source
    assert isinstance(talk, Talk), "a chat request is a conversation"
    if not tools:
        return ask
    return replace(ask, source=replace(talk, tools=replace(talk.tools, tools=tools, mode="auto" if calls else "none")))


def _continued(ask: Ask, choice: Choice, done: Sequence[ToolResult]) -> Talk:
    """The conversation after these calls."""
    talk = ask.source
    assert isinstance(talk, Talk), "a chat request is a conversation"
    said = Turn(role="assistant", text=choice.text, reasoning=choice.thoughts or None, calls=tuple(choice.calls))
    told = (Turn(role="tool", text=each.told, name=each.call.name, call_id=each.call.id) for each in done)
    return replace(talk, turns=(*talk.turns, said, *told))


def _whole(replies: Sequence[Reply], *, is_cut: bool) -> Reply:
    """The last answer, without calls; `is_cut`: the budget ended before they could be done."""
    choice = replies[-1].choices[0]
    choice.calls = []
    if is_cut:
        choice.finish = "length"
    usage, timings = (total_usage([each.usage for each in replies]), total_timings([each.timings for each in replies]))
    return Reply([choice], usage, timings)
