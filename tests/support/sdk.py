"""OpenAI's SDK at a live server, and what tests read from its answers."""

from __future__ import annotations

from typing import Any

from openai import OpenAI
from openai.types.chat import ChatCompletion, ChatCompletionChunk, ChatCompletionMessageParam

MODEL = "smollm2-135m"
HELLO: list[ChatCompletionMessageParam] = [{"role": "user", "content": "Say hello to the harbour."}]


def sdk(url: str, *, api_key: str = "unused", max_retries: int = 0) -> OpenAI:
    """A client that refuses answers that its own types do not describe."""
    return OpenAI(
        base_url=f"{url}/v1",
        api_key=api_key,
        max_retries=max_retries,
        timeout=60.0,
        _strict_response_validation=True,
    )


def text_of(completion: ChatCompletion, choice: int = 0) -> str:
    """The text of one choice."""
    text = completion.choices[choice].message.content
    assert text is not None
    return text


def timings_of(answer: ChatCompletion | ChatCompletionChunk) -> dict[str, Any]:
    """The `timings` of an answer or of a chunk."""
    assert answer.model_extra is not None
    timings: dict[str, Any] = answer.model_extra["timings"]
    return timings


def joined(chunks: list[ChatCompletionChunk], choice: int = 0) -> str:
    """The text of one choice, put together from its chunks."""
    spoken = [part for chunk in chunks for part in chunk.choices if part.index == choice]
    return "".join(part.delta.content or "" for part in spoken)
