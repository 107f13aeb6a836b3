"""Sound: WAV files, mixed to one channel and brought to the rate that the model hears at."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Samples = npt.NDArray[np.float32]  # [samples], from -1 to 1

PCM, FLOAT, EXTENSIBLE = 1, 3, 0xFFFE  # WAVE_FORMAT_…
RATE_MIN, RATE_MAX, CHANNELS_MAX = 1_000, 384_000, 16
TAPS = 64  # of the low-pass in front of a lower rate, to either side


class SoundFault(Exception):
    """A sound that cannot be used. The text says why, for the caller."""


@dataclass(frozen=True, slots=True)
class _Form:
    kind: int
    channels: int
    rate: int  # samples a second
    bits: int


def samples(data: bytes, rate: int, seconds_max: float) -> Samples:
    """The sound as one channel of `rate` samples a second. Raises SoundFault."""
    form, body = _chunks(data)
    width = form.channels * form.bits // 8
    count = len(body) // width
    if count < 2:
        raise SoundFault("it is empty")
    if count / form.rate > seconds_max:
        raise SoundFault(f"it lasts longer than {seconds_max:g} s (media.audio_seconds_max)")
    mono = _numbers(body[: count * width], form).reshape(count, form.channels).mean(axis=1, dtype=np.float32)
    if not np.isfinite(mono).all():
        raise SoundFault("it has samples that are no numbers")
    return _at_rate(np.clip(mono, -1.0, 1.0), form.rate, rate)


def _chunks(data: bytes) -> tuple[_Form, bytes]:
    if data[:4] != b"RIFF" or data[8:12] != b"WAVE":
        raise SoundFault("only WAV files are read")
    form: _Form | None = None
    at = 12
    while at + 8 <= len(data):
        name, size = data[at : at + 4], int.from_bytes(data[at + 4 : at + 8], "little")
        body = data[at + 8 : at + 8 + size]
        if name == b"fmt ":
            form = _form(body)
        elif name == b"data":
            if form is None:
                raise SoundFault("its WAV file has no format in front of the sound")
            return form, body
        at += 8 + size + size % 2
    raise SoundFault("its WAV file is not complete")


def _form(body: bytes) -> _Form:
    if len(body) < 16:
        raise SoundFault("its WAV file is damaged")
    kind, channels, rate, _, _, bits = struct.unpack("<HHIIHH", body[:16])
    if kind == EXTENSIBLE and len(body) >= 26:
        (kind,) = struct.unpack("<H", body[24:26])
    if (kind, bits) not in {(PCM, 8), (PCM, 16), (PCM, 24), (PCM, 32), (FLOAT, 32), (FLOAT, 64)}:
        raise SoundFault("its WAV file is neither PCM of 8 to 32 bits nor of floating-point numbers")
    if not (1 <= channels <= CHANNELS_MAX and RATE_MIN <= rate <= RATE_MAX):
        raise SoundFault(f"its WAV file has {channels} channels at {rate} Hz")
    return _Form(kind, channels, rate, bits)


def _numbers(body: bytes, form: _Form) -> Samples:
    if form.kind == FLOAT:
        return np.frombuffer(body, f"<f{form.bits // 8}").astype(np.float32)
    if form.bits == 8:
        return (np.frombuffer(body, np.uint8).astype(np.float32) - 128.0) / 128.0
    if form.bits == 24:
        bytes_of = np.frombuffer(body, np.uint8).reshape(-1, 3).astype(np.int32)
        whole = bytes_of[:, 0] | bytes_of[:, 1] << 8 | bytes_of[:, 2] << 16
        return ((whole ^ 0x800000) - 0x800000).astype(np.float32) / 8388608.0
    return np.frombuffer(body, f"<i{form.bits // 8}").astype(np.float32) / float(1 << (form.bits - 1))


def _at_rate(sound: Samples, rate: int, wanted: int) -> Samples:
    """The sound at another rate: what the lower one cannot carry is filtered out, then points are taken between."""
    if rate == wanted:
        return sound
    if wanted < rate:
        at = np.arange(-TAPS, TAPS + 1, dtype=np.float64)
        filter_ = np.sinc(at * wanted / rate) * np.hamming(2 * TAPS + 1)
        sound = np.convolve(sound, (filter_ / filter_.sum()).astype(np.float32), mode="same")[: len(sound)]
    count = max(2, int(len(sound) * wanted / rate))
    places = np.arange(count, dtype=np.float64) * (rate / wanted)
    return np.interp(places, np.arange(len(sound)), sound).astype(np.float32)
