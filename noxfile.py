"""The project's chores: `nox` runs all that CI runs, `nox -l` is the manual.

Sessions use the environment that nox runs in, installed once with `pip install -e '.[dev]'`: the engine
compiles for minutes and must not be compiled again for every session.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import nox

nox.options.default_venv_backend = "none"
nox.options.sessions = ["check"]

PYTHON = sys.executable
SOURCES = ("src", "codegen", "tests", "bench", "noxfile.py")


@nox.session
def check(session: nox.Session) -> None:
    """Everything that must pass before a change lands."""
    for name in ("lint", "types", "drift", "unit", "contract", "peers"):
        session.notify(name)


@nox.session
def lint(session: nox.Session) -> None:
    """Style and formatting of the hand-written code, and the numbered rules of the API document."""
    session.run(PYTHON, "-m", "ruff", "check", *SOURCES)
    session.run(PYTHON, "-m", "ruff", "format", "--check", *SOURCES)
    session.run(PYTHON, "-m", "codegen", "--lint")


@nox.session
def types(session: nox.Session) -> None:
    """Strict types in sources and tests."""
    session.run(PYTHON, "-m", "mypy")


@nox.session
def unit(session: nox.Session) -> None:
    """The unit tests, in random order; arguments go to pytest."""
    session.run(PYTHON, "-m", "pytest", "tests/unit", *session.posargs)


@nox.session
def contract(session: nox.Session) -> None:
    """The contract tests: a live server on the real embedded model, judged by the API document."""
    session.run(PYTHON, "-m", "pytest", "tests/contract", *session.posargs)


@nox.session
def peers(session: nox.Session) -> None:
    """llama.cpp's own server tests against this server; arguments go to pytest."""
    session.run(PYTHON, "-m", "tests.peers", *session.posargs)


@nox.session
def drift(session: nox.Session) -> None:
    """Fails when generated files are not what openapi/ and the settings give."""
    session.run(PYTHON, "-m", "codegen", "--check")


@nox.session
def generate(session: nox.Session) -> None:
    """Writes every generated file anew."""
    session.run(PYTHON, "-m", "codegen")
    reference = subprocess.run([PYTHON, "-m", "troth.config.reference"], check=True, capture_output=True)
    Path("config/reference.yaml").write_bytes(reference.stdout)


@nox.session
def spec(session: nox.Session) -> None:
    """Schemathesis searches the live server for answers that break the document."""
    session.run(PYTHON, "-m", "pytest", "tests/contract/test_schemathesis.py", *session.posargs)


@nox.session
def bench(session: nox.Session) -> None:
    """The benchmarks; see bench/README.md. Ratios, not times: machines are noisy."""
    session.run(PYTHON, "-m", "bench", *session.posargs)


@nox.session
def serve(session: nox.Session) -> None:
    """Starts the server with the embedded model; arguments go to `troth serve`."""
    session.run(PYTHON, "-m", "troth", "serve", *session.posargs)
