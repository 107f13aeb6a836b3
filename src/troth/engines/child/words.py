"""What the two processes say to each other: the facts of a decoder, answers, and faults by their name."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from troth.domain import Sampling, Steering, ThoughtCount, TokenIds
from troth.engines.base import DecodeFault, DecodeInterrupted, Decoder, Decodes, GrammarFault, Guide, Vocabulary
from troth.errors import EngineFault, Refusal

# What the channels are for, in the order in which the child is given their sockets.
CHANNELS = ("steps", "texts", "grammars", "orders")

FAULTS: Mapping[str, type[Exception]] = {
    "DecodeFault": DecodeFault,
    "DecodeInterrupted": DecodeInterrupted,
    "GrammarFault": GrammarFault,
    "EngineFault": EngineFault,
}


class ChildFault(Exception):
    """Something went wrong in the child that no protocol foresees; its log has the traceback."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """What a child is for, as it is told at its start, after the path where modules are found."""

    engine: Decodes
    log_level: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocables:
    """A vocabulary, but for its tokeniser."""

    size: int
    adds_bos: bool
    bos_text: str
    eos_text: str
    end_ids: frozenset[int]
    control_texts: tuple[str, ...]
    fill_ids: Mapping[str, int]
    chat_template: str | None
    pieces: list[bytes]
    spoken: Mapping[int, bytes]  # where it is not the piece

    @classmethod
    def of(cls, vocabulary: Vocabulary) -> Vocables:
        """All that there is to know of a vocabulary."""
        pieces = [vocabulary.piece(token) for token in range(vocabulary.size)]
        spoken = {token: said for token, piece in enumerate(pieces) if (said := vocabulary.spoken(token)) != piece}
        return cls(
            size=vocabulary.size,
            adds_bos=vocabulary.adds_bos,
            bos_text=vocabulary.bos_text,
            eos_text=vocabulary.eos_text,
            end_ids=vocabulary.end_ids,
            control_texts=vocabulary.control_texts,
            fill_ids=dict(vocabulary.fill_ids),
            chat_template=vocabulary.chat_template,
            pieces=pieces,
            spoken=spoken,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a loaded decoder says once and for all."""

    slots: int
    context_tokens: int
    batch_tokens: int
    can_cut: bool
    state_key: str
    compiles: bool
    proposes: bool
    description: Mapping[str, Any]
    vocables: Vocables

    @classmethod
    def of(cls, decoder: Decoder) -> Facts:
        """The facts of a decoder."""
        return cls(
            slots=decoder.slots,
            context_tokens=decoder.context_tokens,
            batch_tokens=decoder.batch_tokens,
            can_cut=decoder.can_cut,
            state_key=decoder.state_key,
            compiles=decoder.grammars is not None,
            proposes=decoder.proposer is not None,
            description=dict(decoder.describe()),
            vocables=Vocables.of(decoder.vocabulary),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplerOrder:
    """A sampler that is to be made, under the number that it will be known by. The grammar of its steering is left out
    and named by its number."""

    number: int
    sampling: Sampling
    seed: int
    prompt: TokenIds
    bias: Mapping[int, float]
    steering: Steering | None
    grammar: int | None
    tells: bool


@dataclass(frozen=True, slots=True)
class GuideState:
    """What a guide says after a token."""

    fault: str | None
    fault_field: str | None
    is_complete: bool
    thoughts: ThoughtCount

    @classmethod
    def of(cls, guide: Guide) -> GuideState:
        """What the guide says now."""
        return cls(guide.fault, guide.fault_field, guide.is_complete, guide.thoughts)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the load is, 0 to 1."""

    done: float


@dataclass(frozen=True, slots=True)
class Failed:
    """What a question raised: the name of the fault and its words."""

    name: str
    text: str

    @classmethod
    def of(cls, error: Exception, logger: logging.Logger) -> Failed:
        """The error in words; one that no protocol foresees is in the log too."""
        if isinstance(error, Refusal):
            return cls("EngineFault", error.message)
        name = type(error).__name__
        if name not in FAULTS:
            logger.error("event=child_failed error=%s", name, exc_info=error)
            return cls("ChildFault", f"{name}: {error}")
        return cls(name, str(error))

    def error(self) -> Exception:
        """The same, to be raised here."""
        return FAULTS.get(self.name, ChildFault)(self.text)


Answer = tuple[Any, Failed | None]  # what a question gave, or what it raised: a plain tuple pickles in no time
Pick = tuple[int, int, tuple[int, ...]]  # a sampler's number, a row, the draft that goes on from there
Picked = list[tuple[int, GuideState | None]]  # a token for the row, and one more for every token of the draft that came
Adds = list[tuple[int, Any, int, int]]  # slot, tokens, position, rows
