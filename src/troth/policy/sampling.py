"""How tokens are drawn: the request's word beats the model's default, that beats the server's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from troth.domain import SAMPLERS_KNOWN, Plan, Sampling
from troth.errors import BadRequest
from troth.policy.terms import Terms

INFILL_CANDIDATES_MAX = 256  # it compares each with each: with a whole vocabulary one token takes minutes
DEFAULTS: Mapping[str, Any] = {field.name: field.default for field in fields(Sampling)}
SEED = "seed"  # configured beside the values of `Sampling`, and chosen by `decide.py`


def check_defaults(defaults: Mapping[str, Any]) -> None:
    """Every name is one of `Sampling`'s, or the seed. Raises ValueError with the names that are not."""
    unknown = sorted(set(defaults) - {*DEFAULTS, SEED})
    if unknown:
        raise ValueError(f"no sampling value is called {', '.join(unknown)}; known: {', '.join(DEFAULTS)}")


def choose(plan: Plan, terms: Terms) -> Plan:
    """The plan with every sampling value and its origin: request, model, server or default.

    Raises: BadRequest for a sampler that does not exist or comes twice, for `infill` without a `top_k` before
    it, and for sequence breakers that are none.
    """
    asked = plan.ask.sampling
    unknown = sorted(set(asked) - set(DEFAULTS))
    if unknown:
        raise BadRequest(f"`{unknown[0]}` is no sampling value.", param=unknown[0])
    _check_samplers(asked.get("samplers", ()))
    _check_breakers(asked.get("dry_sequence_breakers", ("\n",)))

    values: dict[str, Any] = {}
    origins = dict.fromkeys(DEFAULTS, "default")
    layers = (("server", terms.settings.sampling), ("model", plan.model.sampling), ("request", asked))
    for origin, given in layers:
        layer = {name: value for name, value in given.items() if name != SEED}
        values.update((name, _typed(name, value)) for name, value in layer.items())
        origins.update(dict.fromkeys(layer, origin))
    sampling = Sampling(**values)
    _check_infill(sampling)
    return replace(plan, sampling=sampling, origins={**plan.origins, **origins})


def _typed(name: str, value: Any) -> Any:
    """JSON writes 1.0 as 1 and knows no tuples; `Sampling` holds floats and tuples."""
    default = DEFAULTS[name]
    if isinstance(default, float):
        return float(value)
    return tuple(value) if isinstance(default, tuple) else value


def _check_samplers(names: Sequence[str]) -> None:
    known = ", ".join(SAMPLERS_KNOWN)
    for position, name in enumerate(names):
        if name not in SAMPLERS_KNOWN:
            raise BadRequest(f"`samplers` names {name!r}, which is no sampler here; known: {known}.", param="samplers")
        if name in names[:position]:
            raise BadRequest(f"`samplers` names {name!r} twice.", param="samplers")


def _check_infill(sampling: Sampling) -> None:
    if "infill" not in sampling.samplers:
        return
    before = sampling.samplers[: sampling.samplers.index("infill")]
    if "top_k" not in before or sampling.top_k <= 0 or max(sampling.top_k, sampling.min_keep) > INFILL_CANDIDATES_MAX:
        raise BadRequest(
            f"`samplers` names 'infill', which needs 'top_k' before it, and top_k and min_keep of at most "
            f"{INFILL_CANDIDATES_MAX}, top_k above 0.",
            param="samplers",
        )


def _check_breakers(breakers: Sequence[str]) -> None:
    if not breakers:
        raise BadRequest(
            "`dry_sequence_breakers` is empty; name at least one text, or leave it out.", param="dry_sequence_breakers"
        )
    if "" in breakers:
        raise BadRequest(
            "`dry_sequence_breakers` holds an empty text, which breaks nothing.", param="dry_sequence_breakers"
        )
