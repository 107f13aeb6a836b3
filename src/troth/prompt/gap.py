"""Filling a gap in a text: the prompt that llama-server's /infill makes (README, POST /infill).

    [BOS] [REPOSITORY name, then for each other text: FILE name, text, and FILE of this one] PREFIX … SUFFIX … MIDDLE

Long texts are cut as llama-server cuts them: the prefix keeps its end, the suffix its beginning, and the other
texts their ends in what the context leaves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from troth.domain import Gap, TokenIds
from troth.engines.base import Vocabulary
from troth.errors import NotImplementedHere
from troth.prompt.raw import Written, tokens_of

REPOSITORY = "myproject\n"
THIS_FILE = "filename\n"
SNIPPET = "\n\n--- snippet ---\n\n"
NEEDED = ("prefix", "suffix", "middle")
CONTEXT_SHARE = 0.5  # of the context that prefix and suffix may take at most; the answer needs room too


@dataclass(frozen=True, slots=True)
class GapTokens:
    """How much of the text around a gap is read."""

    around: int = 512  # three parts before the gap, one after it


def gap_to_fill(gap: Gap, model_id: str, vocabulary: Vocabulary, context_tokens: int, limits: GapTokens) -> Written:
    """The prompt that asks for the text in the gap.

    Raises: NotImplementedHere naming the tokens that the model lacks, BadRequest for ids that it lacks.
    """
    marks = vocabulary.fill_ids
    missing = [name for name in NEEDED if name not in marks]
    if missing:
        named = " ".join(f"{name} token is missing." for name in missing)
        raise NotImplementedHere(f"Infill is not supported by the model {model_id}: {named}")
    around = min(limits.around, int(context_tokens * CONTEXT_SHARE))
    prefix = _joined(tokens_of(gap.prefix, vocabulary, "input_prefix", bos=False))
    suffix = _joined(tokens_of(gap.suffix, vocabulary, "input_suffix", bos=False))
    prefix = prefix[max(0, len(prefix) - around * 3 // 4) :]
    suffix = suffix[: max(0, around // 4)]
    hole = [_ids(marks["prefix"]), prefix, _ids(marks["suffix"]), suffix, _ids(marks["middle"])]
    room = context_tokens // 2 - sum(map(len, hole))
    extra = _joined(_extra(gap, vocabulary)) if gap.extra and room > 0 else np.empty(0, np.int32)
    bos = vocabulary.tokenize("", special=False, bos=True) if vocabulary.adds_bos else np.empty(0, np.int32)
    tokens = _joined([bos, extra[max(0, len(extra) - room) :], *hole])
    text = b"".join(vocabulary.piece(int(token)) for token in tokens).decode("utf-8", "replace")
    return Written(tokens, text)


def _extra(gap: Gap, vocabulary: Vocabulary) -> list[TokenIds]:
    marks = vocabulary.fill_ids
    parts: list[TokenIds] = []
    if "repository" in marks:
        parts += [_ids(marks["repository"]), _plain(REPOSITORY, vocabulary)]
    for name, text in gap.extra:
        if "separator" in marks:
            parts += [_ids(marks["separator"]), _plain(f"{name}\n", vocabulary)]
        else:
            parts.append(_plain(SNIPPET, vocabulary))
        parts.append(_plain(text, vocabulary))
    if "separator" in marks:
        parts += [_ids(marks["separator"]), _plain(THIS_FILE, vocabulary)]
    return parts


def _plain(text: str, vocabulary: Vocabulary) -> TokenIds:
    return vocabulary.tokenize(text, special=False, bos=False)


def _ids(*tokens: int) -> TokenIds:
    return np.array(tokens, dtype=np.int32)


def _joined(arrays: list[TokenIds]) -> TokenIds:
    return np.concatenate(arrays) if arrays else np.empty(0, np.int32)
