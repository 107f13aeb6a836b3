"""More requests at once than the server will queue: each is answered or sent away, and none is lost."""

from __future__ import annotations

import asyncio
import time
from collections import Counter

import httpx

from tests.contract.conftest import ServeWith
from tests.contract.servers import quick
from tests.support.live import config
from tests.support.wire import CHAT, chat_body

CROWD = 300
IDLE_SECONDS_MAX = 1.0


def test_a_crowd_gets_answers_or_429_and_leaves_the_server_idle(serve_with: ServeWith) -> None:
    server = serve_with(config([quick(context_tokens=256, slots=4)], limits={"queue_max": 64}))

    async def crowd() -> list[httpx.Response]:
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
        async with httpx.AsyncClient(base_url=server.url, timeout=120, limits=limits) as client:
            requests = (client.post(CHAT, json=chat_body(f"Number {k}.", max_tokens=2)) for k in range(CROWD))
            return list(await asyncio.gather(*requests))

    answers = asyncio.run(crowd())
    ended = time.perf_counter()

    statuses = Counter(answer.status_code for answer in answers)
    assert sum(statuses.values()) == CROWD
    assert set(statuses) == {200, 429}
    assert all(answer.headers["Retry-After"].isdigit() for answer in answers if answer.status_code == 429)
    assert all(answer.json()["usage"]["completion_tokens"] > 0 for answer in answers if answer.status_code == 200)
    while True:
        load = httpx.get(f"{server.url}/load").json()
        if (load["running"], load["waiting"]) == (0, 0):
            break
        assert time.perf_counter() - ended < IDLE_SECONDS_MAX
