"""The contract table that /health publishes."""

from __future__ import annotations

from troth._generated.fields import FIELDS
from troth.dialects.promises import CHAT_FIELDS, contract, promises, routes
from troth.domain import ServedModel

EVERYTHING = frozenset(FIELDS[CHAT_FIELDS])
CLASSES = ("honoured", "inert", "guarded", "alias", "clamped")


def test_every_field_is_in_exactly_one_class() -> None:
    table = promises(CHAT_FIELDS, EVERYTHING, frozenset())

    named = [path for name in CLASSES for path in table[name]]
    assert sorted(named) == sorted(FIELDS[CHAT_FIELDS])


def test_a_field_that_the_engine_does_not_do_is_guarded() -> None:
    table = promises(CHAT_FIELDS, EVERYTHING - {"logit_bias"}, frozenset())

    assert table["guarded"]["logit_bias"] == "leave it out or send {}"
    assert "temperature" in table["honoured"]


def test_a_field_that_the_operator_guards_is_guarded() -> None:
    table = promises(CHAT_FIELDS, EVERYTHING, frozenset({"mirostat"}))

    assert "mirostat" not in table["honoured"]
    assert table["guarded"]["mirostat"] == "leave it out or send 0"


def test_fields_below_an_honoured_field_are_honoured() -> None:
    table = promises(CHAT_FIELDS, frozenset({"messages", "stream_options"}), frozenset())

    assert "messages[user].content" in table["honoured"]
    assert "stream_options.include_usage" in table["honoured"]
    assert table["prefixes"] == {"speculative.": "inert"}


def test_aliases_and_clamps_name_their_target() -> None:
    table = promises(CHAT_FIELDS, EVERYTHING, frozenset())

    assert table["alias"]["max_completion_tokens"] == "max_tokens"
    assert table["clamped"]["max_tokens"] == "answer_tokens"


def test_a_header_is_in_the_table_of_its_route_and_belongs_to_the_engine_that_does_it() -> None:
    models = [
        ServedModel("keeps", "chat", "x", honours=frozenset({"handle", "X-Halogen-Handle"})),
        ServedModel("forgets", "chat", "x"),
    ]

    table = contract(models, frozenset(), "ignore")["POST /v1/chat/completions"]

    assert table["keeps"]["honoured"] == ["omni", "handle", "X-Halogen-Handle"]
    assert {"handle", "X-Halogen-Handle"} <= table["forgets"]["guarded"].keys()
    assert "session_id" in table["forgets"]["inert"]


def test_what_this_server_does_itself_is_honoured_on_the_route_that_does_it_alone() -> None:
    tables = contract([ServedModel("m", "chat", "x")], frozenset(), "ignore")

    assert "omni" in tables["POST /v1/chat/completions"]["m"]["honoured"]
    assert "omni" in tables["POST /v1/chat/completions/input_tokens"]["m"]["guarded"]


def test_the_table_is_by_route_and_model() -> None:
    models = [ServedModel(name, "chat", "llama_cpp", honours=EVERYTHING) for name in ("a", "b")]

    table = contract(models, frozenset(), "refuse")

    assert set(table["POST /v1/chat/completions"]) == {"a", "b"}
    assert table["POST /v1/chat/completions"]["a"]["unknown"] == "refuse"
    assert "show_all" in table["GET /v1/models"]["*"]["honoured"]
    assert "GET /health" in routes()
