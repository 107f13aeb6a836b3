"""A formatter of datamodel-code-generator: contract marks, and no root models.

`x-contract` becomes a mark of `troth.contract`. A root model, which the generator writes for every
bounded item of a list or a union, is put back where it was named, as an `Annotated` type.
"""

from __future__ import annotations

import ast
import copy
from typing import Any, cast

from datamodel_code_generator.format import CustomCodeFormatter

BASE = "ContractModel"


class CodeFormatter(CustomCodeFormatter):
    """Rewrites one generated module."""

    def apply(self, code: str) -> str:
        """The same module with marks and without root models, and with the imports that it needs."""
        marks = _Marks()
        tree = without_roots(marks.visit(ast.parse(code)))
        marked = marks.used & {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        text = ast.unparse(ast.fix_missing_locations(tree))
        names = ", ".join(sorted(marked | {BASE}))
        return text.replace(f"from troth.contract import {BASE}", f"from troth.contract import {names}")


def without_roots(tree: ast.Module) -> ast.Module:
    """The module in which every root model stands, as a type, where it was named."""
    roots: dict[str, ast.expr] = {}
    classes: list[ast.stmt] = []
    for statement in tree.body:
        root = _root_of(statement)
        if isinstance(statement, ast.ClassDef) and root is not None:
            roots[statement.name] = _unmarked(root)
        else:
            classes.append(statement)
    inline = _Inline(roots)
    tree.body = [inline.visit(statement) for statement in classes]
    for statement in tree.body:
        if isinstance(statement, ast.ImportFrom) and statement.module == "pydantic":
            statement.names = [each for each in statement.names if each.name != "RootModel"]
    return tree


def _root_of(statement: ast.stmt) -> ast.expr | None:
    """The type that a root model stands for; None for any other statement."""
    if not isinstance(statement, ast.ClassDef) or not statement.bases:
        return None
    base = statement.bases[0]
    if isinstance(base, ast.Subscript) and isinstance(base.value, ast.Name) and base.value.id == "RootModel":
        for line in statement.body:
            if isinstance(line, ast.AnnAssign):
                return line.annotation
    return None


def _unmarked(annotation: ast.expr) -> ast.expr:
    """The annotation without contract marks: the field that names the root model carries its own."""
    if isinstance(annotation, ast.Subscript) and isinstance(annotation.slice, ast.Tuple):
        kept = [each for each in annotation.slice.elts if not _is_mark(each)]
        if len(kept) == 1:
            return kept[0]
        annotation.slice.elts = kept
    return annotation


def _is_mark(extra: ast.expr) -> bool:
    return isinstance(extra, ast.Call) and isinstance(extra.func, ast.Name) and extra.func.id != "Field"


class _Inline(ast.NodeTransformer):
    def __init__(self, roots: dict[str, ast.expr]) -> None:
        self.roots = roots

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self.roots:
            return cast(ast.expr, self.visit(copy.deepcopy(self.roots[node.id])))
        return node


class _Marks(ast.NodeTransformer):
    def __init__(self) -> None:
        self.used: set[str] = set()

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        if not (
            isinstance(node.value, ast.Name) and node.value.id == "Annotated" and isinstance(node.slice, ast.Tuple)
        ):
            return node
        annotation, *extras = node.slice.elts
        kept: list[ast.expr] = []
        for extra in extras:
            kept.extend(self._marked(extra))
        if not kept:
            return annotation
        node.slice.elts = [annotation, *kept]
        return node

    def _marked(self, extra: ast.expr) -> list[ast.expr]:
        if not (isinstance(extra, ast.Call) and isinstance(extra.func, ast.Name) and extra.func.id == "Field"):
            return [extra]
        rule: dict[str, Any] | None = None
        for keyword in list(extra.keywords):
            if keyword.arg == "json_schema_extra":
                rule = ast.literal_eval(keyword.value)["x-contract"]
                extra.keywords.remove(keyword)
        kept: list[ast.expr] = [extra] if extra.args or extra.keywords else []
        text = mark_of(rule) if rule is not None else None
        if text is not None:
            self.used.add(text.partition("(")[0])
            kept.append(ast.parse(text, mode="eval").body)
        return kept


def mark_of(rule: dict[str, Any]) -> str | None:
    """The mark that an `x-contract` stands for, as Python; None for a plain honoured field."""
    contract_class = rule["class"]
    if contract_class == "alias":
        return f"Alias(of={rule['of']!r})"
    if contract_class == "clamped":
        return f"Clamped(to={rule['to']!r})"
    if contract_class == "inert":
        return "Inert()"
    arguments = ", ".join(f"{name}={rule[name]!r}" for name in ("neutral", "instead") if rule.get(name) is not None)
    if contract_class == "guarded":
        return f"Guarded({arguments})"
    return f"Honoured({arguments})" if arguments else None
