"""The engines that a configuration can name. A library is imported only when its engine is chosen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from pydantic import BaseModel

    from troth.engines.base import Decodes


@dataclass(frozen=True, slots=True)
class Registration:
    """One engine: how to get its options class and how to create it, both imported on demand."""

    kinds: tuple[str, ...]  # the model kinds that it can serve
    options: Callable[[], type[BaseModel]]
    create: Callable[[Path, BaseModel, Path | None, Sequence[Path]], Decodes]


def _llama_cpp_options() -> type[BaseModel]:
    from troth.engines.llama_cpp import LlamaCppOptions

    return LlamaCppOptions


def _llama_cpp(path: Path, options: BaseModel, draft: Path | None, extra: Sequence[Path]) -> Decodes:
    from troth.engines.llama_cpp import LlamaCpp, LlamaCppOptions

    return LlamaCpp(path, cast(LlamaCppOptions, options), draft, extra)


REGISTRY = {"llama_cpp": Registration(("chat",), _llama_cpp_options, _llama_cpp)}


def names() -> tuple[str, ...]:
    """The names that `engine:` accepts."""
    return tuple(sorted(REGISTRY))


def options_of(name: str) -> type[BaseModel]:
    """The options class of an engine. Raises KeyError for an unknown name."""
    return REGISTRY[name].options()


def sources(options: object) -> tuple[tuple[str, str | None], ...]:
    """The files that an engine's options name besides the model's, each with the hash that it must have, if any."""
    found: tuple[tuple[str, str | None], ...] = getattr(options, "sources", ())
    return found


def create(name: str, path: Path, options: BaseModel, draft: Path | None = None, extra: Sequence[Path] = ()) -> Decodes:
    """An engine for the model file at `path`, not yet loaded. `options` is an `options_of(name)`, `draft` the file
    of a smaller model that guesses ahead, `extra` those of `sources(options)`."""
    return REGISTRY[name].create(path, options, draft, extra)
