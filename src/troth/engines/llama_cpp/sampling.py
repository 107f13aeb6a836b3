"""How a sequence picks its next token: llama.cpp's samplers, in the order that the request asks for.

Order and defaults are llama-server's (common/sampling): the logit bias first, then the chain, then the
draw. Samplers that would change nothing are left out, which llama.cpp does as well. A sequence that only
ever takes the most likely token needs no chain at all: its row is searched by numpy.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from troth.domain import Sampling, TokenIds
from troth.engines.guidance import Guide
from troth.engines.llama_cpp.candidates import Allowed, Candidates, Logits
from troth.engines.llama_cpp.library import Library

Sample = Callable[["Chain"], int]
Draw = list[tuple[int, float]]  # tokens with their probabilities, best first

MIROSTAT_CANDIDATES = 100  # llama-server's m
FEW = 8  # a share of the vocabulary that is less than one of so many
DRAWS_MAX = 256  # of tokens, until one may come: the last is taken, and is a fault if it may not


class Greedy:
    """Takes the most likely token, some logits raised or lowered first."""

    guide: Guide | None = None

    def __init__(self, bias: Mapping[int, float] | None = None) -> None:
        self._ids = np.array(list(bias or ()), np.int64)
        self._values = np.array(list((bias or {}).values()), np.float32)

    def pick(self, logits: Logits) -> int:
        """The token of this row, [vocabulary], which is as it was afterwards."""
        if not len(self._ids):
            return int(logits.argmax())
        raw = logits[self._ids]
        logits[self._ids] = raw + self._values
        token = int(logits.argmax())
        logits[self._ids] = raw
        return token

    def drawn(self, token: int) -> Draw:
        """The latest draw, which gave `token`: nothing else could come."""
        return [(token, 1.0)]

    def close(self) -> None:
        """Nothing to give back."""


class Chain:
    """A chain of llama.cpp's samplers that belongs to one sequence."""

    guide: Guide | None = None

    def __init__(
        self, library: Library, candidates: Candidates, *, tells: bool = False, weighs_impossible: bool = False
    ) -> None:
        """One that `tells` keeps the candidates of its latest draw. `weighs_impossible`: to one of its samplers a token
        that cannot come is not the same as one that is not there."""
        self.reads_rows = not tells and not weighs_impossible
        self.tells = tells
        self.latest: npt.NDArray[Any] | None = None  # of CANDIDATE; None: nothing was left to chance
        self._library = library
        self._candidates = candidates
        self._api = library.api
        self.pointer = self._api.llama_sampler_chain_init(self._api.llama_sampler_chain_default_params())

    def add(self, sampler: Any) -> None:
        """The sampler works last in the chain, and is freed with it."""
        assert sampler, "llama.cpp refused a sampler"
        self._api.llama_sampler_chain_add(self.pointer, sampler)

    def draw(self, logits: Logits, allowed: Allowed | None = None) -> int:
        """One of the allowed tokens of this row, [vocabulary]; the chain has not taken note of it. 0 if there is none.

        The samplers see these tokens alone: a token that is ruled out must not weigh in their sums.
        """
        candidates = self._candidates.of(logits, allowed)
        if not len(candidates):
            return 0
        array = self._api.llama_token_data_array(
            data=candidates.ctypes.data_as(ctypes.POINTER(self._api.llama_token_data)),
            size=len(candidates),
            selected=-1,
            sorted=False,
        )
        self._api.llama_sampler_apply(self.pointer, ctypes.byref(array))
        assert 0 <= array.selected < array.size, "the last sampler of a chain selects"
        if self.tells:
            self.latest = candidates[: array.size].copy()
        return int(candidates["id"][array.selected])

    def pick(self, logits: Logits) -> int:
        """A token of this row, [vocabulary], of which the chain has taken note."""
        token = self.draw(logits)
        self.accept(token)
        return token

    def drawn(self, token: int) -> Draw:
        """The latest draw, which gave `token`; without what could not come."""
        if self.latest is None:
            return [(token, 1.0)]
        possible = self.latest[self.latest["p"] > 0]
        possible = possible[np.argsort(-possible["p"], kind="stable")]
        shares = possible["p"] / possible["p"].sum(dtype=np.float64)
        return list(zip(possible["id"].tolist(), shares.tolist(), strict=True))

    def accept(self, token: int) -> None:
        """The chain has taken note of the token."""
        self._library.sampler_accept(self.pointer, token)

    def close(self) -> None:
        """The chain's memory is given back. Safe to call twice."""
        if self.pointer is not None:
            self._api.llama_sampler_free(self.pointer)
            self.pointer = None


class Guided:
    """A sampler whose tokens a guide holds: what the guide rules out is never picked."""

    def __init__(self, inner: Greedy | Chain, guide: Guide, banned: frozenset[int] = frozenset()) -> None:
        """`banned`: tokens that the request's bias rules out."""
        self._inner = inner
        self.guide = guide
        self._banned = np.array(sorted(banned), np.intp)

    def unguided(self) -> Chain | None:
        """The chain, when it may draw any token: llama.cpp then reads the row by itself, which is faster."""
        inner = self._inner
        if not isinstance(inner, Chain) or inner.tells or not self.guide.is_free or self.guide.forced() is not None:
            return None
        return inner

    def pick(self, logits: Logits, sample: Sample) -> int:
        """The token of this row, [vocabulary], which is as it was afterwards. Both have taken note of it.

        `sample`: llama.cpp's own way from this very row to a token, of which the chain has taken note.
        """
        inner, token = self._inner, self.guide.forced()
        if isinstance(inner, Chain):
            inner.latest = None
            if token is None and inner.reads_rows and not self.guide.is_waiting:
                allowed = self._allowed()
                if np.count_nonzero(allowed) * FEW > len(allowed):
                    token = _sampled(inner, logits, allowed, sample)
                    self.guide.took(token)
                    return token
                token = inner.draw(logits, allowed)
        if token is None:
            token = self._draw(logits)
        if isinstance(inner, Chain):
            inner.accept(token)
        self.guide.took(token)
        return token

    def drawn(self, token: int) -> Draw:
        """The latest draw, which gave `token`; a token that the guide forced was certain."""
        return self._inner.drawn(token)

    def _draw(self, logits: Logits) -> int:
        if self.guide.is_waiting:
            return self._draw_freely(logits)
        if isinstance(self._inner, Greedy):
            likeliest = self._inner.pick(logits)
            if self.guide.accepts(likeliest):
                return likeliest
        allowed = self._allowed()
        if isinstance(self._inner, Greedy):
            return self._inner.pick(np.where(allowed, logits, -np.inf).astype(np.float32, copy=False))
        return self._inner.draw(logits, allowed)

    def _allowed(self) -> Allowed:
        """The tokens that the guide and the bias leave."""
        allowed = self.guide.allowed()
        if len(self._banned):
            allowed = allowed.copy()
            allowed[self._banned] = False
            if not allowed.any():
                self.guide.bar("logit_bias bans every token that may follow", "logit_bias")
        return allowed

    def _draw_freely(self, logits: Logits) -> int:
        """A token that may come, where nearly all of them may: those that may not are found by drawing them."""
        row, allowed, token = logits, np.ones(len(logits), np.bool_), 0
        allowed[self._banned] = False
        for _ in range(DRAWS_MAX):
            token = self._inner.pick(row) if isinstance(self._inner, Greedy) else self._inner.draw(row, allowed)
            if self.guide.accepts(token):
                break
            row = row.copy()
            row[token], allowed[token] = -np.inf, False
        return token

    def close(self) -> None:
        """The sampler's memory is given back. Safe to call twice."""
        self._inner.close()


def _sampled(chain: Chain, logits: Logits, allowed: Allowed, sample: Sample) -> int:
    """The token that the chain draws of the row while what is not allowed in it is impossible: half as dear as giving
    it the others, where they are many."""
    barred = np.flatnonzero(~allowed)
    raw = logits[barred]
    logits[barred] = -np.inf
    token = sample(chain)
    logits[barred] = raw
    return token


def is_greedy(sampling: Sampling) -> bool:
    """True when the answer is the most likely token of the raw logits and their bias, step after step."""
    return (
        sampling.temperature <= 0
        and sampling.dynatemp_range <= 0
        and "temperature" in sampling.samplers
        and "infill" not in sampling.samplers
        and sampling.mirostat == 0
        and not _penalises(sampling)
        and not ("dry" in sampling.samplers and sampling.dry_multiplier != 0)
        and not ("xtc" in sampling.samplers and sampling.xtc_probability > 0)
    )


def looking_back(sampling: Sampling, context_tokens: int) -> Sampling:
    """The sampling with -1, "the whole context", as a number: this llama.cpp takes a negative one for 0."""
    repeat, dry = sampling.repeat_last_n, sampling.dry_penalty_last_n
    if repeat >= 0 and dry >= 0:
        return sampling
    return replace(
        sampling,
        repeat_last_n=repeat if repeat >= 0 else context_tokens,
        dry_penalty_last_n=dry if dry >= 0 else context_tokens,
    )


def build_chain(
    library: Library,
    vocab: Any,
    sampling: Sampling,
    *,
    seed: int,
    prompt: TokenIds,
    bias: Mapping[int, float],
    size: int,
    candidates: Candidates,
    tells: bool = False,
) -> Chain:
    """A chain that has seen the prompt. `vocab` is llama.cpp's handle, `size` its number of tokens.

    The sampling has been through `looking_back`.
    """
    chain, api = Chain(library, candidates, tells=tells, weighs_impossible=_weighs_impossible(sampling)), library.api
    if bias:
        chain.add(api.llama_sampler_init_logit_bias(size, len(bias), _bias_array(api, bias)))
    if sampling.mirostat:
        chain.add(_temperature(api, sampling))
        if sampling.mirostat == 1:
            chain.add(
                api.llama_sampler_init_mirostat(
                    size, seed, sampling.mirostat_tau, sampling.mirostat_eta, MIROSTAT_CANDIDATES
                )
            )
        else:
            chain.add(api.llama_sampler_init_mirostat_v2(seed, sampling.mirostat_tau, sampling.mirostat_eta))
        return chain
    for sampler in _samplers(api, vocab, sampling, seed, size):
        chain.add(sampler)
    chain.add(api.llama_sampler_init_dist(seed))
    for token in _remembered(sampling, prompt):
        library.sampler_accept(chain.pointer, token)
    return chain


def _weighs_impossible(sampling: Sampling) -> bool:
    """True where the sum of a sampler is no number when a token has no probability, or it counts such tokens."""
    return sampling.typical_p < 1 or sampling.mirostat == 1 or "infill" in sampling.samplers


def _samplers(api: Any, vocab: Any, sampling: Sampling, seed: int, size: int) -> Iterator[Any]:
    """The samplers that change something, in the order asked for."""
    keep = sampling.min_keep
    makers: dict[str, tuple[bool, Callable[[], Any]]] = {
        "penalties": (_penalises(sampling), lambda: _penalties(api, sampling, size)),
        "dry": (sampling.dry_multiplier != 0, lambda: _dry(api, vocab, sampling)),
        "top_n_sigma": (sampling.top_n_sigma > 0, lambda: api.llama_sampler_init_top_n_sigma(sampling.top_n_sigma)),
        "top_k": (sampling.top_k > 0, lambda: api.llama_sampler_init_top_k(max(sampling.top_k, keep))),
        "typ_p": (sampling.typical_p < 1, lambda: api.llama_sampler_init_typical(sampling.typical_p, keep)),
        "top_p": (sampling.top_p < 1, lambda: api.llama_sampler_init_top_p(sampling.top_p, keep)),
        "min_p": (sampling.min_p > 0, lambda: api.llama_sampler_init_min_p(sampling.min_p, keep)),
        "xtc": (
            sampling.xtc_probability > 0,
            lambda: api.llama_sampler_init_xtc(sampling.xtc_probability, sampling.xtc_threshold, keep, seed),
        ),
        "temperature": (True, lambda: _temperature(api, sampling)),
        # A model without an end of turn has nothing that the sampler could fall back to: llama.cpp would abort.
        "infill": (_ends(api, vocab), lambda: api.llama_sampler_init_infill(vocab)),
    }
    for name in sampling.samplers:
        is_needed, make = makers[name]
        if is_needed:
            yield make()


def _temperature(api: Any, sampling: Sampling) -> Any:
    return api.llama_sampler_init_temp_ext(sampling.temperature, sampling.dynatemp_range, sampling.dynatemp_exponent)


def _ends(api: Any, vocab: Any) -> bool:
    return bool(max(api.llama_vocab_eot(vocab), api.llama_vocab_eos(vocab)) >= 0)


def _penalises(sampling: Sampling) -> bool:
    return (
        "penalties" in sampling.samplers
        and sampling.repeat_last_n != 0
        and (sampling.repeat_penalty != 1 or sampling.presence_penalty != 0 or sampling.frequency_penalty != 0)
    )


def _penalties(api: Any, sampling: Sampling, size: int) -> Any:
    return api.llama_sampler_init_penalties(
        size,
        sampling.repeat_last_n,
        sampling.repeat_penalty,
        sampling.frequency_penalty,
        sampling.presence_penalty,
    )


def _dry(api: Any, vocab: Any, sampling: Sampling) -> Any:
    breakers = [text.encode("utf-8", "replace") for text in sampling.dry_sequence_breakers]
    array = (ctypes.c_char_p * len(breakers))(*breakers)
    return api.llama_sampler_init_dry(
        vocab,
        sampling.dry_multiplier,
        sampling.dry_base,
        sampling.dry_allowed_length,
        sampling.dry_penalty_last_n,
        array,
        len(breakers),
    )


def _bias_array(api: Any, bias: Mapping[int, float]) -> Any:
    array = (api.llama_logit_bias * len(bias))()
    for entry, (token, value) in zip(array, bias.items(), strict=True):
        entry.token, entry.bias = token, value
    return array


def _remembered(sampling: Sampling, prompt: TokenIds) -> list[int]:
    """The prompt tokens that a penalty looks back at: llama-server's penalties cover the prompt too."""
    spans = []
    if _penalises(sampling):
        spans.append(sampling.repeat_last_n)
    if "dry" in sampling.samplers and sampling.dry_multiplier != 0:
        spans.append(sampling.dry_penalty_last_n)
    if not spans:
        return []
    longest = max(spans)
    tokens: list[int] = prompt[-longest:].tolist() if longest else []
    return tokens
