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
    on: str = "usual"  # which server: usual, two_models or names


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


NO_CUT: Body = {"temperature": 1, "top_k": 0, "top_p": 1, "min_p": 0}
GREEDY: Body = {"temperature": 0}
SINGING = [*user(SONG), {"role": "assistant", "content": SONG * 4}, *user(SONG)]
REPEATING: Body = GREEDY | {"messages": SINGING}
DRY: Body = REPEATING | {"dry_multiplier": 3, "dry_allowed_length": 1, "dry_penalty_last_n": 64}
MIROSTAT: Body = {"temperature": 1, "mirostat": 2}

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
    "timings_per_token": value("timings_per_token", False, True, chunks_with("timings"), stream=True),
    "return_progress": value("return_progress", False, True, chunks_with("prompt_progress"), stream=True),
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
    "messages[user].role": turn(said("user"), said("assistant")),
    "messages[user].content": turn(said("user", "I am a pirate."), said("user", "Answer in French.")),
    "messages[user].content[text].type": parts("user", text("a"), text("a") | {"type": "x"}, refused),
    "messages[user].content[text].text": parts("user", text("I am a pirate."), text("Answer in French.")),
    "messages[assistant].name": turn(said("assistant"), said("assistant", name=NAME), prompt_tokens, "names"),
    "messages[assistant].role": turn(said("assistant"), said("user")),
    "messages[assistant].content": turn(said("assistant", "Ahoy, I am a pirate!"), said("assistant", "Bonjour!")),
    "messages[assistant].content[text].type": parts("assistant", text("a"), text("a") | {"type": "x"}, refused),
    "messages[assistant].content[text].text": parts("assistant", text("Ahoy!"), text("Bonjour, monsieur!")),
    "add_generation_prompt": value("add_generation_prompt", True, False, prompt_tokens, max_tokens=1),
    "chat_template_kwargs": value("chat_template_kwargs", {}, {"mood": "glad"}, prompt_tokens, "names", max_tokens=1),
}

# Shown by a test of its own: it needs requests that wait for one another.
SHOWN_ELSEWHERE = frozenset({"priority"})

TEMPLATE = (
    "{%- for message in messages %}{{ message.role }} {{ message.name }} {{ mood }}: {{ message.content }}\n"
    "{% endfor %}assistant:"
)


def request(shown: Shown, differing: Mapping[str, Any]) -> Body:
    """The body of one of the two requests."""
    body: Body = {"messages": user(), "max_tokens": 12, "seed": 1, **shown.same, **differing}
    return body
