"""How a fetch is told."""

from __future__ import annotations

import io
import itertools

from troth.sources.progress import Bar, Lines, progress_on, share


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_lines_come_every_few_seconds_at_most() -> None:
    out = io.StringIO()
    clock = itertools.count(0.0, 1.0)
    lines = Lines(out, clock=clock.__next__, every_seconds=5.0)

    lines.begin("f", 100_000_000)
    for done in range(10_000_000, 110_000_000, 10_000_000):
        lines.at(done)
    lines.end()

    assert out.getvalue().splitlines() == [
        "f (100.0 MB)",
        "f: 50.0 of 100.0 MB, 50 %",
        "f: 100.0 of 100.0 MB, 100 %",
        "f: 100.0 of 100.0 MB, 100 %",
    ]


def test_a_bar_draws_over_itself_and_closes_its_line() -> None:
    out = Terminal()
    clock = itertools.count(0.0, 1.0)
    bar = Bar(out, clock=clock.__next__)

    bar.begin("f", 1000)
    bar.at(500)
    bar.end()

    drawn = out.getvalue()
    assert "[###############...............] 0.0 of 0.0 MB, 50 %" in drawn
    assert drawn.count("\n") == 2
    assert drawn.endswith("\n")


def test_a_bar_is_not_redrawn_faster_than_the_eye_sees() -> None:
    out = Terminal()
    bar = Bar(out, clock=lambda: 1.0)

    bar.begin("f", None)
    for done in range(1000):
        bar.at(done)

    assert out.getvalue().count("MB") == 1


def test_an_end_without_a_begin_writes_nothing() -> None:
    out = Terminal()

    Bar(out).end()

    assert out.getvalue() == ""


def test_the_form_fits_the_stream() -> None:
    assert isinstance(progress_on(Terminal()), Bar)
    assert isinstance(progress_on(io.StringIO()), Lines)


def test_an_unknown_total_tells_what_is_here() -> None:
    assert share(1_500_000, None) == "1.5 MB"
