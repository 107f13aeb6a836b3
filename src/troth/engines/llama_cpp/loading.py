"""Weights in memory: what every use of a GGUF file begins with."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any, Literal, Protocol

from troth.engines.base import LoadProgress
from troth.engines.llama_cpp.library import Library
from troth.errors import EngineFault

SPLIT_MODES = {"none": 0, "layer": 1, "row": 2}  # llama_split_mode


class WeightOptions(Protocol):
    """What an operator can say about where weights go."""

    @property
    def gpu_layers(self) -> int:
        """Layers on the GPU; -1 is all."""

    @property
    def main_gpu(self) -> int:
        """The GPU for what is not split."""

    @property
    def split_mode(self) -> Literal["none", "layer", "row"]:
        """How the model is split over GPUs."""

    @property
    def tensor_split(self) -> tuple[float, ...]:
        """Each GPU's share."""

    @property
    def mmap(self) -> bool:
        """Map the file instead of reading it."""

    @property
    def mlock(self) -> bool:
        """Keep it in memory."""


def load_model(
    library: Library, path: Path, options: WeightOptions, progress: LoadProgress, *, repack: bool = True
) -> Any:
    """The model, to be freed by whoever has it. Raises EngineFault with llama.cpp's own words."""
    api = library.api
    library.errors.clear()
    params = api.llama_model_default_params()
    params.n_gpu_layers = options.gpu_layers
    params.main_gpu = options.main_gpu
    params.split_mode = SPLIT_MODES[options.split_mode]
    shares = (ctypes.c_float * max(len(options.tensor_split), api.llama_max_devices()))(*options.tensor_split)
    if options.tensor_split:
        params.tensor_split = shares
    params.use_extra_bufts = repack
    params.load_mode = (api.LLAMA_LOAD_MODE_MMAP if options.mmap else api.LLAMA_LOAD_MODE_NONE) | (
        api.LLAMA_LOAD_MODE_MLOCK if options.mlock else 0
    )

    def report(fraction: float, _: Any) -> bool:
        return progress(fraction) is not False

    params.progress_callback = api.llama_progress_callback(report)
    model = api.llama_model_load_from_file(str(path).encode(), params)
    if not model:
        raise EngineFault(f"{path}: llama.cpp could not load the model: {library.last_error()}")
    return model
