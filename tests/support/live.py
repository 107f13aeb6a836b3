"""A server as users run it: the real command in a process of its own, with the real model."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import httpx
import yaml

from troth.config.models import DEFAULT_MODEL_ID, DEFAULT_SOURCE

Found = TypeVar("Found")

LISTENING = re.compile(r"event=listening url=(\S+)")
PYTHON = os.environ.get("TROTH_SERVER_PYTHON", sys.executable)  # clients have an environment of their own
SCRIPTED = "tests.support.scripted_server"
START_SECONDS = 60.0
STOP_SECONDS = 20.0
PAUSE_SECONDS = 0.01  # between two looks at something that has no event to wait for


def embedded(**options: Any) -> dict[str, Any]:
    """The configuration of the embedded model, with these engine options besides the usual ones."""
    settings = {"context_tokens": 1024, "slots": 4, "threads": 2} | options
    return {"id": DEFAULT_MODEL_ID, "source": DEFAULT_SOURCE, "options": settings}


def scripted(script: Path, **options: Any) -> dict[str, Any]:
    """A model with the embedded one's vocabulary and chat template that speaks the script."""
    settings = {"context_tokens": 65_536, "slots": 2, "script": str(script)} | options
    return {"id": "scripted", "engine": "scripted", "source": DEFAULT_SOURCE, "options": settings}


def config(models: list[dict[str, Any]] | None = None, **sections: Any) -> dict[str, Any]:
    """A configuration: the embedded model unless `models` says otherwise, and these sections."""
    return {"models": models or [embedded()], **sections}


def wait_until(look: Callable[[], Found], what: str, seconds: float = START_SECONDS) -> Found:
    """What `look` returned when it was first true. Raises TimeoutError saying `what` never was."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := look():
            return found
        time.sleep(PAUSE_SECONDS)
    raise TimeoutError(f"not within {seconds} s: {what}")


@contextmanager
def busy(client: httpx.Client) -> Iterator[None]:
    """One slot of the server is taken while the block runs, by a long answer that nobody waits for."""
    story = {"messages": [{"role": "user", "content": "Tell me a story."}], "max_tokens": 800, "ignore_eos": True}
    body = {**story, "stream": True, "priority": -1000}  # nothing is urgent enough to take its slot away
    with client.stream("POST", "/v1/chat/completions", json=body, extensions={"judge": "later"}) as response:
        lines = response.iter_lines()  # held on to: losing it would close the stream
        next(lines)
        yield


def health_of(client: httpx.Client) -> dict[str, Any]:
    """The server's account of itself."""
    account: dict[str, Any] = client.get("/health").json()
    return account


def wait_queued(client: httpx.Client, requests: int) -> None:
    """So many requests wait."""
    wait_until(lambda: health_of(client)["queued"] == requests, f"{requests} requests wait")


def wait_idle(client: httpx.Client) -> None:
    """No request runs or waits."""
    wait_until(lambda: health_of(client)["in_flight"] + health_of(client)["queued"] == 0, "the server is idle")


ServeWith = Callable[[Mapping[str, Any]], "LiveServer"]


class LiveServer:
    """`troth serve` with one configuration: listening once made, answering once `wait_ready` returned."""

    def __init__(self, settings: Mapping[str, Any], folder: Path) -> None:
        """The process has its configuration and its log in `folder`."""
        self.config = settings
        self._log = folder / "log"
        self._mark = 0
        file = folder / "troth.yaml"
        file.write_text(yaml.safe_dump(dict(settings)), "utf-8")
        module = SCRIPTED if any(model.get("engine") == "scripted" for model in settings["models"]) else "troth"
        command = [PYTHON, "-m", module, "serve", "--port", "0", "--config", str(file)]
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=os.environ)
        try:
            self.url = wait_until(self._listening, "the server listens")
        except TimeoutError:
            self.kill()
            raise

    def log(self) -> str:
        """Everything that the process wrote so far."""
        return self._log.read_text("utf-8", "replace")

    def wait_ready(self) -> None:
        """/health answers 200: every model is loaded."""
        with httpx.Client(base_url=self.url, trust_env=False) as client:
            wait_until(lambda: self._alive() and client.get("/health").status_code == 200, "/health is 200")

    def stop(self) -> int:
        """The process has been told to end and has ended; its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    def kill(self) -> None:
        """The process has ended, whatever it was doing."""
        self.process.kill()
        self.process.wait()

    def mark(self) -> None:
        """From here on `accounts` are of later requests."""
        self._mark = len(self.log())

    def accounts(self, operation: str) -> list[dict[str, str]]:
        """What the log says of each request for this operation that is over, in the order in which they ended."""
        lines = [line for line in self.log()[self._mark :].splitlines() if "logger=troth.access" in line]
        told = [dict(pair.split("=", 1) for pair in line.split() if "=" in pair) for line in lines]
        return [fields for fields in told if fields["operation"] == operation]

    def _listening(self) -> str:
        self._alive()
        found = LISTENING.search(self.log())
        return found.group(1) if found else ""

    def _alive(self) -> bool:
        code = self.process.poll()
        if code is not None:
            raise RuntimeError(f"the server ended with {code}:\n{self.log()}")
        return True


@contextmanager
def shared_servers(folders: Callable[[], Path]) -> Iterator[ServeWith]:
    """Ready servers by configuration, each started once, in a folder of its own, and stopped at the end."""
    running: dict[str, LiveServer] = {}

    def serve(settings: Mapping[str, Any]) -> LiveServer:
        key = json.dumps(settings, sort_keys=True)
        if key not in running:
            running[key] = LiveServer(settings, folders())
            running[key].wait_ready()
        return running[key]

    yield serve
    codes = {key: server.stop() for key, server in running.items()}
    assert set(codes.values()) <= {0}, f"servers that were told to end ended with {codes}"
