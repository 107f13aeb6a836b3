"""llama.cpp as a library: imported once, its log on our log, its short calls bound twice.

llama-cpp-python binds through `CDLL`, which drops the interpreter lock around every call. That is right
for `llama_decode`; for calls of a microsecond it costs up to a switch interval when other threads are
busy. Those are bound here again through `PyDLL`, which keeps the lock.
"""

from __future__ import annotations

import ctypes
import logging
import os
from collections import deque
from functools import lru_cache
from types import ModuleType
from typing import Any

logger = logging.getLogger("troth.engines.llama_cpp")

# OpenMP's workers spin between the many small loops of a step. Without a bound they starve each other
# when cores are shared (1.5 tokens/s were measured); a thousand spins keep full speed on a quiet machine.
OMP_SPIN_COUNT = "1000"
ERROR_LEVEL = 4


class Library:
    """The loaded library: `api` is llama-cpp-python's low-level module; methods are the short calls."""

    def __init__(self, *, exact: bool) -> None:
        """`exact`: the kernels whose results depend on the batch are left out, for this process."""
        os.environ.setdefault("GOMP_SPINCOUNT", OMP_SPIN_COUNT)  # read by libgomp when it is first loaded
        if exact:
            os.environ.setdefault("GGML_CPU_TILED_MM", "0")  # read by ggml at its first matrix product
        import llama_cpp.llama_cpp as api

        self.api: ModuleType = api
        self.errors: deque[str] = deque(maxlen=8)  # the last error lines, for words to the operator
        self.log_callback = api.llama_log_callback(self._log)  # kept: the library calls it as long as it is loaded
        api.llama_log_set(self.log_callback, ctypes.c_void_p(0))
        api.llama_backend_init()
        short = ctypes.PyDLL(api._lib._name)
        self.get_logits = self._bind(short.llama_get_logits, ctypes.c_void_p, ctypes.c_void_p)
        self.sampler_accept = self._bind(short.llama_sampler_accept, None, ctypes.c_void_p, ctypes.c_int32)
        self.vocab_is_eog = self._bind(short.llama_vocab_is_eog, ctypes.c_bool, ctypes.c_void_p, ctypes.c_int32)
        self.vocab_get_attr = self._bind(short.llama_vocab_get_attr, ctypes.c_int, ctypes.c_void_p, ctypes.c_int32)
        self.token_to_piece = self._bind(
            short.llama_token_to_piece,
            ctypes.c_int32,
            ctypes.c_void_p,
            ctypes.c_int32,
            ctypes.c_char_p,
            ctypes.c_int32,
            ctypes.c_int32,
            ctypes.c_bool,
        )
        self.memory_seq_rm = self._bind(
            short.llama_memory_seq_rm, ctypes.c_bool, ctypes.c_void_p, ctypes.c_int32, ctypes.c_int32, ctypes.c_int32
        )
        self.memory_seq_cp = self._bind(
            short.llama_memory_seq_cp,
            None,
            ctypes.c_void_p,
            ctypes.c_int32,
            ctypes.c_int32,
            ctypes.c_int32,
            ctypes.c_int32,
        )

    @staticmethod
    def _bind(function: Any, result: Any, *arguments: Any) -> Any:  # ctypes has no types of its own to offer
        function.restype = result
        function.argtypes = arguments
        return function

    def _log(self, level: int, text: bytes, _: Any) -> None:
        line = text.decode("utf-8", "replace").strip()
        if line.strip("."):
            if level == ERROR_LEVEL:
                self.errors.append(line)
            # An interrupted batch is an error to llama.cpp and none to us: whoever raises says the last error.
            logger.debug("event=llama_cpp level=%d text=%s", level, line)

    def last_error(self) -> str:
        """What llama.cpp said last when something went wrong, or an empty string."""
        return "; ".join(self.errors)


@lru_cache(maxsize=2)
def library(*, exact: bool) -> Library:
    """The library, loaded on first use. What was asked first decides for the process, the probe for the promise."""
    return Library(exact=exact)
