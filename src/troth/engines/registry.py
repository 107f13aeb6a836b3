"""The engines that a configuration can name. A library is imported only when its engine is chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
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
    honours: Callable[[BaseModel], frozenset[str]]  # with these options
    create: Callable[[Path, BaseModel, Path | None], Decodes]
    isolates: bool = False  # it may live in a process of its own: it pickles, and what it does crosses over
    uncarried: Mapping[str, str] = field(default_factory=dict)  # but for these options, each with what it is for


# What the decoder of a process of its own cannot be given yet, by option.
UNCARRIED = {"mmproj": "pictures and sound"}


def _llama_cpp_options() -> type[BaseModel]:
    from troth.engines.llama_cpp import LlamaCppOptions

    return LlamaCppOptions


def _llama_cpp(path: Path, options: BaseModel, draft: Path | None) -> Decodes:
    from troth.engines.llama_cpp import LlamaCpp, LlamaCppOptions

    return LlamaCpp(path, cast(LlamaCppOptions, options), draft)


def _llama_cpp_honours(options: BaseModel) -> frozenset[str]:
    from troth.engines.llama_cpp import HONOURS

    return HONOURS


REGISTRY = {
    "llama_cpp": Registration(
        ("chat", "decision"), _llama_cpp_options, _llama_cpp_honours, _llama_cpp, isolates=True, uncarried=UNCARRIED
    )
}


def names() -> tuple[str, ...]:
    """The names that `engine:` accepts."""
    return tuple(sorted(REGISTRY))


Isolating = Mapping[tuple[str, str], Mapping[str, str]]


def isolating() -> Isolating:
    """What may live in a process of its own, by engine and kind: the options that it cannot have there, with words."""
    return {(name, kind): each.uncarried for name, each in REGISTRY.items() for kind in each.kinds if each.isolates}


def options_of(name: str) -> type[BaseModel]:
    """The options class of an engine. Raises KeyError for an unknown name."""
    return REGISTRY[name].options()


def honours(name: str, options: BaseModel) -> frozenset[str]:
    """The request fields that an engine with these options does."""
    return REGISTRY[name].honours(options)


def create(name: str, path: Path, options: BaseModel, draft: Path | None = None) -> Decodes:
    """An engine for the model file at `path`, not yet loaded. `options` is an `options_of(name)`, `draft` the file
    of a smaller model that guesses ahead."""
    return REGISTRY[name].create(path, options, draft)
