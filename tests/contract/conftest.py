"""Live servers for the contract tests: shared by configuration, on the real model, every answer judged."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.contract import servers
from tests.contract.servers import Settings
from tests.support.adapters import make_control_vector, make_lora
from tests.support.judge import Document, Judge, judged_client, published_document
from tests.support.live import LiveServer, ServeWith, config, embedded, shared_servers
from tests.support.stage import Stage
from tests.support.thinking_model import make_thinking_model

__all__ = ["Connect", "ServeWith"]

Connect = Callable[..., httpx.Client]


@pytest.fixture(scope="session")
def document() -> Document:
    """The published document."""
    return published_document()


@pytest.fixture(scope="session")
def judge(document: Document) -> Judge:
    """Judges answers by the published document."""
    return Judge(document)


@pytest.fixture(scope="session")
def serve_with(tmp_path_factory: pytest.TempPathFactory, embedded_model: Path) -> Iterator[ServeWith]:
    """`serve_with(config)`: a ready server with that configuration, started once and stopped at the end."""
    with shared_servers(lambda: tmp_path_factory.mktemp("server")) as serve:
        yield serve


@pytest.fixture(scope="session")
def thinking(embedded_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """The configuration of a server whose model reasons."""
    model = make_thinking_model(embedded_model, tmp_path_factory.mktemp("thinking"))
    return config([servers.quick(context_tokens=512, slots=1) | model])


@pytest.fixture(scope="session")
def adapted(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """The configuration of a server whose model has two adapters and a control vector, all off unless asked for."""
    folder = tmp_path_factory.mktemp("adapters")
    loras = [{"source": str(make_lora(folder / f"{seed}.gguf", seed=seed)), "scale": 0.0} for seed in (1, 2)]
    vector = {"source": str(make_control_vector(folder / "vector.gguf", seed=3)), "default": False}
    return config([embedded(context_tokens=256, slots=2, lora=loras, control_vector=vector)])


@pytest.fixture(scope="session")
def server(serve_with: ServeWith) -> LiveServer:
    """A server with the usual configuration: the embedded model, four slots of 1024 tokens."""
    return serve_with(config())


@pytest.fixture(scope="session")
def vectors(serve_with: ServeWith, connect: Connect) -> httpx.Client:
    """A client of a server with a model of vectors and one of relevance, and none that speaks."""
    return connect(serve_with(servers.of_vectors()))


@pytest.fixture(scope="session")
def judges(serve_with: ServeWith, connect: Connect) -> httpx.Client:
    """A client of a server with a model that decides and one that moderates."""
    return connect(serve_with(servers.of_judges()))


@pytest.fixture(scope="session")
def connect(judge: Judge) -> Iterator[Connect]:
    """`connect(server, **options)`: a client of that server whose every answer is judged."""
    clients: list[httpx.Client] = []

    def make(server: LiveServer, **options: Any) -> httpx.Client:
        client = judged_client(server.url, judge, **options)
        clients.append(client)
        return client

    yield make
    for client in clients:
        client.close()


@pytest.fixture(scope="session")
def sighted(serve_with: ServeWith, tmp_path_factory: pytest.TempPathFactory, connect: Connect) -> httpx.Client:
    """A client of a server with strict determinism whose model sees and hears, with small limits of what it takes."""
    from tests.support.projector import make_projector

    projector = make_projector("mlp", tmp_path_factory.mktemp("projector") / "mmproj.gguf", hears=True)
    model = embedded(context_tokens=512, slots=2, mmproj=str(projector))
    return connect(serve_with(config([model], media={"pixels_max": 1_000_000, "images_max": 4, "bytes_max": 200_000})))


@pytest.fixture(scope="session")
def client(server: LiveServer, connect: Connect) -> httpx.Client:
    """A client of the usual server whose every answer is judged."""
    return connect(server)


@pytest.fixture(scope="session")
def stage(tmp_path_factory: pytest.TempPathFactory, embedded_model: Path) -> Stage:
    """Models that say what they are told to, and their scripts."""
    return Stage(tmp_path_factory.mktemp("stage"), embedded_model)


@pytest.fixture(scope="session")
def actors(stage: Stage, serve_with: ServeWith, connect: Connect) -> httpx.Client:
    """A client of the server of these models."""
    return connect(serve_with(stage.settings))
