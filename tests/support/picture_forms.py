"""How a classifier of tests wants to be shown pictures."""

from __future__ import annotations

from troth.domain.vectors import PictureForm

FORM = PictureForm(
    height=24,
    width=32,
    resize=None,
    keep_ratio=False,
    resample="bilinear",
    is_bgr=False,
    rescale_factor=1.0,
    image_mean=(0.0, 0.0, 0.0),
    image_std=(1.0, 1.0, 1.0),
)
