"""The chunks of an answer, event by event, and the whole answer that says the same."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from troth.dialects.chat_answer import ChatChunks, Heading, Telling, whole
from troth.domain import Began, Ended, Event, Finished, Piece, Progress, Reply, Said, Timings, TokenLogprob, Usage
from troth.reply.fold import fold

HEADING = Heading(model="m", system_fingerprint="troth-1", id="chatcmpl-1", created=5)
FINISHED = Finished(Usage(prompt_tokens=3, answer_tokens=2), Timings(prompt_n=3, predicted_n=2))
TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4)
Judge = Callable[[str, Any], None]
HALF = TokenLogprob(4, b"\xe2", -0.5)


def chunks(events: Sequence[Event], *, choices: int = 1, include_usage: bool = False) -> list[dict[str, Any]]:
    writer = ChatChunks(HEADING, Telling(include_usage=include_usage), choices=choices)
    return parsed(b"".join(writer.write(event) for event in events))


def parsed(frames: bytes) -> list[dict[str, Any]]:
    return [json.loads(frame.removeprefix(b"data: ")) for frame in frames.split(b"\n\n") if frame]


def folded(events: Sequence[Event]) -> Reply:
    async def stream() -> AsyncIterator[Event]:
        for event in events:
            yield event

    return asyncio.run(fold(stream()))


def test_an_answer_is_role_then_text_then_finish() -> None:
    role, text, finish = chunks([Began(0), Said("Hi"), Ended(0, "stop"), FINISHED])

    assert role["choices"] == [{"index": 0, "delta": {"role": "assistant", "content": None}, "finish_reason": None}]
    assert text["choices"] == [{"index": 0, "delta": {"content": "Hi"}, "finish_reason": None}]
    assert finish["choices"] == [{"index": 0, "delta": {}, "finish_reason": "stop"}]
    for chunk in (role, text, finish):
        assert (chunk["id"], chunk["created"], chunk["model"]) == ("chatcmpl-1", 5, "m")
        assert (chunk["object"], chunk["system_fingerprint"]) == ("chat.completion.chunk", "troth-1")
        assert "usage" not in chunk
    assert "timings" not in role
    assert finish["timings"]["predicted_n"] == 2


def test_usage_comes_last_without_choices_and_is_null_before() -> None:
    *before, last = chunks([Progress(3, 0, 3, 1), Began(0), Said("Hi"), Ended(0, "stop"), FINISHED], include_usage=True)

    assert [chunk["usage"] for chunk in before] == [None] * 4
    assert (last["choices"], last["usage"]["total_tokens"], last["timings"]["prompt_n"]) == ([], 5, 3)
    assert "timings" not in before[-1]


def test_only_the_last_finish_chunk_carries_timings() -> None:
    events: list[Event] = [Began(0), Began(1), Ended(1, "length"), Said("a"), Ended(0, "stop"), FINISHED]

    sent = chunks(events, choices=2)

    assert [chunk["choices"][0]["index"] for chunk in sent] == [0, 1, 1, 0, 0]
    assert [chunk["choices"][0]["finish_reason"] for chunk in sent] == [None, None, "length", None, "stop"]
    assert ["timings" in chunk for chunk in sent] == [False, False, False, False, True]


def test_a_choice_without_a_token_still_opens_with_its_role() -> None:
    role, finish = chunks([Ended(0, "length"), FINISHED])

    assert role["choices"][0]["delta"] == {"role": "assistant", "content": None}
    assert finish["choices"][0]["finish_reason"] == "length"


def test_roles_sent_at_once_are_not_sent_again() -> None:
    writer = ChatChunks(HEADING, Telling(), choices=2)

    first = parsed(writer.open_all())

    assert [chunk["choices"][0]["index"] for chunk in first] == [0, 1]
    assert writer.write(Began(0)) == b""
    assert len(parsed(writer.write(Said("a", (), 1)))) == 1


def test_progress_has_no_choices() -> None:
    (chunk,) = chunks([Progress(10, 4, 6, 12, Timings(cache_n=4))])

    assert chunk["choices"] == []
    assert chunk["prompt_progress"] == {"total": 10, "cache": 4, "processed": 6, "time_ms": 12}
    assert chunk["timings"]["cache_n"] == 4


def test_a_delta_carries_its_logprobs_and_timings() -> None:
    said = Said("€", (Piece(4, b"\xe2", HALF, (HALF,)),), 0, Timings(predicted_n=1))

    _, chunk = chunks([Began(0), said])

    assert chunk["choices"][0]["delta"] == {"content": "€"}
    assert chunk["choices"][0]["logprobs"]["content"][0]["bytes"] == [0xE2]
    assert chunk["timings"]["predicted_n"] == 1


@given(st.lists(st.tuples(st.integers(0, 1), TEXT)))
def test_the_whole_answer_says_what_its_chunks_say(parts: list[tuple[int, str]]) -> None:
    said = [Said(text, (Piece(1, text.encode(), HALF),), choice) for choice, text in parts]
    events: list[Event] = [Began(0), Began(1), *said, Ended(0, "stop", "x"), Ended(1, "length"), FINISHED]

    sent = chunks(events, choices=2, include_usage=True)
    answer = whole(folded(events), HEADING, Telling(logprobs=True))

    told = [choice for chunk in sent for choice in chunk["choices"]]
    for choice in answer["choices"]:
        mine = [one for one in told if one["index"] == choice["index"]]
        assert choice["message"]["content"] == "".join(one["delta"].get("content") or "" for one in mine)
        assert choice["finish_reason"] == mine[-1]["finish_reason"]
        tokens = [entry for one in mine if "logprobs" in one for entry in one["logprobs"]["content"]]
        assert choice["logprobs"]["content"] == tokens
    assert answer["usage"] == sent[-1]["usage"]
    assert answer["timings"] == sent[-1]["timings"]


@pytest.mark.parametrize("include_usage", [True, False])
def test_every_chunk_and_the_whole_answer_are_as_published(judge: Judge, include_usage: bool) -> None:
    piece = Piece(4, b"\xe2", HALF, (HALF,))
    progress = Progress(10, 4, 6, 12, Timings(cache_n=4))
    said = [Said("a"), Said("b", (piece,), 0, Timings(draft_n=1)), Said("", (piece,))]
    events: list[Event] = [progress, Began(0), *said, Ended(0, "length"), FINISHED]

    for chunk in chunks(events, include_usage=include_usage):
        judge("ChatCompletionChunk", chunk)
    for logprobs in (True, False):
        judge("ChatCompletion", whole(folded(events), HEADING, Telling(logprobs=logprobs)))


def test_logprobs_are_null_unless_asked_for() -> None:
    answer = whole(folded([Began(0), Said("a"), Ended(0, "stop"), FINISHED]), HEADING, Telling())

    assert answer["choices"][0]["logprobs"] is None


def test_every_answer_has_its_own_id() -> None:
    ids = {Heading(model="m", system_fingerprint="f").id for _ in range(100)}

    assert len(ids) == 100
    assert all(len(one) == len("chatcmpl-") + 24 for one in ids)
