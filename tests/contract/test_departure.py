"""A client that leaves frees its slot within one step, wherever its request was and however it left."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.contract import servers
from tests.contract.conftest import Connect, ServeWith
from tests.support.live import LiveServer, wait_until
from tests.support.wire import Gauges, Wire, chat_body

FREE_SECONDS = 5.0  # one step takes some 20 ms here; the rest is patience with a busy machine
LATE_TOKENS = 64  # said after the client left, before the server noticed; the whole answer has 900
CROWD = 30

Leave = Callable[[Wire], None]
LEAVES = {
    "closes": lambda wire: wire.hang_up(),
    "resets": lambda wire: wire.hang_up(abortive=True),
    "half-closes": lambda wire: wire.half_close(),
}


def story(**fields: Any) -> dict[str, Any]:
    """A request whose answer takes some ten seconds."""
    return chat_body("Tell me a long story.", ignore_eos=True, max_tokens=900, **fields)


def long_prompt() -> dict[str, Any]:
    """A request whose prompt takes seconds to read."""
    return chat_body("word " * 900, max_tokens=50, ignore_eos=True)


def gone_lines(server: LiveServer) -> int:
    return len(re.findall(r" status=499 ", server.log()))


@pytest.fixture
def gauges(server: LiveServer, client: httpx.Client) -> Gauges:
    """The metrics of the usual server, idle when the test begins."""
    gauges = Gauges(client)
    gauges.wait_idle()
    return gauges


@pytest.fixture
def narrow(serve_with: ServeWith) -> LiveServer:
    """A server with one slot."""
    return serve_with(servers.narrow())


@pytest.fixture
def narrow_gauges(narrow: LiveServer, connect: Connect) -> Gauges:
    """The metrics of the server with one slot, idle when the test begins."""
    gauges = Gauges(connect(narrow))
    gauges.wait_idle()
    return gauges


def assert_silent(gauges: Gauges, spoken_before: int) -> None:
    """The engine is idle, stays so, and hardly spoke after the client had left."""
    gauges.wait_idle(FREE_SECONDS)
    spoken = gauges.spoken
    assert spoken - spoken_before < LATE_TOKENS
    assert [gauges.spoken for _ in range(10)] == [spoken] * 10


@pytest.mark.parametrize("how", LEAVES)
@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_leaves_in_the_middle_of_an_answer_frees_its_slot(
    server: LiveServer, gauges: Gauges, stream: bool, how: str
) -> None:
    departures, lines = gauges.departures, gone_lines(server)
    with Wire(server.url) as wire:
        spoken = gauges.spoken
        wire.ask(story(stream=stream))
        wait_until(lambda: gauges.spoken > spoken + 3, "tokens are generated")
        spoken = gauges.spoken
        LEAVES[how](wire)
        assert_silent(gauges, spoken)
    wait_until(lambda: gauges.departures == departures + 1, "the departure is counted", FREE_SECONDS)
    wait_until(lambda: gone_lines(server) == lines + 1, "the departure is logged as 499", FREE_SECONDS)


def test_all_choices_of_a_client_that_leaves_end(server: LiveServer, gauges: Gauges) -> None:
    with Wire(server.url) as wire:
        wire.ask(story(n=3, stream=True))
        gauges.wait_running(3)
        spoken = gauges.spoken
        wire.hang_up()
        assert_silent(gauges, spoken)


@pytest.mark.parametrize("how", LEAVES)
@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_leaves_the_queue_is_never_answered(
    narrow: LiveServer, narrow_gauges: Gauges, stream: bool, how: str
) -> None:
    departures, lines = narrow_gauges.departures, gone_lines(narrow)
    with Wire(narrow.url) as first, Wire(narrow.url) as second:
        first.ask(story(stream=True))
        first.read_until(b'"content":')
        heard = narrow_gauges.heard
        second.ask(story(stream=stream))
        narrow_gauges.wait_queued(1)
        LEAVES[how](second)
        narrow_gauges.wait_queued(0, FREE_SECONDS)
        assert narrow_gauges.running == 1
        wait_until(lambda: narrow_gauges.departures == departures + 1, "the departure is counted", FREE_SECONDS)
        first.hang_up()
        narrow_gauges.wait_idle(FREE_SECONDS)
    assert narrow_gauges.heard == heard, "the prompt of the client that left the queue was read"
    wait_until(lambda: gone_lines(narrow) == lines + 2, "both departures are logged as 499", FREE_SECONDS)


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_leaves_while_its_prompt_is_read_frees_its_slot(
    server: LiveServer, gauges: Gauges, stream: bool
) -> None:
    heard, spoken = gauges.heard, gauges.spoken
    with Wire(server.url) as wire:
        wire.ask(long_prompt() | {"stream": stream})
        gauges.wait_running(1)
        wire.hang_up()
        gauges.wait_idle(FREE_SECONDS)
    assert gauges.spoken == spoken, "the answer was begun"
    assert gauges.heard - heard < 900, "the prompt was read to its end"


def test_a_client_that_leaves_while_sending_its_body_is_logged_and_counted(server: LiveServer, gauges: Gauges) -> None:
    departures, lines = gauges.departures, gone_lines(server)
    with Wire(server.url) as wire:
        wire.ask(story(), sent_share=0.5)
        wire.hang_up()
        wait_until(lambda: gauges.departures == departures + 1, "the departure is counted", FREE_SECONDS)
    wait_until(lambda: gone_lines(server) == lines + 1, "the departure is logged as 499", FREE_SECONDS)


def test_a_client_that_stops_reading_holds_up_nobody(server: LiveServer, gauges: Gauges, client: httpx.Client) -> None:
    with Wire(server.url, receive_bytes=4096) as wire:
        wire.ask(story(stream=True, n=3, logprobs=True, top_logprobs=20))
        gauges.wait_running(3)
        answer = client.post("/v1/chat/completions", json=chat_body("Hi.", max_tokens=3))
        assert answer.status_code == 200
        spoken = gauges.spoken
        wire.hang_up()
        assert_silent(gauges, spoken)


def test_the_slot_of_a_client_that_never_reads_is_free_when_its_answer_is_made(
    server: LiveServer, gauges: Gauges
) -> None:
    spoken = gauges.spoken
    with Wire(server.url, receive_bytes=4096) as wire:
        wire.ask(story(stream=True, logprobs=True, top_logprobs=20) | {"max_tokens": 60})
        wait_until(lambda: gauges.spoken == spoken + 60, "the whole answer is made")
        gauges.wait_idle(FREE_SECONDS)
        assert b"[DONE]" in wire.read_until(b"[DONE]")


def test_a_crowd_that_leaves_at_random_moments_leaves_the_server_idle(server: LiveServer, gauges: Gauges) -> None:
    departures, lines = gauges.departures, gone_lines(server)
    rng = random.Random(20260729)
    moments = [(rng.random(), rng.random() < 0.5, rng.choice(sorted(LEAVES))) for _ in range(CROWD)]

    def visit(moment: tuple[float, bool, str]) -> None:
        at, stream, how = moment
        with Wire(server.url) as wire:
            if at < 0.2:
                wire.ask(story(stream=stream), sent_share=at)
            else:
                wire.ask(story(stream=stream))
            if at > 0.6 and stream:
                wire.read_until(b'"content":')
            elif at > 0.4:
                for _ in range(int(50 * at)):  # a while, as long as these take
                    gauges.read()
            LEAVES[how](wire)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(visit, moments))
    gauges.wait_idle(5 * FREE_SECONDS)
    wait_until(lambda: gauges.departures == departures + CROWD, "all departures are counted")
    wait_until(lambda: gone_lines(server) == lines + CROWD, "all departures are logged as 499")
    assert gauges.read()['troth:engine_up{model="smollm2-135m"}'] == 1


def test_the_neighbour_of_a_client_that_leaves_says_what_it_says_alone(
    server: LiveServer, gauges: Gauges, client: httpx.Client
) -> None:
    system = {"role": "system", "content": "You are a cheerful guide through the old town of a small harbour city."}

    def visit(text: str, **fields: Any) -> dict[str, Any]:
        return {"messages": [system, {"role": "user", "content": text}], "temperature": 0, **fields}

    asked = visit("Which three sights should I see?", max_tokens=40)
    alone = client.post("/v1/chat/completions", json=asked).json()["choices"][0]["message"]["content"]
    with ThreadPoolExecutor(1) as pool, Wire(server.url) as wire:
        wire.ask(visit("Tell me about the lighthouse.", max_tokens=900, ignore_eos=True, stream=True))
        wire.read_until(b'"content":')
        spoken = gauges.spoken
        answer = pool.submit(client.post, "/v1/chat/completions", json=asked)
        wait_until(lambda: gauges.spoken > spoken + 20, "both are answered")
        wire.hang_up()
        beside = answer.result().json()["choices"][0]["message"]["content"]
    assert beside == alone
