"""What an operator can set for a model of the `llama_cpp` engine: `models[].options` in the configuration."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

CacheType = Literal["f16", "bf16", "q8_0", "f32"]


class LoraOptions(BaseModel):
    """One LoRA adapter."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    source: str = Field(min_length=1, description="Its GGUF file, in the forms of a model's `source`.")
    sha256: str | None = Field(
        None, pattern=r"^[0-9a-fA-F]{64}$", description="Refuse the file unless its SHA-256 is this one."
    )
    scale: float = Field(
        1.0, ge=-100, le=100, description="How strongly it counts in requests that name no adapters; 0 is not at all."
    )


class VectorOptions(BaseModel):
    """The control vector."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    source: str = Field(min_length=1, description="Its GGUF file, in the forms of a model's `source`.")
    sha256: str | None = Field(
        None, pattern=r"^[0-9a-fA-F]{64}$", description="Refuse the file unless its SHA-256 is this one."
    )
    scale: float = Field(1.0, ge=-100, le=100, description="How strongly it counts.")
    layer_first: int = Field(1, ge=1, le=10_000, description="The first layer that it is added to.")
    layer_last: int | None = Field(None, ge=1, le=10_000, description="The last such layer; null: the model's last.")
    default: bool = Field(True, description="Whether it is added where a request does not say.")


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
    micro_batch_tokens: int | None = Field(
        None,
        ge=32,
        le=16_384,
        description="The most that the model is given at once; smaller takes less memory. Null, or more than "
        "batch_tokens: batch_tokens.",
        json_schema_extra={"unit": "tokens"},
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
    main_gpu: int = Field(0, ge=0, le=1024, description="The GPU for what is not split.")
    split_mode: Literal["none", "layer", "row"] = Field("layer", description="How the model is split over GPUs.")
    tensor_split: tuple[float, ...] = Field((), description="Each GPU's share of the model; empty: by free memory.")
    memory_check: bool = Field(
        True, description="Refuse to start when weights and cache cannot fit the free memory (without a GPU)."
    )
    determinism: Literal["strict", "fast"] = Field(
        "strict",
        description="strict: at temperature 0 the same bytes alone or batched, cached or not, in any chunking; a probe "
        "at load tests it and /health says what holds. fast: quicker prompts, and no such promise.",
    )
    cache_type_k: CacheType | None = Field(
        None,
        description="Number format of cached keys. Null: f16 when fast; q8_0 when strict, where the heads have whole "
        "blocks of 32 values.",
    )
    cache_type_v: CacheType | None = Field(
        None, description="Number format of cached values. Null: f16; bf16 when strict beside keys in f16."
    )
    prefix_cache_bytes: int = Field(
        1 << 30,
        ge=0,
        description="Memory for the states of earlier prompts and answers, shared by all requests; 0 is off.",
        json_schema_extra={"unit": "bytes"},
    )
    prefix_cache_tokens_min: int = Field(
        32,
        ge=1,
        le=65_536,
        description="Shorter beginnings are computed again instead of being kept.",
        json_schema_extra={"unit": "tokens"},
    )
    prefix_cache_folder: str | None = Field(
        None,
        min_length=1,
        description="Folder where these states are kept on disk too, for when memory is full and for the next start; "
        "null: nowhere.",
    )
    prefix_cache_disk_bytes: int = Field(
        16 << 30, ge=0, description="The most that this folder may hold.", json_schema_extra={"unit": "bytes"}
    )
    draft_tokens_max: int = Field(
        8,
        ge=0,
        le=64,
        description="Most tokens guessed from repetitions in one step, when that pays; 0 is off.",
        json_schema_extra={"unit": "tokens"},
    )
    mmproj: str | None = Field(
        None,
        min_length=1,
        description="The projector file with which the model reads pictures or sound (a GGUF, usually called mmproj…), "
        "in the forms of models[].source; null: it reads text alone.",
    )
    mmproj_sha256: str | None = Field(
        None, pattern=r"^[0-9a-fA-F]{64}$", description="Refuse that file unless its SHA-256 is this one."
    )
    mmproj_tokens_max: int | None = Field(
        None,
        ge=1,
        le=16_384,
        description="Most tokens of a picture, for projectors that scale with its size; null: the projector's own.",
        json_schema_extra={"unit": "tokens"},
    )
    lora: tuple[LoraOptions, ...] = Field(
        (), description="LoRA adapters; a request names them by their place in this list, from 0 on (`lora`)."
    )
    control_vector: VectorOptions | None = Field(
        None, description="A control vector, which requests switch on or off (`control_vector`)."
    )
    flash_attention: bool = Field(True, description="Use the fused attention kernel.")
    mmap: bool = Field(True, description="Map the file instead of reading it: starts at once, shares memory.")
    mlock: bool = Field(False, description="Keep the model in memory, never swapped.")

    @property
    def sources(self) -> tuple[tuple[str, str | None], ...]:
        """The files besides the model's, each with its hash if one is set: the adapters, then the control vector."""
        found = [*self.lora, *((self.control_vector,) if self.control_vector is not None else ())]
        return tuple((each.source, each.sha256) for each in found)
