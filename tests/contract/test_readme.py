"""What the README shows is what happens: its curl call and its Python, against the default server."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.support.live import LiveServer

README = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
DEFAULT_URL = "http://127.0.0.1:8731"


def block(language: str, holding: str) -> str:
    """The fenced block of that language which holds a text."""
    found: list[str] = re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    return next(body for body in found if holding in body)


def test_curl_gets_the_answer_that_is_shown(client: httpx.Client) -> None:
    request = re.search(r"-d '(.*)'", block("sh", "curl"), re.DOTALL)
    assert request is not None
    shown = json.loads(block("json", "chat.completion"))

    answer = client.post("/v1/chat/completions", json=json.loads(request.group(1))).json()

    assert answer["choices"] == shown["choices"]
    assert answer["model"] == shown["model"]
    for count in ("prompt_tokens", "completion_tokens", "total_tokens"):
        assert answer["usage"][count] == shown["usage"][count]
    assert answer.keys() == shown.keys()
    assert answer["timings"].keys() == shown["timings"].keys()


@pytest.mark.usefixtures("client")
def test_the_python_prints_what_is_shown(server: LiveServer) -> None:
    program = block("python", "OpenAI")
    assert DEFAULT_URL in program

    done = subprocess.run(
        [sys.executable, "-c", program.replace(DEFAULT_URL, server.url)], capture_output=True, text=True, check=True
    )

    assert done.stdout == block("text", "classic math").rstrip("\n")
