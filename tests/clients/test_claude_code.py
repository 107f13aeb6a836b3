"""Claude Code, headless, set up as its page shows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.clients.conftest import ServeScript, call, prompts
from tests.support.filled import FULL, UNTIL_GONE, refused_once, statuses
from tests.support.live import LiveServer, ServeWith, config, embedded, wait_until
from tests.support.pages import exports
from tests.support.programs import run
from tests.support.wire import Gauges

Claude = Callable[..., dict[str, Any]]

OPERATION = "create_message"
SMALL = ("--system-prompt", "Be brief.", "--tools", "")  # its own instructions and tools are some 12,000 tokens


@pytest.fixture
def claude(packages: Path, tmp_path: Path) -> Claude:
    """`claude(server, question, *options)`: the one object that Claude Code prints when it is done."""

    def ask(server: LiveServer, question: str, *options: str, **variables: str) -> dict[str, Any]:
        program = packages / "node_modules" / ".bin" / "claude"
        words = ["-p", question, "--output-format", "json", *(options or ("--allowedTools", "Bash", "Read"))]
        ran = run([program, *words], tmp_path, exports("claude-code", server.url) | variables)
        assert ran.out, ran.err
        told: dict[str, Any] = json.loads(ran.out)
        return told

    return ask


def test_a_question_is_answered(claude: Claude, serve_script: ServeScript) -> None:
    told = claude(serve_script(["Hello from Troth."]), "Say hello.")

    assert (told["result"], told["is_error"]) == ("Hello from Troth.", False)
    assert told["usage"]["output_tokens"] > 3


def test_a_tool_is_called_and_its_result_is_read(claude: Claude, serve_script: ServeScript, tmp_path: Path) -> None:
    command = call("Bash", command="echo $((6 * 7)) | tee made.txt", description="Multiply")
    server = serve_script(["I shall ask the shell.\n" + command, "It is 42."])
    told = claude(server, "What is 6 times 7?")

    assert (told["result"], told["is_error"], told["num_turns"]) == ("It is 42.", False, 2)
    assert (tmp_path / "made.txt").read_text("utf-8") == "42\n"
    first, second = prompts(server)
    assert '"Bash"' in first
    assert "42" in second[len(first) - 100 :]


def test_two_calls_of_one_turn_are_both_done(claude: Claude, serve_script: ServeScript, tmp_path: Path) -> None:
    commands = [call("Bash", command=f"echo {name} > {name}", description=f"Write {name}") for name in ("one", "two")]
    told = claude(serve_script(["\n".join(commands), "Both are written."]), "Write two files.")

    assert told["result"] == "Both are written."
    assert (tmp_path / "one").exists()
    assert (tmp_path / "two").exists()


def test_the_context_is_counted(claude: Claude, serve_script: ServeScript) -> None:
    server = serve_script([])
    told = claude(server, "/context")

    assert "Context Usage" in told["result"]
    counts = statuses(server, "count_message_tokens")
    assert len(counts) > 10
    assert set(counts) == {"200"}


def test_a_prompt_that_is_too_long_is_known_as_such(claude: Claude, serve_script: ServeScript) -> None:
    told = claude(serve_script([], options={"context_tokens": 4096}), "Say hello.")

    assert told["is_error"]
    assert "Prompt is too long" in told["result"]


def test_a_cut_answer_is_asked_for_again(claude: Claude, serve_script: ServeScript) -> None:
    server = serve_script(["word " * 100, "Done."], budget={"cap_tokens": 50})
    told = claude(server, "Say much.")

    assert told["result"] == "Done."
    accounts = wait_until(lambda: (told := server.accounts(OPERATION))[1:] and told, "both requests were logged")
    assert [account["finish"] for account in accounts] == ["length", "stop"]


def test_a_budget_far_above_the_context_is_cut_and_served(claude: Claude, serve_with: ServeWith) -> None:
    model = embedded(determinism="fast", slots=1, context_tokens=8192)
    server = serve_with(config([model | {"sampling": {"temperature": 0}}]))
    told = claude(server, "What is 2+2?", *SMALL, CLAUDE_CODE_MAX_OUTPUT_TOKENS="128000")

    assert not told["is_error"], told
    assert told["result"]
    account = wait_until(lambda: server.accounts(OPERATION), "the request was logged")[0]
    assert account["finish"] == "stop", account
    with httpx.Client(base_url=server.url, trust_env=False) as client:
        assert Gauges(client).read()['troth:clamps_total{field="max_tokens"}'] >= 1


def test_a_full_queue_is_waited_for(claude: Claude, serve_script: ServeScript) -> None:
    server = serve_script([[UNTIL_GONE, "At last."]], **FULL)
    told = refused_once(server, OPERATION, lambda: claude(server, "Say hello."))

    assert (told["result"], told["is_error"]) == ("At last.", False)


def test_a_fault_in_the_middle_is_survived(claude: Claude, serve_script: ServeScript) -> None:
    server = serve_script([["One ", {"fault": "a broken wire"}], "Whole again."])

    assert claude(server, "Say hello.")["result"] == "Whole again."


def test_the_next_session_reads_only_what_is_new(claude: Claude, serve_script: ServeScript) -> None:
    server = serve_script(["Hello.", "Goodbye."])
    claude(server, "Say hello.")
    told = claude(server, "Say goodbye.")

    assert told["result"] == "Goodbye."
    assert told["usage"]["cache_read_input_tokens"] > 10 * told["usage"]["input_tokens"]


def test_a_long_wait_is_filled(claude: Claude, serve_script: ServeScript) -> None:
    server = serve_script([[{"wait": 4}, "At last."]], stream={"keepalive_seconds": 0.5})
    patience = {"CLAUDE_STREAM_IDLE_TIMEOUT_MS": "2000", "CLAUDE_ENABLE_STREAM_WATCHDOG": "1"}

    assert claude(server, "Say hello.", **patience)["result"] == "At last."
    assert wait_until(lambda: statuses(server, OPERATION), "the request was logged") == ["200"]
