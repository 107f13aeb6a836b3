"""What each kind of server honours: the promise of this one, kept through another.

A field is here when that server does it, or when Troth does it by itself before or after (`OWN`). Whatever is not here
is guarded for requests to such a server: none of these refuses a field that it does not know, so one that is passed on
in good faith would be dropped in silence. Sources: llama.cpp's server as of b11549, vLLM 0.33, SGLang's and Ollama's
OpenAI routes, and OpenAI's API document.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from troth.engines.upstream.options import ServerKind

# Done here, whatever the other server can: what was said is brought into OpenAI's words, each choice is a request of
# its own with its own seed, streams and whole answers are written from the same events.
OWN = frozenset(
    {
        "messages", "system", "input", "instructions", "model", "n", "stream", "stream_options", "max_tokens",
        "include_reasoning", "functions", "function_call", "text", "output_config", "reasoning", "thinking",
        "response_fields",
    }
)  # fmt: skip
OPENAI = frozenset(
    {"temperature", "top_p", "presence_penalty", "frequency_penalty", "stop", "tools", "response_format"}
)
FORMS = frozenset({"json_schema", "guided_json", "structured_outputs"})
LOGPROBS = frozenset({"logprobs", "top_logprobs", "n_probs"})
RAW = frozenset({"prompt", "echo"})  # texts that are continued as they stand; the echo is ours
LLAMA_SAMPLING = frozenset(
    {
        "temperature", "dynatemp_range", "dynatemp_exponent", "top_k", "top_p", "min_p", "top_n_sigma", "typical_p",
        "xtc_probability", "xtc_threshold", "repeat_last_n", "repeat_penalty", "presence_penalty",
        "frequency_penalty", "dry_multiplier", "dry_base", "dry_allowed_length", "dry_penalty_last_n",
        "dry_sequence_breakers", "mirostat", "mirostat_tau", "mirostat_eta", "min_keep", "samplers",
    }
)  # fmt: skip
VLLM_SAMPLING = frozenset(
    {"temperature", "top_k", "top_p", "min_p", "repeat_penalty", "presence_penalty", "frequency_penalty"}
)
OPENAI_SAMPLING = frozenset({"temperature", "top_p", "presence_penalty", "frequency_penalty"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of server."""

    name: ServerKind
    does: frozenset[str]  # request fields that are done over there
    sampling: frozenset[str]  # values of `Sampling` that it takes
    renamed: Mapping[str, str] = field(default_factory=dict)  # what it calls a value of `Sampling`
    forms: frozenset[str] = frozenset()  # kinds of `Form` that it holds
    health: str = "/v1/models"  # a route that answers 200 when it is well
    raw: bool = True  # it continues texts as they stand
    ids: bool = False  # and token ids
    bias_texts: bool = False  # logit_bias of texts, and bans
    tokenizes: bool = False
    switches_thinking: bool = False  # enable_thinking, through the chat template's variables
    efforts: bool = False  # reasoning_effort
    budgets: str | None = None  # its name of a budget of reasoning
    keeps_thoughts: bool = False  # it reads the reasoning of earlier turns
    names_choice: bool = True  # tool_choice may name a function
    timings: bool = False  # it tells llama-server's timings

    @property
    def honours(self) -> frozenset[str]:
        """All fields that a request may set."""
        return OWN | self.does


LLAMA_SERVER = Kind(
    name="llama_server",
    does=OPENAI | LLAMA_SAMPLING | FORMS | LOGPROBS | RAW | {
        "seed", "logit_bias", "ignore_eos", "post_sampling_probs", "timings_per_token", "return_progress",
        "tool_choice", "parallel_tool_calls", "parse_tool_calls", "grammar", "guided_grammar", "guided_choice",
        "enable_thinking", "reasoning_effort", "thinking_token_budget", "preserve_thinking", "reasoning_format",
        "add_generation_prompt", "continue_final_message", "chat_template_kwargs", "preserved_tokens", "n_indent",
        "t_max_predict_ms", "content", "tokens",
    },
    sampling=LLAMA_SAMPLING,
    forms=frozenset({"json_object", "json_schema", "grammar", "choice"}),
    health="/health",
    ids=True,
    bias_texts=True,
    tokenizes=True,
    switches_thinking=True,
    efforts=True,
    budgets="thinking_budget_tokens",
    keeps_thoughts=True,
    names_choice=False,
    timings=True,
)  # fmt: skip

VLLM = Kind(
    name="vllm",
    does=OPENAI | VLLM_SAMPLING | FORMS | LOGPROBS | RAW | {
        "seed", "logit_bias", "ignore_eos", "tool_choice", "parallel_tool_calls", "guided_regex", "guided_choice",
        "enable_thinking", "reasoning_effort", "thinking_token_budget", "add_generation_prompt",
        "continue_final_message", "chat_template_kwargs", "cache_salt", "priority", "content", "tokens",
    },
    sampling=VLLM_SAMPLING,
    renamed={"repeat_penalty": "repetition_penalty"},
    forms=frozenset({"json_object", "json_schema", "regex", "choice"}),
    health="/health",
    ids=True,
    tokenizes=True,
    switches_thinking=True,
    efforts=True,
    budgets="thinking_token_budget",
    keeps_thoughts=True,
)  # fmt: skip

SGLANG = Kind(
    name="sglang",
    does=OPENAI | VLLM_SAMPLING | FORMS | LOGPROBS | RAW | {
        "logit_bias", "ignore_eos", "tool_choice", "guided_regex", "enable_thinking", "reasoning_effort",
        "reasoning_format", "continue_final_message", "chat_template_kwargs",
    },
    sampling=VLLM_SAMPLING,
    renamed={"repeat_penalty": "repetition_penalty"},
    forms=frozenset({"json_object", "json_schema", "regex"}),
    health="/health",
    ids=True,
    switches_thinking=True,
    efforts=True,
    keeps_thoughts=True,
)  # fmt: skip

OPENAI_API = Kind(
    name="openai",
    does=OPENAI | FORMS | LOGPROBS | RAW
    | {"seed", "logit_bias", "tool_choice", "parallel_tool_calls", "reasoning_effort"},
    sampling=OPENAI_SAMPLING,
    forms=frozenset({"json_object", "json_schema"}),
    efforts=True,
)  # fmt: skip

OLLAMA = Kind(  # its completions put a text into the chat template, so nothing is continued as it stands
    name="ollama",
    does=OPENAI | FORMS | {"seed", "reasoning_effort"},
    sampling=OPENAI_SAMPLING,
    forms=frozenset({"json_object", "json_schema"}),
    raw=False,
    efforts=True,
)

KINDS: Mapping[ServerKind, Kind] = {kind.name: kind for kind in (LLAMA_SERVER, VLLM, SGLANG, OPENAI_API, OLLAMA)}
