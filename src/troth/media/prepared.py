"""A picture as a classifier wants to be shown it: scaled, cut to its middle, and its colours as numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from troth.domain.vectors import PictureForm, Planes
from troth.media.pictures import Pixels

Box = tuple[float, float, float, float]  # left, top, right, bottom, in pixels of the picture


def prepared(pixels: Pixels, form: PictureForm) -> Planes:
    """The picture in this form. Takes up to a second for the largest."""
    from PIL import Image

    height, width, _ = pixels.shape
    filters: dict[str, Any] = {
        "nearest": Image.Resampling.NEAREST,
        "bilinear": Image.Resampling.BILINEAR,
        "bicubic": Image.Resampling.BICUBIC,
        "lanczos": Image.Resampling.LANCZOS,
    }
    box = seen(width, height, form)
    scaled = Image.fromarray(pixels).resize((form.width, form.height), filters[form.resample], box=box)
    values = np.asarray(scaled, np.float32)
    if form.is_bgr:
        values = values[:, :, ::-1]
    mean, deviation = (np.asarray(each, np.float32) for each in (form.image_mean, form.image_std))
    return np.ascontiguousarray((values * np.float32(form.rescale_factor) - mean) / deviation, np.float32)


def seen(width: int, height: int, form: PictureForm) -> Box:
    """The part of a picture of this size that is scaled to the form.

    What is outside is never scaled: a strip a pixel high would become one of millions. The numbers are those of scaling
    first and cutting then, in whole pixels.
    """
    if form.resize is None:
        return (0, 0, width, height)
    scaled_width = scaled_height = form.resize
    if form.keep_ratio:
        shorter = min(width, height)
        scaled_width, scaled_height = form.resize * width // shorter, form.resize * height // shorter
    left, top = (scaled_width - form.width) // 2, (scaled_height - form.height) // 2
    across, down = width / scaled_width, height / scaled_height
    return (left * across, top * down, (left + form.width) * across, (top + form.height) * down)
