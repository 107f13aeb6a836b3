"""Doing what a model called for. Whatever fails is a result that the model reads; nothing is raised for it."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from troth.conversation import Conversation
from troth.domain import Account, Ask, ServedModel, Tag, Talk, ToolCall, Turn
from troth.domain.vectors import EmbedAsk, RerankAsk, Values
from troth.errors import BadRequest, Refusal
from troth.omni.offer import EMBED, RERANK, ROUTE, targets
from troth.reply.fold import fold
from troth.vectors import Vectors

logger = logging.getLogger(__name__)

DECIMALS = 4  # of a similarity, which the model reads
UNSAID = frozenset({"embeddings"})  # thousands of numbers that a model can do nothing with

Arguments = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class OmniLimits:
    """How long the loop may go on."""

    rounds_max: int  # answers of the model, the last one included
    tool_seconds_max: float
    chat_seconds_max: float  # of the tool that asks another model


@dataclass(frozen=True, slots=True)
class ToolResult:
    """One call that was done, or that failed: its result then has `error` alone."""

    call: ToolCall
    result: Mapping[str, Any]
    seconds: float

    @property
    def told(self) -> str:
        """What the model reads of it."""
        return json.dumps({key: value for key, value in self.result.items() if key not in UNSAID}, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Tools:
    """Does the calls of a model."""

    conversation: Conversation
    vectors: Vectors
    catalogue: Sequence[ServedModel]
    limits: OmniLimits

    async def run(self, call: ToolCall, ask: Ask, caller: ServedModel) -> ToolResult:
        """The result of the call, or what is wrong with it. `ask` is what the client asked of the caller."""
        started = time.perf_counter()
        seconds = self.limits.chat_seconds_max if call.name == ROUTE else self.limits.tool_seconds_max
        result: Mapping[str, Any]
        try:
            async with asyncio.timeout(seconds):
                result = await self._work(call, ask, caller)
        except TimeoutError:
            result = {"error": f"{call.name} took longer than {seconds:g} seconds"}
        except Refusal as refusal:
            result = {"error": refusal.message}
        except Exception:  # the boundary of a tool: whatever failed is for the log, and the model goes on
            logger.exception("event=tool_failed tool=%s", call.name)
            result = {"error": f"{call.name} failed"}
        return ToolResult(call, result, time.perf_counter() - started)

    def _work(self, call: ToolCall, ask: Ask, caller: ServedModel) -> Awaitable[Mapping[str, Any]]:
        arguments = _arguments(call)
        match call.name:
            case "embed_text":
                return self._embed(arguments)
            case "rerank_documents":
                return self._rerank(arguments)
            case "route_to_chat":
                return self._ask(arguments, ask, caller)
        raise BadRequest(f"there is no tool {call.name}; there are {EMBED}, {RERANK} and {ROUTE}")

    async def _embed(self, arguments: Arguments) -> Mapping[str, Any]:
        items = _texts(arguments, "input")
        embedded = await self.vectors.embed(EmbedAsk(items=items, is_list=True), Account())
        return {
            "model": embedded.model,
            "dimensions": int(embedded.vectors.shape[1]),
            "similarities": _similarities(embedded.vectors),
            "embeddings": embedded.vectors.tolist(),
        }

    async def _rerank(self, arguments: Arguments) -> Mapping[str, Any]:
        documents, most = _texts(arguments, "documents"), arguments.get("top_n")
        if most is not None and (not isinstance(most, int) or isinstance(most, bool) or most < 1):
            raise BadRequest("top_n is a number from 1 on")
        ranked = await self.vectors.rerank(RerankAsk(query=_text(arguments, "query"), documents=documents), Account())
        scores: list[float] = ranked.shares.tolist()
        best = sorted(range(len(documents)), key=lambda index: -scores[index])[:most]
        results = [{"index": i, "relevance_score": scores[i], "document": documents[i]} for i in best]
        return {"model": ranked.model, "results": results}

    async def _ask(self, arguments: Arguments, ask: Ask, caller: ServedModel) -> Mapping[str, Any]:
        """The answer of another model, which is offered no tools: nothing goes deeper."""
        others = {model.id: model for model in targets(self.catalogue, caller)}
        target = others.get(_text(arguments, "target"))
        if target is None:
            raise BadRequest(f"target is another chat model than the caller; there are: {', '.join(others) or 'none'}")
        prompt, context = Turn(role="user", text=_text(arguments, "prompt")), arguments.get("context")
        turns = (Turn(role="system", text=_text(arguments, "context")), prompt) if context else (prompt,)
        wanted = Ask(
            source=Talk(turns),
            model=target.id,
            seed=ask.seed,
            budget_tokens=ask.budget_tokens,
            priority=ask.priority,
            tag=Tag(owner=ask.tag.owner, salt=ask.tag.salt),
        )
        opened = await self.conversation.open(wanted, Account())
        try:
            reply = await fold(opened.events())
        finally:
            opened.cancel()
        choice, usage = reply.choices[0], reply.usage
        return {
            "model": target.id,
            "content": choice.text,
            "finish_reason": choice.finish,
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.answer_tokens,
        }


def same(call: ToolCall) -> tuple[str, str]:
    """What two calls have in common that would have the same result."""
    try:
        return call.name, json.dumps(json.loads(call.arguments), sort_keys=True)
    except (ValueError, RecursionError):
        return call.name, call.arguments


def _arguments(call: ToolCall) -> Arguments:
    try:
        arguments = json.loads(call.arguments)
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"the arguments are no JSON: {error}") from error
    if not isinstance(arguments, dict):
        raise BadRequest("the arguments are one JSON object")
    return arguments


def _text(arguments: Arguments, name: str) -> str:
    value = arguments.get(name)
    if not _is_text(value):
        raise BadRequest(f"{name} is a text that is not empty")
    return str(value)


def _texts(arguments: Arguments, name: str) -> tuple[str, ...]:
    value = arguments.get(name)
    if not isinstance(value, list) or not value or not all(map(_is_text, value)):
        raise BadRequest(f"{name} is a list of texts that are not empty")
    return tuple(value)


def _is_text(value: Any) -> bool:
    """Half of a surrogate pair can be written in JSON, and is nothing that can be read or told."""
    return isinstance(value, str) and bool(value) and not any("\ud800" <= letter <= "\udfff" for letter in value)


def _similarities(vectors: Values) -> list[list[float]]:
    """The cosine of each two, [texts, texts]."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    directions = vectors / np.where(lengths > 0, lengths, 1)
    rounded: list[list[float]] = np.round((directions @ directions.T).astype(np.float64), DECIMALS).tolist()
    return rounded
