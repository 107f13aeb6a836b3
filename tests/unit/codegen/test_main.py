"""The command: it writes, it checks, it says why not."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import codegen.__main__ as command
from codegen.bundle import bundle
from codegen.source import Source

Edit = Callable[[str, str, str], Source]


def test_the_checked_in_files_are_what_the_source_gives(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--check"]) == 0, capsys.readouterr().out


def test_drift_is_shown_as_a_diff(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tmp_path.joinpath("a.py").write_text("old\n", "utf-8")
    assert command.check({"a.py": "new\n"}, tmp_path) == 1
    assert capsys.readouterr().out.endswith("-old\n+new\n")


def test_a_missing_file_is_drift(tmp_path: Path) -> None:
    assert command.check({"a.py": "new\n"}, tmp_path) == 1


def test_written_files_pass_the_check(tmp_path: Path) -> None:
    folder = tmp_path / "made"
    assert command.write({"a.py": "new\n"}, folder) == 0
    assert command.check({"a.py": "new\n"}, folder) == 0


def test_generating_twice_gives_the_same_texts(small: Source) -> None:
    assert command.generate(bundle(small), small.sha256()) == command.generate(bundle(small), small.sha256())


def test_every_file_is_stamped_with_source_and_generator(small: Source) -> None:
    for text in command.generate(bundle(small), small.sha256()).values():
        assert small.sha256() in text
        assert "datamodel-code-generator 0." in text


def test_a_finding_ends_the_command_and_is_printed(
    edit: Edit, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = edit("paths/talk.yaml", "tags: [talk]", "tags: [chat]")
    monkeypatch.setattr(command, "OPENAPI", source.root)
    assert command.main(["--check"]) == 1
    assert capsys.readouterr().err.startswith("S2 openapi/paths/talk.yaml#/say/post: tags are ['chat'].")


def test_files_that_cannot_be_joined_end_the_command_with_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "OPENAPI", tmp_path)
    assert command.main([]) == 1
    assert "table of contents" in capsys.readouterr().err


def test_the_strict_view_is_written_to_a_file(tmp_path: Path) -> None:
    target = tmp_path / "strict.json"
    assert command.main(["--strict-view", str(target)]) == 0
    assert json.loads(target.read_text("utf-8"))["openapi"] == "3.0.3"


def test_the_command_runs_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "codegen", "--help"], cwd=command.ROOT, capture_output=True, check=True
    )
    assert b"--strict-view" in done.stdout
