"""OpenAI's chat completions (Create chat completion), as llama-server, vLLM and Radiance extend it.

`chat_request` reads the body, `chat_answer` writes the answer, and this module joins them to a
conversation. Streamed or not, an answer that nobody waits for any more is cancelled.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from typing import Any

from troth._generated.models import ChatCompletionRequest
from troth.conversation import Conversation, Opened, Prepared
from troth.dialects.chat_answer import ChatChunks, Heading, Telling, whole
from troth.dialects.chat_request import read
from troth.dialects.decision_form import DecisionForm
from troth.dialects.faults import BROKEN, fault_frame, stall_frames
from troth.dialects.fields import include_usage
from troth.dialects.omni import OmniChunks, check_alone, report_of
from troth.dialects.sse import KEEPALIVE
from troth.dialects.streams import START_SECONDS, Answering, Chunks, StreamSettings, frames
from troth.dialects.verbose import VerboseChunks, verbose_of
from troth.domain import Account, Answer, Ask, Call, Reply, Stream, Whole
from troth.envelopes import shape_of
from troth.omni.loop import Looping, Omni
from troth.reply.fold import fold


class OpenAIChat:
    """Answers the chat completion routes."""

    def __init__(self, conversation: Conversation, omni: Omni, form: DecisionForm, settings: StreamSettings) -> None:
        self._conversation = conversation
        self._omni = omni
        self._form = form
        self._settings = settings

    async def create_chat_completion(self, call: Call) -> Answer:
        """The answer, whole or as a stream. Every refusal that can come before the first byte is raised here.

        A stream is returned once its request has left the queue, or after one keepalive's time.
        """
        body: ChatCompletionRequest = call.body
        ask = read(body, call.given, call.parameters, call.caller)
        telling = Telling(
            logprobs=ask.logprobs is not None,
            thoughts=body.include_reasoning is not False and not (body.reasoning and body.reasoning.exclude),
            as_function=bool(body.functions),
            include_usage=include_usage(body),
        )
        if body.omni:
            return await self._looped(body, ask, call.account, telling)
        if self._form.takes(body.model):
            return await self._decided(body, ask, call.account, telling)
        opened = await self._conversation.open(ask, call.account)
        heading = self._heading(opened.plan.model.id)
        if not body.stream:
            try:
                reply = await fold(opened.events())
            finally:
                opened.cancel()
            return Whole(_whole(body, reply, _prepared(opened), heading, telling))
        chunks: Chunks = ChatChunks(heading, telling, choices=ask.choices)
        if body.verbose:
            chunks = VerboseChunks(chunks, heading, lambda: _prepared(opened))
        return await self._started(opened, chunks, heading)

    async def _started(self, opened: Opened | Looping, chunks: Chunks, heading: Heading) -> Stream:
        """The stream of an answer that has left the queue, or has waited for one keepalive's time. Raises Refusal."""
        stream, broken = await self._begun(opened, chunks, heading)
        async with AsyncExitStack() as stack:
            stack.push_async_callback(stream.aclose)
            await opened.wait_started(self._settings.keepalive_seconds or START_SECONDS)
            stack.pop_all()
        return Stream(stream, KEEPALIVE, broken)

    async def _begun(
        self, answering: Answering, chunks: Chunks, heading: Heading
    ) -> tuple[AsyncGenerator[bytes], bytes]:
        """The frames of the answer, whose end from now on cancels it, and the last one of a stream that breaks."""
        fault = fault_frame(shape_of("openai", self._settings.envelope))
        says = stall_frames(fault, heading.chunk, is_chat=True) if self._settings.envelope == "hal0" else fault
        stream = frames(answering, chunks, self._settings.first_event, says)
        await anext(stream)
        return stream, fault(BROKEN)

    async def _decided(self, body: ChatCompletionRequest, ask: Ask, account: Account, telling: Telling) -> Answer:
        """The answer of a model that only decides."""
        decided = await self._form.decide(body, ask, account)
        heading = self._heading(account.model)
        if not body.stream:
            return Whole(whole(await fold(decided.events()), heading, telling))
        stream, broken = await self._begun(decided, ChatChunks(heading, telling, choices=1), heading)
        return Stream(stream, KEEPALIVE, broken)

    async def _looped(self, body: ChatCompletionRequest, ask: Ask, account: Account, telling: Telling) -> Answer:
        """The answer of hal0's tool loop, and the calls that were made for it."""
        check_alone(ask.given)
        looping = await self._omni.open(ask, account)
        heading = self._heading(looping.prepared.plan.model.id)
        if not body.stream:
            reply = await fold(looping.events())
            return Whole(_whole(body, reply, looping.prepared, heading, telling) | report_of(looping))
        chunks: Chunks = ChatChunks(heading, telling, choices=1)
        if body.verbose:
            chunks = VerboseChunks(chunks, heading, lambda: looping.prepared)
        return await self._started(looping, OmniChunks(chunks, heading, looping), heading)

    def _heading(self, model: str) -> Heading:
        return Heading(model=model, system_fingerprint=self._settings.system_fingerprint)


def _whole(
    body: ChatCompletionRequest, reply: Reply, prepared: Prepared, heading: Heading, telling: Telling
) -> dict[str, Any]:
    answer = whole(reply, heading, telling)
    return answer | {"__verbose": verbose_of(prepared, reply)} if body.verbose else answer


def _prepared(opened: Opened) -> Prepared:
    return Prepared(opened.plan, opened.prompt, opened.engine)
