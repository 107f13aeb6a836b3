"""Which contract tests ask which routes: read from the tests themselves, so that nobody keeps a list.

A file asks a route when one of its texts is the route's path. A text may be written out, stand in a constant of
the file or of tests/support, or be put together from these.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

SOME = "x"  # stands for what only a running test knows
ALIASES = "document"  # tests/contract/test_document.py asks every alias beside its operation


def demonstrations(tests: Path, paths: Iterable[str]) -> dict[str, list[str]]:
    """For each path the files of `tests`/contract that ask it, without `test_` and `.py`, in order."""
    shared = {file.stem: constants(ast.parse(file.read_text("utf-8")), {}) for file in tests.glob("support/*.py")}
    files = sorted(tests.glob("contract/test_*.py"))
    texts = {file.stem.removeprefix("test_"): set(texts_of(file.read_text("utf-8"), shared)) for file in files}
    return {path: [name for name, said in texts.items() if any(map(_form(path).fullmatch, said))] for path in paths}


def texts_of(code: str, shared: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """Every text that stands in the code, as far as it can be read without running it.

    `shared` has the constants of the modules that it may import from, by the last part of their names.
    """
    tree = ast.parse(code)
    known: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            there = shared.get(node.module.rpartition(".")[2], {})
            known.update({name.asname or name.name: there[name.name] for name in node.names if name.name in there})
    known = constants(tree, known)
    for node in ast.walk(tree):
        if isinstance(node, ast.expr) and (text := _text(node, known)) is not None:
            yield text


def constants(tree: ast.Module, known: Mapping[str, str]) -> dict[str, str]:
    """The names at the top of a module that stand for a text, those of `known` included."""
    found = dict(known)
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            text = _text(statement.value, found)
            if text is not None:
                found[statement.targets[0].id] = text
    return found


def _text(node: ast.expr, known: Mapping[str, str]) -> str | None:
    """The text of an expression, with SOME in place of what is not known; None when it is no text."""
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.Name(id=name):
            return known.get(name)
        case ast.JoinedStr(values=parts):
            return "".join(_text(part, known) or SOME for part in parts)
        case ast.FormattedValue(value=value):
            return _text(value, known)
    return None


def _form(path: str) -> re.Pattern[str]:
    """What a text looks like that asks `path`: parameters are some names, and a host or a query may stand beside."""
    return re.compile(f"{SOME}?" + re.sub(r"\\{\w+\\}", ".+", re.escape(path)) + r"(\?.*)?")
