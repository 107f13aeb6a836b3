"""What holds the tokens of an answer: a grammar compiled by llguidance, and the bounds of its reasoning.

Grammars are compiled off the engine's thread and kept by their source; an answer follows a copy. Masks are
computed where tokens are picked, some 10 to 100 µs each, so nothing of it is on the event loop.
"""

from __future__ import annotations

import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from troth.domain import GrammarSource, Steering, ThoughtCount
from troth.engines.base import GrammarFault
from troth.engines.gbnf import GbnfFault, lark_of
from troth.engines.waiting import Letters, Waiting

if TYPE_CHECKING:
    from llguidance import LLMatcher, LLParserLimits, LLTokenizer

Allowed = npt.NDArray[np.bool_]  # [vocabulary]

KEPT_GRAMMARS = 64
WORD_BITS = 32
TOO_COMPLEX = "TooComplex"  # ends the words for: a limit was met
DEAD = ("NoExtension",)  # llguidance's words for: nothing can follow
FAULT_LENGTH_MAX = 300  # characters of the compiler's words
TOO_LONG = "longer than a grammar may"


GROWTH_MAX = 4  # times what the first half of a trial takes, for the second half; ambiguity takes seven or more


@dataclass(frozen=True, slots=True)
class GrammarLimits:
    """How much work one grammar may cause, in llguidance's units of fuel (some 50 000 a millisecond at first) and in
    seconds of the thread that does it: an ambiguous grammar costs more with every token, and no fuel counts that."""

    initial_fuel: int = 10_000_000  # at compiling: about 200 ms
    step_fuel: int = 200_000  # for one mask: about 15 ms
    size: int = 500_000  # symbols
    states: int = 100_000  # of the lexer, 1 to 2 kB each
    row_items: int = 20_000  # that may be possible at one place
    step_items: int = 400_000  # for one mask: about 20 ms
    trial_tokens: int = 32  # that a client's own grammar is tried with before it is taken
    trial_seconds: float = 0.5  # that they may take
    growth_seconds: float = 0.005  # that they may take however the second half compares to the first
    answer_seconds: float = 1.0  # that one answer may take,
    token_seconds: float = 0.01  # and for each of its tokens


class CompiledGrammar:
    """One grammar, ready to be followed. See `troth.domain.Grammar`."""

    def __init__(self, source: GrammarSource, matcher: LLMatcher) -> None:
        self.source = source
        self._matcher = matcher
        self._lock = threading.Lock()

    def start(self) -> LLMatcher:
        """A matcher at the beginning, for one answer."""
        with self._lock:
            return self._matcher.deep_copy()


class Guides:
    """Compiles grammars for one vocabulary. Safe from any thread."""

    def __init__(
        self,
        tokenizer: LLTokenizer,
        size: int,
        limits: GrammarLimits | None = None,
        in_use: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        """`in_use`: what the tokenizer reads stays while one is entered; it may raise Unavailable."""
        self._in_use = in_use
        self._tokenizer = tokenizer
        self._size = size
        self._limits = limits or GrammarLimits()
        self._kept: OrderedDict[GrammarSource, CompiledGrammar] = OrderedDict()
        self._lock = threading.Lock()

    def compile(self, source: GrammarSource) -> CompiledGrammar:
        """The grammar of this source. Blocks for up to some hundred milliseconds.

        Raises GrammarFault in the compiler's words.
        """
        with self._lock:
            if (known := self._kept.get(source)) is not None:
                self._kept.move_to_end(source)
                return known
        with self._in_use():
            compiled = CompiledGrammar(source, self._made(source))
        with self._lock:
            self._kept[source] = compiled
            while len(self._kept) > KEPT_GRAMMARS:
                self._kept.popitem(last=False)
        return compiled

    def _made(self, source: GrammarSource) -> LLMatcher:
        from llguidance import LLMatcher

        matcher = LLMatcher(self._tokenizer, _assembled(source), log_level=0, limits=self._parser_limits())
        if matcher.is_error():
            raise GrammarFault(_words(matcher.get_error()))
        self._try(matcher.deep_copy())
        if any(kind == "gbnf" for _, kind, _ in source.patterns):
            self._try_on(matcher.deep_copy())
        for text in source.openings:
            if not self._letters.read(text, matcher.deep_copy()):
                raise GrammarFault(f"it does not begin with its trigger {text.decode('utf-8', 'replace')!r}")
        return matcher

    def _try(self, matcher: LLMatcher) -> None:
        """The first token has been thought of, which is dear for some grammars. Raises GrammarFault without one."""
        bits = np.zeros((self._size + WORD_BITS - 1) // WORD_BITS, np.int32)
        matcher.unsafe_compute_mask_ptr(bits.ctypes.data, bits.nbytes)
        if matcher.stop_reason().startswith(DEAD) or not bits.any():
            raise GrammarFault("no answer can have this form")
        if matcher.is_error():
            fault = _words(matcher.get_error())
            raise GrammarFault("no answer can have this form" if fault.startswith(DEAD) else fault)

    def _try_on(self, matcher: LLMatcher) -> None:
        """Some tokens of an answer have been thought of. Raises GrammarFault when they took too long.

        They are the longest that may follow, one after the other: of an ambiguous grammar these cost most, and each
        more than the one before.
        """
        limits, every = self._limits, self._lengths  # made once, which must not count
        started = time.thread_time()
        bits = np.zeros((self._size + WORD_BITS - 1) // WORD_BITS, np.int32)
        half = spent = 0.0
        for number in range(limits.trial_tokens):
            matcher.unsafe_compute_mask_ptr(bits.ctypes.data, bits.nbytes)
            lengths = np.where(_unpacked(bits, self._size), every, 0)
            if matcher.is_error() or not lengths.any():
                break
            matcher.consume_token(int(lengths.argmax()))
            spent = time.thread_time() - started
            if number < limits.trial_tokens // 2:
                half = spent
            if spent > limits.trial_seconds:
                break
            if matcher.is_error() or matcher.is_stopped():
                break
        if matcher.stop_reason().endswith(TOO_COMPLEX):
            raise GrammarFault(_words(matcher.get_error()))
        if spent > limits.trial_seconds or (spent > limits.growth_seconds and spent - half > GROWTH_MAX * half):
            raise GrammarFault("it is too ambiguous: every token takes longer than the one before")

    @cached_property
    def _letters(self) -> Letters:
        tokens, tokenizer = range(self._size), self._tokenizer
        controls = frozenset(token for token in tokens if tokenizer.is_special_token(token))
        return Letters([tokenizer.decode_bytes([token]) for token in tokens], controls)

    @cached_property
    def _lengths(self) -> npt.NDArray[np.int64]:
        """How many bytes of text every token adds, [vocabulary]."""
        return np.array([len(self._letters.text(token)) for token in range(self._size)], np.int64)

    def guide(self, steering: Steering) -> Guide:
        """A guide for one answer."""
        grammar = steering.grammar
        assert grammar is None or isinstance(grammar, CompiledGrammar), "a grammar of another engine"
        if grammar is None or steering.triggers is None:
            return Guide(None if grammar is None else grammar.start(), steering, self._size, self._limits)
        waiting = Waiting(steering.triggers, self._letters, grammar.start)
        return Guide(None, steering, self._size, self._limits, waiting)

    def _parser_limits(self) -> LLParserLimits:
        from llguidance import LLParserLimits

        limits = self._limits
        return LLParserLimits(
            initial_lexer_fuel=limits.initial_fuel,
            step_lexer_fuel=limits.step_fuel,
            max_grammar_size=limits.size,
            max_lexer_states=limits.states,
            max_items_in_row=limits.row_items,
            step_max_items=limits.step_items,
            verbose_errors=False,
        )


class Guide:
    """Says which tokens one answer may go on with. Belongs to the thread that picks its tokens."""

    def __init__(
        self,
        matcher: LLMatcher | None,
        steering: Steering,
        size: int,
        limits: GrammarLimits,
        waiting: Waiting[LLMatcher] | None = None,
    ) -> None:
        """`size`: tokens of the vocabulary. `waiting`: the grammar that will begin."""
        thoughts = steering.thoughts
        self._matcher = matcher
        self._waiting = waiting
        self._field = steering.field
        self._seconds_left = limits.answer_seconds
        self._token_seconds = limits.token_seconds
        self._bounds = thoughts
        self._size = size
        self._bits = np.zeros((size + WORD_BITS - 1) // WORD_BITS, np.int32)
        self._is_thinking = thoughts is not None and thoughts.is_open
        self._is_first = True
        self._latest: tuple[int, ...] = ()  # tokens, as many as the marker of reasoning has
        self._count = 0
        self._closed_at: int | None = None
        self.fault: str | None = None  # why the answer cannot go on
        self.fault_field: str | None = None  # the field that asks for what cannot be; None: no field does

    @property
    def is_complete(self) -> bool:
        """True when nothing can follow but the end of the answer."""
        return self._matcher is not None and self._matcher.is_stopped() and self._matcher.is_accepting()

    @property
    def thoughts(self) -> ThoughtCount:
        """What is known of the reasoning so far."""
        assert self._bounds is None or self._closed_at is None or self._bounds.budget_tokens is not None
        by = self._bounds.closed_by if self._bounds is not None and self._closed_at is not None else None
        return ThoughtCount(self._count, self._closed_at, by)

    @property
    def is_free(self) -> bool:
        """True when any token may come next."""
        return self._matcher is None and self._waiting is None and not self._bars_thoughts

    @property
    def is_waiting(self) -> bool:
        """True while the grammar has not begun. Whether a token may come next is then known token by token."""
        return self._waiting is not None

    def forced(self) -> int | None:
        """The one token that must come next, or None: the end marker, once the reasoning has used its budget."""
        bounds = self._bounds
        if bounds is None or not self._is_thinking or bounds.budget_tokens is None:
            return None
        return bounds.end if self._count >= bounds.budget_tokens else None

    def accepts(self, token: int) -> bool:
        """True when this token may come next. Costs some microseconds."""
        if self._bars_thoughts and self._bounds is not None and (token,) == self._bounds.begin:
            return False
        if self._waiting is not None:
            return self._is_thinking or self._waiting.begins(token)[1]
        return self._matcher is None or self._matcher.validate_tokens([token]) == 1

    def allowed(self) -> Allowed:
        """Which tokens may come next, [vocabulary]."""
        if self._matcher is None:
            allowed = np.ones(self._size, np.bool_)
        else:
            started = time.thread_time()
            self._matcher.unsafe_compute_mask_ptr(self._bits.ctypes.data, self._bits.nbytes)
            self._spend(time.thread_time() - started)
            allowed = _unpacked(self._bits, self._size)
        if self._bars_thoughts and self._bounds is not None:
            allowed[list(self._bounds.begin)] = False
        if not allowed.any():
            self._fail("no token can follow")
        return allowed

    def bar(self, why: str, field: str) -> None:
        """The answer cannot go on, for something else that the request asks for by this field."""
        self._fail(why, field)

    def took(self, token: int) -> None:
        """The token is part of the answer."""
        was_thinking = self._is_thinking
        self._note_thought(token)
        if self._waiting is not None:
            if not was_thinking and not self._is_thinking:
                self._wait_on(self._waiting, token)
            return
        matcher = self._matcher
        if matcher is None:
            return
        started = time.thread_time()
        is_taken = matcher.consume_token(token)
        self._spend(time.thread_time() - started - self._token_seconds)
        if not is_taken:
            self._fail(matcher.get_error() or f"token {token} was not allowed")
        else:
            self._check(matcher)

    def _wait_on(self, waiting: Waiting[LLMatcher], token: int) -> None:
        matcher, may_come = waiting.begins(token)
        waiting.pass_by(token)
        if matcher is not None:
            self._matcher, self._waiting = matcher, None
            self._check(matcher)
        elif not may_come:
            self.bar("what came with its trigger has not the form", self._field)

    def _check(self, matcher: LLMatcher) -> None:
        if matcher.is_error() or (matcher.is_stopped() and not matcher.is_accepting()):
            self._fail(matcher.get_error() or "it came to where nothing can follow")

    def _spend(self, seconds: float) -> None:
        """The grammar has taken so long. An answer that takes more than it may is over."""
        self._seconds_left -= seconds
        if self._seconds_left < 0:
            self._fail(f"the grammar is too ambiguous: it takes {TOO_LONG}", self._field)

    @property
    def _bars_thoughts(self) -> bool:
        """Reasoning that has a budget is not opened a second time: that costs nothing.

        A marker of several tokens is let pass: the end is then forced at once.
        """
        bounds = self._bounds
        if bounds is None or bounds.budget_tokens is None or len(bounds.begin) != 1:
            return False
        return not self._is_thinking and not self._is_first

    def _note_thought(self, token: int) -> None:
        bounds = self._bounds
        if bounds is None:
            return
        if not self._is_thinking:
            size = len(bounds.begin)
            self._latest = (*self._latest, token)[-size:] if size else ()
            self._is_thinking = size > 0 and self._latest == bounds.begin
            self._count += self._is_thinking
        elif token == bounds.end:
            if bounds.budget_tokens is not None and self._count >= bounds.budget_tokens:
                self._closed_at = self._count
            self._is_thinking = False
        else:
            self._count += 1
        self._is_first = False

    def _fail(self, why: str, field: str | None = None) -> None:
        if self.fault is None:
            if self._matcher is not None and self._matcher.stop_reason().endswith(TOO_COMPLEX):
                field = self._field
            self.fault, self.fault_field = _words(why), field


def _unpacked(bits: npt.NDArray[np.int32], size: int) -> Allowed:
    return np.unpackbits(bits.view(np.uint8), count=size, bitorder="little").view(np.bool_)


def _words(fault: str) -> str:
    """A compiler's words without its state and its stack."""
    for inner in ("<state>", "<backtrace>", "<non-verbose", "\nstack backtrace"):
        fault = fault.partition(inner)[0]
    if fault.lstrip().startswith("panic"):
        return "it is too large or too complex"
    lines = [line.strip() for line in fault.strip().splitlines() if line.strip()]
    return " ".join(lines)[:FAULT_LENGTH_MAX] or "it cannot be followed"


def _assembled(source: GrammarSource) -> str:
    """The source in llguidance's JSON form."""
    parts: list[dict[str, Any]] = [{"name": "answer", "lark_grammar": source.rules}]
    for name, kind, text in source.patterns:
        match kind:
            case "json_schema":
                parts.append({"name": name, "json_schema": json.loads(text)})
            case "lark":
                parts.append({"name": name, "lark_grammar": text})
            case "regex" | "gbnf":
                parts.append({"name": name, "lark_grammar": _as_lark(kind, text)})
    return json.dumps({"grammars": parts})


def _as_lark(kind: Literal["regex", "gbnf"], text: str) -> str:
    from llguidance import regex_to_lark

    if kind == "regex":
        return f"start: /{regex_to_lark(text)}/"
    try:
        return lark_of(text)
    except GbnfFault as fault:
        raise GrammarFault(str(fault)[:FAULT_LENGTH_MAX]) from fault
    except RecursionError as error:
        raise GrammarFault("it is nested too deep") from error
