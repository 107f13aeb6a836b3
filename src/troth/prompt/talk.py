"""A conversation as the model reads it: rendered by the chat template, quoted, and turned into tokens."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from troth.domain import Talk, TokenIds, Turn
from troth.engines.base import Vocabulary
from troth.errors import BadRequest
from troth.prompt.messages import Message, SystemMessages, called_names, message_of, normal_form
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


def write_talk(talk: Talk, script: Script, vocabulary: Vocabulary, system_messages: SystemMessages) -> WrittenTalk:
    """The conversation as the model reads it.

    Raises: BadRequest in the template's words, and for what the template cannot say.
    """
    text = rendered(talk, script, vocabulary, system_messages)
    if talk.continues:
        text = _cut(text)
    else:
        text += closing_text(talk.thinking, script, text) if talk.add_generation_prompt else ""
    plain = script.quotation.plain(text)
    is_thinking = talk.add_generation_prompt and not talk.continues and begins_inside(plain, script.thoughts)
    return WrittenTalk(tokenize(text, script.quotation, vocabulary), plain, is_thinking)


def rendered(talk: Talk, script: Script, vocabulary: Vocabulary, system_messages: SystemMessages) -> str:
    """The rendered conversation, quoted. Rendered twice only when content might meet a half-written mark."""
    turns = normal_form(talk.turns, system_messages)
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
            "messages": [_changed(message, change, quotation) for message in messages],
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
    return enclosed if quotation.control_count(enclosed) < quotation.control_count(text) else text


def tokenize(text: str, quotation: Quotation, vocabulary: Vocabulary) -> TokenIds:
    """The token ids of a rendered, quoted text, with the model's BOS once if it wants one."""
    bos = vocabulary.adds_bos and not (vocabulary.bos_text and text.startswith(vocabulary.bos_text))
    arrays: list[TokenIds] = []
    for part, special in quotation.parts(text):
        arrays.append(vocabulary.tokenize(part, special=special, bos=bos and not arrays))
    if not arrays:
        return np.empty(0, np.int32)
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def _messages(turns: list[Turn], talk: Talk, script: Script) -> list[Message]:
    names = called_names(turns)
    messages = [message_of(turn, names=names, text_arguments=script.takes_text_arguments) for turn in turns]
    if talk.continues:
        messages[-1]["content"] += CUT
    return messages


def _changed(message: Message, change: Callable[[str], str], quotation: Quotation) -> Message:
    """The message with the client's texts changed; the role is the server's own word."""
    changed: Message = {}
    for key, value in message.items():
        if key == "role":
            changed[key] = value
        elif key == "content" and value.endswith(CUT):
            changed[key] = change(value.removesuffix(CUT)) + CUT
        else:
            changed[key] = each_text(value, change, quotation.quote, path=f"messages.{key}")
    return changed


def _cut(text: str) -> str:
    """The text up to where the continued message ends."""
    before, mark, _ = text.partition(CUT)
    if not mark:
        raise BadRequest(
            "The last message cannot be continued: this model's chat template does not show it as it stands.",
            param="messages",
        )
    return before
