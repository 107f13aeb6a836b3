"""The engine `onnx_vision`: classifiers of pictures in ONNX form, through onnxruntime."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from troth.domain.vectors import PictureForm, Reading, Values
from troth.engines.base import LoadProgress, VectorFacts
from troth.engines.onnx.options import OnnxVisionOptions
from troth.engines.onnx.session import LOADED_SHARE, opened, shapes
from troth.engines.probing import SAME, difference
from troth.engines.vectors import HONOURS
from troth.errors import EngineFault

logger = logging.getLogger(__name__)

FLOAT = "tensor(float)"
BATCH_SEQUENCES = 8
NO_TOKENS = np.zeros(0, np.int32)


class OnnxVision:
    """One ONNX file, and the options to load it with."""

    def __init__(self, path: Path, options: OnnxVisionOptions) -> None:
        self.path = path
        self.options = options
        self.honours = HONOURS["moderation"]

    def open(self, progress: LoadProgress) -> VisionEncoder:
        """The model is in memory. Blocks. Raises EngineFault in words, also when the library is not there."""
        return VisionEncoder(self, progress)


class VisionEncoder:
    """See `Encoder` in `engines/base.py`."""

    pads = False
    batch_tokens = 1  # pictures have none

    def __init__(self, engine: OnnxVision, progress: LoadProgress) -> None:
        """Raises EngineFault when the library is missing, or the file classifies no pictures by these labels."""
        options, self._name = engine.options, engine.path.name
        runtime, self._session = opened(engine.path, options.threads)
        progress(LOADED_SHARE)
        (self._input, shape), self._output = self._input_of(), self._output_of(len(options.labels))
        self._has_channels_first = shape[1] == 3
        sides = shape[2:] if self._has_channels_first else shape[1:3]
        form = _form(self._name, sides, options)
        self.facts = VectorFacts(tokens_max=0, dimensions=len(options.labels), pooling="labels", picture=form)
        chance = np.random.default_rng(1).normal(0, 1, (BATCH_SEQUENCES, form.height, form.width, 3))
        probe = [Reading(NO_TOKENS, planes=planes.astype(np.float32)) for planes in chance]
        self._try(probe[0])
        apart = None if isinstance(shape[0], int) else self._apart(probe)
        chosen = options.batch_sequences or (BATCH_SEQUENCES if apart is not None and apart < SAME else 1)
        if apart is None and chosen > 1:
            raise EngineFault(f"{self._name} takes one picture at a time: leave out options.batch_sequences.")
        self.batch_sequences = chosen
        self._told = {
            "file": self._name,
            "build": f"onnxruntime {runtime}",
            "meta": {"size": engine.path.stat().st_size, "image_size": [form.height, form.width]},
            "settings": options.model_dump() | {"batch_sequences": chosen},
            "determinism": {"promised": chosen == 1 or apart == 0, "difference_in_a_batch": apart},
        }
        progress(1.0)

    def _input_of(self) -> tuple[str, Sequence[Any]]:
        inputs = self._session.get_inputs()
        (first, *others) = inputs
        if others or len(first.shape) != 4 or first.type != FLOAT or 3 not in (first.shape[1], first.shape[3]):
            given = shapes({each.name: each.shape for each in inputs})
            raise EngineFault(f"{self._name} wants {given}; models that are shown coloured pictures are served.")
        return first.name, first.shape

    def _output_of(self, labels: int) -> str:
        outputs = {each.name: each.shape for each in self._session.get_outputs()}
        found = next((name for name, shape in outputs.items() if len(shape) == 2 and shape[-1] == labels), None)
        if found is None:
            raise EngineFault(
                f"{self._name} gives {shapes(outputs)}; options.labels names {labels}, "
                "and there is to be a number for each."
            )
        return str(found)

    def _try(self, reading: Reading) -> None:
        try:
            self.encode([reading])
        except Exception as error:  # the library's boundary: its faults have no class in common
            raise EngineFault(f"{self._name} could not look at a picture. onnxruntime says: {error}") from error

    def _apart(self, probe: Sequence[Reading]) -> float | None:
        """How far a picture's numbers move beside others; None: others cannot be computed beside it."""
        try:
            return difference(self.encode, probe)
        except Exception:  # the library's boundary: the file calls its batch open, and what is in it is not
            logger.info("event=one_at_a_time file=%s", self._name)
            return None

    def encode(self, batch: Sequence[Reading]) -> Values:
        """A row of numbers for each picture."""
        pictures = np.stack([reading.planes for reading in batch if reading.planes is not None])
        if self._has_channels_first:
            pictures = np.ascontiguousarray(pictures.transpose(0, 3, 1, 2))
        (found,) = self._session.run([self._output], {self._input: pictures})
        return np.asarray(found, np.float32)

    def describe(self) -> Mapping[str, Any]:
        """The model's facts, JSON-ready."""
        return self._told

    def close(self) -> None:
        """The session is given up, and with it its memory."""
        self._session = None


def _form(name: str, sides: Sequence[Any], options: OnnxVisionOptions) -> PictureForm:
    """How it wants to be shown pictures. Raises EngineFault where the file and the options do not say, or disagree."""
    told = tuple(side if isinstance(side, int) else None for side in sides)
    wanted = options.size or told
    height, width = wanted
    if height is None or width is None:
        raise EngineFault(f"{name} does not say how large a picture it looks at: set options.size to [height, width].")
    if any(side not in (None, asked) for side, asked in zip(told, (height, width), strict=True)):
        raise EngineFault(f"{name} looks at pictures of {told[0]} × {told[1]}; options.size is {height} × {width}.")
    if options.resize is not None and options.resize < max(height, width):
        raise EngineFault(f"{name} looks at {height} × {width}: options.resize, {options.resize}, is less.")
    return PictureForm(
        height=height,
        width=width,
        resize=options.resize,
        keep_ratio=options.keep_ratio,
        resample=options.resample,
        is_bgr=options.channels == "bgr",
        rescale_factor=options.rescale_factor,
        image_mean=options.image_mean,
        image_std=options.image_std,
    )
