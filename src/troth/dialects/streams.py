"""Streams as OpenAI's and llama-server's clients read them: frames of events, then `[DONE]`, or one error frame."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from troth import __version__
from troth.domain import Event
from troth.envelopes import Envelope
from troth.errors import Refusal

START_SECONDS = 10.0  # how long a stream's status line waits for the queue when keepalives are off


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamSettings:
    """How answers are streamed (configuration sections `stream` and `errors`), and the name of what answers."""

    first_event: Literal["token", "role"] = "token"
    keepalive_seconds: float = 10.0  # 0: no keepalives
    envelope: Envelope = "openai"
    system_fingerprint: str = f"b0-troth-{__version__}"  # llama-server's form: b, a number, what was built


class Answering(Protocol):
    """An answer under way."""

    def events(self) -> AsyncIterator[Event]:
        """The events in order. Raises Refusal."""

    def cancel(self) -> None:
        """The engine works on it no more. Safe to call twice."""


class Chunks(Protocol):
    """Writes events as frames."""

    def open_all(self) -> bytes:
        """What is sent before any token."""

    def write(self, event: Event) -> bytes:
        """The frames that `event` causes."""

    def end(self) -> bytes:
        """What is sent after everything."""


async def frames(
    opened: Answering, chunks: Chunks, first_event: str, fault: Callable[[Refusal], bytes]
) -> AsyncGenerator[bytes]:
    """The frames of one answer, after one empty item that whoever creates the generator takes at once.

    `fault` writes what is sent instead of the end when the answer ends with a refusal.

    A generator that was never entered runs no `finally` when it is dropped: the empty item enters it,
    so that from then on closing or losing the stream cancels the request.
    """
    try:
        yield b""
        if first_event == "role" and (opening := chunks.open_all()):
            yield opening
        async for event in opened.events():
            if frame := chunks.write(event):
                yield frame
        if last := chunks.end():
            yield last
    except Refusal as refusal:
        yield fault(refusal)
    finally:
        opened.cancel()
