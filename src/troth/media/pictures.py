"""Pictures: judged by their first bytes, then decoded to RGB as a viewer would show them.

Nothing is decoded before the header has said what it is and how large: a file of a kilobyte may unfold to
gigabytes. What viewers do is done: the orientation that a camera noted is applied, and what is transparent
stands on white. A picture that moves is refused: a model would see one moment of it.
"""

from __future__ import annotations

import io
import struct
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from troth.media.settings import MediaSettings

Pixels = npt.NDArray[np.uint8]  # [height, width, 3]: red, green, blue

SIDE_MAX = 65_535
ORIENTATION = 0x0112  # the EXIF tag
# By first bytes: the name for Pillow, and the name for people.
SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "PNG"),
    (b"\xff\xd8\xff", "JPEG"),
    (b"GIF87a", "GIF"),
    (b"GIF89a", "GIF"),
    (b"BM", "BMP"),
)
# Each scan of a progressive JPEG is decoded over the whole picture, and some bytes are enough for one.
SCAN, SCANS_MAX = b"\xff\xda", 100
RUN_LENGTHS = (1, 2)  # compressions of BMP that Pillow undoes slowly, for pictures of any size out of some bytes
# What Pillow raises for files that are damaged or lie about themselves.
DAMAGED = (OSError, ValueError, SyntaxError, TypeError, LookupError, EOFError, OverflowError, struct.error, zlib.error)


class PictureFault(Exception):
    """A picture that cannot be used. The text says why, for the caller."""


@dataclass(frozen=True, slots=True)
class Header:
    """What a file says of itself before anything is decoded."""

    form: str
    width: int
    height: int


def look(data: bytes, settings: MediaSettings) -> Header:
    """The header of the picture, which is of a known kind and not too large. Raises PictureFault."""
    form = form_of(data)
    if form is None:
        raise PictureFault("it is none of PNG, JPEG, WebP, GIF and BMP")
    if form == "JPEG" and data.count(SCAN) > SCANS_MAX:
        raise PictureFault(f"it comes in more than {SCANS_MAX} scans")
    if form == "BMP" and int.from_bytes(data[30:34], "little") in RUN_LENGTHS:
        raise PictureFault("it is a compressed BMP")
    width, height = webp_size(data) if form == "WEBP" else _size(data, form)
    if width < 1 or height < 1:
        raise PictureFault("it has no pixels")
    if max(width, height) > SIDE_MAX or width * height > settings.pixels_max:
        raise PictureFault(f"it has {width} × {height} pixels, more than {settings.pixels_max} (media.pixels_max)")
    return Header(form, width, height)


def pixels(data: bytes, settings: MediaSettings) -> Pixels:
    """The picture as a viewer would show it. Takes up to a second; raises PictureFault."""
    header = look(data, settings)
    from PIL import ImageOps

    try:
        with _pillow().open(io.BytesIO(data), formats=_readers(header.form)) as image:
            if header.form in ("GIF", "PNG", "WEBP") and getattr(image, "is_animated", False):
                raise PictureFault("it moves; send one picture of it")
            if image.size != (header.width, header.height):
                raise PictureFault("its header contradicts itself")
            image.load()
            shown = _on_white(_upright(image, ImageOps))
            return np.ascontiguousarray(np.asarray(shown, np.uint8))
    except PictureFault:
        raise
    except DAMAGED as error:
        raise PictureFault("it is damaged or not complete") from error


def form_of(data: bytes) -> str | None:
    """The kind of picture by its first bytes, or None. Text, SVG above all, is none."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "WEBP"
    return next((form for signature, form in SIGNATURES if data.startswith(signature)), None)


def webp_size(data: bytes) -> tuple[int, int]:
    """Width and height of a WebP file, read by hand: Pillow takes the memory of a whole picture when it opens one.

    Source: RFC 9649, sections 2.5 to 2.7. Raises PictureFault.
    """
    kind, body = data[12:16], data[20:30]
    if len(body) < 10:
        raise PictureFault("it is damaged or not complete")
    if kind == b"VP8X":
        return 1 + int.from_bytes(body[4:7], "little"), 1 + int.from_bytes(body[7:10], "little")
    if kind == b"VP8L":
        bits = int.from_bytes(body[1:5], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if kind == b"VP8 ":
        return int.from_bytes(body[6:8], "little") & 0x3FFF, int.from_bytes(body[8:10], "little") & 0x3FFF
    raise PictureFault("it is damaged or not complete")


def _pillow() -> Any:
    """The library, imported at the first picture. Its own limit of pixels is off: `media.pixels_max` holds instead."""
    from PIL import Image

    Image.MAX_IMAGE_PIXELS = None
    return Image


def _readers(form: str) -> tuple[str, ...]:
    return ("JPEG", "MPO") if form == "JPEG" else (form,)


def _size(data: bytes, form: str) -> tuple[int, int]:
    """What Pillow reads from the header. Nothing is decoded."""
    try:
        with _pillow().open(io.BytesIO(data), formats=_readers(form)) as image:
            width, height = image.size
            return int(width), int(height)
    except DAMAGED as error:
        raise PictureFault("it is damaged or not complete") from error


def _upright(image: Any, operations: Any) -> Any:
    """The picture turned as its camera noted, if it noted something that can be read."""
    try:
        noted = image.getexif().get(ORIENTATION, 1)
    except DAMAGED:
        return image
    return operations.exif_transpose(image) if noted in range(2, 9) else image


def _on_white(image: Any) -> Any:
    """The picture in RGB, on white where it is transparent."""
    if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
        layer = image.convert("RGBA")
        ground = _pillow().new("RGBA", layer.size, (255, 255, 255, 255))
        return _pillow().alpha_composite(ground, layer).convert("RGB")
    if image.mode in ("I;16", "I;16B", "I;16L", "I"):  # sixteen bits a pixel: Pillow would cut off what is above eight
        return _pillow().fromarray((np.asarray(image).astype(np.uint32) >> 8).astype(np.uint8)).convert("RGB")
    return image.convert("RGB")
