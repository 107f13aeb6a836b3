"""Messages between two processes of ours: pickles over a socket, and memory that both see for what is large.

Both ends are this package, on a socket that one inherited from the other, so that a pickle is no risk.
"""

from __future__ import annotations

import mmap
import os
import pickle
import select
import socket
import struct
from typing import Any

import numpy as np

from troth.engines.base import State

HEAD = struct.Struct("<Q")  # bytes of the pickle that follows
READ_BYTES = 65_536
ROOM_BYTES = 1 << 20  # a shelf grows by whole ones
KEPT_BYTES = 1 << 26  # a larger shelf is given back after use


class ChannelClosed(Exception):
    """The other end is gone, or was told to go."""


class Channel:
    """One end of a socket. One thread at a time sends, and one receives."""

    def __init__(self, end: socket.socket) -> None:
        self._socket = end
        self._rest = b""  # received and not yet taken

    def send(self, message: Any) -> None:
        """The message is on its way. Raises ChannelClosed."""
        data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
        try:
            self._socket.sendall(HEAD.pack(len(data)) + data)
        except OSError as error:
            raise ChannelClosed from error

    def receive(self) -> Any:
        """The next message, once it is there. Raises ChannelClosed."""
        self._rest = self._rest or self._read()
        (size,) = HEAD.unpack(self._take(HEAD.size))
        return pickle.loads(self._take(size))

    def is_waiting(self, seconds: float) -> bool:
        """True when something can be received without waiting, at once or within `seconds`."""
        if self._rest:
            return True
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return bool(poll.poll(seconds * 1e3))

    def shut(self) -> None:
        """Whoever sends or receives here raises ChannelClosed, and so does the other end."""
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            return  # the other end was quicker

    def close(self) -> None:
        """The socket is given back. Nobody uses the channel any more."""
        self._socket.close()

    def _read(self) -> bytes:
        """What comes next. Raises ChannelClosed."""
        try:
            data = self._socket.recv(READ_BYTES)
        except OSError as error:
            raise ChannelClosed from error
        if not data:
            raise ChannelClosed
        return data

    def _take(self, size: int) -> bytes:
        parts, held = [self._rest], len(self._rest)
        while held < size:
            parts.append(self._read())
            held += len(parts[-1])
        whole = parts[0] if len(parts) == 1 else b"".join(parts)
        self._rest = whole[size:]
        return whole[:size]


class Shelf:
    """Memory that two processes see: one puts something there and says how large it is, the other takes it.

    Through a socket a state of some megabytes would wake either process a hundred times.
    """

    def __init__(self, file: int) -> None:
        """`file`: of memory (memfd_create(2)), inherited or made here; closed with the shelf."""
        self._file = file
        self._map: mmap.mmap | None = None

    @classmethod
    def make(cls) -> Shelf:
        """An empty one."""
        return cls(os.memfd_create("troth-states"))

    @property
    def number(self) -> int:
        """Of its file, for the process that inherits it."""
        return self._file

    def put(self, state: State) -> int:
        """The state lies there; its size in bytes."""
        size = state.nbytes
        if size:
            if size > os.fstat(self._file).st_size:
                os.ftruncate(self._file, -(-size // ROOM_BYTES) * ROOM_BYTES)
            self._seen()[:size] = state.data
        return size

    def take(self, size: int) -> State:
        """A copy of what the other process has put there."""
        if not size:
            return np.empty(0, np.uint8)
        state = np.frombuffer(self._seen(), np.uint8, size).copy()
        if os.fstat(self._file).st_size > KEPT_BYTES:
            os.ftruncate(self._file, 0)
        return state

    def close(self) -> None:
        """The memory is given back, once the other process has done so too. Safe to call twice."""
        if self._file >= 0:
            if self._map is not None:
                self._map.close()
            os.close(self._file)
            self._file = -1

    def _seen(self) -> mmap.mmap:
        """The whole of the file, as large as it is now."""
        size = os.fstat(self._file).st_size
        if self._map is None or len(self._map) != size:
            if self._map is not None:
                self._map.close()
            self._map = mmap.mmap(self._file, size)
        return self._map
