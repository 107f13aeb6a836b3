"""The server's account of itself: what is fixed between two loads, and what is true this moment.

The fixed part holds the contract table and is large: it is written once and joined as bytes.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict
from typing import Any

from troth.dialects.abilities import answer_room, reasoning, structured_output, tool_calls
from troth.dialects.promises import chat_promises, contract, routes
from troth.dialects.served import ModelState, ServerFacts, default_chat, readiness
from troth.domain import SAMPLER_NAMES, Sampling
from troth.engines.base import EngineReport

BUDGET_FIELD = "max_tokens"
MEBIBYTE = 1 << 20
MEDIA_ROUTES = ("/v1/chat/completions", "/v1/responses", "/v1/messages", "/completion", "/v1/completions")


def lasting(states: tuple[ModelState, ...], facts: ServerFacts) -> dict[str, Any]:
    """What stays the same until a model is loaded or lost."""
    default = default_chat(states)
    account: dict[str, Any] = {
        "endpoints": routes(),
        "metrics": "/metrics",
        "cache_counters": "/cache",
        "max_tokens_default": facts.default_tokens,
        "max_tokens_cap": facts.cap_tokens,
        "max_tokens_over_cap": "clamp" if facts.over_cap == "clamp" else "400",
        "error_format": facts.envelope,
        "streaming": {"first_event": facts.first_event, "keepalive_seconds": facts.keepalive_seconds},
        "limits": dict(facts.limits),
        "queue_cap": facts.queue_max,
        "thinking_answer_room": answer_room(facts),
        "indexer_budget": None,
        "request_records": None,
        "structured_output": structured_output(facts),
        "contract": contract((state.model for state in states), facts.guard, facts.unknown_fields),
    }
    return account | (_chat(default, facts) if default else _no_chat(facts))


def _chat(state: ModelState, facts: ServerFacts) -> dict[str, Any]:
    """What is said of the default chat model."""
    fields = chat_promises(state.model, facts.guard)
    budget_names = [name for name, target in fields["alias"].items() if target == BUDGET_FIELD]
    context = state.report.context_tokens or None
    return {
        "model": state.model.id,
        "version": {"api": facts.version, "engine": engine_build(state)},
        "context": context,
        "slot_ctx": context,
        "stop_ids": sorted(state.vocabulary.end_ids) if state.vocabulary else [],
        "chat_template": _template(state),
        "supported": [*fields["honoured"], *fields["clamped"]],
        "accepted_but_ignored": fields["inert"],
        "not_implemented": list(fields["guarded"]),
        "token_budget_aliases": [BUDGET_FIELD, *budget_names],
        "sampling": {
            "implemented": [name for name in fields["honoured"] if name in Sampling.__dataclass_fields__],
            "order": list(SAMPLER_NAMES),
            "defaults_rule": "request, then model, then server, then llama-server's default",
            "seed": "seed" in fields["honoured"],
            "logprobs": "logprobs" in fields["honoured"],
        },
        "server_defaults": sampling_defaults(state, facts),
        "tool_calls": tool_calls(state),
        "reasoning": reasoning(state, facts),
        "vision": _vision(state.report, facts),
        **_promised(state.report),
    }


def _vision(report: EngineReport, facts: ServerFacts) -> dict[str, Any]:
    """Whether pictures and sound are read, and within which bounds."""
    told: dict[str, Any] = {"enabled": report.vision, "audio": report.audio}
    if report.status == "ready" and not (report.vision or report.audio):
        told["reason"] = "the model has no projector: set options.mmproj"
    if report.vision or report.audio:
        told |= {name: value for name, value in facts.media.items() if name != "threads"}
        told["endpoints"] = list(MEDIA_ROUTES)
    return told


def _promised(report: EngineReport) -> dict[str, Any]:
    """What holds of equal requests, of kept prompts and of drafts; nothing is promised while the model loads."""
    determinism = {"setting": None, "promised": False} | dict(report.details.get("determinism", {}))
    drafts, kept, guesser = report.draft_tokens_max, report.prefix_cache_bytes, report.details.get("draft_model")
    return {
        "determinism": determinism,
        "prompt_cache": {
            "enabled": kept > 0,
            "budget_bytes": kept,
            "cap_mb": kept / MEBIBYTE,
            "bitwise_identical_to_cold": determinism["promised"],
        },
        "speculation": {
            "enabled": drafts > 0,
            "kind": ("draft_model" if guesser else "prompt_lookup") if drafts else None,
            "draft_tokens_max": drafts,
            "draft_model": guesser,
        },
        "memory": {"can_cut": report.can_cut if report.status == "ready" else None},
    }


def _no_chat(facts: ServerFacts) -> dict[str, Any]:
    return {
        "model": None,
        "version": {"api": facts.version, "engine": None},
        "vision": {"enabled": False, "audio": False},
        "token_budget_aliases": [BUDGET_FIELD],
        "tool_calls": {"enabled": False},
        "reasoning": {"enabled": False},
    }


def _template(state: ModelState) -> dict[str, Any] | None:
    if state.template is None:
        return None
    return {
        "source": "file" if state.chat_template else "model",
        "sha256": hashlib.sha256(state.template.encode()).hexdigest(),
    }


def engine_build(state: ModelState) -> str:
    """The engine of a model and, once it is loaded, its release."""
    return str(state.report.details.get("build") or state.model.engine)


def sampling_defaults(state: ModelState, facts: ServerFacts) -> dict[str, Any]:
    """What a request that says nothing is sampled with."""
    return asdict(Sampling()) | dict(facts.sampling) | dict(state.model.sampling)


def momentary(states: tuple[ModelState, ...]) -> dict[str, Any]:
    """What is true now; of several models, sums and the worst."""
    reports = [state.report for state in states]
    in_flight = sum(report.running for report in reports)
    return {
        "status": readiness(states),
        "busy": in_flight > 0,
        "in_flight": in_flight,
        "queued": sum(report.queued for report in reports),
        "longest_wait_s": round(max((report.longest_wait_seconds for report in reports), default=0.0), 3),
        "busy_for_s": round(max((report.busy_seconds for report in reports), default=0.0), 3),
        "slots": sum(report.slots for report in reports),
        "models": [_model(state) for state in states],
    }


def _model(state: ModelState) -> dict[str, Any]:
    report = state.report
    return {
        "id": state.model.id,
        "aliases": sorted(state.model.aliases),
        "kind": state.model.kind,
        "engine": state.model.engine,
        "status": report.status,
        "slot": state.slot or state.model.id,
        "state": state.slot_state,
        "load_progress": round(min(max(report.load_progress, 0.0), 1.0), 3),
        "fault": report.fault,
        "slots": report.slots,
        "context_tokens": report.context_tokens,
        "running": report.running,
        "queued": report.queued,
        "longest_wait_s": round(report.longest_wait_seconds, 3),
        "busy_for_s": round(report.busy_seconds, 3),
        "media": asdict(state.seen) if report.vision or report.audio else None,
        "details": dict(report.details),
    }
