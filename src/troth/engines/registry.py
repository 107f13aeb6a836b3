"""The engines that a configuration can name. A library is imported only when its engine is chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from pydantic import BaseModel

    from troth.engines.base import Decodes, Encodes, Relays, RelaysVectors

Beside = Mapping[str, Path]  # further files of a model by what they are: "draft", "tokenizer"


@dataclass(frozen=True, slots=True)
class Registration:
    """What an engine does for some kinds of model: how to get its options class and how to create it, on demand.

    It computes with a model's file (`create`), or stands for another server (`relay`) and has no file.
    """

    kinds: tuple[str, ...]  # the model kinds that it can serve
    options: Callable[[], type[BaseModel]]
    honours: Callable[[BaseModel], frozenset[str]]  # with these options
    create: Callable[[Path, BaseModel, Beside], Decodes | Encodes] | None = None
    relay: Callable[[str, BaseModel], Relays] | None = None
    relay_vectors: Callable[[str, BaseModel], RelaysVectors] | None = None
    sampling: Callable[[BaseModel], frozenset[str]] | None = None  # the values that it takes; None: all of them
    reads_whole: bool = False  # it gives numbers for texts: it makes an `Encodes`, or stands for one
    looks: bool = False  # at pictures, and reads no texts
    tokenizer: bool = False  # it needs a file with the tokenizer
    isolates: bool = False  # it may live in a process of its own: it pickles, and what it does crosses over
    uncarried: Mapping[str, str] = field(default_factory=dict)  # but for these options, each with what it is for


# What the decoder of a process of its own cannot be given yet, by option.
UNCARRIED = {"mmproj": "pictures and sound"}


def _llama_cpp_options() -> type[BaseModel]:
    from troth.engines.llama_cpp import LlamaCppOptions

    return LlamaCppOptions


def _llama_cpp(path: Path, options: BaseModel, beside: Beside) -> Decodes:
    from troth.engines.llama_cpp import LlamaCpp, LlamaCppOptions

    settings = cast(LlamaCppOptions, options)
    extra = [beside[f"extra.{number}"] for number in range(len(settings.sources))]
    return LlamaCpp(path, settings, beside.get("draft"), beside.get("mmproj"), extra)


def _llama_cpp_honours(options: BaseModel) -> frozenset[str]:
    from troth.engines.llama_cpp import HONOURS

    return HONOURS


def _llama_cpp_embedding_options() -> type[BaseModel]:
    from troth.engines.llama_cpp.vectors import LlamaEmbeddingOptions

    return LlamaEmbeddingOptions


def _llama_cpp_rerank_options() -> type[BaseModel]:
    from troth.engines.llama_cpp.vectors import LlamaVectorOptions

    return LlamaVectorOptions


def _llama_cpp_vectors(kind: str) -> Callable[[Path, BaseModel, Beside], Encodes]:
    def create(path: Path, options: BaseModel, beside: Beside) -> Encodes:
        from troth.engines.llama_cpp.vectors import LlamaVectorOptions, LlamaVectors

        return LlamaVectors(path, cast(LlamaVectorOptions, options), kind)

    return create


def _onnx_embedding_options() -> type[BaseModel]:
    from troth.engines.onnx import OnnxEmbeddingOptions

    return OnnxEmbeddingOptions


def _onnx_rerank_options() -> type[BaseModel]:
    from troth.engines.onnx import OnnxOptions

    return OnnxOptions


def _onnx_classifier_options() -> type[BaseModel]:
    from troth.engines.onnx import OnnxClassifierOptions

    return OnnxClassifierOptions


def _onnx_vision_options() -> type[BaseModel]:
    from troth.engines.onnx import OnnxVisionOptions

    return OnnxVisionOptions


def _onnx_vision(path: Path, options: BaseModel, beside: Beside) -> Encodes:
    from troth.engines.onnx import OnnxVisionOptions
    from troth.engines.onnx.vision import OnnxVision

    return OnnxVision(path, cast(OnnxVisionOptions, options))


def _onnx(kind: str) -> Callable[[Path, BaseModel, Beside], Encodes]:
    def create(path: Path, options: BaseModel, beside: Beside) -> Encodes:
        from troth.engines.onnx import Onnx, OnnxOptions

        return Onnx(path, beside["tokenizer"], cast(OnnxOptions, options), kind)

    return create


def _vector_honours(kind: str) -> Callable[[BaseModel], frozenset[str]]:
    def honours(options: BaseModel) -> frozenset[str]:
        from troth.engines.vectors import HONOURS

        return HONOURS[kind]

    return honours


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


def _upstream_embedding_options() -> type[BaseModel]:
    from troth.engines.upstream.options import UpstreamVectorOptions

    return UpstreamVectorOptions


def _upstream_rerank_options() -> type[BaseModel]:
    from troth.engines.upstream.options import UpstreamRerankOptions

    return UpstreamRerankOptions


def _upstream_vectors(kind: str) -> Callable[[str, BaseModel], RelaysVectors]:
    def create(name: str, options: BaseModel) -> RelaysVectors:
        from troth.engines.upstream.options import UpstreamOptions
        from troth.engines.upstream.vectors import UpstreamVectors

        return UpstreamVectors(name, cast(UpstreamOptions, options), kind)

    return create


def _upstream_vector_honours(kind: str) -> Callable[[BaseModel], frozenset[str]]:
    def honours(options: BaseModel) -> frozenset[str]:
        from troth.engines.upstream.options import UpstreamOptions
        from troth.engines.upstream.vectors import honours_of

        return honours_of(cast(UpstreamOptions, options), kind)

    return honours


LLAMA_CPP_VECTOR_OPTIONS = {"embedding": _llama_cpp_embedding_options, "rerank": _llama_cpp_rerank_options}
ONNX_OPTIONS = {
    "embedding": _onnx_embedding_options,
    "rerank": _onnx_rerank_options,
    "moderation": _onnx_classifier_options,
}
UPSTREAM_VECTOR_OPTIONS = {"embedding": _upstream_embedding_options, "rerank": _upstream_rerank_options}

REGISTRY: dict[str, tuple[Registration, ...]] = {
    "llama_cpp": (
        Registration(
            ("chat", "decision", "moderation"),
            _llama_cpp_options,
            _llama_cpp_honours,
            _llama_cpp,
            isolates=True,
            uncarried=UNCARRIED,
        ),
        *(
            Registration((kind,), options, _vector_honours(kind), _llama_cpp_vectors(kind), reads_whole=True)
            for kind, options in LLAMA_CPP_VECTOR_OPTIONS.items()
        ),
    ),
    "onnx": tuple(
        Registration((kind,), options, _vector_honours(kind), _onnx(kind), reads_whole=True, tokenizer=True)
        for kind, options in ONNX_OPTIONS.items()
    ),
    "onnx_vision": (
        Registration(
            ("moderation",),
            _onnx_vision_options,
            _vector_honours("moderation"),
            _onnx_vision,
            reads_whole=True,
            looks=True,
        ),
    ),
    "upstream": (
        Registration(("chat",), _upstream_options, _upstream_honours, relay=_upstream, sampling=_upstream_sampling),
        *(
            Registration(
                (kind,),
                options,
                _upstream_vector_honours(kind),
                relay_vectors=_upstream_vectors(kind),
                reads_whole=True,
            )
            for kind, options in UPSTREAM_VECTOR_OPTIONS.items()
        ),
    ),
}


def names() -> tuple[str, ...]:
    """The names that `engine:` accepts."""
    return tuple(sorted(REGISTRY))


Isolating = Mapping[tuple[str, str], Mapping[str, str]]


def isolating() -> Isolating:
    """What may live in a process of its own, by engine and kind: the options that it cannot have there, with words."""
    found = ((name, each) for name in names() for each in REGISTRY[name] if each.isolates)
    return {(name, kind): each.uncarried for name, each in found for kind in each.kinds}


def kinds() -> dict[str, tuple[str, ...]]:
    """The kinds of model that each engine serves, by its name."""
    return {name: tuple(kind for each in REGISTRY[name] for kind in each.kinds) for name in names()}


def registered(name: str, kind: str) -> Registration:
    """What the engine does for models of the kind. Raises KeyError when it does nothing for them."""
    found = next((each for each in REGISTRY[name] if kind in each.kinds), None)
    if found is None:
        raise KeyError(f"{name} serves no {kind} models")
    return found


def reads_whole(name: str, kind: str) -> bool:
    """True when the engine gives numbers for texts with models of the kind, and continues none."""
    return registered(name, kind).reads_whole


def looks(name: str, kind: str) -> bool:
    """True when the engine looks at pictures with models of the kind, and reads no texts."""
    return registered(name, kind).looks


def honours(name: str, kind: str, options: BaseModel) -> frozenset[str]:
    """The request fields that an engine with these options does for models of the kind."""
    return registered(name, kind).honours(options)


def options_of(name: str, kind: str = "chat") -> type[BaseModel]:
    """The options class of an engine for a kind of model. Raises KeyError for an unknown name or kind."""
    return registered(name, kind).options()


def described() -> dict[str, type[BaseModel]]:
    """Every options class there is, by engine and kinds in words."""
    return {f"{name}, kind {' and '.join(each.kinds)}": each.options() for name in names() for each in REGISTRY[name]}


def remote_names() -> frozenset[str]:
    """The engines that have no file: they stand for another server."""
    return frozenset(name for name in names() if any(each.relay is not None for each in REGISTRY[name]))


def sampling_of(name: str, options: BaseModel) -> frozenset[str] | None:
    """The values of the section `sampling` that an engine with these options takes; None: all of them."""
    sampling = REGISTRY[name][0].sampling
    return None if sampling is None else sampling(options)


def relay(engine: str, name: str, options: BaseModel) -> Relays:
    """The other server that answers for the model `name`, not yet asked for anything."""
    make = registered(engine, "chat").relay
    assert make is not None, "the configuration was checked"
    return make(name, options)


def relay_vectors(engine: str, kind: str, name: str, options: BaseModel) -> RelaysVectors:
    """The other server that computes vectors or relevance for the model `name`, not yet asked for anything."""
    make = registered(engine, kind).relay_vectors
    assert make is not None, "the configuration was checked"
    return make(name, options)


def sources(options: object) -> tuple[tuple[str, str | None], ...]:
    """The files that an engine's options name besides the model's, each with the hash that it must have, if any."""
    found: tuple[tuple[str, str | None], ...] = getattr(options, "sources", ())
    return found


def create(name: str, path: Path, options: BaseModel, beside: Beside | None = None) -> Decodes:
    """An engine for the chat model in the file at `path`, not yet loaded. `options` is an `options_of(name)`."""
    make = registered(name, "chat").create
    assert make is not None, "the configuration was checked"
    return cast("Decodes", make(path, options, beside or {}))


def create_encoder(name: str, kind: str, path: Path, options: BaseModel, beside: Beside) -> Encodes:
    """An engine for a model that gives numbers for texts, not yet loaded. `options` is an `options_of(name, kind)`."""
    make = registered(name, kind).create
    assert make is not None, "the configuration was checked"
    return cast("Encodes", make(path, options, beside))
