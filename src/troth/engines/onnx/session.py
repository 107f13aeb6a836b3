"""A session of onnxruntime, as every model of these engines is run. The library is imported at the first load."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from troth.errors import EngineFault

LOADED_SHARE = 0.7  # of the progress, when the weights are there; the rest is the first computation
SEVERITY_ERROR = 3


def opened(path: Path, threads: int | None) -> tuple[str, Any]:
    """The library's version, and the model in memory. Raises EngineFault when the library is missing."""
    try:
        import onnxruntime
    except ImportError as error:
        raise missing(error) from error
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = threads or len(os.sched_getaffinity(0))
    settings.log_severity_level = SEVERITY_ERROR
    settings.add_session_config_entry("session.intra_op.allow_spinning", "0")  # cores are shared with others
    session = onnxruntime.InferenceSession(str(path), settings, providers=["CPUExecutionProvider"])
    return onnxruntime.__version__, session


def missing(error: ImportError) -> EngineFault:
    """What is raised when a library is not there."""
    return EngineFault(f"the engine onnx needs onnxruntime and tokenizers ({error}): pip install 'troth[onnx]'")


def shapes(outputs: Mapping[str, Sequence[object]]) -> str:
    """Inputs or outputs for people: each name with its shape."""
    return ", ".join(f"{name} [{', '.join(map(str, shape))}]" for name, shape in outputs.items())
