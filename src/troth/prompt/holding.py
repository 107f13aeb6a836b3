"""How the answer to a prompt is held and read: the grammar and the bounds for the engine, the reader for the text."""

from __future__ import annotations

from dataclasses import dataclass

from troth.domain import NO_TOOLS, Form, PartReader, Plan, ReaderFactory, Steering, Talk, ToolRules, Triggers
from troth.engines.base import Compiles, Vocabulary
from troth.errors import BadRequest, NotImplementedHere
from troth.formats.base import CallFormat, Reader
from troth.formats.reading import ChoiceReader, WordsReader
from troth.formats.registry import FORMATS, GENERIC
from troth.formats.thoughts import ThoughtReader, ThoughtSyntax
from troth.prompt.grammar import Shape, compiled, is_held
from troth.prompt.script import Script
from troth.prompt.thinking import Room, thought_bounds


@dataclass(frozen=True, slots=True, kw_only=True)
class Voice:
    """How an answer is written: which syntax its reasoning and its calls have, and which of both may come."""

    thoughts: ThoughtSyntax | None
    calls: CallFormat
    rules: ToolRules
    is_thinking: bool  # it begins inside a block of reasoning


SILENT = Voice(thoughts=None, calls=FORMATS[GENERIC], rules=NO_TOOLS, is_thinking=False)


def voice_of(talk: Talk, script: Script, *, is_thinking: bool) -> Voice:
    """The voice in which the model will answer. Raises BadRequest where calls must be made and not be read."""
    rules = talk.tools
    if not rules.reads_calls:
        if rules.mode == "required":
            raise BadRequest(
                "`parse_tool_calls` is false and `tool_choice` demands a call: calls that must be made are read.",
                param="parse_tool_calls",
                code="conflicting_values",
            )
        rules = NO_TOOLS
    return Voice(thoughts=script.thoughts, calls=script.calls, rules=rules, is_thinking=is_thinking)


def shown_texts(voice: Voice) -> tuple[str, ...]:
    """Markers that must be seen in the text of the answer, even where they are control tokens."""
    shown: tuple[str, ...] = ()
    if voice.thoughts is not None:
        shown += (voice.thoughts.begin.strip(), voice.thoughts.end.strip())
    if voice.rules.callable or _reads_everything(voice):
        shown += tuple(voice.calls.markers)
    return shown


def steering_of(
    plan: Plan, voice: Voice, vocabulary: Vocabulary, grammars: Compiles | None, room: Room
) -> Steering | None:
    """What holds the tokens of the answer; None when nothing does.

    Raises: BadRequest for what cannot be held, NotImplementedHere when the engine follows no grammars.
    """
    ask = plan.ask
    bounds = None
    if isinstance(ask.source, Talk):
        bounds = thought_bounds(ask.source.thinking, voice.thoughts, vocabulary, is_open=voice.is_thinking, room=room)
    shape = Shape(
        form=ask.form,
        rules=voice.rules,
        calls=voice.calls,
        thoughts=None if _is_off(ask.source) else voice.thoughts,
        is_thinking=voice.is_thinking,
    )
    if not is_held(shape):
        return None if bounds is None else Steering(thoughts=bounds)
    if grammars is None:
        raise NotImplementedHere(f"The engine {plan.model.engine} cannot hold an answer to a form.")
    field = ask.form.path if ask.form is not None else "tools"
    if ask.form is None or not ask.form.triggers:
        return Steering(thoughts=bounds, grammar=compiled(shape, vocabulary, grammars), field=field)
    triggers = _triggers_of(ask.form, vocabulary)
    openings = (*triggers.words, *(vocabulary.piece(token) for token in sorted(triggers.tokens)))
    return Steering(
        thoughts=bounds,
        grammar=compiled(shape, vocabulary, grammars, openings),
        triggers=triggers,
        field=field,
    )


def _triggers_of(form: Form, vocabulary: Vocabulary) -> Triggers:
    """What starts the form: words that are control tokens are meant as such. Raises BadRequest for no token."""
    words: list[bytes] = []
    tokens: set[int] = set()
    for place, trigger in enumerate(form.triggers):
        if isinstance(trigger, int):
            if trigger >= vocabulary.size:
                path = f"grammar_triggers.{place}.token"
                raise BadRequest(f"`{path}` is {trigger}; this model has {vocabulary.size} tokens.", param=path)
            tokens.add(trigger)
        elif trigger in vocabulary.control_texts:
            tokens.update(vocabulary.tokenize(trigger, special=True, bos=False).tolist())
        else:
            words.append(trigger.encode("utf-8", "replace"))
    return Triggers(words=tuple(words), tokens=frozenset(tokens))


def readers_of(talk: Talk, voice: Voice) -> ReaderFactory | None:
    """How the text of each choice is read; None when all of it is words."""
    tools = voice.rules.callable
    reads_all = _reads_everything(voice)
    separates = voice.thoughts is not None and talk.thinking.separate and not reads_all
    if not tools and not separates and not reads_all:
        return None

    def reader(choice: int) -> PartReader:
        inner: Reader = voice.calls.reader(tools) if tools or reads_all else WordsReader()
        if separates and voice.thoughts is not None:
            inner = ThoughtReader(voice.thoughts, inner, is_open=voice.is_thinking)
        return ChoiceReader(inner, choice)

    return reader


def _reads_everything(voice: Voice) -> bool:
    """True for a format whose own reader tells reasoning, words and calls apart."""
    return voice.thoughts is not None and voice.thoughts.format == voice.calls.name


def _is_off(source: object) -> bool:
    return isinstance(source, Talk) and source.thinking.enabled is False
