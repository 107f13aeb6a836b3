"""Pictures in the step loop: batches of their own, turns with everybody else, states that hold no half a picture."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tests.support.decoder import ScriptedDecoder, alone
from tests.support.lanes import Aloud
from troth.domain import Finished, Job, Prompt, Said, Sampling, Sight
from troth.scheduler.drafts import Drafter
from troth.scheduler.memory import Memory
from troth.scheduler.pace import Pace
from troth.scheduler.prefix_cache import CacheLimits, PrefixCache
from troth.scheduler.request import Delivery, Request
from troth.scheduler.scheduler import Scheduler

SEEN = 150  # what the decoder holds of a picture's embedding; see `ScriptedDecoder.add_seen`


def prompt(*parts: Sequence[int] | tuple[str, int], answer_tokens: int = 4, is_whole: bool = False) -> Prompt:
    """Lists of tokens, and ("see", n) for a picture of n embeddings."""
    tokens, sights = list[int](), list[Sight]()
    for part in parts:
        if part[0] == "see":
            count = int(part[1])
            sights.append(Sight(len(tokens), np.full((count, 2), SEEN, np.float32), is_whole))
            tokens += [-7 - index for index in range(count)]
        else:
            tokens += [int(token) for token in part]
    return Prompt(np.array(tokens, np.int32), answer_tokens, 256, sights=tuple(sights))


class Loop:
    """A scheduler on a scripted decoder, stepped by hand."""

    def __init__(self, *, slots: int = 4, tokens_min: int = 2, can_cut: bool = True, pace: Pace | None = None) -> None:
        self.decoder = ScriptedDecoder(slots=slots, can_cut=can_cut)
        self.cache = PrefixCache(CacheLimits(100_000, tokens_min), can_cut=can_cut)
        self.said: dict[int, str] = {}
        self.over: list[Request] = []
        self.scheduler = Scheduler(self.decoder, self._deliver, pace or Pace(32, 8), self.cache, Drafter(tokens_max=0))

    def _deliver(self, deliveries: list[Delivery]) -> None:
        for delivery in deliveries:
            assert delivery.fault is None, delivery.fault
            for event in delivery.events:
                if isinstance(event, Said):
                    self.said[id(delivery.request)] = self.said.get(id(delivery.request), "") + event.text
                if isinstance(event, Finished):
                    self.over.append(delivery.request)

    def submit(self, asked: Prompt, *, choices: int = 1, seed: int = 7) -> Request:
        request = Request(
            Job(prompt=asked, sampling=Sampling(), seed=seed, interpreters=[Aloud() for _ in range(choices)])
        )
        self.scheduler.submit(request)
        return request

    def finish(self, *requests: Request) -> None:
        for _ in range(200):
            if all(request in self.over for request in requests):
                return
            self.scheduler.step()
        raise AssertionError("it goes on for ever")


def words(count: int, token: int = 3) -> list[int]:
    return [token] * count


def answer_of(asked: Prompt, answer_tokens: int = 4, seed: int = 7) -> list[int]:
    """What is answered when nobody else is served."""
    held = [SEEN if token < 0 else token for token in asked.tokens.tolist()]
    return alone(held, seed, answer_tokens)


def spoken(loop: Loop, request: Request) -> str:
    return loop.said.get(id(request), "")


def text(loop: Loop, tokens: Sequence[int]) -> str:
    return b"".join(loop.decoder.vocabulary.spoken(token) for token in tokens).decode()


@pytest.mark.parametrize("place", ["first", "middle", "last"])
def test_a_picture_is_read_where_it_stands(place: str) -> None:
    parts = {
        "first": (("see", 5), words(4)),
        "middle": (words(4), ("see", 5), words(3)),
        "last": (words(4), ("see", 5)),
    }[place]
    loop, asked = Loop(), prompt(*parts)
    request = loop.submit(asked)
    loop.finish(request)

    assert spoken(loop, request) == text(loop, answer_of(asked))
    assert loop.decoder.seen == [(0, 5, False)]


def test_a_long_picture_is_read_in_pieces_and_a_whole_one_at_once() -> None:
    loop = Loop(pace=Pace(8, 8))
    for is_whole, expected in ((False, [8, 8, 4]), (True, [20])):
        loop.decoder.seen.clear()
        loop.finish(loop.submit(prompt(words(2, 4 + is_whole), ("see", 20), words(2), is_whole=is_whole)))
        assert [count for _, count, _ in loop.decoder.seen] == expected
        assert all(whole is is_whole for _, _, whole in loop.decoder.seen)


def test_those_who_speak_have_every_second_batch() -> None:
    loop = Loop(pace=Pace(8, 4))
    speaker = loop.submit(prompt(words(3, 5), answer_tokens=60))
    for _ in range(3):
        loop.scheduler.step()
    before = len(speaker.running[0].said) if speaker.running else 0
    assert before
    seeing = loop.submit(prompt(words(2), ("see", 40), words(2)))
    steps = 0
    while len(loop.decoder.seen) < 10 and steps < 60 and speaker.running:
        loop.scheduler.step()
        steps += 1
    assert len(speaker.running[0].said) - before >= 8 if speaker.running else True
    loop.finish(speaker, seeing)
    assert spoken(loop, speaker) == text(loop, alone(words(3, 5), 7, 60))


def test_pictures_of_several_requests_take_turns() -> None:
    loop = Loop(pace=Pace(4, 4))
    requests = [loop.submit(prompt(words(2, 4 + number), ("see", 12), words(2))) for number in range(3)]
    loop.finish(*requests)
    slots = [slot for slot, _, _ in loop.decoder.seen]
    assert sorted(slots[:3]) == sorted(slots[3:6]) == [0, 1, 2]
    for request in requests:
        assert spoken(loop, request) == text(loop, answer_of(request.job.prompt))


def test_several_answers_share_one_look() -> None:
    loop = Loop()
    request = loop.submit(prompt(words(3), ("see", 5), words(3)), choices=3)
    loop.finish(request)
    assert len(loop.decoder.seen) == 1


def test_a_prompt_with_the_same_picture_is_not_read_again() -> None:
    loop, asked = Loop(), prompt(words(3), ("see", 5), words(3))
    first, second = loop.submit(asked), None
    loop.finish(first)
    second = loop.submit(asked, seed=8)
    loop.finish(second)

    assert second.cached_tokens == len(asked.tokens) - 1
    assert len(loop.decoder.seen) == 1
    assert spoken(loop, second) == text(loop, answer_of(asked, seed=8))


def test_half_a_picture_is_never_restored() -> None:
    loop, asked = Loop(), prompt(words(4), ("see", 6))
    loop.finish(loop.submit(asked, seed=1))
    again = loop.submit(asked, seed=2)
    loop.finish(again)

    assert again.cached_tokens == 4
    assert loop.decoder.seen == [(0, 6, False)] * 2


def test_half_a_picture_is_of_no_use_to_a_memory_that_cannot_be_cut() -> None:
    loop, asked = Loop(can_cut=False), prompt(words(4), ("see", 6))
    loop.finish(loop.submit(asked, seed=1))
    again = loop.submit(asked, seed=2)
    loop.finish(again)
    assert again.cached_tokens == 0


def test_ids_below_zero_are_never_drafted() -> None:
    memory = Memory([1, 2, 3, -5, -6, 4, 1, 2])
    memory.extend([3])
    assert memory.follow(4) == []
    memory = Memory([1, 2, 3, 9, -6, 4, 1, 2])
    memory.extend([3])
    assert memory.follow(4) == [9]


def test_words_of_a_prompt_are_those_that_are_no_picture() -> None:
    asked = prompt(words(2, 5), ("see", 3), words(1, 6))
    assert asked.words.tolist() == [5, 5, 6]
    assert [asked.uncut(length) for length in range(7)] == [0, 1, 2, 2, 2, 5, 6]
    assert [asked.words_from(index) for index in (0, 1, 5)] == [2, 1, 1]
