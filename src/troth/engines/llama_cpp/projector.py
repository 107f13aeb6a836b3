"""Eyes and ears of a model: a projector file, through llama.cpp's libmtmd, turns pictures and sound into embeddings.

libmtmd ends the process on some bad inputs, so everything is checked before a call: sizes, kinds and lengths.
Looking (cutting a picture into what the encoder takes) may happen on several threads at once; encoding is done by
one at a time.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import logging
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from troth.domain import Embeddings
from troth.engines.llama_cpp import memory
from troth.engines.llama_cpp.library import Library
from troth.engines.llama_cpp.options import LlamaCppOptions
from troth.engines.sight import Looked, LookedPart, SightFault
from troth.errors import EngineFault

logger = logging.getLogger("troth.engines.llama_cpp")

SIDE_MAX = 65_535  # pixels; libmtmd counts in 32 bits
ASPECT_MAX = 100  # a side that is shorter by more would be scaled to nothing
PARTS_MAX = 4096
HASHED_BYTES = 1 << 20


class Chunks:
    """What libmtmd made of one medium. Its memory is given back with the object."""

    def __init__(self, api: ModuleType) -> None:
        self._api = api
        self.pointer = api.mtmd_input_chunks_init()

    def __del__(self) -> None:
        self._api.mtmd_input_chunks_free(self.pointer)

    def __iter__(self) -> Iterator[Any]:
        """Each chunk, as libmtmd's pointer: good as long as this object."""
        for index in range(self._api.mtmd_input_chunks_size(self.pointer)):
            yield self._api.mtmd_input_chunks_get(self.pointer, index)


class Projector:
    """See `Sees` in `engines/base.py`."""

    def __init__(self, path: Path, options: LlamaCppOptions, library: Library, model: Any, *, room: int) -> None:
        """`model` is the loaded text model, `room` the most tokens that it computes at once.

        Raises EngineFault in words for a file that is no projector, or none of this model.
        """
        import llama_cpp.mtmd_cpp as api

        self._api = api
        self._library = library
        self._room = room
        self._width: int = library.api.llama_model_n_embd_inp(model)
        self._vocabulary: int = library.api.llama_vocab_n_tokens(library.api.llama_model_get_vocab(model))
        self._encoding = threading.Lock()
        self._users = threading.Condition()
        self._count = 0
        self._is_closed = False
        if options.memory_check and options.gpu_layers == 0:
            _check_memory(path)
        self._context = self._load(path, options, model)
        self.file = path.name
        self.vision: bool = api.mtmd_support_vision(self._context)
        self.audio: bool = api.mtmd_support_audio(self._context)
        self.audio_rate: int = max(api.mtmd_get_audio_sample_rate(self._context), 0)
        self.digest = _digest(path, options)
        self._check_model(path)

    def _load(self, path: Path, options: LlamaCppOptions, model: Any) -> Any:
        api = self._api
        self._log_callback = self._library.log_callback
        api.mtmd_log_set(self._log_callback, ctypes.c_void_p(0))
        api.mtmd_helper_log_set(self._log_callback, ctypes.c_void_p(0))
        params = api.mtmd_context_params_default()
        params.use_gpu = options.gpu_layers != 0
        params.print_timings = False
        params.n_threads = options.threads or len(os.sched_getaffinity(0))
        if options.mmproj_tokens_max is not None:
            params.image_max_tokens = options.mmproj_tokens_max
        self._library.errors.clear()
        context = api.mtmd_init_from_file(str(path).encode(), model, params)
        if not context:
            raise EngineFault(f"{path}: llama.cpp could not load the projector: {self._library.last_error()}")
        return context

    def _check_model(self, path: Path) -> None:
        """The projector is one that can be served: a picture and a sound of nothing are encoded.

        Where libmtmd counts wrong for a projector it ends the process, and then it does so now.
        """
        try:
            if self._api.mtmd_decode_use_mrope(self._context):
                raise EngineFault(
                    f"{path}: this model places pictures in two dimensions (M-RoPE), which is not done here. Leave out "
                    "options.mmproj to serve it for text."
                )
            if self.vision:
                self.encode(self.look(np.zeros((64, 64, 3), np.uint8)))
            if self.audio:
                self.encode(self.look(np.zeros(self.audio_rate, np.float32)))
        except SightFault as fault:
            self.close()
            raise EngineFault(f"{path}: {fault}") from fault
        except EngineFault:
            self.close()
            raise

    # ---- looking --------------------------------------------------------------------------------

    def look(self, content: npt.NDArray[np.uint8] | npt.NDArray[np.float32]) -> Looked:
        """How a picture, [height, width, 3], or a sound, [samples], will be read. Raises SightFault."""
        with self._in_use():
            bitmap = self._bitmap(np.ascontiguousarray(content))
            try:
                chunks = self._chunks(bitmap)
            finally:
                self._api.mtmd_bitmap_free(bitmap)
            parts = tuple(self._part(chunk) for chunk in chunks)
        if not parts or len(parts) > PARTS_MAX or not any(part.words is None for part in parts):
            raise SightFault("llama.cpp makes nothing of it")
        return Looked(parts, chunks)

    def _bitmap(self, content: npt.NDArray[Any]) -> Any:
        api = self._api
        if content.ndim == 1:
            if not self.audio or content.dtype != np.float32 or len(content) < self.audio_rate // 10:
                raise SightFault("it is shorter than what the model can hear")
            samples = content.ctypes.data_as(ctypes.POINTER(ctypes.c_float))
            return api.mtmd_bitmap_init_from_audio(len(content), samples)
        height, width, channels = content.shape
        assert content.dtype == np.uint8
        assert channels == 3
        if not self.vision or not (0 < height <= SIDE_MAX and 0 < width <= SIDE_MAX):
            raise SightFault(f"it has {width} × {height} pixels")
        if max(height, width) > ASPECT_MAX * min(height, width):
            raise SightFault(f"it has {width} × {height} pixels: one side is more than {ASPECT_MAX} times the other")
        return api.mtmd_bitmap_init(width, height, content.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8)))

    def _chunks(self, bitmap: Any) -> Chunks:
        """A text that is the marker alone stands for the medium: no text of a client gets here."""
        api, marker = self._api, self._api.mtmd_get_marker(self._context)
        text = api.mtmd_input_text(text=marker, text_len=len(marker), add_special=False, parse_special=True)
        bitmaps = (api.mtmd_bitmap_p_ctypes * 1)(bitmap)
        chunks = Chunks(api)
        code: int = api.mtmd_tokenize(self._context, chunks.pointer, ctypes.byref(text), bitmaps, 1)
        if code != 0:
            raise SightFault(f"llama.cpp cannot cut it into what the model takes (mtmd_tokenize returned {code})")
        return chunks

    def _part(self, chunk: Any) -> LookedPart:
        api = self._api
        count: int = api.mtmd_input_chunk_get_n_tokens(chunk)
        if count < 1:
            raise SightFault("llama.cpp makes nothing of it")
        if api.mtmd_input_chunk_get_type(chunk) == api.MTMD_INPUT_CHUNK_TYPE_TEXT:
            written = ctypes.c_size_t(0)
            tokens = api.mtmd_input_chunk_get_tokens_text(chunk, ctypes.byref(written))
            words = np.array(tokens[: written.value], np.int32)
            if len(words) != count or not ((words >= 0) & (words < self._vocabulary)).all():
                raise SightFault("llama.cpp puts tokens around it that the model does not have")
            return LookedPart(words, count)
        if api.mtmd_input_chunk_get_n_pos(chunk) != count:
            raise SightFault("it is placed in two dimensions, which is not done here")
        is_whole: bool = api.mtmd_decode_use_non_causal(self._context, chunk)
        if is_whole and count > self._room:
            raise SightFault(
                f"its {count} tokens are computed at once, and the model computes {self._room} at most: an operator "
                "raises options.batch_tokens and options.micro_batch_tokens"
            )
        return LookedPart(None, count, is_whole)

    # ---- encoding -------------------------------------------------------------------------------

    def encode(self, looked: Looked) -> list[Embeddings]:
        """The embeddings of every part that is no words, [count, width] each. Raises SightFault."""
        assert isinstance(looked.handle, Chunks), "looked at by another engine"
        arrays: list[Embeddings] = []
        with self._in_use(), self._encoding:
            for part, chunk in zip(looked.parts, looked.handle, strict=True):
                if part.words is None:
                    arrays.append(self._encoded(chunk, part.count))
        return arrays

    def _encoded(self, chunk: Any, count: int) -> Embeddings:
        code: int = self._api.mtmd_encode_chunk(self._context, chunk)
        if code != 0:
            raise SightFault(f"mtmd_encode_chunk returned {code}: {self._library.last_error()}")
        values = self._api.mtmd_get_output_embd(self._context)
        array = np.ctypeslib.as_array(values, (count, self._width)).copy()
        if not np.isfinite(array).all():
            raise SightFault("the encoder returned values that are no numbers")
        return array

    # ---- the end --------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _in_use(self) -> Iterator[None]:
        """Nothing is freed meanwhile."""
        with self._users:
            if self._is_closed:
                raise EngineFault("The server is shutting down.")
            self._count += 1
        try:
            yield
        finally:
            with self._users:
                self._count -= 1
                self._users.notify_all()

    def close(self) -> None:
        """The projector is freed, once nobody uses it any more. Safe to call twice."""
        with self._users:
            if self._is_closed:
                return
            self._is_closed = True
            self._users.wait_for(lambda: self._count == 0)
        self._api.mtmd_free(self._context)


def _check_memory(path: Path) -> None:
    size, there = path.stat().st_size, memory.available_bytes()
    if there is not None and size > there:
        raise EngineFault(
            f"{path}: the projector needs {size} bytes, and {there} bytes of memory are free. Close other programs, or "
            "set options.memory_check to false."
        )


def _digest(path: Path, options: LlamaCppOptions) -> bytes:
    """Names the projector by its beginning, its end and its size, and the setting that changes what it makes."""
    size = path.stat().st_size
    hashed = hashlib.sha256(f"{size} {options.mmproj_tokens_max}".encode())
    with path.open("rb") as file:
        hashed.update(file.read(HASHED_BYTES))
        file.seek(max(0, size - HASHED_BYTES))
        hashed.update(file.read(HASHED_BYTES))
    return hashed.digest()
