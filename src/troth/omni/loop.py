"""hal0's tool loop (`omni`): a chat model asks the other models of this server before it answers.

1. The model is offered what the other models can do. Alone, it just answers.
2. It answers, or it calls. The calls of one answer are done at the same time, and their results go back to it.
3. Its last round, and one after nothing but calls that it had made before, has no calls: it must speak.

`max_tokens` is of all rounds together, and so are the counts of the answer. Nobody outside sees a call as one to do:
the words of a round that may call are held back until it is over, and those of the last round are told as they come.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

from troth.conversation import Conversation, Opened, Prepared
from troth.domain import (
    Account,
    Ask,
    CallBegan,
    CallSaid,
    Choice,
    Ended,
    Event,
    Finished,
    Progress,
    Reply,
    ServedModel,
    Talk,
    Tool,
    ToolCall,
    Turn,
)
from troth.errors import Refusal
from troth.omni.offer import offered
from troth.omni.tools import OmniLimits, ToolResult, Tools, same
from troth.reply.fold import Folding
from troth.reply.totals import total_timings, total_usage
from troth.vectors import Vectors

FIELD = "omni"
AGAIN = {"error": "this was called before with the same arguments, and the result is above"}


class Omni:
    """Answers Asks with the help of the other models."""

    def __init__(
        self, conversation: Conversation, vectors: Vectors, catalogue: Sequence[ServedModel], limits: OmniLimits
    ) -> None:
        self._conversation = conversation
        self._catalogue = catalogue
        self._limits = limits
        self._tools = Tools(conversation, vectors, catalogue, limits)

    async def open(self, ask: Ask, account: Account) -> Looping:
        """The model's first round has a place in its line. Raises what a conversation raises before the first byte."""
        caller, _ = await self._conversation.engine(ask.model)
        tools = offered(self._catalogue, caller)
        given = ask.given - {FIELD}
        ask = replace(ask, given=given | {"tools"} if tools else given)
        looping = Looping(self._conversation, self._tools, self._limits.rounds_max, (ask, caller, tools), account)
        await looping.begin()
        return looping


class Looping:
    """An answer under way. Whoever opened it reads `events` to the end, or cancels."""

    def __init__(
        self,
        conversation: Conversation,
        tools: Tools,
        rounds_max: int,
        asked: tuple[Ask, ServedModel, tuple[Tool, ...]],
        account: Account,
    ) -> None:
        """`asked`: the ask, the model that answers, and what it is offered."""
        self._conversation, self._tools, self._rounds_max, self._account = conversation, tools, rounds_max, account
        self._ask, self._caller, self._offered = asked
        self._may_call = bool(self._offered)
        self._opened: Opened | None = None  # the round under way
        self._each = Account()  # of this round
        self._replies: list[Reply] = []
        self.results: list[ToolResult] = []

    @property
    def rounds(self) -> int:
        """How often the model has answered."""
        return len(self._replies)

    @property
    def prepared(self) -> Prepared:
        """The latest round, as it was asked for."""
        assert self._opened is not None
        return Prepared(self._opened.plan, self._opened.prompt, self._opened.engine)

    async def begin(self) -> None:
        """The next round has a place in the line. Raises what a conversation raises."""
        self._may_call = self._may_call and self.rounds + 1 < self._rounds_max
        self._each = Account(request_id=self._account.request_id)
        try:
            self._opened = await self._conversation.open(
                _offering(self._ask, self._offered, calls=self._may_call), self._each
            )
        except BaseException as fault:
            if isinstance(fault, Refusal) and self._replies:  # an answer is under way, which ends with this
                self._each.finish = fault.code
            self._note()
            raise

    async def wait_started(self, seconds: float) -> bool:
        """True once the first round has left the queue; False when `seconds` passed first. Raises Refusal."""
        assert self._opened is not None
        return await self._opened.wait_started(seconds)

    async def events(self) -> AsyncIterator[Event]:
        """The events of the answer, and Finished over all rounds. Raises what a conversation raises.

        A tool that fails is told to the model alone.
        """
        try:
            while True:
                held: list[Event] = []
                folding = Folding()
                assert self._opened is not None
                async for event in self._opened.events():
                    folding.add(event)
                    if isinstance(event, Progress):
                        yield event
                    elif self._may_call:
                        held.append(event)
                    elif (said := _uncalled(event, is_cut=False)) is not None:
                        yield said
                self._note()
                self._replies.append(folding.reply())
                calls, left = self._calls()
                if not calls or left == 0:
                    for event in held:
                        if (said := _uncalled(event, is_cut=bool(calls))) is not None:
                            yield said
                    usage = total_usage([each.usage for each in self._replies])
                    yield Finished(usage, total_timings([each.timings for each in self._replies]))
                    return
                await self._work(calls, left)
                await self.begin()
        finally:
            self.cancel()

    def cancel(self) -> None:
        """The engine works on this no more, and the account has what it took. Safe to call twice."""
        if self._opened is not None:
            self._opened.cancel()
            self._note()

    def _calls(self) -> tuple[list[ToolCall], int | None]:
        """What the latest round called for, and the tokens that are left of the budget."""
        reply = self._replies[-1]
        choice, budget = reply.choices[0], self._ask.budget_tokens
        calls = choice.calls if choice.finish == "tool_calls" and self._may_call else []
        return calls, None if budget is None else budget - reply.usage.answer_tokens

    async def _work(self, calls: Sequence[ToolCall], left: int | None) -> None:
        """The calls are done, and the conversation goes on behind their results."""
        known = {same(each.call) for each in self.results}
        done = await asyncio.gather(*(self._result(call, known) for call in calls))
        self._may_call = any(same(call) not in known for call in calls)
        self.results += done
        source = _continued(self._ask, self._replies[-1].choices[0], done)
        self._ask = replace(self._ask, budget_tokens=left, source=source)

    async def _result(self, call: ToolCall, known: set[tuple[str, str]]) -> ToolResult:
        if same(call) in known:
            return ToolResult(call, AGAIN, 0.0)
        return await self._tools.run(call, self._ask, self._caller)

    def _note(self) -> None:
        """What the round took is in the account, once."""
        each, account, self._each = self._each, self._account, Account()
        if not each.request_id:
            return
        account.model, account.route, account.finish = each.model, account.route or each.route, each.finish
        account.prompt_tokens += each.prompt_tokens
        account.cached_tokens += each.cached_tokens
        account.answer_tokens += each.answer_tokens
        account.queue_seconds += each.queue_seconds


def _uncalled(event: Event, *, is_cut: bool) -> Event | None:
    """What is told of an event of the last round: no call, which some models make where they may not, and no counts.

    `is_cut`: the budget ended before calls that it might make could be done.
    """
    match event:
        case CallBegan() | CallSaid() | Finished():
            return None
        case Ended(finish="tool_calls"):
            return replace(event, finish="length" if is_cut else "stop")
    return event


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
