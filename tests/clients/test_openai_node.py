"""OpenAI's JavaScript library, as its page shows it and where things go wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.clients.conftest import ServeScript
from tests.support.filled import FULL, UNTIL_GONE, refused_once
from tests.support.live import LiveServer
from tests.support.pages import snippets
from tests.support.programs import run

OPERATION = "create_chat_completion"
SCENES = Path(__file__).with_name("openai_node.mjs")


def node(program: str, packages: Path, folder: Path, *words: str) -> str:
    """What the program prints. It lies beside the packages, where Node.js looks for them."""
    file = folder / "program.mjs"
    (folder / "node_modules").symlink_to(packages / "node_modules")
    file.write_text(program, "utf-8")
    ran = run(["node", file, *words], folder, {})
    assert ran.code == 0, ran.err
    return ran.out


@pytest.fixture
def scene(packages: Path, tmp_path: Path) -> Any:
    """`scene(server, name)`: what one scene of the program comes to."""
    return lambda server, name: json.loads(node(SCENES.read_text("utf-8"), packages, tmp_path, server.url, name))


def test_the_page_s_program_prints_what_it_should(packages: Path, tmp_path: Path, server: LiveServer) -> None:
    lines = node(snippets("openai-node", "js", server.url)[0], packages, tmp_path).splitlines()

    assert "4" in lines[0]
    assert lines[1] == lines[0]
    assert lines[2].endswith(" tokens")


@pytest.mark.parametrize("name", ["chat", "completions", "responses"])
def test_an_answer_is_the_same_whole_and_streamed(scene: Any, serve_script: ServeScript, name: str) -> None:
    assert scene(serve_script(["One two three."] * 2), name) == ["One two three."] * 2


def test_a_refusal_is_a_bad_request_that_names_the_field(scene: Any, serve_script: ServeScript) -> None:
    error = scene(serve_script([]), "refused")

    assert (error["name"], error["status"], error["param"]) == ("BadRequestError", 400, "best_of")


def test_a_fault_in_the_middle_of_a_stream_is_raised(scene: Any, serve_script: ServeScript) -> None:
    error = scene(serve_script([["One ", {"fault": "a broken wire"}]]), "broken")

    assert error["name"] == "APIError"
    assert "a broken wire" in error["message"]


def test_a_full_queue_is_waited_for(scene: Any, serve_script: ServeScript) -> None:
    server = serve_script([[UNTIL_GONE, "At last."]], **FULL)

    assert refused_once(server, OPERATION, lambda: scene(server, "waited")) == "At last."
