"""The `onnx` engine: models of vectors and of relevance, and classifiers, in ONNX form, through onnxruntime.

`onnx_vision`, in `vision.py`, is the same for classifiers of pictures.

Importing this package is cheap; onnxruntime and tokenizers, which come with `pip install 'troth[onnx]'`, are imported
on the engine's thread, at load.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from troth.engines.onnx.options import OnnxClassifierOptions, OnnxEmbeddingOptions, OnnxOptions, OnnxVisionOptions
from troth.engines.vectors import HONOURS

if TYPE_CHECKING:
    from troth.engines.base import LoadProgress
    from troth.engines.onnx.encoder import OnnxEncoder

__all__ = ["Onnx", "OnnxClassifierOptions", "OnnxEmbeddingOptions", "OnnxOptions", "OnnxVisionOptions"]


class Onnx:
    """One ONNX file with its tokenizer, for models of one kind, and the options to load it with."""

    def __init__(self, path: Path, tokenizer: Path, options: OnnxOptions, kind: str) -> None:
        self.path = path
        self.tokenizer = tokenizer
        self.options = options
        self.kind = kind
        self.honours = HONOURS[kind]

    def open(self, progress: LoadProgress) -> OnnxEncoder:
        """The model is in memory. Blocks. Raises EngineFault in words, also when the libraries are not there."""
        from troth.engines.onnx.encoder import OnnxEncoder

        return OnnxEncoder(self, progress)
