"""What requests are read into. Generated from openapi/ by `python -m codegen`; do not edit.

sha256 of openapi/: ba311995a5afb143655ecfc54715bece0794f7b90b6fd40eb074d81dd0cf89ab; datamodel-code-generator 0.89.0
"""

from __future__ import annotations

from typing import Annotated, Any, Literal
from pydantic import Field
from troth.contract import Alias, Clamped, ContractModel, Guarded, Honoured, Inert


class MessagesFieldsToolChoice(ContractModel):
    """Whether and which function must be called."""

    type: Annotated[Literal["auto", "any", "tool", "none"] | None, Honoured(neutral={"enum": ["auto", "none"]})] = None
    "`auto` is the model's choice, `any` demands a call, `tool` names the one, `none` forbids it."
    name: Annotated[str | None, Field(max_length=256, min_length=1)] = None
    "The function to call, with the type `tool`."
    disable_parallel_tool_use: Annotated[bool | None, Honoured(neutral={"enum": [False]})] = None
    "One call at most in an answer."


class MessagesFieldsThinking(ContractModel):
    """Reasoning before the answer."""

    type: Annotated[
        Literal["enabled", "disabled", "adaptive", "between-tools"] | None,
        Honoured(neutral={"enum": ["disabled", "adaptive", "between-tools"]}),
    ] = None
    "Whether to reason; adaptive leaves it to the model."
    budget_tokens: Annotated[int | None, Field(ge=0, le=2147483647)] = None
    "Most tokens of reasoning, which is then closed."
    display: Annotated[Any | None, Inert()] = None
    "How the reasoning is shown; it is sent as it is."


class MessagesFieldsOutputConfigFormat(ContractModel):
    """Hold the answer to JSON by a schema."""

    type: Annotated[str, Field(max_length=64), Guarded(neutral={"enum": ["json_schema"]})]
    "The kind of the form."
    schema_: Annotated[dict[str, Any], Field(alias="schema")]
    "The JSON schema."
    name: Annotated[Any | None, Inert()] = None
    "What the client calls it."


class MessagesFieldsOutputConfig(ContractModel):
    """How hard to try, and the answer's form."""

    effort: Annotated[str | None, Field(max_length=64)] = None
    "A wish of how much to reason; it is passed on to chat templates that know levels."
    format: MessagesFieldsOutputConfigFormat | None = None
    "Hold the answer to JSON by a schema."
    task_budget: Annotated[dict[str, Any] | None, Guarded(neutral={"maxProperties": 0})] = None
    "Tokens of a whole task; not counted here."


class AnthropicSource(ContractModel):
    """Where a picture is."""

    type: Annotated[str, Field(max_length=64), Guarded(neutral={"enum": ["base64", "url"]})]
    "`base64` is in the request, `url` the http address of a host in `media.allowed_hosts`, or a data URL."
    data: Annotated[str | None, Field(min_length=1)] = None
    "The picture, as base64."
    url: Annotated[str | None, Field(min_length=1)] = None
    "Its address."
    media_type: Annotated[Any | None, Inert()] = None
    "What it is said to be; its first bytes decide."


class AnthropicTool(ContractModel):
    """A function that may be called."""

    type: Annotated[str | None, Field(max_length=64), Guarded(neutral={"enum": ["custom"]})] = None
    "The kind of the tool; only the caller's own functions can be called."
    name: Annotated[str, Field(max_length=256, min_length=1)]
    "Its name, unique among the functions of the request: letters, digits and _-.:/@$#+~."
    description: str | None = None
    "What it does, for the model."
    input_schema: dict[str, Any] | None = None
    "Its arguments, as a JSON schema of an object; without one any object is taken."
    strict: bool | None = None
    "Refuse a schema that cannot be held; otherwise it may be loosened to any object."
    cache_control: Annotated[Any | None, Inert()] = None
    "A mark for the prompt cache."
    defer_loading: Annotated[Any | None, Inert()] = None
    "Whether a search finds it later; it is shown to the model at once."
    eager_input_streaming: Annotated[Any | None, Inert()] = None
    "Whether arguments come as they are written; they do."
    input_examples: Annotated[list[Any] | None, Guarded(neutral={"maxItems": 0})] = None
    "Examples of arguments; not done, the schema alone is shown to the model."
    allowed_callers: Annotated[Any | None, Inert()] = None
    "Who may call it; only the model can."


class LoraScale(ContractModel):
    """How strongly an adapter counts."""

    id: Annotated[int, Field(ge=0, le=1023)]
    "Its place in `options.lora`, from 0 on."
    scale: Annotated[float, Field(ge=-100.0, le=100.0)]
    "1 is as it was trained; 0 is off."


class BudgetFields(ContractModel):
    """When an answer ends, and how many answers there are."""

    max_tokens: Annotated[int | None, Field(ge=-1, le=2147483647), Clamped(to="answer_tokens")] = None
    "Most tokens that the answer may have; -1 is no limit. Cut to the server's cap and to what the context leaves, served, and reported in `timings.max_tokens_clamped_from` and `_to`."
    max_completion_tokens: Annotated[int | None, Field(ge=-1, le=2147483647), Alias(of="max_tokens")] = None
    "OpenAI's newer name of `max_tokens`."
    max_output_tokens: Annotated[int | None, Field(ge=-1, le=2147483647), Alias(of="max_tokens")] = None
    "The Responses API's name of `max_tokens`."
    n_predict: Annotated[int | None, Field(ge=-1, le=2147483647), Alias(of="max_tokens")] = None
    "llama-server's name of `max_tokens`."
    min_tokens: Annotated[int | None, Field(ge=0, le=2147483647), Guarded(neutral={"enum": [0]})] = None
    "vLLM's least tokens of an answer; not done."
    n: Annotated[int | None, Field(ge=1, le=128), Honoured(neutral={"enum": [1]})] = None
    "How many answers to give; `limits.choices_max` bounds it."
    n_cmpl: Annotated[int | None, Field(ge=1, le=128), Alias(of="n")] = None
    "llama-server's name of `n`."
    stop: Annotated[str | list[str] | None, Honoured(neutral={"maxItems": 0})] = None
    "A text, or several, that ends the answer and is not part of it; empty texts are dropped."
    stop_sequences: Annotated[str | list[str] | None, Alias(of="stop")] = None
    "Anthropic's name of `stop`."
    stop_token_ids: Annotated[
        list[Annotated[int, Field(ge=0, le=2147483647)]] | None, Guarded(neutral={"maxItems": 0})
    ] = None
    "vLLM's token ids that end the answer; not done."
    include_stop_str_in_output: Annotated[bool | None, Guarded(neutral={"enum": [False]})] = None
    "Keep the stop text in the answer; not done."
    priority: Annotated[int | None, Field(ge=-2147483648, le=2147483647), Honoured(neutral={"enum": [0]})] = None
    "Which waiting request runs first; lower is sooner, 0 is usual."


class EditorFields(ContractModel):
    """llama-server's limits for editors, which its own routes do."""

    n_indent: Annotated[int | None, Field(ge=0, le=2147483647), Guarded(neutral={"enum": [0]})] = None
    "llama-server's least indentation of new lines; not done here, POST /completion does."
    t_max_predict_ms: Annotated[int | None, Field(ge=-1, le=9223372036854775807), Guarded(neutral={"maximum": 0})] = (
        None
    )
    "llama-server's time limit of an answer; not done here, 0 or less is off."
    t_max_prompt_ms: Annotated[int | None, Field(ge=-1, le=9223372036854775807), Guarded(neutral={"maximum": 0})] = None
    "llama-server's time limit of a prompt; not done, 0 or less is off."


class PromptObject(ContractModel):
    """llama-server's form of a prompt."""

    prompt_string: Annotated[str, Field(min_length=1)]
    "The text."
    multimodal_data: Annotated[
        list[Annotated[str, Field(min_length=1)]] | None, Field(max_length=256), Honoured(neutral={"maxItems": 0})
    ] = None
    "Pictures and sound, base64 each: one for every `<__media__>` of the text, in order."


class SystemOneRequest(ContractModel):
    """A state, and questions about it."""

    model: Annotated[str | None, Field(max_length=512)] = None
    "Who decides; the default model of decisions when absent."
    state: Any | None = None
    "What the questions are about: a text, a list of messages, an object with `messages`, or any other JSON."
    questions: Any | None = None
    "The questions by id, each {type, instructions, criteria}: `choice` with an object of options and their descriptions, `score` with a list of 2 to 10 levels, `noul` (yes or no) with nothing, or with descriptions of true and false."
    images: Annotated[list[Any] | None, Guarded(neutral={"maxItems": 0})] = None
    "Pictures as evidence."
    files: Annotated[list[Any] | None, Guarded(neutral={"maxItems": 0})] = None
    "Files as evidence."
    videos: Annotated[list[Any] | None, Guarded(neutral={"maxItems": 0})] = None
    "Videos as evidence."


class MessageFields(ContractModel):
    """What every message may carry."""

    name: Annotated[str | None, Field(max_length=256)] = None
    "The speaker's name, for templates that show it."
    cache_control: Annotated[Any | None, Inert()] = None
    "A mark for the prompt cache."


class AssistantMessageFunctionCall(ContractModel):
    """The older form of one call."""

    name: Annotated[str, Field(max_length=256, min_length=1)]
    "The name."
    arguments: str | dict[str, Any]
    "The arguments, as the text of a JSON object, or as that object."


class FunctionMessage(MessageFields):
    """The older form of a call's result."""

    role: Literal["function"]
    "Who speaks."
    content: str | None
    "What the function returned."


class CalledFunction(ContractModel):
    """The function that was called, and its arguments."""

    name: Annotated[str, Field(max_length=256, min_length=1)]
    "The name."
    arguments: str | dict[str, Any]
    "The arguments, as the text of a JSON object, or as that object."


class TextPart(ContractModel):
    """Text."""

    type: Literal["text"]
    "The form of this part."
    text: str
    "The text."
    cache_control: Annotated[Any | None, Inert()] = None
    "A mark for the prompt cache."


class RefusalPart(ContractModel):
    """What was said in place of an answer; it is read as what it is, text."""

    type: Literal["refusal"]
    "The form of this part."
    refusal: str
    "The refusal's text."


class ImageUrl(ContractModel):
    """Where a picture is."""

    url: Annotated[
        str,
        Field(
            examples=[
                "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR4nGM4IScHRAwQCgAfJgQRoo8irwAAAABJRU5ErkJggg=="
            ],
            min_length=1,
        ),
    ]
    "Its data URL, base64 or http address."
    detail: Annotated[Any | None, Inert()] = None
    "A wish of how closely to look; the projector decides."


class InputImagePart(ContractModel):
    """A picture, as OpenAI's Responses send it."""

    type: Literal["input_image"]
    "The form of this part."
    image_url: ImageUrl | Annotated[str, Field(min_length=1)]
    "Where the picture is, as its URL or as an object."
    detail: Annotated[Any | None, Inert()] = None
    "A wish of how closely to look; the projector decides."


class InputAudioPartInputAudio(ContractModel):
    """The sound."""

    data: Annotated[
        str,
        Field(
            examples=[
                "UklGRpIAAABXQVZFZm10IBAAAAABAAEA6AMAAOgDAAABAAgAZGF0YW4AAACAyIDIgMiAyIDIgMiAyIDIgMiAyIDIgMiAyIDIgMiAyIDIgMiAyIDIgMiAyIDIgMiAyIDIgMiAyIDIgMiAyIDIgMiAyIDIgMiAyIDIgMiAyIDIgMiAyIDIgMiAyIDIgMiAyIDIgICAgICAgICAgA=="
            ],
            min_length=1,
        ),
    ]
    "A WAV file, as base64 or as a data URL."
    format: Annotated[str | None, Field(max_length=16), Guarded(neutral={"enum": ["wav"]})] = None
    "How the sound is stored."


class InputAudioPart(ContractModel):
    """Sound, as OpenAI's chat sends it."""

    type: Literal["input_audio"]
    "The form of this part."
    input_audio: InputAudioPartInputAudio
    "The sound."


class AudioUrlPart(ContractModel):
    """Sound, as vLLM reads it; not done yet."""

    type: Literal["audio_url"]
    "The form of this part."
    audio_url: Annotated[dict[str, Any] | str, Guarded()]
    "Where the sound is."


class VideoUrlPart(ContractModel):
    """Film, as vLLM reads it; not done yet."""

    type: Literal["video_url"]
    "The form of this part."
    video_url: Annotated[dict[str, Any] | str, Guarded()]
    "Where the film is."


class InputVideoPart(ContractModel):
    """Film, as llama-server reads it; not done yet."""

    type: Literal["input_video"]
    "The form of this part."
    input_video: Annotated[dict[str, Any] | str, Guarded()]
    "The film."


class FilePart(ContractModel):
    """A file, as OpenAI's chat sends it; not done yet."""

    type: Literal["file"]
    "The form of this part."
    file: Annotated[dict[str, Any] | str, Guarded()]
    "The file."


class NativeFields(ContractModel):
    """What llama-server's own routes take besides the text."""

    model: Annotated[str | None, Field(max_length=512)] = None
    "Which model answers; with one model any name is served, and the reply says which."
    n_probs: Annotated[int | None, Field(ge=0, le=20), Honoured(neutral={"maximum": 0})] = None
    "Report log probabilities, with this many alternatives for each token; 0 is none."
    logprobs: Annotated[int | None, Field(ge=0, le=20), Alias(of="n_probs")] = None
    "Another name of `n_probs`."
    return_tokens: Annotated[bool | None, Honoured(neutral={"enum": [False]})] = None
    "Report the token ids of the answer."
    response_fields: Annotated[
        list[Annotated[str, Field(max_length=256)]] | None, Field(max_length=64), Honoured(neutral={"maxItems": 0})
    ] = None
    "Only these fields of the final object; `a/b` is `b` inside `a`, and is answered under that very name. Names that there are not are left out."
    preserved_tokens: Annotated[
        list[Annotated[str, Field(max_length=256)]] | None, Field(max_length=64), Honoured(neutral={"maxItems": 0})
    ] = None
    "Control tokens, each as its text, that are written out where the answer has them."
    n_indent: Annotated[int | None, Field(ge=0, le=2147483647), Honoured(neutral={"enum": [0]})] = None
    "End the answer at a line, after the first, that is indented by fewer blanks."
    t_max_predict_ms: Annotated[int | None, Field(ge=-1, le=9223372036854775807), Honoured(neutral={"maximum": 0})] = (
        None
    )
    "End the answer after so many milliseconds of writing, once it has a line break; 0 or less is off."
    t_max_prompt_ms: Annotated[Any | None, Inert()] = None
    "llama-server's time limit of a prompt, which it does not keep; neither does this server."
    verbose: Annotated[Any | None, Inert()] = None
    "llama-server's `__verbose` object, which its own routes do not have."
    post_sampling_probs: Annotated[bool | None, Honoured(neutral={"enum": [False]})] = None
    "Report the probabilities that tokens had in the draw, after all samplers, as `prob` and `top_probs` in place of `logprob` and `top_logprobs`; tokens that could not come are left out."
    reasoning_format: Annotated[Any | None, Inert()] = None
    "Where reasoning goes; a raw text has none."


class InfillText(ContractModel):
    """A text to look at."""

    text: str
    "The text."
    filename: Annotated[str | None, Field(max_length=4096)] = None
    "Where it is from."
    time: Annotated[Any | None, Inert()] = None
    "When an editor took it."


class ReportingFieldsStreamOptions(ContractModel):
    """What a stream carries besides the text."""

    include_usage: Annotated[bool | None, Honoured(neutral={"enum": [False]})] = None
    "Send one more chunk with the token counts before the end."
    include_obfuscation: Annotated[Any | None, Inert()] = None
    "Padding against traffic analysis; it is not part of the answer."
    continuous_usage_stats: Annotated[bool | None, Guarded(neutral={"enum": [False]})] = None
    "vLLM's token counts on every chunk; not done."


class ReportingFields(ContractModel):
    """How the answer is sent and what is told besides the text."""

    stream: Annotated[bool | None, Honoured(neutral={"enum": [False]})] = None
    "Send the answer as server-sent events while it is written."
    stream_options: Annotated[ReportingFieldsStreamOptions | None, Honoured(neutral={"maxProperties": 0})] = None
    "What a stream carries besides the text."
    timings_per_token: Annotated[bool | None, Honoured(neutral={"enum": [False]})] = None
    "Carry `timings` on every chunk of a stream."
    return_progress: Annotated[bool | None, Honoured(neutral={"enum": [False]})] = None
    "Send `prompt_progress` chunks while the prompt is read; streams only."
    sse_ping_interval: Annotated[int | None, Field(ge=-1, le=2147483647), Guarded()] = None
    "Seconds between keepalives of this stream; `stream.keepalive_seconds` decides here."
    prompt_logprobs: Annotated[int | None, Field(ge=-1, le=2147483647), Guarded()] = None
    "vLLM's log probabilities of the prompt; not done."
    return_token_ids: Annotated[bool | None, Guarded(neutral={"enum": [False]})] = None
    "vLLM's token ids of prompt and answer; not done."
    return_tokens_as_token_ids: Annotated[bool | None, Guarded(neutral={"enum": [False]})] = None
    "vLLM's log probabilities keyed by token id; not done."
    usage: Annotated[dict[str, Any] | None, Guarded(neutral={"maxProperties": 0})] = None
    "OpenRouter's accounting object; usage is always reported in OpenAI's shape."
    skip_special_tokens: Annotated[bool | None, Guarded(neutral={"enum": [True]})] = None
    "vLLM's switch to show control tokens in the answer; they are never shown."
    spaces_between_special_tokens: Annotated[Any | None, Inert()] = None
    "How vLLM joins control tokens, which are never shown."
    request_id: Annotated[str | None, Guarded(neutral={"maxLength": 0})] = None
    "vLLM's own id for the response; the server names it here."


class ChatReportingFields(ContractModel):
    """What is told of a chat answer besides the text."""

    verbose: Annotated[bool | None, Honoured(neutral={"enum": [False]})] = None
    "Add `__verbose`, the answer as POST /completion gives it, with the whole prompt and the sampling in force; a stream has it in a chunk of its own before the end."
    logprobs: Annotated[bool | None, Honoured(neutral={"enum": [False]})] = None
    "Report the log probability of every token of the answer."
    top_logprobs: Annotated[int | None, Field(ge=0, le=20), Honoured(neutral={"maximum": 0})] = None
    "How many alternatives to report for each token; needs `logprobs`."
    n_probs: Annotated[int | None, Field(ge=0, le=20), Honoured(neutral={"maximum": 0})] = None
    "llama-server's way to ask for log probabilities, with this many alternatives."
    post_sampling_probs: Annotated[bool | None, Honoured(neutral={"enum": [False]})] = None
    "Report the probabilities that tokens had in the draw, after all samplers, as `prob` and `top_probs` in place of `logprob` and `top_logprobs`; tokens that could not come are left out."
    return_tokens: Annotated[bool | None, Guarded(neutral={"enum": [False]})] = None
    "Report the token ids of the answer; not done."
    response_fields: Annotated[list[str] | None, Guarded(neutral={"maxItems": 0})] = None
    "llama-server's choice of response fields; not done on chat."
    echo: Annotated[bool | None, Guarded(neutral={"enum": [False]})] = None
    "Repeat the prompt before the answer; not done on chat."


class Reasoning(ContractModel):
    """Reasoning before the answer."""

    effort: Annotated[str | None, Field(max_length=64), Honoured(neutral={"enum": ["none", "minimal"]})] = None
    "How much to reason, by a level of the chat template; `none` and `minimal` turn it off."
    summary: Annotated[Any | None, Inert()] = None
    "Whether reasoning is summed up; it is sent as it is."
    generate_summary: Annotated[Any | None, Inert()] = None
    "The older name of `summary`."
    context: Annotated[Any | None, Inert()] = None
    "Which reasoning is read again; that is up to the chat template."


class TextFormat(ContractModel):
    """Free text, any JSON object, or JSON by a schema."""

    type: Literal["text", "json_object", "json_schema"]
    "The kind of the form."
    schema_: Annotated[dict[str, Any] | bool | None, Field(alias="schema")] = None
    "The JSON schema."
    name: Annotated[Any | None, Inert()] = None
    "What the client calls it."
    description: Annotated[Any | None, Inert()] = None
    "What the form is for; the schema alone holds the answer."
    strict: Annotated[Any | None, Inert()] = None
    "Whether the schema is held; it always is."


class Text(ContractModel):
    """The answer's form."""

    format: Annotated[TextFormat | None, Honoured(neutral={"enum": [{"type": "text"}]})] = None
    "Free text, any JSON object, or JSON by a schema."
    verbosity: Annotated[Any | None, Inert()] = None
    "A wish for shorter or longer answers; many clients always send it."


class ResponsesFunction(ContractModel):
    """A function of a namespace."""

    type: Annotated[str, Field(max_length=64)]
    "The kind of the tool."
    name: Annotated[str | None, Field(max_length=128, min_length=1)] = None
    "Its name, unique in the namespace."
    description: str | None = None
    "What it does, for the model."
    parameters: dict[str, Any] | None = None
    "Its arguments, as a JSON schema of an object."
    strict: bool | None = None
    "Refuse a schema that cannot be held."


class ResponsesToolChoice(ContractModel):
    """The function that must be called."""

    type: Annotated[str, Field(max_length=64), Guarded(neutral={"enum": ["function"]})]
    "The kind of the choice; only one function can be demanded."
    name: Annotated[str | None, Field(max_length=128, min_length=1)] = None
    "The name."
    namespace: Annotated[str | None, Field(max_length=128, min_length=1)] = None
    "Its namespace."


class ResponsesPart(ContractModel):
    """A part of a message."""

    type: Annotated[
        str,
        Field(max_length=64),
        Guarded(
            neutral={
                "enum": [
                    "input_text",
                    "output_text",
                    "text",
                    "refusal",
                    "reasoning_text",
                    "summary_text",
                    "input_image",
                ]
            }
        ),
    ]
    "Its form. A picture is the user's, or what a function returned."
    text: str | None = None
    "The text."
    refusal: str | None = None
    "The text, of a part of this type."
    image_url: Annotated[str | None, Field(min_length=1)] | ImageUrl | None = None
    "Where the picture is. A data URL, base64 alone, or the http address of a host in `media.allowed_hosts`."
    detail: Annotated[Any | None, Inert()] = None
    "A wish of how closely to look; the projector decides."
    file_id: Annotated[str | None, Guarded(neutral={"maxLength": 0}, instead="send the picture as image_url")] = None
    "A stored picture; there is no store, send its data URL."
    annotations: Annotated[Any | None, Inert()] = None
    "Links that a search left behind."
    logprobs: Annotated[Any | None, Inert()] = None
    "Log probabilities that came with it."


class ThinkingFieldsReasoning(ContractModel):
    """OpenRouter's object of reasoning controls."""

    enabled: bool | None = None
    "Reason before answering."
    effort: Annotated[str | None, Field(max_length=64)] = None
    "As `reasoning_effort`."
    max_tokens: Annotated[int | None, Field(ge=0, le=2147483647)] = None
    "As `thinking_token_budget`."
    exclude: bool | None = None
    "Reason and do not send it."


class AnthropicThinking(ContractModel):
    """Anthropic's object of thinking controls."""

    type: Literal["enabled", "disabled", "adaptive"] | None = None
    "Whether to reason; adaptive leaves it to the model."
    budget_tokens: Annotated[int | None, Field(ge=0, le=2147483647)] = None
    "Most tokens of reasoning."
    display: Annotated[Any | None, Inert()] = None
    "How the reasoning is shown; it is sent as it is."


class DetokenizeRequest(ContractModel):
    """Tokens to be written out."""

    model: Annotated[str | None, Field(max_length=512)] = None
    "Whose tokens; with one model any name is served."
    tokens: list[Annotated[int, Field(ge=0, le=2147483647)]] | None = None
    "Their ids."


class FunctionDefinition(ContractModel):
    """A function that may be called."""

    name: Annotated[str, Field(max_length=256, min_length=1)]
    "Its name, unique among the functions of the request: letters, digits and _-.:/@$#+~."
    description: str | None = None
    "What it does, for the model."
    parameters: dict[str, Any] | None = None
    "Its arguments, as a JSON schema of an object; without one any object is taken."
    strict: bool | None = None
    "Refuse a schema that cannot be held. Otherwise, and where no call is demanded, a schema with keywords that cannot be held is loosened to any object."


class NamedFunction(ContractModel):
    """A function by its name."""

    name: Annotated[str, Field(max_length=256, min_length=1)]
    "The name."


class FormatFieldsResponseFormatJsonSchema(ContractModel):
    """A JSON schema with a name."""

    name: Annotated[Any | None, Inert()] = None
    "What the client calls it."
    description: Any | None = None
    "What the form is for. A decision model is asked this; of a written answer the schema alone is the form."
    schema_: Annotated[dict[str, Any] | bool, Field(alias="schema")]
    "The JSON schema."
    strict: Annotated[Any | None, Inert()] = None
    "Whether the schema is held; it always is."


class FormatFieldsResponseFormat(ContractModel):
    """The answer's form."""

    type: Literal["text", "json_object", "json_schema"]
    "Free text, any JSON object, or JSON by a schema."
    json_schema: FormatFieldsResponseFormatJsonSchema | None = None
    "A JSON schema with a name."
    schema_: Annotated[dict[str, Any] | bool | None, Field(alias="schema")] = None
    "llama-server's shorter place of the schema."


class GrammarTrigger(ContractModel):
    """A text or a token with which a grammar begins to hold."""

    type: Annotated[int, Field(ge=0, le=3)] | Literal["token", "word", "pattern", "pattern_full"]
    "`word` (1), a text; `token` (0), the id of a token. `pattern` (2) and `pattern_full` (3) are refused: a client's patterns are not searched in an answer."
    value: Annotated[str | None, Field(max_length=256)] = None
    "The text of a word."
    token: Annotated[int | None, Field(ge=0, le=2147483647)] = None
    "The id of a token."


class GuidedFieldsStructuredOutputs(ContractModel):
    """vLLM's object of constraints; exactly one of them."""

    json_: Annotated[dict[str, Any] | str | bool | None, Field(alias="json")] = None
    "A JSON schema, as an object or as text."
    json_object: bool | None = None
    "Any JSON object."
    regex: str | None = None
    "A regular expression for the whole answer."
    choice: Annotated[list[str] | None, Field(max_length=4096)] = None
    "The possible answers."
    grammar: str | None = None
    "A grammar, in the GBNF of llama.cpp."
    structural_tag: Annotated[Any | None, Guarded()] = None
    "Structural tags; not done."
    whitespace_pattern: Annotated[Any | None, Guarded()] = None
    "White space inside JSON; not done."
    disable_any_whitespace: Annotated[bool | None, Guarded(neutral={"enum": [False]})] = None
    "No white space inside JSON; not done."
    disable_additional_properties: Annotated[bool | None, Guarded(neutral={"enum": [False]})] = None
    "Close every object of the schema; not done, write it into the schema."
    disable_fallback: Annotated[Any | None, Inert()] = None
    "Whether another library may constrain; there is one."
    backend: Annotated[Any | None, Inert()] = None
    "Which library constrains."


class GuidedFields(ContractModel):
    """Answers held to a form, as vLLM asks for it."""

    structured_outputs: Annotated[GuidedFieldsStructuredOutputs | None, Honoured(neutral={"maxProperties": 0})] = None
    "vLLM's object of constraints; exactly one of them."
    guided_json: dict[str, Any] | str | bool | None = None
    "vLLM's schema, as an object or as text."
    guided_regex: str | None = None
    "vLLM's regular expression for the whole answer."
    guided_choice: Annotated[list[str] | None, Field(max_length=4096), Honoured(neutral={"maxItems": 0})] = None
    "vLLM's list of possible answers."
    guided_grammar: Annotated[str | None, Honoured(neutral={"maxLength": 0})] = None
    "vLLM's grammar, in the GBNF of llama.cpp."
    structural_tag: Annotated[Any | None, Guarded()] = None
    "vLLM's structural tags; not done."
    guided_decoding_backend: Annotated[Any | None, Inert()] = None
    "Which library constrains; here there is one."
    guided_whitespace_pattern: Annotated[str | None, Guarded()] = None
    "White space inside constrained JSON; not done."


class VectorFields(ContractModel):
    """What requests for vectors and for relevance have in common."""

    model: Annotated[str | None, Field(max_length=512)] = None
    "Which model answers; with one model of the kind any name is served, and the reply says which."
    truncate: Annotated[bool | Literal["NONE", "END"] | None, Honoured(neutral={"enum": [False, "NONE"]})] = None
    "Cut what is too long at its end instead of refusing it (Text Embeddings Inference, Cohere); the answer says of what length it was, in `truncated_from`. Absent means no."
    truncation: Annotated[bool | None, Alias(of="truncate")] = None
    "Jina's and Voyage's name of `truncate`."
    truncate_prompt_tokens: Annotated[int | None, Field(ge=-1, le=2147483647), Guarded()] = None
    "vLLM's cut of a long text, which keeps its end; not done, `truncate` cuts at the end."
    truncation_direction: Annotated[str | None, Guarded(neutral={"enum": ["right", "Right"]})] = None
    "Text Embeddings Inference's side that is cut; texts are cut at their end."
    truncation_side: Annotated[str | None, Guarded(neutral={"enum": ["right"]})] = None
    "The same in vLLM's words."
    mm_processor_kwargs: Annotated[dict[str, Any] | None, Guarded(neutral={"maxProperties": 0})] = None
    "vLLM's settings for pictures; not done."
    user: Annotated[Any | None, Inert()] = None
    "The caller's name for its user."
    metadata: Annotated[Any | None, Inert()] = None
    "The caller's own notes."
    safety_identifier: Annotated[Any | None, Inert()] = None
    "The caller's name for its user."
    service_tier: Annotated[Any | None, Inert()] = None
    "A price class."
    provider: Annotated[Any | None, Inert()] = None
    "OpenRouter's choice between its providers."
    priority: Annotated[Any | None, Inert()] = None
    "A place in the queue, which is served in the order of arrival."
    request_id: Annotated[Any | None, Inert()] = None
    "The caller's name for the request."


class CreateChatCompletionParameters(ContractModel):
    """Parameters of create_chat_completion, from path, query and headers."""

    X_Halogen_Handle: Annotated[str | None, Field(alias="X-Halogen-Handle", pattern="^[A-Za-z0-9._-]{1,64}$")] = None
    "As the body's `handle`, for clients that can set a header but no field; two different names are refused."


class CreateResponseParameters(ContractModel):
    """Parameters of create_response, from path, query and headers."""

    X_Halogen_Handle: Annotated[str | None, Field(alias="X-Halogen-Handle", pattern="^[A-Za-z0-9._-]{1,64}$")] = None
    "As the body's `handle`, for clients that can set a header but no field; two different names are refused."


class CreateCompletionParameters(ContractModel):
    """Parameters of create_completion, from path, query and headers."""

    X_Halogen_Handle: Annotated[str | None, Field(alias="X-Halogen-Handle", pattern="^[A-Za-z0-9._-]{1,64}$")] = None
    "As the body's `handle`, for clients that can set a header but no field; two different names are refused."


class TokenizerInfoParameters(ContractModel):
    """Parameters of tokenizer_info, from path, query and headers."""

    model: Annotated[str | None, Field(max_length=512)] = None
    "Which chat model to tell of, by id or alias; the default model when absent."


class ListModelsParameters(ContractModel):
    """Parameters of list_models, from path, query and headers."""

    show_all: bool | None = None
    "List every kind of model, not only those that work on text."
    owned_by: Annotated[str | None, Field(max_length=256)] = None
    "List only models with this owner."
    X_hal0_Model_Filter: Annotated[str | None, Field(alias="X-hal0-Model-Filter", max_length=256)] = None
    "As `owned_by`, for clients that can set a header but no query; the query wins."


class RetrieveModelParameters(ContractModel):
    """Parameters of retrieve_model, from path, query and headers."""

    model_id: Annotated[str, Field(max_length=512, min_length=1)]
    "The model's id or alias; it may hold slashes."


class SlotsParameters(ContractModel):
    """Parameters of slots, from path, query and headers."""

    model: Annotated[str | None, Field(max_length=512)] = None
    "Which chat model to tell of, by id or alias; the default model when absent."
    fail_on_no_slot: bool | None = None
    "Answer 503 when every slot is busy."


class CacheParameters(ContractModel):
    """Parameters of cache, from path, query and headers."""

    model: Annotated[str | None, Field(max_length=512)] = None
    "Which chat model to tell of, by id or alias; the default model when absent."


class ResetPrefixCacheParameters(ContractModel):
    """Parameters of reset_prefix_cache, from path, query and headers."""

    model: Annotated[str | None, Field(max_length=512)] = None
    "Only this chat model, by id or alias; every model when absent."


class ListSessionsParameters(ContractModel):
    """Parameters of list_sessions, from path, query and headers."""

    model: Annotated[str | None, Field(max_length=512)] = None
    "Only this chat model, by id or alias; every model when absent."


class ForgetSessionsParameters(ContractModel):
    """Parameters of forget_sessions, from path, query and headers."""

    id: Annotated[str | None, Field(max_length=64)] = None
    "The saved state with this id, as `GET /sessions` lists it."
    label: Annotated[str | None, Field(max_length=256)] = None
    "The saved states with this label; with `id`, the state must have both."
    model: Annotated[str | None, Field(max_length=512)] = None
    "Only this chat model, by id or alias; every model when absent."


class ForgetLabelledSessionsParameters(ContractModel):
    """Parameters of forget_labelled_sessions, from path, query and headers."""

    label: Annotated[str, Field(max_length=256, min_length=1)]
    "The `session_id` that the conversation was sent with; it may hold slashes."
    model: Annotated[str | None, Field(max_length=512)] = None
    "Only this chat model, by id or alias; every model when absent."


class ListHandlesParameters(ContractModel):
    """Parameters of list_handles, from path, query and headers."""

    model: Annotated[str | None, Field(max_length=512)] = None
    "Only this chat model, by id or alias; every model when absent."


class ReleaseHandleParameters(ContractModel):
    """Parameters of release_handle, from path, query and headers."""

    name: Annotated[str, Field(max_length=64, min_length=1)]
    "The `handle` that the conversation was sent with."
    model: Annotated[str | None, Field(max_length=512)] = None
    "Only this chat model, by id or alias; every model when absent."


class RetrieveModelSlotParameters(ContractModel):
    """Parameters of retrieve_model_slot, from path, query and headers."""

    name: Annotated[str, Field(max_length=512, min_length=1)]
    "The slot's name, or the id of its model."


class ModelSlotStateParameters(ContractModel):
    """Parameters of model_slot_state, from path, query and headers."""

    name: Annotated[str, Field(max_length=512, min_length=1)]
    "The slot's name, or the id of its model."


class StreamModelSlotStateParameters(ContractModel):
    """Parameters of stream_model_slot_state, from path, query and headers."""

    name: Annotated[str, Field(max_length=512, min_length=1)]
    "The slot's name, or the id of its model."


class LoadModelSlotParameters(ContractModel):
    """Parameters of load_model_slot, from path, query and headers."""

    name: Annotated[str, Field(max_length=512, min_length=1)]
    "The slot's name, or the id of its model."


class UnloadModelSlotParameters(ContractModel):
    """Parameters of unload_model_slot, from path, query and headers."""

    name: Annotated[str, Field(max_length=512, min_length=1)]
    "The slot's name, or the id of its model."
    force: bool | None = None
    "Whether a pinned slot, or one that is loading, is unloaded too."


class RestartModelSlotParameters(ContractModel):
    """Parameters of restart_model_slot, from path, query and headers."""

    name: Annotated[str, Field(max_length=512, min_length=1)]
    "The slot's name, or the id of its model."
    force: bool | None = None
    "Whether a pinned slot, or one that is loading, is unloaded too."


class AnthropicResult(ContractModel):
    """One block of what a function returned."""

    type: Annotated[str, Field(max_length=64), Guarded(neutral={"enum": ["text", "image"]})]
    "The form of this block."
    text: str | None = None
    "The text."
    source: AnthropicSource | None = None
    "The picture."
    cache_control: Annotated[Any | None, Inert()] = None
    "A mark for the prompt cache."


class BookkeepingFields(ContractModel):
    """Fields about the account, the cache and the speed."""

    user: Annotated[Any | None, Inert()] = None
    "The caller's name for its user."
    metadata: Annotated[Any | None, Inert()] = None
    "The caller's own notes."
    store: Annotated[Any | None, Inert()] = None
    "Keep the answer; there is no store to read it from."
    service_tier: Annotated[Any | None, Inert()] = None
    "A price class."
    prompt_cache_key: Annotated[Any | None, Inert()] = None
    "A hint for the prompt cache."
    prompt_cache_options: Annotated[Any | None, Inert()] = None
    "A hint for the prompt cache."
    prompt_cache_retention: Annotated[Any | None, Inert()] = None
    "A hint for the prompt cache."
    safety_identifier: Annotated[Any | None, Inert()] = None
    "The caller's name for its user."
    session_id: Annotated[Any | None, Inert()] = None
    "A label of the conversation, shown by `GET /sessions`; `DELETE /sessions/{label}` forgets it. A text of at most 256 characters; anything else labels nothing."
    handle: Annotated[str | None, Field(pattern="^[A-Za-z0-9._-]{1,64}$")] = None
    "A name under which the state of this conversation is kept: nothing evicts it until `DELETE /halogen/handles/{name}`. It makes the next turn quicker and changes no answer."
    prediction: Annotated[Any | None, Inert()] = None
    "A guess at the answer, to write it sooner."
    verbosity: Annotated[Any | None, Inert()] = None
    "A wish for shorter or longer answers; many clients always send it."
    cache_prompt: Annotated[Any | None, Inert()] = None
    "Whether the prompt's state is kept for the next request."
    cache_control: Annotated[Any | None, Inert()] = None
    "A mark for the prompt cache."
    id_slot: Annotated[Any | None, Inert()] = None
    "Which of llama-server's slots to use; the scheduler chooses."
    n_cache_reuse: Annotated[Any | None, Inert()] = None
    "How llama-server reuses its cache."
    n_keep: Annotated[Any | None, Inert()] = None
    "What a context shift keeps; the context is never shifted."
    n_discard: Annotated[Any | None, Inert()] = None
    "What a context shift drops; the context is never shifted."
    drafter: Annotated[Any | None, Inert()] = None
    "Which drafter speculates; the answer is the same."
    provider: Annotated[Any | None, Inert()] = None
    "OpenRouter's choice between its providers."
    trace: Annotated[Any | None, Inert()] = None
    "OpenRouter's tracing labels."
    truncate_prompt_tokens: Annotated[int | None, Field(ge=-1, le=2147483647), Guarded()] = None
    "vLLM's cut of a long prompt; a prompt is never cut."
    cache_salt: Annotated[str | None, Field(max_length=256), Honoured(neutral={"maxLength": 0})] = None
    "Saved states of prompts are shared among requests with the same salt only (vLLM). It changes no answer."
    kv_transfer_params: Annotated[dict[str, Any] | None, Guarded(neutral={"maxProperties": 0})] = None
    "vLLM's hand-over between servers; not done."
    vllm_xargs: Annotated[dict[str, Any] | None, Guarded(neutral={"maxProperties": 0})] = None
    "vLLM's extension arguments; not done."
    models: Annotated[list[Any] | None, Guarded(neutral={"maxItems": 0})] = None
    "OpenRouter's list of models to fall back to; not done."
    route: Annotated[str | None, Guarded()] = None
    "OpenRouter's rule for falling back to another model; not done."
    transforms: Annotated[list[Any] | None, Guarded(neutral={"maxItems": 0})] = None
    "OpenRouter's changes to a long prompt; not done."
    moderation: Annotated[dict[str, Any] | None, Guarded()] = None
    "OpenAI's check of prompt and answer; not done yet."
    lora: Annotated[list[LoraScale] | None, Field(max_length=64), Honoured(neutral={"maxItems": 0})] = None
    "The LoRA adapters of this answer, those of `options.lora` of the model by their place; others are off. Left out: each with the operator's scale."
    control_vector: Annotated[bool | None, Honoured(neutral={"enum": [False]})] = None
    "Add the control vector of the model (`options.control_vector`), or do not. Left out: as the operator decided."


class SystemMessage(MessageFields):
    """Instructions; both roles are one, and all of them are put first."""

    role: Literal["system", "developer"]
    "Who speaks."
    content: str | list[TextPart]
    "The instructions, as text or as parts of text."


class CalledTool(ContractModel):
    """A call of a function."""

    id: Annotated[str, Field(max_length=256, min_length=1)]
    "What its result refers to."
    type: Annotated[str | None, Field(max_length=64), Guarded(neutral={"enum": ["function"]})] = None
    "The kind of the tool; only functions can be called."
    function: CalledFunction
    "The function and its arguments."
    index: Annotated[Any | None, Inert()] = None
    "Its place in a stream."


class ImageUrlPart(ContractModel):
    """A picture, as OpenAI's chat sends it. It is the user's, or what a function returned."""

    type: Literal["image_url"]
    "The form of this part."
    image_url: ImageUrl | Annotated[str, Field(min_length=1)]
    "Where the picture is, as an object or as its URL alone. A data URL, base64 alone, or the http address of a host in `media.allowed_hosts`."
    cache_control: Annotated[Any | None, Inert()] = None
    "A mark for the prompt cache."
    uuid: Annotated[Any | None, Inert()] = None
    "vLLM's name of the picture for its cache; here a picture is known by its content."


class ResponsesItem(ContractModel):
    """One item of a conversation; without a type it is a message. Which other fields it needs is told by its type."""

    type: Annotated[
        str | None,
        Field(max_length=64),
        Guarded(neutral={"enum": ["message", "reasoning", "function_call", "function_call_output"]}),
    ] = None
    "Its form."
    role: Literal["user", "assistant", "system", "developer"] | None = None
    "Who speaks."
    content: str | list[ResponsesPart] | None = None
    "What is said or thought, as text or as parts."
    summary: Annotated[list[ResponsesPart] | None, Honoured(neutral={"maxItems": 0})] = None
    "Reasoning, summed up; it is read where the whole of it is missing."
    call_id: Annotated[str | None, Field(max_length=256, min_length=1)] = None
    "The id of the call."
    name: Annotated[str | None, Field(max_length=256, min_length=1)] = None
    "The function that was called."
    namespace: Annotated[str | None, Field(max_length=128, min_length=1)] = None
    "The namespace of the function."
    arguments: str | None = None
    "The arguments, as the text of a JSON object."
    output: str | list[ResponsesPart] | None = None
    "What the function returned, as text or as parts."
    id: Annotated[Any | None, Inert()] = None
    "The item's name."
    status: Annotated[Any | None, Inert()] = None
    "Whether the item is complete."
    phase: Annotated[Any | None, Inert()] = None
    "What the message was for."
    encrypted_content: Annotated[str | None, Guarded(neutral={"maxLength": 0})] = None
    "Reasoning that only its maker can read; it is not read here."


class ResponsesTool(ContractModel):
    """A function, a namespace of functions, or a tool of another kind, which is left out."""

    type: Annotated[str, Field(max_length=64)]
    "The kind of the tool."
    name: Annotated[str | None, Field(max_length=128, min_length=1)] = None
    "Its name, unique among its neighbours: letters, digits and _-.:/@$#+~."
    description: str | None = None
    "What it does, for the model."
    parameters: dict[str, Any] | None = None
    "Its arguments, as a JSON schema of an object; without one any object is taken."
    strict: bool | None = None
    "Refuse a schema that cannot be held; otherwise it may be loosened to any object."
    tools: Annotated[list[ResponsesFunction] | None, Field(max_length=512)] = None
    "The functions of a namespace; the model sees each as `namespace__name`."


class SamplingFields(ContractModel):
    """How the next token is drawn."""

    temperature: Annotated[float | None, Field(ge=0.0, le=100.0)] = None
    "Spread of the draw; 0 is greedy."
    dynatemp_range: Annotated[float | None, Field(ge=-100.0, le=100.0), Honoured(neutral={"maximum": 0})] = None
    "Half-width of the dynamic temperature around `temperature`; 0 or less is off."
    dynatemp_exponent: Annotated[float | None, Field(ge=0.0, le=100.0), Honoured(neutral={"enum": [1]})] = None
    "How entropy maps to the dynamic temperature."
    top_k: Annotated[int | None, Field(ge=-1, le=2147483647), Honoured(neutral={"maximum": 0})] = None
    "Draw from the k most likely tokens; 0 or less is off."
    top_p: Annotated[float | None, Field(ge=0.0, le=1.0), Honoured(neutral={"enum": [1]})] = None
    "Draw from the smallest set of tokens with this much probability; 1 is off."
    min_p: Annotated[float | None, Field(ge=0.0, le=1.0), Honoured(neutral={"enum": [0]})] = None
    "Drop tokens less likely than this share of the likeliest; 0 is off."
    top_n_sigma: Annotated[float | None, Field(ge=-100.0, le=1000.0), Honoured(neutral={"maximum": 0})] = None
    "Keep tokens within this many standard deviations of the best logit; 0 or less is off."
    typical_p: Annotated[float | None, Field(ge=0.0, le=1.0), Honoured(neutral={"enum": [1]})] = None
    "Locally typical sampling; 1 is off."
    xtc_probability: Annotated[float | None, Field(ge=0.0, le=1.0), Honoured(neutral={"enum": [0]})] = None
    "Chance that the likeliest tokens are left out of a draw; 0 is off."
    xtc_threshold: Annotated[float | None, Field(ge=0.0, le=1.0), Honoured(neutral={"enum": [0.1]})] = None
    "Probability from which XTC may leave a token out."
    repeat_last_n: Annotated[int | None, Field(ge=-1, le=2147483647), Honoured(neutral={"enum": [64]})] = None
    "Tokens that the penalties look back on; 0 is none, -1 the whole context."
    repeat_penalty: Annotated[float | None, Field(gt=0.0, le=100.0), Honoured(neutral={"enum": [1]})] = None
    "Divides the logit of repeated tokens; 1 is off."
    repetition_penalty: Annotated[float | None, Field(gt=0.0, le=100.0), Alias(of="repeat_penalty")] = None
    "vLLM's name of `repeat_penalty`."
    presence_penalty: Annotated[float | None, Field(ge=-2.0, le=2.0), Honoured(neutral={"enum": [0]})] = None
    "Taken off the logit of every token that already appeared; 0 is off."
    frequency_penalty: Annotated[float | None, Field(ge=-2.0, le=2.0), Honoured(neutral={"enum": [0]})] = None
    "Taken off the logit of a token once for each time it appeared; 0 is off."
    dry_multiplier: Annotated[float | None, Field(ge=0.0, le=100.0), Honoured(neutral={"enum": [0]})] = None
    "Strength of the DRY penalty on repeated sequences; 0 is off."
    dry_base: Annotated[float | None, Field(ge=1.0, le=100.0), Honoured(neutral={"enum": [1.75]})] = None
    "Base of the DRY penalty's growth."
    dry_allowed_length: Annotated[int | None, Field(ge=0, le=2147483647), Honoured(neutral={"enum": [2]})] = None
    "Repeated sequences up to this many tokens are not penalised."
    dry_penalty_last_n: Annotated[int | None, Field(ge=-1, le=2147483647), Honoured(neutral={"enum": [0, 64, -1]})] = (
        None
    )
    "Tokens that DRY looks back on; 0 is off, -1 the whole context."
    dry_sequence_breakers: Annotated[
        list[Annotated[str, Field(max_length=128, min_length=1)]] | None,
        Field(max_length=64, min_length=1),
        Honoured(neutral={"enum": [["\n", ":", '"', "*"]]}),
    ] = None
    "Texts that end a repeated sequence for DRY."
    mirostat: Annotated[int | None, Field(ge=0, le=2), Honoured(neutral={"enum": [0]})] = None
    "Mirostat version 1 or 2 in place of the other samplers; 0 is off."
    mirostat_tau: Annotated[float | None, Field(ge=0.0, le=100.0), Honoured(neutral={"enum": [5]})] = None
    "Mirostat's target surprise."
    mirostat_eta: Annotated[float | None, Field(ge=0.0, le=10.0), Honoured(neutral={"enum": [0.1]})] = None
    "Mirostat's learning rate."
    min_keep: Annotated[int | None, Field(ge=0, le=2147483647), Honoured(neutral={"enum": [0]})] = None
    "Tokens that every cutting sampler leaves at least; 0 is off."
    samplers: (
        Annotated[
            list[
                Literal[
                    "penalties",
                    "dry",
                    "top_n_sigma",
                    "top_k",
                    "typ_p",
                    "top_p",
                    "min_p",
                    "xtc",
                    "temperature",
                    "infill",
                ]
            ]
            | None,
            Field(max_length=32),
        ]
        | Annotated[str, Field(max_length=32, pattern="^[edskypmxti]*$")]
        | None
    ) = None
    "The samplers and their order, as names or as llama-server's letters (e penalties, d dry, s top_n_sigma, k top_k, y typ_p, p top_p, m min_p, x xtc, t temperature, i infill). All but infill are the default; that one joins tokens that begin alike, and needs top_k before it and at most 256 candidates."
    logit_bias: Annotated[
        dict[
            str,
            Annotated[int, Field(ge=-10000, le=10000)]
            | Annotated[float, Field(ge=-10000.0, le=10000.0)]
            | Literal[False],
        ]
        | list[
            Annotated[
                list[
                    Annotated[int, Field(ge=-10000, le=2147483647)]
                    | Annotated[float, Field(ge=-10000.0, le=10000.0)]
                    | str
                    | Literal[False]
                ],
                Field(max_length=2, min_length=2),
            ]
        ]
        | None,
        Honoured(neutral={"maxProperties": 0}),
    ] = None
    "Added to the logits of tokens before sampling, `false` bans: an object from token id or text to a number, or llama-server's pairs of id or text and number. A text biases each of its tokens."
    ignore_eos: Annotated[bool | None, Honoured(neutral={"enum": [False]})] = None
    "Go on to the end of the budget, whatever ends a reply."
    seed: Annotated[int | None, Field(ge=-1, le=9223372036854775807), Honoured(neutral={"enum": [-1]})] = None
    "The same seed and request give the same answer; absent or -1 picks one."
    top_a: Annotated[float | None, Field(ge=0.0, le=1.0), Guarded(neutral={"enum": [0]})] = None
    "OpenRouter's top-a sampling; not done."
    adaptive_target: Annotated[float | None, Field(ge=-1.0, le=1.0), Guarded(neutral={"enum": [-1]})] = None
    "llama-server's adaptive-p sampler; not done, negative is off."
    adaptive_decay: Annotated[Any | None, Inert()] = None
    "Tunes `adaptive_target`, which is off."
    backend_sampling: Annotated[Any | None, Inert()] = None
    "Where llama-server samples; the result is the same."
    use_beam_search: Annotated[bool | None, Guarded(neutral={"enum": [False]})] = None
    "vLLM's beam search; not done."
    length_penalty: Annotated[float | None, Field(ge=-100.0, le=100.0), Guarded(neutral={"enum": [1]})] = None
    "Weighs beams by length; there are no beams."
    best_of: Annotated[int | None, Field(ge=0, le=128), Guarded(neutral={"maximum": 1})] = None
    "Draw several answers and return the best; not done."
    logits_processors: Annotated[list[Any] | None, Guarded(neutral={"maxItems": 0})] = None
    "vLLM's own code on the logits; not done."
    allowed_token_ids: Annotated[
        list[Annotated[int, Field(ge=0, le=2147483647)]] | None, Guarded(neutral={"maxItems": 0})
    ] = None
    "vLLM's list of the only tokens to draw; not done."
    bad_words: Annotated[list[str] | None, Guarded(neutral={"maxItems": 0})] = None
    "vLLM's list of texts never to say; not done."


class ThinkingFields(ContractModel):
    """Reasoning before the answer."""

    enable_thinking: Annotated[bool | None, Honoured(neutral={"enum": [False]})] = None
    "Reason before answering; absent leaves it to the model's chat template."
    reasoning_effort: Annotated[str | None, Field(max_length=64), Honoured(neutral={"enum": ["none", "minimal"]})] = (
        None
    )
    "How much to reason, by a level of the model's chat template; `none` and `minimal` turn it off."
    thinking_token_budget: Annotated[int | None, Field(ge=-1, le=2147483647), Honoured(neutral={"enum": [-1]})] = None
    "Most tokens of reasoning, which is then closed; -1 is no limit."
    thinking_budget: Annotated[int | None, Field(ge=-1, le=2147483647), Alias(of="thinking_token_budget")] = None
    "Another name of `thinking_token_budget`."
    thinking_budget_tokens: Annotated[int | None, Field(ge=-1, le=2147483647), Alias(of="thinking_token_budget")] = None
    "llama-server's name of `thinking_token_budget`."
    reasoning_budget_tokens: Annotated[int | None, Field(ge=-1, le=2147483647), Alias(of="thinking_token_budget")] = (
        None
    )
    "llama-server's other name of `thinking_token_budget`."
    max_thinking_tokens: Annotated[int | None, Field(ge=-1, le=2147483647), Alias(of="thinking_token_budget")] = None
    "halogen's name of `thinking_token_budget`."
    reasoning: Annotated[
        ThinkingFieldsReasoning | None, Honoured(neutral={"enum": [{}, {"enabled": False}, {"effort": "none"}]})
    ] = None
    "OpenRouter's object of reasoning controls."
    thinking: Annotated[AnthropicThinking | bool | None, Honoured(neutral={"enum": [{"type": "disabled"}, False]})] = (
        None
    )
    "Anthropic's object of thinking controls, or true or false."
    include_reasoning: Annotated[bool | None, Honoured(neutral={"enum": [True]})] = None
    "Send the reasoning beside the answer; absent means true."
    preserve_thinking: Annotated[bool | None, Honoured(neutral={"enum": [False]})] = None
    "Keep the reasoning of earlier turns in the prompt, where the chat template can."
    reasoning_format: Annotated[
        Literal["auto", "deepseek", "none"] | None, Field(max_length=64), Honoured(neutral={"enum": ["none", "auto"]})
    ] = None
    "Where reasoning is put: `auto` and `deepseek` beside the text, as `reasoning_content`; `none` leaves it in the text with its markers. Absent means auto."
    reasoning_budget_message: Annotated[str | None, Guarded(neutral={"maxLength": 0})] = None
    "llama-server's text on a closed reasoning block; not done yet."
    reasoning_control: Annotated[Any | None, Inert()] = None
    "Lets another request end the reasoning; there is none."


class ChatTool(ContractModel):
    """A function, as OpenAI's chat has it."""

    type: Annotated[str, Field(max_length=64), Guarded(neutral={"enum": ["function"]})]
    "The kind of the tool; only functions can be called."
    function: FunctionDefinition
    "The function."
    cache_control: Annotated[Any | None, Inert()] = None
    "A mark for the prompt cache."


class NamedToolChoice(ContractModel):
    """The function that must be called."""

    type: Annotated[str, Field(max_length=64), Guarded(neutral={"enum": ["function"]})]
    "The kind of the choice; only one function can be demanded."
    function: NamedFunction
    "The function."


class FormatFields(ContractModel):
    """Answers held to a form, as OpenAI and llama-server ask for it."""

    response_format: Annotated[FormatFieldsResponseFormat | None, Honoured(neutral={"enum": [{"type": "text"}]})] = None
    "The answer's form."
    json_schema: dict[str, Any] | bool | None = None
    "llama-server's shorthand; hold the answer to this JSON schema."
    grammar: Annotated[str | None, Honoured(neutral={"maxLength": 0})] = None
    "Hold the answer to this grammar, in the GBNF of llama.cpp."
    grammar_lazy: Annotated[bool | None, Honoured(neutral={"enum": [False]})] = None
    "Let the answer be free until one of `grammar_triggers` comes; from its beginning on the grammar, or the schema, holds. Reasoning has no triggers."
    grammar_triggers: Annotated[
        list[GrammarTrigger] | None, Field(max_length=64), Honoured(neutral={"maxItems": 0})
    ] = None
    "What starts a grammar that waits (`grammar_lazy`); without that they say nothing."


class EmbeddingRequest(VectorFields):
    """Texts, or token ids, to be turned into vectors."""

    input: (
        str | list[str | Annotated[int, Field(ge=0, le=2147483647)] | list[Annotated[int, Field(ge=0, le=2147483647)]]]
    )
    "A text, a list of token ids, or a list of items, each a text or a list of token ids. Control tokens in texts are tokens; what the model puts in front of a text is put there once. Ids are taken as they are, with nothing around them. `limits.vector_items_max` and `limits.vector_bytes_max` bound the list."
    encoding_format: Annotated[Literal["float", "base64"] | None, Honoured(neutral={"enum": ["float"]})] = None
    "How a vector is written: a list of numbers, or base64 of 32-bit floats, little-endian. Absent means float."
    dimensions: Annotated[int | None, Field(ge=1, le=1048576)] = None
    "Keep the first so many numbers of each vector, scaled to length 1. Not more than the model has."
    output_dimension: Annotated[int | None, Field(ge=1, le=1048576), Alias(of="dimensions")] = None
    "Voyage's and Cohere's name of `dimensions`."
    prompt_name: Annotated[str | None, Field(max_length=256)] = None
    "Put the model's prompt of this name in front of each text; the operator names them in `prompts`."
    input_type: Annotated[str | None, Field(max_length=256), Alias(of="prompt_name")] = None
    "What the texts are, for example query or document, as the name of a prompt (Cohere, Voyage, NVIDIA)."
    normalize: bool | None = None
    "Scale each vector to length 1, or leave it as the model gives it; absent means as the operator set it."
    normalized: Annotated[bool | None, Alias(of="normalize")] = None
    "Jina's name of `normalize`."
    use_activation: Annotated[bool | None, Alias(of="normalize")] = None
    "vLLM's name of `normalize`."
    embd_normalize: Annotated[int | None, Field(ge=-1, le=16)] = None
    "llama-server's scaling of a vector: -1 none, 0 so that the largest number is 32760, 1 by the sum of the absolute numbers, 2 to length 1, above that by the p-norm. Not together with `normalize`; with `dimensions` only 2."
    add_special_tokens: Annotated[bool | None, Guarded(neutral={"enum": [True]})] = None
    "Put around a text what the model puts there; never left out here, token ids are taken as they are."
    image_tokens: Annotated[int | None, Field(ge=0, le=2147483647), Guarded()] = None
    "Tokens of a picture (Radiance); pictures are not read."
    messages: Annotated[list[Any] | None, Guarded(neutral={"maxItems": 0})] = None
    "A conversation in place of texts (vLLM); not done."
    task: Annotated[str | None, Guarded()] = None
    "Jina's choice of an adapter; not done, `prompt_name` names a prompt."
    prompt: Annotated[str | None, Guarded(neutral={"maxLength": 0})] = None
    "A text in front of each (Mixedbread); not done, `prompt_name` names one of the model's."
    instruction: Annotated[str | None, Guarded(neutral={"maxLength": 0})] = None
    "The same in other words."
    return_multivector: Annotated[bool | None, Guarded(neutral={"enum": [False]})] = None
    "Jina's vector for every token; not done."
    images: Annotated[list[Any] | None, Guarded(neutral={"maxItems": 0})] = None
    "Cohere's pictures; not read."
    late_chunking: Annotated[bool | None, Guarded(neutral={"enum": [False]})] = None
    "Jina's reading of all items as one text; not done."
    embedding_types: Annotated[list[str] | None, Guarded(neutral={"maxItems": 0})] = None
    "Cohere's list of number formats; vectors are of floats."
    embedding_type: Annotated[str | None, Guarded(neutral={"enum": ["float"]})] = None
    "Jina's number format; vectors are of floats, `encoding_format` says how they are written."
    output_dtype: Annotated[str | None, Guarded(neutral={"enum": ["float"]})] = None
    "Voyage's number format."
    embed_dtype: Annotated[str | None, Guarded(neutral={"enum": ["float32"]})] = None
    "vLLM's number format."
    endianness: Annotated[str | None, Guarded(neutral={"enum": ["little", "native"]})] = None
    "vLLM's order of the bytes of base64, which are little-endian."


class RerankRequest(VectorFields):
    """A query, and documents to be put in the order of their relevance to it."""

    query: str | dict[str, Any]
    "What is looked for, as a text or as an object with its `text`. Control tokens in it, and in documents, are text."
    documents: list[str | dict[str, Any]] | None = None
    "The documents, each a text or an object with its text; not together with `texts`. `limits.vector_items_max` and `limits.vector_bytes_max` bound the list."
    texts: list[str] | None = None
    "The documents as Text Embeddings Inference and llama-server name them; the answer is a list then."
    top_n: Annotated[int | None, Field(ge=1, le=2147483647)] = None
    "Only so many, the most relevant; absent, or more than there are, means all."
    top_k: Annotated[int | None, Field(ge=1, le=2147483647), Alias(of="top_n")] = None
    "Voyage's name of `top_n`."
    return_documents: Annotated[bool | None, Honoured(neutral={"enum": [False]})] = None
    "Give each document's text beside its score; absent means no."
    return_text: Annotated[bool | None, Alias(of="return_documents")] = None
    "The same, as Text Embeddings Inference and llama-server name it."
    raw_scores: Annotated[bool | None, Honoured(neutral={"enum": [False]})] = None
    "Give the model's own score as `relevance_score` (Text Embeddings Inference); absent means one from 0 to 1."
    rank_fields: Annotated[list[Annotated[str, Field(max_length=256)]] | None, Field(max_length=64, min_length=1)] = (
        None
    )
    "Which fields of documents that are objects are read, in this order, each on a line of its own (Cohere); absent means `text`."
    instruction: Annotated[str | None, Guarded(neutral={"maxLength": 0})] = None
    "What relevance means (halogen); not done, the model's own instruction holds."
    max_tokens_per_doc: Annotated[int | None, Field(ge=1, le=2147483647), Guarded()] = None
    "Cohere's cut of long documents; not done, `truncate` cuts what the model cannot read."
    max_chunks_per_doc: Annotated[int | None, Field(ge=1, le=2147483647), Guarded()] = None
    "Cohere's older reading of long documents in pieces; not done."
    return_embeddings: Annotated[bool | None, Guarded(neutral={"enum": [False]})] = None
    "Jina's vectors beside the scores; there are none."
    use_activation: Annotated[bool | None, Guarded(neutral={"enum": [True]})] = None
    "vLLM's switch of the score from 0 to 1; not done, `raw_scores` gives the model's own."


class AnthropicBlock(ContractModel):
    """One block of a message. Which other fields it needs is told by its type."""

    type: Annotated[
        str,
        Field(max_length=64),
        Guarded(neutral={"enum": ["text", "thinking", "redacted_thinking", "tool_use", "tool_result", "image"]}),
    ]
    "The form of this block; reasoning that is redacted says nothing here and is left out."
    text: str | None = None
    "The text."
    source: AnthropicSource | None = None
    "The picture."
    thinking: str | None = None
    "The reasoning."
    signature: Annotated[Any | None, Inert()] = None
    "A proof of the reasoning's origin; none is asked for."
    data: Annotated[Any | None, Inert()] = None
    "Redacted reasoning."
    id: Annotated[str | None, Field(max_length=256, min_length=1)] = None
    "The call's id."
    name: Annotated[str | None, Field(max_length=256, min_length=1)] = None
    "The function that was called."
    input: dict[str, Any] | None = None
    "The arguments of the call."
    tool_use_id: Annotated[str | None, Field(max_length=256, min_length=1)] = None
    "The call that this is the result of."
    content: str | list[AnthropicResult] | None = None
    "What the function returned, as text or as blocks."
    is_error: bool | None = None
    "The call failed; the model is told so."
    cache_control: Annotated[Any | None, Inert()] = None
    "A mark for the prompt cache."
    citations: Annotated[list[Any] | None, Guarded(neutral={"maxItems": 0})] = None
    "Where the text is from; not done."


class CompletionRequest(
    SamplingFields, BudgetFields, EditorFields, ReportingFields, FormatFields, GuidedFields, BookkeepingFields
):
    """A text to go on with as it stands; control tokens in it are tokens."""

    model: Annotated[str | None, Field(max_length=512)] = None
    "Which model answers; with one model any name is served, and the reply says which."
    prompt: (
        Annotated[str, Field(min_length=1)]
        | Annotated[
            list[
                Annotated[str, Field(min_length=1)]
                | Annotated[int, Field(ge=0, le=2147483647)]
                | Annotated[
                    list[Annotated[str, Field(min_length=1)] | Annotated[int, Field(ge=0, le=2147483647)]],
                    Field(min_length=1),
                ]
                | PromptObject
            ],
            Field(min_length=1),
        ]
        | PromptObject
    )
    "A text, or a list of token ids and texts that make one prompt when at least one is an id; or a list of prompts, each a text, a list of ids and texts, or llama-server's object. The model's BOS is prepended unless the prompt opens with it, or with an id. `limits.prompts_max` bounds the list."
    echo: Annotated[bool | None, Honoured(neutral={"enum": [False]})] = None
    "Begin each answer with its prompt; not together with log probabilities."
    logprobs: Annotated[int | None, Field(ge=0, le=20)] = None
    "Report log probabilities, with this many alternatives for each token."
    n_probs: Annotated[int | None, Field(ge=0, le=20), Alias(of="logprobs")] = None
    "llama-server's name of `logprobs`."
    preserved_tokens: Annotated[
        list[Annotated[str, Field(max_length=256)]] | None, Field(max_length=64), Honoured(neutral={"maxItems": 0})
    ] = None
    "Control tokens, each as its text, that are written out where the answer has them."
    suffix: Annotated[str | None, Guarded(neutral={"maxLength": 0}, instead="POST /infill fills gaps")] = None
    "Text that comes after the answer; not done here, POST /infill fills gaps."
    add_special_tokens: Annotated[bool | None, Guarded(neutral={"enum": [True]})] = None
    "vLLM's switch of the BOS; it is always decided by the model."
    verbose: Annotated[bool | None, Guarded(neutral={"enum": [False]})] = None
    "llama-server's `__verbose` object; not done here, chat does."
    post_sampling_probs: Annotated[bool | None, Honoured(neutral={"enum": [False]})] = None
    "Report the probabilities that tokens had in the draw, after all samplers: as `prob` and `top_probs` in `logprobs.content`, and their logarithms in the lists; tokens that could not come are left out."
    return_tokens: Annotated[bool | None, Guarded(neutral={"enum": [False]})] = None
    "Report the token ids of the answer; not done here, POST /completion does."
    response_fields: Annotated[list[str] | None, Guarded(neutral={"maxItems": 0})] = None
    "llama-server's choice of response fields; not done here, POST /completion does."
    prompt_embeds: Annotated[Any | None, Guarded()] = None
    "vLLM's prompts as embeddings; not done."


class AssistantMessage(MessageFields):
    """What the model said."""

    role: Literal["assistant"]
    "Who speaks."
    content: str | list[Annotated[TextPart | RefusalPart, Field(discriminator="type")]] | None = None
    "What was said, as text or as parts of text; absent is empty."
    tool_calls: Annotated[list[CalledTool] | None, Field(max_length=1024), Honoured(neutral={"maxItems": 0})] = None
    "Functions that were called."
    function_call: AssistantMessageFunctionCall | None = None
    "The older form of one call."
    reasoning_content: Annotated[str | None, Honoured(neutral={"maxLength": 0})] = None
    "The reasoning before this message, for chat templates that read it."
    reasoning: Annotated[str | None, Alias(of="reasoning_content")] = None
    "vLLM's name of `reasoning_content`."
    reasoning_details: Annotated[list[Any] | None, Guarded(neutral={"maxItems": 0})] = None
    "OpenRouter's form of the reasoning; not done yet."
    refusal: Annotated[str | None, Honoured(neutral={"maxLength": 0})] = None
    "What was said in place of an answer; it is read as what it is, text."
    audio: Annotated[dict[str, Any] | None, Guarded()] = None
    "A spoken answer to refer to; not done."
    prefix: Annotated[bool | None, Guarded(neutral={"enum": [False]})] = None
    "Mistral's and DeepSeek's mark of a message to continue; not done yet."
    partial: Annotated[bool | None, Guarded(neutral={"enum": [False]})] = None
    "Qwen's mark of a message to continue; not done yet."
    annotations: Annotated[Any | None, Inert()] = None
    "Links that a web search left behind."


class NativeCompletionRequest(
    SamplingFields, BudgetFields, ReportingFields, FormatFields, GuidedFields, BookkeepingFields, NativeFields
):
    """A text to go on with as it stands, in llama-server's words."""

    prompt: (
        Annotated[str, Field(min_length=1)]
        | Annotated[
            list[
                Annotated[str, Field(min_length=1)]
                | Annotated[int, Field(ge=0, le=2147483647)]
                | Annotated[
                    list[Annotated[str, Field(min_length=1)] | Annotated[int, Field(ge=0, le=2147483647)]],
                    Field(min_length=1),
                ]
                | PromptObject
            ],
            Field(min_length=1),
        ]
        | PromptObject
    )
    "A text, or a list of token ids and texts that make one prompt when at least one is an id; or a list of prompts, each a text, a list of ids and texts, or an object. The model's BOS is prepended unless the prompt opens with it, or with an id. `limits.prompts_max` bounds the list."


class InfillRequest(
    SamplingFields, BudgetFields, ReportingFields, FormatFields, GuidedFields, BookkeepingFields, NativeFields
):
    """A gap in a text, to be filled."""

    input_prefix: str | list[Annotated[str, Field(min_length=1)] | Annotated[int, Field(ge=0, le=2147483647)]]
    "The text before the gap, or texts and token ids one after the other; its end is kept when it is long."
    input_suffix: str | list[Annotated[str, Field(min_length=1)] | Annotated[int, Field(ge=0, le=2147483647)]]
    "The text after the gap; its beginning is kept when it is long."
    prompt: Annotated[str | None, Honoured(neutral={"maxLength": 0})] = None
    "More text before the gap, put after the prefix."
    input_extra: Annotated[list[InfillText] | None, Field(max_length=1024), Honoured(neutral={"maxItems": 0})] = None
    "Other texts to look at, the most important last."


class ResponsesRequest(SamplingFields, BudgetFields, EditorFields, ReportingFields, BookkeepingFields):
    """A conversation to go on with, in the words of OpenAI's Responses API."""

    model: Annotated[str | None, Field(max_length=512)] = None
    "Which model answers; with one model any name is served, and the reply says which."
    input: str | Annotated[list[ResponsesItem], Field(min_length=1)]
    "The conversation so far, oldest first; a text alone is said by the user."
    verbose: Annotated[bool | None, Guarded(neutral={"enum": [False]})] = None
    "llama-server's `__verbose` object; not done here, chat does."
    instructions: Annotated[str | None, Honoured(neutral={"maxLength": 0})] = None
    "Instructions that come before all others."
    reasoning: Annotated[Reasoning | None, Honoured(neutral={"maxProperties": 0})] = None
    "Reasoning before the answer."
    text: Annotated[Text | None, Honoured(neutral={"maxProperties": 0})] = None
    "The answer's form."
    tools: Annotated[list[ResponsesTool] | None, Honoured(neutral={"maxItems": 0})] = None
    "Functions that the model may call, and namespaces of them. Built-in and freeform tools are left out, which the answer tells in `tools_left_out`."
    tool_choice: Annotated[
        Literal["none", "auto", "required"] | ResponsesToolChoice | None, Honoured(neutral={"enum": ["none", "auto"]})
    ] = None
    "Whether a function must be called: `auto` is the model's choice, `none` forbids it, `required` demands it, and an object names the one."
    parallel_tool_calls: Annotated[bool | None, Honoured(neutral={"enum": [True]})] = None
    "Whether an answer may have several calls; absent means that it may."
    max_tool_calls: Annotated[Any | None, Inert()] = None
    "Most calls of built-in tools; there are none."
    previous_response_id: Annotated[
        str | None, Guarded(neutral={"maxLength": 0}, instead="send the history as input")
    ] = None
    "An answer to go on from; there is no store, send the history."
    conversation: Annotated[Any | None, Guarded(instead="send the history as input")] = None
    "A stored conversation; there is no store, send the history."
    prompt: Annotated[Any | None, Guarded(instead="send its text as instructions")] = None
    "A stored prompt; there is no store."
    background: Annotated[bool | None, Guarded(neutral={"enum": [False]})] = None
    "Answer later, to be fetched; not done."
    truncation: Annotated[str | None, Field(max_length=64), Guarded(neutral={"enum": ["disabled"]})] = None
    "Drop items of a conversation that is too long; never done."
    context_management: Annotated[list[Any] | None, Guarded(neutral={"maxItems": 0})] = None
    "Changes to the conversation by the server; not done."
    top_logprobs: Annotated[int | None, Field(ge=0, le=20), Guarded(neutral={"maximum": 0})] = None
    "Alternatives for each token; not done here yet."
    chat_template_kwargs: Annotated[dict[str, Any] | None, Honoured(neutral={"maxProperties": 0})] = None
    "Variables for the chat template."
    include: Annotated[Any | None, Inert()] = None
    "What is told besides; there is none of it yet."
    client_metadata: Annotated[Any | None, Inert()] = None
    "The caller's own notes."


class ToolFields(ContractModel):
    """Functions that the model may call."""

    tools: Annotated[list[ChatTool] | None, Honoured(neutral={"maxItems": 0})] = None
    "Functions that the model may call."
    tool_choice: Annotated[
        Literal["none", "auto", "required"] | NamedToolChoice | None, Honoured(neutral={"enum": ["none", "auto"]})
    ] = None
    "Whether a function must be called: `auto` is the model's choice, `none` forbids it, `required` demands it, and an object names the one."
    functions: Annotated[list[FunctionDefinition] | None, Honoured(neutral={"maxItems": 0})] = None
    "The older form of `tools`; the answer then has the older form of a call."
    function_call: Annotated[
        Literal["none", "auto"] | NamedFunction | None, Honoured(neutral={"enum": ["none", "auto"]})
    ] = None
    "The older form of `tool_choice`, for `functions`."
    parallel_tool_calls: Annotated[bool | None, Honoured(neutral={"enum": [True]})] = None
    "Whether an answer may have several calls; absent means that it may."
    parse_tool_calls: Annotated[bool | None, Honoured(neutral={"enum": [True]})] = None
    "Tell calls apart from the text; false leaves them in the text as the model wrote them."
    plugins: Annotated[list[Any] | None, Guarded(neutral={"maxItems": 0})] = None
    "OpenRouter's server-side tools; not done."
    web_search_options: Annotated[dict[str, Any] | None, Guarded()] = None
    "OpenAI's web search; not done."
    omni: Annotated[bool | None, Honoured(neutral={"enum": [False]})] = None
    "hal0's tool loop: before it answers, the model may call the other models of this server. `max_tokens` is of all rounds together. Only POST /v1/chat/completions runs it; not with tools of one's own."


class AnthropicMessage(ContractModel):
    """One message of a conversation."""

    role: Literal["user", "assistant", "system"]
    "Who speaks; `system` in the middle is an instruction like those before."
    content: str | list[AnthropicBlock]
    "What is said, as text or as blocks."
    cache_control: Annotated[Any | None, Inert()] = None
    "A mark for the prompt cache."


class UserMessage(MessageFields):
    """What the user says."""

    role: Literal["user"]
    "Who speaks."
    content: (
        str
        | list[
            Annotated[
                TextPart
                | ImageUrlPart
                | InputImagePart
                | InputAudioPart
                | AudioUrlPart
                | VideoUrlPart
                | InputVideoPart
                | FilePart,
                Field(discriminator="type"),
            ]
        ]
    )
    "What is said, as text or as parts."


class ToolMessage(MessageFields):
    """The result of a call."""

    role: Literal["tool"]
    "Who speaks."
    content: (
        str
        | list[
            Annotated[
                TextPart
                | ImageUrlPart
                | InputImagePart
                | InputAudioPart
                | AudioUrlPart
                | VideoUrlPart
                | InputVideoPart
                | FilePart,
                Field(discriminator="type"),
            ]
        ]
        | None
    )
    "What the function returned, as text or as parts."
    tool_call_id: Annotated[str, Field(max_length=256, min_length=1)]
    "Which call this answers."


class MessagesFields(ContractModel):
    """A conversation in Anthropic's form."""

    model: Annotated[str | None, Field(max_length=512)] = None
    "Which model answers; with one model any name is served, and the reply says which."
    messages: Annotated[list[AnthropicMessage], Field(min_length=1)]
    "The conversation so far, oldest first."
    system: str | list[AnthropicBlock] | None = None
    "Instructions, as text or as blocks of text; Claude Code's billing block is left out."
    stream: Annotated[bool | None, Honoured(neutral={"enum": [False]})] = None
    "Send the answer as server-sent events while it is written."
    tools: Annotated[list[AnthropicTool] | None, Honoured(neutral={"maxItems": 0})] = None
    "Functions that the model may call."
    tool_choice: Annotated[MessagesFieldsToolChoice | None, Honoured(neutral={"maxProperties": 0})] = None
    "Whether and which function must be called."
    thinking: Annotated[MessagesFieldsThinking | None, Honoured(neutral={"maxProperties": 0})] = None
    "Reasoning before the answer."
    output_config: Annotated[MessagesFieldsOutputConfig | None, Honoured(neutral={"maxProperties": 0})] = None
    "How hard to try, and the answer's form."
    output_format: Annotated[dict[str, Any] | None, Guarded(neutral={"maxProperties": 0})] = None
    "The name that `output_config.format` had in a beta; send that."
    context_management: Annotated[
        dict[str, Any] | None,
        Guarded(neutral={"enum": [{}, {"edits": []}, {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]}]}),
    ] = None
    "Changes to the conversation by the server; only the one that changes nothing."
    mcp_servers: Annotated[list[Any] | None, Guarded(neutral={"maxItems": 0})] = None
    "Servers of tools; not done."
    container: Annotated[Any | None, Guarded()] = None
    "A place for code to run in; not done."
    chat_template_kwargs: Annotated[dict[str, Any] | None, Honoured(neutral={"maxProperties": 0})] = None
    "Variables for the chat template."
    betas: Annotated[Any | None, Inert()] = None
    "Names of trials at Anthropic."
    inference_geo: Annotated[Any | None, Inert()] = None
    "Where to compute."
    speed: Annotated[Any | None, Inert()] = None
    "A price class."


class MessagesRequest(SamplingFields, BudgetFields, EditorFields, BookkeepingFields, MessagesFields):
    """A conversation to go on with, in Anthropic's words."""


class ModerationRequest(ContractModel):
    """Texts, pictures, or a conversation, to be judged."""

    model: Annotated[str | None, Field(max_length=512)] = None
    "Which guard or classifier; OpenAI's own names mean the default ones. What it cannot read or look at, the first that can judges."
    input: Any | None = None
    "A text, a list of texts, each judged by itself, or a list of parts, texts and pictures, that are judged as one."
    messages: Annotated[
        list[
            Annotated[
                SystemMessage | UserMessage | AssistantMessage | ToolMessage | FunctionMessage,
                Field(discriminator="role"),
            ]
        ]
        | None,
        Field(min_length=1),
    ] = None
    "A conversation that is judged as a whole (halogen)."
    strict: Annotated[bool | None, Honoured(neutral={"enum": [False]})] = None
    "What the guard finds controversial is flagged too (halogen)."
    user: Annotated[str | None, Inert()] = None
    "Who asks; not used."


class TokenizeRequest(ContractModel):
    """A text or a conversation to be counted out in tokens, in llama-server's words (`content`, `add_special`) or vLLM's (`prompt` or `messages`, `add_special_tokens`)."""

    model: Annotated[str | None, Field(max_length=512)] = None
    "Whose tokens; with one model any name is served."
    content: str | list[Annotated[str, Field(min_length=1)] | Annotated[int, Field(ge=0, le=2147483647)]] | None = None
    "The text, or texts and token ids one after the other (llama-server)."
    prompt: str | None = None
    "The text (vLLM)."
    messages: Annotated[
        list[
            Annotated[
                SystemMessage | UserMessage | AssistantMessage | ToolMessage | FunctionMessage,
                Field(discriminator="role"),
            ]
        ]
        | None,
        Field(min_length=1),
    ] = None
    "A conversation, for the chat template (vLLM)."
    add_special: Annotated[bool | None, Honoured(neutral={"enum": [False]})] = None
    "Prepend the model's BOS (llama-server); absent means no."
    add_special_tokens: Annotated[bool | None, Honoured(neutral={"enum": [True]})] = None
    "Prepend the model's BOS (vLLM); absent means yes for `prompt`."
    parse_special: Annotated[bool | None, Honoured(neutral={"enum": [True]})] = None
    "Read control tokens in the text as tokens; absent means yes."
    with_pieces: Annotated[bool | None, Honoured(neutral={"enum": [False]})] = None
    "Give each token with its text (llama-server)."
    return_token_strs: Annotated[bool | None, Honoured(neutral={"enum": [False]})] = None
    "Give the tokens' texts beside the ids (vLLM)."
    add_generation_prompt: Annotated[bool | None, Honoured(neutral={"enum": [True]})] = None
    "Open a turn of the assistant after the last message; absent means true."
    chat_template_kwargs: Annotated[dict[str, Any] | None, Honoured(neutral={"maxProperties": 0})] = None
    "Variables for the chat template."
    continue_final_message: Annotated[bool | None, Guarded(neutral={"enum": [False]})] = None
    "Continue the last message; not done yet."
    tools: Annotated[list[dict[str, Any]] | None, Guarded(neutral={"maxItems": 0})] = None
    "Functions that the model may call; not done yet."
    chat_template: Annotated[str | None, Guarded()] = None
    "A template in the request; never done, since a template is code."


class ChatCompletionRequest(
    SamplingFields,
    BudgetFields,
    EditorFields,
    ReportingFields,
    ChatReportingFields,
    ThinkingFields,
    ToolFields,
    FormatFields,
    GuidedFields,
    BookkeepingFields,
):
    """A conversation to go on with."""

    model: Annotated[str | None, Field(max_length=512)] = None
    "Which model answers; with one model any name is served, and the reply says which."
    messages: Annotated[
        list[
            Annotated[
                SystemMessage | UserMessage | AssistantMessage | ToolMessage | FunctionMessage,
                Field(discriminator="role"),
            ]
        ],
        Field(min_length=1),
    ]
    "The conversation so far, oldest first."
    add_generation_prompt: Annotated[bool | None, Honoured(neutral={"enum": [True]})] = None
    "Open a turn of the assistant after the last message; absent means true."
    chat_template_kwargs: Annotated[dict[str, Any] | None, Honoured(neutral={"maxProperties": 0})] = None
    "Variables for the chat template."
    continue_final_message: Annotated[bool | None, Honoured(neutral={"enum": [False]})] = None
    "Continue the last message, which is the assistant's, instead of answering it."
    chat_template: Annotated[str | None, Guarded()] = None
    "A template in the request; never done, since a template is code."
    add_special_tokens: Annotated[bool | None, Guarded(neutral={"enum": [False]})] = None
    "vLLM's extra control tokens before the rendered prompt; not done."
    documents: Annotated[list[Any] | None, Guarded(neutral={"maxItems": 0})] = None
    "Texts for the template to quote; not done."
    mm_processor_kwargs: Annotated[dict[str, Any] | None, Guarded(neutral={"maxProperties": 0})] = None
    "vLLM's options of image and audio processing; not done."
    preserved_tokens: Annotated[list[Any] | None, Guarded(neutral={"maxItems": 0})] = None
    "Control tokens that stay visible in the answer; not done yet."
    suffix: Annotated[str | None, Guarded(neutral={"maxLength": 0})] = None
    "Text that comes after the answer; not done on chat."
    modalities: Annotated[list[str] | None, Guarded(neutral={"enum": [["text"]]})] = None
    "Forms of the answer; only text yet."
    audio: Annotated[dict[str, Any] | None, Guarded()] = None
    "Voice and format of a spoken answer; not done yet."
    image_config: Annotated[dict[str, Any] | None, Guarded(neutral={"maxProperties": 0})] = None
    "OpenRouter's options of drawn answers; not done."
    generation_prompt: Annotated[Any | None, Guarded()] = None
    "State of llama-server's own parser; not done."
    chat_format: Annotated[Any | None, Guarded()] = None
    "State of llama-server's own parser; not done."
    chat_parser: Annotated[Any | None, Guarded()] = None
    "State of llama-server's own parser; not done."
    message_delimiters: Annotated[Any | None, Guarded()] = None
    "State of llama-server's own parser; not done."
