"""Codex CLI, headless, set up as its page shows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.clients.conftest import ServeScript, call, prompts
from tests.support.filled import FULL, UNTIL_GONE, refused_once
from tests.support.live import LiveServer
from tests.support.pages import snippets
from tests.support.programs import run

Codex = Callable[..., list[dict[str, Any]]]

OPERATION = "create_response"
SILENT = ("exec", "--skip-git-repo-check", "--json", "--dangerously-bypass-approvals-and-sandbox")


@pytest.fixture
def codex(packages: Path, tmp_path: Path) -> Codex:
    """`codex(server, question, *options)`: the events that Codex prints.

    `patience_ms` is for silence in a stream, `retries` for requests that failed.
    """
    programs = list((packages / "node_modules" / "@openai").glob("codex-*/vendor/*/bin/codex"))
    assert len(programs) == 1

    def ask(
        server: LiveServer, question: str, *options: str, patience_ms: int = 60_000, retries: int = 0
    ) -> list[dict[str, Any]]:
        settings = snippets("codex", "toml", server.url)[0]
        more = f"stream_max_retries = {retries}\nstream_idle_timeout_ms = {patience_ms}\n"
        (tmp_path / ".codex").mkdir(exist_ok=True)
        (tmp_path / ".codex" / "config.toml").write_text(settings + more, "utf-8")
        ran = run([programs[0], *SILENT, *options, question], tmp_path, {"TROTH_API_KEY": "none"})
        events: list[dict[str, Any]] = [json.loads(line) for line in ran.out.splitlines() if line.startswith("{")]
        assert events, ran.err
        return events

    return ask


def said(events: list[dict[str, Any]]) -> list[str]:
    """What the model said to the user."""
    items = [event["item"] for event in events if event["type"] == "item.completed"]
    return [item["text"] for item in items if item["type"] == "agent_message"]


def test_a_question_is_answered(codex: Codex, serve_script: ServeScript) -> None:
    events = codex(serve_script(["Hello from Troth."]), "Say hello.")

    assert said(events) == ["Hello from Troth."]
    assert events[-1]["type"] == "turn.completed"
    assert events[-1]["usage"]["output_tokens"] > 3


def test_the_shell_is_called_and_its_result_is_read(codex: Codex, serve_script: ServeScript, tmp_path: Path) -> None:
    server = serve_script([call("exec_command", cmd="echo $((6 * 7)) | tee made.txt"), "It is 42."])
    events = codex(server, "What is 6 times 7?")

    assert said(events) == ["It is 42."]
    assert (tmp_path / "made.txt").read_text("utf-8") == "42\n"
    first, second = prompts(server)
    assert "42" in second[len(first) - 100 :]


def test_a_tool_of_a_namespace_is_found(codex: Codex, serve_script: ServeScript) -> None:
    server = serve_script([call("multi_agent_v1__close_agent", target="nobody"), "There is nobody."])
    events = codex(server, "Close the agent.")

    assert said(events) == ["There is nobody."]
    first, second = prompts(server)
    answer = second[len(first) - 100 :]
    assert "nobody" in answer
    assert "unsupported call" not in answer


def test_an_answer_has_the_form_of_the_schema(codex: Codex, serve_script: ServeScript, tmp_path: Path) -> None:
    schema = {
        "type": "object",
        "properties": {"sum": {"type": "integer"}},
        "required": ["sum"],
        "additionalProperties": False,
    }
    (tmp_path / "form.json").write_text(json.dumps(schema), "utf-8")
    events = codex(serve_script(['{"sum": 4}']), "What is 2+2?", "--output-schema", "form.json")

    assert [json.loads(text) for text in said(events)] == [{"sum": 4}]


def test_a_wait_longer_than_its_patience_is_filled(codex: Codex, serve_script: ServeScript) -> None:
    server = serve_script([[{"wait": 4}, "At last."]], stream={"keepalive_seconds": 0.5})

    assert said(codex(server, "Say hello.", patience_ms=2000)) == ["At last."]


def test_a_failure_is_shown(codex: Codex, serve_script: ServeScript) -> None:
    events = codex(serve_script([["One ", {"fault": "a broken wire"}]]), "Say hello.")

    assert events[-1]["type"] == "turn.failed"
    assert "a broken wire" in events[-1]["error"]["message"]


def test_a_prompt_that_is_too_long_is_known_as_such(codex: Codex, serve_script: ServeScript) -> None:
    events = codex(serve_script([], options={"context_tokens": 4096}), "Say hello.")

    assert events[-1]["type"] == "turn.failed"
    assert "context window" in events[-1]["error"]["message"]


def test_a_full_queue_is_waited_for(codex: Codex, serve_script: ServeScript) -> None:
    server = serve_script([[UNTIL_GONE, "At last."]], **FULL)
    events = refused_once(server, OPERATION, lambda: codex(server, "Say hello.", retries=2))

    assert said(events) == ["At last."]


def test_a_long_conversation_is_summed_up(codex: Codex, serve_script: ServeScript) -> None:
    server = serve_script(
        [call("exec_command", cmd="echo the word is walrus"), "The shell said walrus.", "The word is walrus."],
    )
    events = codex(server, "What is the word?", "-c", "model_auto_compact_token_limit=2000")

    assert said(events)[-1] == "The word is walrus."
    first, summing, last = prompts(server)
    assert "<tools>" in first
    assert "CONTEXT CHECKPOINT COMPACTION" in summing
    assert "<tools>" not in summing
    assert "The shell said walrus." in last
