"""How does a grammar of llama.cpp read in llguidance's Lark dialect?

The language is GBNF as llama.cpp's parser takes it: every escape, repetitions of repetitions, `.` for any character.
What is refused, in words: tokens (`<[1]>`, `<name>`, `!<name>`), classes without a character, and surrogates.

Every character is a lexeme of its own. Longer ones would be found sooner, but a lexer takes all that it can: of
`[a-z]* "ing"` it would never see an end.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

NESTING_MAX = 100  # of parentheses in a llama.cpp grammar, which is read and written recursively
ROOT = "root"
HEX_DIGITS = {"x": 2, "u": 4, "U": 8}
PLAIN_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\", '"': '"', "[": "[", "]": "]", "-": "-"}
ANY = "[\\x{0}-\\x{10FFFF}]"
SHOWN_LENGTH = 24  # characters of a grammar that a refusal shows
NAME = re.compile(r"[A-Za-z0-9_-]+")
COUNT = re.compile(r"[0-9]+")
BLANKS = {True: re.compile(r"(?:[ \t\r\n]|#[^\r\n]*)*"), False: re.compile(r"(?:[ \t]|#[^\r\n]*)*")}


class GbnfFault(ValueError):
    """A text that is no grammar, or one that cannot be followed. Says what and where."""


@dataclass(frozen=True, slots=True)
class _Text:
    text: str


@dataclass(frozen=True, slots=True)
class _Class:
    pattern: str  # of a regular expression


@dataclass(frozen=True, slots=True)
class _Rule:
    name: str


@dataclass(frozen=True, slots=True)
class _Group:
    ways: tuple[tuple[_Node, ...], ...]


@dataclass(frozen=True, slots=True)
class _Repeat:
    node: _Node
    least: int
    most: int | None  # None: without end


_Node = _Text | _Class | _Rule | _Group | _Repeat
Rules = Mapping[str, _Group]


def lark_of(text: str) -> str:
    """The grammar in Lark; its rule `start` is the grammar's `root`. Time is linear in the text.

    It is read recursively, some three frames for each parenthesis that another stands in. Raises GbnfFault.
    """
    if "::=" not in text:
        raise GbnfFault("it has no rule: a rule is written `name ::= …`")
    if _nesting(text) > NESTING_MAX:
        raise GbnfFault(f"it is nested deeper than {NESTING_MAX} parentheses")
    rules = _Parser(text).rules()
    if ROOT not in rules:
        raise GbnfFault(f"it has no rule {ROOT!r}")
    for rule in rules.values():
        for name in _names(rule):
            if name not in rules:
                raise GbnfFault(f"the rule {name!r} is used and not defined")
    return _written(rules)


def _nesting(text: str) -> int:
    """The deepest nesting of parentheses, those in literals counted too."""
    depth = deepest = 0
    for letter in text:
        if letter == "(":
            depth += 1
            deepest = max(deepest, depth)
        elif letter == ")":
            depth = max(depth - 1, 0)  # one in a literal closes nothing
    return deepest


class _Parser:
    """Reads one text from its beginning to its end."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def rules(self) -> dict[str, _Group]:
        """The rules by name; a later one of the same name counts."""
        found: dict[str, _Group] = {}
        self._blanks(lines=True)
        while self._at < len(self._text):
            name = self._take(NAME, "a rule's name")
            self._blanks(lines=False)
            if not self._accept("::="):
                raise self._fault("expected ::=")
            self._blanks(lines=True)
            found[name] = self._ways(nested=False)
            if self._at < len(self._text) and self._text[self._at] not in "\r\n":
                raise self._fault("expected the end of the line")
            self._blanks(lines=True)
        return found

    def _ways(self, *, nested: bool) -> _Group:
        ways = [self._sequence(nested=nested)]
        while self._accept("|"):
            self._blanks(lines=True)
            ways.append(self._sequence(nested=nested))
        return _Group(tuple(ways))

    def _sequence(self, *, nested: bool) -> tuple[_Node, ...]:
        nodes: list[_Node] = []
        while (node := self._item()) is not None:
            self._blanks(lines=nested)
            while (bounds := self._bounds(nested=nested)) is not None:
                node = _Repeat(node, *bounds)
            nodes.append(node)
        return tuple(nodes)

    def _item(self) -> _Node | None:
        letter = self._text[self._at : self._at + 1]
        match letter:
            case '"':
                return self._literal()
            case "[":
                return self._class()
            case "(":
                self._at += 1
                self._blanks(lines=True)
                group = self._ways(nested=True)
                if not self._accept(")"):
                    raise self._fault("expected )")
                return group
            case ".":
                self._at += 1
                return _Class(ANY)
            case "<" | "!":
                raise self._fault("tokens in a grammar are not followed: write the text instead")
            case "*" | "+" | "?" | "{":
                raise self._fault(f"there is nothing before {letter} to repeat")
        if letter and NAME.match(letter):
            return _Rule(self._take(NAME, "a name"))
        return None

    def _literal(self) -> _Text:
        self._at += 1
        letters: list[str] = []
        while not self._accept('"'):
            letters.append(self._character())
        return _Text("".join(letters))

    def _class(self) -> _Class:
        self._at += 1
        inverted = self._accept("^")
        spans: list[str] = []
        while not self._accept("]"):
            first = last = self._character()
            if self._text[self._at : self._at + 1] == "-" and self._text[self._at + 1 : self._at + 2] not in ("]", ""):
                self._at += 1
                last = self._character()
            if last < first:
                raise self._fault("a range ends before it begins")
            spans.append(_point(first) if first == last else f"{_point(first)}-{_point(last)}")
        if not spans:
            raise self._fault("a class has no character")
        return _Class(f"[{'^' if inverted else ''}{''.join(spans)}]")

    def _character(self) -> str:
        if self._at >= len(self._text):
            raise self._fault("unexpected end")
        letter = self._text[self._at]
        self._at += 1
        if letter != "\\":
            return self._scalar(ord(letter))
        kind = self._text[self._at : self._at + 1]
        self._at += 1
        if kind in HEX_DIGITS:
            digits = self._text[self._at : self._at + HEX_DIGITS[kind]]
            if not re.fullmatch(f"[0-9A-Fa-f]{{{HEX_DIGITS[kind]}}}", digits):
                raise self._fault(f"expected {HEX_DIGITS[kind]} hexadecimal digits")
            self._at += len(digits)
            return self._scalar(int(digits, 16))
        if kind not in PLAIN_ESCAPES:
            raise self._fault(f"there is no escape \\{kind}")
        return PLAIN_ESCAPES[kind]

    def _scalar(self, point: int) -> str:
        if point > 0x10FFFF or 0xD800 <= point <= 0xDFFF:
            raise self._fault(f"U+{point:04X} is no character")
        return chr(point)

    def _bounds(self, *, nested: bool) -> tuple[int, int | None] | None:
        """How often what stands before is repeated; None when nothing says so."""
        letter = self._text[self._at : self._at + 1]
        simple: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
        if letter in simple:
            self._at += 1
            self._blanks(lines=nested)
            return simple[letter]
        if not self._accept("{"):
            return None
        self._blanks(lines=nested)
        least = self._count()
        most: int | None = least
        if self._accept(","):
            self._blanks(lines=nested)
            most = None if self._text[self._at : self._at + 1] == "}" else self._count()
        if not self._accept("}"):
            raise self._fault("expected }")
        if most is not None and most < least:
            raise self._fault("a repetition ends before it begins")
        self._blanks(lines=nested)
        return least, most

    def _count(self) -> int:
        digits = self._take(COUNT, "a number")
        self._blanks(lines=True)
        return int(digits[:12])

    def _take(self, pattern: re.Pattern[str], what: str) -> str:
        found = pattern.match(self._text, self._at)
        if found is None:
            raise self._fault(f"expected {what}")
        self._at = found.end()
        return found[0]

    def _accept(self, text: str) -> bool:
        if not self._text.startswith(text, self._at):
            return False
        self._at += len(text)
        return True

    def _blanks(self, *, lines: bool) -> None:
        found = BLANKS[lines].match(self._text, self._at)
        assert found is not None, "blanks may be none"
        self._at = found.end()

    def _fault(self, words: str) -> GbnfFault:
        line = self._text.count("\n", 0, self._at) + 1
        rest = self._text[self._at : self._at + SHOWN_LENGTH]
        return GbnfFault(f"{words}, in line {line} before {rest!r}" if rest else f"{words}, at its end")


def _point(letter: str) -> str:
    return letter if letter.isascii() and letter.isalnum() else f"\\x{{{ord(letter):X}}}"


def _names(node: _Node) -> Iterator[str]:
    """Every rule that the node refers to."""
    waiting: list[_Node] = [node]
    while waiting:
        match waiting.pop():
            case _Rule(name):
                yield name
            case _Group(ways):
                waiting += [each for way in ways for each in way]
            case _Repeat(inner, _, _):
                waiting.append(inner)


# ---- writing ------------------------------------------------------------------------------------


def _written(rules: Rules) -> str:
    """The rules that can be reached, each under a name that no other has."""
    needed = _reached(rules)
    writer = _Writer({name: "start" if name == ROOT else f"r{number}" for number, name in enumerate(needed)})
    for name in needed:
        writer.write(writer.names[name], rules[name].ways)
    return "%llguidance {}\n" + "".join(writer.lines)


def _reached(rules: Rules) -> list[str]:
    found = {ROOT: None}
    waiting = [ROOT]
    while waiting:
        for name in _names(rules[waiting.pop()]):
            if name not in found:
                found[name] = None
                waiting.append(name)
    return list(found)


class _Writer:
    """Rules in Lark. What stands in parentheses is a rule of its own: llguidance reads them some dozen deep."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names
        self.lines: list[str] = []
        self._groups = 0

    def write(self, name: str, ways: Sequence[tuple[_Node, ...]]) -> None:
        """The rule is written."""
        texts = [" ".join([self._node(each) for each in way]) or '""' for way in ways]
        self.lines.append(f"{name}: {' | '.join(texts)}\n")

    def _node(self, node: _Node) -> str:
        match node:
            case _Text(text):
                letters = " ".join(json.dumps(letter, ensure_ascii=False) for letter in text)
                return f"({letters})" if len(text) > 1 else letters or '""'
            case _Class(pattern):
                return f"/{pattern}/"
            case _Rule(name):
                return self.names[name]
            case _Group(((single,),)):
                return self._node(single)
            case _Group(ways):
                return self._apart(ways)
            case _Repeat(inner, least, most):
                if most == 0:
                    return '""'
                body = self._node(inner) if isinstance(inner, _Text | _Class | _Rule) else self._apart(((inner,),))
                signs = {(0, None): "*", (1, None): "+", (0, 1): "?"}
                return body + (signs.get((least, most)) or f"{{{least},{'' if most is None else most}}}")

    def _apart(self, ways: Sequence[tuple[_Node, ...]]) -> str:
        """The name of a rule for these ways."""
        self._groups += 1
        name = f"g{self._groups}"
        self.write(name, ways)
        return name
