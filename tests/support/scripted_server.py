"""Troth's own command with one engine more: `scripted`, whose answers are written down beforehand.

    python -m tests.support.scripted_server serve --config troth.yaml

Everything but the decoder is the real thing, the vocabulary of the model file included. The k-th answer that begins
speaks the k-th line of `options.script`, a file of JSON lines. A line is a text, or a list of texts and of

    {"wait": SECONDS}   nothing is computed for so long; before the first text the prompt takes so long to read
    {"fault": WORDS}    the batch cannot be computed

What is asked beyond the script is answered with EXHAUSTED. A file that was replaced is begun at its top. The prompt of
each answer is added to the file beside the script whose name ends in `.prompts`, as a line of JSON.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
from pydantic import BaseModel, Field

from troth import cli
from troth.domain import Adapters, Embeddings, Sampling, Steering, TokenIds, TokenLogprob
from troth.engines import registry
from troth.engines.base import DecodeFault, DecodeInterrupted, LoadProgress, Proposer, Sampler, State, Vocabulary
from troth.engines.guidance import Guide, Guides
from troth.engines.llama_cpp import HONOURS, LlamaCppOptions
from troth.engines.llama_cpp.facts import describe_model
from troth.engines.llama_cpp.library import library
from troth.engines.llama_cpp.vocabulary import LlamaVocabulary
from troth.engines.sight import Looked, LookedPart, Sees

EXHAUSTED = "The script is over."
FILL_TEXTS = {"prefix": "<issue_start>", "suffix": "<issue_comment>", "middle": "<issue_closed>"}  # of SmolLM2

Part = str | Mapping[str, Any]


class ScriptedOptions(LlamaCppOptions):
    """The options of a model that speaks a script."""

    script: str = Field(description="Path of the file with the answers, one a line.")
    fills: bool = Field(False, description="The model can fill gaps.")
    sees: bool = Field(False, description="The model reads pictures: it notes how large they are.")
    draft_tokens_max: int = Field(0, ge=0, le=0, description="There is nothing to guess.")


class Script:
    """The answers of a file, one after the other."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._identity = (0, 0)
        self._lines: list[list[Part]] = []

    @property
    def is_new(self) -> bool:
        """True when there is another file than the one that is being read."""
        return self._identity != self._seen()

    def next(self) -> list[Part]:
        """The parts of the next answer."""
        if self.is_new:
            self._identity = self._seen()
            lines = [json.loads(line) for line in self._path.read_text("utf-8").splitlines()]
            self._lines = [line if isinstance(line, list) else [line] for line in lines]
        return self._lines.pop(0) if self._lines else [EXHAUSTED]

    def note(self, prompt: str) -> None:
        """The prompt is on record."""
        with self._path.with_suffix(".prompts").open("a", encoding="utf-8") as record:
            record.write(json.dumps(prompt) + "\n")

    def _seen(self) -> tuple[int, int]:
        known = self._path.stat()
        return known.st_ino, known.st_mtime_ns


class Line:
    """One answer as it is spoken: the sampler of its sequence."""

    guide: Guide | None = None

    def __init__(self, parts: Sequence[Part], vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._left: list[int | Mapping[str, Any]] = []  # tokens to say, and what happens between them
        for part in parts:
            self._left += self._tokens(part) if isinstance(part, str) else [part]
        self.is_closed = False

    def pending(self) -> Mapping[str, Any] | None:
        """What happens before the next token, each thing once."""
        if not self._left or isinstance(self._left[0], int):
            return None
        happening = self._left.pop(0)
        assert not isinstance(happening, int)
        return happening

    def speak(self) -> int:
        """The next token, unless the guide forces another one. Raises DecodeFault when the guide rules it out."""
        token = self._left[0] if self._left else min(self._vocabulary.end_ids)
        assert isinstance(token, int)
        if self.guide is not None:
            token = self._held(token, self.guide)
            self.guide.took(token)
        if self._left and self._left[0] == token:
            self._left.pop(0)
        return token

    def _held(self, token: int, guide: Guide) -> int:
        """The token, or another one that the guide wants in its place. What is left then says the same behind it."""
        forced = guide.forced()
        if forced is None and guide.accepts(token):
            return token
        count = next((at for at, each in enumerate(self._left) if not isinstance(each, int)), len(self._left))
        said = b"".join(self._vocabulary.piece(each) for each in self._left[:count] if isinstance(each, int))
        wanted = [forced] if forced is not None else np.flatnonzero(guide.allowed()).tolist()
        pieces = {each: self._vocabulary.piece(each) for each in wanted}
        fitting = [each for each, piece in pieces.items() if piece and said.startswith(piece)]
        if fitting:
            token = max(fitting, key=lambda each: len(pieces[each]))
            self._left[:count] = [token, *self._tokens(said[len(pieces[token]) :].decode("utf-8", "replace"))]
            return token
        if forced is not None:
            return forced
        raise DecodeFault(
            f"the script says {said!r}, where the request's form wants one of {list(pieces.values())[:9]}"
        )

    def _tokens(self, text: str) -> list[int]:
        tokens: list[int] = self._vocabulary.tokenize(text, special=True, bos=False).tolist()
        return tokens

    def close(self) -> None:
        """The answer is over."""
        self.is_closed = True


class ScriptedSight:
    """See `Sees` in `engines/base.py`. In the prompt on record stands `[picture of WIDTH x HEIGHT]`."""

    vision, audio, audio_rate = True, False, 0
    digest = b"scripted"

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary

    def look(self, content: np.ndarray[Any, Any]) -> Looked:
        """Some words, and four embeddings."""
        height, width, _ = content.shape
        words = self._vocabulary.tokenize(f"[picture of {width} x {height}]", special=False, bos=False)
        return Looked((LookedPart(words, len(words)), LookedPart(None, 4)), None)

    def encode(self, looked: Looked) -> list[Embeddings]:
        """Nothing."""
        return [np.zeros((4, 1), np.float32)]


class ScriptedDecoder:
    """See `Decoder` in `engines/base.py`. A slot's memory is the tokens that it was given."""

    can_cut = True
    proposer: Proposer | None = None
    state_key = "scripted"

    def __init__(self, path: Path, options: ScriptedOptions) -> None:
        self._library = library(exact=False)
        api = self._library.api
        params = api.llama_model_default_params()
        params.vocab_only = True
        self._model = api.llama_model_load_from_file(str(path).encode(), params)
        self.slots, self.batch_tokens = options.slots, options.batch_tokens
        self.context_tokens = options.context_tokens or 131_072
        vocabulary = LlamaVocabulary(self._library, self._model)
        if options.fills:
            ids = {name: vocabulary.tokenize(text, special=True, bos=False) for name, text in FILL_TEXTS.items()}
            vocabulary.fill_ids = {name: int(found[0]) for name, found in ids.items()}
        self.vocabulary: Vocabulary = vocabulary
        self.grammars = Guides(vocabulary.for_grammars(), vocabulary.size)
        self.sight: Sees | None = ScriptedSight(vocabulary) if options.sees else None
        self._facts = describe_model(self._library, self._model, path, options)
        self._script = Script(Path(options.script))
        self._waiting: Line | None = None  # what the next sequence will speak, once that is looked at
        self._lines: list[Line] = []  # that speak
        self._memory: list[list[int]] = [[] for _ in range(self.slots)]
        self._pending: list[tuple[int, list[int], int]] = []
        self._interrupted = threading.Event()
        self._resumes_at = 0.0  # of the monotonic clock: nothing is computed before

    def _upcoming(self) -> Line:
        if self._waiting is None or self._script.is_new:
            self._waiting = Line(self._script.next(), self.vocabulary)
        return self._waiting

    # ---- batches --------------------------------------------------------------------------------

    def begin(self) -> None:
        """The batch is empty."""
        self._pending = []

    def add(self, slot: int, tokens: TokenIds | Sequence[int], position: int, *, rows: int) -> int:
        """`tokens` follow at `position`; the last `rows` of them get rows. Returns the first of these, or -1."""
        assert position == len(self._memory[slot]), f"slot {slot} holds {len(self._memory[slot])}, not {position}"
        self._pending.append((slot, [int(token) for token in tokens], rows))
        return sum(each[2] for each in self._pending) - rows if rows else -1

    def add_seen(self, slot: int, embeddings: Embeddings, position: int, *, rows: int, is_whole: bool) -> int:
        """As many tokens that are none."""
        return self.add(slot, [-1] * len(embeddings), position, rows=rows)

    def decode(self) -> None:
        """The tokens are held. What the script has before the next token of anybody in the batch happens first."""
        speaking = sum(1 for _, _, rows in self._pending if rows)
        self._lines = [line for line in self._lines if not line.is_closed]
        begins = speaking > len(self._lines)
        for line in [*self._lines, *([self._upcoming()] if begins else [])]:
            while (happening := line.pending()) is not None:
                if "fault" in happening:
                    self._waiting = None if line is self._waiting else self._waiting
                    raise DecodeFault(happening["fault"])
                self._resumes_at = max(self._resumes_at, time.monotonic() + happening["wait"])
        if self._interrupted.wait(max(0.0, self._resumes_at - time.monotonic())):
            self._interrupted.clear()
            self._resumes_at = 0.0  # whoever it was waited for has gone
            raise DecodeInterrupted
        for slot, tokens, _ in self._pending:
            self._memory[slot].extend(tokens)

    def interrupt(self) -> None:
        """A running or the next `decode` is cut short. Called from any thread."""
        self._interrupted.set()

    def sampler(
        self,
        sampling: Sampling,
        *,
        seed: int,
        prompt: TokenIds,
        bias: Mapping[int, float],
        steering: Steering | None = None,
        tells: bool = False,
    ) -> Sampler:
        """The next line of the script, held by what the request asks for."""
        line, self._waiting = self._upcoming(), None
        self._script.note(b"".join(self.vocabulary.piece(int(token)) for token in prompt).decode("utf-8", "replace"))
        line.guide = self.grammars.guide(steering) if steering is not None else None
        self._lines.append(line)
        return line

    def pick(self, picks: Sequence[tuple[Sampler, int]]) -> list[int]:
        """One token of each line."""
        return [cast(Line, sampler).speak() for sampler, _ in picks]

    def logprobs(self, row: int, token_id: int, alternatives: int) -> tuple[TokenLogprob, tuple[TokenLogprob, ...]]:
        """Certainty."""
        entry = TokenLogprob(token_id, self.vocabulary.piece(token_id), 0.0)
        return entry, (entry,) * alternatives

    def drawn(
        self, sampler: Sampler, token_id: int, alternatives: int
    ) -> tuple[TokenLogprob, tuple[TokenLogprob, ...]]:
        """Certainty, and nothing else."""
        return self.logprobs(0, token_id, min(alternatives, 1))

    # ---- memory ---------------------------------------------------------------------------------

    def forget(self, slot: int, position: int) -> None:
        """The slot's sequence ends before `position`."""
        del self._memory[slot][position:]

    def save(self, slot: int) -> State:
        """The tokens are the state."""
        return np.array(self._memory[slot], np.int32).view(np.uint8)

    def restore(self, slot: int, state: State, tokens: int) -> None:
        """The empty slot holds the first `tokens` tokens of the state."""
        self._memory[slot] = state.view(np.int32)[:tokens].tolist()

    def adapt(self, adapters: Adapters) -> None:
        """There are none."""

    def describe(self) -> Mapping[str, Any]:
        """The facts of the model file."""
        return self._facts

    def close(self) -> None:
        """The vocabulary is given back."""
        self._library.api.llama_model_free(self._model)


class ScriptedEngine:
    """A `Decodes` for one script."""

    honours = HONOURS

    def __init__(self, path: Path, options: ScriptedOptions) -> None:
        self._path, self._options = path, options

    def load(self, progress: LoadProgress) -> ScriptedDecoder:
        """The decoder; only the vocabulary is loaded."""
        return ScriptedDecoder(self._path, self._options)


def _create(path: Path, options: BaseModel, beside: registry.Beside) -> ScriptedEngine:
    return ScriptedEngine(path, cast(ScriptedOptions, options))


if __name__ == "__main__":
    registry.REGISTRY["scripted"] = (
        registry.Registration(("chat",), lambda: ScriptedOptions, lambda options: HONOURS, _create),
    )
    sys.exit(cli.main())
