from __future__ import annotations

import asyncio
import io
import logging
import re
from collections.abc import Iterator

import pytest

from troth.watch import log


@pytest.fixture
def written() -> Iterator[io.StringIO]:
    """What is logged, at level info, with the logging of the test run put back afterwards."""
    names = ["", "troth", *log.FLOORS]
    before = [(logging.getLogger(name), logging.getLogger(name).level) for name in names]
    handlers = logging.getLogger().handlers[:]
    stream = io.StringIO()
    log.configure("info", stream)
    yield stream
    logging.getLogger().handlers[:] = handlers
    for logger, level in before:
        logger.setLevel(level)


def only_ours() -> None:
    """The handlers that pytest adds for itself are gone; the fixture puts back what was there."""
    root = logging.getLogger()
    root.handlers[:] = [handler for handler in root.handlers if isinstance(handler, log.LineHandler)]


def test_a_line_says_when_how_grave_and_where_from(written: io.StringIO) -> None:
    logging.getLogger("troth.engine").info("loaded seconds=%.1f", 2.5)

    assert re.fullmatch(
        r"time=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z level=info logger=troth.engine loaded seconds=2\.5\n",
        written.getvalue(),
    )


def test_a_line_carries_the_id_of_its_request(written: io.StringIO) -> None:
    token = log.REQUEST_ID.set("r-1")
    logging.getLogger("troth.engine").info("loaded")
    log.REQUEST_ID.reset(token)

    assert "logger=troth.engine id=r-1 loaded" in written.getvalue()


def test_a_message_cannot_forge_a_second_line(written: io.StringIO) -> None:
    logging.getLogger("troth").warning("name=%s", "a\ntime=now level=info")

    assert written.getvalue().count("\n") == 1


def test_a_traceback_follows_its_line(written: io.StringIO) -> None:
    try:
        raise ValueError("torn")
    except ValueError:
        logging.getLogger("troth").exception("failed")

    assert written.getvalue().startswith("time=")
    assert written.getvalue().rstrip().endswith("ValueError: torn")


def test_debug_is_silent_at_level_info(written: io.StringIO) -> None:
    logging.getLogger("troth").debug("detail")
    logging.getLogger("uvicorn.access").error("GET /")
    logging.getLogger("connexion.middleware").info("no auth")

    assert written.getvalue() == ""


def test_libraries_that_quote_requests_stay_silent_at_level_debug() -> None:
    stream = io.StringIO()
    root, before = logging.getLogger(), logging.getLogger().handlers[:]
    log.configure("debug", stream)

    logging.getLogger("sse_starlette.sse").debug("chunk: private")
    logging.getLogger("troth").debug("detail")

    root.handlers[:] = before
    assert "private" not in stream.getvalue()
    assert "detail" in stream.getvalue()


def test_an_access_line_is_written_as_it_stands(written: io.StringIO) -> None:
    access = log.AccessLog()

    access.write(logging.INFO, "id=1 operation=chat")

    assert access.wants(logging.INFO)
    assert not access.wants(logging.DEBUG)
    assert written.getvalue().endswith("Z level=info logger=troth.access id=1 operation=chat\n")


def test_access_lines_of_a_busy_moment_are_written_together_and_before_any_other_line(written: io.StringIO) -> None:
    async def busy() -> list[int]:
        only_ours()
        access = log.AccessLog()
        counts = []
        for number in range(log.HELD_LINES_MAX):
            access.write(logging.INFO, f"id={number}")
            counts.append(written.getvalue().count("\n"))
        access.write(logging.INFO, "id=last")
        logging.getLogger("troth").warning("full")
        return counts

    counts = asyncio.run(busy())

    assert counts == [0] * (log.HELD_LINES_MAX - 1) + [log.HELD_LINES_MAX]
    assert [line.split()[-1] for line in written.getvalue().splitlines()[-2:]] == ["id=last", "full"]


def test_a_held_access_line_leaves_by_itself(written: io.StringIO) -> None:
    async def quiet() -> None:
        only_ours()
        log.AccessLog().write(logging.INFO, "id=1")
        while not written.getvalue():
            await asyncio.sleep(0)

    asyncio.run(asyncio.wait_for(quiet(), 10))
