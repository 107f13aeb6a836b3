"""`python -m troth.engines.child FD FD FD FD FD`: the child's entry. Only a server starts it, with a shelf and sockets
to inherit."""

from __future__ import annotations

import ctypes
import faulthandler
import logging
import signal
import socket
import sys
import time

from troth.engines.child.channel import Channel, Shelf
from troth.engines.child.host import Host
from troth.engines.child.words import CHANNELS

PR_SET_PDEATHSIG = 1  # prctl(2)
LINE = "time=%(asctime)s.%(msecs)03dZ level=%(levelname)s logger=%(name)s %(message)s"
# Short calls into the engine's library drop the interpreter lock, as they do in the server.
SWITCH_INTERVAL_SECONDS = 0.0005


def main() -> int:
    """The child has served until it was told to end, or until nobody was there any more."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # the server hears them, lets answers finish, and ends the child then
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # also when this process hangs
    faulthandler.enable()  # a crash says where
    sys.setswitchinterval(SWITCH_INTERVAL_SECONDS)
    _log()
    shelf, *ends = map(int, sys.argv[1:])
    channels = [Channel(socket.socket(fileno=number)) for number in ends]
    return Host(dict(zip(CHANNELS, channels, strict=True)), Shelf(shelf)).run()


def _log() -> None:
    """Lines go to the server's standard error in the form of its own."""
    for level in (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR):
        logging.addLevelName(level, logging.getLevelName(level).lower())
    formatter = logging.Formatter(LINE, "%Y-%m-%dT%H:%M:%S")
    formatter.converter = time.gmtime
    handler = logging.StreamHandler()
    handler.setFormatter(formatter)
    logging.getLogger().addHandler(handler)


if __name__ == "__main__":
    sys.exit(main())
