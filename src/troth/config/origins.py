"""Where each effective value came from, and the effective settings as a person reads them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from troth.config.document import Written
from troth.config.faults import KeyPath, dotted
from troth.config.models import SamplingSettings
from troth.config.schema import Config
from troth.domain import Sampling

MASK = "********"


@dataclass(frozen=True, slots=True)
class Setting:
    """One effective setting. `value` is JSON-ready; secrets are masked."""

    key: str
    value: Any
    origin: str


def leaves(holder: BaseModel, path: KeyPath = ()) -> Iterator[tuple[KeyPath, Any, bool]]:
    """Every setting below `holder`: its path, its value, and whether it is secret."""
    for name, info in type(holder).model_fields.items():
        value = getattr(holder, name)
        extra = info.json_schema_extra
        if isinstance(value, BaseModel):
            yield from leaves(value, (*path, name))
        elif isinstance(value, tuple | list) and value and all(isinstance(item, BaseModel) for item in value):
            for index, item in enumerate(value):
                yield from leaves(item, (*path, name, index))
        else:
            yield (*path, name), value, isinstance(extra, dict) and bool(extra.get("secret"))


def origins_of(config: Config, written: Written) -> dict[str, str]:
    """By dotted key: default, FILE:LINE, --set, a flag, or the environment, with the variables used."""
    return {dotted(path): _origin(written, path) for path, _, _ in leaves(config)}


def _origin(written: Written, path: KeyPath) -> str:
    below = [known for known in written.places if known[: len(path)] == path]
    places = [written.places[known] for known in below]
    if not places:
        # A whole entry given at once, as by --set models.0.options={slots: 2}, has one place.
        holder: Any = written.value
        for part in path:
            known = isinstance(holder, dict) and part in holder
            if not known and not (isinstance(holder, list) and isinstance(part, int)):
                return "default"
            holder = holder[part]
        places = [written.place(path)]
    variables = [text for known, text in written.from_environment.items() if known[: len(path)] == path]
    return " ".join(dict.fromkeys([", ".join(_shortest(places)), *variables]))


def _shortest(places: list[str]) -> list[str]:
    """The places without repeats, in order; the lines of one list in one file are told by the first."""
    told: dict[str, str] = {}
    for place in places:
        name, _, line = place.rpartition(":")
        told.setdefault(name if line.isdecimal() else place, place)
    return list(told.values())


def effective(config: Config, origins: Mapping[str, str]) -> list[Setting]:
    """Every setting in force, secrets masked. Unset sampling is shown with the built-in value."""
    built_in = {field.name: field.default for field in dataclasses.fields(Sampling)}
    shown = []
    for path, value, secret in leaves(config):
        key, origin = dotted(path), origins[dotted(path)]
        if value is None and path[-1] in SamplingSettings.model_fields and "sampling" in path[:-1]:
            if path[0] != "sampling":
                continue
            value, origin = built_in.get(str(path[-1])), "default"
        if secret and value:
            value = [MASK] * len(value) if isinstance(value, tuple | list) else MASK
        shown.append(Setting(key, list(value) if isinstance(value, tuple) else value, origin))
    return shown
