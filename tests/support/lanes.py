"""Real lanes on scripted decoders, as the status routes see them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import numpy as np

from tests.support.decoder import ScriptedDecoder, ScriptedEngine
from troth.dialects.engine_state import Engines
from troth.dialects.served import ModelState
from troth.domain import Account, Call, FinishReason, Job, Piece, Prompt, Said, Sampling, ServedModel, Tag
from troth.scheduler.lane import Lane, LaneSettings
from troth.scheduler.prefix_cache import CacheLimits
from troth.scheduler.ticket import LaneTicket

# Without drafts every batch of a lone request gives one token.
KEEPING = LaneSettings(cache=CacheLimits(budget_bytes=10_000, tokens_min=2), draft_tokens_max=0)
FORGETFUL = LaneSettings(cache=CacheLimits(budget_bytes=0))
ALIASES = {"smol": ("agent",)}


class Aloud:
    """An interpreter that says every token at once."""

    stopped: str | None = None
    finish: FinishReason | None = None

    def feed(self, piece: Piece) -> Said | None:
        """The letter."""
        return Said(piece.piece.decode())

    def flush(self) -> Said | None:
        """Nothing was held back."""
        return None


def always(token: int) -> ScriptedDecoder:
    """A decoder whose every answer is this token until the budget ends it."""
    return ScriptedDecoder(picker=lambda held, seed: token)


@asynccontextmanager
async def lanes(
    decoders: Mapping[str, ScriptedDecoder], settings: LaneSettings = KEEPING
) -> AsyncIterator[dict[str, Lane]]:
    """A started lane for each decoder, by the name of its model."""
    started = {name: Lane(name, ScriptedEngine(decoder), settings) for name, decoder in decoders.items()}
    for lane in started.values():
        await lane.start(lambda fraction: None)
    try:
        yield started
    finally:
        for lane in started.values():
            await lane.stop()


def state(name: str, lane: Lane) -> ModelState:
    """The model of a lane now."""
    model = ServedModel(name, "chat", "scripted", ALIASES.get(name, ()))
    return ModelState(model=model, report=lane.report())


def engines(running: Mapping[str, Lane]) -> Engines:
    """The lanes as the routes find them."""
    return Engines(lambda: [state(name, lane) for name, lane in running.items()], running.__getitem__)


def call(parameters: Any) -> Call:
    """A request with these parameters and no body."""
    return Call("state", None, parameters, frozenset(), Account(), True)


def submit(lane: Lane, prompt: Sequence[int], answer_tokens: int = 2, tag: Tag | None = None) -> LaneTicket:
    """A request in the line."""
    tokens = np.array(prompt, dtype=np.int32)
    return lane.submit(
        Job(
            prompt=Prompt(tokens, answer_tokens, 256),
            sampling=Sampling(temperature=0.5),
            seed=7,
            interpreters=[Aloud()],
            tag=tag or Tag(),
        )
    )


async def serve(lane: Lane, prompt: Sequence[int], answer_tokens: int = 2, tag: Tag | None = None) -> None:
    """A request has been answered, and its state saved."""
    async for _ in submit(lane, prompt, answer_tokens, tag).events():
        continue


class Gate:
    """Holds a decoder's thread inside `decode`, from batch number `after` on, until opened."""

    def __init__(self, after: int = 1) -> None:
        self._left = after
        self._reached = threading.Event()
        self._opened = threading.Event()

    def __call__(self, decoder: ScriptedDecoder) -> None:
        """The decoder's `before_decode`."""
        self._left -= 1
        if self._left <= 0:
            self._reached.set()
            assert self._opened.wait(5)

    async def wait_reached(self) -> None:
        """The decoder stands at the gate."""
        assert await asyncio.to_thread(self._reached.wait, 5)

    def open(self) -> None:
        """The decoder goes on."""
        self._opened.set()
