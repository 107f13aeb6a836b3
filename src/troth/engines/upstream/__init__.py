"""The `upstream` engine: another server computes, and Troth stays the contract in front of it.

A plan is written in that server's words (`writing.py`), sent to one of its replicas (`replicas.py`), and its stream of
chat completions is read back as the corridor's events (`reading.py`). So there is one way for every dialect, and every
writer works unchanged. What a kind of server honours is written down in `kinds.py`; the rest is refused by name.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import httpx
import numpy as np

from troth.domain import Medium, Plan, Prompt, RawText, Talk, TokenIds
from troth.engines.base import EngineReport, EngineStatus, LoadProgress, Relays
from troth.engines.upstream.health import Watch, context_of, name_of, slots_of
from troth.engines.upstream.kinds import KINDS, OWN, Kind
from troth.engines.upstream.options import UpstreamOptions
from troth.engines.upstream.reading import broken
from troth.engines.upstream.replicas import Answering, Replica, Replicas
from troth.engines.upstream.ticket import RelayTicket
from troth.engines.upstream.writing import Target, body_of, check, encoded, talk_body
from troth.errors import NotImplementedHere, Unavailable, UpstreamFault

__all__ = ["Upstream", "UpstreamOptions", "honours_of", "sampling_of"]

logger = logging.getLogger(__name__)

RETRY_SECONDS = 2
STOPPING = "The server stops before this answer is complete."


def honours_of(options: UpstreamOptions) -> frozenset[str]:
    """The request fields that are honoured with these options."""
    return KINDS[options.server].honours


def sampling_of(options: UpstreamOptions) -> frozenset[str]:
    """The values of `Sampling` that the other server takes, and `seed` if it does."""
    kind = KINDS[options.server]
    return kind.sampling | (kind.does & {"seed"})


class Upstream(Relays):
    """One model of another server, with its replicas. Lives on the event loop; the `Relays` of `engines.base`."""

    def __init__(self, name: str, options: UpstreamOptions) -> None:
        self.name = name
        self.options = options
        self.kind: Kind = KINDS[options.server]
        self.honours = self.kind.honours
        self._status: EngineStatus = "loading"
        self._replicas = Replicas(name, options.urls, _client(options))
        self._watch = Watch(self._replicas, self.kind, options)
        self._looking: asyncio.Task[None] | None = None
        self._tickets: set[RelayTicket] = set()

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
        for ticket in list(self._tickets):
            ticket.fail(Unavailable(STOPPING, retry_seconds=RETRY_SECONDS, code="stopping"))
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)
        await self._replicas.client.aclose()

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
            context_tokens=self._context_tokens,
            running=len(self._tickets),
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
                "done_there": sorted(self.kind.does),
                "done_here": sorted(OWN),
            },
        )

    @property
    def _model(self) -> str | None:
        """The model's name over there; of a path, which some servers use as a name, the file alone."""
        name = next((name for each in self._replicas.all if (name := name_of(each, self.options))), None)
        return name if name is None or not name.startswith("/") else name.rpartition("/")[2]

    @property
    def _context_tokens(self) -> int:
        """The smallest that a replica tells."""
        told = [context for each in self._replicas.all if (context := context_of(each, self.options))]
        return min(told, default=0)

    def lists(self, name: str) -> bool:
        """True when the list of a replica, as it was last seen, has this name."""
        return any(name in each.names for each in self._replicas.all)

    async def refresh(self) -> None:
        """Every replica has been looked at again, its list included."""
        await self._watch.look(afresh=True)

    # ---- asked ------------------------------------------------------------------------------------

    def check(self, plan: Plan) -> None:
        """Nothing of the plan would be dropped over there. Raises Unsupported or NotImplementedHere."""
        check(plan, self._target(self._replicas.order()[0], plan, is_asked=False))

    def relay(self, plan: Plan, prompt: Prompt) -> RelayTicket:
        """The plan is on its way. Raises Unavailable before the start and after the end."""
        if self._status != "ready":
            if self._status == "loading":
                raise Unavailable(f"The servers of the model {self.name} are being asked.", retry_seconds=RETRY_SECONDS)
            raise Unavailable(
                f"The model {self.name} cannot answer: it is {self._status}.",
                retry_seconds=RETRY_SECONDS,
                code="model_unavailable",
            )

        async def open_choice(choice: int) -> Answering:
            path, _ = body_of(plan, Target(self.kind, ""), choice=choice, answer_tokens=prompt.answer_tokens)

            def body_for(replica: Replica) -> bytes:
                target = self._target(replica, plan)
                return encoded(body_of(plan, target, choice=choice, answer_tokens=prompt.answer_tokens)[1])

            return await self._replicas.open(path, body_for)

        ticket = RelayTicket(plan, prompt, open_choice, self.options.total_seconds, self._tickets.discard)
        self._tickets.add(ticket)
        return ticket

    async def read(self, plan: Plan) -> tuple[TokenIds, str]:
        """What the other server reads. Raises NotImplementedHere for a kind that does not tell."""
        check(plan, self._target(self._replicas.order()[0], plan, is_asked=False))
        if not self.kind.tokenizes:
            raise NotImplementedHere(
                f"The model {self.name} is behind a server of the kind {self.kind.name}, which does not tell how it "
                "tokenises."
            )
        if self.kind.name == "llama_server":
            found = await self._read_llama(plan)
        else:
            found = await self._read_vllm(plan)
        tokens, text = found
        if not isinstance(tokens, list) or not isinstance(text, str):
            raise broken("its tokens are no list, or its text is none")
        return np.array(tokens, np.int32), text

    async def _read_llama(self, plan: Plan) -> tuple[Any, Any]:
        source = plan.ask.source
        if isinstance(source, Talk):
            told = await self._replicas.post("/apply-template", lambda replica: self._body(replica, plan))
            asked: dict[str, Any] = {"content": told.get("prompt"), "add_special": True}
        else:
            assert isinstance(source, RawText)
            asked = {"content": _mixed(source), "add_special": source.bos, "parse_special": source.special}
        body = encoded(asked)
        tokens = (await self._replicas.post("/tokenize", lambda _: body)).get("tokens")
        if isinstance(source, Talk):
            return tokens, asked["content"]
        return tokens, await self._text_of(plan, tokens, "content")

    async def _read_vllm(self, plan: Plan) -> tuple[Any, Any]:
        source = plan.ask.source
        if isinstance(source, RawText) and not isinstance(source.pieces[0] if source.pieces else "", str):
            tokens: Any = _mixed(source)
        else:
            told = await self._replicas.post("/tokenize", lambda replica: self._body(replica, plan))
            tokens = told.get("tokens")
        return tokens, await self._text_of(plan, tokens, "prompt")

    async def _text_of(self, plan: Plan, tokens: Any, key: str) -> Any:
        """The text itself where it is one; otherwise as the other server writes the tokens."""
        source = plan.ask.source
        if isinstance(source, RawText) and all(isinstance(piece, str) for piece in source.pieces):
            return "".join(map(str, source.pieces))
        told = await self._replicas.post(
            "/detokenize",
            lambda replica: encoded({"model": self._target(replica, plan).model, "tokens": tokens}),
        )
        return told.get(key)

    def _body(self, replica: Replica, plan: Plan) -> bytes:
        target, source = self._target(replica, plan), plan.ask.source
        if isinstance(source, Talk):
            return encoded({"model": target.model} | talk_body(source, target))
        assert isinstance(source, RawText)
        if not source.special:
            raise NotImplementedHere("vLLM reads control tokens in every text: leave parse_special out.")
        return encoded({"model": target.model, "prompt": _mixed(source), "add_special_tokens": source.bos})

    def _target(self, replica: Replica, plan: Plan, *, is_asked: bool = True) -> Target:
        """Whom a body is for: a model that was found by its name over there is asked by this name.

        Raises UpstreamFault when the replica's list does not tell which model is meant.
        """
        name = name_of(replica, self.options)
        if plan.origins.get("model") == "passthrough" and plan.ask.model in replica.names:
            name = plan.ask.model
        if name is None and is_asked:
            raise UpstreamFault(f"The upstream {self.name}/{replica.number} has not told which models it serves.")
        template = replica.facts.get("chat_template")
        return Target(self.kind, name or "", template if isinstance(template, str) else None)


def _client(options: UpstreamOptions) -> httpx.AsyncClient:
    timeout = httpx.Timeout(
        connect=options.connect_seconds,
        write=options.write_seconds,
        pool=options.pool_seconds,
        read=options.idle_seconds or None,
    )
    limits = httpx.Limits(max_connections=options.connections_max, max_keepalive_connections=options.connections_kept)
    headers = {"Accept-Encoding": "identity", "User-Agent": "troth"}
    if options.api_key is not None:
        headers["Authorization"] = f"Bearer {options.api_key}"
    return httpx.AsyncClient(timeout=timeout, limits=limits, headers=headers, trust_env=False, follow_redirects=False)


def _mixed(raw: RawText) -> Any:  # a text, or a list of texts and ids
    if len(raw.pieces) == 1 and isinstance(raw.pieces[0], str):
        return raw.pieces[0]
    mixed: list[str | int] = []
    for piece in raw.pieces:
        assert not isinstance(piece, Medium), "media were refused"
        mixed += [piece] if isinstance(piece, str) else piece
    return mixed
