"""Which replicas are there, and what they tell of themselves: asked regularly, each apart from the others."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Mapping
from typing import Any

from troth.engines.upstream.kinds import Kind
from troth.engines.upstream.line import LineFault, NotWell
from troth.engines.upstream.options import UpstreamOptions
from troth.engines.upstream.replicas import Replica, Replicas

logger = logging.getLogger(__name__)

LOOK_SECONDS_MAX = 8.0  # hal0's time for a list of models
FACTS = ("chat_template", "total_slots", "default_generation_settings")  # of llama-server's /props


class Watch:
    """Looks at the replicas of one model."""

    def __init__(self, replicas: Replicas, kind: Kind, options: UpstreamOptions) -> None:
        self._replicas = replicas
        self._kind = kind
        self._options = options

    async def run(self) -> None:
        """Every replica is looked at every `health_seconds`, until this is cancelled."""
        while True:
            await asyncio.sleep(self._options.health_seconds)
            try:
                await self.look()
            except Exception:  # the boundary of the task: whatever failed, the next look comes
                logger.exception("event=look_failed model=%s", self._replicas.name)

    async def look(self, *, afresh: bool = False) -> None:
        """Every replica has been looked at; `afresh`: its list too, however young it is."""
        await asyncio.gather(*(self._look_at(replica, afresh=afresh) for replica in self._replicas.all))

    async def _look_at(self, replica: Replica, *, afresh: bool) -> None:
        age = time.monotonic() - replica.listed_at
        wants_list = afresh or not replica.listed_at or age >= self._options.models_cache_seconds
        try:
            async with asyncio.timeout(LOOK_SECONDS_MAX):
                if self._kind.health != "/v1/models":
                    await self._replicas.line.get(replica.url + self._kind.health)
                if wants_list or self._kind.health == "/v1/models":
                    await self._list(replica)
        except NotWell as fault:
            replica.put_aside(str(fault))
        except (LineFault, TimeoutError):
            replica.put_aside("no answer")
        except (ValueError, RecursionError):
            replica.put_aside("its list of models is none")
        else:
            self._judge(replica)

    async def _list(self, replica: Replica) -> None:
        told = json.loads(await self._replicas.line.get(replica.url + "/v1/models"))
        entries = told.get("data") if isinstance(told, dict) else None
        if not isinstance(entries, list):
            raise ValueError("no list")
        replica.models = tuple(
            entry for entry in entries if isinstance(entry, dict) and isinstance(entry.get("id"), str)
        )
        if self._kind.name == "llama_server":
            facts = json.loads(await self._replicas.line.get(replica.url + "/props"))
            replica.facts = {name: facts.get(name) for name in FACTS} if isinstance(facts, dict) else {}
        replica.listed_at = time.monotonic()

    def _judge(self, replica: Replica) -> None:
        if name_of(replica, self._options) is None:
            replica.put_aside(f"it lists {len(replica.models)} models: name one of them in options.model")
        else:
            replica.note_well()


def slots_of(replica: Replica) -> int:
    """How many requests it works on at once, if it tells; else 0."""
    told = replica.facts.get("total_slots")
    return told if isinstance(told, int) else 0


def name_of(replica: Replica, options: UpstreamOptions) -> str | None:
    """The model's name over there: the operator's word, or the only one that is listed."""
    if options.model is not None:
        return options.model
    return str(replica.models[0].get("id")) if len(replica.models) == 1 else None


def context_of(replica: Replica, options: UpstreamOptions) -> int:
    """Tokens of one sequence over there; 0 when nothing is told."""
    name = name_of(replica, options)
    entry: Mapping[str, Any] = next((each for each in replica.models if each.get("id") == name), {})
    meta, settings = entry.get("meta"), replica.facts.get("default_generation_settings")
    told = (
        entry.get("max_model_len"),
        settings.get("n_ctx") if isinstance(settings, dict) else None,
        meta.get("n_ctx") if isinstance(meta, dict) else None,
    )
    return next((count for count in told if isinstance(count, int) and count > 0), 0)
