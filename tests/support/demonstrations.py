"""For every honoured field two requests that differ in that field alone, and where the answers must differ.

The table is complete by test: a new honoured field without a line here fails.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.support.judge import chunks_of

Look = Callable[[httpx.Response], Any]
Body = dict[str, Any]

STORY = "Write a short story about a fox."
SONG = "la la la"
NAME = "Annabella-Maria"


def user(text: str = STORY, **message: Any) -> list[Body]:
    """A conversation of one message."""
    return [{"role": "user", "content": text, **message}]


# ---- where to look -------------------------------------------------------------------------------


def content(response: httpx.Response) -> Any:
    """The text of the first choice."""
    return _choice(response)["message"]["content"]


def finish(response: httpx.Response) -> Any:
    """Why the first choice ended."""
    return _choice(response)["finish_reason"]


def choices(response: httpx.Response) -> Any:
    """How many choices there are."""
    return len(response.json()["choices"])


def alternatives(response: httpx.Response) -> Any:
    """How many alternatives each token has; None without log probabilities."""
    logprobs = _choice(response)["logprobs"]
    return logprobs and [len(token["top_logprobs"]) for token in logprobs["content"]]


def entries(response: httpx.Response) -> Any:
    """What is told of the first token."""
    return sorted(_choice(response)["logprobs"]["content"][0])


def prompt_tokens(response: httpx.Response) -> Any:
    """How long the rendered prompt was."""
    return response.json()["usage"]["prompt_tokens"]


def model(response: httpx.Response) -> Any:
    """Which model answered."""
    return response.json()["model"]


def media_type(response: httpx.Response) -> Any:
    """The form of the answer."""
    return response.headers["content-type"]


def refused(response: httpx.Response) -> Any:
    """What was refused; None for an answer."""
    return response.json()["error"]["param"] if response.status_code == 400 else None


def kept_names(response: httpx.Response) -> Any:
    """The names under which the server keeps conversations now."""
    listed = httpx.get(response.request.url.join("/halogen/handles"), trust_env=False)
    return [entry["name"] for entry in listed.json()["data"]]


def shared_without_salt(response: httpx.Response) -> Any:
    """Whether a prompt that is new, sent as this one was, saves work for a request without a salt."""
    body = json.loads(response.request.content)
    body["messages"] = [{"role": "user", "content": f"{secrets.token_hex(8)} " + "word " * 60}]
    url = response.request.url
    httpx.post(url, json=body, trust_env=False).raise_for_status()
    again = httpx.post(url, json={**body, "cache_salt": None}, trust_env=False)
    return again.json()["usage"]["prompt_tokens_details"]["cached_tokens"] > 60


def chunks_with(name: str) -> Look:
    """How many chunks of the stream carry `name` with a value."""

    def look(response: httpx.Response) -> Any:
        return sum(chunk.get(name) is not None for chunk in chunks_of(response.text))

    return look


def thoughts(response: httpx.Response) -> Any:
    """The reasoning of the first choice, if it is told apart."""
    return _choice(response)["message"].get("reasoning_content")


def thought_tokens(response: httpx.Response) -> Any:
    """How many tokens the reasoning had."""
    _choice(response)
    return response.json()["usage"]["completion_tokens_details"]["reasoning_tokens"]


def called(response: httpx.Response) -> Any:
    """The functions that are called, and with what."""
    message = _choice(response)["message"]
    calls = [call["function"] for call in message.get("tool_calls", ())]
    return calls or message.get("function_call")


def told(response: httpx.Response) -> Any:
    """What an answer has besides the usual."""
    return sorted(response.json())


def _choice(response: httpx.Response) -> Any:
    assert response.status_code == 200, response.text
    return response.json()["choices"][0]


# ---- the table -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Shown:
    """Two requests, `same` with `one` and with `other`; what `look` sees of their answers differs."""

    one: Mapping[str, Any]
    other: Mapping[str, Any]
    same: Mapping[str, Any] = field(default_factory=dict)
    look: Look = content
    on: str = "usual"  # which server: usual, two_models, names, thinking or adapters


def value(name: str, one: Any, other: Any, look: Look = content, on: str = "usual", **same: Any) -> Shown:
    """The field `name` has the value `one`, and then `other`."""
    return Shown({name: one}, {name: other}, same, look, on)


def turn(one: Any, other: Any, look: Look = content, on: str = "usual") -> Shown:
    """The conversation before the story is asked for is `one`, and then `other`."""
    return Shown({"messages": [one, *user()]}, {"messages": [other, *user()]}, {"temperature": 0}, look, on)


def parts(role: str, one: Body, other: Body, look: Look = content) -> Shown:
    """A message of `role` has the one part `one`, and then `other`."""
    return turn({"role": role, "content": [one]}, {"role": role, "content": [other]}, look)


def said(role: str, text: str = "You are a pirate.", **more: Any) -> Body:
    """A message of `role`."""
    return {"role": role, "content": text, **more}


def text(words: str) -> Body:
    """A part of text."""
    return {"type": "text", "text": words}


def tool(name: str = "add", **function: Any) -> Body:
    """A tool whose calls are short."""
    return {"type": "function", "function": function_of(name, **function)}


def function_of(name: str = "add", **more: Any) -> Body:
    """A function whose calls are short."""
    return {"name": name, "parameters": choosing("a"), **more}


def choosing(*words: str) -> Body:
    """A schema of objects with one of the words in them."""
    schema: Body = {"type": "object", "properties": {"word": {"enum": list(words)}}, "required": ["word"]}
    return schema | {"additionalProperties": False}


def choice(name: str) -> Body:
    """The choice of this function."""
    return {"type": "function", "function": {"name": name}}


def one_of(*words: str) -> str:
    """A GBNF grammar of one of the words."""
    return "root ::= " + " | ".join(json.dumps(word) for word in words)


def starting(word: str) -> Body:
    """What starts a grammar that waits."""
    return {"type": "word", "value": word}


def asked_for(schema: Any) -> Body:
    """A response format of this schema."""
    return {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}


def short_form(number: int) -> Body:
    """A response format of one number, in llama-server's shorter form."""
    return {"type": "json_schema", "schema": {"const": number}}


def calling(*calls: Any, **more: Any) -> list[Body]:
    """A conversation in which the assistant calls `add`, and gets this result."""
    call = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": "{}"}}
    assistant = {"role": "assistant", "content": "", "tool_calls": [call]} | more
    return [*user("Add."), assistant, *calls]


def result(content: Any = "4", call_id: str = "c1", **more: Any) -> Body:
    """The result of a call."""
    return {"role": "tool", "tool_call_id": call_id, "content": content, **more}


def conversation(one: list[Body], other: list[Body], look: Look = prompt_tokens) -> Shown:
    """The messages are `one`, and then `other`."""
    return Shown({"messages": one}, {"messages": other}, {"max_tokens": 1}, look)


def older(name: str = "add", arguments: Any = "{}") -> list[Body]:
    """A call and its result in the older form."""
    call = {"role": "assistant", "content": "", "function_call": {"name": name, "arguments": arguments}}
    return [*user("Add."), call, {"role": "function", "name": name, "content": "4"}]


WAITING: Body = {"temperature": 0, "grammar": one_of("a", "e"), "grammar_lazy": True}
NO_CUT: Body = {"temperature": 1, "top_k": 0, "top_p": 1, "min_p": 0}
GREEDY: Body = {"temperature": 0}
SINGING = [*user(SONG), {"role": "assistant", "content": SONG * 4}, *user(SONG)]
REPEATING: Body = GREEDY | {"messages": SINGING}
DRY: Body = REPEATING | {"dry_multiplier": 3, "dry_allowed_length": 1, "dry_penalty_last_n": 64}
MIROSTAT: Body = {"temperature": 1, "mirostat": 2}

CALL: Body = {"temperature": 0, "max_tokens": 40}
FORCED: Body = CALL | {"tool_choice": "required", "parallel_tool_calls": False}
NAMED: Body = {"name": "add"}
BOTH = [tool(), tool("sub")]
OLDER_BOTH = [function_of(), function_of("sub")]
ODD: Body = {"type": "object", "not": {"required": ["a"]}}  # a keyword that no grammar holds
THOUGHT = [*user("Hi"), {"role": "assistant", "content": "Hello", "reasoning_content": "Greet back."}, *user("Bye")]
FRENCH = "Answer in French."
UNWILLING: Body = {"type": "refusal", "refusal": "I would rather not."}

HONOURED: Mapping[str, Shown] = {
    # how the next token is drawn
    "temperature": value("temperature", 0, 1.5),
    "dynatemp_range": value("dynatemp_range", 0, 2, **NO_CUT),
    "dynatemp_exponent": value("dynatemp_exponent", 1, 8, dynatemp_range=1, **NO_CUT),
    "top_k": value("top_k", 1, 0, **NO_CUT | {"top_k": None}),
    "top_p": value("top_p", 0.01, 1, **NO_CUT),
    "min_p": value("min_p", 1, 0, **NO_CUT),
    "top_n_sigma": value("top_n_sigma", 0.1, -1, **NO_CUT),
    "typical_p": value("typical_p", 0.01, 1, **NO_CUT),
    "xtc_probability": value("xtc_probability", 0, 1, xtc_threshold=0.05, **NO_CUT),
    "xtc_threshold": value("xtc_threshold", 0.9, 0.05, xtc_probability=1, **NO_CUT),
    "repeat_last_n": value("repeat_last_n", 0, -1, repeat_penalty=1.8, **REPEATING),
    "repeat_penalty": value("repeat_penalty", 1, 1.8, **REPEATING),
    "presence_penalty": value("presence_penalty", 0, 2, **REPEATING),
    "frequency_penalty": value("frequency_penalty", 0, 2, **REPEATING),
    "dry_multiplier": value("dry_multiplier", 0, 3, **DRY),
    "dry_base": value("dry_base", 1, 20, **DRY | {"dry_multiplier": 0.1}),
    "dry_allowed_length": value("dry_allowed_length", 1, 100, **DRY),
    "dry_penalty_last_n": value("dry_penalty_last_n", 0, -1, **DRY),
    "dry_sequence_breakers": value("dry_sequence_breakers", ["\n"], [" la"], **DRY),
    "mirostat": value("mirostat", 0, 2, **NO_CUT),
    "mirostat_tau": value("mirostat_tau", 0.1, 20, **MIROSTAT),
    "mirostat_eta": value("mirostat_eta", 0.01, 5, **MIROSTAT),
    "min_keep": value("min_keep", 0, 50, **NO_CUT | {"top_p": 0.01}),
    "samplers": value("samplers", ["temperature"], "kt", **NO_CUT | {"top_k": 1}),
    "logit_bias": value("logit_bias", {}, {"As": False}, **GREEDY),
    "ignore_eos": value("ignore_eos", False, True, finish, messages=user("Say only: Yes"), max_tokens=60, **GREEDY),
    "seed": value("seed", 1, 2),
    # how many answers, and when they end
    "n": value("n", 1, 3, choices, max_tokens=2),
    "stop": value("stop", [], [" fox", ","], **GREEDY),
    # what is told, and how
    "stream": value("stream", False, True, media_type, max_tokens=2),
    "stream_options": value("stream_options", {}, {"include_usage": True}, chunks_with("usage"), stream=True),
    "stream_options.include_usage": value(
        "stream_options", {"include_usage": False}, {"include_usage": True}, chunks_with("usage"), stream=True
    ),
    "logprobs": value("logprobs", False, True, alternatives),
    "top_logprobs": value("top_logprobs", 0, 3, alternatives, logprobs=True),
    "n_probs": value("n_probs", 0, 2, alternatives),
    "post_sampling_probs": value("post_sampling_probs", False, True, entries, n_probs=1, **GREEDY),
    "timings_per_token": value("timings_per_token", False, True, chunks_with("timings"), stream=True),
    "return_progress": value("return_progress", False, True, chunks_with("prompt_progress"), stream=True),
    "lora": value("lora", [], [{"id": 0, "scale": 1}], on="adapters", **GREEDY),
    "lora[].id": value("lora", [{"id": 0, "scale": 1}], [{"id": 1, "scale": 1}], on="adapters", **GREEDY),
    "lora[].scale": value("lora", [{"id": 0, "scale": 0}], [{"id": 0, "scale": 1}], on="adapters", **GREEDY),
    "control_vector": value("control_vector", False, True, on="adapters", **GREEDY),
    "handle": value("handle", None, "desk", kept_names, max_tokens=1),
    "cache_salt": value("cache_salt", None, "mine", shared_without_salt, max_tokens=1),
    # which model, and what it reads
    "model": value("model", "org/tiny:latest", "second", model, "two_models", max_tokens=1),
    "messages": value("messages", user(), user("Count to ten."), **GREEDY),
    "messages[system|developer].name": turn(said("system"), said("system", name=NAME), prompt_tokens, "names"),
    "messages[system|developer].role": turn(said("system"), said("user"), prompt_tokens),
    "messages[system|developer].content": turn(said("system"), said("developer", "Answer in French.")),
    "messages[system|developer].content[].type": parts("system", text("a"), text("a") | {"type": "x"}, refused),
    "messages[system|developer].content[].text": parts("system", text("You are a pirate."), text("Answer in French.")),
    "messages[user].name": turn(said("user"), said("user", name=NAME), prompt_tokens, "names"),
    "messages[user].role": turn(said("user", FRENCH), said("assistant", FRENCH)),
    "messages[user].content": turn(said("user", "I am a pirate."), said("user", "Answer in French.")),
    "messages[user].content[text].type": parts("user", text("a"), text("a") | {"type": "x"}, refused),
    "messages[user].content[text].text": parts("user", text("I am a pirate."), text("Answer in French.")),
    "messages[assistant].name": turn(said("assistant"), said("assistant", name=NAME), prompt_tokens, "names"),
    "messages[assistant].role": turn(said("assistant", FRENCH), said("user", FRENCH)),
    "messages[assistant].content": turn(said("assistant", "Ahoy, I am a pirate!"), said("assistant", "Bonjour!")),
    "messages[assistant].content[text].type": parts("assistant", text("a"), text("a") | {"type": "x"}, refused),
    "messages[assistant].content[text].text": parts("assistant", text("Ahoy!"), text("Bonjour, monsieur!")),
    "add_generation_prompt": value("add_generation_prompt", True, False, prompt_tokens, max_tokens=1),
    "continue_final_message": value(
        "continue_final_message", False, True, prompt_tokens, messages=[*user(), said("assistant", "Once")]
    ),
    "verbose": value("verbose", False, True, told, max_tokens=1),
    # functions
    "tools": value("tools", [tool()], [tool("sub")], called, **FORCED),
    "tools[].function": value("tools", [tool()], [tool("sub")], called, **FORCED),
    "tools[].function.name": value("tools", [tool()], [tool("sub")], called, **FORCED),
    "tools[].function.description": value(
        "tools", [tool()], [tool(description="Adds two numbers.")], prompt_tokens, max_tokens=1
    ),
    "tools[].function.parameters": value("tools", [tool()], [tool(parameters=choosing("b"))], called, **FORCED),
    "tools[].function.strict": value(
        "tools", [tool(parameters=ODD)], [tool(parameters=ODD, strict=True)], refused, max_tokens=1
    ),
    "tool_choice": value("tool_choice", "none", "required", called, tools=[tool()], **CALL),
    "tool_choice.function": value("tool_choice", choice("add"), choice("sub"), called, tools=BOTH, **CALL),
    "tool_choice.function.name": value("tool_choice", choice("add"), choice("sub"), called, tools=BOTH, **CALL),
    "function_call.name": value("function_call", NAMED, {"name": "sub"}, called, functions=OLDER_BOTH, **CALL),
    "functions": value("functions", [], [function_of()], prompt_tokens, max_tokens=1),
    "functions[].name": value("functions", [function_of()], [function_of("subtract")], prompt_tokens, max_tokens=1),
    "functions[].description": value(
        "functions", [function_of()], [function_of(description="Adds two numbers.")], prompt_tokens, max_tokens=1
    ),
    "functions[].parameters": value(
        "functions", [function_of()], [function_of(parameters=choosing("b"))], called, function_call=NAMED, **CALL
    ),
    "functions[].strict": value(
        "functions", [function_of(parameters=ODD)], [function_of(parameters=ODD, strict=True)], refused, max_tokens=1
    ),
    "function_call": value("function_call", "none", NAMED, called, functions=[function_of()], **CALL),
    "parallel_tool_calls": value("parallel_tool_calls", True, False, prompt_tokens, tools=[tool()], max_tokens=1),
    "parse_tool_calls": value("parse_tool_calls", True, False, refused, tools=[tool()], tool_choice="required", **CALL),
    "messages[assistant].tool_calls": conversation(calling(result()), calling(result(), tool_calls=None)),
    "messages[assistant].tool_calls[].id": conversation(calling(result()), calling(result(call_id="other"))),
    "messages[assistant].tool_calls[].function": conversation(
        calling(result()),
        calling(result(), tool_calls=[{"id": "c1", "function": {"name": "add", "arguments": {"first": 1}}}]),
    ),
    "messages[assistant].tool_calls[].function.name": conversation(
        calling(result()), calling(result(), tool_calls=[{"id": "c1", "function": {"name": NAME, "arguments": "{}"}}])
    ),
    "messages[assistant].tool_calls[].function.arguments": conversation(
        calling(result()),
        calling(result(), tool_calls=[{"id": "c1", "function": {"name": "add", "arguments": '{"first": 1}'}}]),
    ),
    "messages[assistant].function_call": conversation(older(), [*user("Add."), said("assistant", "")]),
    "messages[assistant].function_call.name": conversation(older(), older("subtract_two_numbers")),
    "messages[assistant].function_call.arguments": conversation(older(), older(arguments={"first": 1})),
    "messages[tool].role": conversation([*user("Add."), said("user", "4")], calling(result())),
    "messages[tool].content": conversation(calling(result()), calling(result("four hundred and four"))),
    "messages[tool].content[text].type": conversation(
        calling(result([text("4")])), calling(result([text("4") | {"type": "x"}])), refused
    ),
    "messages[tool].content[text].text": conversation(
        calling(result([text("4")])), calling(result([text("four hundred and four")]))
    ),
    "messages[tool].name": conversation(calling(result()), calling(result(name=NAME))),
    "messages[tool].tool_call_id": conversation(calling(result()), calling(result(call_id="other"))),
    "messages[function].role": conversation(older(), older()[:2]),
    "messages[function].name": conversation(older(), [*older()[:2], older()[2] | {"name": "other"}], refused),
    "messages[function].content": conversation(older(), [*older()[:2], older()[2] | {"content": "404 or so"}]),
    # the answer's form
    "response_format": value("response_format", {"type": "text"}, {"type": "json_object"}),
    "response_format.type": value("response_format", {"type": "text"}, {"type": "json_object"}),
    "response_format.json_schema": value("response_format", asked_for({"const": 1}), asked_for({"const": 2})),
    "response_format.json_schema.schema": value("response_format", asked_for({"const": 1}), asked_for({"const": 2})),
    "response_format.schema": value("response_format", short_form(1), short_form(2)),
    "json_schema": value("json_schema", {"const": 1}, {"const": 2}),
    "grammar": value("grammar", one_of("a"), one_of("b")),
    "grammar_lazy": value("grammar_lazy", False, True, grammar=one_of("a"), grammar_triggers=[starting("a")]),
    "grammar_triggers": value("grammar_triggers", [starting("a")], [starting("e")], **WAITING),
    "grammar_triggers[].type": value(
        "grammar_triggers", [starting("a")], [{"type": "pattern", "value": "a"}], refused, **WAITING
    ),
    "grammar_triggers[].value": value("grammar_triggers", [starting("a")], [starting("e")], **WAITING),
    "grammar_triggers[].token": value(
        "grammar_triggers",
        [{"type": "token", "token": 40}],
        [{"type": "token", "token": 2_000_000_000}],
        refused,
        grammar="root ::= .*",
        grammar_lazy=True,
    ),
    "guided_json": value("guided_json", '{"const": 1}', {"const": 2}),
    "guided_regex": value("guided_regex", "[0-9]{3}", "[a-c]{3}"),
    "guided_choice": value("guided_choice", ["yes"], ["no"]),
    "guided_grammar": value("guided_grammar", one_of("a"), one_of("b")),
    "structured_outputs": value("structured_outputs", {}, {"choice": ["yes"]}),
    "structured_outputs.json": value("structured_outputs", {"json": {"const": 1}}, {"json": {"const": 2}}),
    "structured_outputs.json_object": value("structured_outputs", {}, {"json_object": True}),
    "structured_outputs.regex": value("structured_outputs", {"regex": "[0-9]{3}"}, {"regex": "[a-c]{3}"}),
    "structured_outputs.choice": value("structured_outputs", {"choice": ["yes"]}, {"choice": ["no"]}),
    "structured_outputs.grammar": value("structured_outputs", {"grammar": one_of("a")}, {"grammar": one_of("b")}),
    # reasoning
    "enable_thinking": value("enable_thinking", False, True, thoughts, "thinking"),
    "reasoning_effort": value("reasoning_effort", "low", "very high indeed", prompt_tokens, "thinking"),
    "thinking_token_budget": value("thinking_token_budget", 3, 6, thought_tokens, "thinking"),
    "include_reasoning": value("include_reasoning", True, False, thoughts, "thinking"),
    "reasoning_format": value("reasoning_format", "auto", "none", thoughts, "thinking"),
    "preserve_thinking": value("preserve_thinking", True, False, prompt_tokens, "thinking", messages=THOUGHT),
    "reasoning": value("reasoning", {"enabled": False}, {"enabled": True}, thoughts, "thinking"),
    "reasoning.enabled": value("reasoning", {"enabled": False}, {"enabled": True}, thoughts, "thinking"),
    "reasoning.effort": value("reasoning", {"effort": "none"}, {"effort": "low"}, thoughts, "thinking"),
    "reasoning.max_tokens": value("reasoning", {"max_tokens": 3}, {"max_tokens": 6}, thought_tokens, "thinking"),
    "reasoning.exclude": value("reasoning", {"exclude": False}, {"exclude": True}, thoughts, "thinking"),
    "thinking": value("thinking", {"type": "disabled"}, {"type": "enabled"}, thoughts, "thinking"),
    "thinking.type": value("thinking", {"type": "disabled"}, {"type": "enabled"}, thoughts, "thinking"),
    "thinking.budget_tokens": value("thinking", {"budget_tokens": 3}, {"budget_tokens": 6}, thought_tokens, "thinking"),
    "messages[assistant].refusal": turn(said("assistant", ""), said("assistant", "", refusal="Arr, no!")),
    "messages[assistant].content[refusal].type": parts("assistant", UNWILLING, UNWILLING | {"type": "x"}, refused),
    "messages[assistant].content[refusal].refusal": parts("assistant", UNWILLING, UNWILLING | {"refusal": "Arr, no!"}),
    "messages[assistant].reasoning_content": turn(
        said("assistant"), said("assistant", reasoning_content="I am a pirate."), prompt_tokens, "thinking"
    ),
    "chat_template_kwargs": value("chat_template_kwargs", {}, {"mood": "glad"}, prompt_tokens, "names", max_tokens=1),
}

# Shown by tests of their own: they need requests that wait for one another, several models, or one that sees.
SHOWN_ELSEWHERE = frozenset({"priority", "omni", "response_format.json_schema.description"}) | {
    f"messages[{role}].content[{part}].{name}"
    for role in ("user", "tool")
    for part, names in {
        "image_url": ("type", "image_url", "image_url.url"),
        "input_image": ("type", "image_url", "image_url.url"),
        "input_audio": ("type", "input_audio", "input_audio.data"),
    }.items()
    for name in names
}

TEMPLATE = (
    "{%- for message in messages %}{{ message.role }} {{ message.name }} {{ mood }}: {{ message.content }}\n"
    "{% endfor %}assistant:"
)


def request(shown: Shown, differing: Mapping[str, Any]) -> Body:
    """The body of one of the two requests."""
    body: Body = {"messages": user(), "max_tokens": 12, "seed": 1, **shown.same, **differing}
    return body
