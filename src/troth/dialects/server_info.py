"""What the server is set to and can do, as Radiance tells it (GET /server_info). Nothing of it is secret."""

from __future__ import annotations

from typing import Any

from troth._generated.operations import OPERATIONS
from troth.dialects.health import sampling_defaults
from troth.dialects.served import ModelState, ServerFacts

NOT_YET = ("video",)
BESIDE = ("embedding", "rerank")  # kinds of other models that may be served


def account(
    state: ModelState, facts: ServerFacts, *, in_flight: int, now: float, kinds: frozenset[str] = frozenset()
) -> dict[str, Any]:
    """The account of the default model's server. `now` is in Unix seconds, `kinds` are those of all models."""
    report, limits = state.report, facts.limits
    return {
        "server": {
            "model": state.model.id,
            "version": facts.version,
            "max_model_len": report.context_tokens,
            "max_num_seqs": report.slots,
            "queue_cap": facts.queue_max,
            "default_max_tokens": facts.default_tokens,
            "max_tokens_cap": facts.cap_tokens,
            "max_n": limits.get("choices_max", 1),
            "max_stop_strings": limits.get("stop_strings_max", 0),
            "max_stop_bytes": limits.get("stop_bytes_max", 0),
            "uptime_s": round(max(now - state.created, 0.0), 3),
            "in_flight": in_flight,
        },
        "request_defaults": sampling_defaults(state, facts) | {"max_tokens": facts.default_tokens},
        "capabilities": {
            "chat": state.template is not None or state.is_remote,
            "completions": "prompt" in state.model.honours,
            "logprobs": "logprobs" in state.model.honours,
            "tools": "tools" in state.model.honours if state.is_remote else state.speech is not None,
            "reasoning": state.speech is not None and state.speech.thoughts is not None,
            "grammar": "grammar" in state.model.honours,
            "infill": state.vocabulary is not None and "middle" in state.vocabulary.fill_ids,
            "image": report.vision,
            "audio": report.audio,
            **{kind: kind in kinds for kind in BESIDE},
            **dict.fromkeys(NOT_YET, False),
        },
        "endpoints": [f"{operation.method} {operation.path}" for operation in OPERATIONS.values()],
        "engine": dict(report.details),
    }
