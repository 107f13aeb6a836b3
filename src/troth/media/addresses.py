"""Which addresses of the network may be asked for a picture: named hosts, and only machines of the open internet."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

PORTS = {"http": 80, "https": 443}
NAT64 = ipaddress.ip_network("64:ff9b::/96")

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]  # a host and a port → its addresses


class Forbidden(Exception):
    """An address that is not asked. The text says why, for the caller."""


@dataclass(frozen=True, slots=True)
class Target:
    """One request to make: `address` is where it goes, `host` is who is meant there."""

    scheme: str
    host: str
    port: int
    path: str  # with the query
    address: str

    @property
    def authority(self) -> str:
        """The value of the header Host."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """The URL with the address in the place of the host's name."""
        where = f"[{self.address}]" if ":" in self.address else self.address
        return f"{self.scheme}://{where}:{self.port}{self.path}"


async def resolve(host: str, port: int) -> Sequence[str]:
    """The addresses that the system's resolver knows for the host."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def is_open(address: str) -> bool:
    """True for a unicast address of the open internet, whatever it is wrapped in."""
    try:
        known = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(known, ipaddress.IPv6Address):
        if known.ipv4_mapped is not None:
            return is_open(str(known.ipv4_mapped))
        if known.sixtofour is not None:
            return is_open(str(known.sixtofour))
        if known in NAT64:
            return is_open(str(ipaddress.IPv4Address(int(known) & 0xFFFFFFFF)))
        if known.teredo is not None or known.is_site_local:
            return False
    return known.is_global and not known.is_multicast and not known.is_reserved


async def target_of(
    url: str, allowed_hosts: Sequence[str], look_up: Resolve, may_ask: Callable[[str], bool] = is_open
) -> Target:
    """Where to ask for the URL. Its host was looked up once, and all its addresses are open ones.

    Raises: Forbidden for a URL that is none, for a host that is not allowed, and for addresses that are not open.
    """
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError as error:
        raise Forbidden("it is not a valid URL") from error
    if parts.scheme not in PORTS or not host:
        raise Forbidden("it is not a valid http or https URL")
    if parts.username is not None or parts.password is not None:
        raise Forbidden("it has a user name or a password in it")
    if not url.isascii() or not url.isprintable() or " " in url:
        raise Forbidden("it has characters that a URL must write in percent form")
    port = PORTS[parts.scheme] if port is None else port
    names = {f"{host}:{port}"} | ({host} if port == PORTS[parts.scheme] else set())
    if not names & {each.lower() for each in allowed_hosts}:
        raise Forbidden(
            f"the host {host[:80]} is not in media.allowed_hosts; send the picture as a data URL: "
            "data:image/png;base64,…"
        )
    try:
        addresses = await look_up(host, port)
    except (OSError, UnicodeError) as error:
        raise Forbidden(f"the host {host[:80]} cannot be found") from error
    if not addresses or not all(may_ask(address) for address in addresses):
        raise Forbidden(f"the host {host[:80]} has an address that is not of the open internet")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Target(parts.scheme, host, port, path, addresses[0])
