"""harmony, the way of gpt-oss: every message has a header that says its channel and to whom it goes.

Analysis is reasoning; final, and commentary to nobody, is words; a message to a function is a call. The first
`<|start|>assistant` stands in the prompt.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from troth.domain import Tool
from troth.formats.base import CallGrammar, Mark, Reader
from troth.formats.json_calls import arguments
from troth.formats.lark import Spelling, call_grammar, literal, spelled, text_before
from troth.formats.tape import NoCall, ScriptReader, Steps, Tape

START, CHANNEL, CONSTRAIN, MESSAGE = "<|start|>", "<|channel|>", "<|constrain|>", "<|message|>"
END, CALL, RETURN = "<|end|>", "<|call|>", "<|return|>"
OPENERS = (START, CHANNEL)
CLOSERS = (END, CALL, RETURN)
FUNCTIONS = "functions."
HEADER_CHARACTERS_MAX = 512
_BEFORE_NAME = f"{CHANNEL}commentary to={FUNCTIONS}"


@dataclass(frozen=True, slots=True)
class _Header:
    channel: str
    recipient: str

    @classmethod
    def read(cls, text: str) -> _Header:
        """What the text between a message's beginning and its body says."""
        channel = text.partition(CHANNEL)[2]
        recipient = text.partition("to=")[2]
        return cls(_word(channel), _word(recipient))


def _word(text: str) -> str:
    return text.partition("<")[0].strip().partition(" ")[0]


@dataclass(frozen=True, slots=True)
class Harmony:
    """Channels and recipients."""

    name: str = "harmony"

    @property
    def markers(self) -> tuple[str, ...]:
        """All of them are control tokens of gpt-oss."""
        return (START, CHANNEL, CONSTRAIN, MESSAGE, *CLOSERS)

    def grammar(self, tools: Sequence[Tool], mark: Mark, *, parallel: bool) -> CallGrammar:
        """Rules under which every call names one of the tools and every argument fits its schema."""

        def spell(text: str) -> str:
            return spelled(text, self.markers, mark)

        spelling = Spelling(
            trigger=CHANNEL,
            lead=_BEFORE_NAME,
            before_arguments=f" {CONSTRAIN}json{MESSAGE}",
            between=f"{CALL}{START}assistant{_BEFORE_NAME}",
        )
        grammar = call_grammar(spelling, tools, spell, parallel=parallel)
        final = f"final: {spell(f'{CHANNEL}final{MESSAGE}')} FINAL_TEXT\nFINAL_TEXT: /(.|\\n)*/\n"
        more = final + _begun(spell) + _written("before", ("analysis", "commentary"), spell)
        return CallGrammar(CHANNEL, grammar.rules + more, forced="begun? calls", free="begun? before* (final | calls)")

    def framed(self, form: str, mark: Mark, *, thinks: bool, calls: bool) -> tuple[str, str]:
        """What a whole answer is whose words are the symbol `form`, and the rules for it."""

        def spell(text: str) -> str:
            return spelled(text, self.markers, mark)

        constrained = spell(f" {CONSTRAIN}json")
        rules = f"formed: {spell(f'{CHANNEL}final')} ({constrained})? {spell(MESSAGE)} {form}\n"
        if thinks:
            rules += _written("thought", ("analysis",), spell)
        whole = f"begun? {'thought* ' if thinks else ''}{'(formed | calls)' if calls else 'formed'}"
        return whole, rules if calls else rules + _begun(spell)

    def reader(self, tools: Sequence[Tool]) -> Reader:
        """A reader for one answer. Names that no tool has are calls as well."""
        del tools
        return ScriptReader(_script)


def _begun(spell: Callable[[str], str]) -> str:
    """The rule of what begins every message; that of the first one stands in the prompt."""
    return f"begun: {spell(f'{START}assistant')}\n"


def _written(rule: str, channels: Sequence[str], spell: Callable[[str], str]) -> str:
    """The rule of a message in one of these channels, and the beginning of the next one."""
    body, rules = text_before(END, f"{rule}_text", spell)
    names = " | ".join(literal(channel) for channel in channels)
    return f"{rule}: {spell(CHANNEL)} ({names}) {spell(MESSAGE)} {body} {spell(f'{START}assistant')}\n{rules}"


def _script(tape: Tape) -> Steps[None]:
    opener = yield from tape.accept(*OPENERS, " to=")
    while True:
        try:
            if opener is None:
                opener = yield from _body(tape, _Header("final", ""))
            tape.hold(opener, is_sure=True)
            text, _ = yield from tape.name((MESSAGE,), HEADER_CHARACTERS_MAX)
            opener = yield from _message(tape, _Header.read(opener + text))
        except NoCall:
            tape.give_back()
            opener = None


def _message(tape: Tape, header: _Header) -> Steps[str | None]:
    """The body of a message is read. Returns what opened the next one; None when words follow."""
    name = header.recipient.removeprefix(FUNCTIONS)
    if name and name != header.recipient:
        yield from arguments(tape, lambda: tape.begin_call(name), tape.arguments)
        tape.end_call()
        yield from tape.space()
    tape.commit()
    return (yield from _body(tape, header))


def _body(tape: Tape, header: _Header) -> Steps[str]:
    """Everything up to the next message is words, or reasoning. Returns what opened that."""
    is_thought = header.channel == "analysis" or header.recipient not in ("", "assistant", "user")
    sink = tape.thoughts if is_thought else tape.words
    while True:
        marker = yield from tape.until((*CLOSERS, *OPENERS), sink)
        if marker in OPENERS:
            return marker
        yield from tape.space()
        opener = yield from tape.accept(*OPENERS)
        if opener is not None:
            return opener
        sink = tape.words
