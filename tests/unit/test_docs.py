"""The documentation speaks of everything there is, of nothing else, and shows what really happens."""

from __future__ import annotations

import argparse
import ast
import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.test_architecture import ARROWS, GROUND, MODULES, SOURCE
from troth import errors
from troth._generated.fields import FIELDS
from troth._generated.models import ChatCompletionRequest
from troth.cli import _parser, main
from troth.config.schema import Config
from troth.edge.enforcement import Contract
from troth.engines.base import EngineReport
from troth.envelopes import HAL0_CODES, HAL0_MISSING_MODEL, error_body
from troth.errors import Refusal, Unsupported
from troth.watch.metrics import Metrics

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "bench" / "README.md"])
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

Row = tuple[str, ...]


def text(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def blocks(name: str, language: str) -> list[str]:
    """The fenced blocks of one language on a page."""
    return [body for kind, body in FENCE.findall(text(name)) if kind == language]


def rows(page: str) -> list[Row]:
    """The cells of every table row on a page, without the back quotes around them."""
    lines = [line for line in page.splitlines() if line.startswith("| ") and not line.startswith("| ---")]
    return [tuple(cell.strip() for cell in line.strip("|").split(" | ")) for line in lines]


def named(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


# ---- links --------------------------------------------------------------------------------------


def anchor(heading: str) -> str:
    """The anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for link in LINK.findall(page.read_text("utf-8")):
        if link.startswith("http"):
            continue
        name, _, fragment = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), f"{page.name}: {link} leads nowhere"
        if fragment:
            headings = re.findall(r"^#+ (.*)$", target.read_text("utf-8"), re.MULTILINE)
            assert fragment in map(anchor, headings), f"{page.name}: {link} names no heading"


# ---- clients ------------------------------------------------------------------------------------

CLIENTS = sorted(path for path in ROOT.glob("docs/clients/*.md") if path.name != "README.md")


@pytest.mark.parametrize("page", CLIENTS, ids=lambda page: page.stem)
def test_every_client_s_page_is_listed_and_has_its_tests(page: Path) -> None:
    assert f"({page.name})" in text("docs/clients/README.md")
    assert f'"{page.stem}"' in text(f"tests/clients/test_{page.stem.replace('-', '_')}.py")


def test_the_clients_pages_name_the_versions_that_are_tested() -> None:
    pinned = dict(re.findall(r"^([\w-]+)==(\S+)$", text("tests/clients/requirements.txt"), re.MULTILINE))
    pinned |= json.loads(text("tests/clients/package.json"))["dependencies"]
    told = " ".join(page.read_text("utf-8") for page in CLIENTS)

    assert [name for name, version in pinned.items() if version not in told] == []


# ---- commands -----------------------------------------------------------------------------------


def commands(parser: argparse.ArgumentParser, name: str) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Every command that can be run, by its words."""
    children = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not children:
        yield name, parser
    for action in children:
        for word, child in action.choices.items():
            yield from commands(child, f"{name} {word}")


def test_every_command_and_option_is_in_the_documentation() -> None:
    everything = "\n".join(page.read_text("utf-8") for page in PAGES)
    for words, parser in commands(_parser(), "troth"):
        assert f"`{words}" in text("README.md"), "the README's table lists every command"
        for action in parser._actions:
            for option in action.option_strings:
                assert option in ("-h", "--help") or option in everything, f"{words} {option} is nowhere explained"


def test_the_commands_of_the_readme_are_those_of_ci() -> None:
    script = text(".ci/run").replace("python -m pip", "pip")
    script = re.sub(r" --(quiet|disable-pip-version-check)", "", script)
    ci = [line.strip() for line in script.splitlines() if ".venv" in line]
    first, second = (block.strip().split(" && ") for block in blocks("README.md", "sh")[:2])
    assert first[0] == ci[0]
    assert first[1:] == [".venv/bin/pip install -e .", ".venv/bin/troth serve"]
    assert second == ci[1:]


def test_every_nox_session_is_explained() -> None:
    tree = ast.parse(text("noxfile.py"))
    sessions = {
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and any("session" in ast.unparse(each) for each in node.decorator_list)
    }
    explained = set(re.findall(r"nox -s (\w+)", text("CONTRIBUTING.md")))
    assert explained == sessions


# ---- configuration ------------------------------------------------------------------------------


def test_every_section_of_the_configuration_is_explained() -> None:
    table = text("docs/configuration.md").partition("## Sections")[2]
    sections = [name for row in rows(table) for name in named(row[0])]
    assert sections == list(Config.model_fields)


def test_the_configuration_of_the_readme_has_no_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TROTH_API_KEY", "key")
    file = tmp_path / "troth.yaml"
    file.write_text(blocks("README.md", "yaml")[0], "utf-8")

    code = main(["check", str(file)])

    assert code == 0, capsys.readouterr().err


def test_faults_are_told_as_documented(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad.yaml").write_text(blocks("docs/configuration.md", "yaml")[0], "utf-8")

    code = main(["check", "bad.yaml"])

    assert code == 1
    assert capsys.readouterr().err == blocks("docs/configuration.md", "text")[0]


def test_keys_that_are_named_exist() -> None:
    """`section.key` in back quotes is a setting, where `section` is one."""
    for page in PAGES:
        if page.name == "fields.md":
            continue
        for section, key in re.findall(r"`(\w+)\.(\w+)[:`]", page.read_text("utf-8")):
            if f"{section}.{key}" in HAL0_CODES.values():
                continue
            if section in Config.model_fields and section != "models" and key != "py":
                fields = type(Config.model_fields[section].get_default()).model_fields
                assert key in fields, f"{page.name} speaks of {section}.{key}"


# ---- errors -------------------------------------------------------------------------------------


def refusals() -> dict[str, tuple[str, str]]:
    """Status and type of every code that the source can raise."""
    classes = {name: kind for name, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, Refusal)}
    found = {kind.code: (str(kind.status), kind.type) for kind in classes.values()}
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.func.id not in classes:
                continue
            kind = classes[node.func.id]
            for keyword in node.keywords:
                if keyword.arg == "code":
                    codes = [each.value for each in ast.walk(keyword.value) if isinstance(each, ast.Constant)]
                    found.update((str(code), (str(kind.status), kind.type)) for code in codes)
    return found


def test_every_code_is_in_the_table_with_its_status_and_type() -> None:
    table = text("docs/errors.md").partition("## Codes")[2].partition("## Shapes")[0]
    written = {named(row[0])[0]: (row[1], named(row[2])[0]) for row in rows(table)[1:]}
    assert written == refusals()


def test_the_refusal_of_the_readme_is_the_real_one() -> None:
    field = re.search(r"`(\"best_of\": .*?)`\s+gets status 400", text("README.md"), re.DOTALL)
    assert field is not None
    request = json.loads(f'{{"messages": [{{"role": "user", "content": "x"}}], {field.group(1)}}}')

    with pytest.raises(Unsupported) as caught:
        Contract().enforce(ChatCompletionRequest.model_validate_json(json.dumps(request)))

    refusal = error_body(caught.value, "openai")
    assert refusal == json.loads(blocks("README.md", "json")[1])
    assert refusal == json.loads(blocks("docs/errors.md", "json")[0])


def test_every_shape_that_is_shown_is_the_real_one() -> None:
    native, anthropic, hal0 = map(json.loads, blocks("docs/errors.md", "json")[1:])
    wrong_method = errors.MethodNotAllowed(native["error"]["message"])
    nothing_there = errors.NotFound(anthropic["error"]["message"])

    guarded = Unsupported(hal0["error"]["message"], param="best_of")

    assert error_body(wrong_method, "native") == native
    assert error_body(nothing_there, "anthropic", anthropic["request_id"]) == anthropic
    assert error_body(guarded, "hal0") == hal0


def test_every_code_is_in_the_table_of_hal0s_words() -> None:
    table = text("docs/errors.md").partition("## hal0's words")[2].partition("\n## ")[0]
    written = {named(row[0])[0]: named(row[1])[0] for row in rows(table)[1:]}
    assert written == HAL0_CODES
    assert set(HAL0_CODES) == set(refusals())
    assert HAL0_MISSING_MODEL in text("docs/errors.md")


# ---- fields, metrics, modules -------------------------------------------------------------------


def test_the_examples_of_each_class_have_that_class() -> None:
    table = text("README.md").partition("## What becomes of a field")[2]
    examples = {row[0]: named(row[2]) for row in rows(table)[1:6]}
    assert set(examples) == {"honoured", "clamped", "alias", "guarded", "inert"}
    for contract_class, names in examples.items():
        for name in names:
            assert FIELDS["ChatCompletionRequest"][name].contract_class == contract_class


def test_every_metric_is_in_the_table_with_its_kind() -> None:
    metrics = Metrics(version="0")
    metrics.follow("model", lambda: EngineReport(status="ready"))
    lines = metrics.render().decode().splitlines()
    real = {line.split()[2]: line.split()[3] for line in lines if line.startswith("# TYPE")}

    table = text("docs/operations.md").partition("## Metrics")[2]
    written = {named(row[0])[0]: row[1] for row in rows(table)[1:]}

    assert written == real


def test_every_module_has_its_line() -> None:
    table = text("ARCHITECTURE.md").partition("## The modules")[2].partition("\n## ")[0]
    written = {name for row in rows(table) for name in named(row[0]) if name.endswith(".py")}
    real = {str(path.relative_to(SOURCE)) for path in MODULES}
    rooms = {name for name in real if name.endswith("/__init__.py") and name.count("/") == 1}
    assert written == real - rooms


def test_the_arrows_are_those_that_are_enforced() -> None:
    table = text("ARCHITECTURE.md").partition("## Who may import whom")[2].partition("\n## ")[0]
    written: dict[str, Any] = {named(row[0])[0]: set(named(row[1])) for row in rows(table)[1:]}
    assert written == {room: allowed for room, allowed in ARROWS.items() if room not in GROUND}
