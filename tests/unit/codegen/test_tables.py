"""The tables of operations and fields agree with the document and with the models."""

from __future__ import annotations

from codegen.__main__ import generate
from codegen.bundle import bundle
from codegen.source import Source
from codegen.tables import field_rules, operation_rows
from troth._generated import models
from troth._generated.fields import FIELDS, PREFIXES, FieldRule
from troth._generated.operations import OPERATIONS
from troth.contract import Alias, Clamped, ContractModel, Guarded, Honoured, Inert, Mark, Neutral


def rule_of(mark: Mark | None) -> FieldRule:
    """What the table must say of a field with this mark."""
    match mark:
        case Guarded():
            return FieldRule("guarded", neutral=mark.neutral)
        case Honoured():
            return FieldRule("honoured", neutral=mark.neutral)
        case Inert():
            return FieldRule("inert")
        case Alias():
            return FieldRule("alias", of=mark.of)
        case Clamped():
            return FieldRule("clamped", to=mark.to)
        case None:
            return FieldRule("honoured")


def test_the_field_table_says_what_the_marks_say() -> None:
    for name, table in FIELDS.items():
        model: type[ContractModel] = getattr(models, name)
        top = {path: rule for path, rule in table.items() if "." not in path}
        seen = {}
        for field, info in model.model_fields.items():
            marks = [mark for mark in info.metadata if isinstance(mark, Mark)]
            assert len(marks) <= 1
            seen[info.alias or field] = rule_of(marks[0] if marks else None)
        assert seen == top


def test_fields_below_the_top_are_named_by_their_path() -> None:
    table = FIELDS["ChatCompletionRequest"]
    assert table["stream_options.include_usage"] == FieldRule("honoured", neutral={"enum": [False]})
    assert table["messages[assistant].prefix"].contract_class == "guarded"
    assert table["messages[system|developer].content"].contract_class == "honoured"
    assert table["messages[user].content[video_url].video_url"] == FieldRule("guarded")


def test_every_neutral_can_be_read_and_said() -> None:
    for table in FIELDS.values():
        for rule in table.values():
            assert Neutral.of(rule.neutral).words


def test_every_alias_has_the_type_and_bounds_of_its_field() -> None:
    fields = models.ChatCompletionRequest.model_fields
    for name, rule in FIELDS["ChatCompletionRequest"].items():
        if rule.of is not None and name in fields:
            alias, target = fields[name], fields[rule.of]
            assert alias.annotation == target.annotation
            assert [each for each in alias.metadata if not isinstance(each, Mark)] == [
                each for each in target.metadata if not isinstance(each, Mark)
            ]


def test_the_four_budget_names_are_one_field() -> None:
    table = FIELDS["ChatCompletionRequest"]
    names = {name for name, rule in table.items() if rule.of == "max_tokens"}
    assert names == {"max_completion_tokens", "max_output_tokens", "n_predict"}
    assert table["max_tokens"] == FieldRule("clamped", to="answer_tokens")


def test_a_family_of_fields_is_listed_by_its_prefix() -> None:
    assert PREFIXES["ChatCompletionRequest"] == {"speculative.": "inert"}


def test_every_operation_names_models_that_exist() -> None:
    for key, operation in OPERATIONS.items():
        assert key == operation.id
        assert operation.handler == operation.id.partition("__")[0]
        for name in (operation.body_model, operation.parameters_model):
            assert name is None or issubclass(getattr(models, name), ContractModel)


def test_only_health_and_ping_are_open() -> None:
    assert {operation.handler for operation in OPERATIONS.values() if operation.open} == {"health", "ping"}


def test_what_streams_generates() -> None:
    streaming = {operation.handler for operation in OPERATIONS.values() if operation.streams}
    chats = {"create_chat_completion", "create_message", "create_response"}
    assert streaming == chats | {"create_completion", "native_completion", "infill", "stream_model_slot_state"}


def test_parameters_are_listed_with_their_place(small: Source) -> None:
    row = operation_rows(bundle(small))[0]
    assert row["parameters"] == [("X-Loud", "header", "X_Loud")]
    assert row["parameters_model"] == "SayParameters"
    parameters = {each.name: each.location for each in OPERATIONS["list_models"].parameters}
    assert parameters == {"show_all": "query", "owned_by": "query", "X-hal0-Model-Filter": "header"}


def test_rules_of_a_small_source_are_found_at_any_depth(small: Source) -> None:
    document = bundle(small)
    paths = [path for path, _ in field_rules(document, {"$ref": "#/components/schemas/SayRequest"})]
    assert paths[:5] == ["turns", "turns[song].how", "turns[song].tune", "turns[talk].how", "turns[talk].text"]


def test_a_changed_class_in_the_source_changes_table_and_mark(small: Source) -> None:
    label = small.files["schemas/talk.yaml"]["SayRequest"]["properties"]["label"]
    before = generate(bundle(small), small.sha256())
    label["x-contract"] = {"class": "guarded"}
    after = generate(bundle(small), small.sha256())
    assert '"label": FieldRule(contract_class="inert")' in before["fields.py"]
    assert '"label": FieldRule(contract_class="guarded")' in after["fields.py"]
    assert "label: Annotated[Any | None, Inert()]" in before["models.py"]
    assert "label: Annotated[Any | None, Guarded()]" in after["models.py"]
