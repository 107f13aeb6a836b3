"""Chat requests at a live server in one line each, and what tests read from the answers."""

from __future__ import annotations

from typing import Any

import httpx

from tests.support.wire import CHAT, chat_body


def ask(client: httpx.Client, text: str = "Say hello.", **fields: Any) -> dict[str, Any]:
    """The answer, which is a 200."""
    answer = client.post(CHAT, json=chat_body(text, **fields))
    assert answer.status_code == 200, answer.text
    whole: dict[str, Any] = answer.json()
    return whole


def refused(
    client: httpx.Client, body: dict[str, Any] | None = None, status: int = 400, **fields: Any
) -> dict[str, Any]:
    """The error, which has this status."""
    answer = client.post(CHAT, json=body or chat_body("Say hello.", **fields))
    assert answer.status_code == status, answer.text
    error: dict[str, Any] = answer.json()["error"]
    return error


def text_of(whole: dict[str, Any]) -> str:
    """The text of the first choice."""
    text: str = whole["choices"][0]["message"]["content"]
    return text


def prompt_tokens(client: httpx.Client, *messages: dict[str, Any]) -> int:
    """How many tokens the conversation is."""
    answer = client.post(CHAT, json={"messages": list(messages), "max_tokens": 0})
    assert answer.status_code == 200, answer.text
    tokens: int = answer.json()["usage"]["prompt_tokens"]
    return tokens


def user(content: Any, **keys: Any) -> dict[str, Any]:
    """A message of the user."""
    return {"role": "user", "content": content, **keys}
