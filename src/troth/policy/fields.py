"""Whether the engine that will answer does every field that was set."""

from __future__ import annotations

from troth.contract import Neutral
from troth.domain import Plan, ServedModel
from troth.errors import Unsupported
from troth.policy.terms import Terms


def refuse_undone(plan: Plan, terms: Terms) -> Plan:
    """The plan, unchanged: its engine honours every field given. Raises as `check_done` does."""
    check_done(plan.ask.given, plan.model, terms)
    return plan


def check_done(given: frozenset[str], model: ServedModel, terms: Terms) -> None:
    """The model's engine honours every field given.

    Raises: Unsupported, naming the fields, the engine, and what each accepts instead.
    """
    undone = sorted(given - model.honours)
    if not undone:
        return
    advice = "; ".join(f"{path}: {_advice(path, terms)}" for path in undone)
    names = ", ".join(f"`{path}`" for path in undone)
    raise Unsupported(
        f"{names} cannot be honoured by the engine {model.engine} of the model {model.id}. {advice}.",
        param=undone[0],
        details={"fields": undone, "engine": model.engine},
    )


def _advice(path: str, terms: Terms) -> str:
    rule = terms.rules.get(path)
    return Neutral.of(rule.neutral if rule else None).words
