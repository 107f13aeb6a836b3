"""How reasoning is switched on, off and bounded for one model: in its template's own words, or not at all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from troth.domain import ClosedBy, Thinking, ThoughtBounds
from troth.engines.base import Vocabulary
from troth.errors import BadRequest
from troth.formats.thoughts import ThoughtSyntax
from troth.prompt.script import Script

SWITCHES = ("enable_thinking", "thinking")  # template variables, true or false
KEEPING: dict[str, Callable[[bool], bool]] = {  # template variables that keep the reasoning of earlier turns
    "preserve_thinking": lambda keeps: keeps,
    "clear_thinking": lambda keeps: not keeps,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ThoughtLimits:
    """How much of an answer may be reasoning (configuration section `thinking`)."""

    budget_tokens: int | None = None  # where the request names none
    room_tokens: int = 0  # kept for the answer: the larger of this and the share
    room_share: float = 0.0

    def left(self, answer_tokens: int) -> int | None:
        """The tokens of a budget that reasoning may have; None when nothing is kept for the answer."""
        kept = max(self.room_tokens, int(self.room_share * answer_tokens))
        return max(answer_tokens - kept, 0) if kept else None


@dataclass(frozen=True, slots=True)
class Room:
    """The room of one answer, and how much of it reasoning may take."""

    answer_tokens: int
    limits: ThoughtLimits


def thinking_variables(thinking: Thinking, script: Script, sent: dict[str, Any]) -> dict[str, Any]:
    """What the template is told about reasoning. `sent`: the client's own template variables.

    Raises: BadRequest for what the template has no word for, and where two fields of the client disagree.
    """
    told: dict[str, Any] = {}
    reads = script.template.variables
    if thinking.enabled is not None:
        name = next((each for each in SWITCHES if each in reads), None)
        if name is not None:
            told[name] = thinking.enabled
        elif thinking.enabled and script.thoughts is None:
            raise BadRequest(
                f"`{thinking.field}` asks for reasoning, and this model's chat template has none: leave it out, or "
                "switch it off.",
                param=thinking.field,
            )
    if thinking.effort is not None and not (thinking.effort_is_wish and "reasoning_effort" not in reads):
        if "reasoning_effort" not in reads:
            raise BadRequest(
                f"`{thinking.field}` is {thinking.effort!r}, and this model's chat template knows no levels: leave it "
                "out" + (', or send "none".' if script.thoughts is None else "."),
                param=thinking.field,
            )
        told["reasoning_effort"] = thinking.effort
    if thinking.keeps is not None:
        name = next((each for each in KEEPING if each in reads), None)
        if name is not None:
            told[name] = KEEPING[name](thinking.keeps)
        elif thinking.keeps:
            raise BadRequest(
                "`preserve_thinking` is true, and this model's chat template decides by itself what it keeps: leave it "
                "out, or send false.",
                param="preserve_thinking",
            )
    for name, value in told.items():
        if name in sent and sent[name] is not None and sent[name] != value:
            raise BadRequest(
                f"`chat_template_kwargs.{name}` is {sent[name]!r} and `{thinking.field}` asks for {value!r}: they are "
                "one setting, send one of them.",
                param="chat_template_kwargs",
                code="conflicting_values",
            )
    return told


def closing_text(thinking: Thinking, script: Script, rendered: str) -> str:
    """What is written behind a prompt so that no reasoning follows, where the template has no switch for it."""
    syntax = script.thoughts
    if thinking.enabled is not False or syntax is None or any(name in script.template.variables for name in SWITCHES):
        return ""
    if begins_inside(rendered, syntax):
        return f"\n{syntax.end}\n\n"
    return f"{syntax.begin}\n\n{syntax.end}\n\n"


def begins_inside(text: str, syntax: ThoughtSyntax | None) -> bool:
    """True when a rendered prompt ends inside a block of reasoning: the answer goes on with it."""
    return syntax is not None and text.rstrip().endswith(syntax.begin.rstrip())


def thought_bounds(
    thinking: Thinking, syntax: ThoughtSyntax | None, vocabulary: Vocabulary, *, is_open: bool, room: Room
) -> ThoughtBounds | None:
    """Where the reasoning ends, in tokens; None for a model without any.

    Raises: BadRequest for a budget that cannot be held: there is no reasoning, or its end is no single token.
    """
    asked = thinking.budget_tokens
    if syntax is None:
        if asked is not None and asked > 0:
            raise BadRequest(
                f"`{thinking.budget_field}` bounds reasoning, and this model's chat template has none: leave it out.",
                param=thinking.budget_field,
            )
        return None
    end = _single(syntax.end.strip(), vocabulary)
    if end is None:
        if asked is not None:
            raise BadRequest(
                f"`{thinking.budget_field}` cannot be held: this model's end of reasoning, {syntax.end.strip()!r}, is "
                "no single token of its vocabulary. Leave it out.",
                param=thinking.budget_field,
            )
        return None
    budget, closed_by = asked if asked is not None else room.limits.budget_tokens, _BY_BUDGET
    left = room.limits.left(room.answer_tokens)
    if left is not None and (budget is None or left < budget):
        budget, closed_by = left, _BY_ROOM
    begin = tuple(vocabulary.tokenize(syntax.begin.strip(), special=True, bos=False).tolist())
    return ThoughtBounds(begin=begin, end=end, is_open=is_open, budget_tokens=budget, closed_by=closed_by)


_BY_BUDGET: ClosedBy = "max_thinking_tokens"
_BY_ROOM: ClosedBy = "answer_room"


def _single(text: str, vocabulary: Vocabulary) -> int | None:
    tokens = vocabulary.tokenize(text, special=True, bos=False)
    return int(tokens[0]) if len(tokens) == 1 else None
