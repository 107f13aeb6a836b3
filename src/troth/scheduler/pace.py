"""How large a step may get, and how its room for prompts is shared."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from troth.scheduler.request import Choice


@dataclass(frozen=True, slots=True)
class Pace:
    """Prompt tokens per step: fewer beside speech, so that nobody waits long for the next token."""

    read_tokens: int = 512  # in a step without speakers
    read_tokens_beside_speech: int = 64

    def chunks(self, choices: Iterable[Choice], batch_tokens: int) -> dict[int, int]:
        """How many prompt tokens each reading slot may add, shared evenly; what one leaves the next may use."""
        running = list(choices)
        reading = [choice for choice in running if choice.is_reading]
        speaking = len(running) - len(reading)
        room = min(self.read_tokens_beside_speech if speaking else self.read_tokens, batch_tokens - speaking)
        chunks: dict[int, int] = {}
        by_need = sorted(reading, key=lambda choice: choice.request.prompt_tokens - choice.held)
        for position, choice in enumerate(by_need):
            share = max(1, room // (len(by_need) - position))
            chunk = min(share, choice.request.prompt_tokens - choice.held, room)
            chunks[choice.slot] = chunk
            room -= chunk
        return chunks
