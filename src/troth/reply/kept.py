"""Do the calls of an answer keep the rules? Judged where another server held them, or did not.

An engine with grammars cannot break these; what another server sends is looked at before its end is believed.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from troth.domain import CallBegan, CallSaid, Ended, Event, Form, Tool, ToolRules
from troth.errors import UpstreamFault
from troth.reply.verdict import fault_of


async def kept(events: AsyncIterator[Event], rules: ToolRules) -> AsyncIterator[Event]:
    """The events. Raises UpstreamFault at a call that the rules forbid, and in place of an end without a call that
    they demand. Arguments are judged by their schema where that must be held: of strict functions, and of demanded
    calls."""
    callable_tools = {tool.name: tool for tool in rules.callable}
    said: dict[int, dict[int, list[str]]] = {}  # by choice and call: the pieces of its arguments
    called: dict[int, list[Tool]] = {}
    async for event in events:
        if isinstance(event, CallBegan):
            if event.name not in callable_tools:
                raise _broken(f"it calls {event.name[:64]!r}, which is none of the functions that may be called")
            called.setdefault(event.choice, []).append(callable_tools[event.name])
            if not rules.parallel and len(called[event.choice]) > 1:
                raise _broken("it has several calls")
        elif isinstance(event, CallSaid):
            said.setdefault(event.choice, {}).setdefault(event.index, []).append(event.text)
        elif isinstance(event, Ended) and event.finish != "length":
            tools, arguments = called.get(event.choice, []), said.get(event.choice, {})
            if rules.mode == "required" and not tools:
                raise _broken("a call was demanded, and there is none")
            for index, tool in enumerate(tools):
                if tool.strict or rules.mode == "required":
                    await _judge(tool, "".join(arguments.get(index, ())))
        yield event


async def _judge(tool: Tool, arguments: str) -> None:
    form = Form(kind="json_schema", body=dict(tool.parameters) or {"type": "object"}, path=tool.path)
    if (fault := await asyncio.to_thread(fault_of, arguments, form)) is not None:
        raise _broken(f"the arguments of {tool.name[:64]!r} do not fit their schema: {fault}")


def _broken(words: str) -> UpstreamFault:
    return UpstreamFault(f"The upstream's answer breaks the rules of its functions: {words}.", code="upstream_broken")
