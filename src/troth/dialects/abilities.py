"""What can be asked of an answer's form, its calls and its reasoning, as /health, /props and /server_info tell it."""

from __future__ import annotations

from typing import Any

from troth.dialects.served import ModelState, ServerFacts

FORMS = ("text", "json_object", "json_schema")
CHOICES = ("auto", "none", "required", "named")
SWITCHES = ("enable_thinking", "thinking")
FORM_ROUTES = (
    "/v1/chat/completions",
    "/v1/completions",
    "/v1/responses",
    "/v1/messages",
    "/completion",
    "/completions",
    "/infill",
)


def structured_output(facts: ServerFacts) -> dict[str, Any]:
    """How answers are held to a form: halogen's keys, and every keyword of JSON Schema."""
    return {
        "enabled": True,
        "response_format": list(FORMS),
        "text.format": list(FORMS),
        "output_config.format": ["json_schema"],
        "others": ["json_schema", "grammar", "structured_outputs", "guided_json", "guided_regex", "guided_choice"],
        "routes": list(FORM_ROUTES),
        "sampling": True,
        "thinking": "the form begins after the reasoning",
        "tools": "an answer has the form, or it is calls",
        **{name: list(words) for name, words in facts.keywords.items()},
        "unknown_keywords": "say nothing, as in JSON Schema",
    }


def tool_calls(state: ModelState) -> dict[str, Any]:
    """How functions are called."""
    speech = state.speech
    return {
        "enabled": "tools" in state.model.honours if state.is_remote else speech is not None,
        "wire_format": speech.call_format if speech else None,
        "in_template": speech is not None and speech.shows_calls,
        "streaming": True,
        "tool_choice": list(CHOICES),
        "required_is_exact": True,
        "parallel_tool_calls": True,
        "constrained_decoding": True,
    }


def reasoning(state: ModelState, facts: ServerFacts) -> dict[str, Any]:
    """How much of an answer may be reasoning, and how that is asked for."""
    speech = state.speech
    return {
        "enabled": speech is not None and speech.thoughts is not None,
        "syntax": speech.thoughts if speech else None,
        "can_switch": speech is not None and any(name in speech.variables for name in SWITCHES),
        "has_levels": speech is not None and "reasoning_effort" in speech.variables,
        "max_thinking_tokens_default": facts.thinking.get("budget_tokens"),
        "answer_room_tokens": facts.thinking.get("answer_room_tokens", 0),
        "answer_room_share": facts.thinking.get("answer_room_share", 0.0),
    }


def answer_room(facts: ServerFacts) -> int | str:
    """What a budget keeps for the answer, as halogen tells it: tokens, or words where a share counts."""
    tokens, share = facts.thinking.get("answer_room_tokens", 0), facts.thinking.get("answer_room_share", 0.0)
    return f"max({tokens}, {share * 100:g}% of max_tokens)" if share else int(tokens)


def template_caps(state: ModelState) -> dict[str, bool]:
    """What the chat template can express (llama-server, /props, `chat_template_caps`)."""
    speech = state.speech
    if speech is None:
        return {}
    return {
        "supports_tools": speech.shows_calls,
        "supports_tool_calls": speech.shows_calls,
        "supports_parallel_tool_calls": speech.shows_calls,
        "supports_object_arguments": speech.takes_objects,
        "supports_preserve_reasoning": not speech.variables.isdisjoint(("preserve_thinking", "clear_thinking")),
        "supports_reasoning_effort": "reasoning_effort" in speech.variables,
        "supports_string_content": True,
        "supports_typed_content": False,
        "supports_system_role": True,
    }
