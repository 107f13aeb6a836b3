"""What answers look like. Generated from openapi/ by `python -m codegen`; do not edit.

sha256 of openapi/: ba311995a5afb143655ecfc54715bece0794f7b90b6fd40eb074d81dd0cf89ab; datamodel-code-generator 0.89.0
"""

from __future__ import annotations

from typing import Annotated, Any, Literal
from pydantic import AwareDatetime, ConfigDict, Field
from troth.contract import ContractModel
from typing_extensions import TypeAliasType


class AnthropicErrorError(ContractModel):
    """What was wrong, and what would be accepted."""

    type: str
    "The family of the error, for example invalid_request_error."
    message: str
    "The reason in words."
    details: dict[str, Any] | None = None
    "Further facts about the refusal."
    n_prompt_tokens: Annotated[int | None, Field(ge=0)] = None
    "Over-context only: tokens of the prompt."
    n_ctx: Annotated[int | None, Field(ge=0)] = None
    "Over-context only: tokens of one context."
    n_surplus_tokens: Annotated[int | None, Field(ge=1)] = None
    "Over-context only: tokens that must go."


class AnthropicError(ContractModel):
    """Why a request got no answer."""

    type: Literal["error"]
    "The kind of this object."
    error: AnthropicErrorError
    "What was wrong, and what would be accepted."
    request_id: str
    "The request's id in the log."


class AnthropicThought(ContractModel):
    """A block of reasoning."""

    type: Literal["thinking"]
    "The form of this block."
    thinking: str
    "The reasoning."
    signature: str
    "A mark without meaning; reasoning is taken back without a proof."


class AnthropicText(ContractModel):
    """A block of text."""

    type: Literal["text"]
    "The form of this block."
    text: str
    "The text."


class AnthropicToolUse(ContractModel):
    """A function to call."""

    type: Literal["tool_use"]
    "The form of this block."
    id: str
    "Unique for each call; begins with call_."
    name: str
    "The name."
    input: dict[str, Any]
    "The arguments; empty at the beginning of a stream, and where the answer was cut inside them."
    partial_input: str | None = None
    "The text of the arguments, as far as it came; only where the answer was cut inside them."


class AnthropicUsageOutputTokensDetails(ContractModel):
    """What they were for; only of answers with reasoning."""

    reasoning_tokens: Annotated[int, Field(ge=0)]
    "Tokens of reasoning."
    reasoning_closed_at: Annotated[int | None, Field(ge=0)] = None
    "Tokens of reasoning after which it was closed by the server; only then."
    reasoning_closed_by: Literal["max_thinking_tokens", "answer_room"] | None = None
    "What closed it; only when the server did."


class AnthropicUsage(ContractModel):
    """Token counts; the three of the input are the prompt."""

    input_tokens: Annotated[int, Field(ge=0)]
    "Prompt tokens that were computed."
    cache_read_input_tokens: Annotated[int, Field(ge=0)]
    "Prompt tokens that were not computed again."
    cache_creation_input_tokens: Annotated[int, Field(ge=0)]
    "Always 0; keeping a prompt costs nothing."
    output_tokens: Annotated[int, Field(ge=0)]
    "Tokens that were generated."
    output_tokens_details: AnthropicUsageOutputTokensDetails | None = None
    "What they were for; only of answers with reasoning."


class AnthropicEventDelta(ContractModel):
    """What is new."""

    type: Literal["text_delta", "thinking_delta", "signature_delta", "input_json_delta"] | None = None
    "The form of a block's delta."
    text: str | None = None
    "The text that is new."
    thinking: str | None = None
    "The reasoning that is new."
    signature: str | None = None
    "The mark of the block, before its end."
    partial_json: str | None = None
    "The next piece of the arguments' text."
    stop_reason: Literal["end_turn", "max_tokens", "stop_sequence", "tool_use"] | None = None
    "Why it ended."
    stop_sequence: str | None = None
    "The stop text that was met."


class AnthropicEventError(ContractModel):
    """Why the answer ended with a fault."""

    type: str
    "The family of the error."
    message: str
    "The reason in words."


class AnthropicCount(ContractModel):
    """How many tokens a prompt has."""

    input_tokens: Annotated[int, Field(ge=0)]
    "How many."


class CachePool(ContractModel):
    """The memory of the sequences that run. Every slot has its own part of it, so nothing in it is ever packed."""

    positions: Annotated[int, Field(ge=0)]
    "Tokens that all slots hold together."
    used: Annotated[int, Field(ge=0)]
    "Tokens that they hold now."
    usage_ratio: Annotated[float, Field(ge=0.0, le=1.0)]
    "Used of all positions."
    busy_regions: Annotated[int, Field(ge=0)]
    "Slots that a request has."
    held_regions: Annotated[int, Field(ge=0)]
    "Saved states that a handle keeps, in ordinary memory."
    room_clamped: Annotated[int | None, Field(ge=0)] = None
    "Always 0; no answer is cut for want of room."
    moved: Annotated[int | None, Field(ge=0)] = None
    "Sequences moved to a lower slot while they ran."
    packed: Annotated[int | None, Field(ge=0)] = None
    "Always 0."
    taken_over: Annotated[int | None, Field(ge=0)] = None
    "Always 0; states are copied."
    dropped: Annotated[int | None, Field(ge=0)] = None
    "Always 0; running sequences are never given up."
    waiting_for_room: Annotated[int | None, Field(ge=0)] = None
    "Always 0; requests wait for a slot instead."
    waiting_s: Annotated[float | None, Field(ge=0.0)] = None
    "Always 0."
    relocated: Annotated[int | None, Field(ge=0)] = None
    "Always 0."
    cold_resorts: Annotated[int | None, Field(ge=0)] = None
    "Always 0; a preempted request goes on from its own state."


class CacheDisk(ContractModel):
    """Saved states on disk, beside and beyond those in memory."""

    on: bool
    "Whether states are kept on disk."
    records: Annotated[int | None, Field(ge=0)] = None
    "States on disk now."
    lineages: Annotated[int | None, Field(ge=0)] = None
    "Always 0; states are independent of each other."
    bytes: Annotated[int | None, Field(ge=0)] = None
    "Bytes on disk now."
    budget_bytes: Annotated[int | None, Field(ge=0)] = None
    "The most that disk may hold."
    hits: Annotated[int | None, Field(ge=0)] = None
    "States read from disk."
    misses: Annotated[int | None, Field(ge=0)] = None
    "States whose file was not what it had been."
    persisted: Annotated[int | None, Field(ge=0)] = None
    "States given to the disk to write."
    branches: Annotated[int | None, Field(ge=0)] = None
    "Always 0; states are independent of each other."
    evicted: Annotated[int | None, Field(ge=0)] = None
    "States removed because the disk budget was spent."
    skipped: Annotated[int | None, Field(ge=0)] = None
    "Always 0."
    restore_ms_total: Annotated[float | None, Field(ge=0.0)] = None
    "Always 0; `restore_ms_total` above covers both."
    restored_bytes: Annotated[int | None, Field(ge=0)] = None
    "Always 0."


class ComposableContext(ContractModel):
    """Pieces of prompts used again at another place; never done, since the answer would not be the same."""

    enabled: bool
    "Always false."
    chunks: Annotated[int | None, Field(ge=0)] = None
    "Always 0."
    bytes: Annotated[int | None, Field(ge=0)] = None
    "Always 0."
    stored: Annotated[int | None, Field(ge=0)] = None
    "Always 0."
    composed: Annotated[int | None, Field(ge=0)] = None
    "Always 0."
    evicted: Annotated[int | None, Field(ge=0)] = None
    "Always 0."
    composed_tokens: Annotated[int | None, Field(ge=0)] = None
    "Always 0."


class CacheReset(ContractModel):
    """What a reset of the prefix cache did."""

    entries_dropped: Annotated[int, Field(ge=0)]
    "Saved states that were forgotten."


class OmniToolResult(ContractModel):
    """One call of a tool."""

    id: str
    "Unique for each call."
    name: str
    "The tool."
    arguments: str
    "As the model wrote them, the text of a JSON object."
    result: dict[str, Any]
    "What the tool gave; `error` alone where it failed."
    seconds: Annotated[float, Field(ge=0.0)]
    "How long it took."


class FunctionCall(ContractModel):
    """A function and its arguments."""

    name: str
    "The name."
    arguments: str
    "The text of a JSON object; cut short where the answer is."


class TopLogprob(ContractModel):
    """A token that could have been drawn."""

    id: Annotated[int | None, Field(ge=0)] = None
    "The token's id; absent where another server has drawn it and does not tell."
    token: str
    "Its text; bytes that are no text are replaced."
    bytes: list[Annotated[int, Field(ge=0, le=255)]]
    "Its exact bytes."
    logprob: Annotated[float, Field(le=0.0)]
    "Natural logarithm of its probability before the samplers."


class TopProbability(ContractModel):
    """A token that could have been drawn."""

    id: Annotated[int | None, Field(ge=0)] = None
    "The token's id; absent where another server has drawn it and does not tell."
    token: str
    "Its text; bytes that are no text are replaced."
    bytes: list[Annotated[int, Field(ge=0, le=255)]]
    "Its exact bytes."
    prob: Annotated[float, Field(ge=0.0, le=1.0)]
    "Its probability after the samplers."


class FunctionCallDelta(ContractModel):
    """A piece of a function's call."""

    name: str | None = None
    "In the first piece."
    arguments: str
    "The next piece of the arguments' text."


class SystemOneAnswerUsageInputTokensDetails(ContractModel):
    """Of these tokens."""

    cached_tokens: Annotated[int, Field(ge=0)]
    "Those that did not have to be read again."


class SystemOneAnswerUsage(ContractModel):
    """What it took."""

    input_tokens: Annotated[int, Field(ge=0)]
    "Tokens of all prompts, each with the state."
    output_tokens: Annotated[int, Field(ge=0)]
    "Always 0."
    input_tokens_details: SystemOneAnswerUsageInputTokensDetails | None = None
    "Of these tokens."


SystemOneDecisionProbabilitiesAdditionalProperty = TypeAliasType(
    "SystemOneDecisionProbabilitiesAdditionalProperty", Annotated[float, Field(ge=0.0, le=1.0)]
)


class SystemOneDecision(ContractModel):
    """One answer. Its keys are those of its type."""

    type: Literal["choice", "score", "noul"]
    "The question's type."
    choice: str | None = None
    "The likeliest option."
    score: Annotated[float | None, Field(ge=0.0)] = None
    "The expected level."
    noul: Annotated[float | None, Field(ge=0.0, le=1.0)] = None
    "The probability of yes."
    legend: dict[str, str] | None = None
    "What the levels mean."
    probabilities: dict[str, SystemOneDecisionProbabilitiesAdditionalProperty] | None = None
    "By option or level; 1 in all."
    confidence: Annotated[float | None, Field(ge=0.0, le=1.0)] = None
    "0: nothing is preferred; 1: certain."


class ErrorDetail(ContractModel):
    """What was wrong, which field, and what would be accepted."""

    message: str
    "The reason in words."
    type: str
    "The family of the error, for example invalid_request_error."
    param: str | None = None
    "The request field that was refused."
    code: Annotated[str | None, Field(pattern="^[a-z0-9_]+$")] | Annotated[int, Field(ge=400, le=599)] | None
    "A word for programs, without a dot; on llama-server's own routes the HTTP status."
    details: dict[str, Any] | None = None
    "Further facts about the refusal."
    n_prompt_tokens: Annotated[int | None, Field(ge=0)] = None
    "Over-context only: tokens of the prompt."
    n_ctx: Annotated[int | None, Field(ge=0)] = None
    "Over-context only: tokens of one context."
    n_surplus_tokens: Annotated[int | None, Field(ge=1)] = None
    "Over-context only: tokens that must go."


class Hal0ErrorDetail(ContractModel):
    """The same in hal0's words; all facts about the refusal are in `details`."""

    code: Annotated[str, Field(pattern="^[a-z0-9_]+\\.[a-z0-9_]+$")]
    "A dotted word for programs, its family first."
    message: str
    "The reason in words."
    details: dict[str, Any]
    "Facts, empty when there are none; `param` is the request field that was refused, `retry_after_s` what the header Retry-After says, in seconds."


class Stall(ContractModel):
    """Why the server behind this one cut the answer; with `errors.envelope: hal0` alone, in a chunk of its own before the end. Otherwise that is an error of the code upstream_stalled."""

    reason: Literal["read", "idle", "total"]
    "It was silent before its answer (read) or in it (idle), or took too long altogether (total)."
    elapsed_s: Annotated[float, Field(ge=0.0)]
    "Since it was asked, in seconds."
    upstream: str
    "The model, and the number of the replica."


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


class PromptCacheHealth(ContractModel):
    """How prompts are kept by the default model."""

    enabled: bool
    "Whether they are kept."
    budget_bytes: Annotated[int, Field(ge=0)]
    "Memory for them."
    cap_mb: Annotated[float | None, Field(ge=0.0)] = None
    "The same in MiB."
    bitwise_identical_to_cold: bool
    "Whether an answer from a kept prompt is promised to be the one without it."


class DeterminismHealth(ContractModel):
    """What is promised about equal requests to the default model: with `promised`, at temperature 0 the same bytes alone or batched, cached or not, drafted or not, in any chunking."""

    setting: Annotated[str | None, Field(...)]
    "strict or fast, as configured; null while it loads."
    promised: bool
    "Whether the test at load found that it holds."
    probe: dict[str, bool] | None = None
    "What the test compared, bit for bit, and whether it was equal."
    probe_seconds: Annotated[float | None, Field(ge=0.0)] = None
    "How long the test took."
    repacked: bool | None = None
    "Whether the weights are rearranged for speed."


class SpeculationHealth(ContractModel):
    """Whether tokens of the default model are drafted ahead; an answer never depends on it."""

    enabled: bool
    "Whether drafts are made when they pay."
    kind: Literal["prompt_lookup", "draft_model"] | None = None
    "Where drafts come from: repetitions alone, or also a smaller model where nothing repeats."
    draft_tokens_max: Annotated[int, Field(ge=0)]
    "The longest draft."
    draft_model: str | None = None
    "The file of the smaller model."


class MemoryHealth(ContractModel):
    """The memory of the default model's sequences."""

    can_cut: Annotated[bool | None, Field(...)]
    "Whether a sequence can be shortened. Otherwise (recurrent models) saved states are used whole or not at all, and nothing is drafted."


class ModelHealthMedia(ContractModel):
    """What it has seen and heard since the start; null when it reads text alone."""

    hits: Annotated[int | None, Field(ge=0)] = None
    "Pictures and sounds that had been seen before."
    misses: Annotated[int | None, Field(ge=0)] = None
    "Those that had to be encoded."
    encode_seconds: Annotated[float | None, Field(ge=0.0)] = None
    "Spent on that."
    entries: Annotated[int | None, Field(ge=0)] = None
    "Pictures and sounds that are remembered."
    size_bytes: Annotated[int | None, Field(ge=0)] = None
    "Memory that they take."
    budget_bytes: Annotated[int | None, Field(ge=0)] = None
    "Memory that they may take; 0 is off."


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


class ModelSlotState(ContractModel):
    """The state of one slot."""

    name: str
    "The slot's name."
    state: Literal["offline", "pulling", "starting", "warming", "ready", "serving", "idle", "unloading", "error"]
    "Where a model is on its way into memory and out of it."
    model_id: str
    "The model that it holds."
    backend: str
    "The engine that computes it."
    message: str
    "Why it is in this state; may be empty."
    updated_at: Annotated[float, Field(ge=0.0)]
    "Since when, in Unix seconds."


class ModelSlot(ContractModel):
    """One slot, and its model."""

    id: str
    "The slot's name once more."
    name: str
    "The slot's name."
    state: Literal["offline", "pulling", "starting", "warming", "ready", "serving", "idle", "unloading", "error"]
    "Where a model is on its way into memory and out of it."
    status: Literal["offline", "pulling", "starting", "warming", "ready", "serving", "idle", "unloading", "error"]
    "Where a model is on its way into memory and out of it."
    model_id: str
    "The model that it holds."
    backend: str
    "The engine that computes it."
    message: str
    "Why it is in this state; may be empty."
    updated_at: Annotated[float, Field(ge=0.0)]
    "Since when, in Unix seconds."
    kind: str
    "What the model is for."
    aliases: list[str]
    "Further names of the model."
    pinned: bool
    "Whether it stays in memory."
    lazy: bool
    "Whether it is loaded when it is wanted."
    load_progress: Annotated[float, Field(ge=0.0, le=1.0)]
    "How far it is fetched or loaded."
    loads: Annotated[int, Field(ge=0)]
    "How often it was loaded."
    crashes: Annotated[int, Field(ge=0)]
    "How often in a row it failed."
    memory_mb: Annotated[float, Field(ge=0.0)]
    "What it counts for in the budget, in MiB."
    idle_seconds: Annotated[float | None, Field(...)]
    "Quiet time until it is unloaded; null for never."


class ModelSlotMetrics(ContractModel):
    """What one slot does and did."""

    state: Literal["offline", "pulling", "starting", "warming", "ready", "serving", "idle", "unloading", "error"]
    "Where a model is on its way into memory and out of it."
    model_id: str
    "The model that it holds."
    requests_processing: Annotated[int, Field(ge=0)]
    "Sequences that run."
    requests_waiting: Annotated[int, Field(ge=0)]
    "Requests that wait."
    uptime_seconds: Annotated[float, Field(ge=0.0)]
    "Since the model was loaded; 0 when it is not."
    last_used_seconds: Annotated[float, Field(ge=0.0)]
    "Since it last had something to do."
    ctx: Annotated[int, Field(ge=0)]
    "Tokens of one context."
    prompt_tokens: Annotated[int, Field(ge=0)]
    "Prompt tokens computed since the start."
    predicted_tokens: Annotated[int, Field(ge=0)]
    "Tokens generated since the start."
    tokens_per_sec: Annotated[float, Field(ge=0.0)]
    "Tokens generated per second of generating, one answer's rate."


class ModelSlotCapacityPerSlot(ContractModel):
    mem_mb: Annotated[float, Field(ge=0.0)]
    "What the model counts for, loaded or not."
    state: Literal["offline", "pulling", "starting", "warming", "ready", "serving", "idle", "unloading", "error"]
    "Where a model is on its way into memory and out of it."
    model_id: str
    "The model that it holds."


class ModelSlotCapacitySlotBudget(ContractModel):
    """Slots in use, and how many there are."""

    used_slots: Annotated[int, Field(ge=0)]
    "Slots whose model is in memory or on its way."
    max_slots: Annotated[int, Field(ge=0)]
    "Slots."


class ModelSlotCapacity(ContractModel):
    """The memory of the models."""

    per_slot: dict[str, ModelSlotCapacityPerSlot]
    "By name of the slot."
    slot_budget: ModelSlotCapacitySlotBudget
    "Slots in use, and how many there are."
    memory_mb: Annotated[float | None, Field(...)]
    "The budget of all models; null when there is none."
    used_mb: Annotated[float, Field(ge=0.0)]
    "What the loaded ones count for."


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
    rerank: bool | None = None
    "It tells how relevant documents are to a query."
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
    type: Literal["model"]
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


class ModerationUsage(ContractModel):
    """What it took."""

    prompt_tokens: Annotated[int, Field(ge=0)]
    "Tokens of the prompts."
    total_tokens: Annotated[int, Field(ge=0)]
    "The same."


ModerationResultCategoryScoresAdditionalProperty = TypeAliasType(
    "ModerationResultCategoryScoresAdditionalProperty", Annotated[float, Field(ge=0.0, le=1.0)]
)
ModerationResultLabelScoresAdditionalProperty = TypeAliasType(
    "ModerationResultLabelScoresAdditionalProperty", Annotated[float, Field(ge=0.0, le=1.0)]
)


class ModerationResult(ContractModel):
    """What the guard says of one input."""

    flagged: bool
    "Whether something is wrong."
    categories: dict[str, bool]
    "What is wrong, in OpenAI's words, and the guard's own where OpenAI has none."
    category_scores: dict[str, ModerationResultCategoryScoresAdditionalProperty]
    "How likely each is what is wrong."
    category_applied_input_types: dict[str, list[Literal["text", "image"]]]
    "What each was looked for in; in nothing, where no label of the models that judged means it."
    label: str
    "The guard's verdict."
    label_scores: dict[str, ModerationResultLabelScoresAdditionalProperty]
    "How likely each verdict is; of several parts that were judged, for the worst of them."


class ResponseError(ContractModel):
    """Why an answer failed."""

    code: str
    "A word for programs."
    message: str
    "The reason in words."


class IncompleteDetails(ContractModel):
    """Why an answer is incomplete."""

    reason: Literal["max_output_tokens"]
    "The reason."


class ReasoningText(ContractModel):
    """A text of reasoning."""

    type: Literal["reasoning_text"]
    "The form of this part."
    text: str
    "The text."


class OutputCall(ContractModel):
    """A function to call."""

    id: str
    "Unique; begins with fc_."
    type: Literal["function_call"]
    "The form of this item."
    status: Literal["in_progress", "completed", "incomplete"]
    "How far it is."
    call_id: str
    "What its result refers to."
    name: str
    "The name."
    namespace: str | None = None
    "The namespace of the function, where it has one."
    arguments: str
    "The text of a JSON object; cut short where the answer is."


class OutputText(ContractModel):
    """A text of the model."""

    type: Literal["output_text"]
    "The form of this part."
    text: str
    "The text."
    annotations: list[Any]
    "Always empty."
    logprobs: list[Any]
    "Always empty."


class ResponsesUsageInputTokensDetails(ContractModel):
    """Where they came from."""

    cached_tokens: Annotated[int, Field(ge=0)]
    "Tokens that were not computed again."
    cache_write_tokens: Annotated[int | None, Field(ge=0)] = None
    "Always 0; keeping a prompt costs nothing."


class ResponsesUsageOutputTokensDetails(ContractModel):
    """What they were for."""

    reasoning_tokens: Annotated[int, Field(ge=0)]
    "Tokens of reasoning."
    reasoning_closed_at: Annotated[int | None, Field(ge=0)] = None
    "Tokens of reasoning after which it was closed by the server; only then."
    reasoning_closed_by: Literal["max_thinking_tokens", "answer_room"] | None = None
    "What closed it; only when the server did."


class ResponsesUsage(ContractModel):
    """Token counts."""

    input_tokens: Annotated[int, Field(ge=0)]
    "Tokens of the prompt, cached ones included."
    input_tokens_details: ResponsesUsageInputTokensDetails
    "Where they came from."
    output_tokens: Annotated[int, Field(ge=0)]
    "Tokens that were generated."
    output_tokens_details: ResponsesUsageOutputTokensDetails
    "What they were for."
    total_tokens: Annotated[int, Field(ge=0)]
    "The sum of the two."


class SessionListPool(ContractModel):
    """The memory of the sequences that run."""

    tokens_used: Annotated[int, Field(ge=0)]
    "Tokens that all slots hold now."
    tokens_total: Annotated[int, Field(ge=0)]
    "Tokens that they can hold."
    unshared_tokens: Annotated[int | None, Field(ge=0)] = None
    "The same as `tokens_used`; slots share nothing."


class SessionListMoved(ContractModel):
    """What became of saved states, as totals since the start."""

    to_host: Annotated[int | None, Field(ge=0)] = None
    "Saved."
    promoted: Annotated[int | None, Field(ge=0)] = None
    "Restored into a slot."
    host_freed: Annotated[int | None, Field(ge=0)] = None
    "Made superfluous by a longer one."
    host_drops: Annotated[int | None, Field(ge=0)] = None
    "Given up for room."
    failures: Annotated[int | None, Field(ge=0)] = None
    "Not saved for want of room."
    dropped: Annotated[int | None, Field(ge=0)] = None
    "Always 0; running sequences are never given up."
    to_disk: Annotated[int | None, Field(ge=0)] = None
    "States given to the disk to write."
    fetched: Annotated[int | None, Field(ge=0)] = None
    "States read from disk."


class SessionListSnapshotsMoved(ContractModel):
    """As `moved`, of recurrent states apart from their sequences; there are none."""

    bytes_each: Annotated[int | None, Field(ge=0)] = None
    "Always 0."


class SessionListLinear(ContractModel):
    """The part of models whose states are only used whole."""

    hit_rate: Annotated[float | None, Field(ge=0.0, le=1.0)] = None
    "Share of their prompt tokens that did not have to be computed."
    cached_tokens: Annotated[int | None, Field(ge=0)] = None
    "These tokens."
    checkpoints_written: Annotated[int | None, Field(ge=0)] = None
    "States saved for them."


class SessionListTiers(ContractModel):
    """Where states are kept besides the slots."""

    host: bool
    "In ordinary memory."
    disk: bool
    "Whether states are kept on disk."


class SessionListOccupancy(ContractModel):
    """What they take, and may take."""

    host_bytes: Annotated[int, Field(ge=0)]
    "Ordinary memory in use."
    host_cap_bytes: Annotated[int, Field(ge=0)]
    "Ordinary memory that may be used."
    disk_bytes: Annotated[int | None, Field(ge=0)] = None
    "Bytes on disk now."
    disk_cap_bytes: Annotated[int | None, Field(ge=0)] = None
    "The most that disk may hold."


class Session(ContractModel):
    """One saved state of a conversation."""

    id: str
    "Its id; `DELETE /sessions?id=` takes it."
    label: Annotated[str | None, Field(...)]
    "The `session_id` that it was sent with."
    handle: str | None = None
    "The name that keeps it."
    model: str
    "Whose state it is."
    tokens: Annotated[int, Field(ge=0)]
    "How long it is."
    resume_tokens: Annotated[int | None, Field(ge=0)] = None
    "How much of it a request can begin with; all of it."
    bytes: Annotated[int, Field(ge=0)]
    "Memory that it takes."
    hits: Annotated[int | None, Field(ge=0)] = None
    "Prompts that began with it."
    idle_s: Annotated[float, Field(ge=0.0)]
    "Seconds since it was last used."
    age_s: Annotated[float, Field(ge=0.0)]
    "Seconds since it was saved."
    on_device: Annotated[int, Field(ge=0)]
    "Its pieces in the memory of the slots; 0."
    on_host: Annotated[int, Field(ge=0)]
    "Its pieces in ordinary memory; a state is one."
    on_disk: Annotated[int, Field(ge=0)]
    "Its pieces on disk; 1 or 0."
    moving: Annotated[int | None, Field(ge=0)] = None
    "Its pieces under way; 0."
    snapshots: Annotated[int | None, Field(ge=0)] = None
    "Recurrent states beside it; 0."
    snap_device: Annotated[int | None, Field(ge=0)] = None
    "Always 0."
    snap_host: Annotated[int | None, Field(ge=0)] = None
    "Always 0."
    snap_disk: Annotated[int | None, Field(ge=0)] = None
    "Always 0."
    snap_bytes: Annotated[int | None, Field(ge=0)] = None
    "Always 0."


class StatePlaces(ContractModel):
    """How many pieces there are in each place."""

    device: Annotated[int, Field(ge=0)]
    "In the memory of the slots."
    host: Annotated[int, Field(ge=0)]
    "In ordinary memory."
    disk: Annotated[int, Field(ge=0)]
    "On disk."


class SessionsForgotten(ContractModel):
    """What was forgotten."""

    deleted: Annotated[int, Field(ge=1)]
    "Saved states that are gone."


class Handle(ContractModel):
    """A name, and the state that it keeps."""

    name: str
    "The name."
    model: str
    "Whose state it is."
    tokens: Annotated[int, Field(ge=0)]
    "How long the state is."
    bytes: Annotated[int, Field(ge=0)]
    "Memory that it takes."
    busy: bool
    "Whether a request with this name is running."
    created_at: Annotated[int, Field(ge=0)]
    "When the state was saved, in Unix seconds."
    last_used_at: Annotated[int, Field(ge=0)]
    "When it was last used, in Unix seconds."


class HandleReleased(ContractModel):
    """A name that keeps nothing any more."""

    name: str
    "The name."
    released: bool
    "Always true."


class SlotAnswer(ContractModel):
    """How far an answer is."""

    has_next_token: bool
    "Whether it goes on."
    has_new_line: bool
    "Whether it has a line break so far."
    n_remain: Annotated[int, Field(ge=-1)]
    "Tokens that its budget leaves; -1 without a request."
    n_decoded: Annotated[int, Field(ge=0)]
    "Tokens generated so far."


class Load(ContractModel):
    """How many requests the server works on."""

    server_load: Annotated[int, Field(ge=0)]
    "Running and waiting together."
    queue_cap: Annotated[int, Field(ge=0)]
    "Requests that may wait for one model."
    running: Annotated[int, Field(ge=0)]
    "Sequences that occupy a slot."
    waiting: Annotated[int, Field(ge=0)]
    "Requests that wait for one."


class Ping(ContractModel):
    """A sign of life."""

    status: Literal["ok", "degraded", "loading", "failed", "stopping"]
    "ok when every model is ready or waits to be wanted, degraded when some of several models failed; otherwise loading, failed (no engine works) or stopping."
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
    media_marker: str | None = None
    "Where an entry of `multimodal_data` stands in a `prompt_string`."
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


class ServerInfoServer(ContractModel):
    """Its limits and its load."""

    model: str
    "The default model."
    version: str
    "Release of this server."
    max_model_len: Annotated[int, Field(ge=0)]
    "Tokens of one context."
    max_num_seqs: Annotated[int, Field(ge=0)]
    "Answers that are written at once."
    queue_cap: Annotated[int, Field(ge=0)]
    "Requests that may wait."
    default_max_tokens: int | None = None
    "Answer tokens without a limit asked; null: what the context leaves."
    max_tokens_cap: int | None = None
    "Most answer tokens; null is no cap."
    max_n: Annotated[int, Field(ge=1)]
    "Most choices."
    max_stop_strings: Annotated[int | None, Field(ge=0)] = None
    "Most stop strings."
    max_stop_bytes: Annotated[int | None, Field(ge=0)] = None
    "All of them together."
    uptime_s: Annotated[float, Field(ge=0.0)]
    "Seconds since it began to serve."
    in_flight: Annotated[int, Field(ge=0)]
    "Answers being written."


class ServerInfo(ContractModel):
    """What this server is set to and can do; the model is the default one."""

    server: ServerInfoServer
    "Its limits and its load."
    request_defaults: dict[str, Any]
    "What a request that says nothing is sampled with, by name."
    capabilities: dict[str, bool]
    "What the default model can do here."
    endpoints: list[str]
    "Every method and path that is served."
    engine: dict[str, Any]
    "The facts that its engine tells."


class OpenApiDocument(ContractModel):
    """An OpenAPI document."""

    model_config = ConfigDict(extra="allow")
    openapi: str
    "The version of its language."
    info: dict[str, Any]
    "What it is about."
    paths: dict[str, Any]
    "Its routes."


class TokenPiece(ContractModel):
    """A token and its text."""

    id: Annotated[int, Field(ge=0)]
    "Its id."
    piece: str | list[Annotated[int, Field(ge=0, le=255)]]
    "Its text, or its bytes where they are no text by themselves."


class Text(ContractModel):
    """The text of tokens, under llama-server's name and under vLLM's."""

    content: str
    "The text; control tokens are written out."
    prompt: str
    "The same."


class RenderedPrompt(ContractModel):
    """What the model would read."""

    prompt: str
    "The text."


class TokenCount(ContractModel):
    """How many tokens a prompt has."""

    object: Literal["response.input_tokens"]
    "The kind of this object."
    input_tokens: Annotated[int, Field(ge=0)]
    "How many."


class TokenizerInfo(ContractModel):
    """How the default model, or the one named, writes text as tokens."""

    model: str | None = None
    "The model."
    tokenizer_class: str
    "What reads its vocabulary."
    vocab_size: Annotated[int, Field(ge=0)]
    "How many tokens there are."
    model_max_length: Annotated[int, Field(ge=0)]
    "Tokens of one context."
    bos_token: str | None = None
    "Text of the token that begins a prompt."
    eos_token: str | None = None
    "Text of the token that ends a reply."
    bos_token_id: int | None = None
    "Its id."
    eos_token_id: int | None = None
    "Its id."
    stop_token_ids: list[int] | None = None
    "Every token that ends a reply."
    add_bos_token: bool
    "Whether prompts begin with it."
    add_eos_token: bool | None = None
    "Always false."
    chat_template: bool
    "Whether there is a chat template."
    supports_tools: bool | None = None
    "Whether functions can be called."
    supports_reasoning: bool | None = None
    "Whether the model's chat template has reasoning."


class UsagePromptTokensDetails(ContractModel):
    """Where the prompt's tokens came from."""

    cached_tokens: Annotated[int, Field(ge=0)]
    "Tokens that were not computed again."


class UsageCompletionTokensDetails(ContractModel):
    """What the generated tokens were for."""

    reasoning_tokens: Annotated[int, Field(ge=0)]
    "Tokens of reasoning."
    reasoning_closed_at: Annotated[int | None, Field(ge=0)] = None
    "Tokens of reasoning after which it was closed by the server; only then."
    reasoning_closed_by: Literal["max_thinking_tokens", "answer_room"] | None = None
    "What closed it; only when the server did."


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


class Embedding(ContractModel):
    """One item as a vector."""

    object: Literal["embedding"]
    "The kind of this object."
    index: Annotated[int, Field(ge=0)]
    "Which item of the input it is of."
    embedding: list[float] | str
    "The vector, as `encoding_format` asks for it."
    truncated_from: Annotated[int | None, Field(ge=1)] = None
    "Tokens that the item had; only when it was cut."


class VectorUsage(ContractModel):
    """Token counts of the request, over all its items."""

    prompt_tokens: Annotated[int, Field(ge=0)]
    "Tokens that were read, those around the texts included."
    total_tokens: Annotated[int, Field(ge=0)]
    "The same number."


class RankedDocument(ContractModel):
    """The document's text as it was read; only when asked for."""

    text: str
    "The text."


class TextScore(ContractModel):
    """One text's relevance, as Text Embeddings Inference and llama-server tell it."""

    index: Annotated[int, Field(ge=0)]
    "Which of the texts that were sent it is."
    score: float
    "From 0 to 1, or with `raw_scores` what the model gives."
    text: str | None = None
    "The text; only when asked for."
    truncated_from: Annotated[int | None, Field(ge=1)] = None
    "Tokens that query and text had together; only when the text was cut."


class CacheReport(ContractModel):
    """The prefix cache of one model. Counts and milliseconds are totals since the start."""

    enabled: bool
    "Whether states are kept at all."
    model: str
    "Whose cache this is."
    hit_rate: Annotated[float, Field(ge=0.0, le=1.0)]
    "Share of prompts that began with something saved."
    token_hit_rate: Annotated[float, Field(ge=0.0, le=1.0)]
    "Share of prompt tokens that did not have to be computed."
    can_cut: bool | None = None
    "Whether any beginning of a saved state can be used; otherwise only whole states are."
    entries: Annotated[int, Field(ge=0)]
    "Saved states."
    held_entries: Annotated[int | None, Field(ge=0)] = None
    "Those of them that a handle keeps."
    max_entries: Annotated[int | None, Field(ge=0)] = None
    "Always null; only bytes are bounded."
    bytes: Annotated[int, Field(ge=0)]
    "Memory that the saved states take."
    max_bytes: Annotated[int, Field(ge=0)]
    "Memory that they may take."
    hits: Annotated[int, Field(ge=0)]
    "Prompts that began with something saved."
    misses: Annotated[int, Field(ge=0)]
    "Prompts that did not."
    prompt_tokens: Annotated[int | None, Field(ge=0)] = None
    "Tokens of all prompts, cached or not."
    prompt_tokens_saved: Annotated[int, Field(ge=0)]
    "Prompt tokens that did not have to be computed."
    stores: Annotated[int, Field(ge=0)]
    "States saved."
    stored_bytes: Annotated[int | None, Field(ge=0)] = None
    "Bytes of the states saved."
    store_ms_total: Annotated[float, Field(ge=0.0)]
    "Milliseconds spent on saving."
    restore_ms_total: Annotated[float, Field(ge=0.0)]
    "Milliseconds spent on restoring."
    superseded: Annotated[int, Field(ge=0)]
    "States that a longer one made superfluous."
    evicted: Annotated[int, Field(ge=0)]
    "States given up for room, the least recently used first."
    refused: Annotated[int, Field(ge=0)]
    "States that found no room beside those that handles keep."
    rows_copied: Annotated[int | None, Field(ge=0)] = None
    "Always 0; states are copied whole."
    rows_copied_ms: Annotated[float | None, Field(ge=0.0)] = None
    "Always 0."
    dropped: Annotated[int, Field(ge=0)]
    "Always 0; also in `pool`, where newer clients look."
    pool: CachePool
    disk: CacheDisk
    composable_context: ComposableContext
    snapshot_places: list[Literal["prompt_end", "answer_end", "shared_prefix_end"]]
    "Where in a conversation a state is saved."


class OmniReportOmni(ContractModel):
    """Its tool loop."""

    caller_slot: str
    "The slot of the model that answered."
    rounds: Annotated[int, Field(ge=1)]
    "How often it answered, calls included."
    tool_results: list[OmniToolResult]
    "Its calls, in order."


class OmniReport(ContractModel):
    """With `omni` alone, what the model had done before it answered."""

    omni: OmniReportOmni
    "Its tool loop."


class ToolCall(ContractModel):
    """A function to call."""

    id: str
    "Unique for each call; begins with call_."
    type: Literal["function"]
    "The kind of the tool."
    function: FunctionCall


class TokenLogprob(ContractModel):
    """A token, its probability, and the likeliest others in its place."""

    id: Annotated[int | None, Field(ge=0)] = None
    "The token's id; absent where another server has drawn it and does not tell."
    token: str
    "Its text; bytes that are no text are replaced."
    bytes: list[Annotated[int, Field(ge=0, le=255)]]
    "Its exact bytes."
    logprob: Annotated[float, Field(le=0.0)]
    "Natural logarithm of its probability before the samplers."
    top_logprobs: list[TopLogprob]
    "The likeliest tokens, sorted; as many as were asked for."


class TokenProbability(ContractModel):
    """A token, its probability in the draw, and the likeliest others that could have been drawn."""

    id: Annotated[int | None, Field(ge=0)] = None
    "The token's id; absent where another server has drawn it and does not tell."
    token: str
    "Its text; bytes that are no text are replaced."
    bytes: list[Annotated[int, Field(ge=0, le=255)]]
    "Its exact bytes."
    prob: Annotated[float, Field(ge=0.0, le=1.0)]
    "Its probability after the samplers."
    top_probs: list[TopProbability]
    "The likeliest tokens, sorted; no more than were asked for, and none that could not come."


class ToolCallDelta(ContractModel):
    """A piece of a call; the first has the id and the name, and no arguments yet."""

    index: Annotated[int, Field(ge=0)]
    "Which call of the answer."
    id: str | None = None
    "In the first piece; unique for each call."
    type: Literal["function"] | None = None
    "In the first piece."
    function: FunctionCallDelta


class CompletionLogprobs(ContractModel):
    """Log probabilities of the answer's tokens, in OpenAI's form and, as `content`, in llama-server's."""

    tokens: list[str]
    "The tokens' texts."
    token_logprobs: list[float]
    "Their log probabilities."
    top_logprobs: list[dict[str, float]]
    "The likeliest tokens in each place, by text."
    text_offset: list[Annotated[int, Field(ge=0)]]
    "Where each token begins in the text."
    content: list[TokenLogprob | TokenProbability]
    "The same by token, or with `post_sampling_probs` the probabilities of the draw."


class CompletionPiece(ContractModel):
    """A piece of one answer."""

    index: Annotated[int, Field(ge=0)]
    "Which answer."
    text: str
    "The text that is new."
    logprobs: CompletionLogprobs | None
    "Of the tokens of this text, when they were asked for."
    finish_reason: Literal["stop", "length", "tool_calls", "function_call"] | None
    "Why the answer ended, in its last chunk."


class SystemOneAnswer(ContractModel):
    """The answers."""

    model: str
    "Who decided."
    answers: dict[str, SystemOneDecision]
    "By the questions' ids."
    usage: SystemOneAnswerUsage
    "What it took."


class Error(ContractModel):
    """Why a request got no answer. `errors.envelope` of the server's configuration, which `/health` tells as `error_format`, decides which of the two it is."""

    error: ErrorDetail | Hal0ErrorDetail


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
    status: Literal["loading", "ready", "failed", "stopped", "offline", "unreached"]
    "How it is doing; offline is not in memory, unreached is on other servers that do not answer."
    slot: str | None = None
    "The name of its slot at /api/slots."
    state: (
        Literal["offline", "pulling", "starting", "warming", "ready", "serving", "idle", "unloading", "error"] | None
    ) = None
    "Where a model is on its way into memory and out of it."
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
    media: ModelHealthMedia | None = None
    "What it has seen and heard since the start; null when it reads text alone."
    details: dict[str, Any] | None = None
    "The engine's own facts."


class Model(ContractModel):
    """A model that this server answers with."""

    id: str
    "The name to send as `model`."
    object: Literal["model"]
    "The kind of this object for OpenAI clients."
    type: Literal["model"]
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
    dimensions: Annotated[int | None, Field(ge=1)] = None
    "Numbers of a vector; of embedding models that are loaded."
    pooling: str | None = None
    "How a vector is made of those of its tokens; of embedding models that are loaded."
    prompts: list[str] | None = None
    "The names to send as `prompt_name`; of embedding models."
    capabilities: Capabilities
    aliases: list[str]
    "Other names to send as `model`, sorted."
    tags: list[str] | None = None
    "Always empty; llama-server's clients expect it."
    meta: ModelMeta


class Moderation(ContractModel):
    """The results."""

    id: str
    "Of this answer."
    model: str
    "Who judged: the texts, or, where there were none, the pictures."
    image_model: str | None = None
    "Who judged the pictures; absent without any."
    results: list[ModerationResult]
    "One for each input, in their order."
    usage: ModerationUsage | None = None
    "What it took."


class NativeCompletion(ContractModel):
    """An answer in llama-server's words, or with `response_fields` only the fields named. In a stream, a piece of it: the text that is new, and the whole object with an empty text at the end."""

    model_config = ConfigDict(extra="allow")
    index: Annotated[int | None, Field(ge=0)] = None
    "Which answer."
    content: str | None = None
    "The text."
    tokens: list[Annotated[int, Field(ge=0)]] | None = None
    "Its token ids: of a piece always, of a whole answer when asked for."
    id_slot: Annotated[int | None, Field(ge=-1)] = None
    "Always -1; the scheduler moves sequences."
    stop: bool | None = None
    "Whether it is the end."
    model: str | None = None
    "The model that answered."
    tokens_predicted: Annotated[int | None, Field(ge=0)] = None
    "Tokens that were generated."
    tokens_evaluated: Annotated[int | None, Field(ge=0)] = None
    "Tokens of the prompt, cached ones included."
    tokens_cached: Annotated[int | None, Field(ge=0)] = None
    "Tokens in memory at the end."
    generation_settings: dict[str, Any] | None = None
    "The sampling in force and the budget, by llama-server's names."
    prompt: str | None = None
    "The prompt; control tokens are written out."
    has_new_line: bool | None = None
    "Whether the answer has a line break."
    truncated: bool | None = None
    "Whether the context was full."
    stop_type: Literal["none", "eos", "limit", "word"] | None = None
    "Why it ended."
    stopping_word: str | None = None
    "The stop text that was met; empty for none."
    timings: Timings | None = None
    prompt_progress: PromptProgress | None = None
    completion_probabilities: list[TokenLogprob | TokenProbability] | None = None
    "Log probabilities of its tokens, or with `post_sampling_probs` those of the draw, when asked for."


class OutputReasoning(ContractModel):
    """Reasoning of the model."""

    id: str
    "Unique; begins with rs_."
    type: Literal["reasoning"]
    "The form of this item."
    status: Literal["in_progress", "completed", "incomplete"]
    "How far it is."
    summary: list[Any]
    "Always empty."
    content: list[ReasoningText]
    "What was thought."
    encrypted_content: str | None = None
    "Always null."


class OutputMessage(ContractModel):
    """A message of the model."""

    id: str
    "Unique for each message; begins with msg_."
    type: Literal["message"]
    "The form of this item."
    role: Literal["assistant"]
    "Who speaks."
    status: Literal["in_progress", "completed", "incomplete"]
    "How far it is."
    content: list[OutputText]
    "What was said."


class SessionList(ContractModel):
    """The saved states of conversations, and the memory that they take."""

    enabled: bool
    "Whether states are kept at all."
    sessions: list[Session]
    "The saved states, the most recently used first."
    blocks_sum_overlapping: StatePlaces | None = None
    bytes_sum_overlapping: Annotated[int, Field(ge=0)]
    "Bytes of all of them; what two have in common counts twice."
    snapshots: StatePlaces | None = None
    pool: SessionListPool
    "The memory of the sequences that run."
    moved: SessionListMoved
    "What became of saved states, as totals since the start."
    snapshots_moved: SessionListSnapshotsMoved | None = None
    "As `moved`, of recurrent states apart from their sequences; there are none."
    linear: SessionListLinear | None = None
    "The part of models whose states are only used whole."
    tiers: SessionListTiers
    "Where states are kept besides the slots."
    occupancy: SessionListOccupancy
    "What they take, and may take."
    prefix_hit_rate: Annotated[float, Field(ge=0.0, le=1.0)]
    "Share of prompt tokens that did not have to be computed."


class HandleList(ContractModel):
    """The names under which states are kept."""

    object: Literal["list"]
    "Always list."
    data: list[Handle]
    "The names."


class Slot(ContractModel):
    """One slot, as llama-server lists it; a free one has -1 for its task, zeros and empty `params`."""

    id: Annotated[int, Field(ge=0)]
    "Its number."
    n_ctx: Annotated[int, Field(ge=0)]
    "Tokens that it holds, prompt and answer together."
    speculative: bool
    "Whether tokens are drafted ahead here."
    is_processing: bool
    "Whether a request has it."
    id_task: Annotated[int, Field(ge=-1)]
    "The request's number; -1 for none."
    n_prompt_tokens: Annotated[int, Field(ge=0)]
    "Tokens of the prompt."
    n_prompt_tokens_processed: Annotated[int, Field(ge=0)]
    "Prompt tokens computed so far; cached ones are not in it."
    n_prompt_tokens_cache: Annotated[int, Field(ge=0)]
    "Prompt tokens taken from the cache."
    params: dict[str, Any]
    "The sampling in force and the budget, by llama-server's names."
    next_token: Annotated[list[SlotAnswer], Field(max_length=1, min_length=1)]
    "How far the answer is, in an array of one."


class Tokens(ContractModel):
    """The tokens of a text."""

    tokens: list[Annotated[int, Field(ge=0)] | TokenPiece]
    "Their ids, or with `with_pieces` each with its text."
    count: Annotated[int, Field(ge=0)]
    "How many."
    max_model_len: Annotated[int, Field(ge=0)]
    "Tokens of one context."
    token_strs: list[str] | None = None
    "Their texts, when asked for."


class EmbeddingList(ContractModel):
    """The vectors."""

    id: str
    "The name of this answer, `embd-` and 24 hexadecimal digits."
    object: Literal["list"]
    "The kind of this object."
    created: Annotated[int, Field(ge=0)]
    "Unix time in seconds."
    model: str
    "The model that answered."
    data: list[Embedding]
    "One for each item of the input, in its order."
    usage: VectorUsage


class RerankResult(ContractModel):
    """One document's relevance."""

    index: Annotated[int, Field(ge=0)]
    "Which of the documents that were sent it is."
    relevance_score: float
    "From 0 to 1, the logistic function of `raw_score`, or what the model itself gives so; with `raw_scores` the same as `raw_score`."
    raw_score: float
    "What the model gives."
    document: RankedDocument | None = None
    truncated_from: Annotated[int | None, Field(ge=1)] = None
    "Tokens that query and document had together; only when the document was cut."


class AnthropicAnswer(ContractModel):
    """A whole answer."""

    id: str
    "Unique for each answer; begins with msg_."
    type: Literal["message"]
    "The kind of this object."
    role: Literal["assistant"]
    "Who speaks."
    model: str
    "The model that answered."
    content: list[Annotated[AnthropicThought | AnthropicText | AnthropicToolUse, Field(discriminator="type")]]
    "What was thought, said and called."
    stop_reason: Annotated[Literal["end_turn", "max_tokens", "stop_sequence", "tool_use"] | None, Field(...)]
    "Why it ended; null at the beginning of a stream."
    stop_sequence: Annotated[str | None, Field(...)]
    "The stop text that was met."
    usage: AnthropicUsage
    timings: Timings | None = None


class AnthropicEvent(ContractModel):
    """One event of a streamed answer."""

    type: Literal[
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
        "ping",
        "error",
    ]
    "Which."
    message: AnthropicAnswer | None = None
    index: Annotated[int | None, Field(ge=0)] = None
    "Which block."
    content_block: Annotated[
        AnthropicThought | AnthropicText | AnthropicToolUse | None, Field(discriminator="type")
    ] = None
    "A block of reasoning, of text, or a call of a function."
    delta: AnthropicEventDelta | None = None
    "What is new."
    usage: AnthropicUsage | None = None
    timings: Timings | None = None
    error: AnthropicEventError | None = None
    "Why the answer ended with a fault."
    request_id: str | None = None
    "The request's id in the log."


class ChatAnswer(ContractModel):
    """What the model said."""

    role: Literal["assistant"]
    "Who speaks."
    content: Annotated[str | None, Field(...)]
    "The text; null beside calls without one."
    refusal: str | None = None
    "Always absent or null."
    reasoning_content: str | None = None
    "The reasoning before the text, where there is some."
    tool_calls: Annotated[list[ToolCall] | None, Field(min_length=1)] = None
    "The functions to call, where there are some."
    function_call: FunctionCall | None = None


class ChatLogprobs(ContractModel):
    """Log probabilities of the answer's tokens."""

    content: list[TokenLogprob | TokenProbability]
    "One entry for each token of the text."
    refusal: list[TokenLogprob] | None = None
    "Always absent or null."


class ChatDelta(ContractModel):
    """A piece of what the model says."""

    role: Literal["assistant"] | None = None
    "In the first piece of an answer."
    content: str | None = None
    "The piece of text."
    reasoning_content: str | None = None
    "The piece of reasoning."
    tool_calls: Annotated[list[ToolCallDelta] | None, Field(min_length=1)] = None
    "The piece of a call."
    function_call: FunctionCallDelta | None = None


class CompletionChoice(ContractModel):
    """One of the answers."""

    index: Annotated[int, Field(ge=0)]
    "Its place."
    text: str
    "The text."
    logprobs: CompletionLogprobs | None
    "Present when they were asked for, else null."
    finish_reason: Literal["stop", "length", "tool_calls", "function_call"]
    "Why the answer ended: by itself or at a stop text (stop), at the end of its budget (length), or with calls of functions (tool_calls; function_call in the older form)."


class CompletionChunk(ContractModel):
    """One piece of a streamed answer."""

    id: str
    "The same in all chunks."
    object: Literal["text_completion"]
    "The kind of this object."
    created: Annotated[int, Field(ge=0)]
    "Unix time in seconds."
    model: str
    "The model that answers."
    system_fingerprint: str
    "The build that answers."
    choices: list[CompletionPiece]
    "One piece of one answer; empty in chunks that tell something else."
    usage: Usage | None = None
    "Token counts, in the last chunk, when they were asked for."
    timings: Timings | None = None
    prompt_progress: PromptProgress | None = None
    x_hal0_stall: Stall | None = None


class Health(ContractModel):
    """The server's own account of itself; a field here goes before any other text."""

    status: Literal["ok", "degraded", "loading", "failed", "stopping"]
    "ok when every model is ready or waits to be wanted, degraded when some of several models failed; otherwise loading, failed (no engine works) or stopping."
    error: ErrorDetail | None = None
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
    reasoning: dict[str, Any] | None = None
    "Whether and how answers are reasoned about first."
    thinking_answer_room: Annotated[int, Field(ge=0)] | str | None = None
    "What a budget keeps for the answer when it is used up by reasoning: in tokens, or in words where a share of the budget counts; 0 is nothing."
    indexer_budget: dict[str, Any] | None = None
    "Always null: no engine here has such an index of its memory."
    request_records: dict[str, Any] | None = None
    "Always null: requests are not recorded."
    vision: dict[str, Any] | None = None
    "Whether pictures and sound are read, and within which bounds."
    cache_counters: str | None = None
    "The path of the cache's report."
    prompt_cache: PromptCacheHealth | None = None
    determinism: DeterminismHealth | None = None
    speculation: SpeculationHealth | None = None
    memory: MemoryHealth | None = None
    contract: dict[str, dict[str, ContractTable]]
    "The class of every request field, by route and then by model."


class ModelList(ContractModel):
    """The models, in OpenAI's, Anthropic's and llama-server's shapes at once."""

    object: Literal["list"]
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


class RerankList(ContractModel):
    """The documents, the most relevant first."""

    id: str
    "The name of this answer, `rerank-` and 24 hexadecimal digits."
    object: Literal["list"]
    "The kind of this object."
    created: Annotated[int, Field(ge=0)]
    "Unix time in seconds."
    model: str
    "The model that answered."
    results: list[RerankResult]
    "The most relevant first; of equal ones, that which was sent first."
    usage: VectorUsage


class ChatChoice(ContractModel):
    """One of the answers."""

    index: Annotated[int, Field(ge=0)]
    "Its place."
    message: ChatAnswer
    finish_reason: Literal["stop", "length", "tool_calls", "function_call"]
    "Why the answer ended: by itself or at a stop text (stop), at the end of its budget (length), or with calls of functions (tool_calls; function_call in the older form)."
    logprobs: ChatLogprobs | None = None
    "Present when it was asked for."


class ChatChunkChoice(ContractModel):
    """What is new in one of the answers."""

    index: Annotated[int, Field(ge=0)]
    "Which answer."
    delta: ChatDelta
    finish_reason: Annotated[Literal["stop", "length", "tool_calls", "function_call"] | None, Field(...)]
    "Why the answer ended; null while it goes on."
    logprobs: ChatLogprobs | None = None
    "Of the tokens in this delta, when it was asked for."


class Completion(ContractModel):
    """Whole answers to one or several prompts."""

    id: str
    "Unique for each answer; begins with cmpl-."
    object: Literal["text_completion"]
    "The kind of this object."
    created: Annotated[int, Field(ge=0)]
    "Unix time in seconds."
    model: str
    "The model that answered."
    system_fingerprint: str
    "The build that answered."
    choices: Annotated[list[CompletionChoice], Field(min_length=1)]
    "The answers, prompt by prompt."
    usage: Usage
    timings: Timings


class Response(ContractModel):
    """An answer."""

    id: str
    "Unique for each answer; begins with resp_."
    object: Literal["response"]
    "The kind of this object."
    created_at: Annotated[int, Field(ge=0)]
    "Unix time in seconds."
    completed_at: Annotated[int | None, Field(ge=0)] = None
    "Unix time of its end."
    status: Literal["in_progress", "completed", "incomplete", "failed"]
    "How far it is; cut at its budget it is incomplete."
    error: ResponseError | None = None
    "Why it failed."
    incomplete_details: IncompleteDetails | None = None
    "Why it is incomplete."
    instructions: str | None = None
    "The instructions of the request."
    max_output_tokens: int | None = None
    "The budget that was asked for."
    model: str
    "The model that answered."
    output: list[Annotated[OutputReasoning | OutputMessage | OutputCall, Field(discriminator="type")]]
    "What was thought, said and called."
    parallel_tool_calls: bool
    "As the request said."
    previous_response_id: str | None = None
    "Always null; there is no store."
    reasoning: dict[str, Any] | None = None
    "The reasoning settings."
    store: bool | None = None
    "Always false."
    temperature: float | None = None
    "The temperature in force."
    text: dict[str, Any] | None = None
    "The answer's form."
    tool_choice: str | dict[str, Any]
    "How functions are chosen."
    tools: list[dict[str, Any]]
    "The tools of the request that the model was shown."
    tools_left_out: list[str] | None = None
    "The kinds of tools of the request that it was not shown; only where there are some."
    top_p: float | None = None
    "The top_p in force."
    truncation: str | None = None
    "Always disabled."
    usage: ResponsesUsage | None = None
    "Token counts, once it has ended."
    metadata: dict[str, Any] | None = None
    "Always empty."
    timings: Timings | None = None


class ResponseEvent(ContractModel):
    """One event of a streamed answer; the last is completed, incomplete or failed."""

    type: Literal[
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.done",
        "response.reasoning_text.delta",
        "response.reasoning_text.done",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
        "response.incomplete",
        "response.failed",
    ]
    "Which."
    sequence_number: Annotated[int, Field(ge=0)]
    "Its place in the stream."
    response: Response | None = None
    output_index: Annotated[int | None, Field(ge=0)] = None
    "Which item."
    content_index: Annotated[int | None, Field(ge=0)] = None
    "Which part of it."
    item_id: str | None = None
    "The item's id."
    item: Annotated[OutputReasoning | OutputMessage | OutputCall | None, Field(discriminator="type")] = None
    "Reasoning, a message, or a call of a function."
    part: OutputText | ReasoningText | None = None
    "The part."
    delta: str | None = None
    "The text that is new."
    text: str | None = None
    "The whole text."
    arguments: str | None = None
    "The whole arguments."
    name: str | None = None
    "The function."
    logprobs: list[Any] | None = None
    "Always empty."
    prompt_progress: PromptProgress | None = None
    timings: Timings | None = None


class ChatCompletion(ContractModel):
    """A whole answer."""

    id: str
    "Unique for each answer; begins with chatcmpl-."
    object: Literal["chat.completion"]
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
    field__verbose: Annotated[NativeCompletion | None, Field(alias="__verbose")] = None
    hal0: OmniReport | None = None


class ChatCompletionChunk(ContractModel):
    """One event of a streamed answer."""

    id: str
    "The same in all chunks of an answer."
    object: Literal["chat.completion.chunk"]
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
    "What is new; empty in the chunks that report something else."
    usage: Usage | None = None
    "In the last chunk, when it was asked for."
    timings: Timings | None = None
    prompt_progress: PromptProgress | None = None
    field__verbose: Annotated[NativeCompletion | None, Field(alias="__verbose")] = None
    hal0: OmniReport | None = None
    x_hal0_stall: Stall | None = None
