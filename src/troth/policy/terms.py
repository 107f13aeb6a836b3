"""What the operator decided, as policy sees it: names, budgets, defaults and bounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from troth.domain import Plan, ServedModel


class FieldRule(Protocol):
    """One row of a generated field table; policy reads only how to leave the field out."""

    @property
    def neutral(self) -> Mapping[str, Any] | None:
        """The `x-contract` fragment of the values that ask for nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicySettings:
    """The knobs of this room; names are those of the config file, sections left out."""

    unknown_model: Literal["serve_default", "refuse"] = "serve_default"
    over_cap: Literal["clamp", "refuse"] = "clamp"
    cap_tokens: int | None = None
    default_tokens: int | None = None  # None: what the context leaves
    sampling: Mapping[str, Any] = field(default_factory=dict)  # the server's defaults, names of `Sampling`
    choices_max: int = 8
    stop_strings_max: int = 64
    stop_bytes_max: int = 4096  # UTF-8, all stop strings of a request together
    logit_bias_max: int = 1024
    tools_max: int = 512
    grammar_bytes_max: int = 1048576  # schemas and grammars of a request together
    schema_depth_max: int = 64


class Directory(Protocol):
    """What is known of models at this moment. Answers at once."""

    def is_loaded(self, model: str) -> bool:
        """True when requests can be given to the model now."""

    def lister(self, name: str) -> str | None:
        """The id of the upstream that lists a model of this name, if one is known to."""


class EverythingHere:
    """The directory of a server whose models are all in memory, without upstreams."""

    def is_loaded(self, model: str) -> bool:
        """Always."""
        return True

    def lister(self, name: str) -> str | None:
        """Nobody."""
        return None


@dataclass(frozen=True, slots=True)
class Terms:
    """Everything that a step may look at besides the plan: read-only, made once at start."""

    catalogue: tuple[ServedModel, ...]
    settings: PolicySettings
    rules: Mapping[str, FieldRule]  # by wire path, as in `Ask.given`
    draw_seed: Callable[[], int]  # 0 … 2**32 - 2
    directory: Directory = field(default_factory=EverythingHere)


Step = Callable[[Plan, Terms], Plan]
