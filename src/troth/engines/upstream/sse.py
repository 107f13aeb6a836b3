"""Server-sent events out of the bytes of another server, whatever the pieces they come in."""

from __future__ import annotations

from troth.errors import UpstreamFault

FRAME_BYTES_MAX = 8 << 20  # a frame holds some tokens; one larger than this is no answer


class Frames:
    """Cuts a stream into the `data` of its events. Comments, names and ids are left out."""

    def __init__(self) -> None:
        self._rest = b""  # of a line that has not ended
        self._data: list[bytes] = []  # lines of an event that has not ended
        self._size = 0

    def feed(self, piece: bytes) -> list[bytes]:
        """The data of every event that `piece` completes. Raises UpstreamFault for one that is too large."""
        lines = (self._rest + piece if self._rest else piece).split(b"\n")
        self._rest = lines.pop()
        found = []
        for line in lines:
            if line.endswith(b"\r"):
                line = line[:-1]
            if line.startswith(b"data:"):
                self._data.append(line[6:] if line[5:6] == b" " else line[5:])
                self._size += len(line)
            elif not line and self._data:
                found.append(b"\n".join(self._data))
                self._data, self._size = [], 0
        if len(self._rest) + self._size > FRAME_BYTES_MAX:
            raise UpstreamFault(
                f"The upstream sent an event of more than {FRAME_BYTES_MAX} bytes.", code="upstream_broken"
            )
        return found
