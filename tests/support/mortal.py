"""An engine for children: a scripted decoder that ends its process, or hangs, when it reads a certain letter."""

from __future__ import annotations

import os
import signal
import threading
from dataclasses import dataclass, field
from typing import NoReturn

from tests.support.decoder import LETTERS, LetterVocabulary, ScriptedDecoder
from troth.domain import TokenIds
from troth.engines.base import LoadProgress
from troth.errors import EngineFault

SEGFAULT, ABORT, HANG, UNTIL_CUT = (LETTERS.index(letter) + 1 for letter in "qxzy")
LOOK_SECONDS = 0.001


class StubbornVocabulary(LetterVocabulary):
    """Letters, and one text that takes for ever to tokenise."""

    def tokenize(self, text: str, *, special: bool, bos: bool) -> TokenIds:
        """One token a letter."""
        if text == "for ever":
            hang()
        return super().tokenize(text, special=special, bos=bos)


@dataclass
class MortalEngine:
    """A `Decodes` that pickles. Loading may fail or end the process too."""

    honours: frozenset[str] = field(default=frozenset())
    load_fault: str | None = None
    load_signal: int | None = None
    hangs_at_load: bool = False

    def load(self, progress: LoadProgress) -> ScriptedDecoder:
        """A decoder of always the same letter, so that answers end by their budget alone."""
        progress(0.5)
        if self.load_fault is not None:
            raise EngineFault(self.load_fault)
        if self.load_signal is not None:
            os.kill(os.getpid(), self.load_signal)
        if self.hangs_at_load:
            hang()
        return ScriptedDecoder(before_decode=act, picker=lambda held, seed: 1, vocabulary=StubbornVocabulary())


def act(decoder: ScriptedDecoder) -> None:
    """What the letters of the batch ask for."""
    read = {token for _, tokens, _ in decoder.pending for token in tokens}
    if SEGFAULT in read:
        os.kill(os.getpid(), signal.SIGSEGV)
    if ABORT in read:
        os.abort()
    if HANG in read:
        hang()
    while UNTIL_CUT in read and not decoder.is_interrupted:
        threading.Event().wait(LOOK_SECONDS)


def hang() -> NoReturn:
    """Nothing happens any more."""
    while True:
        threading.Event().wait()
