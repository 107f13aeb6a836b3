"""What the media room is told at the start."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaSettings:
    """The knobs of this room; names are those of the config file, section `media`."""

    allowed_hosts: tuple[str, ...] = ()
    bytes_max: int = 20 << 20  # of one picture or sound, as it was sent
    pixels_max: int = 33_554_432
    images_max: int = 32  # of one request
    sounds_max: int = 4
    audio_seconds_max: float = 600.0
    fetch_seconds_max: float = 10.0
    redirects_max: int = 3
    cache_bytes: int = 256 << 20  # for what was seen, by model
    threads: int = 2
    queue_max: int = 64  # requests that wait for a thread; one more gets 429
