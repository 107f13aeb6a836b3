"""What went wrong with a model file, for whoever runs the server."""

from __future__ import annotations


class SourceFault(Exception):
    """A source that gives no usable file; `message` says why and what would help."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
