"""Reading a request body: sizes and forms are checked before anything is parsed."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.types import Receive, Scope

from troth.errors import BodyTooLarge, ClientGone, UnsupportedMedia

# What curl, browsers and bare clients send along with a JSON text when nobody told them otherwise.
FORGIVEN_TYPES = frozenset({b"", b"text/plain", b"application/x-www-form-urlencoded", b"*/*"})


@dataclass(frozen=True, slots=True)
class BodyRules:
    """What bodies an operation takes: at most so many bytes, and of which types."""

    bytes_max: int
    strict_content_type: bool

    async def read(self, scope: Scope, receive: Receive) -> bytes:
        """The whole body. Raises UnsupportedMedia, BodyTooLarge (before reading it all) or ClientGone."""
        media_type, length = b"", 0
        for name, value in scope["headers"]:
            if name == b"content-type":
                media_type = value
            elif name == b"content-length":
                length = int(value) if value.isdigit() else 0
            elif name == b"content-encoding" and value.strip().lower() not in (b"", b"identity"):
                raise UnsupportedMedia(
                    "Compressed bodies are not read here: send the body without Content-Encoding.",
                    headers={"Accept-Encoding": "identity"},
                )
        self._check_type(media_type)
        if length > self.bytes_max:
            raise self._too_large()
        return await self._receive_all(receive)

    def _check_type(self, value: bytes) -> None:
        media_type = value.partition(b";")[0].strip().lower()
        if media_type == b"application/json" or media_type.endswith(b"+json"):
            return
        if self.strict_content_type or media_type not in FORGIVEN_TYPES:
            raise UnsupportedMedia("This route reads JSON: send the header 'Content-Type: application/json'.")

    def _too_large(self) -> BodyTooLarge:
        return BodyTooLarge(f"The request body is larger than the {self.bytes_max} bytes that this server reads.")

    async def _receive_all(self, receive: Receive) -> bytes:
        chunks: list[bytes] = []
        size = 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ClientGone("The client hung up while it was sending its request.")
            chunk = message.get("body", b"")
            size += len(chunk)
            if size > self.bytes_max:
                raise self._too_large()
            chunks.append(chunk)
            if not message.get("more_body"):
                return chunk if len(chunks) == 1 else b"".join(chunks)
