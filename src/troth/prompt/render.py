"""What does the model see? A Plan comes in, token ids and the room that is left to answer go out.

Templates and tokenising take milliseconds per kilobyte, so they run on threads of this room, never on
the event loop. What a conversation means and when it runs is decided elsewhere.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TypeVar

from troth.domain import NO_VIEWS, Fit, Gap, Plan, Prompt, RawText, Talk, Views
from troth.engines.base import Compiles, Vocabulary
from troth.errors import BadRequest, NotImplementedHere, OverContext, QueueFull
from troth.prompt.bias import by_token
from troth.prompt.gap import GapTokens, gap_to_fill
from troth.prompt.holding import SILENT, Voice, readers_of, shown_texts, steering_of, voice_of
from troth.prompt.messages import SystemMessages, normal_form
from troth.prompt.raw import Written, raw_text
from troth.prompt.script import Script, make_script
from troth.prompt.talk import write_talk
from troth.prompt.template import Template, TemplateLimits
from troth.prompt.thinking import Room, ThoughtLimits

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptSettings:
    """The knobs of this room; names are those of the config file, sections left out."""

    system_messages: SystemMessages = "hoist"
    prompt_threads: int = 1
    queue_max: int = 64  # prompts that wait for a thread; one more gets 429
    template: TemplateLimits = field(default_factory=TemplateLimits)
    gap_tokens: GapTokens = field(default_factory=GapTokens)
    thoughts: ThoughtLimits = field(default_factory=ThoughtLimits)


class Prompts:
    """Renders plans into prompts on a bounded number of threads."""

    def __init__(
        self,
        settings: PromptSettings,
        templates: Mapping[str, str] | None = None,
        formats: Mapping[str, str] | None = None,
    ) -> None:
        """By model id: `templates`, the operator's Jinja source that replaces the model's own; `formats`, the name
        of the format of calls that the operator chose."""
        self._settings = settings
        self._templates = dict(templates or {})
        self._formats = dict(formats or {})
        self._scripts: dict[str, Script] = {}
        self._threads = ThreadPoolExecutor(settings.prompt_threads, thread_name_prefix="prompt")
        self._pending = 0

    async def render(
        self,
        plan: Plan,
        *,
        vocabulary: Vocabulary,
        context_tokens: int,
        grammars: Compiles | None = None,
        views: Views = NO_VIEWS,
    ) -> Prompt:
        """The prompt of the plan, with the answer's budget fitted into the context, and what holds the answer.
        `views` has what is read in the place of each of its media.

        Raises: NotImplementedHere without a chat template or tokens to fill gaps with, BadRequest in the words
        of the template, for an empty prompt, or for a form that cannot be held, OverContext when the prompt alone
        fills the context, QueueFull.
        """
        return await self.aside(lambda: self._render(plan, vocabulary, context_tokens, grammars, views))

    async def write(
        self, plan: Plan, *, vocabulary: Vocabulary, context_tokens: int, views: Views = NO_VIEWS
    ) -> Written:
        """What the model would read, however long it is. Raises what `render` raises but for OverContext."""
        return await self.aside(lambda: self._write(plan, vocabulary, context_tokens, views)[0])

    def arranged(self, plan: Plan) -> Plan:
        """The plan with its conversation in normal form, for an engine that renders it elsewhere. Raises BadRequest."""
        source = plan.ask.source
        if not isinstance(source, Talk):
            return plan
        turns = tuple(normal_form(source.turns, self._settings.system_messages))
        return replace(plan, ask=replace(plan.ask, source=replace(source, turns=turns)))

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

    async def look_at(self, model_id: str, vocabulary: Vocabulary) -> None:
        """The template of a model, if it has one that compiles, is ready for its first conversation."""
        try:
            await self.aside(lambda: self._script(model_id, vocabulary))
        except NotImplementedHere:
            return  # conversations with this model are refused in the same words

    def known(self, model_id: str) -> Script | None:
        """What is known of a model's template by now."""
        return self._scripts.get(model_id)

    def close(self) -> None:
        """No prompt is rendered any more; those that wait are dropped."""
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _render(
        self, plan: Plan, vocabulary: Vocabulary, context_tokens: int, grammars: Compiles | None, views: Views
    ) -> Prompt:
        ask = plan.ask
        bias = by_token(ask.logit_bias, vocabulary)
        shown = shown_ids(ask.shown_tokens, vocabulary)
        written, voice = self._write(plan, vocabulary, context_tokens, views)
        fit = self._fit(plan, len(written.tokens), context_tokens)
        return Prompt(
            written.tokens,
            fit.answer_tokens,
            context_tokens,
            bias,
            fit.clamped_from,
            written.text,
            shown | control_ids(shown_texts(voice), vocabulary),
            steering_of(plan, voice, vocabulary, grammars, Room(fit.answer_tokens, self._settings.thoughts)),
            readers_of(ask.source, voice) if isinstance(ask.source, Talk) else None,
            views=written.views,
        )

    @staticmethod
    def _fit(plan: Plan, prompt_tokens: int, context_tokens: int) -> Fit:
        if not prompt_tokens:
            raise BadRequest(
                "The prompt is empty.", param="messages" if isinstance(plan.ask.source, Talk) else "prompt"
            )
        if prompt_tokens >= context_tokens:
            raise OverContext(prompt_tokens, context_tokens)
        fit = plan.budget.fit(prompt_tokens, context_tokens)
        if fit.clamped_from is not None and plan.budget.refuses:
            field = plan.ask.budget_field
            raise BadRequest(
                f"`{field}` is {fit.clamped_from}; beside a prompt of {prompt_tokens} tokens the context leaves "
                f"{fit.answer_tokens}.",
                param=field,
                details={"answer_tokens_max": fit.answer_tokens},
            )
        return fit

    def _write(self, plan: Plan, vocabulary: Vocabulary, context_tokens: int, views: Views) -> tuple[Written, Voice]:
        match plan.ask.source:
            case Talk() as talk:
                script = self._script(plan.model.id, vocabulary)
                told = write_talk(talk, script, vocabulary, self._settings.system_messages, views)
                voice = voice_of(talk, script, is_thinking=told.is_thinking)
                return Written(told.tokens, told.text, told.views), voice
            case RawText() as raw:
                return raw_text(raw, vocabulary, views), SILENT
            case Gap() as gap:
                filled = gap_to_fill(gap, plan.model.id, vocabulary, context_tokens, self._settings.gap_tokens)
                return filled, SILENT

    def _script(self, model_id: str, vocabulary: Vocabulary) -> Script:
        """Compiled at first use and again only when the model behind the id has changed."""
        source = self._templates.get(model_id) or vocabulary.chat_template
        if not source:
            raise NotImplementedHere(f"The model {model_id} has no chat template. Use /v1/completions instead.")
        known = self._scripts.get(model_id)
        if known and known.template.source == source and known.control_texts == vocabulary.control_texts:
            return known
        script = make_script(Template(source, self._settings.template), vocabulary, self._formats.get(model_id))
        self._scripts[model_id] = script
        return script


def shown_ids(texts: tuple[str, ...], vocabulary: Vocabulary) -> frozenset[int]:
    """The control tokens with these texts. Raises BadRequest naming a text that is not one token."""
    found: list[int] = []
    for text in texts:
        tokens = vocabulary.tokenize(text, special=True, bos=False)
        if len(tokens) != 1:
            raise BadRequest(f"`preserved_tokens` has {text[:64]!r}, which is not one token.", param="preserved_tokens")
        found.append(int(tokens[0]))
    return frozenset(found)


def control_ids(texts: tuple[str, ...], vocabulary: Vocabulary) -> frozenset[int]:
    """Those of the texts that are one control token each."""
    controls = frozenset(vocabulary.control_texts)
    found = (vocabulary.tokenize(text, special=True, bos=False) for text in texts if text in controls)
    return frozenset(int(tokens[0]) for tokens in found if len(tokens) == 1)
