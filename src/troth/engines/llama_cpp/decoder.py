"""The decoder of the llama_cpp engine: one model, one context, `slots` sequences."""

from __future__ import annotations

import ctypes
import hashlib
import json
import math
import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from troth.domain import Adapters, Embeddings, Sampling, Steering, TokenIds, TokenLogprob
from troth.engines.base import DecodeFault, DecodeInterrupted, LoadProgress, Sampler, State, Vocabulary
from troth.engines.guidance import Guides
from troth.engines.llama_cpp import memory
from troth.engines.llama_cpp.adapters import AdapterShelf
from troth.engines.llama_cpp.batch import Batch
from troth.engines.llama_cpp.candidates import Candidates
from troth.engines.llama_cpp.facts import describe_model, metadata
from troth.engines.llama_cpp.library import library
from troth.engines.llama_cpp.loading import load_model
from troth.engines.llama_cpp.options import LlamaCppOptions
from troth.engines.llama_cpp.sampling import Chain, Greedy, Guided, build_chain, is_greedy, looking_back
from troth.engines.llama_cpp.vocabulary import LlamaVocabulary
from troth.errors import EngineFault

if TYPE_CHECKING:
    from troth.engines.llama_cpp.draft_model import DraftModel
    from troth.engines.llama_cpp.projector import Projector

CONTEXT_TOKENS_DEFAULT_MAX = 8192
CACHE_TYPES = {"f32": 0, "f16": 1, "q8_0": 8, "bf16": 30}  # ggml_type
RC_OK, RC_NO_ROOM, RC_ABORTED = 0, 1, 2  # llama_decode


class LlamaDecoder:
    """See `Decoder` in `engines/base.py`. Each slot has a memory of its own (`kv_unified=False`)."""

    def __init__(
        self,
        path: Path,
        options: LlamaCppOptions,
        progress: LoadProgress,
        *,
        repack: bool = True,
        extra: Sequence[Path] = (),
    ) -> None:
        """`repack`: weights may be rearranged for speed, which for some formats makes results depend on the batch.
        `extra`: the files of `options.sources`."""
        self._library = library(exact=options.determinism == "strict")
        self._api = self._library.api
        self._model = load_model(self._library, path, options, progress, repack=repack)
        trained: int = self._api.llama_model_n_ctx_train(self._model)
        self.context_tokens = options.context_tokens or min(trained, CONTEXT_TOKENS_DEFAULT_MAX)
        self.slots = options.slots
        self.batch_tokens = options.batch_tokens
        self.can_cut = not (
            self._api.llama_model_is_recurrent(self._model) or self._api.llama_model_is_hybrid(self._model)
        )
        try:
            self._build(path, options, extra)
        except BaseException:
            self._api.llama_model_free(self._model)
            raise
        self._facts["determinism"] = {"setting": options.determinism, "promised": False, "repacked": repack}
        self.proposer: DraftModel | None = None
        self.sight: Projector | None = None

    def _build(self, path: Path, options: LlamaCppOptions, extra: Sequence[Path]) -> None:
        """Everything that needs the loaded model is there. Raises EngineFault; the model is the caller's to free."""
        vocabulary = LlamaVocabulary(self._library, self._model)
        self.vocabulary: Vocabulary = vocabulary
        self._candidates = Candidates(vocabulary.size)
        self.grammars = Guides(vocabulary.for_grammars(), vocabulary.size, in_use=vocabulary.in_use)
        self._close_vocabulary = vocabulary.close
        self.cache_types = memory.cache_types(
            exact=options.determinism == "strict",
            key=options.cache_type_k,
            value=options.cache_type_v,
            head_width=memory.head_width(self._architecture(), self._number, self._api.llama_model_n_embd(self._model)),
        )
        if options.memory_check and options.gpu_layers == 0:
            shape = self._shape()
            memory.check(path, shape.need(path.stat().st_size), shape, memory.available_bytes())
        self._abort_flag = (ctypes.c_char * 2)()
        loras, vector = extra[: len(options.lora)], next(iter(extra[len(options.lora) :]), None)
        self._adapters = AdapterShelf(self._library, self._model, loras, vector, options)
        self._context = self._make_context(options)
        self._memory = ctypes.c_void_p(self._api.llama_get_memory(self._context))
        self._context_pointer = ctypes.c_void_p(self._context)
        self._vocab = self._api.llama_model_get_vocab(self._model)
        self._batch = Batch(self._library, self.batch_tokens)
        self._rows: npt.NDArray[np.float32] = np.empty((0, self.vocabulary.size), np.float32)
        self._facts = describe_model(self._library, self._model, path, options)
        vector_settings = options.control_vector.model_dump(mode="json") if options.control_vector else None
        self._written = (path.stat().st_size, path.stat().st_mtime_ns, vector_settings)  # what states depend on besides

    # ---- loading --------------------------------------------------------------------------------

    def _architecture(self) -> str:
        return metadata(self._api, self._model, "general.architecture")

    def _number(self, key: str) -> int | None:
        text = metadata(self._api, self._model, key)
        return int(text) if text.isdigit() else None

    def _shape(self) -> memory.Shape:
        api, model = self._api, self._model
        embedding = api.llama_model_n_embd(model)
        key_width, value_width = memory.attention_widths(self._architecture(), self._number, embedding)
        return memory.Shape(
            layers=api.llama_model_n_layer(model),
            key_width=key_width,
            value_width=value_width,
            vocabulary=self.vocabulary.size,
            slots=self.slots,
            context_tokens=self.context_tokens,
            batch_tokens=self.batch_tokens,
            key_type=self.cache_types[0],
            value_type=self.cache_types[1],
        )

    def _make_context(self, options: LlamaCppOptions) -> Any:
        api = self._api
        params = api.llama_context_default_params()
        threads = options.threads or len(os.sched_getaffinity(0))
        params.n_ctx = self.context_tokens * self.slots
        params.n_batch = self.batch_tokens
        params.n_ubatch = min(options.micro_batch_tokens or self.batch_tokens, self.batch_tokens)
        params.n_seq_max = self.slots
        params.n_threads = params.n_threads_batch = threads
        params.flash_attn_type = 1 if options.flash_attention else 0
        params.type_k, params.type_v = (CACHE_TYPES[name] for name in self.cache_types)
        params.kv_unified = False
        params.swa_full = True
        params.no_perf = True
        # The flag is read hundreds of times a step. A Python callback would take the interpreter lock each
        # time; the length of a C string, 0 or 1, does not.
        strlen = ctypes.CDLL(None).strlen
        self._abort_callback = ctypes.cast(strlen, api.ggml_abort_callback)
        params.abort_callback = self._abort_callback
        params.abort_callback_data = ctypes.cast(self._abort_flag, ctypes.c_void_p)
        context = api.llama_init_from_model(self._model, params)
        if not context:
            raise EngineFault(
                f"llama.cpp could not make a context of {self.slots} x {self.context_tokens} tokens: "
                f"{self._library.last_error() or 'probably out of memory'}"
            )
        return context

    # ---- batches --------------------------------------------------------------------------------

    def adapt(self, adapters: Adapters) -> None:
        """What is computed from now on is computed with these adapters."""
        self._adapters.use(self._context, adapters)

    def begin(self) -> None:
        """The batch is empty."""
        self._batch.clear()

    def add(self, slot: int, tokens: TokenIds | Sequence[int], position: int, *, rows: int) -> int:
        """`tokens` follow at `position`; the last `rows` of them get rows. Returns the first of these, or -1."""
        return self._batch.add(slot, tokens, position, rows)

    def add_seen(self, slot: int, embeddings: Embeddings, position: int, *, rows: int, is_whole: bool) -> int:
        """Embeddings follow, [tokens, width]; they are alone in their batch. Otherwise as `add`."""
        return self._batch.add_seen(slot, embeddings, position, rows, is_whole=is_whole)

    def decode(self) -> None:
        """The batch is computed. Raises DecodeFault or DecodeInterrupted; memory is then as before."""
        self._abort_flag[0] = b"\0"
        code = self._compute()
        if code == RC_OK:
            self._rows = self._view_rows(len(self._batch.outputs))
            return
        for slot, position in self._batch.starts.items():
            if not self._cut(slot, position):
                raise DecodeFault(f"llama_decode returned {code} and this model's memory cannot be cut back")
        if code == RC_ABORTED:
            raise DecodeInterrupted
        words = "no room in the cache" if code == RC_NO_ROOM else self._library.last_error()
        raise DecodeFault(f"llama_decode returned {code}: {words}")

    def _compute(self) -> int:
        """What llama_decode returned for the batch."""
        whole = self._batch.is_whole
        if whole:
            self._api.llama_set_causal_attn(self._context, False)
        try:
            code: int = self._api.llama_decode(self._context, self._batch.struct)
        finally:
            if whole:
                self._api.llama_set_causal_attn(self._context, True)
        return code

    def interrupt(self) -> None:
        """A running `decode` ends within some milliseconds. Called from any thread."""
        self._abort_flag[0] = b"\1"
        if self.proposer is not None:
            self.proposer.interrupt()

    def _view_rows(self, count: int) -> npt.NDArray[np.float32]:
        """The logits of this batch, [rows, vocabulary]: a view of llama.cpp's memory, good until the next decode."""
        if count == 0:
            return self._rows[:0]
        address: int = self._library.get_logits(self._context_pointer)
        values = (ctypes.c_float * (count * self.vocabulary.size)).from_address(address)
        return np.frombuffer(memoryview(values), dtype=np.float32).reshape(count, self.vocabulary.size)

    def logits(self, row: int) -> npt.NDArray[np.float32]:
        """A copy of one row of logits, [vocabulary]."""
        return np.array(self._rows[row])

    # ---- picking --------------------------------------------------------------------------------

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
        """A fresh sampler that has seen the prompt. With `steering` it has a guide; one that `tells` can be
        asked for what it has `drawn`."""
        inner: Greedy | Chain
        if is_greedy(sampling):
            inner = Greedy(bias)
        else:
            sampling = looking_back(sampling, self.context_tokens)
            size = self.vocabulary.size
            inner = build_chain(
                self._library,
                self._vocab,
                sampling,
                seed=seed,
                prompt=prompt,
                bias=bias,
                size=size,
                candidates=self._candidates,
                tells=tells,
            )
        if steering is None:
            return inner
        banned = frozenset(token for token, value in bias.items() if value == -np.inf)
        return Guided(inner, self.grammars.guide(steering), banned)

    def pick(self, picks: Sequence[tuple[Sampler, int]]) -> list[int]:
        """One token id for each (sampler, row); each sampler has taken note of its token."""
        tokens: list[int] = []
        for sampler, row in picks:
            if isinstance(sampler, Guided) and (chain := sampler.unguided()) is not None:
                tokens.append(self._sample(chain, row))
                sampler.guide.took(tokens[-1])
            elif isinstance(sampler, Guided):
                tokens.append(sampler.pick(self._rows[row], partial(self._sample, row=row)))
            elif isinstance(sampler, Greedy) or (isinstance(sampler, Chain) and sampler.tells):
                tokens.append(sampler.pick(self._rows[row]))
            else:
                assert isinstance(sampler, Chain), "a sampler of another decoder"
                tokens.append(self._sample(sampler, row))
        return tokens

    def _sample(self, chain: Chain, row: int) -> int:
        """llama.cpp draws a token of this row, of which the chain has taken note."""
        token: int = self._api.llama_sampler_sample(chain.pointer, self._context, self._batch.outputs[row])
        return token

    def logprobs(self, row: int, token_id: int, alternatives: int) -> tuple[TokenLogprob, tuple[TokenLogprob, ...]]:
        """The raw-logit log probability of `token_id`, and the most likely tokens, best first."""
        logits = self._rows[row]
        top = float(logits.max())
        total = top + float(np.log(np.exp(logits - top, dtype=np.float64).sum()))

        def entry(token: int) -> TokenLogprob:
            return TokenLogprob(token, self.vocabulary.piece(token), float(logits[token]) - total)

        chosen = entry(token_id)
        if alternatives == 0:
            return chosen, ()
        near = np.flatnonzero(logits > top - 16.0)  # few tokens are this close: sorting them all is cheap
        if len(near) < alternatives:
            near = np.argpartition(logits, -alternatives)[-alternatives:]
        best = near[np.argsort(-logits[near], kind="stable")][:alternatives]
        return chosen, tuple(entry(int(token)) for token in best)

    def drawn(
        self, sampler: Sampler, token_id: int, alternatives: int
    ) -> tuple[TokenLogprob, tuple[TokenLogprob, ...]]:
        """The log probability that `token_id`, the sampler's latest, had in its draw, and the most likely tokens of
        that draw, best first: fewer when the samplers left fewer."""
        assert isinstance(sampler, Greedy | Chain | Guided), "a sampler of another decoder"
        entries = [
            TokenLogprob(token, self.vocabulary.piece(token), math.log(share))
            for token, share in sampler.drawn(token_id)
        ]
        chosen = next(entry for entry in entries if entry.token_id == token_id)
        return chosen, tuple(entries[:alternatives])

    # ---- memory ---------------------------------------------------------------------------------

    def forget(self, slot: int, position: int) -> None:
        """The slot's sequence ends before `position`; 0 empties the slot."""
        is_cut = self._cut(slot, position)
        assert is_cut or position > 0, "llama.cpp can always empty a sequence"
        if not is_cut:
            raise DecodeFault("this model's memory cannot be cut back")

    def save(self, slot: int) -> State:
        """A copy of the slot's memory, to be restored into any slot of this decoder."""
        size: int = self._api.llama_state_seq_get_size(self._context, slot)
        state = np.empty(size, np.uint8)
        written: int = self._api.llama_state_seq_get_data(self._context, _bytes_pointer(state), size, slot)
        if written != size:
            raise DecodeFault(f"llama_state_seq_get_data wrote {written} of {size} bytes")
        return state

    def restore(self, slot: int, state: State, tokens: int) -> None:
        """The empty slot holds the first `tokens` tokens of the state."""
        read: int = self._api.llama_state_seq_set_data(self._context, _bytes_pointer(state), len(state), slot)
        if read != len(state):
            raise DecodeFault(f"llama_state_seq_set_data read {read} of {len(state)} bytes")
        self.forget(slot, tokens)

    def _cut(self, slot: int, position: int) -> bool:
        is_cut: bool = self._library.memory_seq_rm(self._memory, slot, position if position > 0 else -1, -1)
        return is_cut

    @property
    def state_key(self) -> str:
        """A hash of the model's facts and of the settings that decide what a saved state means."""
        known = [
            self._facts["file"],
            self._facts["meta"],
            self._facts["build"],
            self.cache_types,
            self._facts["determinism"],
            *self._adapters.files,
            self._written,
        ]
        return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()

    # ---- facts ----------------------------------------------------------------------------------

    def describe(self) -> Mapping[str, Any]:
        """The model's facts, JSON-ready: names, sizes, settings in force, what is promised."""
        return self._facts

    def promise(self, outcome: Mapping[str, Any]) -> None:
        """The facts say what the probe of determinism found."""
        self._facts["determinism"] |= outcome

    def see_with(self, path: Path, options: LlamaCppOptions) -> None:
        """The model reads pictures or sound through this projector, which is closed with it. Raises EngineFault."""
        from troth.engines.llama_cpp.projector import Projector

        room = min(options.micro_batch_tokens or self.batch_tokens, self.batch_tokens)
        self.sight = Projector(path, options, self._library, self._model, room=room)
        self._facts["mmproj"] = self.sight.file

    def draft_with(self, proposer: DraftModel) -> None:
        """The smaller model guesses for this one, and is closed with it."""
        self.proposer = proposer
        self._facts["draft_model"] = proposer.file

    def close(self) -> None:
        """The context and the model are freed."""
        if self.sight is not None:
            self.sight.close()
        if self.proposer is not None:
            self.proposer.close()
        self._rows = np.empty((0, 0), np.float32)
        self._close_vocabulary()
        self._api.llama_free(self._context)
        self._api.llama_model_free(self._model)


def _bytes_pointer(array: State) -> Any:
    return array.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8))
