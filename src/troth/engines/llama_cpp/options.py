"""What an operator can set for a model of the `llama_cpp` engine: `models[].options` in the configuration."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

CacheType = Literal["f16", "bf16", "q8_0", "f32"]


class LlamaCppOptions(BaseModel):
    """The options of one model. Defaults suit a small model on a machine without a GPU."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    context_tokens: int | None = Field(
        None,
        ge=16,
        le=16_777_216,
        description="Tokens of one sequence, prompt and answer together. Null: the model's own, at most 8192.",
        json_schema_extra={"unit": "tokens"},
    )
    slots: int = Field(
        4, ge=1, le=256, description="Sequences that run at the same time; each has context_tokens of its own."
    )
    batch_tokens: int = Field(
        512, ge=32, le=16_384, description="The most that one step computes.", json_schema_extra={"unit": "tokens"}
    )
    read_tokens_beside_speech: int = Field(
        64,
        ge=1,
        le=16_384,
        description="Prompt tokens that one step may read while other answers are being written: smaller keeps "
        "them smoother, larger brings the first token of new requests sooner.",
        json_schema_extra={"unit": "tokens"},
    )
    threads: int | None = Field(None, ge=1, le=1024, description="Compute threads. Null: the cores of this process.")
    gpu_layers: int = Field(0, ge=-1, le=10_000, description="Layers on the GPU; -1 is all. Needs a GPU build.")
    cache_type_k: CacheType = Field("f16", description="Number format of the keys in the cache.")
    cache_type_v: CacheType = Field("f16", description="Number format of the values in the cache.")
    flash_attention: bool = Field(True, description="Use the fused attention kernel.")
    mmap: bool = Field(True, description="Map the file instead of reading it: starts at once, shares memory.")
    mlock: bool = Field(False, description="Keep the model in memory, never swapped.")
