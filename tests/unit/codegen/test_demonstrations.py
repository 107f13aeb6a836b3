"""Which tests ask which routes is read from the tests, however they write a path."""

from __future__ import annotations

from pathlib import Path

import pytest

from codegen.demonstrations import demonstrations

PATHS = ["/v1/say", "/songs/{name}"]
SUPPORT = 'SAY = "/v1/say"\nCOUNT = f"{SAY}/count"\n'


def asked(tests: Path, code: str) -> dict[str, list[str]]:
    """What is found when one test file holds this code."""
    for folder in ("support", "contract"):
        tests.joinpath(folder).mkdir()
    tests.joinpath("support", "wire.py").write_text(SUPPORT, "utf-8")
    tests.joinpath("contract", "test_talk.py").write_text(code, "utf-8")
    return demonstrations(tests, PATHS)


@pytest.mark.parametrize(
    "code",
    [
        'client.get("/v1/say")',
        'client.get("/v1/say?loud=1")',
        'HERE = "/v1"\nclient.get(f"{HERE}/say")',
        'client.get(f"{server.url}/v1/say")',
        "from tests.support.wire import SAY\nclient.get(SAY)",
        'paths = ["/ping", "/v1/say"]',
    ],
)
def test_a_path_is_found_however_it_is_written(tmp_path: Path, code: str) -> None:
    assert asked(tmp_path, code) == {"/v1/say": ["talk"], "/songs/{name}": []}


@pytest.mark.parametrize("code", ['"/songs/a"', '"/songs/a/b"', 'f"/songs/{name}"', 'f"/songs/{name}?loud=1"'])
def test_a_path_with_a_parameter_is_found_by_any_name(tmp_path: Path, code: str) -> None:
    assert asked(tmp_path, code)["/songs/{name}"] == ["talk"]


@pytest.mark.parametrize(
    "code", ['"/v1/says"', '"/v1/say/count"', '"of /v1/say"', '"/songs/"', "from wire import COUNT"]
)
def test_what_only_looks_like_it_is_not_found(tmp_path: Path, code: str) -> None:
    assert asked(tmp_path, code) == {"/v1/say": [], "/songs/{name}": []}
