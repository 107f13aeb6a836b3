"""Server processes for the benchmarks: started on free ports, measured from /proc, always ended."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

READY_SECONDS_MAX = 120.0
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Running:
    """A server that answers at `url`."""

    name: str
    url: str
    pid: int

    def cpu_seconds(self) -> float:
        """Processor time used so far, user and system together."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND

    def resident_bytes(self) -> int:
        """Memory in use now."""
        return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * PAGE_BYTES


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def server(
    name: str, command: Sequence[str], port: int, *, ready: str = "/health", env: Mapping[str, str] | None = None
) -> Iterator[Running]:
    """The command's server, once `ready` answers 200. Its output is shown only when it does not start."""
    url = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, **(env or {})})
        try:
            deadline = time.monotonic() + READY_SECONDS_MAX
            while not _answers(url + ready):
                if process.poll() is not None or time.monotonic() > deadline:
                    log.seek(0)
                    raise RuntimeError(f"{name} did not start:\n{log.read()[-4000:]}")
                time.sleep(0.02)
            yield Running(name, url, process.pid)
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def troth(*arguments: str) -> tuple[list[str], int]:
    """The command of a Troth server on a free port, and the port."""
    port = free_port()
    return [sys.executable, "-m", "troth", "serve", "--port", str(port), *arguments], port


def _answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=2).status_code == 200
    except httpx.TransportError:
        return False
