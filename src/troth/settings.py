"""What each room is told at the start, out of the configuration: names that differ, units, and nothing else."""

from __future__ import annotations

from troth.config.schema import Config
from troth.dialects.served import ServerFacts
from troth.edge.settings import EdgeSettings
from troth.engines import registry
from troth.fleet.backoff import BackOffLimits
from troth.fleet.fleet import FleetSettings
from troth.media.settings import MediaSettings
from troth.moderating import ModerationLimits
from troth.omni.tools import OmniLimits
from troth.policy.classifiers import Classifier
from troth.policy.decisions import DecisionLimits
from troth.policy.schema import ANNOTATIONS, ENFORCED, REFUSED
from troth.policy.terms import PolicySettings
from troth.policy.vectors import VectorLimits
from troth.prompt.render import PromptSettings
from troth.prompt.template import TemplateLimits
from troth.prompt.thinking import ThoughtLimits

FAREWELL_SECONDS = 2.0  # for answers that were cut off after `server.stop_seconds` to say so
PROMPTS_WAITING = 64  # that may wait for a thread at least: Claude Code counts 25 at once, however short the line is
MEBIBYTE = 1 << 20


def fleet_settings(config: Config) -> FleetSettings:
    """The knobs of the fleet."""
    budget = config.slots.memory_mb
    return FleetSettings(
        memory_bytes=None if budget is None else budget * MEBIBYTE,
        when_loading=config.slots.when_loading,
        wait_seconds=config.slots.wait_seconds,
    )


def moderation_limits(config: Config) -> ModerationLimits:
    """The knobs of moderation."""
    return ModerationLimits(**config.moderation.model_dump())


def classifiers(config: Config) -> dict[str, Classifier]:
    """What the operator says of every classifier, by model id."""
    return {
        model.id: Classifier(
            labels=model.options.labels,
            activation=model.options.activation,
            safe_labels=frozenset(model.options.safe_labels),
            categories=model.options.categories,
            looks=registry.looks(model.engine, model.kind),
        )
        for model in config.models
        if model.kind == "moderation" and model.guard is None
    }


def omni_limits(config: Config) -> OmniLimits:
    """The bounds of hal0's tool loop."""
    return OmniLimits(**config.omni.model_dump())


def vector_limits(config: Config) -> VectorLimits:
    """The bounds of requests for vectors and relevance."""
    return VectorLimits(config.limits.vector_items_max, config.limits.vector_bytes_max)


def decision_limits(config: Config) -> DecisionLimits:
    """The knobs of decisions."""
    return DecisionLimits(**config.decisions.model_dump())


def back_off_limits(config: Config) -> BackOffLimits:
    """How patient the breaker of every slot is."""
    slots = config.slots
    return BackOffLimits(
        first_seconds=slots.restart_seconds,
        seconds_max=slots.restart_seconds_max,
        crashes_max=slots.crashes_max,
        healthy_seconds=slots.healthy_seconds,
    )


def policy_settings(config: Config) -> PolicySettings:
    """The knobs of policy."""
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


def prompt_settings(config: Config) -> PromptSettings:
    """The knobs of the prompt room."""
    return PromptSettings(
        system_messages=config.chat.system_messages,
        prompt_threads=config.limits.prompt_threads,
        queue_max=max(config.limits.queue_max, PROMPTS_WAITING),
        template=TemplateLimits(output_bytes_max=config.limits.template_output_bytes_max),
        thoughts=ThoughtLimits(
            budget_tokens=config.thinking.budget_tokens,
            room_tokens=config.thinking.answer_room_tokens,
            room_share=config.thinking.answer_room_share,
        ),
    )


def media_settings(config: Config) -> MediaSettings:
    """The knobs of the media room."""
    return MediaSettings(**config.media.model_dump(), queue_max=max(config.limits.queue_max, PROMPTS_WAITING))


def edge_settings(config: Config) -> EdgeSettings:
    """The knobs of the edge."""
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


def server_facts(config: Config, spec: str) -> ServerFacts:
    """What the status routes tell of the configuration; `spec` is the version of the document."""
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
        media=config.media.model_dump(mode="json"),
        keywords={"enforced": ENFORCED, "without_meaning": ANNOTATIONS, "refused": REFUSED},
    )


def _default_tokens(config: Config) -> int | None:
    return config.budget.default_tokens if isinstance(config.budget.default_tokens, int) else None
