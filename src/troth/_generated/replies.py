"""What answers look like. Generated from openapi/ by `python -m codegen`; do not edit.

sha256 of openapi/: 80709f1840ea67e7b4ffa34561375ef8c2ef36e70afb44b731719f98040752ea; datamodel-code-generator 0.89.0
"""

from __future__ import annotations

from typing import Annotated, Any, Literal
from pydantic import AwareDatetime, ConfigDict, Field
from troth.contract import ContractModel


class ChatAnswer(ContractModel):
    """What the model said."""

    role: Literal["assistant"] = "assistant"
    "Who speaks."
    content: Annotated[str | None, Field(...)]
    "The text."
    refusal: str | None = None
    "Always absent or null."


class TopLogprob(ContractModel):
    """A token that could have been drawn."""

    id: Annotated[int, Field(ge=0)]
    "The token's id."
    token: str
    "Its text; bytes that are no text are replaced."
    bytes: list[Annotated[int, Field(ge=0, le=255)]]
    "Its exact bytes."
    logprob: Annotated[float, Field(le=0.0)]
    "Natural logarithm of its probability before the samplers."


class ChatDelta(ContractModel):
    """A piece of what the model says."""

    role: Literal["assistant"] | None = None
    "In the first piece of an answer."
    content: str | None = None
    "The piece of text."


class ErrorDetail(ContractModel):
    """What was wrong, which field, and what would be accepted."""

    message: str
    "The reason in words."
    type: str
    "The family of the error, for example invalid_request_error."
    param: str | None = None
    "The request field that was refused."
    code: str | Annotated[int, Field(ge=400, le=599)] | None
    "A word for programs; on llama-server's own routes the HTTP status."
    details: dict[str, Any] | None = None
    "Further facts about the refusal."
    n_prompt_tokens: Annotated[int | None, Field(ge=0)] = None
    "Over-context only: tokens of the prompt."
    n_ctx: Annotated[int | None, Field(ge=0)] = None
    "Over-context only: tokens of one context."
    n_surplus_tokens: Annotated[int | None, Field(ge=1)] = None
    "Over-context only: tokens that must go."


class HealthVersion(ContractModel):
    """Releases."""

    api: str
    "Release of this server."
    engine: str | None = None
    "The default model's engine and its release."


class ChatTemplateHealth(ContractModel):
    """The default model's chat template."""

    source: str | None = None
    "Where it comes from: the model or a file."
    sha256: str | None = None
    "Of its source."


class ModelHealth(ContractModel):
    """One model and how it is doing."""

    id: str
    "Its name."
    aliases: list[str] | None = None
    "Its other names."
    kind: str
    "What it is for."
    engine: str
    "What computes it."
    status: Literal["loading", "ready", "failed", "stopped"]
    "How it is doing."
    load_progress: Annotated[float | None, Field(ge=0.0, le=1.0)] = None
    "How much of it is loaded."
    fault: str | None = None
    "Why it failed."
    slots: Annotated[int | None, Field(ge=0)] = None
    "Requests that it runs at once."
    context_tokens: Annotated[int | None, Field(ge=0)] = None
    "Tokens of one context; 0 while it loads."
    running: Annotated[int | None, Field(ge=0)] = None
    "Sequences that occupy a slot."
    queued: Annotated[int | None, Field(ge=0)] = None
    "Requests that wait for it."
    longest_wait_s: Annotated[float | None, Field(ge=0.0)] = None
    "How long the oldest of them has waited."
    busy_for_s: Annotated[float | None, Field(ge=0.0)] = None
    "Seconds since it was last idle."
    details: dict[str, Any] | None = None
    "The engine's own facts."


class ContractTable(ContractModel):
    """The class of every request field of one route for one model."""

    honoured: list[str]
    "Fields that do what they say."
    inert: list[str]
    "Fields that are accepted and cannot change the answer."
    guarded: dict[str, str]
    "Fields that are refused, each with what is accepted in words."
    alias: dict[str, str]
    "Other spellings, each with the field that it stands for."
    clamped: dict[str, str]
    "Fields that are cut, each with the limit."
    prefixes: dict[str, str] | None = None
    "Families of fields by the beginning of their names, each with its class."
    unknown: Literal["ignore", "refuse"] | None = None
    "What happens to any other field."


class Capabilities(ContractModel):
    """What the model can do here."""

    chat: bool
    "It answers conversations."
    completion: bool | None = None
    "It continues text."
    tools: bool | None = None
    "It calls functions."
    reasoning: bool | None = None
    "It reasons before it answers."
    reasoning_efforts: list[str] | None = None
    "The levels of reasoning that its template knows."
    grammar: bool | None = None
    "Its answers can be held to a form."
    logprobs: bool | None = None
    "It reports log probabilities."
    embedding: bool | None = None
    "It turns text into vectors."
    image: bool | None = None
    "It reads pictures."
    video: bool | None = None
    "It reads film."
    audio: bool | None = None
    "It reads sound."


class ModelMeta(ContractModel):
    """Facts about the weights, as llama-server reports them; absent while the model loads."""

    vocab_type: Annotated[int | None, Field(ge=0)] = None
    "The kind of vocabulary."
    n_vocab: Annotated[int | None, Field(ge=0)] = None
    "Tokens of the vocabulary."
    n_ctx: Annotated[int | None, Field(ge=0)] = None
    "Tokens of one context here."
    n_ctx_train: Annotated[int | None, Field(ge=0)] = None
    "Tokens of one context in training."
    n_embd: Annotated[int | None, Field(ge=0)] = None
    "Width of the model."
    n_params: Annotated[int | None, Field(ge=0)] = None
    "Weights."
    size: Annotated[int | None, Field(ge=0)] = None
    "Bytes of all weights."
    ftype: str | None = None
    "How the weights are stored."


class LlamaModel(ContractModel):
    """A model as llama-server lists it for Ollama's clients."""

    name: str
    "Its name."
    model: str
    "Its name once more."
    modified_at: str | None = None
    "Always empty."
    size: str | None = None
    "Always empty."
    digest: str | None = None
    "Always empty."
    type: Literal["model"] = "model"
    "The kind of this object."
    description: str | None = None
    "Always empty."
    tags: list[str] | None = None
    "Labels."
    capabilities: list[str]
    "What it can do, for example completion."
    parameters: str | None = None
    "Always empty."
    details: dict[str, Any] | None = None
    "Form and family of the weights."


class Ping(ContractModel):
    """A sign of life."""

    status: Literal["ok", "loading", "failed", "stopping"]
    "ok when every model is ready, otherwise loading, failed (an engine could not start or stopped working) or stopping."
    model: str | None = None
    "Id of the default model."
    in_flight: Annotated[int | None, Field(ge=0)] = None
    "Requests that are running."
    queue_cap: Annotated[int | None, Field(ge=0)] = None
    "Requests that may wait."


class Version(ContractModel):
    """The release of this server and of its engine."""

    version: str
    "Release of this server."
    engine: str | None = None
    "The default model's engine and its release."
    spec: str | None = None
    "Version of the served OpenAPI document."


class PropsDefaultGenerationSettings(ContractModel):
    """What a request that says nothing gets."""

    params: dict[str, Any]
    "The sampling defaults, n_predict and the rest, by llama-server's names."
    n_ctx: Annotated[int, Field(ge=0)]
    "Tokens of one context."


class PropsModalities(ContractModel):
    """What the model reads besides text."""

    vision: bool
    "It reads pictures."
    audio: bool | None = None
    "It reads sound."
    video: bool | None = None
    "It reads film."


class Props(ContractModel):
    """The default chat model in llama-server's terms."""

    default_generation_settings: PropsDefaultGenerationSettings
    "What a request that says nothing gets."
    total_slots: Annotated[int, Field(ge=0)]
    "Requests that run at once."
    model_alias: str | None = None
    "The model's id."
    model_path: str
    "Where the weights come from."
    model_ftype: str | None = None
    "How the weights are stored."
    modalities: PropsModalities
    "What the model reads besides text."
    chat_template: str
    "The template's source; empty when there is none."
    chat_template_caps: dict[str, Any] | None = None
    "What the template can express."
    bos_token: str | None = None
    "Text of the token that begins a prompt."
    eos_token: str | None = None
    "Text of the token that ends a reply."
    build_info: str
    "The engine's build."
    endpoint_slots: bool | None = None
    "Whether the slots can be listed."
    endpoint_props: bool | None = None
    "Whether these properties can be changed."
    endpoint_metrics: bool | None = None
    "Whether there are metrics."
    is_sleeping: bool | None = None
    "Always false."


class OpenApiDocument(ContractModel):
    """An OpenAPI document."""

    model_config = ConfigDict(extra="allow")
    openapi: str
    "The version of its language."
    info: dict[str, Any]
    "What it is about."
    paths: dict[str, Any]
    "Its routes."


class UsagePromptTokensDetails(ContractModel):
    """Where the prompt's tokens came from."""

    cached_tokens: Annotated[int, Field(ge=0)]
    "Tokens that were not computed again."


class UsageCompletionTokensDetails(ContractModel):
    """What the generated tokens were for."""

    reasoning_tokens: Annotated[int, Field(ge=0)]
    "Tokens of reasoning."


class Usage(ContractModel):
    """Token counts of a request over all its choices."""

    prompt_tokens: Annotated[int, Field(ge=0)]
    "Tokens of the prompt, cached ones included."
    completion_tokens: Annotated[int, Field(ge=0)]
    "Tokens that were generated."
    total_tokens: Annotated[int, Field(ge=0)]
    "The sum of the two."
    prompt_tokens_details: UsagePromptTokensDetails
    "Where the prompt's tokens came from."
    completion_tokens_details: UsageCompletionTokensDetails
    "What the generated tokens were for."


class Timings(ContractModel):
    """Where the time went, as llama-server counts it; rates are 0 when unknown."""

    cache_n: Annotated[int, Field(ge=0)]
    "Prompt tokens taken from the cache."
    prompt_n: Annotated[int, Field(ge=0)]
    "Prompt tokens that were evaluated."
    prompt_ms: Annotated[float, Field(ge=0.0)]
    "Milliseconds of evaluating the prompt."
    prompt_per_token_ms: Annotated[float, Field(ge=0.0)]
    "Milliseconds for each evaluated prompt token."
    prompt_per_second: Annotated[float, Field(ge=0.0)]
    "Evaluated prompt tokens in a second."
    predicted_n: Annotated[int, Field(ge=0)]
    "Tokens that were generated."
    predicted_ms: Annotated[float, Field(ge=0.0)]
    "Milliseconds of generating."
    predicted_per_token_ms: Annotated[float, Field(ge=0.0)]
    "Milliseconds for each decode step."
    predicted_per_second: Annotated[float, Field(ge=0.0)]
    "Decode steps in a second."
    draft_n: Annotated[int | None, Field(ge=0)] = None
    "Tokens that were drafted; only with speculation."
    draft_n_accepted: Annotated[int | None, Field(ge=0)] = None
    "Drafted tokens that were accepted; only with speculation."
    max_tokens_clamped_from: Annotated[int | None, Field(ge=0)] = None
    "The budget that was asked for; only when it was cut."
    max_tokens_clamped_to: Annotated[int | None, Field(ge=0)] = None
    "The budget that was given; only when it was cut."


class PromptProgress(ContractModel):
    """How much of the prompt has been read."""

    total: Annotated[int, Field(ge=0)]
    "Tokens of the prompt."
    cache: Annotated[int, Field(ge=0)]
    "Tokens that came from the cache."
    processed: Annotated[int, Field(ge=0)]
    "Tokens that are done; `cache` at first and `total` at last."
    time_ms: Annotated[int, Field(ge=0)]
    "Milliseconds since the prompt was begun."


class TokenLogprob(ContractModel):
    """A token, its probability, and the likeliest others in its place."""

    id: Annotated[int, Field(ge=0)]
    "The token's id."
    token: str
    "Its text; bytes that are no text are replaced."
    bytes: list[Annotated[int, Field(ge=0, le=255)]]
    "Its exact bytes."
    logprob: Annotated[float, Field(le=0.0)]
    "Natural logarithm of its probability before the samplers."
    top_logprobs: list[TopLogprob]
    "The likeliest tokens, sorted; as many as were asked for."


class Error(ContractModel):
    """Why a request got no answer."""

    error: ErrorDetail


class Health(ContractModel):
    """The server's own account of itself; a field here goes before any other text."""

    status: Literal["ok", "loading", "failed", "stopping"]
    "ok when every model is ready, otherwise loading, failed (an engine could not start or stopped working) or stopping."
    model: Annotated[str | None, Field(...)]
    "Id of the default model."
    version: HealthVersion
    uptime_s: Annotated[float | None, Field(ge=0.0)] = None
    "Seconds since the start."
    models: list[ModelHealth]
    "Every model and how it is doing."
    endpoints: list[str]
    "Every route, as method and path."
    metrics: str | None = None
    "The path of the metrics."
    context: Annotated[int | None, Field(ge=0)] = None
    "Tokens of one context of the default model."
    slots: Annotated[int | None, Field(ge=0)] = None
    "Requests that run at once."
    slot_ctx: Annotated[int | None, Field(ge=0)] = None
    "Tokens of one slot of the default model."
    in_flight: Annotated[int, Field(ge=0)]
    "Requests that are running."
    busy: bool
    "Whether a request is running."
    busy_for_s: Annotated[float, Field(ge=0.0)]
    "Seconds since an engine was last idle; 0 when idle."
    queued: Annotated[int, Field(ge=0)]
    "Requests that wait."
    queue_cap: Annotated[int | None, Field(ge=0)] = None
    "Requests that may wait."
    longest_wait_s: Annotated[float, Field(ge=0.0)]
    "How long the oldest queued request has waited; 0 when none."
    stop_ids: list[Annotated[int, Field(ge=0)]] | None = None
    "Every token id that ends a reply of the default model; empty while it loads."
    chat_template: ChatTemplateHealth | None = None
    supported: list[str] | None = None
    "Request fields that are honoured on chat."
    accepted_but_ignored: list[str] | None = None
    "Inert request fields on chat."
    not_implemented: list[str] | None = None
    "Guarded request fields on chat."
    token_budget_aliases: list[str]
    "The names of the one budget field."
    max_tokens_default: Annotated[int | None, Field(ge=0)] = None
    "Budget when none is asked; null is what the context leaves."
    max_tokens_cap: Annotated[int | None, Field(ge=0)] = None
    "Largest budget; null is the context."
    max_tokens_over_cap: Literal["clamp", "400"]
    "What happens above the cap."
    unknown_fields: Literal["ignore", "refuse"] | None = None
    "What happens to fields that are not in this document."
    streaming: dict[str, Any] | None = None
    "What the first event of a stream is and how often a quiet one is kept alive."
    limits: dict[str, Any] | None = None
    "Bounds of the configuration."
    error_format: str | None = None
    "The shape of errors."
    sampling: dict[str, Any] | None = None
    "The samplers that are implemented, their order and bounds."
    server_defaults: dict[str, Any] | None = None
    "Sampling defaults of the configuration."
    server_defaults_rule: str | None = None
    "Which default goes before which."
    structured_output: dict[str, Any] | None = None
    "Whether and how answers can be held to a form."
    tool_calls: dict[str, Any] | None = None
    "Whether and how functions can be called."
    vision: dict[str, Any] | None = None
    "Whether pictures are read."
    prompt_cache: dict[str, Any] | None = None
    "Whether and how prompts are kept."
    determinism: dict[str, Any] | None = None
    "What is promised about equal requests."
    contract: dict[str, dict[str, ContractTable]]
    "The class of every request field, by route and then by model."


class Model(ContractModel):
    """A model that this server answers with."""

    id: str
    "The name to send as `model`."
    object: Literal["model"] = "model"
    "The kind of this object for OpenAI clients."
    type: Literal["model"] = "model"
    "The kind of this object for Anthropic clients."
    created: Annotated[int, Field(ge=0)]
    "Unix time in seconds."
    created_at: AwareDatetime
    "The same time in RFC 3339."
    owned_by: str
    "Who serves it."
    display_name: str
    "A name to show."
    lifecycle: Literal["active"] | None = None
    "For Anthropic clients."
    kind: str | None = None
    "What it is for, for example chat."
    root: str
    "Where the model comes from."
    parent: str | None = None
    "Always absent or null."
    max_model_len: Annotated[int | None, Field(ge=0)]
    "Tokens of one context; null while the model loads."
    context_length: Annotated[int | None, Field(ge=0)]
    "The same number."
    max_input_tokens: Annotated[int | None, Field(ge=0)] = None
    "The longest prompt, for Anthropic clients."
    max_tokens: Annotated[int | None, Field(ge=0)] = None
    "The longest answer, for Anthropic clients."
    max_tokens_cap: Annotated[int | None, Field(ge=0)] = None
    "Largest budget; null is the context."
    max_tokens_default: Annotated[int | None, Field(ge=0)] = None
    "Budget when none is asked; null is what the context leaves."
    capabilities: Capabilities
    aliases: list[str]
    "Other names to send as `model`, sorted."
    tags: list[str] | None = None
    "Always empty; llama-server's clients expect it."
    meta: ModelMeta


class ChatLogprobs(ContractModel):
    """Log probabilities of the answer's tokens."""

    content: list[TokenLogprob]
    "One entry for each token of the text."
    refusal: list[TokenLogprob] | None = None
    "Always absent or null."


class ChatChunkChoice(ContractModel):
    """What is new in one of the answers."""

    index: Annotated[int, Field(ge=0)]
    "Which answer."
    delta: ChatDelta
    finish_reason: Annotated[Literal["stop", "length"] | None, Field(...)]
    "Why the answer ended; null while it goes on."
    logprobs: ChatLogprobs | None = None
    "Of the tokens in this delta, when it was asked for."


class ModelList(ContractModel):
    """The models, in OpenAI's, Anthropic's and llama-server's shapes at once."""

    object: Literal["list"] = "list"
    "The kind of this object."
    data: list[Model]
    "The models."
    has_more: bool
    "Always false; the list is whole."
    first_id: Annotated[str | None, Field(...)]
    "Id of the first model; null when there is none."
    last_id: Annotated[str | None, Field(...)]
    "Id of the last model; null when there is none."
    models: list[LlamaModel] | None = None
    "The same models, as llama-server lists them a second time."


class ChatChoice(ContractModel):
    """One of the answers."""

    index: Annotated[int, Field(ge=0)]
    "Its place."
    message: ChatAnswer
    finish_reason: Literal["stop", "length"]
    "Why the answer ended, by itself or at a stop text (stop), or at the end of its budget (length)."
    logprobs: ChatLogprobs | None = None
    "Present when it was asked for."


class ChatCompletionChunk(ContractModel):
    """One event of a streamed answer."""

    id: str
    "The same in all chunks of an answer."
    object: Literal["chat.completion.chunk"] = "chat.completion.chunk"
    "The kind of this object."
    created: Annotated[int, Field(ge=0)]
    "The same in all chunks of an answer."
    model: str
    "The model that answers."
    system_fingerprint: str
    "The build that answers."
    service_tier: str | None = None
    "Always absent or null; there are no tiers."
    choices: list[ChatChunkChoice]
    "What is new; empty in the chunks that report usage or progress."
    usage: Usage | None = None
    "In the last chunk, when it was asked for."
    timings: Timings | None = None
    prompt_progress: PromptProgress | None = None


class ChatCompletion(ContractModel):
    """A whole answer."""

    id: str
    "Unique for each answer; begins with chatcmpl-."
    object: Literal["chat.completion"] = "chat.completion"
    "The kind of this object."
    created: Annotated[int, Field(ge=0)]
    "Unix time in seconds."
    model: str
    "The model that answered."
    system_fingerprint: str
    "The build that answered."
    service_tier: str | None = None
    "Always absent or null; there are no tiers."
    choices: Annotated[list[ChatChoice], Field(min_length=1)]
    "The answers, in order of their index."
    usage: Usage
    timings: Timings
