#!/usr/bin/env -S python3 -SE
"""Stands in for llama-server's program: has the warm process fork a server, and lives and dies with it.

Nothing of Troth is imported here: a test starts this some hundred times.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from types import FrameType


def main() -> int:
    """The server has ended; its exit code."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as warm:
        warm.connect(os.environ["TROTH_PEERS_SOCKET"])
        order = json.dumps({"argv": sys.argv[1:], "folder": os.getcwd(), "environment": dict(os.environ)})
        socket.send_fds(warm, [order.encode()], [1, 2])
        child = int(warm.recv(32))

        def hand_on(number: int, _: FrameType | None) -> None:
            os.kill(child, number)

        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, hand_on)
        return int(warm.recv(32) or b"1")


if __name__ == "__main__":
    sys.exit(main())
