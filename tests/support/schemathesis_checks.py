"""What schemathesis checks besides its own: a request that fits the document is refused for a stated reason only.

Loaded by the schemathesis command through SCHEMATHESIS_HOOKS.
"""

from __future__ import annotations

import re
from typing import Any

import schemathesis
from schemathesis import Case, CheckContext, Response
from schemathesis.specs.openapi.checks import positive_data_acceptance

# Rules between fields, and facts about the model: OpenAPI 3.0 has no words for them.
STATED_CODES = frozenset({"conflicting_values", "context_length_exceeded"})
STATED_FIELDS = {
    "top_logprobs": "needs logprobs",
    "n_probs": "is another way to say top_logprobs, and may not contradict it",
    "samplers": "names a sampler once",
    "logit_bias": "pairs a token of the vocabulary with a number",
    "chat_template_kwargs": "are variables that the model's template reads",
    "id": "or label says which sessions are forgotten",
}

# The same where an error has neither a code in words nor a field: Anthropic's and llama-server's shapes.
STATED_WORDS = re.compile(
    "two (names|forms)|is too long|have different names|has the token id|not one token|continuing it is not supported"
    "|at most [0-9]+ prompts|Field required|has no message|logit_bias|samplers|chat_template_kwargs|mixes token ids"
    "|goes with|n is not supported here|needs 'logprobs'|n_probs"
)


@schemathesis.check
def refused_for_a_stated_reason_only(ctx: CheckContext, response: Response, case: Case[Any]) -> bool | None:
    """As schemathesis's own positive_data_acceptance, with the rules that the document cannot say."""
    if response.status_code == 400:
        error = response.json()["error"]
        if (
            STATED_WORDS.search(error["message"])
            or error.get("code") in STATED_CODES
            or (error.get("param") or "").partition(".")[0] in STATED_FIELDS
        ):
            return None
    return bool(positive_data_acceptance(ctx, response, case)) or None
