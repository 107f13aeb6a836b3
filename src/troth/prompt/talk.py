"""A conversation as the model reads it: rendered by the chat template, quoted, and turned into tokens."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from troth.domain import NO_VIEWS, Medium, Talk, TokenIds, Turn, View, Views
from troth.engines.base import Vocabulary
from troth.errors import BadRequest
from troth.prompt.messages import Message, SystemMessages, called_names, message_of, normal_form
from troth.prompt.places import PLACE, SHOWN, Splice, check_places, pieces, with_places
from troth.prompt.quotation import NONCHARACTERS, Quotation, each_text
from troth.prompt.script import Script
from troth.prompt.thinking import begins_inside, closing_text, thinking_variables
from troth.prompt.tooling import as_text, template_tools
from troth.prompt.variables import client_variables

CUT = "".join(secrets.SystemRandom().choices(NONCHARACTERS, k=8))  # where a continued message ends; no client knows it


@dataclass(frozen=True, slots=True)
class WrittenTalk:
    """A conversation as tokens, [prompt_tokens], and as text; `is_thinking`: it ends inside a block of reasoning."""

    tokens: TokenIds
    text: str
    is_thinking: bool
    views: tuple[tuple[int, View], ...] = ()  # what is read in the place of media, and where it begins


def write_talk(
    talk: Talk, script: Script, vocabulary: Vocabulary, system_messages: SystemMessages, views: Views = NO_VIEWS
) -> WrittenTalk:
    """The conversation as the model reads it; `views` has what is read in the place of each of its media.

    Raises: BadRequest in the template's words, and for what the template cannot say.
    """
    text = rendered(talk, script, vocabulary, system_messages)
    if talk.continues:
        text = _cut(text)
    else:
        text += closing_text(talk.thinking, script, text) if talk.add_generation_prompt else ""
    check_places(text, talk.media)
    quotation = script.quotation
    plain = "".join(quotation.plain(piece) if isinstance(piece, str) else SHOWN for piece in pieces(text))
    is_thinking = talk.add_generation_prompt and not talk.continues and begins_inside(plain, script.thoughts)
    spliced = tokenize(text, quotation, vocabulary, talk.media, views)
    return WrittenTalk(spliced.tokens, plain, is_thinking, tuple(spliced.views))


def rendered(talk: Talk, script: Script, vocabulary: Vocabulary, system_messages: SystemMessages) -> str:
    """The rendered conversation, quoted. Rendered twice only when content might meet a half-written mark."""
    turns = with_places(normal_form(talk.turns, system_messages))
    tools: list[dict[str, Any]] = []
    if script.is_native:
        tools = template_tools(talk.tools)
    else:
        turns = as_text(turns, talk.tools)
    messages = _messages(turns, talk, script)
    kwargs = client_variables(talk.template_kwargs, script.template)
    told = thinking_variables(talk.thinking, script, kwargs)
    quotation = script.quotation
    meets = False

    def render(change: Callable[[str], str]) -> str:
        variables = {name: each_text(value, change, quotation.quote) for name, value in kwargs.items()}
        variables |= {
            **told,
            "messages": [_changed(message, change, script) for message in messages],
            "add_generation_prompt": talk.add_generation_prompt and not talk.continues,
            "bos_token": vocabulary.bos_text,
            "eos_token": vocabulary.eos_text,
        }
        if tools:
            variables["tools"] = each_text(tools, change, quotation.quote)
        return script.template.render(variables)

    def quote(text: str) -> str:
        nonlocal meets
        meets = meets or quotation.may_complete(text)
        return quotation.quote(text)

    text = render(quote)
    if not meets:
        return text
    enclosed = render(quotation.enclose)
    fewer = quotation.control_count(PLACE.sub("", enclosed)) < quotation.control_count(PLACE.sub("", text))
    return enclosed if fewer else text


def tokenize(
    text: str, quotation: Quotation, vocabulary: Vocabulary, media: Sequence[Medium] = (), views: Views = NO_VIEWS
) -> Splice:
    """The token ids of a rendered, quoted text, with the model's BOS once if it wants one, and its media in place."""
    bos = vocabulary.adds_bos and not (vocabulary.bos_text and text.startswith(vocabulary.bos_text))
    spliced = Splice()
    for piece in pieces(text):
        if isinstance(piece, int):
            if bos and not spliced.arrays:
                spliced.add(vocabulary.tokenize("", special=True, bos=True))
            spliced.add_medium(media[piece], views)
            continue
        for part, special in quotation.parts(piece):
            spliced.add(vocabulary.tokenize(part, special=special, bos=bos and not spliced.arrays))
    return spliced


def _messages(turns: list[Turn], talk: Talk, script: Script) -> list[Message]:
    names = called_names(turns)
    messages = [message_of(turn, names=names, text_arguments=script.takes_text_arguments) for turn in turns]
    if talk.continues:
        messages[-1]["content"] += CUT
    return messages


def _changed(message: Message, change: Callable[[str], str], script: Script) -> Message:
    """The message with the client's texts changed; the role is the server's own word, and so are places of media."""
    changed: Message = {}
    for key, value in message.items():
        if key == "role":
            changed[key] = value
        elif key == "content":
            said = change_around_places(value.removesuffix(CUT), change) + (CUT if value.endswith(CUT) else "")
            changed[key] = [{"type": "text", "text": said}] if script.takes_parts else said
        else:
            changed[key] = each_text(value, change, script.quotation.quote, path=f"messages.{key}")
    return changed


def change_around_places(text: str, change: Callable[[str], str]) -> str:
    """The text with everything changed but for the marks of media."""
    changed, done = "", 0
    for mark in PLACE.finditer(text):
        changed += (change(text[done : mark.start()]) if mark.start() > done else "") + mark.group()
        done = mark.end()
    return changed + change(text[done:])


def _cut(text: str) -> str:
    """The text up to where the continued message ends."""
    before, mark, _ = text.partition(CUT)
    if not mark:
        raise BadRequest(
            "The last message cannot be continued: this model's chat template does not show it as it stands.",
            param="messages",
        )
    return before
