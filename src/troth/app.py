"""The composition root: a configuration becomes rooms, and the rooms become one running server.

Everything is built once, top to bottom, before the first request; nothing is looked up later. The
server listens while its models load, and says so on /health; a model that cannot load ends it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any

from starlette.types import ASGIApp

from troth import __version__
from troth._generated.fields import FIELDS
from troth.config.schema import Config
from troth.conversation import Conversation
from troth.deciding import KIND, Decisions
from troth.dialects.anthropic_messages import AnthropicMessages
from troth.dialects.decision_form import DecisionForm
from troth.dialects.decisions import SystemOne
from troth.dialects.engine_state import Engines
from troth.dialects.model_slots import ModelSlots, SlotWords
from troth.dialects.models import Models
from troth.dialects.moderations import ModerationRoutes
from troth.dialects.native import Native
from troth.dialects.openai_chat import OpenAIChat
from troth.dialects.openai_completions import OpenAICompletions
from troth.dialects.openai_responses import OpenAIResponses
from troth.dialects.prefix_cache import PrefixCaches
from troth.dialects.served import ModelState, Speech
from troth.dialects.sessions import Sessions
from troth.dialects.slots import Slots
from troth.dialects.status import Status
from troth.dialects.streams import StreamSettings
from troth.dialects.tokens import Tokens
from troth.dialects.vectors import VectorRoutes
from troth.domain import Call, ServedModel
from troth.edge.assembly import create_asgi
from troth.engines.base import Generates
from troth.fleet.fleet import Fleet
from troth.keeping import Kept, KeptEngines, Pull
from troth.listening import PatientServer, StartFault, listen, url_of
from troth.media.room import MediaRoom
from troth.moderating import Moderations
from troth.omni.loop import Omni
from troth.policy.decide import Policy
from troth.prompt.render import Prompts
from troth.prompt.script import Script
from troth.reply.text import TextInterpreters
from troth.settings import (
    FAREWELL_SECONDS,
    classifiers,
    decision_limits,
    edge_settings,
    fleet_settings,
    media_settings,
    moderation_limits,
    omni_limits,
    policy_settings,
    prompt_settings,
    server_facts,
    vector_limits,
)
from troth.sources.store import ModelFiles
from troth.vectors import Vectors
from troth.watch import log
from troth.watch.metrics import Metrics

logger = logging.getLogger(__name__)

INTERRUPTED = 130  # what a shell expects of a program that ended by Ctrl-C
RULES = {path: rule for fields in FIELDS.values() for path, rule in fields.items()}  # one field, one rule


def serve(config: Config, files: Mapping[str, ModelFiles], pull: Pull) -> int:
    """Serves until a signal ends it; returns the exit code.

    `files` has those of every model that is not lazy; `pull` fetches those of the others when they are wanted.
    Raises StartFault when the port is taken or a model that is not lazy cannot load.
    """
    log.configure(config.log.level)
    listener = listen(config.server.host, config.server.port)
    built = build(config, files, pull)
    server = PatientServer(
        built.asgi(lambda: server.end()), built.end_answers, config.server.stop_seconds, FAREWELL_SECONDS
    )
    models = ",".join(model.id for model in config.models)
    logger.info("event=listening url=%s models=%s", url_of(listener), models)
    interrupted = server.serve_until_told(listener)
    if built.faults:
        raise StartFault("\n".join(built.faults))
    return INTERRUPTED if interrupted else 0


def build(config: Config, files: Mapping[str, ModelFiles], pull: Pull) -> Server:
    """The rooms of a configuration, joined. Nothing is loaded yet."""
    metrics = Metrics(own_prefix=config.metrics.own_prefix, version=__version__)
    media = MediaRoom(media_settings(config))
    templates = {
        model.id: Path(model.chat_template).read_text("utf-8") for model in config.models if model.chat_template
    }
    formats = {model.id: model.call_format for model in config.models if model.call_format is not None}
    prompts = Prompts(prompt_settings(config), templates, formats)

    async def look_at(model: str, engine: Generates) -> None:
        await prompts.look_at(model, engine.vocabulary)

    for model in config.models:
        metrics.follow_media(model.id, partial(media.report, model.id))
    kept = {model.id: Kept(model, config, metrics, files.get(model.id), pull, look_at) for model in config.models}
    fleet = Fleet([each.slot for each in kept.values()], fleet_settings(config))
    catalogue = [each.served() for each in kept.values()]
    engines = KeptEngines(fleet, kept)
    policy = Policy(catalogue, policy_settings(config), RULES, directory=engines)
    vectors = Vectors(policy=policy, engines=engines, limits=vector_limits(config), on_served=metrics.observe_vectors)
    conversation = Conversation(
        policy=policy,
        prompts=prompts,
        engines=engines,
        interpreter_factory=TextInterpreters(),
        on_clamped=metrics.observe_clamp,
        media=media,
    )
    return Server(config, catalogue, kept, fleet, prompts, conversation, vectors, metrics, templates)


@dataclass
class Server:
    """A built server: its rooms, and the faults that ended it."""

    config: Config
    catalogue: Sequence[ServedModel]
    kept: Mapping[str, Kept]
    fleet: Fleet
    prompts: Prompts
    conversation: Conversation
    vectors: Vectors
    metrics: Metrics
    templates: Mapping[str, str]

    def __post_init__(self) -> None:
        self.faults: list[str] = []
        self.created = int(time.time())

    def asgi(self, give_up: Callable[[], object]) -> ASGIApp:
        """The ASGI app. `give_up` is called when a model cannot be loaded."""
        document = json.loads(resources.files("troth._generated").joinpath("openapi.json").read_text("utf-8"))
        facts = server_facts(self.config, document["info"]["version"])
        streams = StreamSettings(
            first_event=self.config.stream.first_event,
            keepalive_seconds=self.config.stream.keepalive_seconds,
            envelope=self.config.errors.envelope,
        )
        engines = Engines(self.states, lambda model: self.kept[model].observed())
        decisions = Decisions(self.conversation, decision_limits(self.config))
        handlers = _handlers(
            OpenAIChat(self.conversation, self._omni(), DecisionForm(decisions, self._names_of(KIND)), streams),
            OpenAICompletions(self.conversation, streams, self.config.limits.prompts_max),
            OpenAIResponses(self.conversation),
            AnthropicMessages(self.conversation, strip_billing_header=self.config.messages.strip_billing_header),
            Native(self.conversation, streams, self.config.limits.prompts_max),
            Tokens(self.conversation),
            ModerationRoutes(self._moderations(), self._names_of("moderation")),
            SystemOne(decisions),
            VectorRoutes(self.vectors),
            Models(self.states, facts),
            Status(self.states, facts, lambda: asyncio.to_thread(self.metrics.render)),
            Slots(engines),
            ModelSlots(self.fleet, self._words),
            PrefixCaches(engines),
            Sessions(engines, time.time),
        )
        return create_asgi(
            document,
            handlers,
            edge_settings(self.config),
            self.metrics,
            lifespan=lambda app: self._life(give_up),
        )

    def _omni(self) -> Omni:
        return Omni(self.conversation, self.vectors, self.catalogue, omni_limits(self.config))

    def _moderations(self) -> Moderations:
        guards = {model.id: model.guard for model in self.config.models if model.guard is not None}
        limits = moderation_limits(self.config)
        order = [model.id for model in self.config.models if model.kind == "moderation"]
        return Moderations(self.conversation, self.vectors, guards, classifiers(self.config), order, limits)

    def _names_of(self, kind: str) -> frozenset[str]:
        """All names of the models of a kind."""
        found = [model for model in self.catalogue if model.kind == kind]
        return frozenset(name for model in found for name in (model.id, model.slot, *model.aliases))

    def _words(self, model: str) -> SlotWords:
        kept = self.kept[model]
        totals = kept.totals()
        return SlotWords(
            aliases=kept.settings.aliases,
            prompt_tokens=totals.prompt_tokens,
            predicted_tokens=totals.predicted_tokens,
            predicted_seconds=totals.predicted_seconds,
        )

    async def end_answers(self) -> None:
        """Whatever was being answered has ended with a fault that says the server stops."""
        await self.fleet.stop()

    def states(self) -> list[ModelState]:
        """Every model now, without waiting for its engine."""
        return [self._state(model) for model in self.catalogue]

    def _state(self, model: ServedModel) -> ModelState:
        kept = self.kept[model.id]
        report = kept.slot.report()
        is_ready = report.status == "ready" and kept.lane is not None
        return ModelState(
            model=model,
            report=report,
            slot=kept.slot.facts.name,
            slot_state=kept.slot.state,
            vocabulary=kept.lane.vocabulary if is_ready and kept.lane is not None else None,
            root=kept.settings.source or str(report.details.get("model") or ""),
            reads_whole=kept.reads_whole,
            is_remote=kept.settings.source is None,
            created=self.created,
            chat_template=self.templates.get(model.id),
            speech=_speech(self.prompts.known(model.id)) if is_ready else None,
            seen=self.conversation.media.report(model.id),
        )

    @asynccontextmanager
    async def _life(self, give_up: Callable[[], object]) -> AsyncIterator[None]:
        """Models load while the server already answers; at the end their memory is given back."""

        def end(model: str, words: str) -> None:
            self.faults.append(f"model {model}: {words}")
            give_up()

        care = asyncio.create_task(self.fleet.run(end))
        try:
            yield
        finally:
            await self.end_answers()
            care.cancel()
            await asyncio.wait([care])
            self.prompts.close()
            self.conversation.media.close()


def _speech(script: Script | None) -> Speech | None:
    if script is None:
        return None
    return Speech(
        call_format=script.calls.name,
        shows_calls=script.is_native,
        takes_objects=not script.takes_text_arguments,
        thoughts=script.thoughts.name if script.thoughts else None,
        variables=script.template.variables,
    )


def _handlers(*dialects: object) -> dict[str, Callable[[Call], Any]]:
    """Every public method of a dialect answers the operation of its name; the edge checks that none is missing."""
    return {
        name: getattr(dialect, name) for dialect in dialects for name in vars(type(dialect)) if not name.startswith("_")
    }
