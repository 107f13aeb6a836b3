"""What is wrong with a configuration, in words for whoever wrote it."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

KeyPath = tuple[str | int, ...]

_SHOWN_CHARACTERS = 60


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: where it was written (FILE:LINE, --set, a flag), which key, what would be accepted."""

    place: str
    key: str
    message: str

    def __str__(self) -> str:
        return ": ".join(part for part in (self.place, self.key, self.message) if part)


class ConfigFaults(Exception):
    """The configuration cannot be used; `faults` holds every reason, in the order of the file."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        super().__init__("\n".join(str(fault) for fault in faults))
        self.faults = tuple(faults)


def dotted(path: KeyPath) -> str:
    """The path as a person writes it: models.0.options.slots."""
    return ".".join(str(part) for part in path)


def shown(value: Any) -> str:
    """A value from YAML as JSON text, cut to one readable line."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 1] + "…"


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that `name` most likely meant, or None when nothing is close."""
    folded = {option.lower().replace("-", "_"): option for option in known}
    close = difflib.get_close_matches(name.lower().replace("-", "_"), folded, n=1, cutoff=0.6)
    return folded[close[0]] if close else None
