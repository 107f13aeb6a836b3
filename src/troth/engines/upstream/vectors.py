"""Vectors and relevance of another server: one request there for one here, its numbers looked at before they are told.

Scaling, fewer dimensions, prompts, orders and forms of the answer are this server's own, as for a model that runs here.
Where a text is cut is the other server's to know, so `truncate` is not honoured.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
import logging
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from troth.domain.vectors import EmbedJob, Item, RerankJob, Rows, Values
from troth.engines.base import VectorFacts
from troth.engines.upstream.health import name_of
from troth.engines.upstream.line import LineFault, Silent
from troth.engines.upstream.options import UpstreamOptions
from troth.engines.upstream.reading import broken
from troth.engines.upstream.remote import Remote
from troth.engines.upstream.replicas import Answering, Replica
from troth.engines.upstream.writing import encoded
from troth.engines.vectors import EMBEDS, RERANKS
from troth.errors import BadRequest, Unavailable, UpstreamRefusal, UpstreamStalled

logger = logging.getLogger(__name__)

EMBEDDINGS, RERANK = "/v1/embeddings", "/v1/rerank"
COMPACT = ("llama_server", "vllm", "openai")  # they give vectors as base64, or as numbers where they cannot
RAW = "llama_server"  # it gives vectors unscaled and scores as the model has them; the others scale both
UNSCALED = -1
PROBE = "a"
TOO_LONG = "too large to process"  # llama-server's words, which it says with 500
UNIT_TOLERANCE = 0.01
NOT_TOLD = frozenset({"truncate"})
SCALED_THERE: Mapping[str, frozenset[str]] = {
    "embedding": frozenset({"normalize", "embd_normalize"}),
    "rerank": frozenset({"raw_scores"}),
}


def honours_of(options: UpstreamOptions, kind: str) -> frozenset[str]:
    """The request fields that are honoured with these options."""
    all_fields = EMBEDS if kind == "embedding" else RERANKS
    return all_fields - NOT_TOLD - (frozenset() if options.server == RAW else SCALED_THERE[kind])


class UpstreamVectors(Remote):
    """One model of vectors or of relevance on another server; the `RelaysVectors` of `engines.base`."""

    def __init__(self, name: str, options: UpstreamOptions, kind: str) -> None:
        super().__init__(name, options, prompted=False)
        self.honours = honours_of(options, kind)
        self._embeds = kind == "embedding"
        self._facts: VectorFacts | None = None
        self._is_stale = False  # another model may be there now
        self._learning = asyncio.Lock()
        self._work: set[asyncio.Future[Any]] = set()

    # ---- life -------------------------------------------------------------------------------------

    def _end(self, fault: Unavailable) -> None:
        for work in list(self._work):
            work.cancel(fault.message)

    @property
    def _running(self) -> int:
        return len(self._work)

    @property
    def _facts_told(self) -> Mapping[str, Any]:
        return {} if self._facts is None or not self._embeds else {"dimensions": self._facts.dimensions}

    @property
    def facts(self) -> VectorFacts:
        """What the model is, once `learn` has asked."""
        assert self._facts is not None, "the model was not asked what it is"
        return self._facts

    async def learn(self) -> None:
        """`facts` are known. A model of vectors is asked for one, the first time; raises what asking raises."""
        self._check_ready()
        async with self._learning:
            if self._facts is not None and not self._is_stale:
                return
            if not self._embeds:
                self._facts = VectorFacts(tokens_max=self.context_tokens, gives_shares=self.options.server != RAW)
                return
            (vector,), _ = await self._vectors([PROBE])
            self._is_stale = False
            is_unit = bool(abs(float(np.linalg.norm(vector)) - 1) < UNIT_TOLERANCE)
            self._facts = VectorFacts(
                tokens_max=self.context_tokens,
                dimensions=len(vector),
                normalizes=self.options.server == RAW or is_unit,
            )
            logger.info("event=learned model=%s dimensions=%d", self.name, len(vector))

    # ---- asked ------------------------------------------------------------------------------------

    async def embed(self, job: EmbedJob) -> Rows:
        """One vector for each item. Raises BadRequest, UpstreamFault, UpstreamRefusal, UpstreamStalled, Unavailable."""
        if not self.kind.ids:
            strange = next((index for index, item in enumerate(job.items) if not isinstance(item, str)), None)
            if strange is not None:
                name = job.name_of(strange)
                raise BadRequest(
                    f"{name} is a list of token ids, and a server of the kind {self.kind.name} is sent texts alone.",
                    param=name,
                )
        values, tokens = await self._vectors(job.items)
        if values.shape[1] != (known := self.facts.dimensions):
            self._is_stale = True  # the next request asks
            raise broken(f"a vector has {values.shape[1]} numbers, and {known} before")
        return Rows(values, tokens, (None,) * len(job.items))

    async def rerank(self, job: RerankJob) -> Rows:
        """One score for each document. Raises as `embed` does."""
        asked = {"query": job.query, "documents": list(job.documents)}
        values, tokens = await self._told(RERANK, asked, lambda told: _scores(told, len(job.documents)))
        return Rows(values, tokens, (None,) * len(job.documents))

    async def _vectors(self, items: Sequence[Item]) -> tuple[Values, int]:
        asked: dict[str, Any] = {"input": [item if isinstance(item, str) else list(item) for item in items]}
        if self.options.server in COMPACT:
            asked["encoding_format"] = "base64"
        if self.options.server == RAW:
            asked["embd_normalize"] = UNSCALED
        return await self._told(EMBEDDINGS, asked, lambda told: _vectors(told, len(items)))

    async def _told(self, path: str, asked: Mapping[str, Any], read: Any) -> tuple[Values, int]:
        """What `read` makes of the answer, and how many tokens were read."""
        self._check_ready()
        work = asyncio.ensure_future(self._asked(path, asked, read))
        self._work.add(work)
        try:
            return await work
        except asyncio.CancelledError as ended:
            task = asyncio.current_task()
            if self._status == "stopped" and not (task is not None and task.cancelling()):
                raise Unavailable(str(ended), retry_seconds=1, code="stopping") from ended
            raise
        finally:
            work.cancel()
            self._work.discard(work)

    async def _asked(self, path: str, asked: Mapping[str, Any], read: Any) -> tuple[Values, int]:
        def body_for(replica: Replica) -> bytes:
            name = name_of(replica, self.options)
            if name is None:
                raise self._nameless(replica)
            return encoded({"model": name, **asked})

        started = time.monotonic()
        try:
            async with asyncio.timeout(self.options.total_seconds or None):
                content = await _content(await self._replicas.open(path, body_for), started)
        except TimeoutError as fault:
            raise UpstreamStalled("total", time.monotonic() - started, self.name) from fault
        except UpstreamRefusal as refused:
            if TOO_LONG not in refused.message:
                raise
            field = "input" if self._embeds else "documents"
            raise BadRequest(refused.message, param=field, code="context_length_exceeded") from refused
        return await asyncio.to_thread(_judged, content, read)


async def _content(answering: Answering, started: float) -> bytes:
    try:
        return await answering.reply.read()
    except Silent as fault:
        raise UpstreamStalled("idle", time.monotonic() - started, answering.upstream) from fault
    except LineFault as fault:
        raise broken("it ended before its end") from fault
    finally:
        answering.close()


def _judged(content: bytes, read: Any) -> tuple[Values, int]:
    """The numbers of an answer and its count of tokens. Raises UpstreamFault."""
    try:
        told = json.loads(content)
        values = read(told)
        usage = told.get("usage") or {}
        tokens = usage.get("prompt_tokens", usage.get("total_tokens", 0))
        found = np.asarray(values, np.float32)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, binascii.Error) as fault:
        raise broken("its numbers are not where they belong") from fault
    if found.ndim != 2 or not found.shape[1] or not np.isfinite(found).all():
        raise broken("its numbers are no numbers, or not as many for each")
    return found, tokens if isinstance(tokens, int) else 0


def _vectors(told: Any, count: int) -> Sequence[Any]:
    found = {entry["index"]: _vector(entry["embedding"]) for entry in told["data"]}
    return [found[index] for index in _all(found, count)]


def _vector(written: Any) -> Any:
    return np.frombuffer(base64.b64decode(written, validate=True), "<f4") if isinstance(written, str) else written


def _scores(told: Any, count: int) -> Sequence[Any]:
    found = {entry["index"]: [entry["relevance_score"]] for entry in told["results"]}
    return [found[index] for index in _all(found, count)]


def _all(found: Mapping[Any, Any], count: int) -> range:
    if set(found) != set(range(count)):
        raise ValueError("some are missing")
    return range(count)
