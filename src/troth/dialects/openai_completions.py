"""OpenAI's completions (Create completion), as llama-server, vLLM and Radiance extend it."""

from __future__ import annotations

from contextlib import AsyncExitStack

from troth._generated.models import CompletionRequest
from troth.conversation import Conversation
from troth.dialects.completion_answer import CompletionChunks, Heading, whole
from troth.dialects.completion_request import read
from troth.dialects.faults import BROKEN, fault_frame, stall_frames
from troth.dialects.fields import include_usage
from troth.dialects.sse import KEEPALIVE
from troth.dialects.streams import START_SECONDS, StreamSettings, frames
from troth.domain import Answer, Call, Stream, Whole
from troth.envelopes import shape_of
from troth.reply.fold import fold
from troth.together import Together


class OpenAICompletions:
    """Answers the completion route."""

    def __init__(self, conversation: Conversation, settings: StreamSettings, prompts_max: int) -> None:
        """`prompts_max`: prompts of one request."""
        self._conversation = conversation
        self._settings = settings
        self._prompts_max = prompts_max

    async def create_completion(self, call: Call) -> Answer:
        """The answer, whole or as a stream. Every refusal that can come before the first byte is raised here."""
        body: CompletionRequest = call.body
        asks = read(body, call.given, call.parameters, call.caller, self._prompts_max)
        together = await Together.open(self._conversation, asks, call.account)
        first = together.prepared[0]
        heading = Heading(model=first.plan.model.id, system_fingerprint=self._settings.system_fingerprint)
        texts = [each.prompt.text if body.echo else "" for each in together.prepared]
        echoes = [text for text in texts for _ in range(first.plan.ask.choices)]
        if not body.stream:
            try:
                reply = await fold(together.events())
            finally:
                together.cancel()
            return Whole(whole(reply, heading, logprobs=body.logprobs is not None, echoes=echoes))
        chunks = CompletionChunks(heading, echoes=echoes, include_usage=include_usage(body))
        fault = fault_frame(shape_of("openai", self._settings.envelope))
        says = stall_frames(fault, heading.body, is_chat=False) if self._settings.envelope == "hal0" else fault
        stream = frames(together, chunks, self._settings.first_event, says)
        await anext(stream)
        async with AsyncExitStack() as stack:
            stack.push_async_callback(stream.aclose)
            await together.wait_started(self._settings.keepalive_seconds or START_SECONDS)
            stack.pop_all()
        return Stream(stream, KEEPALIVE, fault(BROKEN))
