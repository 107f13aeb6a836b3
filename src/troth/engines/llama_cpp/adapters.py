"""LoRA adapters and a control vector: loaded with the model, and put to use for the batches that ask for them.

Both belong to a whole context, not to a sequence. Changing them costs some milliseconds, so it is done only when the
next batch needs others than the last one.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from troth.domain import NO_ADAPTERS, Adapters
from troth.engines.llama_cpp.library import Library
from troth.engines.llama_cpp.options import LlamaCppOptions
from troth.engines.llama_cpp.tensors import read_vectors
from troth.errors import EngineFault

VECTOR_PREFIX = "direction."  # of a tensor, before the number of its layer


class AdapterShelf:
    """The adapters of one model, and which of them its context uses now. Freed with the model."""

    def __init__(
        self, library: Library, model: Any, loras: Sequence[Path], vector: Path | None, options: LlamaCppOptions
    ) -> None:
        """Raises EngineFault naming the file that is no adapter of this model."""
        self._api = library.api
        self._in_use = NO_ADAPTERS
        self._layers: int = self._api.llama_model_n_layer(model)
        self._width: int = self._api.llama_model_n_embd(model)
        self._loras = [self._load(library, model, path) for path in loras]
        self._span = (1, self._layers)
        self._vector: npt.NDArray[np.float32] | None = None
        if vector is not None and (settings := options.control_vector) is not None:
            self._vector = self._directions(vector) * np.float32(settings.scale)
            self._span = (settings.layer_first, min(settings.layer_last or self._layers, self._layers))
        self.files = tuple(
            (path.name, path.stat().st_size, path.stat().st_mtime_ns)
            for path in (*loras, *((vector,) if vector is not None else ()))
        )

    def use(self, context: Any, adapters: Adapters) -> None:
        """The context computes with these adapters from now on."""
        if adapters == self._in_use:
            return
        if adapters.loras != self._in_use.loras:
            count = len(adapters.loras)
            pointers = (self._api.llama_adapter_lora_p_ctypes * max(count, 1))(
                *(self._loras[number] for number, _ in adapters.loras)
            )
            scales = (ctypes.c_float * max(count, 1))(*(scale for _, scale in adapters.loras))
            if self._api.llama_set_adapters_lora(context, pointers, count, scales) != 0:
                raise EngineFault("llama.cpp could not use the adapters.")
        if adapters.control != self._in_use.control:
            self._steer(context, on=adapters.control)
        self._in_use = adapters

    def _steer(self, context: Any, *, on: bool) -> None:
        vector = self._vector if on else None
        data = None if vector is None else vector.ctypes.data_as(ctypes.POINTER(ctypes.c_float))
        size = 0 if vector is None else vector.size
        if self._api.llama_set_adapter_cvec(context, data, size, self._width, *self._span) != 0:
            raise EngineFault("llama.cpp could not use the control vector.")

    def _load(self, library: Library, model: Any, path: Path) -> Any:
        library.errors.clear()
        adapter = self._api.llama_adapter_lora_init(model, str(path).encode())
        if not adapter:
            raise EngineFault(f"{path}: llama.cpp could not load the adapter: {library.last_error() or 'no reason'}")
        return adapter

    def _directions(self, path: Path) -> npt.NDArray[np.float32]:
        """The vector of every layer from the second on, [(layers - 1) x width]; zeros for those that have none."""
        table = np.zeros((self._layers - 1, self._width), np.float32)
        found = 0
        for name, vector in read_vectors(path):
            number = name.removeprefix(VECTOR_PREFIX)
            if not name.startswith(VECTOR_PREFIX) or not number.isdecimal():
                continue
            if not 1 <= int(number) < self._layers or vector.shape != (self._width,):
                raise EngineFault(
                    f"{path}: {name} has {vector.size} numbers; this model has the layers 1 to {self._layers - 1} with "
                    f"{self._width}."
                )
            table[int(number) - 1] = vector
            found += 1
        if not found:
            raise EngineFault(f"{path}: there is no tensor {VECTOR_PREFIX}1 or above: it is no control vector.")
        return np.ascontiguousarray(table.reshape(-1))
