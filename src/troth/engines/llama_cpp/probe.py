"""Does this model, on this machine, compute the same numbers whatever it is computed beside?

Whether the logits of a sequence depend on its batch is decided by the kernels that llama.cpp picks for
the weights' format, the processor and the sizes at hand. Nothing declares it, so it is tested: a second
of work at load, and only a model that passes bit for bit is promised to be deterministic.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from troth.domain import TokenIds

if TYPE_CHECKING:
    from troth.engines.llama_cpp.decoder import LlamaDecoder

LENGTHS = (66, 18, 10)  # the first is longer than a tile of the attention kernel, 64 rows
CHUNK = 7
Logits = npt.NDArray[np.float32]


def probe(decoder: LlamaDecoder) -> dict[str, Any]:
    """What held, JSON-ready: `promised` is true when everything did. The decoder is empty afterwards."""
    started = time.perf_counter()
    prompts = _prompts(decoder)
    alone = [_whole(decoder, prompts[0])]
    restored = _restored(decoder, prompts[0])
    alone += [_whole(decoder, prompt) for prompt in prompts[1:]]
    outcome = {
        "batched": _batched(decoder, prompts, alone),
        "chunked": np.array_equal(_chunked(decoder, prompts[0]), alone[0]),
        "restored": np.array_equal(restored, alone[0]),
        "continued": np.array_equal(_continued(decoder, prompts[1]), alone[1]),
    }
    for slot in range(decoder.slots):
        decoder.forget(slot, 0)
    return {
        "promised": all(outcome.values()),
        "probe": outcome,
        "probe_seconds": round(time.perf_counter() - started, 3),
    }


def _prompts(decoder: LlamaDecoder) -> list[TokenIds]:
    """Token sequences without sense, the same at every start."""
    chance = np.random.default_rng(20)
    room = decoder.context_tokens - 1
    return [chance.integers(0, decoder.vocabulary.size, min(length, room), dtype=np.int32) for length in LENGTHS]


def _whole(decoder: LlamaDecoder, prompt: TokenIds) -> Logits:
    """The last logits of a prompt that is computed alone and at once, as far as the batch allows."""
    return _in_pieces(decoder, prompt, decoder.batch_tokens)


def _chunked(decoder: LlamaDecoder, prompt: TokenIds) -> Logits:
    return _in_pieces(decoder, prompt, CHUNK)


def _in_pieces(decoder: LlamaDecoder, prompt: TokenIds, size: int, start: int = 0) -> Logits:
    """Slot 0 holds `start` tokens already and is given the rest in pieces."""
    decoder.forget(0, start)
    row = -1
    for position in range(start, len(prompt), size):
        piece = prompt[position : position + size]
        decoder.begin()
        row = decoder.add(0, piece, position, rows=1 if position + len(piece) == len(prompt) else 0)
        decoder.decode()
    return decoder.logits(row)


def _batched(decoder: LlamaDecoder, prompts: Sequence[TokenIds], alone: Sequence[Logits]) -> bool:
    """True when the prompts, computed in one batch, give what they gave alone."""
    together = list(prompts)[: decoder.slots]
    if sum(len(prompt) for prompt in together) > decoder.batch_tokens or len(together) < 2:
        together = list(prompts)[1 : 1 + decoder.slots]
        alone = alone[1:]
    decoder.begin()
    rows = []
    for slot, prompt in enumerate(together):
        decoder.forget(slot, 0)
        rows.append(decoder.add(slot, prompt, 0, rows=1))
    decoder.decode()
    return all(np.array_equal(decoder.logits(row), alone[k]) for k, row in enumerate(rows))


def _restored(decoder: LlamaDecoder, prompt: TokenIds) -> Logits:
    """The prompt, which slot 0 holds, continues from a copy of that state, cut to a half where it can be cut."""
    if not decoder.can_cut:
        _in_pieces(decoder, prompt[: len(prompt) // 2], decoder.batch_tokens)
    state = decoder.save(0)
    decoder.forget(0, 0)
    decoder.restore(0, state, len(prompt) // 2)
    return _in_pieces(decoder, prompt, decoder.batch_tokens, len(prompt) // 2)


def _continued(decoder: LlamaDecoder, prompt: TokenIds) -> Logits:
    """The prompt's second half comes token by token, as an answer does."""
    half = len(prompt) // 2
    _in_pieces(decoder, prompt[:half], decoder.batch_tokens)
    return _in_pieces(decoder, prompt, 1, half)
