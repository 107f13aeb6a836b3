"""Reasoning before the answer: many spellings, one decision. Pure.

Spellings that disagree are refused. `none` and `minimal`, as levels, switch reasoning off.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from troth._generated.models import ThinkingFields
from troth.domain import Thinking
from troth.errors import BadRequest

OFF = ("none", "minimal")


@dataclass(slots=True)
class Said:
    """What was said about one setting, by which field; saying something else is refused."""

    value: Any = None
    path: str = ""

    def say(self, value: Any, path: str) -> None:
        """The setting has this value. Raises BadRequest when another field has said another."""
        if value is None:
            return
        if self.path and self.value != value:
            raise BadRequest(
                f"`{self.path}` and `{path}` are one setting and have two different values: send one of them.",
                param=path,
                code="conflicting_values",
            )
        if not self.path:
            self.value, self.path = value, path


@dataclass(slots=True)
class Spoken:
    """What a request says about reasoning, field by field."""

    enabled: Said = field(default_factory=Said)
    effort: Said = field(default_factory=Said)
    budget: Said = field(default_factory=Said)

    def say_effort(self, effort: str | None, path: str) -> None:
        """The level; one that means off switches it off."""
        if effort is None:
            return
        if effort in OFF:
            self.enabled.say(False, path)
        else:
            self.effort.say(effort, path)

    def thinking(self, *, keeps: bool | None = None, separate: bool = True, effort_is_wish: bool = False) -> Thinking:
        """The one decision."""
        if self.enabled.value is False and self.effort.value is not None:
            raise BadRequest(
                f"`{self.enabled.path}` switches reasoning off and `{self.effort.path}` asks for some: send one.",
                param=self.effort.path,
                code="conflicting_values",
            )
        return Thinking(
            enabled=self.enabled.value,
            effort=self.effort.value,
            effort_is_wish=effort_is_wish,
            budget_tokens=None if self.budget.value == -1 else self.budget.value,
            keeps=keeps,
            separate=separate,
            field=self.enabled.path or self.effort.path or "enable_thinking",
            budget_field=self.budget.path or "thinking_token_budget",
        )


def thinking_of(body: ThinkingFields, kwargs: Mapping[str, Any] | None) -> Thinking:
    """What chat requests say about reasoning; `kwargs` are their template variables. Raises BadRequest."""
    spoken = Spoken()
    spoken.enabled.say(body.enable_thinking, "enable_thinking")
    spoken.say_effort(body.reasoning_effort, "reasoning_effort")
    spoken.budget.say(body.thinking_token_budget, "thinking_token_budget")
    if body.reasoning is not None:
        spoken.enabled.say(body.reasoning.enabled, "reasoning.enabled")
        spoken.say_effort(body.reasoning.effort, "reasoning.effort")
        spoken.budget.say(body.reasoning.max_tokens, "reasoning.max_tokens")
    if isinstance(body.thinking, bool):
        spoken.enabled.say(body.thinking, "thinking")
    elif body.thinking is not None:
        if body.thinking.type != "adaptive":
            spoken.enabled.say({"enabled": True, "disabled": False, None: None}[body.thinking.type], "thinking.type")
        spoken.budget.say(body.thinking.budget_tokens, "thinking.budget_tokens")
    told = (kwargs or {}).get("enable_thinking")
    if isinstance(told, bool):
        spoken.enabled.say(told, "chat_template_kwargs.enable_thinking")
    return spoken.thinking(keeps=body.preserve_thinking, separate=body.reasoning_format != "none")
