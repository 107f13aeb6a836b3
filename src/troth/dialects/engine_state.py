"""The engines as the status routes ask them: which of them a request means, and what they tell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from troth.dialects.served import ModelState, default_chat
from troth.domain import Call
from troth.engines.base import CacheReport, ConversationReport, SlotReport
from troth.errors import NotFound, NotImplementedHere

CHAT = "chat"
RATE_DIGITS = 6


class Observed(Protocol):
    """An engine with slots and a prefix cache. Every method raises Unavailable while the model loads."""

    def slots(self) -> list[SlotReport]:
        """Every slot now, without waiting for the engine."""

    def cache(self) -> CacheReport:
        """The prefix cache now, without waiting for the engine."""

    def conversations(self, owner: str | None = None) -> list[ConversationReport]:
        """The saved states, an owner's or all, the most recently used first, without waiting for the engine."""

    async def forget(self, *, state_id: str | None = None, label: str | None = None, owner: str | None = None) -> int:
        """The saved states of this id, label and owner, None meaning any, are gone; returns how many they were."""

    async def release(self, handle: str, owner: str | None = None) -> bool:
        """Nothing is held under the owner's handle any more. True if something was."""


@dataclass(frozen=True, slots=True)
class Served:
    """A chat model now, and the engine to ask about it."""

    state: ModelState
    engine: Observed

    @property
    def name(self) -> str:
        """The model's id."""
        return self.state.model.id


def owner_of(call: Call) -> str | None:
    """Whose states the caller sees and may forget; None: everybody's, where callers are not kept apart."""
    return call.caller or None


class Engines:
    """Finds the chat models that a request is about."""

    def __init__(self, served: Callable[[], Sequence[ModelState]], find: Callable[[str], Observed]) -> None:
        """`served` returns at once; `find` gives the engine of a chat model by the model's id, or raises Unavailable
        while it is not in memory."""
        self._served = served
        self._find = find

    def one(self, name: str | None) -> Served:
        """The chat model of this id or alias; without a name the default one.

        Raises NotFound naming the ids that are served, NotImplementedHere when there is no chat model, Unavailable when
        it is not in memory.
        """
        chats = tuple(state for state in self._served() if state.model.kind == CHAT)
        default = default_chat(chats)
        if default is None:
            raise NotImplementedHere("No chat model is configured here, and this route tells of one.")
        if not name:
            return self._of(default)
        for state in chats:
            if name == state.model.id or name in state.model.aliases:
                return self._of(state)
        known = ", ".join(state.model.id for state in chats)
        raise NotFound(f"There is no chat model {name!r}. Served here: {known}.", param="model", code="model_not_found")

    def several(self, name: str | None) -> list[Served]:
        """The chat model of this name, or without one every chat model that is ready.

        When none is ready the default one is returned: asking it raises Unavailable in its own words.
        """
        if name:
            return [self.one(name)]
        ready = [state for state in self._served() if state.model.kind == CHAT and state.report.status == "ready"]
        return [self._of(state) for state in ready] or [self.one(None)]

    def _of(self, state: ModelState) -> Served:
        return Served(state, self._find(state.model.id))


def held_tokens(slot: SlotReport) -> int:
    """The tokens in a slot's memory: of the prompt what was read, and the answer but for its newest token."""
    return min(slot.cached_tokens + slot.read_tokens + max(slot.answer_tokens - 1, 0), slot.context_tokens)


def share(part: float, whole: float) -> float:
    """`part` of `whole`, 0 of nothing."""
    return round(part / whole, RATE_DIGITS) if whole else 0.0
