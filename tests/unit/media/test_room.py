"""The media room with an engine that counts what it is asked."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import pytest

from tests.support.png import data_url
from tests.support.projector import picture, tone
from troth.domain import (
    Ask,
    Budget,
    Embeddings,
    Medium,
    Placed,
    Plan,
    Prompt,
    Sampling,
    ServedModel,
    Tag,
    Talk,
    TokenIds,
    Turn,
)
from troth.engines.sight import Looked, LookedPart, SightFault
from troth.errors import BadRequest, EngineFault, QueueFull, Unsupported
from troth.media.room import Gaze, MediaRoom, seen_ids
from troth.media.settings import MediaSettings

T = TypeVar("T")
RED, BLUE = picture((255, 0, 0)), picture((0, 0, 255))


class Sight:
    """Three embeddings between a word on either side; counts what it is asked."""

    vision, audio, audio_rate = True, False, 0
    digest = b"sight"

    def __init__(self) -> None:
        self.looked = self.encoded = 0
        self.fault: str | None = None
        self.gate: threading.Event | None = None
        self.reached = threading.Event()

    def look(self, content: np.ndarray[Any, Any]) -> Looked:
        """As said above."""
        self.looked += 1
        word = np.array([7], np.int32)
        return Looked((LookedPart(word, 1), LookedPart(None, 3, True), LookedPart(word, 1)), int(content.mean()))

    def encode(self, looked: Looked) -> list[Embeddings]:
        """As said above."""
        self.reached.set()
        if self.gate is not None:
            assert self.gate.wait(5)
        if self.fault is not None:
            raise SightFault(self.fault)
        self.encoded += 1
        assert isinstance(looked.handle, int)
        return [np.full((3, 2), looked.handle, np.float32)]


def image(data: bytes, number: int = 0) -> Medium:
    return Medium(kind="image", source=data_url(data), path=f"messages.{number}.content.0.image_url")


def plan(*media: Medium, tag: Tag | None = None) -> Plan:
    turns = tuple(Turn(role="user", text="", media=(Placed(0, medium),)) for medium in media)
    model = ServedModel("tiny", "chat", "scripted")
    return Plan(Ask(source=Talk(turns), tag=tag or Tag()), model, Sampling(), 1, Budget(None, None, None), {})


def prompt(gaze: Gaze, asked: Plan) -> Prompt:
    """A prompt of these views alone."""
    tokens: list[TokenIds] = []
    views = []
    for medium in asked.ask.source.media:
        view = gaze.views[medium]
        views.append((sum(map(len, tokens)), view))
        tokens.append(view.tokens)
    return Prompt(np.concatenate(tokens), 1, 64, views=tuple(views))


async def seen(room: MediaRoom, sight: Sight, asked: Plan) -> Prompt:
    gaze = await room.look(asked, sight, encodes=True)
    return await room.show(prompt(gaze, asked), gaze, asked, sight)


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


def test_a_picture_is_words_and_ids_below_zero_that_embeddings_stand_behind() -> None:
    shown = run(seen(MediaRoom(MediaSettings()), Sight(), plan(image(RED))))

    assert shown.tokens.tolist()[::4] == [7, 7]
    assert (shown.tokens[1:4] < 0).all()
    (sight,) = shown.sights
    assert (sight.start, sight.end, sight.is_whole, sight.embeddings.shape) == (1, 4, True, (3, 2))
    assert shown.words.tolist() == [7, 7]


def test_ids_name_the_content_and_stay_the_same() -> None:
    first, again, other = (
        run(seen(MediaRoom(MediaSettings()), Sight(), plan(image(data)))).tokens.tolist() for data in (RED, RED, BLUE)
    )
    assert first == again
    assert not set(first[1:4]) & set(other[1:4])


def test_ids_are_below_zero_however_many_there_are() -> None:
    ids = seen_ids(b"content", 0, 100_000)
    assert ids.dtype == np.int32
    assert ids.max() < 0
    assert len(set(ids.tolist())) > 99_000


def test_the_same_picture_is_encoded_once() -> None:
    async def twice() -> tuple[Sight, MediaRoom]:
        room, sight = MediaRoom(MediaSettings()), Sight()
        await seen(room, sight, plan(image(RED)))
        await seen(room, sight, plan(image(RED), image(BLUE, 1), image(RED, 2)))
        return sight, room

    sight, room = run(twice())
    assert (sight.encoded, sight.looked) == (2, 2)
    report = room.report("tiny")
    assert (report.hits, report.misses, report.entries) == (2, 2, 2)
    assert report.size_bytes > 2 * 24


def test_requests_that_come_at_once_share_the_work() -> None:
    async def at_once() -> Sight:
        room, sight = MediaRoom(MediaSettings()), Sight()
        sight.gate = threading.Event()
        tasks = [asyncio.create_task(seen(room, sight, plan(image(RED)))) for _ in range(3)]
        await asyncio.to_thread(sight.reached.wait, 5)
        sight.gate.set()
        await asyncio.gather(*tasks)
        return sight

    assert run(at_once()).encoded == 1


def test_whoever_leaves_does_not_take_the_work_from_the_others() -> None:
    async def one_leaves() -> Prompt:
        room, sight = MediaRoom(MediaSettings()), Sight()
        sight.gate = threading.Event()
        first = asyncio.create_task(seen(room, sight, plan(image(RED))))
        await asyncio.to_thread(sight.reached.wait, 5)
        second = asyncio.create_task(seen(room, sight, plan(image(RED))))
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        sight.gate.set()
        return await second

    assert len(run(one_leaves()).sights) == 1


def test_whoever_gives_up_waits_for_no_further_picture() -> None:
    async def leaves() -> Sight:
        room, sight = MediaRoom(MediaSettings()), Sight()
        sight.gate = threading.Event()
        task = asyncio.create_task(seen(room, sight, plan(image(RED), image(BLUE, 1))))
        await asyncio.to_thread(sight.reached.wait, 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        sight.gate.set()
        await asyncio.to_thread(room.close)
        return sight

    assert run(leaves()).encoded == 1


def test_counting_encodes_nothing() -> None:
    async def count() -> tuple[Gaze, Sight]:
        room, sight = MediaRoom(MediaSettings()), Sight()
        asked = plan(image(RED))
        gaze = await room.look(asked, sight, encodes=False)
        again = await room.look(asked, sight, encodes=False)
        assert again.views == gaze.views
        return gaze, sight

    gaze, sight = run(count())
    assert [len(view.tokens) for view in gaze.views.values()] == [5]
    assert (sight.encoded, sight.looked) == (0, 1)


def test_what_was_only_counted_can_be_shown_later() -> None:
    async def both() -> Prompt:
        room, sight = MediaRoom(MediaSettings()), Sight()
        asked = plan(image(RED))
        await room.look(asked, sight, encodes=False)
        return await seen(room, sight, asked)

    assert len(run(both()).sights) == 1


def test_what_one_caller_has_shown_is_no_hint_to_another() -> None:
    async def two() -> MediaRoom:
        room, sight = MediaRoom(MediaSettings()), Sight()
        for owner in ("one", "other"):
            await seen(room, sight, plan(image(RED), tag=Tag(owner=owner)))
        return room

    assert (run(two()).report("tiny").hits) == 0


@pytest.mark.parametrize("budget", [0, 600])
def test_the_budget_is_kept(budget: int) -> None:
    async def many() -> MediaRoom:
        room, sight = MediaRoom(MediaSettings(cache_bytes=budget)), Sight()
        for number in range(4):
            await seen(room, sight, plan(image(picture((number, 0, 0)))))
        return room

    report = run(many()).report("tiny")
    assert report.size_bytes <= budget
    assert report.misses == 4


def test_a_model_without_a_projector_names_the_setting() -> None:
    with pytest.raises(Unsupported, match=r"options\.mmproj") as refused:
        run(MediaRoom(MediaSettings()).look(plan(image(RED)), None, encodes=True))
    assert refused.value.param == "messages.0.content.0.image_url"


def test_a_projector_that_does_not_hear_is_said_to_be_so() -> None:
    sound = Medium(kind="audio", source=data_url(tone(0.1), "audio/wav"), path="messages.0.content.0.input_audio.data")
    with pytest.raises(Unsupported, match="cannot hear sound"):
        run(MediaRoom(MediaSettings()).look(plan(sound), Sight(), encodes=True))


def test_one_picture_too_many_is_refused_by_its_path() -> None:
    room = MediaRoom(MediaSettings(images_max=1))
    with pytest.raises(BadRequest, match=r"media\.images_max") as refused:
        run(room.look(plan(image(RED), image(BLUE, 1)), Sight(), encodes=True))
    assert refused.value.param == "messages.1.content.0.image_url"


def test_a_picture_that_cannot_be_encoded_fails_its_request_and_no_other() -> None:
    async def fails() -> Prompt:
        room, sight = MediaRoom(MediaSettings()), Sight()
        sight.fault = "out of memory"
        with pytest.raises(EngineFault, match="out of memory"):
            await seen(room, sight, plan(image(RED)))
        sight.fault = None
        return await seen(room, sight, plan(image(RED)))

    assert len(run(fails()).sights) == 1


def test_a_crowd_before_the_threads_is_refused() -> None:
    async def crowd() -> None:
        room, sight = MediaRoom(MediaSettings(threads=1, queue_max=0)), Sight()
        held = threading.Event()
        first = asyncio.create_task(room._aside(lambda: held.wait(5)))
        await asyncio.sleep(0)
        with pytest.raises(QueueFull):
            await room.look(plan(image(RED)), sight, encodes=True)
        held.set()
        await first

    run(crowd())


def test_a_prompt_without_media_stays_as_it_is() -> None:
    bare = Prompt(np.array([1, 2], np.int32), 1, 64)
    asked = replace(plan(), ask=Ask(source=Talk(())))
    assert run(MediaRoom(MediaSettings()).show(bare, Gaze(), asked, None)) is bare
