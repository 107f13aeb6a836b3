"""With which adapters an answer is computed: those that the request names, or the operator's."""

from __future__ import annotations

from dataclasses import replace

from troth.domain import Adapters, Plan
from troth.errors import BadRequest
from troth.policy.terms import Terms


def choose(plan: Plan, terms: Terms) -> Plan:
    """The plan with its adapters. Raises BadRequest for one that the model does not have, or named twice."""
    del terms
    ask, model = plan.ask, plan.model
    scales = dict(enumerate(model.loras))
    if ask.loras is not None:
        if ask.loras and not scales:
            raise BadRequest(
                f"`lora` names adapters, and the model {model.id} has none: they are set in the configuration, in "
                "`options.lora` of the model. Leave it out, or send [].",
                param="lora",
            )
        scales = {}
        for place, (number, scale) in enumerate(ask.loras):
            path = f"lora.{place}.id"
            if number >= len(model.loras):
                raise BadRequest(
                    f"`{path}` is {number}; the model {model.id} has the adapters 0 to {len(model.loras) - 1}.",
                    param=path,
                )
            if number in scales:
                raise BadRequest(f"`{path}` is {number}, which is named before.", param=path, code="conflicting_values")
            scales[number] = scale
    if ask.control_vector and model.control_vector is None:
        raise BadRequest(
            f"`control_vector` is true, and the model {model.id} has none: it is set in the configuration, in "
            "`options.control_vector` of the model. Leave it out, or send false.",
            param="control_vector",
        )
    control = bool(model.control_vector if ask.control_vector is None else ask.control_vector)
    loras = tuple((number, scale) for number, scale in sorted(scales.items()) if scale)
    return replace(plan, adapters=Adapters(loras, control))
