"""A server whose queue is full until somebody has been turned away."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import httpx

from tests.support.live import LiveServer, health_of, wait_queued, wait_until
from tests.support.wire import Wire, chat_body

Result = TypeVar("Result")

FULL: dict[str, Any] = {"options": {"slots": 1}, "limits": {"queue_max": 1}}  # how such a server is set up
UNTIL_GONE = {"wait": 600}  # how its script begins: what comes first stays until it hangs up


def refused_once(server: LiveServer, operation: str, work: Callable[[], Result]) -> Result:
    """What `work` comes to. It runs beside two other requests, which leave when the server has refused it with 429."""
    with (
        httpx.Client(base_url=server.url, trust_env=False) as client,
        ThreadPoolExecutor(1) as pool,
        Wire(server.url) as running,
        Wire(server.url) as waiting,
    ):
        running.ask(chat_body("One."))
        wait_until(lambda: health_of(client)["in_flight"] - health_of(client)["queued"] == 1, "a request runs")
        waiting.ask(chat_body("Two."))
        wait_queued(client, 1)
        result = pool.submit(work)
        wait_until(lambda: statuses(server, operation).count("429"), f"{operation} was refused")
        waiting.hang_up()  # first, or it would take a line of the script
        wait_until(lambda: "499" in statuses(server, "create_chat_completion"), "whoever waited has left the queue")
        running.hang_up()
        return result.result()


def statuses(server: LiveServer, operation: str) -> list[str]:
    """The statuses of the operation's requests that are over."""
    return [account["status"] for account in server.accounts(operation)]
