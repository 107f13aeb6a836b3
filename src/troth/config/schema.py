"""Every setting: its name, type, unit, bounds, default and help. Nothing else says what a key means.

From these classes, and those of `models.py`, come the strict loader, `troth show-config` and `config/reference.yaml`.
Each room is given its own section. Texts marked `secret` are never printed.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from troth.config.media import MediaSettings
from troth.config.models import ModelSettings, SamplingSettings, Share, default_model
from troth.config.section import Name, Section, unit

ApiKey = Annotated[
    str,
    Field(pattern=r"^[\x21-\x7e]+$", json_schema_extra={"form": "printable ASCII text without spaces, not empty"}),
]


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


class SlotsSettings(Section):
    """Which models are in memory."""

    memory_mb: int | None = Field(
        None,
        ge=1,
        json_schema_extra=unit("MiB"),
        description="Memory for all loaded models together: the least recently used goes for one that is wanted. "
        "Null: no budget.",
    )
    idle_seconds: float | None = Field(
        None,
        gt=0,
        json_schema_extra=unit("seconds"),
        description="Unload models that had nothing to do for so long; null: never.",
    )
    when_loading: Literal["refuse", "wait"] = Field(
        "refuse",
        description="A request for a model that has to be loaded first gets 503 with Retry-After, or waits for it.",
    )
    wait_seconds: float = Field(
        60.0, gt=0, json_schema_extra=unit("seconds"), description="How long it waits; then 503."
    )
    restart_seconds: float = Field(
        1.0,
        gt=0,
        json_schema_extra=unit("seconds"),
        description="Pause before a model whose engine died is loaded again; doubled each time in a row.",
    )
    restart_seconds_max: float = Field(
        60.0, gt=0, json_schema_extra=unit("seconds"), description="The longest such pause."
    )
    crashes_max: int = Field(
        5,
        ge=1,
        json_schema_extra=unit("crashes"),
        description="So many in a row, and only POST /api/slots/NAME/load or a restart loads the model again.",
    )
    healthy_seconds: float = Field(
        300.0, gt=0, json_schema_extra=unit("seconds"), description="A life so long ends a row of crashes."
    )


class DecisionsSettings(Section):
    """How /v1/systemone decides."""

    questions_max: int = Field(
        64, ge=1, json_schema_extra=unit("questions"), description="Most questions of one request."
    )
    options_max: int = Field(255, ge=2, json_schema_extra=unit("options"), description="Most options of one question.")
    option_bytes_max: int = Field(
        256, ge=1, json_schema_extra=unit("bytes"), description="Longest name of an option, in UTF-8."
    )
    choice_temperature: float = Field(
        1.0, gt=0, description="Flattens the probabilities of a choice above 1, sharpens them below: calibration."
    )
    score_temperature: float = Field(1.0, gt=0, description="The same for the levels of a score.")
    noul_temperature: float = Field(1.0, gt=0, description="The same for yes and no.")


class ModerationSettings(Section):
    """How /v1/moderations judges."""

    inputs_max: int = Field(64, ge=1, json_schema_extra=unit("texts"), description="Most texts of one request.")
    threshold: Share = Field(
        0.5, description="Of what is flagged, a category is wrong from this share on; the likeliest one always is."
    )


class OmniSettings(Section):
    """How far a chat request with `omni` goes: the model calls the other models of this server, then answers."""

    rounds_max: int = Field(
        8, ge=1, json_schema_extra=unit("rounds"), description="Most answers of the model; the last may not call."
    )
    tool_seconds_max: float = Field(
        120.0, gt=0, json_schema_extra=unit("seconds"), description="Longest time of one call; then it has failed."
    )
    chat_seconds_max: float = Field(
        300.0, gt=0, json_schema_extra=unit("seconds"), description="The same for a call that asks another chat model."
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
    slots: SlotsSettings = SlotsSettings()
    decisions: DecisionsSettings = DecisionsSettings()
    moderation: ModerationSettings = ModerationSettings()
    omni: OmniSettings = OmniSettings()
    chat: ChatSettings = ChatSettings()
    thinking: ThinkingSettings = ThinkingSettings()
    messages: MessagesSettings = MessagesSettings()
    media: MediaSettings = MediaSettings()
    metrics: MetricsSettings = MetricsSettings()
    log: LogSettings = LogSettings()
    cache: CacheSettings = CacheSettings()
    hub: HubSettings = HubSettings()
