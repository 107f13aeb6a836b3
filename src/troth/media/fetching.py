"""Bytes from an allowed host, within the limits of size, time and redirects. Every hop is judged anew."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from urllib.parse import urljoin

import httpx

from troth.media.addresses import Resolve, Target, is_open, resolve, target_of
from troth.media.settings import MediaSettings

MOVED = frozenset({301, 302, 303, 307, 308})


class FetchFault(Exception):
    """The bytes could not be had. The text says why, for the caller."""


@dataclass(frozen=True, slots=True)
class Fetcher:
    """Fetches from the hosts of `media.allowed_hosts`, and only from machines of the open internet."""

    settings: MediaSettings
    look_up: Resolve = resolve
    may_ask: Callable[[str], bool] = is_open
    verify: bool = True  # certificates

    async def fetch(self, url: str, kind: str) -> bytes:
        """The body behind the URL, which its server calls `kind`/something.

        Raises: Forbidden for an address that is not asked, FetchFault for everything else.
        """
        try:
            async with asyncio.timeout(self.settings.fetch_seconds_max):
                return await self._follow(url, kind)
        except TimeoutError as error:
            limit = self.settings.fetch_seconds_max
            raise FetchFault(f"it took longer than {limit:g} s to fetch (media.fetch_seconds_max)") from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise FetchFault(f"it cannot be fetched ({type(error).__name__})") from error

    async def _follow(self, url: str, kind: str) -> bytes:
        # No proxy and no cookies of the environment: the connection goes to the address that was judged.
        # On a thread: reading the certificates of the system takes some 20 ms.
        make = partial(httpx.AsyncClient, trust_env=False, verify=self.verify, timeout=None)
        async with await asyncio.to_thread(make) as client:
            for _ in range(self.settings.redirects_max + 1):
                target = await target_of(url, self.settings.allowed_hosts, self.look_up, self.may_ask)
                found = await self._ask(client, target, kind)
                if isinstance(found, bytes):
                    return found
                url = _joined(f"{target.scheme}://{target.authority}{target.path}", found)
        raise FetchFault(f"it is redirected more than {self.settings.redirects_max} times (media.redirects_max)")

    async def _ask(self, client: httpx.AsyncClient, target: Target, kind: str) -> bytes | str:
        """The body, or where it has moved to."""
        request = client.build_request(
            "GET",
            target.url,
            headers={"Host": target.authority, "Accept": f"{kind}/*", "Accept-Encoding": "identity"},
            extensions={"sni_hostname": target.host},  # the certificate is that of the host, not of the address
        )
        response = await client.send(request, stream=True)
        try:
            if response.status_code in MOVED:
                return self._moved_to(response)
            if response.status_code != httpx.codes.OK:
                raise FetchFault(f"its server answers with the status {response.status_code}")
            declared = response.headers.get("content-type", "").partition(";")[0].strip().lower()
            if not declared.startswith(f"{kind}/"):
                raise FetchFault(f"its server says that it is no {kind}, but {declared[:64] or 'nothing'}")
            if response.headers.get("content-encoding", "identity").strip().lower() != "identity":
                raise FetchFault("its server sends it compressed once more")
            return await self._body(response)
        finally:
            await response.aclose()

    @staticmethod
    def _moved_to(response: httpx.Response) -> str:
        place: str = response.headers.get("location", "")
        if not place:
            raise FetchFault("it is redirected to nowhere")
        return place

    async def _body(self, response: httpx.Response) -> bytes:
        limit = self.settings.bytes_max
        body = bytearray()
        if response.headers.get("content-length", "").isdigit() and int(response.headers["content-length"]) > limit:
            raise FetchFault(f"it has more than {limit} bytes (media.bytes_max)")
        async for piece in response.aiter_raw():
            body += piece
            if len(body) > limit:
                raise FetchFault(f"it has more than {limit} bytes (media.bytes_max)")
        return bytes(body)


def _joined(base: str, place: str) -> str:
    """Where a redirect leads. Raises FetchFault for what is no URL."""
    try:
        return urljoin(base, place)
    except ValueError as error:
        raise FetchFault("it is redirected to what is no URL") from error
