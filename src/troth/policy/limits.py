"""Bounds on what one request may cost, each refused with the field, the number and the limit."""

from __future__ import annotations

from dataclasses import replace

from troth.domain import Plan
from troth.errors import BadRequest
from troth.policy.terms import Terms


def bound(plan: Plan, terms: Terms) -> Plan:
    """The plan, within the limits and without empty stop strings, which could never be met.

    Raises: BadRequest, naming field, number, limit and the config key of the limit.
    """
    ask, settings = plan.ask, terms.settings
    stop = tuple(text for text in ask.stop if text)
    stop_bytes = sum(len(text.encode("utf-8", "surrogatepass")) for text in stop)

    if ask.choices < 1:
        raise BadRequest(f"`n` is {ask.choices}; at least 1 choice is made.", param="n")
    _at_most("n", "choices", ask.choices, settings.choices_max, "choices_max")
    _at_most("stop", "strings", len(stop), settings.stop_strings_max, "stop_strings_max")
    _at_most("stop", "bytes in all", stop_bytes, settings.stop_bytes_max, "stop_bytes_max")
    _at_most("logit_bias", "entries", len(ask.logit_bias), settings.logit_bias_max, "logit_bias_max")
    return plan if stop == ask.stop else replace(plan, ask=replace(ask, stop=stop))


def _at_most(field: str, unit: str, count: int, limit: int, key: str) -> None:
    if count > limit:
        raise BadRequest(
            f"`{field}` asks for {count} {unit}; at most {limit} are served (limits.{key}).",
            param=field,
            details={"limit": limit},
        )
