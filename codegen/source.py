"""The files of `openapi/`, read strictly, with every reference followed by file and pointer."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

CONTENTS = "openapi.yaml"
SECTIONS = ("schemas", "responses", "parameters")
METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")


class SourceError(Exception):
    """The files cannot be joined: the message names the file and what to change."""


@dataclass(frozen=True, slots=True)
class Node:
    """A piece of the source and where it stands: `file` is relative to `openapi/`, `pointer` begins with /."""

    file: str
    pointer: str
    data: Any

    def child(self, *keys: str | int) -> Node:
        """The node under `keys`, which must exist."""
        data, pointer = self.data, self.pointer
        for key in keys:
            data = data[key]
            pointer += "/" + str(key).replace("~", "~0").replace("/", "~1")
        return Node(self.file, pointer, data)

    def children(self) -> Iterator[Node]:
        """The nodes directly below: values of an object, items of a list."""
        if isinstance(self.data, dict):
            for key in self.data:
                yield self.child(key)
        elif isinstance(self.data, list):
            for index in range(len(self.data)):
                yield self.child(index)

    def walk(self) -> Iterator[Node]:
        """This node and every node below it, in reading order; references are not followed."""
        yield self
        for child in self.children():
            yield from child.walk()


class _StrictLoader(yaml.SafeLoader):
    """YAML in which a key written twice is an error, since PyYAML would keep only the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        written = [key.value for key, _ in node.value if key.tag != "tag:yaml.org,2002:merge"]
        for name in written:
            if written.count(name) > 1 and not any(key.tag.endswith(":merge") for key, _ in node.value):
                raise SourceError(f"{node.start_mark.name}:{node.start_mark.line + 1}: key '{name}' is written twice")
        return super().construct_mapping(node, deep)


class Source:
    """All YAML files under a folder, by their path relative to it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.files: dict[str, Any] = {}
        for path in sorted(root.rglob("*.yaml")):
            if "examples" not in path.relative_to(root).parts:
                self.files[path.relative_to(root).as_posix()] = _load(path)
        if CONTENTS not in self.files:
            raise SourceError(f"{root / CONTENTS} is missing: it is the table of contents")

    def sha256(self) -> str:
        """One number for the content and the names of every file under the folder."""
        digest = hashlib.sha256()
        for path in sorted(self.root.rglob("*")):
            if path.is_file():
                digest.update(path.relative_to(self.root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
        return digest.hexdigest()

    def node(self, file: str) -> Node:
        """The whole of one file."""
        return Node(file, "", self.files[file])

    def nodes(self) -> Iterator[Node]:
        """The whole of every file."""
        for file in self.files:
            yield self.node(file)

    def target(self, file: str, ref: str) -> Node:
        """What `ref`, written in `file`, points at. Raises SourceError when there is nothing."""
        name, _, pointer = ref.partition("#")
        where = (Path(file).parent / name).as_posix() if name else file
        where = _normal(where)
        if where not in self.files:
            raise SourceError(f"{file}: reference {ref} points at no file")
        node = self.node(where)
        for step in pointer.strip("/").split("/"):
            key = step.replace("~1", "/").replace("~0", "~")
            if not isinstance(node.data, dict) or key not in node.data:
                raise SourceError(f"{file}: reference {ref} points at nothing: {where} has no '{key}'")
            node = node.child(key)
        return node

    def follow(self, node: Node) -> Node:
        """`node`, or what it refers to when it is a reference, to the end of the chain."""
        while isinstance(node.data, dict) and isinstance(node.data.get("$ref"), str):
            node = self.target(node.file, node.data["$ref"])
        return node

    def operations(self) -> Iterator[tuple[str, str, Node]]:
        """Path, method and node of every operation, as the table of contents lists them."""
        for entry in self.node(CONTENTS).child("paths").children():
            path = entry.pointer.rsplit("/", 1)[1].replace("~1", "/").replace("~0", "~")
            item = self.follow(entry)
            for method in METHODS:
                if method in item.data:
                    yield path, method, item.child(method)


def _load(path: Path) -> Any:
    try:
        with path.open(encoding="utf-8") as stream:
            return yaml.load(stream, Loader=_StrictLoader)
    except yaml.YAMLError as error:
        raise SourceError(f"{path}: {error}") from error


def _normal(path: str) -> str:
    parts: list[str] = []
    for part in path.split("/"):
        if part == ".." and parts:
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)
