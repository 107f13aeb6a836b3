"""The log: plain `key=value` lines on standard error, one per event, each with its request's id."""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from contextlib import nullcontext
from contextvars import ContextVar
from typing import Literal, TextIO

Level = Literal["debug", "info", "warning", "error"]

ACCESS = "troth.access"
LEVEL_WORDS = {logging.DEBUG: "debug", logging.INFO: "info"}
HELD_SECONDS = 0.05
HELD_LINES_MAX = 64
REQUEST_ID: ContextVar[str] = ContextVar("request_id", default="")

# Others may speak from this level on; below it they would repeat our lines or quote a request.
FLOORS = {
    "uvicorn.access": logging.CRITICAL,
    "uvicorn": logging.WARNING,
    "sse_starlette": logging.INFO,
    "connexion": logging.ERROR,
    "httpx": logging.WARNING,
    "httpcore": logging.WARNING,
    "asyncio": logging.WARNING,
}


class LineFormatter(logging.Formatter):
    """One line per record; line breaks inside a message are escaped, a traceback follows on its own lines."""

    def __init__(self) -> None:
        super().__init__()
        self._second = 0
        self._stamp = ""

    def format(self, record: logging.LogRecord) -> str:
        """The line of `record`: time, level, logger, the request's id where there is one, the message."""
        stamp = self.stamp(record.created)
        message = record.getMessage().replace("\r", "\\r").replace("\n", "\\n")
        request_id = "" if record.name == ACCESS else REQUEST_ID.get()
        where = f" id={request_id}" if request_id else ""
        line = f"time={stamp} level={record.levelname.lower()} logger={record.name}{where} {message}"
        if record.exc_info:
            line += "\n" + self.formatException(record.exc_info)
        return line

    def stamp(self, created: float) -> str:
        """The moment `created` (seconds since 1970) in UTC, to the millisecond."""
        second = int(created)
        if second != self._second:  # many lines share a second
            self._stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
            self._second = second
        return f"{self._stamp}.{int((created - second) * 1000):03d}Z"


class LineHandler(logging.StreamHandler[TextIO]):
    """Writes lines as they come, access lines a few at a time: a write costs as much as all else about them.

    A held line leaves within `HELD_SECONDS`, and before any other line and the end of the process.
    """

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        formatter = LineFormatter()
        self.setFormatter(formatter)
        self.stamp = formatter.stamp
        self._held: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """The line of `record` is written."""
        self._held.append(self.format(record) + "\n")
        self.flush()

    def hold(self, line: str) -> None:
        """The access line is written now or in a moment. Only for the event loop's thread."""
        with self.lock or nullcontext():
            self._held.append(line)
            held = len(self._held)
        if held >= HELD_LINES_MAX:
            self.flush()
        elif held == 1:
            try:
                asyncio.get_running_loop().call_later(HELD_SECONDS, self.flush)
            except RuntimeError:  # no loop runs here, so nothing would come back for the line
                self.flush()

    def flush(self) -> None:
        """No line is held any more."""
        with self.lock or nullcontext():
            lines, self._held = self._held, []
            if lines:
                self.stream.write("".join(lines))
                self.stream.flush()


def access_line(stamp: str, level: int, line: str) -> str:
    """An access line as it is written, its end included."""
    return f"time={stamp} level={LEVEL_WORDS[level]} logger={ACCESS} {line}\n"


class AccessLog:
    """The logger of the access lines, one per request.

    Under `configure` a line goes to its handler at once: making a record and passing it up the loggers would
    cost three times as much as the line. Under any other set-up it is an ordinary record.
    """

    def __init__(self) -> None:
        self._logger = logging.getLogger(ACCESS)
        self._root = logging.getLogger()

    def wants(self, level: int) -> bool:
        """True when a line of this level would be written."""
        return self._logger.isEnabledFor(level)

    def write(self, level: int, line: str) -> None:
        """The line is in the log. It must be one line."""
        handlers = self._root.handlers
        if len(handlers) == 1 and isinstance(handlers[0], LineHandler):
            handlers[0].hold(access_line(handlers[0].stamp(time.time()), level, line))
        else:
            self._logger.handle(self._logger.makeRecord(ACCESS, level, __file__, 0, line, (), None))


def configure(level: Level, stream: TextIO | None = None) -> None:
    """Everything is logged to `stream` (standard error) from `level` on, as lines. Safe to call again.

    Start uvicorn with `log_config=None, access_log=False`, or it replaces this.
    """
    # What no line of ours shows is not looked up: the "Optimization" section of logging's documentation.
    logging.logThreads = logging.logMultiprocessing = logging.logProcesses = False
    root = logging.getLogger()
    for old in root.handlers[:]:
        root.removeHandler(old)
    root.addHandler(LineHandler(stream or sys.stderr))
    root.setLevel(max(logging.INFO, logging.getLevelNamesMapping()[level.upper()]))
    logging.getLogger("troth").setLevel(level.upper())
    for name, floor in FLOORS.items():
        logging.getLogger(name).setLevel(max(floor, root.level))
