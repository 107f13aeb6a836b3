"""Every honoured field does something: two requests that differ in it alone are answered differently."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.contract import servers
from tests.contract.conftest import Connect, ServeWith
from tests.contract.servers import Settings
from tests.support.demonstrations import HONOURED, SHOWN_ELSEWHERE, TEMPLATE, Shown, content, request, user
from tests.support.fields import fields_of, impossible
from tests.support.judge import Document
from tests.support.live import busy, config, wait_idle, wait_queued

PATH = "/v1/chat/completions"

Pick = Callable[[Shown], httpx.Client]


@pytest.fixture
def pick(serve_with: ServeWith, connect: Connect, template: Path, thinking: Settings, adapted: Settings) -> Pick:
    """`pick(shown)`: a client of the server that a demonstration needs."""
    names = {**servers.quick(context_tokens=256, slots=1), "chat_template": str(template)}
    settings = {
        "usual": config(),
        "two_models": servers.two_models(),
        "names": config([names]),
        "thinking": thinking,
        "adapters": adapted,
    }
    return lambda shown: connect(serve_with(settings[shown.on]))


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A chat template that shows names and a variable."""
    file = tmp_path_factory.mktemp("template") / "names.jinja"
    file.write_text(TEMPLATE, "utf-8")
    return file


def test_every_honoured_field_is_shown_to_do_something(document: Document) -> None:
    fields = fields_of(document)
    unsendable = impossible(fields)
    honoured = {
        path
        for path, field in fields.items()
        if field.contract_class == "honoured" and path.rpartition(".")[0] not in unsendable
    }
    assert honoured == set(HONOURED) | SHOWN_ELSEWHERE


@pytest.mark.parametrize("path", HONOURED)
def test_an_honoured_field_changes_the_answer(path: str, pick: Pick) -> None:
    shown = HONOURED[path]
    client = pick(shown)
    one, other = (shown.look(client.post(PATH, json=request(shown, said))) for said in (shown.one, shown.other))
    assert one != other


def test_the_same_request_has_the_same_answer(client: httpx.Client) -> None:
    body = {"messages": user(), "max_tokens": 12, "seed": 5, "temperature": 1}
    assert content(client.post(PATH, json=body)) == content(client.post(PATH, json=body))


@pytest.mark.parametrize(("first", "second", "order"), [(5, -5, [-5, 5]), (-5, 5, [-5, 5]), (None, 0, [None, 0])])
def test_a_lower_priority_runs_sooner(
    first: int | None, second: int | None, order: list[int | None], serve_with: ServeWith, connect: Connect
) -> None:
    client = connect(serve_with(servers.narrow()))
    ended: list[int | None] = []

    def ask(priority: int | None) -> None:
        body = {"messages": user(), "max_tokens": 1, "priority": priority}
        assert client.post(PATH, json=body).status_code == 200
        ended.append(priority)

    wait_idle(client)
    with ThreadPoolExecutor() as pool:
        with busy(client):
            asked = []
            for count, priority in enumerate((first, second), 1):
                asked.append(pool.submit(ask, priority))
                wait_queued(client, count)
        for each in asked:
            each.result()
    assert ended == order
