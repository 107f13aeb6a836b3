"""How is reasoning told from the answer? By a pair of markers, of which each family has its own.

It refuses to know how long a model may reason: that is steered by the engine, with the same markers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from troth.formats.base import Part, Reader, Thoughts
from troth.formats.tape import SPACE, Cut, Steps, Tape


@dataclass(frozen=True, slots=True)
class ThoughtSyntax:
    """Between `begin` and `end` a model reasons; `end` is also what is forced where the budget ends."""

    name: str
    begin: str
    end: str
    format: str | None = None  # the format of calls whose own reader tells the reasoning apart
    signs: tuple[str, ...] = ()  # what a template that has it speaks of, if not both markers


# In the order in which they are looked for: a template that has a rare pair may speak of a common one as well.
SYNTAXES: tuple[ThoughtSyntax, ...] = (
    ThoughtSyntax(
        "harmony", "<|channel|>analysis<|message|>", "<|end|>", "harmony", ("<|channel|>analysis", "<|message|>")
    ),
    ThoughtSyntax("gemma4", "<|channel>thought", "<channel|>", signs=("<|channel>", "<channel|>")),
    ThoughtSyntax("seed", "<seed:think>", "</seed:think>", signs=("<seed:think>",)),
    ThoughtSyntax("mistral", "[THINK]", "[/THINK]"),
    ThoughtSyntax("command_r7b", "<|START_THINKING|>", "<|END_THINKING|>"),
    ThoughtSyntax("solar", "<|think|>", "<|end|>"),
    ThoughtSyntax("minimax_m3", "<mm:think>", "</mm:think>"),
    ThoughtSyntax(
        "kimi_k3",
        "<|open|>think<|sep|>",
        "<|close|>think<|sep|>",
        signs=("open_tag('think')", "close_tag('think')", "<|open|>"),
    ),
    ThoughtSyntax("hunyuan", "<think:opensource>", "</think:opensource>", signs=("<think{}>", ":opensource")),
    ThoughtSyntax("apertus", "<|inner_prefix|>", "<|inner_suffix|>"),
    ThoughtSyntax(
        "apriel", "Here are my reasoning steps:\n", "[BEGIN FINAL RESPONSE]", signs=("[BEGIN FINAL RESPONSE]",)
    ),
    ThoughtSyntax("thinking", "<thinking>", "</thinking>"),
    ThoughtSyntax("thought", "<thought>", "</thought>"),
    ThoughtSyntax("reasoning", "<reasoning>", "</reasoning>"),
    ThoughtSyntax("think", "<think>", "</think>", signs=("</think>",)),
)
THOUGHTS = {syntax.name: syntax for syntax in SYNTAXES}


def thought_syntax(template_source: str) -> ThoughtSyntax | None:
    """The pair of markers that a chat template writes reasoning with; None when it has none."""
    for syntax in SYNTAXES:
        if all(sign in template_source for sign in syntax.signs or (syntax.begin, syntax.end)):
            return syntax
    return None


class ThoughtReader:
    """Tells reasoning from the rest of an answer, which `inner` reads.

    A block may stand where the answer begins (`is_open`: the answer begins inside it), and again where one was
    closed; elsewhere the markers are text like any other. White space around a block, and at its two ends
    within, is nobody's text.
    """

    def __init__(self, syntax: ThoughtSyntax, inner: Reader, *, is_open: bool) -> None:
        self._syntax = syntax
        self._inner = inner
        self._tape = Tape()
        self._parts: list[Part] = []
        self._spaces: list[str] = []
        self._steps = self._script(is_open=is_open)
        self._is_inside = False
        self._is_plain = False

    def feed(self, text: str) -> Sequence[Part]:
        """What is certain after `text`."""
        if self._is_plain:
            return self._inner.feed(text)
        self._tape.add(text)
        next(self._steps, None)
        return self._take()

    def end(self) -> Sequence[Part]:
        """The text ends here: what was held back."""
        if not self._is_plain:
            self._is_plain = True
            self._tape.close()
            try:
                next(self._steps, None)
            except Cut:
                if self._is_inside:
                    self._think(self._tape.unread)
                else:
                    self._pass_on("".join(self._spaces) + self._tape.unread)
        return [*self._take(), *self._inner.end()]

    @property
    def is_broken_off(self) -> bool:
        """After `end`: the text ended inside a call."""
        return self._inner.is_broken_off

    def _take(self) -> list[Part]:
        parts, self._parts = self._parts, []
        return parts

    def _pass_on(self, text: str) -> None:
        if text:
            self._parts += self._inner.feed(text)

    def _script(self, *, is_open: bool) -> Steps[None]:
        tape, begin, end = self._tape, self._syntax.begin, self._syntax.end
        has_block = is_open
        if is_open:
            yield from self._block()
        while True:
            while (yield from tape.peek()) in SPACE:
                self._spaces.append(tape.take(1))
            marker = yield from tape.accept(begin, end)
            if has_block or marker is not None:
                self._spaces.clear()
            if marker is None:
                break
            has_block = True
            if marker == begin:
                yield from self._block()
        self._is_plain = True
        self._pass_on("".join(self._spaces) + tape.take(len(tape.unread)))

    def _block(self) -> Steps[None]:
        """Everything up to the end of the block is thought; the beginning may be written once more."""
        tape, begin, end = self._tape, self._syntax.begin, self._syntax.end
        self._is_inside = True
        yield from tape.space()
        yield from tape.accept(begin)
        yield from tape.space()
        yield from tape.until((end,), self._think)
        self._spaces.clear()
        self._is_inside = False

    def _think(self, text: str) -> None:
        body = text.rstrip()
        if body:
            self._parts.append(Thoughts("".join(self._spaces) + body))
            self._spaces.clear()
        if len(body) < len(text):
            self._spaces.append(text[len(body) :])
