"""Whether the engine that will answer does every field that was set."""

from __future__ import annotations

from troth.contract import Neutral
from troth.domain import Plan
from troth.errors import Unsupported
from troth.policy.terms import Terms


def refuse_undone(plan: Plan, terms: Terms) -> Plan:
    """The plan, unchanged: its engine honours every field given.

    Raises: Unsupported, naming the fields, the engine, and what each accepts instead.
    """
    undone = sorted(plan.ask.given - plan.model.honours)
    if not undone:
        return plan
    advice = "; ".join(f"{path}: {_advice(path, terms)}" for path in undone)
    names = ", ".join(f"`{path}`" for path in undone)
    raise Unsupported(
        f"{names} cannot be honoured by the engine {plan.model.engine} of the model {plan.model.id}. {advice}.",
        param=undone[0],
        details={"fields": undone, "engine": plan.model.engine},
    )


def _advice(path: str, terms: Terms) -> str:
    rule = terms.rules.get(path)
    return Neutral.of(rule.neutral if rule else None).words
