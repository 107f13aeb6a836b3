"""A radix tree over token ids: which stored sequence shares the longest beginning with a prompt?

Edges hold runs of tokens, so a lookup costs one vector comparison per branch on the way down. Every node
knows the entries below it; any of them shares the whole path to the node.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np

from troth.domain import TokenIds

Entry = TypeVar("Entry")


@dataclass(slots=True)
class Node(Generic[Entry]):
    """A run of tokens, and what follows it by first token. `entry` is stored exactly at the run's end."""

    run: TokenIds
    children: dict[int, Node[Entry]] = field(default_factory=dict)
    entry: Entry | None = None

    def any_entry(self) -> Entry:
        """An entry at or below this node; there is always one."""
        node = self
        while node.entry is None:
            node = next(iter(node.children.values()))
        return node.entry


class PrefixTree(Generic[Entry]):
    """Entries by token sequence. Sequences are unique and not empty."""

    def __init__(self) -> None:
        self._root: Node[Entry] = Node(np.empty(0, np.int32))

    @property
    def is_empty(self) -> bool:
        """True when nothing is stored."""
        return not self._root.children

    def longest(self, tokens: TokenIds) -> tuple[Entry | None, int]:
        """An entry with the longest beginning in common with `tokens`, and its length; (None, 0) without."""
        node, matched = self._root, 0
        while matched < len(tokens):
            child = node.children.get(int(tokens[matched]))
            if child is None:
                break
            shared = common_length(child.run, tokens[matched:])
            matched += shared
            node = child
            if shared < len(child.run):
                break
        return (node.any_entry(), matched) if matched else (None, 0)

    def add(self, tokens: TokenIds, entry: Entry) -> Entry | None:
        """The entry is stored under `tokens`; returns the one that it replaced there."""
        node, start = self._root, 0
        while start < len(tokens):
            child = node.children.get(int(tokens[start]))
            if child is None:
                child = Node(tokens[start:].copy())
                node.children[int(tokens[start])] = child
            shared = common_length(child.run, tokens[start:])
            if shared < len(child.run):
                child = self._split(node, child, shared)
            node, start = child, start + shared
        replaced, node.entry = node.entry, entry
        return replaced

    def remove(self, tokens: TokenIds) -> None:
        """No entry is stored under `tokens`. Raises KeyError when none was."""
        path, start = [self._root], 0
        while start < len(tokens):
            child = path[-1].children[int(tokens[start])]
            path.append(child)
            start += len(child.run)
        if path[-1].entry is None:
            raise KeyError("no entry is stored under these tokens")
        path[-1].entry = None
        while len(path) > 1 and path[-1].entry is None and len(path[-1].children) < 2:
            node, parent = path.pop(), path[-1]
            first = int(node.run[0])
            if node.children:
                (only,) = node.children.values()
                only.run = np.concatenate([node.run, only.run])
                parent.children[first] = only
                return
            del parent.children[first]

    def beginnings(self, tokens: TokenIds) -> list[Entry]:
        """The entries whose whole sequence is a proper beginning of `tokens`."""
        found: list[Entry] = []
        node, start = self._root, 0
        while start < len(tokens):
            child = node.children.get(int(tokens[start]))
            if child is None or common_length(child.run, tokens[start:]) < len(child.run):
                break
            node, start = child, start + len(child.run)
            if node.entry is not None and start < len(tokens):
                found.append(node.entry)
        return found

    @staticmethod
    def _split(parent: Node[Entry], child: Node[Entry], length: int) -> Node[Entry]:
        """The child's run ends after `length` tokens; what follows is a node of its own."""
        upper: Node[Entry] = Node(child.run[:length])
        parent.children[int(child.run[0])] = upper
        child.run = child.run[length:]
        upper.children[int(child.run[0])] = child
        return upper


def common_length(first: TokenIds, second: TokenIds) -> int:
    """How many tokens two sequences have in common at their beginning."""
    length = min(len(first), len(second))
    differing = np.flatnonzero(first[:length] != second[:length])
    return int(differing[0]) if len(differing) else length
