"""Scripts read a tape as if all of its text were there, in linear time."""

from __future__ import annotations

import time

import pytest

from tests.support.formats import TOOLS, same_however_cut
from tests.unit.formats.samples import SAMPLES
from troth.formats.registry import FORMATS, NAMES
from troth.formats.tape import WINDOW, ScriptReader, first_of, open_end


def test_the_first_marker_is_found_and_the_longest_where_two_begin() -> None:
    assert first_of(("bc", "b", "d"), "adbc", 0) == (1, "d")
    assert first_of(("b", "bc"), "abcd", 0) == (1, "bc")
    assert first_of(("ab",), "ab", 1) is None


@pytest.mark.parametrize("place", [WINDOW - 3, WINDOW - 1, WINDOW, 3 * WINDOW + 1])
def test_markers_are_found_across_windows(place: int) -> None:
    assert first_of(("<tool>", "x"), "." * place + "<tool>", 0) == (place, "<tool>")


def test_only_the_beginning_of_a_marker_is_held() -> None:
    assert open_end("a <to", 0, ("<tool>", "x")) == 3
    assert open_end("a <tx", 0, ("<tool>",)) == 0
    assert open_end("<tool", 5, ("<tool>",)) == 0


def test_a_reader_can_be_ended_twice() -> None:
    reader = FORMATS["hermes"].reader(())
    assert isinstance(reader, ScriptReader)
    assert [part.text for part in reader.feed("a ") if not hasattr(part, "name")] == ["a"]
    assert len(reader.end()) == 1
    assert len(reader.end()) == 0


def seconds(name: str, count: int, size: int) -> float:
    """How long it takes to read `count` times what every format has to look at twice, in pieces of `size`."""
    markers = "".join(marker[:-1] for marker in FORMATS[name].markers)
    text = SAMPLES[name] + (SAMPLES[name] + markers + ' {"a\\n": [1]} \\" \n<') * count
    reader = FORMATS[name].reader(TOOLS)
    began = time.process_time()
    for place in range(0, len(text), size):
        reader.feed(text[place : place + size])
    reader.end()
    return time.process_time() - began


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", [4, 1_000_000])
def test_time_is_linear_in_the_text_for_pieces_of_any_size(name: str, size: int) -> None:
    seconds(name, 3, size)
    few = min(seconds(name, 8, size) for _ in range(3))
    assert seconds(name, 80, size) < 40 * max(few, 0.001)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("inside", ["[" * 2000, '{"a":' * 2000, "{a:[" * 2000, "(" * 2000, '{"function":' * 2000])
def test_deep_nesting_is_no_exception(name: str, inside: str) -> None:
    reader = FORMATS[name].reader(TOOLS)
    for piece in (SAMPLES[name][: SAMPLES[name].index("get_weather")], inside, SAMPLES[name], inside):
        reader.feed(piece)
    reader.end()
    reader = FORMATS[name].reader(TOOLS)
    reader.feed(SAMPLES[name].replace("3", inside, 1) + inside)
    reader.end()


def test_what_could_be_a_marker_is_given_when_the_text_ends() -> None:
    assert same_however_cut(lambda: FORMATS["mistral"].reader(()), "a [TOOL_CALL").words == "a [TOOL_CALL"
