"""What every model of another server has in common: its replicas, the look at them, and what is told of both."""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from troth.engines.base import EngineReport, EngineStatus, LoadProgress
from troth.engines.upstream.health import Watch, context_of, name_of, slots_of
from troth.engines.upstream.kinds import KINDS, Kind
from troth.engines.upstream.line import Line
from troth.engines.upstream.options import UpstreamOptions
from troth.engines.upstream.replicas import Replica, Replicas
from troth.errors import Unavailable, UpstreamFault

logger = logging.getLogger(__name__)

RETRY_SECONDS = 2
STOPPING = "The model is being stopped, or the server is shutting down, before this answer is complete."


class Remote(ABC):
    """One model of another server, with its replicas. Lives on the event loop."""

    def __init__(self, name: str, options: UpstreamOptions, *, prompted: bool = True) -> None:
        self.name = name
        self.options = options
        self.kind: Kind = KINDS[options.server]
        self._status: EngineStatus = "loading"
        self._replicas = Replicas(name, options.urls, Line(options), prompted=prompted)
        self._watch = Watch(self._replicas, self.kind, options)
        self._looking: asyncio.Task[None] | None = None

    # ---- life -------------------------------------------------------------------------------------

    async def start(self, progress: LoadProgress) -> None:
        """Every replica has been asked once, whether it answered or not; from now on each is looked at regularly."""
        await self.refresh()
        self._status = "ready"
        self._looking = asyncio.ensure_future(self._watch.run())
        report = self.report()
        logger.info("event=%s model=%s fault=%r", "unreached" if report.fault else "reached", self.name, report.fault)
        progress(1.0)

    async def stop(self) -> None:
        """Every answer under way has ended with a fault, and the connections are closed. Safe to call twice."""
        self._status = "stopped"
        self._end(Unavailable(STOPPING, retry_seconds=RETRY_SECONDS, code="stopping"))
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)
        await self._replicas.line.close()

    @abstractmethod
    def _end(self, fault: Unavailable) -> None:
        """Every answer under way ends with this fault."""

    @property
    @abstractmethod
    def _running(self) -> int:
        """Answers under way."""

    @property
    @abstractmethod
    def _facts_told(self) -> Mapping[str, Any]:
        """What else `report` tells, JSON-ready."""

    def report(self) -> EngineReport:
        """The engine's state now. Addresses and the key are not told."""
        replicas = self._replicas.all
        faults = [f"replica {each.number}: {each.fault}" for each in replicas if not each.is_up]
        status = self._status
        if status == "ready" and not any(each.is_up for each in replicas):
            status = "unreached"
        return EngineReport(
            status=status,
            load_progress=0.0 if status == "loading" else 1.0,
            fault="; ".join(faults) if status == "unreached" else None,
            slots=sum(map(slots_of, replicas)),
            context_tokens=self.context_tokens,
            running=self._running,
            details={
                "build": f"upstream {self.kind.name}",
                "server": self.kind.name,
                "model": self._model,
                "replicas": [
                    {
                        "number": each.number,
                        "up": bool(each.is_up),
                        "in_flight": each.in_flight,
                        "fault": each.fault or None,
                    }
                    for each in replicas
                ],
                **self._facts_told,
            },
        )

    async def refresh(self) -> None:
        """Every replica has been looked at again, its list included."""
        await self._watch.look(afresh=True)

    # ---- what it is -------------------------------------------------------------------------------

    @property
    def _model(self) -> str | None:
        """The model's name over there; of a path, which some servers use as a name, the file alone."""
        name = next((name for each in self._replicas.all if (name := name_of(each, self.options))), None)
        return name if name is None or not name.startswith("/") else name.rpartition("/")[2]

    @property
    def context_tokens(self) -> int:
        """Tokens of one sequence, the smallest that a replica tells; 0 when none does."""
        told = [context for each in self._replicas.all if (context := context_of(each, self.options))]
        return min(told, default=0)

    def _check_ready(self) -> None:
        """Raises Unavailable before the start and after the end."""
        if self._status == "ready":
            return
        if self._status == "loading":
            raise Unavailable(f"The servers of the model {self.name} are being asked.", retry_seconds=RETRY_SECONDS)
        raise Unavailable(
            f"The model {self.name} cannot answer: it is {self._status}.",
            retry_seconds=RETRY_SECONDS,
            code="model_unavailable",
        )

    def _nameless(self, replica: Replica) -> UpstreamFault:
        return UpstreamFault(f"The upstream {self.name}/{replica.number} has not told which models it serves.")
