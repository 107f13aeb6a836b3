"""How each configured model gets its engine: files, a lane, and what outlives a lane, its totals."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any

from troth.config.models import ModelSettings
from troth.config.schema import Config
from troth.domain import ServedModel
from troth.engines import registry
from troth.engines.base import CacheReport, Classifies, Embeds, Engine, Generates, Relays, RelaysVectors, Reranks
from troth.engines.child import Isolated
from troth.errors import EngineFault, NotImplementedHere, Unavailable
from troth.fleet.backoff import BackOff
from troth.fleet.facts import Making, Report, SlotFacts
from troth.fleet.fleet import Fleet
from troth.fleet.slot import Slot
from troth.policy.naming import VIRTUAL
from troth.scheduler.counters import Counters
from troth.scheduler.lane import Lane, LaneSettings
from troth.scheduler.pace import Pace
from troth.scheduler.prefix_cache import CacheLimits
from troth.scheduler.vector_counters import VectorCounters
from troth.scheduler.vector_lane import VectorLane, VectorLaneSettings
from troth.settings import MEBIBYTE, back_off_limits
from troth.sources.faults import SourceFault
from troth.sources.store import ModelFiles
from troth.watch.generation import WatchedEngine, WatchedRelay
from troth.watch.metrics import Metrics

Pull = Callable[[ModelSettings, Report], ModelFiles]  # blocks; raises SourceFault
LookAt = Callable[[str, Generates], Awaitable[None]]

LOOK_SECONDS_MAX, LOOK_AGAIN_SECONDS = 8.0, 60.0
WEIGHT = 1.25  # what a model takes in memory, by the size of its files, when nobody says


class Kept:
    """One configured model: what makes its engines, one after the other."""

    def __init__(
        self,
        model: ModelSettings,
        config: Config,
        metrics: Metrics,
        files: ModelFiles | None,
        pull: Pull,
        look_at: LookAt,
    ) -> None:
        """`files`: those that are on disk already. `look_at`: what a loaded model needs before it is asked."""
        self.settings = model
        self.lane: Lane | None = None  # of a model that continues texts
        self.vectors: VectorLane | None = None  # of one that reads them
        self.remote: Relays | None = None  # another server, in place of a lane
        self.distant: RelaysVectors | None = None  # the same for a model of vectors
        self.watched: WatchedEngine | WatchedRelay | None = None
        self._config = config
        self._metrics = metrics
        self._files = files
        self._pull = pull
        self._look_at = look_at
        self._weight: int | None = None  # in bytes, looked at once: files may go while their model runs
        self._past = Counters()  # of lanes that are gone
        self._read = VectorCounters()  # of all lanes of vectors
        self.slot = Slot(self._facts(), self._making(), BackOff(back_off_limits(config), time.monotonic))
        if self.reads_whole:
            metrics.follow(model.id, self.slot.report, lambda: self._read)
        else:
            metrics.follow(model.id, self.slot.report, self.totals, self.cache)

    @property
    def reads_whole(self) -> bool:
        """True for a model that gives numbers for texts and continues none."""
        return registry.reads_whole(self.settings.engine, self.settings.kind)

    def served(self) -> ServedModel:
        """The model as policy sees it."""
        model = self.settings
        vector = getattr(model.options, "control_vector", None)
        return ServedModel(
            loras=tuple(lora.scale for lora in getattr(model.options, "lora", ())),
            control_vector=vector.default if vector is not None else None,
            id=model.id,
            kind=model.kind,
            engine=model.engine,
            aliases=model.aliases,
            honours=registry.honours(model.engine, model.kind, model.options),
            sampling=model.sampling.given(),
            prompts=model.prompts,
            slot=self.slot.name,
            also=("decision",) if model.decides else (),
        )

    def totals(self) -> Counters:
        """What all lanes of this model counted."""
        lane = self.lane  # asked for on the thread of a scrape, while the lane may go
        return self._past if lane is None else self._past + lane.totals()

    def cache(self) -> CacheReport:
        """The prefix cache now. Raises Unavailable while the model is not in memory."""
        return self.observed().cache()

    def observed(self) -> Lane:
        """The lane. Raises Unavailable while the model is not in memory."""
        lane = self.lane
        if self.remote is not None:
            raise NotImplementedHere(
                f"The model {self.settings.id} is behind another server, which keeps slots and saved prompts to itself."
            )
        if lane is None:
            raise Unavailable(
                f"The model {self.settings.id} is not in memory: its slot is {self.slot.state}.",
                retry_seconds=1,
                code="model_unavailable",
            )
        return lane

    def _facts(self) -> SlotFacts:
        model = self.settings
        default = self._config.slots.idle_seconds if model.source is not None else None  # nothing would be gained
        return SlotFacts(
            name=model.slot or model.id.replace("/", "--"),  # a slash would be part of a path
            model=model.id,
            kind=model.kind,
            engine=model.engine,
            pinned=model.pinned,
            lazy=model.lazy,
            idle_seconds=model.idle_seconds if model.idle_seconds is not None else default,
            memory_bytes=None if model.memory_mb is None else model.memory_mb * MEBIBYTE,
        )

    def _making(self) -> Making:
        return Making(
            has_files=lambda: self._files is not None or self.settings.source is None,
            pull=self._fetch,
            make=self._make,
            look_at=self._ready,
            bury=self._bury,
            weigh=self._weigh,
        )

    def _fetch(self, report: Report) -> None:
        try:
            self._files = self._pull(self.settings, report)
        except SourceFault as fault:
            raise EngineFault(fault.message) from fault

    def _make(self) -> Engine:
        model = self.settings
        if model.source is None and self.reads_whole:
            self.distant = registry.relay_vectors(model.engine, model.kind, model.id, model.options)
            return self.distant
        if model.source is None:
            self.remote = registry.relay(model.engine, model.id, model.options)
            self.watched = WatchedRelay(self.remote, model.id, self._metrics)
            return self.remote
        assert self._files is not None
        if self.reads_whole:
            self.vectors = _vector_lane(self.settings, self._files, self._config, self._read)
            return self.vectors
        self.lane = _lane(self.settings, self._files, self._config)
        self.watched = WatchedEngine(self.lane, self.settings.id, self._metrics)
        return self.lane

    async def _ready(self, engine: Engine) -> None:
        if isinstance(engine, Lane):
            await self._look_at(self.settings.id, engine)

    def _bury(self, engine: Engine) -> None:
        if isinstance(engine, Lane):
            self._past = self._past + engine.totals()
        self.lane = self.remote = self.watched = self.vectors = self.distant = None

    def _weigh(self) -> int:
        if self._weight is None and self._files is not None:
            self._weight = int(sum(path.stat().st_size for path in self._files.paths) * WEIGHT)
        return self._weight or 0


class KeptEngines:
    """The engines as the corridor asks for them, and where each model is."""

    def __init__(self, fleet: Fleet, kept: dict[str, Kept]) -> None:
        self._fleet = fleet
        self._kept = kept
        self._look: asyncio.Future[Any] | None = None  # at the lists of all upstreams
        self._looked_at = 0.0

    async def ready(self, model: str) -> Generates | Relays:
        """The engine of this model, once it answers. Raises Unavailable or LoadFailed."""
        await self._fleet.ready(model)
        watched = self._kept[model].watched
        assert watched is not None
        return watched

    async def embedder(self, model: str) -> Embeds:
        """The engine of this embedding model, once it answers. Raises Unavailable or LoadFailed."""
        return await self._vectors(model)

    async def reranker(self, model: str) -> Reranks:
        """The engine of this rerank model, once it answers. Raises Unavailable or LoadFailed."""
        return await self._vectors(model)

    async def classifier(self, model: str) -> Classifies:
        """The engine of this model that looks at pictures, once it answers. Raises Unavailable or LoadFailed."""
        lane = await self._vectors(model)
        assert isinstance(lane, VectorLane)
        return lane

    async def _vectors(self, model: str) -> VectorLane | RelaysVectors:
        await self._fleet.ready(model)
        kept = self._kept[model]
        if kept.distant is not None:
            await kept.distant.learn()
            return kept.distant
        assert kept.vectors is not None
        return kept.vectors

    def is_loaded(self, model: str) -> bool:
        """True when requests can be given to the model now."""
        return self._kept[model].slot.is_dispatchable

    def held(self, model: str) -> AbstractContextManager[None]:
        """The model's engine stays where it is while a request is prepared for it."""
        return self._kept[model].slot.held()

    def lister(self, name: str) -> str | None:
        """The id of the upstream that lists a model of this name, if one is known to."""
        remotes = ((model, kept.remote) for model, kept in self._kept.items())
        return next((model for model, remote in remotes if remote is not None and remote.lists(name)), None)

    async def look_for(self, name: str | None) -> None:
        """The upstreams have looked at their lists again, where nobody is known to have a model of this name.

        Requests share one look, which is not repeated for some seconds, and wait for it no longer than a bound.
        """
        if not name or name.startswith(VIRTUAL) or self._is_known(name):
            return
        found = [kept.remote for kept in self._kept.values() if kept.remote is not None]
        remotes = [remote for remote in found if remote.report().status == "ready"]
        if not remotes:
            return
        if self._look is None or (self._look.done() and time.monotonic() - self._looked_at > LOOK_AGAIN_SECONDS):
            self._look = asyncio.gather(*(remote.refresh() for remote in remotes), return_exceptions=True)
            self._look.add_done_callback(self._note_look)
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(self._look), LOOK_SECONDS_MAX)

    def _note_look(self, look: asyncio.Future[Any]) -> None:
        self._looked_at = time.monotonic()

    def _is_known(self, name: str) -> bool:
        served = ((model, kept.slot.name, kept.settings.aliases) for model, kept in self._kept.items())
        return any(name in (model, slot) or name in aliases for model, slot, aliases in served) or (
            self.lister(name) is not None
        )


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
    engine = registry.create(model.engine, files.main, options, files.beside)
    return Lane(model.id, Isolated(engine) if model.isolation == "process" else engine, settings)


def _vector_lane(model: ModelSettings, files: ModelFiles, config: Config, counters: VectorCounters) -> VectorLane:
    engine = registry.create_encoder(model.engine, model.kind, files.main, model.options, files.beside)
    limits = config.limits
    lane = VectorLane(
        model.id, engine, VectorLaneSettings(limits.queue_max, limits.queue_seconds_max, limits.vector_requests_max)
    )
    lane.counters = counters  # those of the lanes before go on
    return lane
