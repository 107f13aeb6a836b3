"""llama-server's own generation routes, for llama.vim, llama.vscode and scripts."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Any

from troth._generated.models import InfillRequest, NativeCompletionRequest
from troth.conversation import Conversation
from troth.dialects.faults import BROKEN, fault_frame
from troth.dialects.native_answer import NativeAnswers
from troth.dialects.native_request import read_completion, read_infill
from troth.dialects.sse import KEEPALIVE
from troth.dialects.streams import START_SECONDS, StreamSettings, frames
from troth.domain import Answer, Ask, Call, Stream, Whole
from troth.envelopes import shape_of
from troth.reply.fold import fold
from troth.together import Together


class Native:
    """Answers llama-server's generation routes."""

    def __init__(self, conversation: Conversation, settings: StreamSettings, prompts_max: int) -> None:
        """`prompts_max`: prompts of one request."""
        self._conversation = conversation
        self._settings = settings
        self._prompts_max = prompts_max

    async def native_completion(self, call: Call) -> Answer:
        """The answer to each prompt, whole or as a stream."""
        body: NativeCompletionRequest = call.body
        return await self._answer(call, read_completion(body, call.given, call.caller, self._prompts_max))

    async def infill(self, call: Call) -> Answer:
        """The text for a gap. Raises NotImplementedHere when the model has no tokens for gaps."""
        body: InfillRequest = call.body
        return await self._answer(call, [read_infill(body, call.given, call.caller)])

    async def _answer(self, call: Call, asks: list[Ask]) -> Answer:
        """Every refusal that can come before the first byte is raised here."""
        body: Any = call.body  # either request: the fields that are looked at here are common to both
        together = await Together.open(self._conversation, asks, call.account)
        answers = NativeAnswers(
            together.prepared, tokens=bool(body.return_tokens), fields=tuple(body.response_fields or ())
        )
        if not body.stream:
            try:
                reply = await fold(together.events())
            finally:
                together.cancel()
            return Whole(answers.whole(reply))
        fault = fault_frame(shape_of("native", self._settings.envelope))
        stream = frames(together, answers.chunks(), self._settings.first_event, fault)
        await anext(stream)
        async with AsyncExitStack() as stack:
            stack.push_async_callback(stream.aclose)
            await together.wait_started(self._settings.keepalive_seconds or START_SECONDS)
            stack.pop_all()
        return Stream(stream, KEEPALIVE, fault(BROKEN))
