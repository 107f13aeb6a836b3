"""Scripted stand-ins for what a model file holds, small enough to check by hand."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from troth.domain import TokenIds

CHATML = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)

CONTROLS = ("<s>", "</s>", "<|im_start|>", "<|im_end|>", "<|im_end|>x", "im_end")

# Longer tokens, so that how a text is cut decides how it is tokenised.
MERGES = ("\n\n", "he", "hell", "hello", "user\n", "\nhe", "r\nh", " the", "im_", "|>\n", "<|", "end|>", "\n<")


class ScriptedVocabulary:
    """A byte-level vocabulary: ids 0-255 are bytes, then the merges, then the control tokens.

    Tokenising is greedy: at each byte the longest token wins.
    """

    def __init__(
        self, controls: tuple[str, ...] = CONTROLS, *, chat_template: str | None = CHATML, adds_bos: bool = False
    ) -> None:
        self.control_texts = controls
        self.fill_ids: Mapping[str, int] = {}
        self.chat_template = chat_template
        self.adds_bos = adds_bos
        self.bos_text = "<s>"
        self.eos_text = "<|im_end|>"
        plain = [bytes([byte]) for byte in range(256)] + [text.encode() for text in MERGES]
        self._plain = {piece: token for token, piece in enumerate(plain)}
        self._pieces = plain + [text.encode() for text in controls]
        self.size = len(self._pieces)
        self.control_ids = frozenset(range(len(plain), self.size))
        self.end_ids = frozenset({self.control_id(self.eos_text)})

    def control_id(self, text: str) -> int:
        """The id of a control token."""
        return len(self._plain) + self.control_texts.index(text)

    def tokenize(self, text: str, *, special: bool, bos: bool) -> TokenIds:
        """Token ids of `text`; `special` reads control tokens as tokens, `bos` prepends the BOS."""
        ids = [self.control_id(self.bos_text)] if bos else []
        longest_first = sorted(self.control_texts, key=len, reverse=True)
        parts = re.split("(" + "|".join(map(re.escape, longest_first)) + ")", text) if special else [text]
        for position, part in enumerate(parts):
            ids += [self.control_id(part)] if position % 2 else self._greedy(part.encode())
        return np.array(ids, dtype=np.int32)

    def piece(self, token_id: int) -> bytes:
        """The bytes of one token, control tokens written out."""
        return self._pieces[token_id]

    def spoken(self, token_id: int) -> bytes:
        """The bytes that the token adds to an answer: none for a control token."""
        return b"" if token_id in self.control_ids else self.piece(token_id)

    def text(self, tokens: TokenIds) -> str:
        """The text of many tokens, control tokens written out."""
        return b"".join(self.piece(token) for token in tokens.tolist()).decode()

    def _greedy(self, text: bytes) -> list[int]:
        ids, at, longest = [], 0, max(map(len, self._plain))
        while at < len(text):
            length = next(size for size in range(longest, 0, -1) if text[at : at + size] in self._plain)
            token = self._plain[text[at : at + length]]
            ids.append(token)
            at += len(self._pieces[token])
        return ids
