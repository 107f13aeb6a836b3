"""Adapters for the embedded model, made of chance: small, quickly made, and strong enough to change an answer."""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np

ARCHITECTURE = "llama"
LAYERS, WIDTH, KEYS = 30, 576, 192  # of SmolLM2-135M
RANK = 4


def make_lora(path: Path, *, seed: int) -> Path:
    """A LoRA adapter of the queries and values of some layers, in this file."""
    chance = np.random.default_rng(seed)
    writer = gguf.GGUFWriter(path, ARCHITECTURE)
    writer.add_type(gguf.GGUFType.ADAPTER)
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", float(RANK))
    for layer in range(0, LAYERS, 5):
        for name, width in (("attn_q", WIDTH), ("attn_v", KEYS)):
            inner = chance.normal(0, 0.3, (RANK, WIDTH)).astype(np.float32)
            outer = chance.normal(0, 0.3, (width, RANK)).astype(np.float32)
            writer.add_tensor(f"blk.{layer}.{name}.weight.lora_a", inner)
            writer.add_tensor(f"blk.{layer}.{name}.weight.lora_b", outer)
    return _written(writer, path)


def make_control_vector(path: Path, *, seed: int, width: int = WIDTH) -> Path:
    """A control vector with a direction for every layer but the first, in this file."""
    chance = np.random.default_rng(seed)
    writer = gguf.GGUFWriter(path, "controlvector")
    for layer in range(1, LAYERS):
        writer.add_tensor(f"direction.{layer}", chance.normal(0, 1, width).astype(np.float32))
    return _written(writer, path)


def _written(writer: gguf.GGUFWriter, path: Path) -> Path:
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
