"""What a lint rule found: the rule, the place, what is wrong and how it is cured."""

from __future__ import annotations

from dataclasses import dataclass

from codegen.source import Node


@dataclass(frozen=True, slots=True)
class Finding:
    """One broken rule. As text: `S6 openapi/schemas/x.yaml#/A/b: what is wrong. Cure: what to do.`"""

    rule: str
    file: str
    pointer: str
    wrong: str
    cure: str

    def __str__(self) -> str:
        return f"{self.rule} openapi/{self.file}#{self.pointer}: {self.wrong}. Cure: {self.cure}."


def at(rule: str, node: Node, wrong: str, cure: str) -> Finding:
    """The finding that `rule` is broken at `node`."""
    return Finding(rule, node.file, node.pointer, wrong, cure)
