"""Where llama.cpp's tests expect what cannot hold here: one place, each entry with its reason.

A test is left out only when it needs other weights, when this server does otherwise on purpose, or when it asks for
what is not built yet. A test that fails for any other reason has found a fault of this server.
"""

from __future__ import annotations

from collections.abc import Mapping

# Patterns of words that their small models say. Any text matches them.
WORDS: frozenset[str] = frozenset(
    {
        "(going|bed)+",
        "But she couldn't",
        '(Suddenly)+|\\{ " Sarax.',
        "(Suddenly)+",
        "^ blue",
        "(Aside|she|felter|alonger)+",
        "Whillicter",
        "(little|girl)+",
    }
)

# Numbers of tokens in their vocabulary, and in that of the embedded model: by test and parameter.
COUNTS: Mapping[str, Mapping[str, Mapping[int, int]]] = {
    "test_completion": {"n_prompt": {18: 7}},
    "test_completion_stream": {"n_prompt": {18: 7}},
    "test_chat_completion": {"n_prompt": {69: 16, 77: 20, 23: 9, 104: 29, 79: 21}},
    "test_chat_completion_stream": {"n_prompt": {77: 20, 104: 29}},
    "test_return_progress": {"batch_count": {4: 3}},
}

OTHER_TOKENS = "counts the tokens of another vocabulary in its body"
OTHER_WEIGHTS = "needs what only other weights have"
OTHER_ENDING = "needs an answer that the embedded model ends earlier"
OTHER_BOS = "shows the BOS of another vocabulary"
CONTEXT_FAULT = "a prompt that is too long is `context_length_exceeded`; the type is that of every bad request"
NO_500 = "what a client can mend is a 4xx here, and this test asks for a 500"
EMPTY_TALK = "a conversation without a message is refused by name"
TIMINGS = "every answer carries `timings`, Anthropic's too"
CUT = "an answer that was cut at its budget ends with `response.incomplete`, as at OpenAI"
SLOTS = "GET /slots is always there, and tells the parameters of each slot"
TAGS = "models have aliases and no tags"
ONE_ADDRESS = "`server.host` is one address"
ASKED_TO_CONTINUE = "a last message of the assistant is answered unless `continue_final_message` asks to go on with it"

NO_REASONING = "reasoning is asked of a model that has none, and refused by name"
OTHER_VARIABLE = "the template reads its tools from `functions`, a variable that llama-server alone fills"

NOT_YET_PAGE = "not yet: a page at /"
NOT_YET_IMAGES = "not yet: images"

# By the test's id below `unit/`; one without its parameters stands for all of them.
LEFT_OUT: Mapping[str, str] = {
    "test_basic.py::test_server_multiple_addresses": ONE_ADDRESS,
    "test_basic.py::test_server_slots": SLOTS,
    "test_basic.py::test_no_ui": NOT_YET_PAGE,
    "test_basic.py::test_server_model_aliases_and_tags": TAGS,
    "test_completion.py::test_completion[Write a joke about AI from a very long prompt which will not be truncated-64-"
    "(princesses|everyone|kids|Anna|forest)+-46-64-False-True]": OTHER_ENDING,
    "test_completion.py::test_completion_stream[Write a joke about AI from a very long prompt which will not be "
    "truncated-64-(princesses|everyone|kids|Anna|forest)+-46-64-False]": OTHER_ENDING,
    "test_completion.py::test_nocache_long_input_prompt": OTHER_TOKENS,
    "test_completion.py::test_completion_response_fields"
    "[I believe the meaning of life is-32-response_fields1]": OTHER_BOS,
    "test_completion.py::test_completion_prompt_cache": OTHER_TOKENS,
    "test_chat_completion.py::test_chat_completion_cached_tokens": OTHER_TOKENS,
    "test_chat_completion.py::test_chat_template": OTHER_BOS,
    "test_chat_completion.py::test_chat_template_assistant_prefill": ASKED_TO_CONTINUE,
    "test_chat_completion.py::test_invalid_chat_completion_req[messages7]": ASKED_TO_CONTINUE,
    "test_chat_completion.py::test_context_size_exceeded": CONTEXT_FAULT,
    "test_chat_completion.py::test_context_size_exceeded_stream": CONTEXT_FAULT,
    "test_tokenize.py::test_tokenize_with_bos": OTHER_BOS,
    "test_template.py::test_date_inside_prompt[fireworks-ai-llama-3-firefunction-v2-%b %d %Y-None]": OTHER_VARIABLE,
    "test_template.py::test_date_inside_prompt[fireworks-ai-llama-3-firefunction-v2-%b %d %Y-tools1]": OTHER_VARIABLE,
    "test_template.py::test_date_inside_prompt[fireworks-ai-llama-3-firefunction-v2-%b %d %Y-tools2]": OTHER_VARIABLE,
    "test_infill.py::test_infill_without_input_extra": OTHER_WEIGHTS,
    "test_infill.py::test_infill_with_input_extra": OTHER_WEIGHTS,
    "test_compat_anthropic.py::test_anthropic_messages_basic": TIMINGS,
    "test_compat_anthropic.py::test_anthropic_tool_result_with_image": NO_500,
    "test_compat_anthropic.py::test_anthropic_vision_format_accepted": NO_500,
    "test_compat_anthropic.py::test_anthropic_vision_base64_with_multimodal_model": NOT_YET_IMAGES,
    "test_compat_anthropic.py::test_anthropic_empty_messages": EMPTY_TALK,
    "test_compat_anthropic.py::test_anthropic_thinking": NO_REASONING,
    "test_compat_oai_responses.py::test_responses_stream_with_llama_telemetry": CUT,
}
