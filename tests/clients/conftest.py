"""Servers for real clients: the embedded model, and models that speak a script."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from tests.support.live import LiveServer, ServeWith, config, embedded, scripted, shared_servers
from tests.support.pages import snippets
from tests.support.vector_models import embedder, reranker

Script = list[Any]  # of texts, and of lists of texts, waits and faults
ServeScript = Callable[..., LiveServer]
Show = Callable[..., str]


def call(name: str, **arguments: Any) -> str:
    """How a model without a form of its own says that a function is to be called."""
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>"


def prompts(server: LiveServer) -> list[str]:
    """What the model of the script was told, for each answer that began."""
    record = Path(server.config["models"][0]["options"]["script"]).with_suffix(".prompts")
    return [json.loads(line) for line in record.read_text("utf-8").splitlines()]


@pytest.fixture(scope="session")
def serve_with(tmp_path_factory: pytest.TempPathFactory, embedded_model: Path) -> Iterator[ServeWith]:
    """`serve_with(config)`: a ready server with that configuration, started once and stopped at the end."""
    with shared_servers(lambda: tmp_path_factory.mktemp("server")) as serve:
        yield serve


@pytest.fixture(scope="session")
def server(serve_with: ServeWith) -> LiveServer:
    """The embedded model, two slots of 1024 tokens."""
    return serve_with(config([embedded(determinism="fast", slots=2)]))


@pytest.fixture(scope="session")
def vector_server(serve_with: ServeWith) -> LiveServer:
    """A model of vectors and one of relevance."""
    return serve_with(config([embedder(), reranker()]))


@pytest.fixture(scope="session")
def serve_script(serve_with: ServeWith, tmp_path_factory: pytest.TempPathFactory) -> ServeScript:
    """`serve_script(script, **sections)`: a server whose k-th answer from now on is the k-th of the script.

    `options` are those of the model, the other sections those of the configuration. Servers are shared by both.
    """
    folder = tmp_path_factory.mktemp("scripts")

    def serve(script: Script, *, options: dict[str, Any] | None = None, **sections: Any) -> LiveServer:
        key = hashlib.blake2b(json.dumps([options, sections], sort_keys=True).encode(), digest_size=8).hexdigest()
        fresh, file = folder / "fresh", folder / f"{key}.jsonl"
        fresh.write_text("".join(json.dumps(line) + "\n" for line in script), "utf-8")
        fresh.replace(file)
        file.with_suffix(".prompts").unlink(missing_ok=True)
        server = serve_with(config([scripted(file, **(options or {}))], **sections))
        server.mark()
        return server

    return serve


@pytest.fixture(scope="session")
def show() -> Show:
    """`show(page, server)`: what the first Python program on the page, or that with the number `at`, prints when it is
    run against the server."""

    def run(page: str, server: LiveServer, at: int = 0) -> str:
        printed = StringIO()
        with redirect_stdout(printed):
            exec(compile(snippets(page, "python", server.url)[at], f"{page}.md", "exec"), {"__name__": "__main__"})
        return printed.getvalue()

    return run


@pytest.fixture(scope="session")
def packages() -> Path:
    """The folder with the packages of npm and the other programs that `nox -s clients` fetched."""
    folder = os.environ.get("TROTH_CLIENTS_FOLDER")
    assert folder is not None, "run these tests with: nox -s clients"
    return Path(folder)
