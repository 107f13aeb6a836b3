"""A program at a terminal: what it draws is read, and keys are pressed."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

ESCAPES = re.compile(r"\x1b(\[[0-9;?>=]*[ -/]*[@-~]|[()][0-9A-B]|\][^\x07]*\x07|[=>78M])")
ROWS, COLUMNS = 40, 120


class Terminal:
    """One program and the terminal that it believes to be at."""

    def __init__(self, process: subprocess.Popen[bytes], master: int) -> None:
        self.process = process
        self._master = master
        self._drawn = ""

    def press(self, keys: str) -> None:
        """The keys have been pressed."""
        os.write(self._master, keys.encode())

    def wait_drawn(self, text: str, seconds: float = 30.0) -> None:
        """The program has drawn the text since the last call. Raises TimeoutError with what it drew instead."""
        deadline = time.monotonic() + seconds
        while text not in ESCAPES.sub("", self._drawn):
            if not select.select([self._master], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise TimeoutError(f"{text!r} was not drawn, but {ESCAPES.sub('', self._drawn)!r}")
            self._drawn += os.read(self._master, 65_536).decode("utf-8", "replace")
        self._drawn = ""


@contextmanager
def at_terminal(command: Sequence[str | Path], folder: Path, variables: Mapping[str, str]) -> Iterator[Terminal]:
    """The program runs at a terminal of its own, in `folder`, and is gone after the block."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    seen = {"PATH": os.environ["PATH"], "HOME": str(folder), "TERM": "xterm", "LANG": "C.UTF-8", **variables}
    process = subprocess.Popen(
        [str(word) for word in command],
        cwd=folder,
        env=seen,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
    )
    os.close(slave)
    try:
        yield Terminal(process, master)
    finally:
        process.kill()
        process.wait()
        os.close(master)
