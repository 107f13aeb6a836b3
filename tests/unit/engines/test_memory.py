"""The estimate before a load, and the refusal that says what to lower."""

from __future__ import annotations

from pathlib import Path

import pytest

from troth.engines.llama_cpp import LlamaCpp, LlamaCppOptions
from troth.engines.llama_cpp.memory import Shape, attention_widths, available_bytes, cache_types, check, head_width
from troth.errors import EngineFault

SHAPE = Shape(
    layers=30,
    key_width=192,
    value_width=192,
    vocabulary=49152,
    slots=4,
    context_tokens=1024,
    batch_tokens=512,
    key_type="f16",
    value_type="f16",
)


def test_the_cache_is_layers_times_tokens_times_widths() -> None:
    assert SHAPE.need(0).cache_bytes == 30 * 4 * 1024 * (192 + 192) * 2


def test_widths_come_from_the_shared_heads() -> None:
    known = {"llama.attention.head_count": 9, "llama.attention.head_count_kv": 3}

    assert attention_widths("llama", known.get, 576) == (192, 192)
    assert attention_widths("llama", (known | {"llama.attention.key_length": 128}).get, 576) == (384, 192)


def test_what_fits_passes_and_what_does_not_is_refused_with_the_sums() -> None:
    need = SHAPE.need(100)
    check(Path("m.gguf"), need, SHAPE, need.total_bytes)
    check(Path("m.gguf"), need, SHAPE, None)

    with pytest.raises(EngineFault, match=r"4 x 1024 tokens .*Lower options.context_tokens"):
        check(Path("m.gguf"), need, SHAPE, need.total_bytes - 1)


def test_a_container_s_limit_counts_when_it_is_lower(tmp_path: Path) -> None:
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal:  9 kB\nMemAvailable:  4096 kB\n")
    assert available_bytes(meminfo, tmp_path) == 4096 * 1024

    (tmp_path / "memory.max").write_text("2000000\n")
    (tmp_path / "memory.current").write_text("500000\n")
    assert available_bytes(meminfo, tmp_path) == 1_500_000
    (tmp_path / "memory.max").write_text("max\n")
    assert available_bytes(meminfo, tmp_path) == 4096 * 1024
    assert available_bytes(tmp_path / "none", tmp_path / "none") is None


def test_a_context_beyond_all_memory_is_refused_before_it_is_made(embedded_model: Path) -> None:
    options = LlamaCppOptions(context_tokens=16_000_000, slots=256)

    with pytest.raises(EngineFault, match="does not fit"):
        LlamaCpp(embedded_model, options).load(lambda fraction: None)


@pytest.mark.parametrize(
    ("exact", "key", "value", "width", "types"),
    [
        (False, None, None, 64, ("f16", "f16")),
        (False, "q8_0", None, 64, ("q8_0", "f16")),
        (True, None, None, 64, ("q8_0", "f16")),
        (True, None, None, 80, ("f16", "bf16")),
        (True, "f16", None, 64, ("f16", "bf16")),
        (True, None, "bf16", 64, ("q8_0", "bf16")),
        (True, "bf16", None, 64, ("bf16", "f16")),
    ],
)
def test_exact_caches_have_keys_and_values_of_two_formats(
    exact: bool, key: str | None, value: str | None, width: int, types: tuple[str, str]
) -> None:
    assert cache_types(exact=exact, key=key, value=value, head_width=width) == types


@pytest.mark.parametrize(("metadata", "width"), [({"a.attention.key_length": 128}, 128), ({}, 64)])
def test_the_width_of_a_head_is_in_the_file_or_a_share_of_the_embedding(metadata: dict[str, int], width: int) -> None:
    assert head_width("a", {"a.attention.head_count": 9, **metadata}.get, 576) == width
