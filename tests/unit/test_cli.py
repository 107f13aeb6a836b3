"""The command: exit codes, words instead of tracebacks, nothing heavy for --help."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import termios
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest
import yaml

from tests.support.live import wait_until
from troth import __version__
from troth.cli import FAULT, OK, main

COMMAND = (sys.executable, "-m", "troth")


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments], capture_output=True, text=True, timeout=60, env={**os.environ, **environment}
    )


@pytest.fixture(autouse=True)
def _quiet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.delenv("HF_ENDPOINT", raising=False)


def write(text: str) -> str:
    Path("troth.yaml").write_text(text)
    return "troth.yaml"


def refused(arguments: Sequence[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main(arguments) == FAULT
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err


def test_help_loads_nothing_heavy() -> None:
    heavy = ("pydantic", "yaml", "httpx", "numpy", "connexion", "starlette", "llama_cpp", "jinja2")
    code = (
        "import sys\nfrom troth.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    print([name for name in sys.modules "
        f"if name.split('.')[0] in {heavy!r}])"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.endswith("[]\n")


def test_the_version_is_told() -> None:
    done = run("--version")

    assert (done.returncode, done.stdout) == (OK, f"troth {__version__}\n")


@pytest.mark.parametrize(
    "arguments",
    [(), ("dance",), ("check",), ("serve", "--port", "x"), ("serve", "--conf", "f"), ("models",), ("spec", "extra")],
)
def test_wrong_usage_exits_with_2(arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(arguments)

    assert exit_.value.code == 2
    assert "usage: troth" in capsys.readouterr().err


def test_check_names_every_fault_and_exits_with_1(capsys: pytest.CaptureFixture[str]) -> None:
    path = write(
        "server: {port: big}\n"
        "auth: {api_keys: ['${env:TROTH_TEST_UNSET}']}\n"
        "models:\n"
        "  - {id: m, source: m.gguf, engine: lama_cpp}\n"
        "contract: {guard: [logit_bais]}\n"
        "limits: {queue: 1}\n"
    )

    err = refused(["check", path], capsys)

    assert err.splitlines() == [
        "troth: 5 faults in the configuration",
        '  troth.yaml:1: server.port: expected an integer from 0 to 65535, got "big"',
        "  troth.yaml:2: auth.api_keys.0: the environment variable TROTH_TEST_UNSET is not set",
        '  troth.yaml:4: models.0.engine: unknown engine "lama_cpp"; did you mean llama_cpp? '
        "Registered: llama_cpp, onnx, onnx_vision, upstream",
        '  troth.yaml:5: contract.guard.0: no request has a field "logit_bais"; did you mean logit_bias?',
        "  troth.yaml:6: limits.queue: unknown key; did you mean queue_max? Accepted here: queue_max, "
        "queue_seconds_max, choices_max, prompts_max, stop_strings_max, stop_bytes_max, logit_bias_max, "
        "tools_max, grammar_bytes_max, schema_depth_max, template_output_bytes_max, vector_requests_max, "
        "vector_items_max, vector_bytes_max, prompt_threads",
    ]


def test_check_takes_sets_and_says_when_all_is_well(capsys: pytest.CaptureFixture[str]) -> None:
    path = write("server: {port: big}\nmodels: [{id: m, source: m.gguf}]")

    assert main(["check", path, "--set", "server.port=1"]) == OK
    assert capsys.readouterr().out == "troth.yaml: no faults; serves m\n"


def test_a_missing_file_is_told_without_a_traceback() -> None:
    done = run("check", "absent.yaml")

    assert done.returncode == FAULT
    assert "absent.yaml: cannot read the configuration: No such file or directory" in done.stderr
    assert "Traceback" not in done.stderr


def test_show_config_tells_each_origin_and_masks_keys(capsys: pytest.CaptureFixture[str]) -> None:
    path = write("auth:\n  api_keys: [sesame]\n")

    assert main(["show-config", "--config", path, "--set", "models.0.options.slots=2"]) == OK

    lines = [line.split("  # ") for line in capsys.readouterr().out.splitlines()]
    shown = {text.strip().partition(": ")[0]: (text.strip().partition(": ")[2], origin) for text, origin in lines}
    assert shown["auth.api_keys"] == ('["********"]', "troth.yaml:2")
    assert shown["models.0.options.slots"] == ("2", "--set")
    assert shown["server.port"] == ("8731", "default")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "model m: there is no file "),
        (b"PK\x03\x04", "is not a GGUF file: it looks like a zip archive"),
        (b"GGUF\x03\x00\x00\x00", "is cut off or damaged"),
    ],
)
def test_serve_refuses_a_bad_model_file_in_words(
    content: bytes | None, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write("models: [{id: m, source: m.gguf}]")
    if content is not None:
        Path("m.gguf").write_bytes(content)

    err = refused(["serve", "--config", path], capsys)

    assert words in err
    assert len(err.splitlines()) == 1


def test_serve_refuses_a_port_in_use_in_words() -> None:
    path = write("models: [{id: m, source: m.gguf}]")
    Path("m.gguf").write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, 0))

    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = run("serve", "--config", path, "--port", str(taken.getsockname()[1]))

    assert done.returncode == FAULT
    assert done.stderr.startswith("troth: cannot listen on 127.0.0.1:")
    assert len(done.stderr.splitlines()) == 1


def test_serve_flags_are_checked_like_the_file(capsys: pytest.CaptureFixture[str]) -> None:
    err = refused(["serve", "--port", "70000", "--host", ""], capsys)

    assert '--host: server.host: expected text, not empty, got ""' in err
    assert "--port: server.port: expected an integer from 0 to 65535, got 70000" in err


def test_pull_prints_the_path_of_each_source_and_list_what_is_kept(capsys: pytest.CaptureFixture[str]) -> None:
    Path("m.gguf").write_bytes(b"x")

    assert main(["models", "pull", "m.gguf"]) == OK
    assert capsys.readouterr().out == f"{Path('m.gguf').resolve()}\n"
    assert main(["models", "list"]) == OK
    assert "no models in" in capsys.readouterr().err


def test_pull_checks_the_models_of_the_configuration(capsys: pytest.CaptureFixture[str]) -> None:
    Path("m.gguf").write_bytes(b"x")
    path = write(f"models: [{{id: m, source: m.gguf, sha256: '{'0' * 64}'}}]")

    assert main(["models", "pull", "--config", path]) == FAULT
    assert "the configuration pins" in capsys.readouterr().err


def test_pull_refuses_a_source_that_names_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert "with one exact version" in refused(["models", "pull", "pypi:a/b"], capsys)


def test_spec_prints_the_document_in_both_forms(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["spec"]) == OK
    document = json.loads(capsys.readouterr().out)
    assert main(["spec", "--yaml"]) == OK

    assert yaml.safe_load(capsys.readouterr().out) == document
    assert document["openapi"] == "3.0.3"


def test_a_reader_that_hangs_up_is_no_error() -> None:
    with subprocess.Popen([*COMMAND, "spec"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.close()
        err = child.stderr.read()

    assert (child.returncode, err) == (OK, b"")


def test_an_interrupt_ends_quietly_with_130() -> None:
    fifo = Path("pipe.yaml")
    os.mkfifo(fifo)
    command = [*COMMAND, "check", str(fifo)]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child,
        fifo.open("w") as pipe,  # opens when the command has come to read its configuration
    ):
        pipe.write("models:\n")
        pipe.flush()
        wait_until(lambda: unread(pipe.fileno()) == 0, "the command reads, and waits for the rest")
        out, err = interrupted(child)

    assert (child.returncode, out, err) == (130, b"", b"")


def unread(pipe: int) -> int:
    """Bytes that nobody has taken out of the pipe yet."""
    (count,) = struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))
    return int(count)


def interrupted(child: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    """What the child wrote before an interrupt ended it. One that arrives while Python finalises an object is lost."""
    for _ in range(5):
        child.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            return child.communicate(timeout=10)
    raise AssertionError("five interrupts, and it goes on")
