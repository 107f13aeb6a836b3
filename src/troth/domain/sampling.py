"""How the next token of an answer is drawn: the samplers, and their numbers."""

from __future__ import annotations

from dataclasses import dataclass

SAMPLER_NAMES = ("penalties", "dry", "top_n_sigma", "top_k", "typ_p", "top_p", "min_p", "xtc", "temperature")
SAMPLERS_KNOWN = (*SAMPLER_NAMES, "infill")  # in use only where a request or the operator names it


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How the next token is drawn. Names, defaults and order are llama-server's (README, /completion)."""

    temperature: float = 0.8  # 0 is greedy
    dynatemp_range: float = 0.0
    dynatemp_exponent: float = 1.0
    top_k: int = 40  # <= 0 is off
    top_p: float = 0.95
    min_p: float = 0.05
    top_n_sigma: float = -1.0  # <= 0 is off
    typical_p: float = 1.0
    xtc_probability: float = 0.0
    xtc_threshold: float = 0.1
    repeat_last_n: int = 64  # tokens; -1 is the whole context
    repeat_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    dry_multiplier: float = 0.0
    dry_base: float = 1.75
    dry_allowed_length: int = 2
    dry_penalty_last_n: int = 64
    dry_sequence_breakers: tuple[str, ...] = ("\n", ":", '"', "*")
    mirostat: int = 0
    mirostat_tau: float = 5.0
    mirostat_eta: float = 0.1
    min_keep: int = 0
    samplers: tuple[str, ...] = SAMPLER_NAMES
