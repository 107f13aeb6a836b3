"""Reading the files: strictly, and with every reference followed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from codegen.source import Source, SourceError

Edit = Callable[[str, str, str], Source]
Write = Callable[[dict[str, str | None]], Source]


def test_a_key_written_twice_is_refused(edit: Edit) -> None:
    with pytest.raises(SourceError, match="key 'Said' is written twice"):
        edit("schemas/talk.yaml", "Spoken:\n", "Said: {}\nSpoken:\n")


def test_a_folder_without_a_table_of_contents_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="table of contents"):
        Source(tmp_path)


def test_broken_yaml_is_refused_with_its_file(edit: Edit) -> None:
    with pytest.raises(SourceError, match=r"errors\.yaml"):
        edit("responses/errors.yaml", "Failed:", "Failed: [")


def test_a_reference_to_a_missing_file_is_refused(small: Source) -> None:
    with pytest.raises(SourceError, match="points at no file"):
        small.target("paths/talk.yaml", "../schemas/gone.yaml#/X")


def test_a_reference_to_a_missing_name_is_refused(small: Source) -> None:
    with pytest.raises(SourceError, match="has no 'Gone'"):
        small.target("paths/talk.yaml", "../schemas/talk.yaml#/Gone")


def test_a_reference_is_read_from_the_folder_of_its_file(small: Source) -> None:
    node = small.target("paths/talk.yaml", "../schemas/talk.yaml#/Said/properties/text")
    assert (node.file, node.pointer) == ("schemas/talk.yaml", "/Said/properties/text")
    assert node.data["type"] == "string"


def test_operations_are_listed_by_path_aliases_included(small: Source) -> None:
    assert [(path, method) for path, method, _ in small.operations()] == [("/v1/say", "post"), ("/say", "post")]


def test_the_sha256_changes_with_a_name_and_with_a_byte(small: Source) -> None:
    first = small.sha256()
    example = small.root / "examples/say/hello.response.json"
    renamed = example.rename(example.with_name("other.response.json"))
    second = small.sha256()
    renamed.write_text('{"text": "hallo"}', "utf-8")
    assert len({first, second, small.sha256()}) == 3
