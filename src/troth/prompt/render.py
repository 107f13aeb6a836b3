"""What does the model see? A Plan comes in, token ids and the room that is left to answer go out.

Templates and tokenising take milliseconds per kilobyte, so they run on threads of this room, never on
the event loop. What a conversation means and when it runs is decided elsewhere.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from troth.domain import Gap, Plan, Prompt, RawText, Talk, TokenIds
from troth.engines.base import Vocabulary
from troth.errors import BadRequest, NotImplementedHere, OverContext, QueueFull
from troth.prompt.bias import by_token
from troth.prompt.gap import GapTokens, gap_to_fill
from troth.prompt.messages import SystemMessages, normal_form
from troth.prompt.quotation import Quotation, each_text
from troth.prompt.raw import Written, raw_text
from troth.prompt.template import Template, TemplateLimits
from troth.prompt.variables import client_variables

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptSettings:
    """The knobs of this room; names are those of the config file, sections left out."""

    system_messages: SystemMessages = "hoist"
    prompt_threads: int = 1
    queue_max: int = 64  # prompts that wait for a thread; one more gets 429
    template: TemplateLimits = field(default_factory=TemplateLimits)
    gap_tokens: GapTokens = field(default_factory=GapTokens)


@dataclass(frozen=True, slots=True)
class Script:
    """What turns conversations into tokens for one loaded model."""

    template: Template
    quotation: Quotation
    control_texts: tuple[str, ...]


class Prompts:
    """Renders plans into prompts on a bounded number of threads."""

    def __init__(self, settings: PromptSettings, templates: Mapping[str, str] | None = None) -> None:
        """`templates`: by model id, the operator's Jinja source that replaces the model's own."""
        self._settings = settings
        self._templates = dict(templates or {})
        self._scripts: dict[str, Script] = {}
        self._threads = ThreadPoolExecutor(settings.prompt_threads, thread_name_prefix="prompt")
        self._pending = 0

    async def render(self, plan: Plan, *, vocabulary: Vocabulary, context_tokens: int) -> Prompt:
        """The prompt of the plan, with the answer's budget fitted into the context.

        Raises: NotImplementedHere without a chat template or tokens to fill gaps with, BadRequest in the words
        of the template or for an empty prompt, OverContext when the prompt alone fills the context, QueueFull.
        """
        return await self.aside(lambda: self._render(plan, vocabulary, context_tokens))

    async def write(self, plan: Plan, *, vocabulary: Vocabulary, context_tokens: int) -> Written:
        """What the model would read, however long it is. Raises what `render` raises but for OverContext."""
        return await self.aside(lambda: self._write(plan, vocabulary, context_tokens))

    async def aside(self, work: Callable[[], T]) -> T:
        """What `work` returns, done on a thread of this room. Raises QueueFull."""
        if self._pending >= self._settings.queue_max + self._settings.prompt_threads:
            raise QueueFull(self._pending, retry_seconds=1)
        self._pending += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        finally:
            self._pending -= 1

    def template(self, model_id: str, vocabulary: Vocabulary) -> Template:
        """The compiled chat template of a model, its own or the operator's. Raises NotImplementedHere."""
        return self._script(model_id, vocabulary).template

    def close(self) -> None:
        """No prompt is rendered any more; those that wait are dropped."""
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _render(self, plan: Plan, vocabulary: Vocabulary, context_tokens: int) -> Prompt:
        bias = by_token(plan.ask.logit_bias, vocabulary)
        shown = shown_ids(plan.ask.shown_tokens, vocabulary)
        written = self._write(plan, vocabulary, context_tokens)
        if not len(written.tokens):
            raise BadRequest(
                "The prompt is empty.", param="messages" if isinstance(plan.ask.source, Talk) else "prompt"
            )
        if len(written.tokens) >= context_tokens:
            raise OverContext(len(written.tokens), context_tokens)
        fit = plan.budget.fit(len(written.tokens), context_tokens)
        if fit.clamped_from is not None and plan.budget.refuses:
            field = plan.ask.budget_field
            raise BadRequest(
                f"`{field}` is {fit.clamped_from}; beside a prompt of {len(written.tokens)} tokens the context leaves "
                f"{fit.answer_tokens}.",
                param=field,
                details={"answer_tokens_max": fit.answer_tokens},
            )
        return Prompt(written.tokens, fit.answer_tokens, context_tokens, bias, fit.clamped_from, written.text, shown)

    def _write(self, plan: Plan, vocabulary: Vocabulary, context_tokens: int) -> Written:
        match plan.ask.source:
            case Talk() as talk:
                return self._talk(talk, self._script(plan.model.id, vocabulary), vocabulary)
            case RawText() as raw:
                return raw_text(raw, vocabulary)
            case Gap() as gap:
                return gap_to_fill(gap, plan.model.id, vocabulary, context_tokens, self._settings.gap_tokens)

    def _talk(self, talk: Talk, script: Script, vocabulary: Vocabulary) -> Written:
        text = rendered(talk, script, vocabulary, self._settings.system_messages)
        return Written(tokenize(text, script.quotation, vocabulary), script.quotation.plain(text))

    def _script(self, model_id: str, vocabulary: Vocabulary) -> Script:
        """Compiled at first use and again only when the model behind the id has changed."""
        source = self._templates.get(model_id) or vocabulary.chat_template
        if not source:
            raise NotImplementedHere(f"The model {model_id} has no chat template. Use /v1/completions instead.")
        known = self._scripts.get(model_id)
        if known and known.template.source == source and known.control_texts == vocabulary.control_texts:
            return known
        controls = vocabulary.control_texts
        script = Script(Template(source, self._settings.template), Quotation(controls), controls)
        self._scripts[model_id] = script
        return script


def rendered(talk: Talk, script: Script, vocabulary: Vocabulary, system_messages: SystemMessages) -> str:
    """The rendered conversation, quoted. Rendered twice only when content might meet a half-written mark."""
    messages = normal_form(talk.turns, system_messages)
    kwargs = client_variables(talk.template_kwargs, script.template)
    quotation = script.quotation
    meets = False

    def render(change: Callable[[str], str]) -> str:
        variables = {name: each_text(value, change, quotation.quote) for name, value in kwargs.items()}
        variables |= {
            "messages": [_changed(message, change) for message in messages],
            "add_generation_prompt": talk.add_generation_prompt,
            "bos_token": vocabulary.bos_text,
            "eos_token": vocabulary.eos_text,
        }
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


def shown_ids(texts: tuple[str, ...], vocabulary: Vocabulary) -> frozenset[int]:
    """The control tokens with these texts. Raises BadRequest naming a text that is not one token."""
    found: list[int] = []
    for text in texts:
        tokens = vocabulary.tokenize(text, special=True, bos=False)
        if len(tokens) != 1:
            raise BadRequest(f"`preserved_tokens` has {text[:64]!r}, which is not one token.", param="preserved_tokens")
        found.append(int(tokens[0]))
    return frozenset(found)


def _changed(message: dict[str, str], change: Callable[[str], str]) -> dict[str, str]:
    """The message with the client's texts changed; the role is the server's own word."""
    return {key: text if key == "role" else change(text) for key, text in message.items()}
