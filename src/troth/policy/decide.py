"""Will we answer, and with what numbers? An Ask comes in, a Plan or a Refusal goes out.

Every choice is made here, once, and carries its origin. Nothing here renders, counts tokens, waits,
or knows which API the words came from; the one source of chance is handed in.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence

from troth.domain import Ask, Budget, Plan, Sampling, ServedModel
from troth.policy import adapters, budget, fields, forms, limits, naming, sampling
from troth.policy.terms import Directory, EverythingHere, FieldRule, PolicySettings, Step, Terms

SEEDS = 2**32 - 1  # seeds are 0 … 2**32 - 2: llama.cpp reads 2**32 - 1 as "pick one"

STEPS: tuple[Step, ...] = (
    fields.refuse_undone,
    limits.bound,
    forms.hold,
    adapters.choose,
    budget.allow,
    sampling.choose,
)


def draw_seed() -> int:
    """A seed that nobody can guess, 0 … 2**32 - 2."""
    return secrets.randbelow(SEEDS)


class Policy:
    """Decides what is done with an Ask. Holds no state that a request could change."""

    def __init__(
        self,
        catalogue: Sequence[ServedModel],
        settings: PolicySettings,
        rules: Mapping[str, FieldRule],
        draw_seed: Callable[[], int] = draw_seed,
        directory: Directory | None = None,
    ) -> None:
        """Raises ValueError when a default of the server or of a model names no sampling value."""
        for defaults in (settings.sampling, *(model.sampling for model in catalogue)):
            sampling.check_defaults(defaults)
        self._terms = Terms(tuple(catalogue), settings, rules, draw_seed, directory or EverythingHere())

    def decide(self, ask: Ask, kind: str = "chat") -> Plan:
        """The Ask with every choice made, for a model of `kind`.

        Raises: BadRequest, Unsupported, NotFound or NotImplementedHere, naming field and what is accepted.
        """
        model, origin = naming.choose(ask.model, kind, self._terms)
        seed, seed_origin = self._seed(ask.seed, model)
        origins = {"model": origin, "seed": seed_origin}
        plan = Plan(ask, model, Sampling(), seed, Budget(None, None, None), origins)
        for step in STEPS:
            plan = step(plan, self._terms)
        return plan

    def pick(self, name: str | None, kind: str, given: frozenset[str]) -> tuple[ServedModel, str]:
        """The model of `kind` that answers a request which is not continued, only read, and the rule that chose it.
        Raises as `decide` does."""
        model, rule = naming.choose(name, kind, self._terms)
        fields.check_done(given, model, self._terms)
        return model, rule

    def _seed(self, asked: int | None, model: ServedModel) -> tuple[int, str]:
        if asked is not None and asked not in (-1, SEEDS):
            return asked % SEEDS, "request"
        if asked is None:
            for origin, layer in (("model", model.sampling), ("server", self._terms.settings.sampling)):
                if sampling.SEED in layer:
                    return layer[sampling.SEED], origin
        return self._terms.draw_seed(), "default"
