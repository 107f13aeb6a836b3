"""The prompt of a plan that another server renders: no tokens, and the room that is known without them."""

from __future__ import annotations

import numpy as np

from troth.domain import Plan, Prompt, RawText

NO_TOKENS = np.empty(0, np.int32)


def relayed(plan: Plan, context_tokens: int) -> Prompt:
    """The answer's room is cut to the cap alone: the other server counts the prompt. `context_tokens` 0: unknown."""
    fit = plan.budget.fit_unread()
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
