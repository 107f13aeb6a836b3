"""OpenAI's Responses API, for Codex and the OpenAI SDKs. There is no store: the history comes with each request."""

from __future__ import annotations

from troth._generated.models import ResponsesRequest
from troth.conversation import Conversation
from troth.dialects.responses_answer import Heading, ResponseEvents, whole
from troth.dialects.responses_request import read
from troth.dialects.responses_tools import toolbox_of
from troth.dialects.streams import frames
from troth.domain import Answer, Call, Stream, Whole
from troth.reply.fold import fold


class OpenAIResponses:
    """Answers the routes of responses."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation

    async def create_response(self, call: Call) -> Answer:
        """The answer, whole or as a stream, which opens at once: its clients count silence from the first event."""
        body: ResponsesRequest = call.body
        toolbox = toolbox_of(body)
        ask = read(body, call.given, call.parameters, call.caller, toolbox)
        opened = await self._conversation.open(ask, call.account)
        heading = Heading(
            plan=opened.plan,
            instructions=body.instructions,
            parallel_tool_calls=body.parallel_tool_calls is not False,
            toolbox=toolbox,
        )
        if not body.stream:
            try:
                return Whole(whole(await fold(opened.events()), heading))
            finally:
                opened.cancel()
        events = ResponseEvents(heading)
        stream = frames(opened, events, "role", events.fault)
        await anext(stream)
        return Stream(stream, events.keepalive, events.broken)

    async def count_response_tokens(self, call: Call) -> Answer:
        """The prompt's tokens of such a request. Raises what the request itself would, but for its length."""
        ask = read(call.body, call.given, None, call.caller, toolbox_of(call.body))
        _, written = await self._conversation.written(ask, call.account)
        return Whole({"object": "response.input_tokens", "input_tokens": len(written.tokens)})
