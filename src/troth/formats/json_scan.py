"""Where does a JSON value end that comes in pieces? Strings and escapes are respected; time is linear.

It refuses to judge: a value is passed on as it was written, so that arguments stream. One thing is mended:
a control character inside a string, which no JSON parser would take, becomes its escape.
"""

from __future__ import annotations

import json

from troth.formats.tape import SPACE, NoCall, Sink, Steps, Tape

ESCAPES = {'"': '"', "'": "'", "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
NAME_CHARACTERS_MAX = 1024
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def ignore(text: str) -> None:
    """Nobody wants this text."""
    del text


def value(tape: Tape, sink: Sink) -> Steps[None]:
    """One JSON value is read and went to `sink` as it was written."""
    first = yield from tape.space()
    if first in "{[":
        yield from _compound(tape, sink)
    elif first == '"':
        yield from _raw_string(tape, sink)
    else:
        yield from _scalar(tape, sink)


def _compound(tape: Tape, sink: Sink) -> Steps[None]:
    depth, in_string, is_escaped = 0, False, False
    while True:
        chunk = yield from tape.rest()
        written: list[str] = []
        for index, char in enumerate(chunk):
            if in_string:
                if char < " ":
                    char = json.dumps(char)[1:-1]
                elif is_escaped:
                    is_escaped = False
                elif char == "\\":
                    is_escaped = True
                elif char == '"':
                    in_string = False
            elif char == '"':
                in_string = True
            elif char in "{[":
                depth += 1
            elif char in "}]":
                depth -= 1
            written.append(char)
            if depth == 0:
                tape.take(index + 1)
                sink("".join(written))
                return
        tape.take(len(chunk))
        sink("".join(written))


def _raw_string(tape: Tape, sink: Sink) -> Steps[None]:
    texts: list[str] = []
    yield from string(tape, texts.append)
    sink(json.dumps("".join(texts), ensure_ascii=False))


def _scalar(tape: Tape, sink: Sink) -> Steps[None]:
    count = 0
    while (char := (yield from tape.peek())) not in ",}]" and char not in SPACE:
        sink(tape.take(1))
        count += 1
    if count == 0:
        raise NoCall


def string(tape: Tape, sink: Sink) -> Steps[None]:
    """One JSON string is read, from its first to its last quotation mark; what it says went to `sink`."""
    tape.take(1)
    while True:
        mark = yield from tape.until(('"', "\\"), sink)
        if mark == '"':
            return
        yield from escaped(tape, sink)


def escaped(tape: Tape, sink: Sink) -> Steps[None]:
    """Behind a backslash. A pair of surrogates is one character; one alone is none."""
    yield from tape.peek()
    kind = tape.take(1)
    if kind != "u":
        sink(ESCAPES.get(kind, "\\" + kind))
        return
    code = yield from _hex(tape)
    if 0xD800 <= code < 0xDC00 and (yield from tape.accept("\\u")):
        low = yield from _hex(tape)
        if 0xDC00 <= low < 0xE000:
            sink(chr(0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)))
            return
        sink(REPLACEMENT)
        code = low
    sink(REPLACEMENT if 0xD800 <= code < 0xE000 else chr(code))


def _hex(tape: Tape) -> Steps[int]:
    digits = ""
    while len(digits) < 4 and (yield from tape.peek()) in "0123456789abcdefABCDEF":
        digits += tape.take(1)
    return int(digits, 16) if len(digits) == 4 else 0xFFFD


def short_string(tape: Tape) -> Steps[str]:
    """What the JSON string that stands here says. Raises NoCall when none does, or a very long one."""
    if (yield from tape.space()) != '"':
        raise NoCall
    texts: list[str] = []
    length = 0

    def sink(text: str) -> None:
        nonlocal length
        length += len(text)
        if length > NAME_CHARACTERS_MAX:
            raise NoCall
        texts.append(text)

    yield from string(tape, sink)
    return "".join(texts)
