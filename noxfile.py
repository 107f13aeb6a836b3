"""The project's chores: `nox` runs all that CI runs, `nox -l` is the manual.

Sessions use the environment that nox runs in, installed once with `pip install -e '.[dev]'`: the engine
compiles for minutes and must not be compiled again for every session. Only the clients have one of their own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import nox

nox.options.default_venv_backend = "none"
nox.options.sessions = ["check"]

PYTHON = sys.executable
NPM_INSTALL = ("npm", "install", "--no-audit", "--no-fund", "--prefer-offline")
SOURCES = ("src", "codegen", "tests", "bench", "noxfile.py")


@nox.session
def check(session: nox.Session) -> None:
    """Everything that must pass before a change lands."""
    for name in ("lint", "types", "drift", "unit", "contract", "referee", "clients"):
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


@nox.session(venv_backend="venv", reuse_venv=True)
def clients(session: nox.Session) -> None:
    """Real clients at a live server; needs npm with Node.js 20, vim and curl. Arguments go to pytest.

    The clients are fetched from npm and PyPI into an environment of the session's own; the server runs in ours.
    """
    folder = Path(session.cache_dir).resolve() / "clients"
    folder.mkdir(parents=True, exist_ok=True)
    session.install("-r", "tests/clients/requirements.txt")
    shutil.copy("tests/clients/package.json", folder)
    session.run(*NPM_INSTALL, "--prefix", str(folder), external=True, silent=True)
    _fetch_llama_vim(session, folder)
    variables = {
        "PYTHONPATH": os.pathsep.join(str(Path(name).resolve()) for name in ("src", ".")),
        "TROTH_SERVER_PYTHON": PYTHON,
        "TROTH_CLIENTS_FOLDER": str(folder),
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # otherwise it fetches a list of prices
    }
    session.run("python", "-m", "pytest", "-W", "ignore", "tests/clients", *session.posargs, env=variables)


def _fetch_llama_vim(session: nox.Session, folder: Path) -> None:
    """The plugin as llama.cpp ships it is in the folder: it comes with the source of the engine's package."""
    plugin = folder / "llama.vim"
    if plugin.exists():
        return
    project = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["project"]
    (pinned,) = (name for name in project["dependencies"] if name.startswith("llama-cpp-python=="))
    session.run("python", "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", "llama-cpp-python",
                "--dest", str(folder), pinned)  # fmt: skip
    (archive,) = folder.glob("llama_cpp_python-*.tar.gz")
    with tarfile.open(archive) as source:
        (member,) = (name for name in source.getnames() if name.endswith("/examples/llama.vim"))
        found = source.extractfile(member)
        assert found is not None
        plugin.write_bytes(found.read())
    archive.unlink()


@nox.session(venv_backend="venv", reuse_venv=True)
def upstreams(session: nox.Session) -> None:
    """A real llama-server behind this one; arguments go to pytest.

    It is xllamacpp's, fetched from PyPI into an environment of the session's own; the tests run in ours.
    """
    session.install("-r", "tests/upstreams/requirements.txt")
    variables = {"TROTH_XLLAMACPP_PYTHON": str(Path(session.virtualenv.location).resolve() / "bin" / "python")}
    session.run(PYTHON, "-m", "pytest", "tests/upstreams", *session.posargs, env=variables, external=True)


@nox.session
def referee(session: nox.Session) -> None:
    """The JSON Schema Test Suite as the judge of forms; arguments go to pytest."""
    session.run(PYTHON, "-m", "pytest", "tests/referee", *session.posargs)


@nox.session
def seeds(session: nox.Session) -> None:
    """Twenty schemas with two hundred seeds each on the real model, by hand: it takes the better part of an hour."""
    session.run(PYTHON, "-m", "tests.referee.seeds", *session.posargs)


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
