"""Every rule fires on a source that breaks it, and none on a source in order."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from codegen.__main__ import OPENAPI
from codegen.lint import RULES, lint
from codegen.source import Source

Edit = Callable[[str, str, str], Source]
Write = Callable[[dict[str, str | None]], Source]

TALK, PATHS, PARAMETERS = "schemas/talk.yaml", "paths/talk.yaml", "parameters/talk.yaml"
ABSENT = "not_there_yet.yaml"
LABEL = "    label: {description: The caller's own., x-contract: {class: inert}}\n"

BROKEN = [
    ("S1", "openapi.yaml", "openapi: 3.0.3", "openapi: 3.1.0"),
    ("S1", TALK, "type: string, enum: [song]", "type: string, const: song"),
    ("S1", TALK, "text: {type: string, nullable: true", "text: {type: [string, 'null']"),
    (
        "S1",
        TALK,
        "{type: integer, minimum: 0, maximum: 9}",
        "{type: integer, exclusiveMinimum: 0, minimum: 0, maximum: 9}",
    ),
    ("S2", PATHS, "operationId: say", "operationId: sayIt"),
    ("S2", PATHS, "summary: Something is said.", "summary: something said"),
    ("S2", PATHS, "tags: [talk]", "tags: [chat]"),
    ("S3", TALK, "description: How many., x-contract", "x-contract"),
    ("S3", TALK, ", x-contract: {class: clamped, to: words}", ""),
    ("S3", TALK, "class: inert", "class: ignored"),
    ("S3", TALK, "{class: alias, of: words}", "{class: alias}"),
    ("S3", TALK, "{class: alias, of: words}", "{class: alias, of: letters}"),
    ("S3", TALK, "{class: clamped, to: words}", "{class: alias, of: count}"),
    ("S3", TALK, "{class: inert}", "{class: inert, neutral: {enum: [0]}}"),
    ("S3", TALK, "neutral: {maxLength: 0}", "neutral: {pattern: x}"),
    ("S3", TALK, "neutral: {maxLength: 0}", "neutral: {maxLength: 1}"),
    ("S3", TALK, "neutral: {maxLength: 0}", "neutral: {enum: []}"),
    ("S3", PARAMETERS, "  x-contract: {class: honoured}\n", ""),
    ("S4", PATHS, "      \"401\": {$ref: '../responses/errors.yaml#/Failed'}\n", ""),
    ("S4", PATHS, "      default: {$ref: '../responses/errors.yaml#/Failed'}\n", ""),
    ("S5", TALK, "Said:\n", "Unused: {type: object, description: Of no use.}\nSaid:\n"),
    ("S6", TALK, "{description: The caller's own.,", "{description: The caller's own., nullable: true,"),
    ("S6", TALK, "text: {type: string, nullable: true", "text: {type: string, nullable: true, enum: [a]"),
    ("S7", PATHS, "schema: {}", "schema: {type: string}"),
    ("S7", PATHS, "            x-event-schema: {$ref: '../schemas/talk.yaml#/Said'}\n", ""),
    ("S7", PATHS, "text/event-stream", "text/plain"),
    ("S8", TALK, "  description: Plain words.\n", "  description: Plain words.\n  additionalProperties: false\n"),
    ("S10", TALK, "{type: boolean, nullable: true,", "{type: boolean, default: false, nullable: true,"),
    ("S10", PARAMETERS, "{type: boolean, nullable: true}", "{type: boolean, nullable: true, default: true}"),
    ("S11", TALK, "text: {type: string, nullable: true", "text: {type: string"),
    ("S11", PARAMETERS, ", nullable: true", ""),
    ("S12", TALK, LABEL, LABEL.replace("label", "on")),
    ("S12", TALK, "enum: [song]", "enum: [no]"),
    ("S12", PATHS, '"415"', "415"),
    ("S13", TALK, "words: {type: integer, minimum: 1, maximum: 9", "words: {type: integer, minimum: 1"),
    ("S13", TALK, "items: {type: integer, minimum: 0, maximum: 9}", "items: {type: integer}"),
    ("S15", TALK, "  discriminator:\n    propertyName: how\n    mapping: {song: '#/Sung', talk: '#/Spoken'}\n", ""),
    ("S16", TALK, "items: {$ref: '#/Turn'}", "items: {$ref: '#/Turn', description: One of them.}"),
    ("S17", PATHS, "    x-error-style: openai\n", ""),
    ("S18", PATHS, "    x-documents: [radiance]\n", ""),
    ("S18", PATHS, "x-documents: [radiance]", "x-documents: [somebody]"),
    ("S18", PATHS, "x-documents: [radiance]", "x-documents: [hal0, radiance]"),
    ("S18", PATHS, "{/say: []}", "{}"),
    ("S18", PATHS, "{/say: []}", "{/say: [], /shout: []}"),
    ("S19", ABSENT, "POST /v1/sing", "POST /v1/say"),
    ("S19", ABSENT, "[hal0]", "[]"),
    ("S19", ABSENT, ", serves: songs", ""),
]


def test_the_small_source_breaks_no_rule(small: Source) -> None:
    assert lint(small) == []


def test_the_published_source_breaks_no_rule() -> None:
    assert [str(finding) for finding in lint(Source(OPENAPI))] == []


@pytest.mark.parametrize(("rule", "file", "old", "new"), BROKEN)
def test_a_broken_rule_is_found(edit: Edit, rule: str, file: str, old: str, new: str) -> None:
    found = lint(edit(file, old, new))
    assert rule in {finding.rule for finding in found}


def test_an_operation_without_examples_is_found(write: Write) -> None:
    found = lint(write({"examples/say/hello.request.json": None, "examples/say/hello.stream.txt": None}))
    assert [finding.wrong for finding in found if finding.rule == "S9"] == [
        "no examples/say/*.request.json",
        "no examples/say/*.stream.txt",
    ]


def test_one_operation_id_for_two_operations_is_found(small: Source) -> None:
    operation = small.files["paths/talk.yaml"]["say"]["post"]
    small.files["paths/talk.yaml"]["shout"] = {"post": {**operation, "x-alias-documents": {}}}
    small.files["openapi.yaml"]["paths"]["/shout"] = {"$ref": "paths/talk.yaml#/shout"}
    assert {finding.rule for finding in lint(small)} == {"S14"}


def test_a_component_name_in_two_files_is_found(write: Write) -> None:
    source = write({"schemas/other.yaml": "Said: {type: object, description: Once more.}"})
    assert "S5" in {finding.rule for finding in lint(source)}


def test_a_finding_names_rule_file_pointer_and_cure(edit: Edit) -> None:
    (finding,) = lint(edit(TALK, "text: {type: string, nullable: true", "text: {type: string"))
    assert str(finding) == (
        "S11 openapi/schemas/talk.yaml#/Spoken/properties/text: an optional field refuses null. "
        "Cure: write nullable: true beside its type."
    )


def test_every_rule_is_described_and_shown_to_fire() -> None:
    described = set(re.findall(r"^(S\d+) ", Path(lint.__code__.co_filename).read_text("utf-8"), re.MULTILINE))
    shown = {rule for rule, *_ in BROKEN} | {"S9", "S14"}
    assert described == set(RULES) == shown
