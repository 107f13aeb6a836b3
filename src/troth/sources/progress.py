"""How a long fetch is told: a bar on a terminal, a line every few seconds elsewhere."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, TextIO

logger = logging.getLogger(__name__)

_BAR_CELLS = 30
_REDRAW_SECONDS = 0.1
_LINE_SECONDS = 5.0


class Progress(Protocol):
    """Told by whoever fetches, in this order: `begin`, `at` many times, `end`. `note` may come at any time."""

    def begin(self, title: str, total_bytes: int | None) -> None:
        """A transfer starts; its size is unknown when `total_bytes` is None."""

    def at(self, done_bytes: int) -> None:
        """So many bytes of the transfer are here."""

    def end(self) -> None:
        """The transfer is over, well or not."""

    def note(self, line: str) -> None:
        """Something else that a person should know."""


@dataclass(slots=True)
class Lines:
    """Plain lines, at most one every few seconds: for log files and pipes."""

    stream: TextIO
    clock: Callable[[], float] = time.monotonic
    every_seconds: float = _LINE_SECONDS
    title: str = ""
    total_bytes: int | None = None
    done_bytes: int = 0
    told_at: float = 0.0

    def begin(self, title: str, total_bytes: int | None) -> None:
        """A line names the transfer and its size."""
        self.title, self.total_bytes, self.done_bytes = title, total_bytes, 0
        self.told_at = self.clock()
        size = f" ({megabytes(total_bytes)})" if total_bytes else ""
        self.note(f"{title}{size}")

    def at(self, done_bytes: int) -> None:
        """A line tells how far it is, if the last one is old enough."""
        self.done_bytes = done_bytes
        now = self.clock()
        if now - self.told_at >= self.every_seconds:
            self.told_at = now
            self.note(f"{self.title}: {share(done_bytes, self.total_bytes)}")

    def end(self) -> None:
        """A line tells how much came."""
        self.note(f"{self.title}: {share(self.done_bytes, self.total_bytes)}")

    def note(self, line: str) -> None:
        """The line is written at once."""
        self.stream.write(line + "\n")
        self.stream.flush()


@dataclass(slots=True)
class Bar:
    """One line that is drawn over and over: for terminals."""

    stream: TextIO
    clock: Callable[[], float] = time.monotonic
    title: str = ""
    total_bytes: int | None = None
    done_bytes: int = 0
    drawn_at: float = field(default=float("-inf"))
    is_open: bool = False

    def begin(self, title: str, total_bytes: int | None) -> None:
        """The title has a line of its own, the bar is drawn below it."""
        self.title, self.total_bytes, self.done_bytes = title, total_bytes, 0
        self.note(title)
        self.is_open = True
        self._draw()

    def at(self, done_bytes: int) -> None:
        """The bar is redrawn, ten times a second at most."""
        self.done_bytes = done_bytes
        if self.clock() - self.drawn_at >= _REDRAW_SECONDS:
            self._draw()

    def end(self) -> None:
        """The bar shows the final state and its line is closed."""
        if self.is_open:
            self._draw()
            self.stream.write("\n")
            self.stream.flush()
        self.is_open = False

    def note(self, line: str) -> None:
        """The line is written above the bar."""
        self.stream.write(f"\r\x1b[K{line}\n")
        self.stream.flush()

    def _draw(self) -> None:
        self.drawn_at = self.clock()
        bar = ""
        if self.total_bytes:
            cells = min(_BAR_CELLS, _BAR_CELLS * self.done_bytes // self.total_bytes)
            bar = f"[{'#' * cells}{'.' * (_BAR_CELLS - cells)}] "
        self.stream.write(f"\r\x1b[K{bar}{share(self.done_bytes, self.total_bytes)}")
        self.stream.flush()


@dataclass(slots=True)
class Shares:
    """The share of a transfer that is here, 0 to 1: for whoever shows it in their own way."""

    report: Callable[[float], None]
    total_bytes: int | None = None

    def begin(self, title: str, total_bytes: int | None) -> None:
        """Nothing is here yet."""
        self.total_bytes = total_bytes
        self.report(0.0)

    def at(self, done_bytes: int) -> None:
        """The share is told; of an unknown size, that it is not over yet."""
        self.report(min(done_bytes / self.total_bytes, 1.0) if self.total_bytes else 0.0)

    def end(self) -> None:
        """All of it is here, or it was given up: the next word is the fetcher's."""
        self.report(1.0)

    def note(self, line: str) -> None:
        """What a person should know is in the log."""
        logger.info("event=fetch note=%s", line)


def progress_on(stream: TextIO) -> Progress:
    """The form that fits `stream`."""
    return Bar(stream) if stream.isatty() else Lines(stream)


def megabytes(count: int) -> str:
    """A number of bytes as a person reads it, in MB of 10^6 bytes."""
    return f"{count / 1e6:.1f} MB"


def share(done: int, total: int | None) -> str:
    """'12.0 of 98.4 MB, 12 %', or only what is here when the total is unknown."""
    if not total:
        return megabytes(done)
    return f"{done / 1e6:.1f} of {megabytes(total)}, {100 * done // total} %"
