"""What the tests of formats share: tools, answers as models write them, and how parts are folded and grammars tried."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from troth.domain import Tool
from troth.formats.base import CallArguments, CallGrammar, CallName, Part, Reader, Thoughts, Words

WEATHER = Tool(
    name="get_weather",
    description="The weather of a city.",
    parameters={
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city"],
        "additionalProperties": False,
    },
)
NOTE = Tool(
    name="take_note",
    parameters={
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "done": {"type": "boolean"},
        },
        "required": ["text", "tags", "done"],
        "additionalProperties": False,
    },
)
TOOLS = (WEATHER, NOTE)
CITY = 'Par"is } ] {[ \\ é 😀 </x>'
FIRST: dict[str, Any] = {"city": CITY, "days": 3}
SECOND: dict[str, Any] = {"text": "one\ntwo\t<b>", "tags": ["a", 'b"}'], "done": True}
FIRST_JSON = json.dumps(FIRST, ensure_ascii=False)
SECOND_JSON = json.dumps(SECOND)


@dataclass(frozen=True, slots=True)
class Folded:
    """A whole answer, folded from parts."""

    words: str
    thoughts: str
    calls: tuple[tuple[str, str], ...]
    is_broken_off: bool

    @property
    def arguments(self) -> list[tuple[str, Any]]:
        return [(name, json.loads(text)) for name, text in self.calls]


def fold(reader: Reader, pieces: Iterable[str]) -> Folded:
    """What the parts say together; the order of names and arguments is checked on the way."""
    parts: list[Part] = []
    for piece in pieces:
        parts += reader.feed(piece)
    parts += reader.end()
    words = thoughts = ""
    calls: list[tuple[str, str]] = []
    for part in parts:
        match part:
            case Words(text):
                words += text
            case Thoughts(text):
                thoughts += text
            case CallName(name):
                calls.append((name, ""))
            case CallArguments(text):
                calls[-1] = (calls[-1][0], calls[-1][1] + text)
    return Folded(words, thoughts, tuple(calls), reader.is_broken_off)


def same_however_cut(make: Callable[[], Reader], text: str) -> Folded:
    """What the text says, which was the same for every cut in two and for single characters."""
    whole = fold(make(), [text])
    for place in range(len(text) + 1):
        assert fold(make(), [text[:place], text[place:]]) == whole, f"cut behind {text[:place]!r}"
    assert fold(make(), text) == whole, "cut into single characters"
    return whole


class Vocabulary:
    """Bytes as tokens, and control tokens for some texts; what llguidance needs to know of a tokenizer."""

    def __init__(self, control: Sequence[str] = ()) -> None:
        self.control = sorted(set(control), key=len, reverse=True)
        self.tokens = [bytes([byte]) for byte in range(256)]
        self.tokens += [b"\xff<end>", *(b"\xff" + text.encode() for text in self.control)]
        self.eos_token_id = 256
        self.bos_token_id = None
        self.special_token_ids = list(range(256, len(self.tokens)))

    def __call__(self, text: bytes) -> list[int]:
        return list(text)

    def mark(self, text: str) -> str:
        """How a Lark grammar names a marker."""
        if text in self.control:
            return f"<[{257 + self.control.index(text)}]>"
        return json.dumps(text, ensure_ascii=False)

    def encode(self, text: str) -> list[int]:
        """A text as tokens; control tokens where their texts stand."""
        ids: list[int] = []
        at = 0
        while at < len(text):
            found = next((each for each in self.control if text.startswith(each, at)), None)
            ids += [257 + self.control.index(found)] if found else list(text[at].encode())
            at += len(found or text[at])
        return ids


def forced(grammar: CallGrammar, mark: Callable[[str], str]) -> str:
    """The whole grammar of an answer that must be calls."""
    return f"%llguidance {{}}\nstart: {grammar.forced or f'{mark(grammar.trigger)} calls'}\n{grammar.rules}"


def free(grammar: CallGrammar, vocabulary: Vocabulary) -> str:
    """The whole grammar of an answer that may hold calls."""
    mark = vocabulary.mark(grammar.trigger)
    if grammar.free:
        start = f"start: {grammar.free}"
    elif grammar.opens:
        start = f"start: {mark} calls | OTHER?\nOTHER: /[^{grammar.trigger[0]}](.|\\n)*/"
    elif grammar.trigger in vocabulary.control:
        start = f"start: TEXT | TEXT {mark} calls\nTEXT: /(.|\\n)*/"
    else:
        start = f"start: TEXT | head calls\nhead[lazy]: /(.|\\n)*/ {mark}\nTEXT: /(.|\\n)*/"
    return f"%llguidance {{}}\n{start}\n{grammar.rules}"


def rejection(source: str, vocabulary: Vocabulary, text: str) -> str | None:
    """None when the grammar takes the text as a whole answer; else where it does not, in words."""
    from llguidance import LLMatcher, LLTokenizer
    from llguidance._tokenizer import TokenizerWrapper

    matcher = LLMatcher(LLTokenizer(TokenizerWrapper(vocabulary)), source)
    assert not matcher.get_error(), f"{matcher.get_error()}\n{source}"
    ids = vocabulary.encode(text)
    for place, token in enumerate(ids):
        if not matcher.try_consume_tokens([token]):
            read = b"".join(vocabulary.tokens[each] for each in ids[:place])
            return f"after {read!r} no {vocabulary.tokens[token]!r}"
    return None if matcher.is_accepting() else "not complete"
