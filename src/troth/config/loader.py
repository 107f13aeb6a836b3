"""The one way to a `Config`: read, lay the layers over each other, judge everything, then build.

Precedence: default < environment (hub.* only) < file < --set < flags. Nothing is built while any fault
stands, and all faults are reported at once.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, ValidationError

from troth.config.checks import Known, check, entries
from troth.config.document import Written, place_for, put, read_document, store
from troth.config.faults import ConfigFaults, Fault, KeyPath, nearest, shown
from troth.config.models import DEFAULT_MODEL_ID, DEFAULT_SOURCE, ModelSettings
from troth.config.origins import origins_of
from troth.config.schema import Config, HubSettings
from troth.config.words import Shape
from troth.engines.registry import Isolating

EngineOptions = Callable[[str, str], type[BaseModel]]  # of an engine's name and a kind of model


@dataclass(frozen=True, slots=True)
class Loaded:
    """A configuration without faults, and by dotted key where each value came from."""

    config: Config
    origins: Mapping[str, str]
    folder: Path  # relative paths in the configuration start here


class _Unit(NamedTuple):
    """One class that judges one part of the document."""

    model: type[BaseModel]
    path: KeyPath
    shape: Shape


@dataclass(slots=True)
class _Judge:
    written: Written
    units: list[_Unit]
    built: dict[KeyPath, BaseModel] = field(default_factory=dict)

    def judge(self) -> None:
        """Each unit without a fault is in `built`; the others' faults are in `written.faults`."""
        for unit in self.units:
            value = _at(self.written.value, unit.path)
            if not unit.path:
                value = _without_options(value)
            try:
                self.built[unit.path] = unit.model.model_validate_json(json.dumps(value))
            except ValidationError as error:
                self._explain(unit, value, error)

    def _explain(self, unit: _Unit, value: Any, error: ValidationError) -> None:
        told: set[KeyPath] = set()
        for detail in error.errors(include_url=False, include_context=True):
            kind = detail["type"]
            # A location goes on with pydantic's names for union members, which are no keys of the document.
            here = _kept(value, detail["loc"], beyond=1 if kind == "missing" else 0)
            path = (*unit.path, *here)
            if path in told or any(path[:end] in self.written.unreadable for end in range(1, len(path) + 1)):
                continue
            told.add(path)
            if kind == "too_short" and len(_at(value, here)) >= unit.shape.at(here).node.get("minItems", 0):
                continue  # pydantic counts only the items that are right; those that are not have their own faults
            self.written.fault(path, self._words(unit, here, detail["msg"], kind))

    def _words(self, unit: _Unit, here: KeyPath, message: str, kind: str) -> str:
        shape = unit.shape
        if kind == "extra_forbidden":
            names = shape.at(here[:-1]).names
            close = nearest(str(here[-1]), names)
            hint = f"did you mean {close}? " if close else ""
            return f"unknown key; {hint}Accepted here: {', '.join(names) or 'nothing'}"
        at = shape.at(here)
        if kind == "missing":
            help_text = at.node.get("description", "")
            return f"is required: {help_text[:1].lower()}{help_text[1:]}".rstrip(": ")
        if kind in ("value_error", "assertion_error"):
            return message.partition(", ")[2] or message
        return f"expected {at.words}, got {self._got(unit, here)}"

    def _got(self, unit: _Unit, here: KeyPath) -> str:
        path = (*unit.path, *here)
        value = _at(self.written.value, path)
        if unit.shape.secret_at(here):
            return f"{_kind_of(value)} (not shown)"
        at = unit.shape.at(here)
        bare = self.written.bare.get(path)
        if bare and not isinstance(value, str) and at.may_mean(bare):
            return f"{shown(value)} (YAML reads the bare word {bare} so: put it in quotes for text)"
        close = at.meant(value)
        return shown(value) + (f"; did you mean {shown(close)}?" if close else "")


def load(
    path: Path | None,
    *,
    sets: Sequence[str] = (),
    flags: Mapping[str, object] | None = None,
    engine_options: EngineOptions,
    engine_names: tuple[str, ...],
    guardable: frozenset[str],
    call_formats: tuple[str, ...] = (),
    isolating: Isolating | None = None,
    engine_kinds: Mapping[str, tuple[str, ...]] | None = None,
) -> Loaded:
    """The effective configuration, from defaults, the file, `--set` texts and flags by dotted key.

    Raises: ConfigFaults with every fault.
    """
    written = _read(path)
    _lay_over(written, sets, flags or {})
    _fill_in(written)

    kinds = engine_kinds or {}
    units = _units(written, engine_options, engine_names, kinds)
    _retype(written, units)
    folder = path.parent.resolve() if path is not None else Path.cwd()
    check(
        written, Known(engine_names, guardable, (folder, Path.cwd()), call_formats, isolating or {}, engine_kinds or {})
    )
    judge = _Judge(written, units)
    judge.judge()

    if written.faults:
        raise ConfigFaults(_in_order(written))
    config = _assemble(judge.built)
    return Loaded(config, origins_of(config, written), folder)


def _read(path: Path | None) -> Written:
    if path is None:
        return Written("")
    try:
        content = path.read_bytes()
    except OSError as error:
        reason = error.strerror or str(error)
        raise ConfigFaults([Fault(str(path), "", f"cannot read the configuration: {reason}")]) from error
    return read_document(content, str(path), os.environ.get)


def _lay_over(written: Written, sets: Sequence[str], flags: Mapping[str, object]) -> None:
    hub = Shape.of(HubSettings)
    section = written.value.get("hub")
    for name in hub.names if isinstance(section, dict | None) else ():
        variable = hub.child(name).node.get("environment")
        value = os.environ.get(variable, "") if variable else ""
        if value and not (section and name in section):
            _put_value(written, ("hub", name), value, f"environment {variable}")
    if (sets or flags) and written.value.get("models") is None:
        _put_default_models(written)
    for assignment in sets:
        put(written, assignment, "--set", os.environ.get)
    for key, flag_value in flags.items():
        _put_value(written, tuple(key.split(".")), flag_value, f"--{key.rpartition('.')[2]}")


def _put_value(written: Written, parts: tuple[str, ...], value: object, place: str) -> None:
    path = place_for(written, parts, place)
    if path is not None:
        store(written, path, value)


def _put_default_models(written: Written) -> None:
    written.value["models"] = [{"id": DEFAULT_MODEL_ID, "source": DEFAULT_SOURCE}]
    written.forget(("models",))
    written.places[("models",)] = "default"


def _fill_in(written: Written) -> None:
    """Sections left empty, as when all their keys are commented out, have their defaults."""
    for name in [name for name, value in written.value.items() if value is None and name in Config.model_fields]:
        del written.value[name]
    if "models" not in written.value:
        _put_default_models(written)
    for _, entry in entries(written):
        if entry.get("sampling", 0) is None:
            del entry["sampling"]
        if entry.get("options") is None:
            entry["options"] = {}


def _units(
    written: Written,
    engine_options: EngineOptions,
    engine_names: tuple[str, ...],
    engine_kinds: Mapping[str, tuple[str, ...]],
) -> list[_Unit]:
    units = [_Unit(Config, (), Shape.of(Config))]
    for index, entry in entries(written):
        engine = entry.get("engine", ModelSettings.model_fields["engine"].default)
        kind = entry.get("kind", ModelSettings.model_fields["kind"].default)
        if engine in engine_names and kind in engine_kinds.get(engine, (kind,)):
            model = engine_options(engine, kind)
            units.append(_Unit(model, ("models", index, "options"), Shape.of(model)))
    return units


def _retype(written: Written, units: Sequence[_Unit]) -> None:
    """A bare ${env:PORT} where no text is accepted is read as YAML would read its value."""
    for path in sorted(written.unquoted_variables, key=str):
        unit = max((unit for unit in units if path[: len(unit.path)] == unit.path), key=lambda unit: len(unit.path))
        shape = unit.shape.at(path[len(unit.path) :])
        if shape.is_plain and not shape.takes_text:
            scalar = read_document(f"value: {_at(written.value, path)}", "", lambda _: None)
            if not scalar.faults and "value" in scalar.value:
                store(written, path, scalar.value["value"])


def _at(value: Any, path: KeyPath) -> Any:  # any JSON value
    for part in path:
        value = value[part]
    return value


def _without_options(value: Mapping[str, Any]) -> dict[str, Any]:
    models = value["models"]
    if not isinstance(models, list):
        return dict(value)
    kept = [{**entry, "options": {}} if isinstance(entry, dict) else entry for entry in models]
    return {**value, "models": kept}


def _kept(value: Any, location: tuple[int | str, ...], *, beyond: int) -> KeyPath:
    """The part of a pydantic location that leads through the document, plus `beyond` missing keys."""
    for depth, part in enumerate(location):
        inside = (isinstance(value, dict) and part in value) or (
            isinstance(value, list) and isinstance(part, int) and part < len(value)
        )
        if not inside:
            return location[: depth + beyond]
        value = value[part]
    return location


def _kind_of(value: Any) -> str:
    if value is None or value == "":
        return "nothing"
    kinds = {bool: "a truth value", int: "a number", float: "a number", str: "other text", list: "a list"}
    return kinds.get(type(value), "a mapping")


def _in_order(written: Written) -> list[Fault]:
    def rank(fault: Fault) -> tuple[bool, int]:
        name, _, line = fault.place.rpartition(":")
        in_file = bool(written.name) and name == written.name and line.isdecimal()
        return not in_file, int(line) if in_file else 0

    return sorted(dict.fromkeys(written.faults), key=rank)


def _assemble(built: Mapping[KeyPath, BaseModel]) -> Config:
    config = built[()]
    assert isinstance(config, Config)
    models = tuple(
        entry.model_copy(update={"options": built["models", index, "options"]})
        for index, entry in enumerate(config.models)
    )
    return config.model_copy(update={"models": models})
