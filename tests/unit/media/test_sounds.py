"""WAV files, mixed to one channel and brought to another rate."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from tests.support.projector import tone
from troth.media.sounds import SoundFault, samples


def wav(body: bytes, *, kind: int = 1, channels: int = 1, rate: int = 16_000, bits: int = 16) -> bytes:
    width = channels * bits // 8
    form = struct.pack("<HHIIHH", kind, channels, rate, rate * width, width, bits)
    chunks = b"fmt " + struct.pack("<I", len(form)) + form + b"data" + struct.pack("<I", len(body)) + body
    return b"RIFF" + struct.pack("<I", 4 + len(chunks)) + b"WAVE" + chunks


def test_a_tone_keeps_its_length_and_strength() -> None:
    heard = samples(tone(1.0), 16_000, 600)

    assert heard.shape == (16_000,)
    assert heard.dtype == np.float32
    assert abs(float(np.abs(heard).max()) - 12_000 / 32_768) < 0.01


@pytest.mark.parametrize("rate", [8_000, 44_100, 48_000])
def test_a_tone_of_another_rate_stays_the_same_tone(rate: int) -> None:
    heard = samples(tone(1.0, 440.0, rate), 16_000, 600)

    assert abs(len(heard) - 16_000) <= 2
    spectrum = np.abs(np.fft.rfft(heard))
    assert abs(int(spectrum.argmax()) - 440) <= 1


def test_what_a_lower_rate_cannot_carry_is_filtered_out() -> None:
    heard = samples(tone(1.0, 15_000.0, 48_000), 16_000, 600)
    assert float(np.abs(heard[200:-200]).max()) < 0.02


def test_every_width_of_a_number_is_read() -> None:
    half = {
        (1, 8): struct.pack("<2B", 192, 192),
        (1, 16): struct.pack("<2h", 16_384, 16_384),
        (1, 24): (4_194_304).to_bytes(3, "little") * 2,
        (1, 32): struct.pack("<2i", 1_073_741_824, 1_073_741_824),
        (3, 32): struct.pack("<2f", 0.5, 0.5),
        (3, 64): struct.pack("<2d", 0.5, 0.5),
    }
    for (kind, bits), body in half.items():
        assert samples(wav(body, kind=kind, bits=bits), 16_000, 1).tolist() == [0.5, 0.5]


def test_channels_are_mixed() -> None:
    assert samples(wav(struct.pack("<4h", 16_384, 0, 16_384, 0), channels=2), 16_000, 1).tolist() == [0.25, 0.25]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"ID3\4mp3", "only WAV"),
        (b"", "only WAV"),
        (b"RIFF\0\0\0\0WAVE", "not complete"),
        (wav(b"", kind=2), "neither PCM"),
        (wav(b"ab", bits=12), "neither PCM"),
        (wav(b"", channels=0), "0 channels"),
        (wav(b"", rate=0), "0 Hz"),
        (wav(b"ab"), "empty"),
        (wav(b"\0" * 64_004), "longer than 2 s"),
        (wav(struct.pack("<2f", float("nan"), 0.0), kind=3, bits=32), "no numbers"),
    ],
)
def test_what_cannot_be_heard_is_refused(data: bytes, words: str) -> None:
    with pytest.raises(SoundFault, match=words):
        samples(data, 16_000, 2)


def test_a_length_that_lies_gives_what_is_there() -> None:
    data = bytearray(wav(b"\1\0" * 10))
    data[40:44] = struct.pack("<I", 0xFFFFFFFF)
    assert len(samples(bytes(data), 16_000, 2)) == 10
