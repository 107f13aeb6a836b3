"""The `upstream` engine: another server computes, and Troth stays the contract in front of it.

A plan is written in that server's words (`writing.py`), sent to one of its replicas (`replicas.py`), and its stream of
chat completions is read back as the corridor's events (`reading.py`). So there is one way for every dialect, and every
writer works unchanged. What a kind of server honours is written down in `kinds.py`; the rest is refused by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from troth.domain import Medium, Plan, Prompt, RawText, Talk, TokenIds
from troth.engines.base import Relays
from troth.engines.upstream.health import name_of
from troth.engines.upstream.kinds import KINDS, OWN
from troth.engines.upstream.options import UpstreamOptions
from troth.engines.upstream.reading import broken
from troth.engines.upstream.remote import Remote
from troth.engines.upstream.replicas import Answering, Replica
from troth.engines.upstream.ticket import RelayTicket
from troth.engines.upstream.writing import Target, body_of, check, encoded, talk_body
from troth.errors import NotImplementedHere, Unavailable

__all__ = ["Upstream", "UpstreamOptions", "honours_of", "sampling_of"]


def honours_of(options: UpstreamOptions) -> frozenset[str]:
    """The request fields that are honoured with these options."""
    return KINDS[options.server].honours


def sampling_of(options: UpstreamOptions) -> frozenset[str]:
    """The values of `Sampling` that the other server takes, and `seed` if it does."""
    kind = KINDS[options.server]
    return kind.sampling | (kind.does & {"seed"})


class Upstream(Remote, Relays):
    """One model of another server, with its replicas. Lives on the event loop; the `Relays` of `engines.base`."""

    def __init__(self, name: str, options: UpstreamOptions) -> None:
        super().__init__(name, options)
        self.honours = self.kind.honours
        self._tickets: set[RelayTicket] = set()
        self._told_facts = {"done_there": sorted(self.kind.does), "done_here": sorted(OWN)}

    def _end(self, fault: Unavailable) -> None:
        for ticket in list(self._tickets):
            ticket.fail(fault)

    @property
    def _running(self) -> int:
        return len(self._tickets)

    @property
    def _facts_told(self) -> Mapping[str, Any]:
        return self._told_facts

    def lists(self, name: str) -> bool:
        """True when the list of a replica, as it was last seen, has this name."""
        return any(name in each.names for each in self._replicas.all)

    # ---- asked ------------------------------------------------------------------------------------

    def check(self, plan: Plan) -> None:
        """Nothing of the plan would be dropped over there. Raises Unsupported or NotImplementedHere."""
        check(plan, self._target(self._replicas.order()[0], plan, is_asked=False))

    def relay(self, plan: Plan, prompt: Prompt) -> RelayTicket:
        """The plan is on its way. Raises Unavailable before the start and after the end."""
        self._check_ready()

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
            raise self._nameless(replica)
        template = replica.facts.get("chat_template")
        return Target(self.kind, name or "", template if isinstance(template, str) else None)


def _mixed(raw: RawText) -> Any:  # a text, or a list of texts and ids
    if len(raw.pieces) == 1 and isinstance(raw.pieces[0], str):
        return raw.pieces[0]
    mixed: list[str | int] = []
    for piece in raw.pieces:
        assert not isinstance(piece, Medium), "media were refused"
        mixed += [piece] if isinstance(piece, str) else piece
    return mixed
