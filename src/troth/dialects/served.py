"""What the status routes are told about the server: fixed facts, and the state of each model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from troth import __version__
from troth.domain import ServedModel
from troth.engines.base import EngineReport, Vocabulary
from troth.engines.sight import SightReport
from troth.envelopes import Envelope

Readiness = Literal["ok", "degraded", "loading", "failed", "stopping"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Speech:
    """What a model's chat template can say, and how the model writes calls and reasoning."""

    call_format: str
    shows_calls: bool  # tools, calls and results have a place in the template; otherwise they are written as text
    takes_objects: bool  # arguments of calls are shown as objects
    thoughts: str | None  # the syntax of its reasoning; None: it has none
    variables: frozenset[str]  # that the template reads


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelState:
    """One configured model now. Taken without waiting for its engine."""

    model: ServedModel
    report: EngineReport
    slot: str = ""  # the name of its place
    slot_state: str = "ready"
    vocabulary: Vocabulary | None = None  # None until the model is loaded
    root: str = ""  # where the model came from, as configured
    created: int = 0  # Unix seconds: when it began to be served
    chat_template: str | None = None  # the operator's; None: the model's own
    speech: Speech | None = None  # None without a template, and until it has been looked at
    reads_whole: bool = False  # it gives numbers for texts, and continues none
    is_remote: bool = False  # another server computes it, and keeps template and vocabulary to itself
    seen: SightReport = field(default_factory=SightReport)  # pictures and sounds so far

    @property
    def template(self) -> str | None:
        """The chat template in force, or None: no conversation with this model."""
        return self.chat_template or (self.vocabulary.chat_template if self.vocabulary else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFacts:
    """What the configuration decided, as /health and /props report it. Names are the config file's."""

    version: str = __version__
    spec: str = ""  # `info.version` of the served document
    over_cap: Literal["clamp", "refuse"] = "clamp"
    cap_tokens: int | None = None
    default_tokens: int | None = None  # None: what the context leaves
    first_event: Literal["token", "role"] = "token"
    envelope: Envelope = "openai"  # of errors
    keepalive_seconds: float = 10.0
    unknown_fields: Literal["ignore", "refuse"] = "ignore"
    guard: frozenset[str] = frozenset()
    sampling: Mapping[str, Any] = field(default_factory=dict)  # the server's own defaults
    limits: Mapping[str, Any] = field(default_factory=dict)  # section `limits`, JSON-ready
    thinking: Mapping[str, Any] = field(default_factory=dict)  # section `thinking`, JSON-ready
    media: Mapping[str, Any] = field(default_factory=dict)  # section `media`, JSON-ready
    keywords: Mapping[str, Sequence[str]] = field(default_factory=dict)  # of JSON Schema, by what becomes of them
    queue_max: int = 64


def readiness(states: tuple[ModelState, ...]) -> Readiness:
    """`ok` when every model answers or waits to be wanted; `degraded` when others answer; else the worst known."""
    statuses = [state.report.status for state in states]
    if "stopped" in statuses:
        return "stopping"
    if "failed" in statuses or "unreached" in statuses:
        return "degraded" if "ready" in statuses else "failed"
    return "loading" if "loading" in statuses else "ok"


def default_chat(states: tuple[ModelState, ...]) -> ModelState | None:
    """The model that answers a chat request which names none."""
    return next((state for state in states if state.model.kind == "chat"), None)
