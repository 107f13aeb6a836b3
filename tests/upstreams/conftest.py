"""A real llama-server from PyPI, and a Troth in front of it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.judge import Judge, judged_client, published_document
from tests.support.live import LiveServer

HERE = Path(__file__).parent
START_SECONDS = 60


@pytest.fixture(scope="session")
def far(embedded_model: Path) -> Iterator[str]:
    """The address of a llama-server with the embedded model."""
    python = os.environ["TROTH_XLLAMACPP_PYTHON"]
    command = [python, str(HERE / "llama_server.py"), str(embedded_model)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            assert url, "llama-server did not start"
            yield url
        finally:
            process.kill()


@pytest.fixture(scope="session")
def near(far: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A client of a Troth in front of it, whose every answer is judged by the document."""
    model = {"id": "near", "engine": "upstream", "options": {"server": "llama_server", "urls": [far]}}
    server = LiveServer({"models": [model]}, tmp_path_factory.mktemp("near"))
    try:
        server.wait_ready()
        with judged_client(server.url, Judge(published_document())) as client:
            yield client
    finally:
        assert server.stop() == 0


@pytest.fixture(scope="session")
def asked(near: httpx.Client) -> Callable[..., dict[str, object]]:
    """`asked(path, **body)`: the JSON of an answer of status 200."""

    def post(path: str, **body: object) -> dict[str, object]:
        answer = near.post(path, json=body)
        assert answer.status_code == 200, answer.text
        found: dict[str, object] = answer.json()
        return found

    return post
