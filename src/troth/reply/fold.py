"""The whole answer is the fold of the stream: one truth, two ways to send it."""

from __future__ import annotations

from collections.abc import AsyncIterator

from troth.domain import Choice, Ended, Event, Finished, Reply, Said


async def fold(events: AsyncIterator[Event]) -> Reply:
    """The whole answer that `events` tell, choices in order. Raises what `events` raises."""
    choices: dict[int, Choice] = {}
    texts: dict[int, list[str]] = {}
    finished: Finished | None = None
    async for event in events:
        match event:
            case Said():
                texts.setdefault(event.choice, []).append(event.text)
                choices.setdefault(event.choice, Choice()).pieces.extend(event.pieces)
            case Ended():
                choice = choices.setdefault(event.choice, Choice())
                choice.finish, choice.stop_text, choice.tokens = event.finish, event.stop_text, event.tokens
            case Finished():
                finished = event
            case _:
                continue
    assert finished is not None, "the events of an answer end with Finished"
    for index, parts in texts.items():
        choices[index].text = "".join(parts)
    return Reply([choices[index] for index in sorted(choices)], finished.usage, finished.timings)
