"""What all settings are made of: the base of their sections, and the kinds of text."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

Name = Annotated[str, Field(pattern=r"^\S(.*\S)?$", json_schema_extra={"form": "text, not empty, no space around it"})]


def unit(name: str) -> dict[str, Any]:
    """The `json_schema_extra` of a setting that is counted in `name`."""
    return {"unit": name}


class Section(BaseModel):
    """Base of every section: frozen, strictly typed, no unknown keys, no NaN."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False, protected_namespaces=())
