"""Pictures without a library of pictures: PNG files of one colour."""

from __future__ import annotations

import base64
import struct
import zlib


def plain_png(width: int = 40, height: int = 30, color: tuple[int, int, int] = (200, 30, 30)) -> bytes:
    """A PNG file of one colour."""
    rows = (b"\0" + bytes(color) * width) * height
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", zlib.compress(rows)) + _chunk(b"IEND", b"")


def huge_png(width: int = 30_000, height: int = 30_000) -> bytes:
    """A PNG file of some hundred bytes that says it has so many pixels."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", b"x") + _chunk(b"IEND", b"")


def data_url(data: bytes, media_type: str = "image/png") -> str:
    """The bytes as a data URL."""
    return f"data:{media_type};base64,{base64.b64encode(data).decode()}"


def _chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
