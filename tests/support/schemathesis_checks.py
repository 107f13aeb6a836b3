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
STATED_CODES = frozenset(
    {
        "conflicting_values",
        "context_length_exceeded",
        "invalid_grammar",
        "invalid_schema",
        "unsupported_schema",
        "missing_required_parameter",
        "wrong_model_kind",
    }
)
STATED_FIELDS = {
    "top_logprobs": "needs logprobs",
    "n_probs": "is another way to say top_logprobs, and may not contradict it",
    "samplers": "names a sampler once",
    "logit_bias": "pairs a token of the vocabulary with a number",
    "chat_template_kwargs": "are variables that the model's template reads",
    "id": "or label says which sessions are forgotten",
    "tool_choice": "names one of the functions, and demands none where there are none",
    "function_call": "names one of the functions",
    "functions": "have names of their own, and are not sent beside tools",
    "tools": "have names of their own",
    "messages": "answer the calls before them",
    "input": "ends with a message of the user",
    "continue_final_message": "needs a message of the assistant",
    "enable_thinking": "needs a model that reasons",
    "reasoning_effort": "is a level of the model's template",
    "reasoning": "needs a model that reasons",
    "thinking": "needs a model that reasons",
    "thinking_token_budget": "needs a model that reasons",
    "preserve_thinking": "needs a template that can",
    "parse_tool_calls": "is not switched off where calls are demanded",
    "structured_outputs": "are one form, and a choice of at least one text",
    "guided_json": "is the text of a JSON schema",
    "documents": "are texts that are not empty",
    "texts": "are texts that are not empty",
    "query": "is not empty",
    "dimensions": "are no more than the model has",
    "control_vector": "is of models that have one",
    "lora": "names adapters that the model has",
    "grammar_lazy": "needs a grammar, and what it waits for",
    "grammar_triggers": "go with a grammar that waits, and name tokens and texts that may begin it",
    "omni": "is run by the route that answers, not by one that counts or renders",
    "prompt_name": "is one of the model's prompts, and goes with texts",
}

# The same where an error has neither a code in words nor a field: Anthropic's and llama-server's shapes.
STATED_WORDS = re.compile(
    "two (names|forms)|is too long|have different names|has the token id|not one token|continuing it is not supported"
    "|at most [0-9]+ prompts|Field required|has no message|logit_bias|samplers|chat_template_kwargs|mixes token ids"
    "|goes with|n is not supported here|needs 'logprobs'|n_probs|cannot be held|both ask for a form|are one setting"
    "|no functions|none of the functions|another function|block is the|this model's chat template|chat template fails"
    "|send one|result of a function follows|continue_final_message|other characters|written out"
    "|leave one of them|is no JSON|is empty: an answer|has two schemas|is a json_schema without|names a function"
    "|nested (too )?deep|does not continue it|is no JSON schema|has the keyword|demands a call"
    "|control_vector|`lora`|grammar_lazy|grammar_triggers|places for them|there are no tokens to show"
    "|a picture is the user's|is of kind|cannot (read|hear) (pictures|sound)"
)


@schemathesis.check
def refused_for_a_stated_reason_only(ctx: CheckContext, response: Response, case: Case[Any]) -> bool | None:
    """As schemathesis's own positive_data_acceptance, with the rules that the document cannot say."""
    if response.status_code == 422:
        return None if response.json()["error"]["code"] == "invalid_question" else True
    if response.status_code == 400:
        error = response.json()["error"]
        if (
            STATED_WORDS.search(error["message"])
            or error.get("code") in STATED_CODES
            or (error.get("param") or "").partition(".")[0] in STATED_FIELDS
        ):
            return None
    return bool(positive_data_acceptance(ctx, response, case)) or None
