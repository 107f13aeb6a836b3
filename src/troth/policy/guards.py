"""How families of guard models answer, and what their categories are called in OpenAI's words.

1. Qwen3Guard-Gen: `Safety: Safe | Unsafe | Controversial`, then a line `Categories: NAME`.
2. Llama Guard 3: `safe`, or `unsafe` and a line with the hazard, `S1` to `S14`.

Their chat templates write the whole instruction around a conversation: nothing is added here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

GuardName = Literal["qwen3guard", "llama_guard"]

OPENAI_CATEGORIES = (
    "harassment",
    "harassment/threatening",
    "hate",
    "hate/threatening",
    "illicit",
    "illicit/violent",
    "self-harm",
    "self-harm/instructions",
    "self-harm/intent",
    "sexual",
    "sexual/minors",
    "violence",
    "violence/graphic",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """One family: its answers, and its categories with the names that clients read."""

    labels: Mapping[str, str]  # label → the text that says it
    safe: str  # the label of what is well
    mild: frozenset[str]  # labels that are wrong only where the client is strict
    categories: Mapping[str, str]  # the guard's name → the client's
    category_text: str  # with {name}: the text behind the answer that says what is wrong

    def text_of(self, label: str, category: str) -> str:
        """The whole answer that names this category."""
        return self.labels[label] + self.category_text.format(name=category)

    def names(self) -> tuple[str, ...]:
        """Every category as clients read it: OpenAI's, then those that OpenAI has no word for."""
        own = (name for name in self.categories.values() if name not in OPENAI_CATEGORIES)
        return (*OPENAI_CATEGORIES, *dict.fromkeys(own))


GUARDS: Mapping[GuardName, Guard] = {
    "qwen3guard": Guard(
        labels={label: f"Safety: {label}" for label in ("Safe", "Unsafe", "Controversial")},
        safe="Safe",
        mild=frozenset({"Controversial"}),
        categories={
            "Violent": "violence",
            "Non-violent Illegal Acts": "illicit",
            "Sexual Content or Sexual Acts": "sexual",
            "PII": "pii",
            "Suicide & Self-Harm": "self-harm",
            "Unethical Acts": "unethical",
            "Politically Sensitive Topics": "politics",
            "Copyright Violation": "copyright",
            "Jailbreak": "jailbreak",
        },
        category_text="\nCategories: {name}",
    ),
    "llama_guard": Guard(
        labels={"Safe": "safe", "Unsafe": "unsafe"},
        safe="Safe",
        mild=frozenset(),
        categories={
            "S1": "violence",
            "S2": "illicit",
            "S3": "sexual",
            "S4": "sexual/minors",
            "S5": "defamation",
            "S6": "specialized_advice",
            "S7": "pii",
            "S8": "copyright",
            "S9": "illicit/violent",
            "S10": "hate",
            "S11": "self-harm",
            "S12": "sexual",
            "S13": "elections",
            "S14": "code_abuse",
        },
        category_text="\n{name}",
    ),
}
