"""A picture as a classifier is shown it: the same numbers as scaling it whole and cutting it then."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from tests.support.picture_forms import FORM
from troth.domain.vectors import PictureForm
from troth.media.pictures import Pixels
from troth.media.prepared import prepared, seen

SIZES = [(64, 48), (97, 53), (20, 90), (32, 24), (5, 7)]


def picture(width: int, height: int) -> Pixels:
    return np.random.default_rng(width * height).integers(0, 256, (height, width, 3), dtype=np.uint8)


def cut(pixels: Pixels, width: int, height: int, form: PictureForm) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    """Scaled as a whole to width × height, and the middle of that."""
    whole = Image.fromarray(pixels).resize((width, height), Image.Resampling.BILINEAR)
    left, top = (width - form.width) // 2, (height - form.height) // 2
    return np.asarray(whole.crop((left, top, left + form.width, top + form.height)))


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_without_resize_all_of_it_is_scaled(width: int, height: int) -> None:
    pixels = picture(width, height)
    assert np.array_equal(prepared(pixels, FORM), cut(pixels, 32, 24, FORM))


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_with_resize_its_middle_is_taken(width: int, height: int) -> None:
    form, pixels = replace(FORM, resize=40), picture(width, height)
    assert np.abs(prepared(pixels, form) - cut(pixels, 40, 40, form)).max() <= 1


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_with_keep_ratio_its_shorter_side_is_scaled(width: int, height: int) -> None:
    form, pixels = replace(FORM, resize=36, keep_ratio=True), picture(width, height)
    shorter = min(width, height)
    whole = cut(pixels, 36 * width // shorter, 36 * height // shorter, form)
    assert np.abs(prepared(pixels, form) - whole).max() <= 1


def test_a_strip_is_cut_before_it_is_scaled() -> None:
    form = replace(FORM, resize=36, keep_ratio=True)
    left, top, right, bottom = seen(65_535, 1, form)
    assert right - left < 1
    assert 0 <= top < bottom <= 1
    assert prepared(picture(65_535, 1), form).shape == (24, 32, 3)


def test_colours_are_numbers_as_preprocessor_config_says() -> None:
    form = replace(FORM, is_bgr=True, rescale_factor=1 / 255, image_mean=(0.1, 0.2, 0.3), image_std=(0.5, 1.0, 2.0))
    pixels = np.full((24, 32, 3), (255, 51, 0), np.uint8)
    blue, green, red = prepared(pixels, form)[0, 0]
    assert (blue, green, red) == pytest.approx((-0.2, 0.0, 0.35), abs=1e-6)
