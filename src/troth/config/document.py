"""One YAML text becomes plain values, each with the place where it was written.

The text is composed, not loaded: composing keeps line numbers, shows keys that are written twice, and
leaves the reading of scalars to this module, which refuses the number forms that YAML 1.1 would misread.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import yaml

from troth.config.faults import Fault, KeyPath, dotted, shown

Environment = Callable[[str], str | None]

_BRACED = re.compile(r"\$\$\{|\$\{([^}]*)\}?")
_ENV_NAME = re.compile(r"env:([A-Za-z_][A-Za-z0-9_]*)")
_TAG = "tag:yaml.org,2002:"


class _Loader(yaml.SafeLoader):
    """YAML 1.1, except that 1e-3 is a number (1.1 wants 1.0e-3 and reads the other as text)."""


_Loader.add_implicit_resolver(
    f"{_TAG}float", re.compile(r"^[-+]?[0-9]+(?:\.[0-9]*)?[eE][-+]?[0-9]+$"), list("-+0123456789")
)


@dataclass(slots=True)
class Written:
    """Plain JSON-like values and, by key path, where they come from. The loader's working copy."""

    name: str  # of the file, as the operator wrote it; empty without a file
    value: dict[str, Any] = field(default_factory=dict)
    places: dict[KeyPath, str] = field(default_factory=dict)
    bare: dict[KeyPath, str] = field(default_factory=dict)  # the source of unquoted scalars that are no text
    from_environment: dict[KeyPath, str] = field(default_factory=dict)  # the variables used
    unquoted_variables: set[KeyPath] = field(default_factory=set)  # the whole scalar is one bare ${env:NAME}
    unreadable: set[KeyPath] = field(default_factory=set)  # already named in a fault
    faults: list[Fault] = field(default_factory=list)

    def place(self, path: KeyPath) -> str:
        """Where `path`, or the nearest thing that holds it, was written; the file's name if nothing was."""
        for end in range(len(path), 0, -1):
            if path[:end] in self.places:
                return self.places[path[:end]]
        return self.name

    def fault(self, path: KeyPath, message: str) -> None:
        """One more fault at `path`."""
        self.faults.append(Fault(self.place(path), dotted(path), message))

    def forget(self, path: KeyPath) -> None:
        """Nothing is known any more about `path` and what is in it: a new value takes its place."""
        for known in (self.places, self.bare, self.from_environment):
            for old in [old for old in known if old[: len(path)] == path]:
                del known[old]
        for marks in (self.unquoted_variables, self.unreadable):
            marks.difference_update([old for old in marks if old[: len(path)] == path])


@dataclass(slots=True)
class _Reader:
    written: Written
    environment: Environment
    place: Callable[[yaml.Node], str]
    open_nodes: set[int] = field(default_factory=set)

    def read(self, node: yaml.Node, path: KeyPath) -> Any:  # any JSON value
        if isinstance(node, yaml.ScalarNode):
            return self.scalar(node, path)
        if id(node) in self.open_nodes:
            self.unreadable(path, "an alias may not hold itself")
            return None
        self.open_nodes.add(id(node))
        try:
            if isinstance(node, yaml.MappingNode) and node.tag == f"{_TAG}map":
                return self.mapping(node, path)
            if isinstance(node, yaml.SequenceNode) and node.tag == f"{_TAG}seq":
                return self.sequence(node, path)
        finally:
            self.open_nodes.discard(id(node))
        self.unreadable(path, f"the tag {node.tag.removeprefix(_TAG)} is not used here")
        return None

    def mapping(self, node: yaml.MappingNode, path: KeyPath) -> dict[str, Any]:
        entries: dict[str, Any] = {}
        lines: dict[str, str] = {}
        for key_node, value_node in node.value:
            place = self.place(key_node)
            if not isinstance(key_node, yaml.ScalarNode):
                self.written.faults.append(Fault(place, dotted(path), "a key must be one word"))
                continue
            # The word as written: YAML 1.1 would read a key such as `on` as true.
            key = str(key_node.value)
            child = (*path, key)
            if key_node.tag == f"{_TAG}merge":
                message = "merge keys (<<) are not supported; write the keys out"
                self.written.faults.append(Fault(place, dotted(child), message))
                continue
            if key in entries:
                message = f"the key is written twice; the first is at {lines[key]}"
                self.written.faults.append(Fault(place, dotted(child), message))
                continue
            self.written.places[child] = lines[key] = place
            entries[key] = self.read(value_node, child)
        return entries

    def sequence(self, node: yaml.SequenceNode, path: KeyPath) -> list[Any]:
        items = []
        for index, item in enumerate(node.value):
            child = (*path, index)
            self.written.places[child] = self.place(item)
            items.append(self.read(item, child))
        return items

    def scalar(self, node: yaml.ScalarNode, path: KeyPath) -> str | float | bool | None:
        text = str(node.value)
        tag = node.tag.removeprefix(_TAG)
        if tag not in ("null", "bool", "int", "float"):
            # Dates and the like stay the text they are: no setting is a date.
            return self.text(text, path, bare=node.style is None)
        self.written.bare[path] = text
        if tag == "null":
            return None
        if tag == "bool":
            return text.lower() in ("yes", "true", "on")
        try:
            return _integer(text) if tag == "int" else _real(text)
        except ValueError:
            self.unreadable(
                path,
                f"YAML reads the bare word {shown(text)} as an octal or base-60 number: "
                "put it in quotes, or write a decimal number",
            )
            return None

    def text(self, text: str, path: KeyPath, *, bare: bool) -> str:
        names: list[str] = []

        def replaced(match: re.Match[str]) -> str:
            if match[0] == "$${":
                return "${"
            name = _ENV_NAME.fullmatch(match[1]) if match[0].endswith("}") else None
            if name is None:
                self.unreadable(path, f"expected ${{env:NAME}}, got {shown(match[0])} (a literal ${{ is written $${{)")
                return ""
            value = self.environment(name[1])
            if value is None:
                self.unreadable(path, f"the environment variable {name[1]} is not set")
                return ""
            names.append(name[1])
            return value

        result = _BRACED.sub(replaced, text)
        if names:
            self.written.from_environment[path] = ", ".join(f"${{env:{name}}}" for name in names)
            if bare and text == f"${{env:{names[0]}}}":
                self.written.unquoted_variables.add(path)
        return result

    def unreadable(self, path: KeyPath, message: str) -> None:
        self.written.unreadable.add(path)
        self.written.fault(path, message)


def _integer(text: str) -> int:
    return int(text, 0)


def _real(text: str) -> float:
    return float(text.lower().replace("_", "").replace(".inf", "inf").replace(".nan", "nan"))


def read_document(text: str | bytes, name: str, environment: Environment) -> Written:
    """The file's values, places and faults. An empty file is an empty configuration."""
    written = Written(name)
    try:
        node = yaml.compose(text, Loader=_Loader)
        if node is not None:
            reader = _Reader(written, environment, lambda at: f"{name}:{at.start_mark.line + 1}")
            value = reader.read(node, ())
            if isinstance(value, dict):
                written.value = value
            elif value is not None:
                written.faults.append(Fault(f"{name}:1", "", f"expected a mapping of sections, got {shown(value)}"))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        written.faults.append(Fault(f"{name}:{mark.line + 1}" if mark else name, "", _yaml_words(error)))
    except (yaml.YAMLError, UnicodeError) as error:
        written.faults.append(Fault(name, "", f"this is not YAML text: {' '.join(str(error).split())}"))
    except RecursionError:
        written.faults.append(Fault(name, "", "this is nested too deeply"))
    return written


def _yaml_words(error: yaml.MarkedYAMLError) -> str:
    words = f"this is not valid YAML: {error.problem}" + (f" ({error.context})" if error.context else "")
    return f"{words}; indent with spaces" if "\\t" in words else words


def put(written: Written, assignment: str, place: str, environment: Environment) -> None:
    """`key.path=value` is in `written`, its value read as YAML. A bad assignment becomes a fault."""
    key, equals, text = assignment.partition("=")
    parts = key.strip().split(".")
    if not equals or not all(parts):
        written.faults.append(Fault(place, "", f"expected key.path=value, got {shown(assignment)}"))
        return
    try:
        node = yaml.compose(text, Loader=_Loader)
    except (yaml.YAMLError, RecursionError) as error:
        problem = error.problem if isinstance(error, yaml.MarkedYAMLError) else str(error)
        written.faults.append(Fault(place, key, f"{shown(text)} is not valid YAML: {problem}"))
        return
    path = place_for(written, tuple(parts), place)
    if path is not None:
        reader = _Reader(written, environment, lambda _: place)
        store(written, path, reader.read(node, path) if node is not None else None)


def place_for(written: Written, parts: tuple[str, ...], place: str) -> KeyPath | None:
    """The key path of `parts`, with everything around it made; None, and a fault, where it cannot be."""
    holder: Any = written.value
    path: KeyPath = ()
    for depth, part in enumerate(parts):
        key: str | int = part
        if isinstance(holder, list):
            if not part.isdecimal() or int(part) > len(holder):
                words = f"expected an index from 0 to {len(holder)} (the last adds an entry), got {shown(part)}"
                written.faults.append(Fault(place, ".".join(parts), f"{dotted(path)} is a list: {words}"))
                return None
            key = int(part)
        elif not isinstance(holder, dict):
            words = f"{dotted(path)} is {shown(holder)} and has no keys"
            written.faults.append(Fault(place, ".".join(parts), words))
            return None
        path = (*path, key)
        if depth == len(parts) - 1:
            break
        holder = _opened(written, holder, path, place, is_list=parts[depth + 1].isdecimal())
    written.forget(path)
    written.places[path] = place
    return path


def _opened(written: Written, holder: Any, path: KeyPath, place: str, *, is_list: bool) -> Any:  # any JSON value
    key = path[-1]
    made: Any = [] if is_list else {}
    if isinstance(holder, list):
        if key == len(holder):
            holder.append(made)
            written.places[path] = place
    elif holder.get(key) is None:
        holder[key] = made
        written.places.setdefault(path, place)
    return holder[key]


def store(written: Written, path: KeyPath, value: Any) -> None:  # any JSON value
    """`value` is at `path`, whose holders exist (`place_for` made them)."""
    holder: Any = written.value
    for part in path[:-1]:
        holder = holder[part]
    if isinstance(holder, list) and path[-1] == len(holder):
        holder.append(value)
    else:
        holder[path[-1]] = value
