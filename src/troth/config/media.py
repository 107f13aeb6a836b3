"""The section `media`: pictures and sound in requests."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from troth.config.section import Section, unit

HostName = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?$",
        json_schema_extra={"form": "the name of a host, as example.org or example.org:8080"},
    ),
]


class MediaSettings(Section):
    """Pictures and sound in requests, for models with a projector (options.mmproj)."""

    allowed_hosts: tuple[HostName, ...] = Field(
        (),
        description="Hosts from which pictures are fetched, each as name or name:port; with none, only data URLs are "
        "taken. Addresses of private networks are never asked, whoever names them.",
    )
    bytes_max: int = Field(
        20971520, ge=1024, json_schema_extra=unit("bytes"), description="Largest picture or sound, as it is sent."
    )
    pixels_max: int = Field(
        33554432, ge=1, json_schema_extra=unit("pixels"), description="Largest picture; judged before it is decoded."
    )
    images_max: int = Field(32, ge=0, json_schema_extra=unit("pictures"), description="Most pictures of one request.")
    sounds_max: int = Field(4, ge=0, json_schema_extra=unit("sounds"), description="Most sounds of one request.")
    audio_seconds_max: float = Field(600.0, gt=0, json_schema_extra=unit("seconds"), description="Longest sound.")
    fetch_seconds_max: float = Field(
        10.0, gt=0, json_schema_extra=unit("seconds"), description="Longest fetch of one picture, redirects included."
    )
    redirects_max: int = Field(
        3, ge=0, le=20, json_schema_extra=unit("redirects"), description="Most redirects of one fetch; each is judged."
    )
    cache_bytes: int = Field(
        268435456,
        ge=0,
        json_schema_extra=unit("bytes"),
        description="Memory of each model for what it has seen, so that no picture is encoded twice; 0 is off.",
    )
    threads: int = Field(
        2, ge=1, le=64, json_schema_extra=unit("threads"), description="Threads that decode pictures and sound."
    )
