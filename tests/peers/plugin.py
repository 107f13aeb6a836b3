"""A plugin for the pytest that runs llama.cpp's tests: starts warm servers, and applies `differences.py`.

1. Their presets are not downloaded: the embedded model stands in for every other.
2. Words of their weights match any text, and counts of their tokens become ours.
3. Tests that cannot hold here are left out, each with a reason; an entry that matches no test is a fault.
4. A server must end by itself, and well, when it is told to: their tests kill it silently after five seconds.
5. llama-server's `--verbose` adds `__verbose` to each chat answer, and `--reasoning` switches the reasoning of all;
   here each request asks for it.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import tempfile
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.peers.differences import COUNTS, LEFT_OUT, WORDS

SHIM = Path(__file__).with_name("shim.py")
FOLDER = "unit/"
STARTED_NOT = (1, 2)  # exit codes of a server that did not start, which their helper tells
PAUSE_SECONDS = 0.05  # between two looks whether a server has started
CHAT_PATHS = ("/chat/completions", "/v1/chat/completions", "/apply-template")
# "auto" is on where the template knows of reasoning, and those of the tests do.
REASONING = {"on": {"enable_thinking": True}, "auto": {"enable_thinking": True}, "off": {"enable_thinking": False}}


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--left-out` runs the tests that are left out, and nothing else."""
    parser.addoption("--left-out", action="store_true", help="run only the tests that the table leaves out")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests() -> None:
    """Their helper module is as the docstring says, before any test imports it."""
    sys.modules.setdefault("wget", types.ModuleType("wget"))  # their download of models, which nothing here needs
    theirs: Any = importlib.import_module("utils")
    match = theirs.match_regex
    theirs.match_regex = lambda regex, text: bool(text) if regex in WORDS else match(regex, text)
    theirs.ServerPreset.load_all = staticmethod(lambda: None)
    theirs.ServerProcess.stop = _ending_well(theirs.ServerProcess.stop)
    theirs.ServerProcess.make_request = _asking(theirs.ServerProcess.make_request, theirs)


def _ending_well(stop: Callable[[Any], None]) -> Callable[[Any], None]:
    def stop_well(server: Any) -> None:
        process = server.process
        stop(server)
        if process is not None and process.returncode not in (0, *STARTED_NOT):
            raise AssertionError(f"the server did not end well when it was told to: {process.returncode}")

    return stop_well


def _asking(make_request: Callable[..., Any], theirs: Any) -> Callable[..., Any]:
    """Requests as theirs, with what is an option of their server; what a starting server says is not printed."""

    def ask(server: Any, method: str, path: str, data: Any = None, *args: Any, **options: Any) -> Any:
        if path == "/health" and not getattr(server, "ready", False):
            theirs.time.sleep(PAUSE_SECONDS)
            return theirs.requests.get(server.make_url(path), headers=options.get("headers"), timeout=1)
        if path in CHAT_PATHS:
            data = {**data, **({"verbose": True} if server.debug else {}), **REASONING.get(server.reasoning, {})}
        return make_request(server, method, path, data, *args, **options)

    return ask


@pytest.fixture(scope="session", autouse=True)
def warm_servers() -> Iterator[None]:
    """Their server program is the shim, and a warm process waits behind it."""
    with tempfile.TemporaryDirectory() as folder:
        address = str(Path(folder) / "warm")
        command = [sys.executable, "-m", "tests.peers.warm", address]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as warm:
            assert warm.stdin is not None
            assert warm.stdout is not None
            assert warm.stdout.readline() == b"warm\n"
            os.environ["TROTH_PEERS_SOCKET"] = address
            os.environ["LLAMA_SERVER_BIN_PATH"] = str(SHIM)
            yield
            warm.stdin.close()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What is left out is deselected, and the counts are ours. Raises UsageError for an entry without a test."""
    out = [item for item in items if _entry(item) is not None]
    kept = [item for item in items if _entry(item) is None]
    files = {_name(item).partition("::")[0] for item in items}
    idle = {entry for entry in LEFT_OUT if entry.partition("::")[0] in files} - {_entry(item) for item in out}
    if idle and not any("::" in argument for argument in config.args):
        raise pytest.UsageError(f"these tests are left out and do not exist: {', '.join(sorted(idle))}")
    for item in items:
        _count(item)
    if config.getoption("--left-out"):
        out, kept = kept, out
    config.hook.pytest_deselected(items=out)
    items[:] = kept


def _name(item: pytest.Item) -> str:
    return item.nodeid.removeprefix(FOLDER)


def _entry(item: pytest.Item) -> str | None:
    """The entry that leaves a test out."""
    name = _name(item)
    return next((key for key in LEFT_OUT if name == key or name.startswith(key + "[")), None)


def _count(item: pytest.Item) -> None:
    """The parameters that count tokens count ours."""
    call = getattr(item, "callspec", None)
    for parameter, counts in COUNTS.get(getattr(item, "originalname", ""), {}).items():
        if call is not None and parameter in call.params:
            call.params[parameter] = counts.get(call.params[parameter], call.params[parameter])


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Why tests were left out, by reason."""
    if config.getoption("--left-out"):
        return
    numbers: dict[str, int] = {}
    for item in terminalreporter.stats.get("deselected", []):
        if entry := _entry(item):
            numbers[LEFT_OUT[entry]] = numbers.get(LEFT_OUT[entry], 0) + 1
    for reason, tests in sorted(numbers.items()):
        terminalreporter.write_line(f"left out, {tests}: {reason}")
