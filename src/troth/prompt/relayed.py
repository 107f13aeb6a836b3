"""The prompt of a plan that another server renders: no tokens, and the room that is known without them."""

from __future__ import annotations

import numpy as np

from troth.domain import Budget, Fit, Plan, Prompt, RawText

NO_TOKENS = np.empty(0, np.int32)


def relayed(plan: Plan, context_tokens: int) -> Prompt:
    """The answer's room is cut to the cap alone: the other server counts the prompt. `context_tokens` 0: unknown."""
    fit = fit_unread(plan.budget)
    source = plan.ask.source
    return Prompt(
        NO_TOKENS,
        fit.answer_tokens,
        context_tokens,
        tuple((token, bias) for token, bias in plan.ask.logit_bias if isinstance(token, int)),
        fit.clamped_from,
        "".join(piece for piece in source.pieces if isinstance(piece, str)) if isinstance(source, RawText) else "",
        is_relayed=True,
    )


def fit_unread(budget: Budget) -> Fit:
    """The answer tokens that the cap leaves where another server counts the prompt; -1: as many as that gives."""
    wanted = budget.asked_tokens if budget.asked_tokens is not None else budget.default_tokens
    if budget.cap_tokens is None or (wanted is not None and wanted <= budget.cap_tokens):
        return Fit(-1 if wanted is None else wanted, None)
    return Fit(budget.cap_tokens, budget.asked_tokens)
