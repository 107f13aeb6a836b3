"""The token streams of one model under different circumstances, to be compared token for token."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from troth.domain import Job, Piece, Prompt, Said, Sampling, TokenIds
from troth.engines.llama_cpp import LlamaCpp, LlamaCppOptions
from troth.scheduler.lane import Lane, LaneSettings
from troth.scheduler.pace import Pace
from troth.scheduler.prefix_cache import CacheLimits

CONTEXT_TOKENS = 512


class Ids:
    """An interpreter that keeps the token ids."""

    stopped = None
    finish = None

    def __init__(self) -> None:
        self.tokens: list[int] = []

    def feed(self, piece: Piece) -> Said | None:
        self.tokens.append(piece.token_id)
        return None

    def flush(self) -> Said | None:
        return None


@dataclass(frozen=True, slots=True)
class Circumstance:
    """How the same prompts are computed."""

    at_once: int = 1
    read_tokens: int = 512
    batch_tokens: int = 512
    micro_batch_tokens: int | None = None
    repeats: int = 1  # with the cache on, the second time starts from saved states
    draft_tokens_max: int = 0


CIRCUMSTANCES: Mapping[str, Circumstance] = {
    "batched by 8": Circumstance(at_once=8),
    "in chunks of 37": Circumstance(read_tokens=37),
    "in batches of 128": Circumstance(batch_tokens=128),
    "in micro-batches of 64": Circumstance(micro_batch_tokens=64),
    "from the cache": Circumstance(repeats=2),
    "speculated": Circumstance(draft_tokens_max=8),
    "all together": Circumstance(at_once=8, read_tokens=37, repeats=2, draft_tokens_max=8),
}


def prompts(count: int, vocabulary_size: int) -> list[TokenIds]:
    """Prompts of 20 to 140 tokens, half of them sharing a beginning. Senseless, but always the same."""
    chance = np.random.default_rng(7)
    shared = chance.integers(0, vocabulary_size, 60, dtype=np.int32)
    made = []
    for number in range(count):
        own = chance.integers(0, vocabulary_size, int(chance.integers(20, 80)), dtype=np.int32)
        # A run that repeats gives prompt lookup something to find.
        made.append(np.concatenate([shared, own, own[:20]] if number % 2 else [own, own[:12]]))
    return made


def streams(
    model: Path, how: Circumstance, count: int, answer_tokens: int, determinism: str = "strict"
) -> tuple[list[list[int]], bool]:
    """The greedy answer of every prompt under `how`, and whether the engine promises that they are the same."""
    options = LlamaCppOptions.model_validate(
        {
            "context_tokens": CONTEXT_TOKENS,
            "slots": how.at_once,
            "batch_tokens": how.batch_tokens,
            "micro_batch_tokens": how.micro_batch_tokens,
            "determinism": determinism,
        }
    )
    settings = LaneSettings(
        pace=Pace(min(how.read_tokens, how.batch_tokens), 64),
        cache=CacheLimits(1 << 30 if how.repeats > 1 else 0),
        draft_tokens_max=how.draft_tokens_max,
    )

    async def run() -> tuple[list[list[int]], bool]:
        lane = Lane("model", LlamaCpp(model, options), settings)
        await lane.start(lambda fraction: True)
        try:
            promised = lane.report().details["determinism"]["promised"]
            asked = prompts(count, lane.vocabulary.size)
            answers: list[list[int]] = []
            for _ in range(how.repeats):
                answers = await _answers(lane, asked, answer_tokens, how.at_once)
            return answers, promised
        finally:
            await lane.stop()

    return asyncio.run(run())


async def _answers(lane: Lane, asked: Sequence[TokenIds], answer_tokens: int, at_once: int) -> list[list[int]]:
    gate = asyncio.Semaphore(at_once)

    async def one(prompt: TokenIds) -> list[int]:
        async with gate:
            ids = Ids()
            job = Job(
                prompt=Prompt(prompt, answer_tokens, lane.context_tokens),
                sampling=Sampling(temperature=0),
                seed=1,
                interpreters=[ids],
                ignore_eos=False,
            )
            async for _ in lane.submit(job).events():
                continue
            return ids.tokens

    return list(await asyncio.gather(*(one(prompt) for prompt in asked)))
