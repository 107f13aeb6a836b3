"""Messages between two processes of ours over a socket: pickles, and large arrays beside them as they are.

Both ends are this package, on a socket that one inherited from the other, so that a pickle is no risk. A message
is a head (the pickle's size, the number of arrays), the sizes of the arrays, the pickle, the arrays.
"""

from __future__ import annotations

import pickle
import select
import socket
import struct
from typing import Any

import numpy as np
import numpy.typing as npt

HEAD = struct.Struct("<QI")
SIZE_BYTES = 8
READ_BYTES = 65_536
BESIDE_BYTES_MIN = 65_536  # smaller arrays travel inside the pickle, which saves system calls


class ChannelClosed(Exception):
    """The other end is gone, or was told to go."""


class Channel:
    """One end. One thread at a time sends, and one receives."""

    def __init__(self, end: socket.socket) -> None:
        self._socket = end
        self._rest = b""  # received and not yet taken

    def send(self, message: Any) -> None:
        """The message is on its way. Raises ChannelClosed."""
        beside: list[memoryview] = []

        def stays_inside(buffer: pickle.PickleBuffer) -> bool:
            view = buffer.raw()
            if view.nbytes < BESIDE_BYTES_MIN:
                return True
            beside.append(view)
            return False

        data = pickle.dumps(message, protocol=5, buffer_callback=stays_inside)
        head = HEAD.pack(len(data), len(beside))
        if beside:
            head += struct.pack(f"<{len(beside)}Q", *(view.nbytes for view in beside))
        try:
            self._socket.sendall(head + data)
            for view in beside:
                self._socket.sendall(view)
        except OSError as error:
            raise ChannelClosed from error

    def receive(self) -> Any:
        """The next message, once it is there. Raises ChannelClosed."""
        rest = self._rest or self._read()
        if len(rest) >= HEAD.size:
            size, count = HEAD.unpack_from(rest)
            if len(rest) == HEAD.size + size and not count:  # nearly always: the whole message, and nothing else
                self._rest = b""
                return pickle.loads(memoryview(rest)[HEAD.size :])
        self._rest = rest
        size, count = HEAD.unpack(self._take(HEAD.size))
        sizes = struct.unpack(f"<{count}Q", self._take(SIZE_BYTES * count))
        data = self._take(size)
        return pickle.loads(data, buffers=[self._array(each) for each in sizes])

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
        whole = b"".join(parts)
        self._rest = whole[size:]
        return whole[:size]

    def _array(self, size: int) -> npt.NDArray[np.uint8]:
        """The next `size` bytes, received where they stay."""
        array = np.empty(size, np.uint8)
        known = self._take(min(size, len(self._rest)))
        array[: len(known)] = np.frombuffer(known, np.uint8)
        view, at = array.data, len(known)
        while at < size:
            try:
                read = self._socket.recv_into(view[at:])
            except OSError as error:
                raise ChannelClosed from error
            if not read:
                raise ChannelClosed
            at += read
        return array
