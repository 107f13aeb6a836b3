"""How a GGUF model writes text as tokens: the `Vocabulary` of the llama_cpp engine."""

from __future__ import annotations

import ctypes
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from troth.domain import TokenIds
from troth.engines.base import FILL_MARKS
from troth.engines.llama_cpp.facts import metadata
from troth.engines.llama_cpp.library import Library
from troth.errors import BadRequest, Unavailable

if TYPE_CHECKING:
    from llguidance import LLTokenizer

INT32_POINTER = ctypes.POINTER(ctypes.c_int32)
CONTROL_BYTE = b"\xff"  # in front of control tokens, for llguidance
RETRY_SECONDS = 1
BPE = 2  # llama_vocab_type
# llama.cpp splits texts into words by a recursive matcher, which a long run of one kind of letters brings down, and the
# process with it. These splitters were tried with runs of 100 000 and more; for all others runs are bounded.
STEADY = frozenset(
    {"smollm", "qwen2", "qwen35", "llama-bpe", "llama3", "gpt-2", "gemma4", "command-r", "starcoder", "falcon", "mpt",
     "refact"}
)  # fmt: skip
RUN_MAX = 10_000  # characters
RUNS = re.compile(r"\s+|[^\W\d_]+|\d+|[^\w\s]+|_+")  # of one kind
PIECE_BYTES = 64  # longer pieces are read a second time with their real size


def has_long_run(text: str) -> bool:
    """True when somewhere more than RUN_MAX characters of one kind follow each other. Time is linear in the text."""
    return len(text) > RUN_MAX and any(run.end() - run.start() > RUN_MAX for run in RUNS.finditer(text))


class LlamaVocabulary:
    """The vocabulary of a loaded model. Safe from any thread: llama.cpp only reads it.

    Once it is closed, whoever uses it gets Unavailable: the model's memory is no longer there.
    """

    def __init__(self, library: Library, model: Any) -> None:
        api = library.api
        self._library = library
        splitter = metadata(api, model, "tokenizer.ggml.pre")
        self._is_steady = api.llama_vocab_type(api.llama_model_get_vocab(model)) != BPE or splitter in STEADY
        self._gate = threading.Condition()
        self._users = 0
        self._is_closed = False
        self._vocab = api.llama_model_get_vocab(model)
        self.size: int = api.llama_vocab_n_tokens(self._vocab)
        self._pieces: list[bytes | None] = [None] * self.size
        self.adds_bos: bool = api.llama_vocab_get_add_bos(self._vocab)
        self.bos_text = self._text_of(api.llama_vocab_bos(self._vocab))
        self.eos_text = self._text_of(api.llama_vocab_eos(self._vocab))
        control = api.LLAMA_TOKEN_ATTR_CONTROL | api.LLAMA_TOKEN_ATTR_UNKNOWN
        vocab = ctypes.c_void_p(self._vocab)
        self.end_ids = frozenset(token for token in range(self.size) if library.vocab_is_eog(vocab, token))
        self._control_ids = frozenset(
            token for token in range(self.size) if library.vocab_get_attr(vocab, token) & control
        )
        self.control_texts = tuple(
            sorted({text for token in self._control_ids if (text := self.piece(token).decode("utf-8", "replace"))})
        )
        spelled = ("pre", "suf", "mid", "rep", "sep")
        marks = (getattr(api, f"llama_vocab_fim_{name}")(self._vocab) for name in spelled)
        found = zip(FILL_MARKS, marks, strict=True)
        self.fill_ids: Mapping[str, int] = {name: token for name, token in found if token >= 0}
        template = api.llama_model_chat_template(model, None)
        self.chat_template: str | None = template.decode("utf-8", "replace") if template else None

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """The model's memory stays for as long as this lasts. Raises Unavailable when it has been given back."""
        with self._gate:
            if self._is_closed:
                raise Unavailable(
                    "The model was unloaded while this request was being prepared.",
                    retry_seconds=RETRY_SECONDS,
                    code="model_unavailable",
                )
            self._users += 1
        try:
            yield
        finally:
            with self._gate:
                self._users -= 1
                self._gate.notify_all()

    def close(self) -> None:
        """Nobody uses the model's memory any more, nor will."""
        with self._gate:
            self._is_closed = True
            self._gate.wait_for(lambda: not self._users)

    def tokenize(self, text: str, *, special: bool, bos: bool) -> TokenIds:
        """Token ids of `text`; `special` reads control tokens as tokens, `bos` prepends the model's BOS."""
        if not self._is_steady and has_long_run(text):
            raise BadRequest(
                f"There is a run of more than {RUN_MAX} letters, digits, blanks or signs, which the tokenizer of this "
                "model cannot split.",
                details={"limit": RUN_MAX},
            )
        with self.in_use():
            return self._tokenize(text.encode("utf-8", "replace"), special=special, bos=bos)

    def _tokenize(self, data: bytes, *, special: bool, bos: bool) -> TokenIds:
        buffer = np.empty(len(data) + 8, dtype=np.int32)
        for _ in range(2):
            written: int = self._library.api.llama_tokenize(
                self._vocab,
                data,
                len(data),
                buffer.ctypes.data_as(INT32_POINTER),
                len(buffer),
                bos,
                special,
            )
            if written >= 0:
                return buffer[:written].copy()
            buffer = np.empty(-written, dtype=np.int32)
        raise AssertionError("llama_tokenize asked twice for more room")

    def piece(self, token_id: int) -> bytes:
        """The bytes of one token, control tokens written out; possibly half a character."""
        known = self._pieces[token_id]
        if known is None:
            with self.in_use():
                known = self._pieces[token_id] = self._read_piece(token_id)
        return known

    def spoken(self, token_id: int) -> bytes:
        """The bytes that the token adds to an answer: none for a control token."""
        return b"" if token_id in self._control_ids else self.piece(token_id)

    def for_grammars(self) -> LLTokenizer:
        """The vocabulary as llguidance reads it; control tokens are no text to it. Takes some 0.3 s."""
        from llguidance import LLTokenizer

        pieces = [self.piece(token) for token in range(self.size)]
        for token in self._control_ids:
            pieces[token] = CONTROL_BYTE + pieces[token]
        tokenize = ctypes.cast(self._library.api._lib.llama_tokenize, ctypes.c_void_p).value
        made: LLTokenizer = LLTokenizer.from_llamacpp(  # type: ignore[attr-defined]
            tokens=pieces,
            vocab_ptr=self._vocab,
            tokenize_fptr=tokenize,
            eos_token=sorted(self.end_ids),
            slices=None,
        )
        return made

    def _read_piece(self, token_id: int) -> bytes:
        vocab = ctypes.c_void_p(self._vocab)
        buffer = ctypes.create_string_buffer(PIECE_BYTES)
        length: int = self._library.token_to_piece(vocab, token_id, buffer, PIECE_BYTES, 0, True)
        if length < 0:
            buffer = ctypes.create_string_buffer(-length)
            length = self._library.token_to_piece(vocab, token_id, buffer, -length, 0, True)
        return buffer.raw[:length]

    def _text_of(self, token_id: int) -> str:
        """The text of a token that the model may not have."""
        return self.piece(token_id).decode("utf-8", "replace") if 0 <= token_id < self.size else ""
