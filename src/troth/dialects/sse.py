"""Server-sent events as bytes: one compact JSON object a frame.

Non-ASCII text goes out as UTF-8, except three characters that JSON allows in a string and that some
clients' line splitters (`str.splitlines`, httpx's `iter_lines`) take for the end of the line.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from json.encoder import encode_basestring
from typing import Any

KEEPALIVE = b": keepalive\n\n"
DONE = b"data: [DONE]\n\n"
_LINE_ENDS = {0x85: "\\u0085", 0x2028: "\\u2028", 0x2029: "\\u2029"}
_compact = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def quoted(text: str) -> str:
    """`text` as a JSON string on one line, whatever a client counts as a line."""
    literal = encode_basestring(text)
    return literal if literal.isascii() else literal.translate(_LINE_ENDS)


def json_line(body: Mapping[str, Any]) -> str:
    """`body` as compact JSON on one line."""
    line = _compact(body)
    return line if line.isascii() else line.translate(_LINE_ENDS)


def event_frame(name: str, body: Mapping[str, Any]) -> bytes:
    """`body` as one `data:` frame with the event's name before it."""
    return f"event: {name}\ndata: {json_line(body)}\n\n".encode()


def data_frame(body: Mapping[str, Any]) -> bytes:
    """`body` as one `data:` frame."""
    return f"data: {json_line(body)}\n\n".encode()
