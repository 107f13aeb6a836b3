"""From what a client sent to the bytes of one medium: data URLs, base64, and addresses of allowed hosts."""

from __future__ import annotations

import binascii
import re
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

from troth.domain import Medium
from troth.errors import BadRequest
from troth.media.addresses import Forbidden
from troth.media.fetching import Fetcher, FetchFault

SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*):")
DATA = re.compile(r"data:([^,]{0,256}),", re.IGNORECASE)
WORDS = {"image": "picture", "audio": "sound"}


@dataclass(frozen=True, slots=True)
class Reader:
    """Turns media into bytes, at most `media.bytes_max` of each."""

    fetcher: Fetcher

    @property
    def bytes_max(self) -> int:
        """Of one medium."""
        return self.fetcher.settings.bytes_max

    async def fetch(self, medium: Medium) -> bytes | None:
        """The bytes behind an http address; None: they are in the request. Raises BadRequest naming the path."""
        if self._scheme(medium) not in ("http", "https"):
            return None
        try:
            return await self.fetcher.fetch(medium.source, medium.kind)
        except (Forbidden, FetchFault) as fault:
            raise refused(medium, str(fault)) from fault

    def decode(self, medium: Medium) -> bytes:
        """The bytes that are in the request. Takes milliseconds per megabyte. Raises BadRequest naming the path."""
        scheme = self._scheme(medium)
        if scheme is None:
            return self._decoded(medium, medium.source)
        if scheme != "data":
            raise refused(medium, f"addresses of the form {scheme[:32]}: are not read; send a data URL")
        return self._of_data_url(medium)

    @staticmethod
    def _scheme(medium: Medium) -> str | None:
        found = None if medium.is_base64 else SCHEME.match(medium.source[:64])
        return found.group(1).lower() if found else None

    def _of_data_url(self, medium: Medium) -> bytes:
        head = DATA.match(medium.source)
        if head is None:
            raise refused(medium, "its data URL has no comma in front of the data")
        declared, *marks = (part.strip().lower() for part in head.group(1).split(";"))
        if declared and declared.partition("/")[0] != medium.kind:
            raise refused(medium, f"its data URL says that it is no {medium.kind}, but {declared[:64]}")
        if "base64" in marks:
            return self._decoded(medium, medium.source[head.end() :])
        if len(medium.source) > 3 * self.bytes_max + head.end():  # in percent form a byte takes three letters
            raise self._too_large(medium)
        return self._fitting(medium, unquote_to_bytes(medium.source[head.end() :]))

    def _decoded(self, medium: Medium, text: str) -> bytes:
        if len(text) > self.bytes_max * 4 // 3 + 65_536:  # with room for line breaks
            raise self._too_large(medium)
        try:
            plain = text.encode("ascii")
            if any(letter in plain for letter in b"\r\n\t %"):
                plain = b"".join(unquote_to_bytes(plain).split())
            return self._fitting(medium, binascii.a2b_base64(plain, strict_mode=True))
        except (binascii.Error, UnicodeEncodeError) as error:
            raise refused(medium, f"it is no valid base64 ({_words(error)})") from error

    def _fitting(self, medium: Medium, data: bytes) -> bytes:
        if len(data) > self.bytes_max:
            raise self._too_large(medium)
        if not data:
            raise refused(medium, "it is empty")
        return data

    def _too_large(self, medium: Medium) -> BadRequest:
        return refused(medium, f"it has more than {self.bytes_max} bytes (media.bytes_max)")


def refused(medium: Medium, why: str) -> BadRequest:
    """What is raised for a medium that cannot be taken."""
    return BadRequest(f"{medium.path}: the {WORDS[medium.kind]} cannot be used: {why}.", param=medium.path)


def _words(error: Exception) -> str:
    return "letters outside ASCII" if isinstance(error, UnicodeEncodeError) else str(error).lower()
