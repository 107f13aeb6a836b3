"""Will it fit? The memory that a model needs, and what this process may still have, before anything is taken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from troth.errors import EngineFault

# Bytes for 32 values of a cache format (ggml's block sizes).
BYTES_OF_32 = {"f32": 128, "f16": 64, "bf16": 64, "q8_0": 34}
COMPUTE_ROW_BYTES = 4  # float32
Q8_BLOCK = 32  # values
MEMINFO, CGROUP = Path("/proc/meminfo"), Path("/sys/fs/cgroup")


@dataclass(frozen=True, slots=True)
class Need:
    """What a model takes, in bytes."""

    weights_bytes: int
    cache_bytes: int
    compute_bytes: int

    @property
    def total_bytes(self) -> int:
        """All of it."""
        return self.weights_bytes + self.cache_bytes + self.compute_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The sizes that decide about memory. Widths are values per token and layer."""

    layers: int
    key_width: int
    value_width: int
    vocabulary: int
    slots: int
    context_tokens: int
    batch_tokens: int
    key_type: str
    value_type: str

    def need(self, weights_bytes: int) -> Need:
        """An estimate that is right for attention caches and errs by the small buffers of the graph."""
        tokens = self.slots * self.context_tokens
        per_token = self.key_width * BYTES_OF_32[self.key_type] + self.value_width * BYTES_OF_32[self.value_type]
        cache_bytes = self.layers * tokens * per_token // 32
        return Need(weights_bytes, cache_bytes, self.batch_tokens * self.vocabulary * COMPUTE_ROW_BYTES)


def attention_widths(arch: str, number: Callable[[str], int | None], embedding: int) -> tuple[int, int]:
    """Key and value width of one layer from the GGUF's metadata, `number` reading a key's value."""
    heads = number(f"{arch}.attention.head_count") or 1
    shared = number(f"{arch}.attention.head_count_kv") or heads
    head = embedding // heads
    key = number(f"{arch}.attention.key_length") or head
    value = number(f"{arch}.attention.value_length") or head
    return shared * key, shared * value


def head_width(arch: str, number: Callable[[str], int | None], embedding: int) -> int:
    """Values of one head's key, from the same metadata."""
    return number(f"{arch}.attention.key_length") or embedding // (number(f"{arch}.attention.head_count") or 1)


def cache_types(*, exact: bool, key: str | None, value: str | None, head_width: int) -> tuple[str, str]:
    """The number formats of cached keys and values: the operator's, else the fastest that do what is asked.

    Exact means that keys and values differ in format: then llama.cpp adds up attention row by row, whatever the
    batch. Of such pairs q8_0 with f16 is the fastest measured, in prompts and in answers; its distance from the
    usual pair is that of f16 with bf16 (relative entropy 5.0e-3 and 4.4e-3 on SmolLM2). q8_0 needs whole blocks.
    """
    if not exact:
        return key or "f16", value or "f16"
    key = key or ("q8_0" if head_width % Q8_BLOCK == 0 else "f16")
    return key, value or ("bf16" if key == "f16" else "f16")


def available_bytes(meminfo: Path = MEMINFO, cgroup: Path = CGROUP) -> int | None:
    """What this process may still take: the machine's free memory, or less in a container. None if unknown."""
    known = []
    if meminfo.exists():
        fields = dict(line.split(":", 1) for line in meminfo.read_text().splitlines() if ":" in line)
        if "MemAvailable" in fields:
            known.append(int(fields["MemAvailable"].split()[0]) * 1024)
    limit, used = cgroup / "memory.max", cgroup / "memory.current"
    if limit.exists() and used.exists() and (text := limit.read_text().strip()).isdigit():
        known.append(max(0, int(text) - int(used.read_text())))
    return min(known, default=None)


def check(path: Path, need: Need, shape: Shape, available: int | None) -> None:
    """Nothing happens when it fits, or when nobody knows. Raises EngineFault with the sums and the cure."""
    if available is None or need.total_bytes <= available:
        return
    raise EngineFault(
        f"{path.name} does not fit: weights {_gb(need.weights_bytes)}, cache of {shape.slots} x {shape.context_tokens} "
        f"tokens {_gb(need.cache_bytes)}, compute {_gb(need.compute_bytes)}, together {_gb(need.total_bytes)}; "
        f"{_gb(available)} is available. Lower options.context_tokens or options.slots, choose a smaller "
        f"options.cache_type_k and cache_type_v, or set options.memory_check to false."
    )


def _gb(count: int) -> str:
    return f"{count / 1e9:.2f} GB"
