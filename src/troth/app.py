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
from importlib import resources
from pathlib import Path
from typing import Any

from starlette.types import ASGIApp

from troth import __version__
from troth._generated.fields import FIELDS
from troth.config.schema import Config, ModelSettings
from troth.conversation import Conversation
from troth.dialects.anthropic_messages import AnthropicMessages
from troth.dialects.engine_state import Engines
from troth.dialects.models import Models
from troth.dialects.native import Native
from troth.dialects.openai_chat import OpenAIChat
from troth.dialects.openai_completions import OpenAICompletions
from troth.dialects.openai_responses import OpenAIResponses
from troth.dialects.prefix_cache import PrefixCaches
from troth.dialects.served import ModelState, ServerFacts, Speech
from troth.dialects.sessions import Sessions
from troth.dialects.slots import Slots
from troth.dialects.status import Status
from troth.dialects.streams import StreamSettings
from troth.dialects.tokens import Tokens
from troth.domain import Call, ServedModel
from troth.edge.assembly import create_asgi
from troth.edge.settings import EdgeSettings
from troth.engines import registry
from troth.errors import EngineFault, Unavailable
from troth.listening import PatientServer, StartFault, listen, url_of
from troth.policy.decide import Policy
from troth.policy.schema import ANNOTATIONS, ENFORCED, REFUSED
from troth.policy.terms import PolicySettings
from troth.prompt.render import Prompts, PromptSettings
from troth.prompt.script import Script
from troth.prompt.template import TemplateLimits
from troth.prompt.thinking import ThoughtLimits
from troth.reply.text import TextInterpreters
from troth.scheduler.lane import Lane, LaneSettings
from troth.scheduler.pace import Pace
from troth.scheduler.prefix_cache import CacheLimits
from troth.sources.store import ModelFiles
from troth.watch import log
from troth.watch.generation import WatchedEngine
from troth.watch.metrics import Metrics

logger = logging.getLogger(__name__)

FAREWELL_SECONDS = 2.0  # for answers that were cut off after `server.stop_seconds` to say so
INTERRUPTED = 130  # what a shell expects of a program that ended by Ctrl-C
RULES = {path: rule for fields in FIELDS.values() for path, rule in fields.items()}  # one field, one rule


def serve(config: Config, files: Mapping[str, ModelFiles], origins: Mapping[str, str]) -> int:
    """Serves until a signal ends it; returns the exit code.

    `files` has those of every model. Raises StartFault when the port is taken or a model cannot load.
    """
    log.configure(config.log.level)
    listener = listen(config.server.host, config.server.port)
    built = build(config, files)
    server = PatientServer(
        built.asgi(lambda: server.end()), built.end_answers, config.server.stop_seconds, FAREWELL_SECONDS
    )
    models = ",".join(model.id for model in config.models)
    logger.info("event=listening url=%s models=%s", url_of(listener), models)
    interrupted = server.serve_until_told(listener)
    if built.faults:
        raise StartFault("\n".join(built.faults))
    return INTERRUPTED if interrupted else 0


def build(config: Config, files: Mapping[str, ModelFiles]) -> Server:
    """The rooms of a configuration, joined. Nothing is loaded yet."""
    metrics = Metrics(own_prefix=config.metrics.own_prefix, version=__version__)
    lanes = {model.id: _lane(model, files[model.id], config) for model in config.models}
    for name, lane in lanes.items():
        metrics.follow(name, lane.report, lane.totals, lane.cache)
    templates = {
        model.id: Path(model.chat_template).read_text("utf-8") for model in config.models if model.chat_template
    }
    catalogue = [_served(model, lanes[model.id]) for model in config.models]
    formats = {model.id: model.call_format for model in config.models if model.call_format is not None}
    prompts = Prompts(_prompt_settings(config), templates, formats)
    conversation = Conversation(
        policy=Policy(catalogue, _policy_settings(config), RULES),
        prompts=prompts,
        engines={name: WatchedEngine(lane, name, metrics) for name, lane in lanes.items()},
        interpreter_factory=TextInterpreters(),
        on_clamped=metrics.observe_clamp,
    )
    return Server(config, catalogue, lanes, prompts, conversation, metrics, templates)


@dataclass
class Server:
    """A built server: its rooms, and the faults that ended it."""

    config: Config
    catalogue: Sequence[ServedModel]
    lanes: Mapping[str, Lane]
    prompts: Prompts
    conversation: Conversation
    metrics: Metrics
    templates: Mapping[str, str]

    def __post_init__(self) -> None:
        self.faults: list[str] = []
        self.created = int(time.time())

    def asgi(self, give_up: Callable[[], object]) -> ASGIApp:
        """The ASGI app. `give_up` is called when a model cannot be loaded."""
        document = json.loads(resources.files("troth._generated").joinpath("openapi.json").read_text("utf-8"))
        facts = _facts(self.config, document["info"]["version"])
        streams = StreamSettings(
            first_event=self.config.stream.first_event,
            keepalive_seconds=self.config.stream.keepalive_seconds,
            envelope=self.config.errors.envelope,
        )
        engines = Engines(self.states, self.lanes)
        handlers = _handlers(
            OpenAIChat(self.conversation, streams),
            OpenAICompletions(self.conversation, streams, self.config.limits.prompts_max),
            OpenAIResponses(self.conversation),
            AnthropicMessages(self.conversation, strip_billing_header=self.config.messages.strip_billing_header),
            Native(self.conversation, streams, self.config.limits.prompts_max),
            Tokens(self.conversation),
            Models(self.states, facts),
            Status(self.states, facts, lambda: asyncio.to_thread(self.metrics.render)),
            Slots(engines),
            PrefixCaches(engines),
            Sessions(engines, time.time),
        )
        return create_asgi(
            document,
            handlers,
            _edge_settings(self.config),
            self.metrics,
            lifespan=lambda app: self._life(give_up),
        )

    async def end_answers(self) -> None:
        """Whatever was being answered has ended with a fault that says the server stops."""
        for lane in self.lanes.values():
            await lane.stop()

    def states(self) -> list[ModelState]:
        """Every model now, without waiting for its engine."""
        return [self._state(model) for model in self.catalogue]

    def _state(self, model: ServedModel) -> ModelState:
        lane, settings = self.lanes[model.id], next(each for each in self.config.models if each.id == model.id)
        report = lane.report()
        return ModelState(
            model=model,
            report=report,
            vocabulary=lane.vocabulary if report.status == "ready" else None,
            root=settings.source,
            created=self.created,
            chat_template=self.templates.get(model.id),
            speech=_speech(self.prompts.known(model.id)) if report.status == "ready" else None,
        )

    @asynccontextmanager
    async def _life(self, give_up: Callable[[], object]) -> AsyncIterator[None]:
        """Models load while the server already answers; at the end their memory is given back."""
        async with asyncio.TaskGroup() as loading:
            tasks = [loading.create_task(self._load(name, give_up)) for name in self.lanes]
            try:
                yield
            finally:
                await self.end_answers()
                if tasks:
                    await asyncio.wait(tasks)
                self.prompts.close()

    async def _load(self, name: str, give_up: Callable[[], object]) -> None:
        started, last = time.perf_counter(), [0.0]

        def progress(fraction: float) -> None:
            if fraction - last[0] >= 0.25:
                last[0] = fraction
                logger.info("event=loading model=%s progress=%.2f", name, fraction)

        try:
            await self.lanes[name].start(progress)
            await self.prompts.look_at(name, self.lanes[name].vocabulary)
        except EngineFault as fault:
            self.faults.append(f"model {name}: {fault.message}")
            logger.error("event=load_failed model=%s", name)
            give_up()
            return
        except Unavailable:
            return  # the server stops before the model was there
        report = self.lanes[name].report()
        logger.info(
            "event=ready model=%s load_seconds=%.2f slots=%d context_tokens=%d",
            name,
            time.perf_counter() - started,
            report.slots,
            report.context_tokens,
        )


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


def _lane(model: ModelSettings, files: ModelFiles, config: Config) -> Lane:
    options = model.options
    settings = LaneSettings(
        queue_max=config.limits.queue_max,
        queue_seconds_max=config.limits.queue_seconds_max,
        pace=Pace(options.batch_tokens, options.read_tokens_beside_speech),
        cache=CacheLimits(options.prefix_cache_bytes, options.prefix_cache_tokens_min),
        disk_folder=Path(options.prefix_cache_folder).expanduser() if options.prefix_cache_folder else None,
        disk_budget_bytes=options.prefix_cache_disk_bytes,
        draft_tokens_max=options.draft_tokens_max,
    )
    return Lane(model.id, registry.create(model.engine, files.main, options, files.draft, files.extra), settings)


def _served(model: ModelSettings, lane: Lane) -> ServedModel:
    vector = getattr(model.options, "control_vector", None)
    return ServedModel(
        id=model.id,
        kind=model.kind,
        engine=model.engine,
        aliases=model.aliases,
        honours=lane.honours,
        sampling=model.sampling.given(),
        loras=tuple(lora.scale for lora in getattr(model.options, "lora", ())),
        control_vector=vector.default if vector is not None else None,
    )


def _policy_settings(config: Config) -> PolicySettings:
    return PolicySettings(
        unknown_model=config.routing.unknown_model,
        over_cap=config.budget.over_cap,
        cap_tokens=config.budget.cap_tokens,
        default_tokens=_default_tokens(config),
        sampling=config.sampling.given(),
        choices_max=config.limits.choices_max,
        stop_strings_max=config.limits.stop_strings_max,
        stop_bytes_max=config.limits.stop_bytes_max,
        logit_bias_max=config.limits.logit_bias_max,
        tools_max=config.limits.tools_max,
        grammar_bytes_max=config.limits.grammar_bytes_max,
        schema_depth_max=config.limits.schema_depth_max,
    )


def _prompt_settings(config: Config) -> PromptSettings:
    return PromptSettings(
        system_messages=config.chat.system_messages,
        prompt_threads=config.limits.prompt_threads,
        queue_max=config.limits.queue_max,
        template=TemplateLimits(output_bytes_max=config.limits.template_output_bytes_max),
        thoughts=ThoughtLimits(
            budget_tokens=config.thinking.budget_tokens,
            room_tokens=config.thinking.answer_room_tokens,
            room_share=config.thinking.answer_room_share,
        ),
    )


def _edge_settings(config: Config) -> EdgeSettings:
    return EdgeSettings(
        api_keys=config.auth.api_keys,
        open_models=config.auth.open_models,
        isolate_keys=config.auth.isolate_keys,
        cors=config.server.cors,
        body_bytes_max=config.server.body_bytes_max,
        strict_content_type=config.server.strict_content_type,
        keepalive_seconds=config.stream.keepalive_seconds,
        stop_seconds=config.server.stop_seconds + FAREWELL_SECONDS,
        unknown_fields=config.contract.unknown_fields,
        guard=config.contract.guard,
        envelope=config.errors.envelope,
    )


def _facts(config: Config, spec: str) -> ServerFacts:
    return ServerFacts(
        spec=spec,
        over_cap=config.budget.over_cap,
        cap_tokens=config.budget.cap_tokens,
        default_tokens=_default_tokens(config),
        first_event=config.stream.first_event,
        envelope=config.errors.envelope,
        keepalive_seconds=config.stream.keepalive_seconds,
        unknown_fields=config.contract.unknown_fields,
        guard=frozenset(config.contract.guard),
        sampling=config.sampling.given(),
        limits=config.limits.model_dump(mode="json"),
        queue_max=config.limits.queue_max,
        thinking=config.thinking.model_dump(mode="json"),
        keywords={"enforced": ENFORCED, "without_meaning": ANNOTATIONS, "refused": REFUSED},
    )


def _default_tokens(config: Config) -> int | None:
    return config.budget.default_tokens if isinstance(config.budget.default_tokens, int) else None
