"""Starts servers by forking: what they import is imported once, which saves most of the time of a start.

A process that has loaded no engine waits at a Unix socket. For each order it forks; the child becomes `troth serve`
with the folder, environment and output of whoever ordered it. Who ordered it is told the child's process id, then its
exit code; if they go away first, the child is killed.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import selectors
import signal
import socket
import sys
import tempfile
from pathlib import Path
from typing import Any

import yaml

from tests.peers.arguments import Unknown, configuration
from troth import cli

ORDER_BYTES_MAX = 1 << 17
DESCRIPTORS_MAX = 1024  # more than this process ever opens
# What a server imports on its way to the first answer, but for llama.cpp, which starts threads.
IMPORTED = ("troth.app", "troth.config.loader", "troth.engines.llama_cpp.decoder", "uvloop", "httptools", "httpx")


def main(address: str) -> None:
    """Orders are taken until standard input ends."""
    for name in IMPORTED:
        importlib.import_module(name)
    gc.freeze()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener, selectors.DefaultSelector() as selector:
        listener.bind(address)
        listener.listen()
        selector.register(sys.stdin, selectors.EVENT_READ, None)
        selector.register(listener, selectors.EVENT_READ, None)
        sys.stdout.write("warm\n")
        sys.stdout.flush()
        while True:
            for key, _ in selector.select():
                if key.fileobj is sys.stdin:
                    return
                if key.fileobj is listener:
                    _take(listener.accept()[0], selector)
                else:
                    _settle(key.data, selector, has_ended=isinstance(key.fileobj, int))


class Child:
    """A server that runs, and who ordered it."""

    def __init__(self, pid: int, orderer: socket.socket) -> None:
        self.pid = pid
        self.orderer = orderer
        self.handle = os.pidfd_open(pid)


def _take(orderer: socket.socket, selector: selectors.BaseSelector) -> None:
    order, descriptors, _, _ = socket.recv_fds(orderer, ORDER_BYTES_MAX, 2)
    pid = os.fork()
    if pid == 0:
        os._exit(_become(json.loads(order), descriptors))
    for descriptor in descriptors:
        os.close(descriptor)
    child = Child(pid, orderer)
    orderer.send(str(pid).encode())
    selector.register(child.handle, selectors.EVENT_READ, child)
    selector.register(orderer, selectors.EVENT_READ, child)


def _settle(child: Child, selector: selectors.BaseSelector, *, has_ended: bool) -> None:
    """The child has ended, or its orderer has: then it is killed."""
    if not has_ended:
        signal.pidfd_send_signal(child.handle, signal.SIGKILL)
    _, status = os.waitpid(child.pid, 0)
    selector.unregister(child.handle)
    selector.unregister(child.orderer)
    if has_ended:
        child.orderer.send(str(os.waitstatus_to_exitcode(status) & 0xFF).encode())
    child.orderer.close()
    os.close(child.handle)


def _become(order: dict[str, Any], descriptors: list[int]) -> int:
    """`troth serve` has run in this process; its exit code."""
    os.setsid()
    for number, descriptor in enumerate(descriptors, start=1):
        os.dup2(descriptor, number)
    os.closerange(3, DESCRIPTORS_MAX)
    os.chdir(order["folder"])
    os.environ.clear()
    os.environ.update(order["environment"])
    with tempfile.TemporaryDirectory() as folder:
        try:
            settings = configuration(order["argv"], Path(folder))
        except Unknown as fault:
            sys.stderr.write(f"{fault}\n")
            sys.stderr.flush()
            return 2
        file = Path(folder) / "troth.yaml"
        file.write_text(yaml.safe_dump(settings), "utf-8")
        code = cli.main(["serve", "--config", str(file)])
    sys.stdout.flush()
    sys.stderr.flush()
    return code


if __name__ == "__main__":
    main(sys.argv[1])
