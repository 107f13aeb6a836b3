"""What a loaded GGUF model says of itself, for /v1/models, /props and /health."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from troth.engines.llama_cpp.library import Library

TEXT_BYTES = 512


def describe_model(library: Library, model: Any, path: Path, options: BaseModel) -> dict[str, Any]:
    """The facts, JSON-ready. `meta` has the keys of llama-server's /v1/models."""
    import llama_cpp

    api = library.api
    vocab = api.llama_model_get_vocab(model)
    description = _description(api, model)
    return {
        "file": path.name,
        "description": description,
        "architecture": metadata(api, model, "general.architecture"),
        "name": metadata(api, model, "general.name"),
        "build": f"llama-cpp-python {llama_cpp.__version__}",
        "meta": {
            "vocab_type": api.llama_vocab_type(vocab),
            "n_vocab": api.llama_vocab_n_tokens(vocab),
            "n_ctx_train": api.llama_model_n_ctx_train(model),
            "n_embd": api.llama_model_n_embd(model),
            "n_params": api.llama_model_n_params(model),
            "size": api.llama_model_size(model),
            "ftype": description.rsplit(" ", 1)[-1],
        },
        "settings": options.model_dump(),
    }


def _description(api: Any, model: Any) -> str:
    buffer = ctypes.create_string_buffer(TEXT_BYTES)
    api.llama_model_desc(model, buffer, TEXT_BYTES)
    return buffer.value.decode("utf-8", "replace")


def metadata(api: Any, model: Any, key: str) -> str:
    """The value of a GGUF key as text, or an empty string."""
    buffer = ctypes.create_string_buffer(TEXT_BYTES)
    length = api.llama_model_meta_val_str(model, key.encode(), buffer, TEXT_BYTES)
    return buffer.value.decode("utf-8", "replace") if length >= 0 else ""
