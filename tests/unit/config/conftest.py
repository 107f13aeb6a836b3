"""A loader with one small engine, so that these tests depend on no real one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from pydantic import BaseModel, ConfigDict, Field, field_validator

from troth.config.loader import Loaded, load


class SmallOptions(BaseModel):
    """Options of the engine `small`."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    context_tokens: int = Field(512, ge=1, description="Tokens of one sequence.", json_schema_extra={"unit": "tokens"})
    slots: int = Field(4, ge=1, le=256, description="Sequences at the same time.")
    name: str = "small"

    @field_validator("slots")
    @classmethod
    def _even(cls, value: int) -> int:
        if value % 2:
            raise ValueError("slots come in pairs")
        return value


Load = Callable[..., Loaded]


@pytest.fixture
def loading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Load:
    """Loads the text of a file; without text, the defaults. The environment has no hub variables."""
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.delenv("HF_ENDPOINT", raising=False)
    monkeypatch.chdir(tmp_path)

    def loaded(
        text: str | bytes | None = None,
        *,
        sets: tuple[str, ...] = (),
        flags: Mapping[str, object] | None = None,
        engine_kinds: Mapping[str, tuple[str, ...]] | None = None,
    ) -> Loaded:
        path = None
        if text is not None:
            path = Path("troth.yaml")
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return load(
            path,
            sets=sets,
            flags=flags,
            engine_options=lambda *_: SmallOptions,
            engine_names=("llama_cpp", "small"),
            guardable=frozenset({"logit_bias", "seed"}),
            isolating={("llama_cpp", "chat"): {"name": "names"}},
            engine_kinds=engine_kinds,
        )

    return loaded


Refused = Callable[..., list[str]]


@pytest.fixture
def refused(loading: Load) -> Refused:
    """The faults of a configuration, each as its line of text."""

    def faults(text: str | bytes | None = None, **layers: object) -> list[str]:
        from troth.config.faults import ConfigFaults

        with pytest.raises(ConfigFaults) as caught:
            loading(text, **layers)
        return [str(fault) for fault in caught.value.faults]

    return faults
