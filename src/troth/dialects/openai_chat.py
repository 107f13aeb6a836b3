"""OpenAI's chat completions (Create chat completion), as llama-server, vLLM and Radiance extend it.

`chat_request` reads the body, `chat_answer` writes the answer, and this module joins them to a
conversation. Streamed or not, an answer that nobody waits for any more is cancelled.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Literal

from troth import __version__
from troth._generated.models import ChatCompletionRequest
from troth.conversation import Conversation, Opened
from troth.dialects.chat_answer import ChatChunks, Heading, whole
from troth.dialects.chat_request import include_usage, read
from troth.dialects.faults import UNFORESEEN, openai_fault
from troth.dialects.sse import DONE, KEEPALIVE, data_frame
from troth.domain import Answer, Call, Stream, Whole
from troth.errors import Refusal
from troth.reply.fold import fold

START_SECONDS = 10.0  # how long a stream's status line waits for the queue when keepalives are off


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamSettings:
    """How answers are streamed (configuration section `stream`), and the name of what answers."""

    first_event: Literal["token", "role"] = "token"
    keepalive_seconds: float = 10.0  # 0: no keepalives
    system_fingerprint: str = f"troth-{__version__}"


class OpenAIChat:
    """Answers the chat completion routes."""

    def __init__(self, conversation: Conversation, settings: StreamSettings) -> None:
        self._conversation = conversation
        self._settings = settings

    async def create_chat_completion(self, call: Call) -> Answer:
        """The answer, whole or as a stream. Every refusal that can come before the first byte is raised here.

        A stream is returned once its request has left the queue, or after one keepalive's time.
        """
        body: ChatCompletionRequest = call.body
        ask = read(body, call.given, call.parameters, call.caller)
        opened = await self._conversation.open(ask, call.account)
        heading = Heading(model=opened.plan.model.id, system_fingerprint=self._settings.system_fingerprint)
        if not body.stream:
            try:
                reply = await fold(opened.events())
            finally:
                opened.cancel()
            return Whole(whole(reply, heading, logprobs=ask.logprobs is not None))
        chunks = ChatChunks(heading, choices=ask.choices, include_usage=include_usage(body))
        stream = frames(opened, chunks, self._settings.first_event)
        await anext(stream)
        async with AsyncExitStack() as stack:
            stack.push_async_callback(stream.aclose)
            await opened.wait_started(self._settings.keepalive_seconds or START_SECONDS)
            stack.pop_all()
        return Stream(stream, KEEPALIVE, UNFORESEEN)


async def frames(opened: Opened, chunks: ChatChunks, first_event: str) -> AsyncGenerator[bytes]:
    """The frames of one answer, after one empty item that whoever creates the generator takes at once.

    A generator that was never entered runs no `finally` when it is dropped: the empty item enters it,
    so that from then on closing or losing the stream cancels the request.
    """
    try:
        yield b""
        if first_event == "role":
            yield chunks.open_all()
        async for event in opened.events():
            if frame := chunks.write(event):
                yield frame
        yield DONE
    except Refusal as refusal:
        yield data_frame(openai_fault(refusal))
    finally:
        opened.cancel()
