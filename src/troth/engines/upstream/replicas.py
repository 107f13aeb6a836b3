"""Which of several equal servers is asked: the least busy one that is well, and another one while nothing was said.

A replica that cannot be reached is put aside, twice as long each time, and is asked again when that time is over; its
health check brings it back sooner. Everything here runs on the event loop.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from troth.engines.upstream.line import OK, AllInUse, Broken, Line, LineFault, Reply, Silent, Unreached
from troth.engines.upstream.reading import broken, words_of
from troth.errors import OverContext, Refusal, Unavailable, UpstreamFault, UpstreamRefusal, UpstreamStalled

logger = logging.getLogger(__name__)

ASIDE_SECONDS, ASIDE_SECONDS_MAX = 1.0, 30.0  # of a replica that cannot be reached
AWAY = (502, 503, 504)  # before the first byte these say that another replica may be better
ERROR_BYTES_MAX = 1 << 20
RETRY_SECONDS = 1
RETRY_SECONDS_MAX = 86_400


@dataclass(slots=True)
class Replica:
    """One server."""

    number: int
    url: str
    in_flight: int = 0
    is_up: bool | None = None  # None: nobody has asked yet
    fault: str = ""  # why it is not up
    aside_until: float = 0.0  # on the monotonic clock
    failures: int = 0  # in a row
    models: tuple[Mapping[str, Any], ...] = ()  # its list, as it was last seen
    listed_at: float = 0.0  # on the monotonic clock; 0: never
    facts: Mapping[str, Any] = field(default_factory=dict)  # what else it tells of itself

    @property
    def names(self) -> frozenset[str]:
        """The names in its list, other names of a model among them."""
        found: set[str] = set()
        for entry in self.models:
            found.add(str(entry.get("id")))
            aliases = entry.get("aliases")
            found.update(map(str, aliases) if isinstance(aliases, list) else ())
        return frozenset(found)

    def note_well(self) -> None:
        """It answers."""
        if self.is_up is False:
            logger.info("event=replica_back number=%d", self.number)
        self.is_up, self.fault, self.failures, self.aside_until = True, "", 0, 0.0

    def put_aside(self, words: str) -> None:
        """It cannot be reached: others are asked for a while."""
        if self.is_up is not False:
            logger.warning("event=replica_aside number=%d reason=%r", self.number, words)
        seconds = min(ASIDE_SECONDS * 2**self.failures, ASIDE_SECONDS_MAX)
        self.is_up, self.fault, self.failures = False, words, min(self.failures + 1, 16)
        self.aside_until = time.monotonic() + seconds


class Replicas:
    """All servers of one model, and the connections to them."""

    def __init__(self, name: str, urls: Sequence[str], line: Line, *, prompted: bool = True) -> None:
        """`name` is the model's here, for refusals; `prompted`: they are sent prompts."""
        self._prompted = prompted
        self.name = name
        self.line = line
        self.all = [Replica(number, base_of(url)) for number, url in enumerate(urls)]

    def order(self) -> list[Replica]:
        """Whom to ask, best first: those that are well by how busy they are, then those that were put aside."""
        now = time.monotonic()
        return sorted(self.all, key=lambda each: (each.aside_until > now, each.is_up is False, each.in_flight))

    async def open(self, path: str, body_for: Any) -> Answering:
        """The first replica's answer of status 200, its body not yet read.

        `body_for(replica)` gives the bytes, or raises a Refusal. Raises UpstreamFault when no replica can be reached,
        UpstreamRefusal in a replica's own words, UpstreamStalled, Unavailable when all connections are in use.
        """
        last: Refusal = UpstreamFault(f"The model {self.name} has no server that can be reached.")
        for replica in self.order():
            replica.in_flight += 1
            is_given = False
            try:
                answering = await self._ask(replica, path, body_for(replica))
                is_given = True
                return answering
            except _Away as away:
                last = away.refusal
            finally:
                replica.in_flight -= 0 if is_given else 1
        raise last

    async def _ask(self, replica: Replica, path: str, body: bytes) -> Answering:
        """Raises _Away where another replica may do better."""
        asked = time.monotonic()
        upstream = f"{self.name}/{replica.number}"
        try:
            reply = await self.line.post(replica.url + path, body)
        except Unreached as fault:
            replica.put_aside("no connection")
            raise _Away(UpstreamFault(f"The upstream {upstream} cannot be reached.")) from fault
        except AllInUse as fault:
            raise Unavailable(
                f"Every connection to the upstream {self.name} is in use.",
                retry_seconds=RETRY_SECONDS,
                code="upstream_busy",
            ) from fault
        except Silent as fault:
            replica.put_aside("no answer")
            raise UpstreamStalled("read", time.monotonic() - asked, upstream) from fault
        except Broken as fault:
            replica.put_aside("the connection broke")
            raise _Away(UpstreamFault(f"The connection to the upstream {upstream} broke.")) from fault
        if reply.status == OK:
            replica.note_well()
            return Answering(replica, reply, upstream)
        refusal = await refusal_of(reply, prompted=self._prompted)
        if reply.status in AWAY:
            replica.put_aside(f"status {reply.status}")
            raise _Away(refusal)
        raise refusal

    async def post(self, path: str, body_for: Any) -> Any:
        """The JSON that the first replica that can be reached answers. Raises what `open` raises."""
        answering = await self.open(path, body_for)
        try:
            return json.loads(await answering.reply.read())
        except (LineFault, ValueError, RecursionError) as error:
            raise broken("it is no JSON, or ended before its end") from error
        finally:
            answering.close()


@dataclass(slots=True)
class Answering:
    """A replica that answers. Whoever has it closes it."""

    replica: Replica
    reply: Reply
    upstream: str  # its name, for refusals
    is_closed: bool = False

    def close(self) -> None:
        """Nothing is read any more: a connection whose answer has not ended is closed, so that the work on it ends."""
        if not self.is_closed:
            self.is_closed = True
            self.replica.in_flight -= 1
            self.reply.close()


class _Away(Exception):
    """This replica does not answer now; another one may."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


def base_of(url: str) -> str:
    """The address without /v1 and without a slash at its end."""
    return url.rstrip("/").removesuffix("/v1")


async def refusal_of(reply: Reply, *, prompted: bool = True) -> Refusal:
    """An answer of another status than 200 as a refusal, in its own words; the answer is closed."""
    read = b""
    try:
        async for piece in reply.pieces():
            read += piece
            if len(read) > ERROR_BYTES_MAX:
                break
    except LineFault:
        read = b""  # its words are lost, its status is not
    finally:
        reply.close()
    return refusal_from(reply.status, reply.headers, read, prompted=prompted)


def refusal_from(status: int, headers: Mapping[str, str], read: bytes, *, prompted: bool = True) -> Refusal:
    """A refusal of another server: a prompt that is too long is the refusal that this one would make."""
    try:
        body = json.loads(read)
    except (ValueError, RecursionError):
        body = {}
    error = body.get("error") if isinstance(body, dict) else None
    if prompted and status == HTTPStatus.BAD_REQUEST and isinstance(error, dict):
        prompt_tokens, context_tokens = error.get("n_prompt_tokens"), error.get("n_ctx")
        if isinstance(prompt_tokens, int) and isinstance(context_tokens, int) and context_tokens > 0:
            return OverContext(prompt_tokens, context_tokens)
    if status in (401, 403, 407):
        return UpstreamRefusal("The upstream does not accept this server's key.", status=status)
    words = words_of(body)[:2000] if body else _phrase(status)
    kept = {"Retry-After": str(_seconds(headers.get("Retry-After")))} if status in (429, 503) else {}
    return UpstreamRefusal(f"The upstream refused ({status}): {words}", status=status, headers=kept)


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "no status that is known"


def _seconds(text: str | None) -> int:
    is_number = text is not None and len(text) < 10 and text.isdecimal()
    return min(max(int(text or 0), 1), RETRY_SECONDS_MAX) if is_number else RETRY_SECONDS
