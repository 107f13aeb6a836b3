"""Models that say what they are told to, behind every API, and what their answers say in no API's words."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from tests.support.chat import user
from tests.support.judge import chunks_of
from tests.support.live import config, scripted
from tests.support.thinking_model import make_thinking_model

Body = dict[str, Any]
Line = str | list[Any]  # a text, or texts and what happens between them

STRICT = """\
{%- for message in messages %}
{%- if (message.role == 'user') != (loop.index0 % 2 == 0) %}
{{- raise_exception('Roles must alternate: user, assistant, user.') }}
{%- endif %}<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endfor %}<|im_start|>assistant
"""
LOOK: Body = {
    "name": "look",
    "description": "Looks.",
    "parameters": {"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"]},
}


class Stage:
    """Models that say what they are told to: `plain`, `thinker`, which reasons, and `strict`, whose roles alternate."""

    def __init__(self, folder: Path, embedded_model: Path) -> None:
        self._folder = folder
        template = folder / "strict.jinja"
        template.write_text(STRICT, "utf-8")
        more: dict[str, Body] = {
            "plain": {},
            "thinker": make_thinking_model(embedded_model, folder),
            "strict": {"chat_template": str(template)},
        }
        for name in more:
            self.tell(name)
        self.settings = config([scripted(self._file(name)) | {"id": name, **each} for name, each in more.items()])

    def tell(self, model: str, *lines: Line) -> None:
        """The model's next answers are these."""
        fresh = self._folder / "fresh"
        fresh.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
        fresh.replace(self._file(model))
        self._file(model).with_suffix(".prompts").unlink(missing_ok=True)

    def prompts(self, model: str) -> list[str]:
        """What the model was told, for each answer since then that began."""
        record = self._file(model).with_suffix(".prompts").read_text("utf-8")
        return [json.loads(line) for line in record.splitlines()]

    def _file(self, model: str) -> Path:
        return self._folder / f"{model}.jsonl"


# ---- the APIs -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Told:
    """What an answer says, in no API's words."""

    thoughts: str = ""
    text: str = ""
    calls: tuple[tuple[str, str], ...] = ()  # name and arguments
    end: str = ""
    ids: tuple[str, ...] = ()  # of the calls


@dataclass(frozen=True, slots=True)
class Api:
    """One API: how it asks, and how its answers are read."""

    path: str
    ask: Callable[[Sequence[Body]], Body]  # about messages of users and assistants with text
    tools: Body
    one_call: Body  # at most
    whole: Callable[[Body], Told]
    streamed: Callable[[list[Body]], Told]
    again: Callable[[Body], list[Any]]  # an answer as the history of the next request
    calls_end: str


def chat_whole(answer: Body) -> Told:
    """A chat completion."""
    (choice,) = answer["choices"]
    message = choice["message"]
    calls = message.get("tool_calls", [])
    return Told(
        message.get("reasoning_content", ""),
        message["content"] or "",
        tuple((call["function"]["name"], call["function"]["arguments"]) for call in calls),
        choice["finish_reason"],
        tuple(call["id"] for call in calls),
    )


def chat_streamed(chunks: list[Body]) -> Told:
    """The chunks of a chat completion. The first piece of a call names it, and later ones have arguments alone."""
    message: Body = {"content": "", "reasoning_content": "", "tool_calls": []}
    end = ""
    for choice in (choice for chunk in chunks for choice in chunk["choices"]):
        delta, end = choice["delta"], choice["finish_reason"] or end
        for name in ("content", "reasoning_content"):
            message[name] += delta.get(name) or ""
        for piece in delta.get("tool_calls", []):
            if piece["index"] == len(message["tool_calls"]):
                assert piece["type"] == "function"
                assert piece["function"]["arguments"] == ""
                message["tool_calls"].append({"id": piece["id"], "function": dict(piece["function"])})
            else:
                assert set(piece) == {"index", "function"}
                assert set(piece["function"]) == {"arguments"}
                assert piece["function"]["arguments"], "a piece says something"
                message["tool_calls"][piece["index"]]["function"]["arguments"] += piece["function"]["arguments"]
    return chat_whole({"choices": [{"message": message, "finish_reason": end}]})


def responses_whole(answer: Body) -> Told:
    """An answer of the Responses API."""
    by_kind: dict[str, list[Body]] = {"reasoning": [], "message": [], "function_call": []}
    for item in answer["output"]:
        by_kind[item["type"]].append(item)
    calls = by_kind["function_call"]
    return Told(
        "".join(part["text"] for item in by_kind["reasoning"] for part in item["content"]),
        "".join(part["text"] for item in by_kind["message"] for part in item["content"]),
        tuple((call["name"], call["arguments"]) for call in calls),
        answer["status"],
        tuple(call["call_id"] for call in calls),
    )


def responses_streamed(events: list[Body]) -> Told:
    """The events of such an answer: numbered without a gap, each delta in its place and not empty."""
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    output: list[Body] = []
    for event in events:
        kind = event["type"].removeprefix("response.")
        if kind == "output_item.added":
            assert event["output_index"] == len(output)
            output.append(dict(event["item"]) | {"arguments": "", "content": [{"text": ""}]})
        elif kind.endswith(".delta"):
            assert event["delta"], "a delta says something"
            item = output[event["output_index"]]
            assert event["item_id"] == item["id"]
            if kind == "function_call_arguments.delta":
                item["arguments"] += event["delta"]
            else:
                item["content"][event["content_index"]]["text"] += event["delta"]
        elif kind == "output_item.done":
            assert event["item"]["id"] == output[event["output_index"]]["id"]
    return responses_whole({"output": output, "status": events[-1]["response"]["status"]})


def messages_whole(answer: Body) -> Told:
    """A message of the Messages API."""
    blocks = answer["content"]
    calls = [block for block in blocks if block["type"] == "tool_use"]
    return Told(
        "".join(block["thinking"] for block in blocks if block["type"] == "thinking"),
        "".join(block["text"] for block in blocks if block["type"] == "text"),
        tuple((call["name"], call.get("partial_input") or json.dumps(call["input"])) for call in calls),
        answer["stop_reason"],
        tuple(call["id"] for call in calls),
    )


def messages_streamed(events: list[Body]) -> Told:
    """The events of such a message. Blocks of reasoning are signed."""
    content: list[Body] = []
    end = ""
    for event in events:
        match event["type"]:
            case "content_block_start":
                assert event["index"] == len(content)
                content.append(dict(event["content_block"]) | {"partial_input": ""})
            case "content_block_delta":
                block, delta = content[event["index"]], event["delta"]
                kind = delta["type"].removesuffix("_delta")
                name = {"input_json": "partial_json"}.get(kind, kind)
                assert delta[name], "a delta says something"
                block[{"input_json": "partial_input"}.get(kind, kind)] += delta[name]
            case "message_delta":
                end = event["delta"]["stop_reason"]
    assert all(block["signature"] for block in content if block["type"] == "thinking")
    return messages_whole({"content": content, "stop_reason": end})


def as_item(message: Body) -> Body:
    """A message as an item of the Responses API."""
    kind = "output_text" if message["role"] == "assistant" else "input_text"
    return {"role": message["role"], "content": [{"type": kind, "text": message["content"]}]}


APIS = {
    "chat": Api(
        "/v1/chat/completions",
        lambda messages: {"messages": list(messages)},
        {"tools": [{"type": "function", "function": LOOK}]},
        {"parallel_tool_calls": False},
        chat_whole,
        chat_streamed,
        lambda answer: [answer["choices"][0]["message"]],
        "tool_calls",
    ),
    "responses": Api(
        "/v1/responses",
        lambda messages: {"input": [as_item(message) for message in messages]},
        {"tools": [{"type": "function", **LOOK}]},
        {"parallel_tool_calls": False},
        responses_whole,
        responses_streamed,
        lambda answer: list(answer["output"]),
        "completed",
    ),
    "messages": Api(
        "/v1/messages",
        lambda messages: {"messages": list(messages)},
        {"tools": [{"name": "look", "description": "Looks.", "input_schema": LOOK["parameters"]}]},
        {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}},
        messages_whole,
        messages_streamed,
        lambda answer: [{"role": "assistant", "content": answer["content"]}],
        "tool_use",
    ),
}
TEXTS: dict[str, tuple[str, Body]] = {
    "completions": ("/v1/completions", {"prompt": "x"}),
    "native": ("/completion", {"prompt": "x"}),
    **{name: (api.path, api.ask([user("x")])) for name, api in APIS.items()},
}


def call(**arguments: str) -> str:
    """How a model without a form of its own says that `look` is to be called."""
    return f"<tool_call>\n{json.dumps({'name': 'look', 'arguments': arguments})}\n</tool_call>"


def answered(client: httpx.Client, name: str, body: Body) -> Told:
    """The whole answer of this API, which is a 200."""
    response = client.post(APIS[name].path, json=body)
    assert response.status_code == 200, response.text
    return APIS[name].whole(response.json())


def streamed(client: httpx.Client, name: str, body: Body) -> Told:
    """The same in events."""
    response = client.post(APIS[name].path, json=body | {"stream": True})
    assert response.status_code == 200, response.text
    return APIS[name].streamed(chunks_of(response.text))


def same(told: Told) -> tuple[Any, ...]:
    """What two answers that say the same have in common: ids are new in each."""
    return told.thoughts, told.text, [(name, json.loads(arguments)) for name, arguments in told.calls], told.end
