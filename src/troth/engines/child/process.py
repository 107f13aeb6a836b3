"""The child as a process: started afresh, watched, and never left behind.

It is a new interpreter and no fork, for a fork of a process with threads inherits locks that nobody will ever
open. It has a session of its own, so that Ctrl-C at the terminal reaches the server alone, which then ends it.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable

from troth.engines.base import EngineGone
from troth.engines.child.channel import Channel, Shelf
from troth.engines.child.words import CHANNELS
from troth.errors import Refusal, Unavailable

MODULE = "troth.engines.child"
STDERR = 2
UNLOADED = "The model was unloaded while this request was being prepared."
RETRY_SECONDS = 1
FAREWELL_SECONDS = 5.0  # for giving memory back; then it is killed
REAP_SECONDS = 5.0  # between the end of its channels and its own


class Child:
    """A running child, a channel to it for each kind of question, and a shelf for states."""

    def __init__(self) -> None:
        """The process has been started; it will end with this one, and with the thread that calls this."""
        pairs = [socket.socketpair() for _ in CHANNELS]
        self.shelf = Shelf.make()
        ends = [self.shelf.number, *(theirs.fileno() for _, theirs in pairs)]
        try:
            self._process = subprocess.Popen(
                [sys.executable, *_flags(), "-m", MODULE, *map(str, ends)],
                stdin=subprocess.DEVNULL,
                stdout=STDERR,
                pass_fds=ends,
                start_new_session=True,
            )
        except OSError:
            for ours, _ in pairs:
                ours.close()
            self.shelf.close()
            raise
        finally:
            for _, theirs in pairs:
                theirs.close()  # or the end of the child would not be seen at ours
        self.channels = {name: Channel(ours) for name, (ours, _) in zip(CHANNELS, pairs, strict=True)}
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._listeners: list[Callable[[EngineGone], None]] = []
        self._is_dismissed = False
        self._watcher = threading.Thread(target=self._watch, name=f"child-{self.pid}", daemon=True)
        self._watcher.start()

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        """True once the process has ended and its exit code is known."""
        return self._ended.is_set()

    def when_gone(self, tell: Callable[[EngineGone], None]) -> None:
        """`tell` is called once, on a thread of its own, when the process has ended without being told to."""
        with self._lock:
            if not self._ended.is_set():
                self._listeners.append(tell)
                return
            is_news = not self._is_dismissed
        if is_news:
            tell(self._gone())

    def fault(self) -> Refusal:
        """Why the process answers no more. One that broke off its channels and lives on is killed."""
        if self._is_dismissed:
            return Unavailable(UNLOADED, retry_seconds=RETRY_SECONDS, code="model_unavailable")
        return self._gone()

    def _gone(self) -> EngineGone:
        if not self._ended.wait(REAP_SECONDS):
            self.kill()
            self._ended.wait(REAP_SECONDS)
        return EngineGone(f"The engine failed: its process {ending(self._process.returncode)}.")

    def kill(self) -> None:
        """The process ends, whatever it does."""
        self._process.kill()

    def dismiss(self) -> None:
        """The process has been told to end and has ended; everything of it is given back. Safe to call twice."""
        with self._lock:
            self._is_dismissed = True
        for channel in self.channels.values():
            channel.shut()
        if not self._ended.wait(FAREWELL_SECONDS):
            self.kill()
        self._watcher.join()
        for channel in self.channels.values():
            channel.close()
        self.shelf.close()

    def _watch(self) -> None:
        self._process.wait()
        with self._lock:
            self._ended.set()
            told = [] if self._is_dismissed else self._listeners
        for channel in self.channels.values():
            channel.shut()
        for tell in told:
            tell(self._gone())


def _flags() -> list[str]:
    """The child finds modules where this process does: not in the folder that it stands in, unless this one does."""
    try:
        here = {"", os.getcwd()}
    except FileNotFoundError:  # the folder has been removed
        here = {""}
    return [] if here & set(sys.path) else ["-P"]


def ending(code: int | None) -> str:
    """How a process ended, in words that follow its name."""
    if code is None:
        return "no longer answers"
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"was ended by signal {-code} ({signal.Signals(-code).name})"
    except ValueError:
        return f"was ended by signal {-code}"
