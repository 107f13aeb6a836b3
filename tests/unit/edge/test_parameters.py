from __future__ import annotations

import pytest

from tests.unit.edge.small_server import SmallServer
from troth.edge.settings import EdgeSettings


def test_query_path_and_headers_become_one_checked_model() -> None:
    server = SmallServer()

    server.ask("GET", "/v1/things/a%20b?limit=5&tags=x&tags=y&all=true", headers={"x-filter": "z"})

    parameters = server.calls[0].parameters
    assert (parameters.key, parameters.limit, parameters.tags, parameters.all_of_it, parameters.x_filter) == (
        "a b",
        5,
        ["x", "y"],
        True,
        "z",
    )
    assert server.calls[0].given == {"key", "limit", "tags", "all", "X-Filter"}


@pytest.mark.parametrize(
    ("query", "param"), [("limit=0", "limit"), ("limit=11", "limit"), ("limit=many", "limit"), ("all=perhaps", "all")]
)
def test_a_wrong_parameter_is_refused_by_name(query: str, param: str) -> None:
    response = SmallServer().ask("GET", f"/v1/things/a?{query}")

    assert response.status_code == 400
    assert response.json()["error"]["param"] == param


def test_one_parameter_with_two_values_is_refused() -> None:
    server = SmallServer()

    assert server.ask("GET", "/v1/things/a?limit=1&limit=2").json()["error"]["code"] == "conflicting_values"
    assert server.ask("GET", "/v1/things/a?limit=1&limit=1").status_code == 200


def test_unknown_parameters_follow_the_policy_for_unknown_fields() -> None:
    refusing = SmallServer(EdgeSettings(unknown_fields="refuse"))

    assert SmallServer().ask("GET", "/v1/things/a?limits=1").status_code == 200
    assert "did you mean limit?" in refusing.ask("GET", "/v1/things/a?limits=1").json()["error"]["message"]


def test_a_query_with_too_many_parameters_is_refused() -> None:
    query = "&".join(f"p{number}=1" for number in range(300))

    assert SmallServer().ask("GET", f"/v1/things/a?{query}").status_code == 400
