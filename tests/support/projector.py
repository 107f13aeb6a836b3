"""Projectors with random weights, a megabyte or two each: real enough for libmtmd, and blind."""

from __future__ import annotations

import io
import math
import struct
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from PIL import Image

TEXT_WIDTH = 576  # of SmolLM2-135M
WIDTH, FEED, HEADS, LAYERS, PATCH = 64, 128, 4, 2, 14
SIDE = 56  # pixels
STACK = 4  # frames of sound for a token; with others libmtmd miscounts the tokens of a chunk, and ends the process
IMAGE_TOKENS = {"mlp": 16, "tiles": 16, "gemma3": 4}  # of a picture, or of one of its slices


def make_projector(kind: str, path: Path, *, seed: int = 1, hears: bool = False) -> Path:
    """A projector file: `mlp` as LLaVA's, `tiles` that cuts slices, `gemma3` whose tokens look at each other,
    `idefics3` that puts tokens around them which the embedded model does not have."""
    random = np.random.default_rng(seed)
    writer = gguf.GGUFWriter(path, "clip")
    writer.add_bool("clip.has_vision_encoder", True)
    writer.add_bool("clip.use_gelu", True)
    writer.add_string("clip.vision.projector_type", "mlp" if kind == "tiles" else kind)
    _shape(writer, "vision")
    writer.add_uint32("clip.vision.image_size", SIDE)
    writer.add_uint32("clip.vision.patch_size", PATCH)
    writer.add_array("clip.vision.image_mean", [0.5, 0.5, 0.5])
    writer.add_array("clip.vision.image_std", [0.5, 0.5, 0.5])
    if kind == "tiles":
        writer.add_array("clip.vision.image_grid_pinpoints", [SIDE, 2 * SIDE, 2 * SIDE, SIDE, 2 * SIDE, 2 * SIDE])
        writer.add_string("clip.vision.mm_patch_merge_type", "spatial_unpad")
    if kind in ("gemma3", "idefics3"):
        writer.add_uint32("clip.vision.projector.scale_factor", 2)
    if kind == "idefics3":
        writer.add_uint32("clip.vision.preproc_image_size", 2 * SIDE)

    def add(name: str, *shape: int) -> None:
        writer.add_tensor(name, random.normal(0, 0.3, shape).astype(np.float32))

    add("v.patch_embd.weight", WIDTH, 3, PATCH, PATCH)
    add("v.position_embd.weight", (SIDE // PATCH) ** 2, WIDTH)
    _layers(add, "v")
    add("v.post_ln.weight", WIDTH)
    add("v.post_ln.bias", WIDTH)
    if kind in ("mlp", "tiles"):
        add("mm.0.weight", TEXT_WIDTH, WIDTH)
        add("mm.0.bias", TEXT_WIDTH)
        add("mm.2.weight", TEXT_WIDTH, TEXT_WIDTH)
        add("mm.2.bias", TEXT_WIDTH)
    elif kind == "gemma3":
        add("mm.input_projection.weight", WIDTH, TEXT_WIDTH)
        add("mm.soft_emb_norm.weight", WIDTH)
    else:
        add("mm.model.fc.weight", TEXT_WIDTH, WIDTH * 4)
    if hears:
        writer.add_string("clip.audio.projector_type", "ultravox")
        _ear(writer, add)
    return _written(writer, path)


def make_ear(path: Path, *, seed: int = 1) -> Path:
    """A projector of Ultravox's kind, which hears and does not see."""
    random = np.random.default_rng(seed)
    writer = gguf.GGUFWriter(path, "clip")
    writer.add_bool("clip.use_gelu", True)
    writer.add_string("clip.projector_type", "ultravox")

    def add(name: str, *shape: int) -> None:
        writer.add_tensor(name, random.normal(0, 0.3, shape).astype(np.float32))

    _ear(writer, add)
    return _written(writer, path)


def _ear(writer: Any, add: Any) -> None:
    writer.add_bool("clip.has_audio_encoder", True)
    _shape(writer, "audio")
    writer.add_uint32("clip.audio.num_mel_bins", 80)
    writer.add_uint32("clip.audio.projector.stack_factor", STACK)
    add("a.conv1d.1.weight", WIDTH, 80, 3)
    add("a.conv1d.1.bias", WIDTH, 1)
    add("a.conv1d.2.weight", WIDTH, WIDTH, 3)
    add("a.conv1d.2.bias", WIDTH, 1)
    add("a.position_embd.weight", 1500, WIDTH)
    _layers(add, "a")
    add("a.post_ln.weight", WIDTH)
    add("a.post_ln.bias", WIDTH)
    add("mm.a.norm_pre.weight", WIDTH * STACK)
    add("mm.a.mlp.1.weight", 2 * WIDTH, WIDTH * STACK)
    add("mm.a.norm_mid.weight", WIDTH)
    add("mm.a.mlp.2.weight", TEXT_WIDTH, WIDTH)


def _shape(writer: Any, prefix: str) -> None:
    writer.add_uint32(f"clip.{prefix}.embedding_length", WIDTH)
    writer.add_uint32(f"clip.{prefix}.feed_forward_length", FEED)
    writer.add_uint32(f"clip.{prefix}.attention.head_count", HEADS)
    writer.add_uint32(f"clip.{prefix}.block_count", LAYERS)
    writer.add_uint32(f"clip.{prefix}.projection_dim", TEXT_WIDTH)
    writer.add_float32(f"clip.{prefix}.attention.layer_norm_epsilon", 1e-5)


def _layers(add: Any, prefix: str) -> None:
    for layer in range(LAYERS):
        at = f"{prefix}.blk.{layer}"
        for name in ("attn_q", "attn_k", "attn_v", "attn_out"):
            add(f"{at}.{name}.weight", WIDTH, WIDTH)
            if (prefix, name) != ("a", "attn_k"):  # keys have no bias in Whisper
                add(f"{at}.{name}.bias", WIDTH)
        add(f"{at}.ffn_up.weight", FEED, WIDTH)
        add(f"{at}.ffn_up.bias", FEED)
        add(f"{at}.ffn_down.weight", WIDTH, FEED)
        add(f"{at}.ffn_down.bias", WIDTH)
        for name in ("ln1", "ln2"):
            add(f"{at}.{name}.weight", WIDTH)
            add(f"{at}.{name}.bias", WIDTH)


def _written(writer: Any, path: Path) -> Path:
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


# ---- what to show -----------------------------------------------------------------------------


def picture(color: tuple[int, int, int] = (200, 30, 30), size: tuple[int, int] = (40, 30), form: str = "PNG") -> bytes:
    """A file with a picture of a disc."""
    image = Image.new("RGB", size, (20, 20, 90))
    width, height = size
    for x in range(width):
        for y in range(height):
            if (x - width / 2) ** 2 + (y - height / 2) ** 2 < min(size) ** 2 / 9:
                image.putpixel((x, y), color)
    file = io.BytesIO()
    image.save(file, form)
    return file.getvalue()


def moving(frames: int = 3, form: str = "GIF") -> bytes:
    """A file with a picture that moves."""
    images = [Image.new("RGB", (8, 8), (80 * number % 256, 0, 0)) for number in range(frames)]
    file = io.BytesIO()
    images[0].save(file, form, save_all=True, append_images=images[1:], duration=50, loop=0)
    return file.getvalue()


def tone(seconds: float = 1.0, hertz: float = 440.0, rate: int = 16_000) -> bytes:
    """A WAV file, 16 bits, one channel."""
    count = int(seconds * rate)
    body = b"".join(struct.pack("<h", int(12_000 * math.sin(2 * math.pi * hertz * n / rate))) for n in range(count))
    head = struct.pack(
        "<4sI4s4sIHHIIHH4sI",
        b"RIFF",
        36 + len(body),
        b"WAVE",
        b"fmt ",
        16,
        1,
        1,
        rate,
        2 * rate,
        2,
        16,
        b"data",
        len(body),
    )
    return head + body
