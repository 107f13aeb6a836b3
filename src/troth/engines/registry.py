"""The engines that a configuration can name. A library is imported only when its engine is chosen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from pydantic import BaseModel

    from troth.engines.base import Decodes, Relays


@dataclass(frozen=True, slots=True)
class Registration:
    """One engine: how to get its options class and how to create it, both imported on demand.

    It computes with a model's file (`create`), or stands for another server (`relay`) and has no file.
    """

    kinds: tuple[str, ...]  # the model kinds that it can serve
    options: Callable[[], type[BaseModel]]
    honours: Callable[[BaseModel], frozenset[str]]  # with these options
    create: Callable[[Path, BaseModel, Path | None], Decodes] | None = None
    relay: Callable[[str, BaseModel], Relays] | None = None
    sampling: Callable[[BaseModel], frozenset[str]] | None = None  # the values that it takes; None: all of them


def _llama_cpp_options() -> type[BaseModel]:
    from troth.engines.llama_cpp import LlamaCppOptions

    return LlamaCppOptions


def _llama_cpp(path: Path, options: BaseModel, draft: Path | None) -> Decodes:
    from troth.engines.llama_cpp import LlamaCpp, LlamaCppOptions

    return LlamaCpp(path, cast(LlamaCppOptions, options), draft)


def _llama_cpp_honours(options: BaseModel) -> frozenset[str]:
    from troth.engines.llama_cpp import HONOURS

    return HONOURS


def _upstream_options() -> type[BaseModel]:
    from troth.engines.upstream import UpstreamOptions

    return UpstreamOptions


def _upstream(name: str, options: BaseModel) -> Relays:
    from troth.engines.upstream import Upstream, UpstreamOptions

    return Upstream(name, cast(UpstreamOptions, options))


def _upstream_honours(options: BaseModel) -> frozenset[str]:
    from troth.engines.upstream import UpstreamOptions, honours_of

    return honours_of(cast(UpstreamOptions, options))


def _upstream_sampling(options: BaseModel) -> frozenset[str]:
    from troth.engines.upstream import UpstreamOptions, sampling_of

    return sampling_of(cast(UpstreamOptions, options))


REGISTRY = {
    "llama_cpp": Registration(("chat",), _llama_cpp_options, _llama_cpp_honours, _llama_cpp),
    "upstream": Registration(
        ("chat",), _upstream_options, _upstream_honours, relay=_upstream, sampling=_upstream_sampling
    ),
}


def names() -> tuple[str, ...]:
    """The names that `engine:` accepts."""
    return tuple(sorted(REGISTRY))


def options_of(name: str) -> type[BaseModel]:
    """The options class of an engine. Raises KeyError for an unknown name."""
    return REGISTRY[name].options()


def honours(name: str, options: BaseModel) -> frozenset[str]:
    """The request fields that an engine with these options does."""
    return REGISTRY[name].honours(options)


def remote_names() -> frozenset[str]:
    """The engines that have no file: they stand for another server."""
    return frozenset(name for name, registered in REGISTRY.items() if registered.relay is not None)


def sampling_of(name: str, options: BaseModel) -> frozenset[str] | None:
    """The values of the section `sampling` that an engine with these options takes; None: all of them."""
    sampling = REGISTRY[name].sampling
    return None if sampling is None else sampling(options)


def relay(engine: str, name: str, options: BaseModel) -> Relays:
    """The other server that answers for the model `name`, not yet asked for anything."""
    make = REGISTRY[engine].relay
    assert make is not None, "the configuration was checked"
    return make(name, options)


def create(name: str, path: Path, options: BaseModel, draft: Path | None = None) -> Decodes:
    """An engine for the model file at `path`, not yet loaded. `options` is an `options_of(name)`, `draft` the file
    of a smaller model that guesses ahead."""
    make = REGISTRY[name].create
    assert make is not None, "the configuration was checked"
    return make(path, options, draft)
