"""The status routes: health, ping, version, props, metrics and load. None of them waits for an engine."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from troth.dialects.abilities import template_caps
from troth.dialects.health import engine_build, lasting, momentary, sampling_defaults
from troth.dialects.parts import MARKER
from troth.dialects.served import ModelState, ServerFacts, default_chat, readiness
from troth.dialects.server_info import account
from troth.domain import Answer, Call, Whole
from troth.errors import NotImplementedHere

METRICS_MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
RETRY = {"Retry-After": "1"}
WELL = ("ok", "degraded")  # requests can be answered


class Status:
    """Answers the status routes from snapshots."""

    def __init__(
        self, served: Callable[[], Sequence[ModelState]], facts: ServerFacts, metrics: Callable[[], Awaitable[bytes]]
    ) -> None:
        """`served` returns at once; `metrics` writes the text exposition format 0.0.4."""
        self._served = served
        self._facts = facts
        self._metrics = metrics
        self._written: tuple[object, bytes] = (None, b"")  # the lasting account, and what it was written for

    async def health(self, call: Call) -> Answer:
        """The server's account of itself: 200 when models answer, else 503 with the same body."""
        states = tuple(self._served())
        now = momentary(states)
        if now["status"] not in WELL:
            # llama-server's clients look for an error object while the model loads.
            now["error"] = {"message": _trouble(states), "type": "unavailable_error", "code": 503}
        body = json.dumps(now, separators=(",", ":")).encode()[:-1] + b"," + self._lasting(states)[1:]
        return Whole(body) if now["status"] in WELL else Whole(body, status=503, headers=RETRY)

    async def ping(self, call: Call) -> Answer:
        """A sign of life: 200 when every model is ready, else 503 with the same body."""
        states = tuple(self._served())
        default, status = default_chat(states), readiness(states)
        body = {
            "status": status,
            "model": default.model.id if default else None,
            "in_flight": sum(state.report.running for state in states),
            "queue_cap": self._facts.queue_max,
        }
        return Whole(body) if status in WELL else Whole(body, status=503, headers=RETRY)

    async def version(self, call: Call) -> Answer:
        """The releases of this server, of the document it serves and of the default model's engine."""
        default = default_chat(tuple(self._served()))
        engine = engine_build(default) if default else None
        return Whole({"version": self._facts.version, "engine": engine, "spec": self._facts.spec})

    async def props(self, call: Call) -> Answer:
        """The default chat model in llama-server's terms. Raises NotImplementedHere without one."""
        default = default_chat(tuple(self._served()))
        if default is None:
            raise NotImplementedHere("No chat model is configured here, and /props describes one.")
        return Whole(_props(default, self._facts))

    async def server_info(self, call: Call) -> Answer:
        """What the server is set to and can do. Raises NotImplementedHere without a chat model."""
        states = tuple(self._served())
        default = default_chat(states)
        if default is None:
            raise NotImplementedHere("No chat model is configured here, and /server_info describes one.")
        in_flight = sum(state.report.running for state in states)
        kinds = frozenset(state.model.kind for state in states)
        return Whole(account(default, self._facts, in_flight=in_flight, now=time.time(), kinds=kinds))

    async def load(self, call: Call) -> Answer:
        """How many requests run and wait, over all models."""
        reports = [state.report for state in self._served()]
        running, waiting = sum(report.running for report in reports), sum(report.queued for report in reports)
        cap = self._facts.queue_max
        return Whole({"server_load": running + waiting, "queue_cap": cap, "running": running, "waiting": waiting})

    async def metrics(self, call: Call) -> Answer:
        """The counters and gauges in Prometheus's text format."""
        return Whole(await self._metrics(), media_type=METRICS_MEDIA_TYPE)

    def _lasting(self, states: tuple[ModelState, ...]) -> bytes:
        """The lasting part of /health as bytes, written again only when a model was loaded or lost."""
        key = [
            (state.model, state.report.status, state.vocabulary, state.chat_template, state.speech) for state in states
        ]
        if self._written[0] != key:
            self._written = (key, json.dumps(lasting(states, self._facts), separators=(",", ":")).encode())
        return self._written[1]


def _trouble(states: Sequence[ModelState]) -> str:
    """Which models do not answer, and why."""
    return "; ".join(
        f"{state.model.id}: {state.report.fault or state.report.status}"
        for state in states
        if state.report.status not in ("ready", "offline")
    )


def _props(state: ModelState, facts: ServerFacts) -> dict[str, Any]:
    vocabulary, report = state.vocabulary, state.report
    defaults = sampling_defaults(state, facts)
    budget = -1 if facts.default_tokens is None else facts.default_tokens
    meta = report.details.get("meta", {})
    return {
        "default_generation_settings": {
            "params": {"seed": -1, **defaults, "n_predict": budget, "max_tokens": budget, "stream": False},
            "n_ctx": report.context_tokens,
        },
        "total_slots": report.slots,
        "model_alias": state.model.id,
        "model_path": state.root,
        "model_ftype": str(meta.get("ftype", "")),
        "modalities": {"vision": report.vision, "audio": report.audio, "video": False},
        "chat_template": state.template or "",
        "chat_template_caps": template_caps(state),
        "bos_token": vocabulary.bos_text if vocabulary else "",
        "eos_token": vocabulary.eos_text if vocabulary else "",
        "build_info": f"troth {facts.version}, {engine_build(state)}",
        "endpoint_slots": True,
        "endpoint_props": False,
        "endpoint_metrics": True,
        "is_sleeping": False,
        "media_marker": MARKER,
    }
