"""`__verbose`, with which llama-server shows what stands behind a chat answer: prompt, settings and counts.

Divergence from llama-server: a stream has it in a chunk of its own, just before its last ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from troth.conversation import Prepared
from troth.dialects.chat_answer import Heading, aside
from troth.dialects.native_answer import NativeAnswers
from troth.dialects.streams import Chunks
from troth.domain import Choice, Ended, Event, Finished, Reply, Said, Timings


def verbose_of(prepared: Prepared, reply: Reply) -> dict[str, Any]:
    """The first answer as llama-server's own routes write it."""
    (first, *_) = reply.choices
    return _final(prepared, first, first.text, reply.timings)


class VerboseChunks:
    """Chunks that tell `__verbose` before the end. Holds the first answer's state."""

    def __init__(self, chunks: Chunks, heading: Heading, prepared: Callable[[], Prepared]) -> None:
        """`prepared`: what is answered, asked for at the end."""
        self._chunks = chunks
        self._heading = heading
        self._prepared = prepared
        self._first = Choice()

    def open_all(self) -> bytes:
        """What is sent before any token."""
        return self._chunks.open_all()

    def end(self) -> bytes:
        """What is sent after everything."""
        return self._chunks.end()

    def write(self, event: Event) -> bytes:
        """The frames that `event` causes."""
        if isinstance(event, Finished):
            return self._told(event.timings) + self._chunks.write(event)
        if isinstance(event, Said) and event.choice == 0:
            self._first.text += event.text
        elif isinstance(event, Ended) and event.choice == 0:
            self._first.finish, self._first.stop_text = event.finish, event.stop_text
            self._first.tokens = event.tokens
        return self._chunks.write(event)

    def _told(self, timings: Timings) -> bytes:
        return aside(self._heading, {"__verbose": _final(self._prepared(), self._first, "", timings)})


def _final(prepared: Prepared, choice: Choice, content: str, timings: Timings) -> dict[str, Any]:
    return NativeAnswers((prepared,), tokens=False, fields=()).final(0, choice, content, choice.pieces, timings)
