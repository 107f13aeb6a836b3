"""How a classifier's numbers become a judgement: which labels are wrong, and what they are called in OpenAI's words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from troth.domain.moderating import Judgement, Looked
from troth.domain.vectors import Values
from troth.policy.guards import OPENAI_CATEGORIES

Activation = Literal["sigmoid", "softmax", "none"]
SAFE = "safe"  # the verdict where no label is


@dataclass(frozen=True, slots=True, kw_only=True)
class Classifier:
    """What the operator says of a classifier; names are those of its options."""

    labels: tuple[str, ...]  # in the order of its numbers
    activation: Activation
    safe_labels: frozenset[str]
    categories: Mapping[str, str]  # label → the client's name, where it is another
    looks: bool = False  # at pictures, and reads no texts

    def judge(self, logits: Values, threshold: float) -> Judgement:
        """The judgement of one text or picture. `logits`: a number for each label.

        With `softmax` one label is true: the likeliest, and its category is wrong unless it is a safe one; other
        categories are from `threshold` on, as without it, where labels have nothing to do with each other.
        """
        likely = dict(zip(self.labels, self._shares(logits), strict=True))
        unsafe = {label: share for label, share in likely.items() if label not in self.safe_labels}
        label = max(likely, key=likely.__getitem__)
        if self.activation == "softmax":
            flagged = label in unsafe
        else:
            worst = max(unsafe, key=unsafe.__getitem__)
            flagged = unsafe[worst] >= threshold
            label = worst if flagged else next(iter(sorted(self.safe_labels)), SAFE)
        categories = self._categories(unsafe)
        wrong = {name for name, share in categories.items() if share >= threshold} if flagged else set()
        if flagged:
            wrong.add(self._name(label))
        return Judgement(
            flagged=flagged,
            label=label,
            labels=likely,
            categories=categories,
            wrong=frozenset(wrong),
            applied=self._applied(categories, unsafe),
        )

    def _shares(self, logits: Values) -> list[float]:
        numbers = logits.astype(np.float64)
        if self.activation == "none":
            within: list[float] = numbers.clip(0.0, 1.0).tolist()
            return within
        if self.activation == "sigmoid":
            halves: list[float] = (0.5 * (1 + np.tanh(0.5 * numbers))).tolist()  # the sigmoid, without an overflow
            return halves
        powers = np.exp(numbers - numbers.max())
        shares: list[float] = (powers / powers.sum()).tolist()
        return shares

    def _name(self, label: str) -> str:
        return self.categories.get(label, label)

    def _applied(self, categories: Iterable[str], unsafe: Iterable[str]) -> dict[str, tuple[Looked, ...]]:
        known = {self._name(label) for label in unsafe}
        looked: Looked = "image" if self.looks else "text"
        return {name: (looked,) if name in known else () for name in categories}

    def _categories(self, unsafe: Mapping[str, float]) -> dict[str, float]:
        """OpenAI's names first, then those that OpenAI has no word for."""
        found = dict.fromkeys(OPENAI_CATEGORIES, 0.0)
        for label, share in unsafe.items():
            name, known = self._name(label), found.get(self._name(label), 0.0)
            found[name] = known + share if self.activation == "softmax" else max(known, share)
        return found
