"""The `llama_cpp` engine for models of vectors and of relevance: a GGUF file with a pooling, or with a rank head."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, Field

from troth.engines.vectors import HONOURS

if TYPE_CHECKING:
    from troth.engines.base import LoadProgress
    from troth.engines.llama_cpp.encoder import LlamaEncoder

__all__ = ["LlamaEmbeddingOptions", "LlamaVectorOptions", "LlamaVectors"]


class LlamaVectorOptions(BaseModel):
    """The options of a model of relevance; one of vectors has some more."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    context_tokens: int | None = Field(
        None,
        ge=8,
        le=1_048_576,
        description="The longest text that is read. Null: what the model was trained for, at most 8192.",
        json_schema_extra={"unit": "tokens"},
    )
    batch_tokens: int = Field(
        256,
        ge=8,
        le=1_048_576,
        description="The most that is computed at once, texts of several requests together; a longer text is computed "
        "by itself. More is not quicker on a processor.",
        json_schema_extra={"unit": "tokens"},
    )
    batch_sequences: int = Field(
        64,
        ge=1,
        le=256,
        description="Most texts that are computed at once; with 1 each by itself, so that its numbers never depend on "
        "what is asked beside it.",
        json_schema_extra={"unit": "texts"},
    )
    threads: int | None = Field(None, ge=1, le=1024, description="Compute threads. Null: the cores of this process.")
    gpu_layers: int = Field(0, ge=-1, le=10_000, description="Layers on the GPU; -1 is all. Needs a GPU build.")
    main_gpu: int = Field(0, ge=0, le=1024, description="The GPU for what is not split.")
    split_mode: Literal["none", "layer", "row"] = Field("layer", description="How the model is split over GPUs.")
    tensor_split: tuple[float, ...] = Field((), description="Each GPU's share of the model; empty: by free memory.")
    flash_attention: bool = Field(True, description="Use the fused attention kernel.")
    mmap: bool = Field(True, description="Map the file instead of reading it: starts at once, shares memory.")
    mlock: bool = Field(False, description="Keep the model in memory, never swapped.")


class LlamaEmbeddingOptions(LlamaVectorOptions):
    """The options of a model of vectors."""

    pooling: Literal["mean", "cls", "last"] | None = Field(
        None,
        description="How a vector is made of those of its tokens. Null: as the file says; one that does not is "
        "refused.",
    )
    normalize: bool = Field(True, description="Scale vectors to length 1 when a request does not say otherwise.")


class LlamaVectors:
    """One GGUF file, of the kind embedding or rerank, and the options to load it with."""

    def __init__(self, path: Path, options: LlamaVectorOptions, kind: str) -> None:
        self.path = path
        self.options = options
        self.kind = kind
        self.honours = HONOURS[kind]

    def open(self, progress: LoadProgress) -> LlamaEncoder:
        """The model is in memory. Blocks. Raises EngineFault in words, also for a file that is of another kind."""
        from troth.engines.llama_cpp.encoder import LlamaEncoder

        return LlamaEncoder(self.path, self.options, self.kind, progress)
