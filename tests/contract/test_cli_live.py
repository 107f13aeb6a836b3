"""The command as people run it: what it says when it cannot start, and how it ends when it is told to."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from tests.support.live import LiveServer, config, embedded, wait_until
from tests.support.wire import Gauges, Wire, chat_body

SECONDS = 60.0
STOP_SECONDS = 1.0
END_WAIT_SECONDS = 20.0
END_SECONDS = 4.0  # over STOP_SECONDS: to say farewell, give the memory back, and leave Python
KEY = "sk-kept-out-of-every-log"
MARKER = "xylophonic wombat 4711"


def troth(*arguments: str, seconds: float = SECONDS) -> subprocess.CompletedProcess[str]:
    """The command, run to its end."""
    return subprocess.run([sys.executable, "-m", "troth", *arguments], capture_output=True, text=True, timeout=seconds)


def assert_refused(done: subprocess.CompletedProcess[str], *words: str) -> None:
    """The command failed with a message that has these words, and shows nothing of its inside."""
    assert done.returncode not in (0, -signal.SIGSEGV, -signal.SIGABRT)
    assert "Traceback" not in done.stderr, done.stderr
    for word in words:
        assert word in done.stderr, done.stderr


def written(folder: Path, settings: Mapping[str, Any]) -> str:
    """The path of a configuration file."""
    file = folder / "troth.yaml"
    file.write_text(yaml.safe_dump(dict(settings)), "utf-8")
    return str(file)


def of_file(source: str) -> dict[str, Any]:
    """The configuration of one model from this source, on a free port."""
    return config(models=[{"id": "m", "source": source, "options": {"context_tokens": 64}}], server={"port": 0})


@pytest.fixture
def started(tmp_path: Path, embedded_model: Path) -> Iterator[LiveServer]:
    """A server of the test's own, with a short grace at its end and everything in its log."""
    settings = config(
        models=[embedded(slots=2)],
        server={"stop_seconds": STOP_SECONDS},
        auth={"api_keys": [KEY]},
        log={"level": "debug"},
    )
    with living(settings, tmp_path) as server:
        yield server


@contextmanager
def living(settings: Mapping[str, Any], folder: Path) -> Iterator[LiveServer]:
    """A server that is gone afterwards, whatever the test did to it."""
    server = LiveServer(settings, folder)
    try:
        yield server
    finally:
        server.kill()


def ended(server: LiveServer, number: signal.Signals) -> tuple[int, float]:
    """The exit code after this signal, and the seconds it took."""
    at = time.monotonic()
    server.process.send_signal(number)
    return server.process.wait(END_WAIT_SECONDS), time.monotonic() - at


def wait_refused(url: str) -> None:
    """Returns once nobody listens there any more."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        try:
            socket.create_connection((httpx.URL(url).host, httpx.URL(url).port or 0), timeout=1.0).close()
        except ConnectionError:
            return
    raise AssertionError(f"{url} still listens")


def headers() -> dict[str, str]:
    return {"Authorization": f"Bearer {KEY}"}


# ---- what cannot start ----------------------------------------------------------------------------


def test_a_port_in_use_is_named(embedded_model: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert_refused(troth("serve", "--port", port), f"127.0.0.1:{port}", "in use", "--port")


def test_a_host_that_is_not_of_this_machine_is_named(embedded_model: Path) -> None:
    assert_refused(troth("serve", "--port", "0", "--host", "192.0.2.1"), "192.0.2.1", "--host")
    assert_refused(troth("serve", "--port", "0", "--host", "no.such.host.invalid"), "no.such.host.invalid", "--host")


def test_a_model_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    done = troth("serve", "--config", written(tmp_path, of_file("models/nowhere.gguf")))
    assert_refused(done, "model m", "nowhere.gguf")


def test_a_truncated_model_file_is_named(tmp_path: Path, embedded_model: Path) -> None:
    size = embedded_model.stat().st_size
    for share in (0.0, 0.00001, 0.01, 0.5, 0.999):
        short = tmp_path / f"short-{share}.gguf"
        with embedded_model.open("rb") as whole:
            short.write_bytes(whole.read(int(size * share)))
        assert_refused(troth("serve", "--config", written(tmp_path, of_file(str(short)))), "model m", short.name)


def test_a_file_that_is_no_model_is_named(tmp_path: Path) -> None:
    for name, content in {
        "notes.gguf": b"These are my notes. " * 5000,
        "noise.gguf": b"GGUF\x03\0\0\0" + b"\xff" * 999,
    }.items():
        (tmp_path / name).write_bytes(content)
        assert_refused(troth("serve", "--config", written(tmp_path, of_file(name))), "model m", name)


def test_a_folder_in_place_of_a_model_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "folder.gguf").mkdir()
    assert_refused(troth("serve", "--config", written(tmp_path, of_file("folder.gguf"))), "model m", "folder.gguf")


FAULTY = """\
server: {port: 99999}
auth: {api_keys: [""]}
models:
  - id: m
    source: model.gguf
    engine: lama_cpp
limits: {queue_maximum: 3}
budget: {over_cap: shrink}
"""


@pytest.mark.parametrize("command", ["check", "serve"])
def test_all_five_faults_of_a_configuration_are_named_at_once(tmp_path: Path, command: str) -> None:
    file = tmp_path / "five.yaml"
    file.write_text(FAULTY, "utf-8")
    done = troth(command, *(["--config"] if command == "serve" else []), str(file))
    assert_refused(done, "5 faults", "five.yaml:1", "server.port", "five.yaml:2", "auth.api_keys")
    assert_refused(done, "five.yaml:6", "llama_cpp", "five.yaml:7", "queue_max", "five.yaml:8", "clamp")


def test_a_configuration_that_is_no_yaml_is_named_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "torn.yaml"
    file.write_text("server:\n  port: [1\n", "utf-8")
    assert_refused(troth("serve", "--config", str(file)), "torn.yaml")
    assert_refused(troth("serve", "--config", str(tmp_path / "absent.yaml")), "absent.yaml")


def test_an_environment_variable_that_is_not_set_is_named(tmp_path: Path) -> None:
    done = troth("serve", "--config", written(tmp_path, {"auth": {"api_keys": ["${env:TROTH_NO_SUCH_VARIABLE}"]}}))
    assert_refused(done, "auth.api_keys", "TROTH_NO_SUCH_VARIABLE")


def test_a_context_that_cannot_be_had_is_named(tmp_path: Path, embedded_model: Path) -> None:
    settings = config(models=[embedded(context_tokens=16_777_216, slots=256)], server={"port": 0})
    done = troth("serve", "--config", written(tmp_path, settings), seconds=20)
    assert_refused(done, "model smollm2-135m")


# ---- while it runs --------------------------------------------------------------------------------


def test_the_command_says_that_it_loads_and_then_that_it_is_ready(started: LiveServer) -> None:
    with httpx.Client(base_url=started.url, trust_env=False) as client:
        seen = [client.get("/health")]
        chat = client.post("/v1/chat/completions", json=chat_body("Hi.", max_tokens=1), headers=headers())

        def ready() -> bool:
            seen.append(client.get("/health"))
            return seen[-1].status_code == 200

        wait_until(ready, "/health is 200")
    assert seen[0].status_code == 503
    assert {answer.status_code for answer in seen} == {200, 503}
    assert seen[0].json()["models"][0]["status"] == "loading"
    assert seen[-1].json()["models"][0]["status"] == "ready"
    assert chat.status_code in (200, 503)
    if chat.status_code == 503:
        assert chat.json()["error"]["code"] == "model_loading"
        assert int(chat.headers["retry-after"]) >= 1


def test_no_line_of_the_log_has_a_prompt_an_answer_or_a_key(started: LiveServer) -> None:
    started.wait_ready()
    said = []
    with httpx.Client(base_url=started.url, trust_env=False, timeout=60.0) as client:
        spoken = f"Please repeat: {MARKER}"
        for body in (
            chat_body(spoken, max_tokens=8, temperature=0),
            chat_body(spoken, max_tokens=8, temperature=0, stream=True),
            chat_body(spoken, stop=[MARKER], max_tokens=2, user=MARKER, metadata={"note": MARKER}),
            chat_body(spoken, best_of=2),
            chat_body(spoken, temperature=MARKER),
            chat_body(spoken, logit_bias={MARKER: 1}, max_tokens=1),
            chat_body(spoken + " word" * 1200),
            {"messages": MARKER},
            {"messages": [{"role": MARKER, "content": MARKER}]},
        ):
            answer = client.post("/v1/chat/completions", json=body, headers=headers())
            if answer.status_code == 200 and not body.get("stream"):
                said.append(answer.json()["choices"][0]["message"]["content"])
        client.post("/v1/chat/completions", content=f'{{"broken {MARKER}'.encode(), headers=headers())
        client.get("/v1/models", headers={"x-api-key": KEY + "-but-wrong"})
        client.get("/v1/models", params={"api_key": KEY})
    with Wire(started.url) as wire:
        wire.ask(chat_body(MARKER), sent_share=0.5)
    assert started.stop() == 0
    log = started.log()
    assert log.count("operation=create_chat_completion") >= 9, "the log was read too early"
    assert MARKER not in log
    assert KEY not in log
    assert all(text not in log for text in said if len(text) > 8)


# ---- how it ends ----------------------------------------------------------------------------------


def test_an_idle_server_ends_at_once_when_told_to(started: LiveServer) -> None:
    started.wait_ready()
    code, seconds = ended(started, signal.SIGTERM)
    assert code == 0
    assert seconds < END_SECONDS
    assert "Traceback" not in started.log()


def test_a_server_that_is_still_loading_ends_when_told_to(started: LiveServer) -> None:
    code, _ = ended(started, signal.SIGTERM)
    assert code == 0
    assert "Traceback" not in started.log()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stream_that_outlives_the_grace_ends_with_an_error_event(started: LiveServer, number: signal.Signals) -> None:
    started.wait_ready()
    with httpx.Client(base_url=started.url, trust_env=False, headers=headers(), timeout=60.0) as client:
        body = chat_body("Tell me a story.", ignore_eos=True, stream=True)
        with client.stream("POST", "/v1/chat/completions", json=body) as answer:
            lines = answer.iter_lines()
            first = next(lines)
            at = time.monotonic()
            started.process.send_signal(number)
            events = [line for line in (first, *lines) if line]
        code = started.process.wait(SECONDS)
    assert time.monotonic() - at < STOP_SECONDS + END_SECONDS
    assert code == (0 if number == signal.SIGTERM else 130)
    error = json.loads(events[-1].removeprefix("data: "))["error"]
    assert error["code"] == "stopping"
    assert "Traceback" not in started.log()


def test_a_whole_answer_that_outlives_the_grace_is_an_error_of_the_usual_shape(started: LiveServer) -> None:
    started.wait_ready()
    with httpx.Client(base_url=started.url, trust_env=False, headers=headers()) as client:
        gauges = Gauges(client)
        with Wire(started.url) as wire:
            wire.ask(chat_body("Tell me a story.", ignore_eos=True), headers=headers())
            gauges.wait_running(1)
            code, seconds = ended(started, signal.SIGTERM)
            answer = wire.read_to_end()
    assert code == 0
    assert seconds < STOP_SECONDS + END_SECONDS
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.split()[1].startswith(b"5")
    assert json.loads(body)["error"]["code"] == "stopping"


def test_an_answer_that_fits_into_the_grace_is_finished(tmp_path: Path, embedded_model: Path) -> None:
    settings = config(models=[embedded(slots=1)], server={"stop_seconds": 30.0})
    body = chat_body("Tell me a story.", ignore_eos=True, stream=True, max_tokens=20)
    with living(settings, tmp_path) as server, httpx.Client(base_url=server.url, trust_env=False) as client:
        server.wait_ready()
        with client.stream("POST", "/v1/chat/completions", json=body) as answer:
            lines = answer.iter_lines()
            next(lines)
            server.process.send_signal(signal.SIGTERM)
            assert [line for line in lines if line][-1] == "data: [DONE]"
        assert server.process.wait(END_WAIT_SECONDS) == 0


@pytest.mark.parametrize("signals", [(signal.SIGINT, signal.SIGINT), (signal.SIGTERM, signal.SIGINT)])
def test_a_second_interrupt_ends_without_any_grace(
    tmp_path: Path, embedded_model: Path, signals: tuple[signal.Signals, ...]
) -> None:
    settings = config(models=[embedded(slots=1)], server={"stop_seconds": 600.0})
    with living(settings, tmp_path) as server, Wire(server.url) as wire:
        server.wait_ready()
        wire.ask(chat_body("Tell me a story.", ignore_eos=True, stream=True))
        wire.read_until(b"data:")
        server.process.send_signal(signals[0])
        wait_refused(server.url)
        code, seconds = ended(server, signals[1])
        last = wire.read_to_end().rpartition(b"data: ")[2]
        log = server.log()
    assert code == 130
    assert seconds < END_SECONDS
    assert json.loads(last.partition(b"\n")[0])["error"]["code"] == "stopping"
    assert "Traceback" not in log


# ---- what it costs --------------------------------------------------------------------------------

HEAVY = ("pydantic", "llama_cpp", "numpy", "connexion", "starlette", "uvicorn", "yaml", "jinja2", "httpx")


def test_help_and_version_load_nothing_heavy() -> None:
    code = (
        "import sys, troth.cli\n"
        "for words in (['--help'], ['--version'], ['serve', '--help']):\n"
        "    try: troth.cli.main(words)\n"
        "    except SystemExit as end: assert end.code == 0\n"
        f"print('LOADED', [name for name in {HEAVY!r} if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ, timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "LOADED []"
