"""Moderation: texts, pictures and conversations, and how safe a guard model or a classifier finds each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from troth.domain.asking import Turn
from troth.domain.media import Medium

Looked = Literal["text", "image"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """One thing that is judged: a conversation, of which a single text is the shortest."""

    turns: tuple[Turn, ...]
    path: str  # of the client's field, for refusals

    @property
    def has_text(self) -> bool:
        """True when something is said."""
        return any(turn.text.strip() or turn.calls or turn.reasoning for turn in self.turns)

    @property
    def media(self) -> tuple[Medium, ...]:
        """What is shown."""
        return tuple(placed.medium for turn in self.turns for placed in turn.media)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModerateAsk:
    """What a client wants judged."""

    subjects: Sequence[Subject]
    model: str | None = None
    given: frozenset[str] = frozenset()
    owner: str = ""  # the caller, where callers are kept apart
    strict: bool = False  # what is controversial is flagged too


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What the guard says of one subject. Labels are the model's own words; a guard's shares are 1 in all."""

    flagged: bool
    label: str
    labels: Mapping[str, float]
    categories: Mapping[str, float]  # OpenAI's names first, then the guard's own: how likely each is what is wrong
    wrong: frozenset[str]  # the categories that are
    applied: Mapping[str, tuple[Looked, ...]]  # what each category was looked for in


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdicts:
    """The judgements of a request, and who judged the pictures in it, if there were any."""

    judgements: Sequence[Judgement]
    image_model: str | None = None
