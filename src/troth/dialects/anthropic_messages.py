"""Anthropic's Messages API, for Claude Code and the Anthropic SDKs."""

from __future__ import annotations

from troth._generated.models import MessagesRequest
from troth.conversation import Conversation
from troth.dialects.messages_answer import PING, UNFORESEEN, Heading, MessageEvents, whole
from troth.dialects.messages_request import read
from troth.dialects.streams import frames
from troth.domain import Answer, Ask, Call, Stream, Whole
from troth.reply.fold import fold


class AnthropicMessages:
    """Answers the routes of messages."""

    def __init__(self, conversation: Conversation, *, strip_billing_header: bool) -> None:
        self._conversation = conversation
        self._strips = strip_billing_header

    async def create_message(self, call: Call) -> Answer:
        """The message, whole or as a stream, which opens at once: its clients count silence from the first event."""
        body: MessagesRequest = call.body
        opened = await self._conversation.open(self._ask(call), call.account)
        heading = Heading(
            model=opened.plan.model.id,
            request_id=call.account.request_id,
            prompt_tokens=len(opened.prompt.tokens),
        )
        if not body.stream:
            try:
                return Whole(whole(await fold(opened.events()), heading))
            finally:
                opened.cancel()
        events = MessageEvents(heading)
        stream = frames(opened, events, "role", events.fault)
        await anext(stream)
        return Stream(stream, PING, UNFORESEEN)

    async def count_message_tokens(self, call: Call) -> Answer:
        """The prompt's tokens of such a request. Raises what the request itself would, but for its length."""
        _, written = await self._conversation.written(self._ask(call), call.account)
        return Whole({"input_tokens": len(written.tokens)})

    def _ask(self, call: Call) -> Ask:
        return read(call.body, call.given, call.caller, strip_billing_header=self._strips)
