"""Decisions: questions about a state, each with named options, and how likely every option is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

QuestionKind = Literal["choice", "score", "noul"]


@dataclass(frozen=True, slots=True)
class Option:
    """One possible answer: the word that stands for it, and what it means."""

    key: str
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question. The options of a `score` are the levels 0, 1, …; those of a `noul` are yes and no."""

    id: str
    kind: QuestionKind
    instructions: str
    options: tuple[Option, ...]
    path: str  # of the client's field, for refusals


@dataclass(frozen=True, slots=True, kw_only=True)
class DecideAsk:
    """What a client wants decided."""

    state: str
    questions: Sequence[Question]
    model: str | None = None
    given: frozenset[str] = frozenset()
    owner: str = ""  # the caller, where callers are kept apart


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One question answered: a probability for each of its options, in their order, 1 in all."""

    question: Question
    probabilities: tuple[float, ...]
    prompt_tokens: int
    cached_tokens: int
