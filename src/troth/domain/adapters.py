"""With what a model is computed besides its own weights."""

from __future__ import annotations

import json
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Adapters:
    """What a model is computed with besides its weights: the scales of LoRA adapters by their ids, without
    those that are 0, and whether its control vector is added."""

    loras: tuple[tuple[int, float], ...] = ()
    control: bool = False

    @property
    def key(self) -> str:
        """Another text for each combination, "" for none: states that one leaves are good for no other."""
        return "" if self == NO_ADAPTERS else json.dumps([self.loras, self.control])


NO_ADAPTERS = Adapters()
