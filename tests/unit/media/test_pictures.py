"""Pictures: what is refused before it is decoded, and what becomes of the others."""

from __future__ import annotations

import contextlib
import io
import struct

import numpy as np
import pytest
from PIL import Image

from tests.support.png import huge_png
from tests.support.projector import moving, picture
from troth.media.pictures import PictureFault, Pixels, form_of, look, pixels, webp_size
from troth.media.settings import MediaSettings

SETTINGS = MediaSettings()


def saved(image: Image.Image, form: str = "PNG", **options: object) -> bytes:
    file = io.BytesIO()
    image.save(file, form, **options)
    return file.getvalue()


def shown(data: bytes) -> Pixels:
    return pixels(data, SETTINGS)


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP", "GIF", "BMP"])
def test_pictures_of_every_kind_are_decoded(form: str) -> None:
    data = picture(size=(40, 30), form=form)

    assert form_of(data) == form
    array = shown(data)
    assert array.shape == (30, 40, 3)
    assert abs(array[15, 20].astype(int) - [200, 30, 30]).max() < 40


@pytest.mark.parametrize(
    "data",
    [b"<svg xmlns='http://www.w3.org/2000/svg'/>", b"%PDF-1.7", b"", b"II*\0tiff", b"RIFF\0\0\0\0WAVEfmt ", b"text"],
)
def test_what_is_no_known_picture_is_refused(data: bytes) -> None:
    with pytest.raises(PictureFault, match="none of PNG, JPEG, WebP, GIF and BMP"):
        shown(data)


def test_a_picture_that_unfolds_to_gigabytes_is_refused_by_its_header() -> None:
    with pytest.raises(PictureFault, match=r"30000 × 30000 pixels.*media.pixels_max"):
        look(huge_png(), SETTINGS)


@pytest.mark.parametrize("size", [(5_000, 8_000), (33_554_433, 1), (1, 70_000)])
def test_a_picture_above_the_limit_is_refused(size: tuple[int, int]) -> None:
    with pytest.raises(PictureFault, match=r"media\.pixels_max"):
        look(huge_png(*size), SETTINGS)


def test_a_limit_is_met_exactly() -> None:
    data = picture(size=(8, 8))
    assert pixels(data, MediaSettings(pixels_max=64)).shape == (8, 8, 3)
    with pytest.raises(PictureFault):
        pixels(data, MediaSettings(pixels_max=63))


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP", "GIF", "BMP"])
def test_half_a_picture_is_refused(form: str) -> None:
    data = picture(size=(64, 64), form=form)
    with pytest.raises(PictureFault, match="damaged or not complete"):
        shown(data[: len(data) // 2])


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP", "GIF", "BMP"])
@pytest.mark.parametrize("length", [4, 12, 16, 24, 31])
def test_the_first_bytes_alone_are_refused(form: str, length: int) -> None:
    with pytest.raises(PictureFault):
        shown(picture(form=form)[:length])


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP", "GIF", "BMP"])
def test_noise_behind_a_header_is_a_picture_of_that_size_or_none(form: str) -> None:
    noise = np.random.default_rng(0).integers(0, 256, 4096, np.uint8).tobytes()
    for length in (30, 60, 200):
        with contextlib.suppress(PictureFault):
            assert shown(picture(form=form)[:length] + noise).shape == (30, 40, 3)


@pytest.mark.parametrize("form", ["GIF", "PNG", "WEBP"])
def test_a_picture_that_moves_is_refused(form: str) -> None:
    with pytest.raises(PictureFault, match="it moves"):
        shown(moving(form=form))


def test_a_webp_canvas_that_lies_is_refused_before_memory_is_taken() -> None:
    data = bytearray(moving(form="WEBP"))
    assert data[12:16] == b"VP8X"
    data[24:30] = struct.pack("<I", 16_382)[:3] + struct.pack("<I", 16_382)[:3]
    assert webp_size(bytes(data)) == (16_383, 16_383)
    with pytest.raises(PictureFault, match=r"media\.pixels_max"):
        shown(bytes(data))


def test_what_is_transparent_stands_on_white() -> None:
    image = Image.new("RGBA", (4, 4), (0, 0, 0, 0))
    assert (shown(saved(image)) == 255).all()


def test_a_palette_with_transparency_stands_on_white() -> None:
    image = Image.new("P", (4, 4), 0)
    image.putpalette([10, 20, 30] * 256)
    assert (shown(saved(image, transparency=0)) == 255).all()


def test_the_orientation_that_a_camera_noted_is_applied() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    array = shown(saved(Image.new("RGB", (40, 20)), "JPEG", exif=exif))
    assert array.shape == (40, 20, 3)


def test_gray_in_sixteen_bits_keeps_its_brightness() -> None:
    gray = Image.fromarray(np.full((4, 4), 0x8000, np.uint16))
    assert (shown(saved(gray)) == 0x80).all()


def test_a_picture_of_endless_scans_is_refused_before_it_is_decoded() -> None:
    data = saved(Image.new("RGB", (64, 64)), "JPEG", progressive=True)
    assert shown(data).shape == (64, 64, 3)
    scan = data.rindex(b"\xff\xda")
    with pytest.raises(PictureFault, match="scans"):
        shown(data[:-2] + data[scan:-2] * 200 + data[-2:])


def test_a_compressed_bmp_is_refused() -> None:
    data = bytearray(saved(Image.new("P", (8, 8)), "BMP"))
    data[30] = 1  # run lengths
    with pytest.raises(PictureFault, match="compressed BMP"):
        shown(bytes(data))
