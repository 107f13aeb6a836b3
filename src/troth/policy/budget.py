"""How many tokens the answer may have, as far as that can be known before the prompt is counted."""

from __future__ import annotations

from dataclasses import replace

from troth.domain import Budget, Plan
from troth.errors import BadRequest
from troth.policy.terms import Terms


def allow(plan: Plan, terms: Terms) -> Plan:
    """The plan with its budget. Raises BadRequest when a number above the cap is to be refused."""
    settings, asked = terms.settings, plan.ask.budget_tokens
    budget = Budget(asked, settings.default_tokens, settings.cap_tokens, settings.over_cap == "refuse")
    if asked is None:
        origin = "default" if settings.default_tokens is None else "server"
        return _with(plan, budget, origin)
    if settings.over_cap == "refuse" and settings.cap_tokens is not None and asked > settings.cap_tokens:
        raise BadRequest(
            f"`{plan.ask.budget_field}` is {asked}; this server answers with at most {settings.cap_tokens} tokens "
            "(budget.cap_tokens).",
            param=plan.ask.budget_field,
            details={"cap_tokens": settings.cap_tokens},
        )
    return _with(plan, budget, "request")


def _with(plan: Plan, budget: Budget, origin: str) -> Plan:
    return replace(plan, budget=budget, origins={**plan.origins, "budget": origin})
