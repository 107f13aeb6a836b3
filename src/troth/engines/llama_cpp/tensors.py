"""The vectors of a GGUF file, read by ggml's own reader."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from troth.errors import EngineFault

F32 = 0  # ggml_type


class _InitParams(ctypes.Structure):
    """gguf_init_params: without a context the tensors are only described."""

    _fields_ = (("no_alloc", ctypes.c_bool), ("ctx", ctypes.c_void_p))


def read_vectors(path: Path) -> Iterator[tuple[str, npt.NDArray[np.float32]]]:
    """The tensors of 32-bit floats by name, each as one row of numbers. Raises EngineFault for another file."""
    ggml = _library()
    file = ggml.gguf_init_from_file(str(path).encode(), _InitParams(True, None))
    if not file:
        raise EngineFault(f"{path}: it is no GGUF file.")
    try:
        start = ggml.gguf_get_data_offset(file)
        for number in range(ggml.gguf_get_n_tensors(file)):
            if ggml.gguf_get_tensor_type(file, number) != F32:
                continue
            name = ggml.gguf_get_tensor_name(file, number).decode("utf-8", "replace")
            offset = start + ggml.gguf_get_tensor_offset(file, number)
            count = ggml.gguf_get_tensor_size(file, number) // 4
            numbers = np.fromfile(path, "<f4", count, offset=offset)
            if len(numbers) != count:
                raise EngineFault(f"{path}: the file ends inside of {name}.")
            yield name, numbers
    finally:
        ggml.gguf_free(file)


def _library() -> Any:
    """ggml, through the library that needs it. Its functions have the types that are used here."""
    import llama_cpp.llama_cpp as api

    ggml = ctypes.CDLL(api._lib._name)
    types: dict[str, tuple[Any, list[Any]]] = {
        "gguf_init_from_file": (ctypes.c_void_p, [ctypes.c_char_p, _InitParams]),
        "gguf_free": (None, [ctypes.c_void_p]),
        "gguf_get_data_offset": (ctypes.c_size_t, [ctypes.c_void_p]),
        "gguf_get_n_tensors": (ctypes.c_int64, [ctypes.c_void_p]),
        "gguf_get_tensor_name": (ctypes.c_char_p, [ctypes.c_void_p, ctypes.c_int64]),
        "gguf_get_tensor_offset": (ctypes.c_size_t, [ctypes.c_void_p, ctypes.c_int64]),
        "gguf_get_tensor_size": (ctypes.c_size_t, [ctypes.c_void_p, ctypes.c_int64]),
        "gguf_get_tensor_type": (ctypes.c_int, [ctypes.c_void_p, ctypes.c_int64]),
    }
    for name, (result, arguments) in types.items():
        function = getattr(ggml, name)
        function.restype, function.argtypes = result, arguments
    return ggml
