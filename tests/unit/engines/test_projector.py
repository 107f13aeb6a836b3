"""Projectors through libmtmd on the real embedded model; their weights are random, so answers mean nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.projector import IMAGE_TOKENS, TEXT_WIDTH, make_ear, make_projector, picture, tone
from troth.domain import Embeddings, Sampling
from troth.engines.llama_cpp import LlamaCpp, LlamaCppOptions
from troth.engines.llama_cpp.decoder import LlamaDecoder
from troth.engines.llama_cpp.projector import Projector
from troth.engines.sight import SightFault
from troth.errors import EngineFault
from troth.media.pictures import Pixels, pixels
from troth.media.settings import MediaSettings
from troth.media.sounds import samples

OPTIONS = LlamaCppOptions(context_tokens=512, slots=2, determinism="fast", threads=2)
RED, BLUE = ((200, 0, 0), (0, 0, 200))


def shown(color: tuple[int, int, int] = RED, size: tuple[int, int] = (40, 30)) -> Pixels:
    return pixels(picture(color, size), MediaSettings())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("projectors")


@pytest.fixture(scope="module")
def decoder(embedded_model: Path) -> Iterator[LlamaDecoder]:
    loaded = LlamaCpp(embedded_model, OPTIONS).load(lambda fraction: None)
    yield loaded
    loaded.close()


def sight(decoder: LlamaDecoder, path: Path, **options: Any) -> Projector:
    """The projector, for this model."""
    decoder.see_with(path, OPTIONS.model_copy(update=options))
    assert decoder.sight is not None
    return decoder.sight


@pytest.fixture(scope="module")
def eye(decoder: LlamaDecoder, folder: Path) -> Iterator[Projector]:
    made = sight(decoder, make_projector("mlp", folder / "mlp.gguf"))
    yield made
    made.close()


def test_a_picture_is_looked_at_without_being_encoded(eye: Projector) -> None:
    looked = eye.look(shown())

    assert [(part.count, part.words, part.is_whole) for part in looked.parts] == [(IMAGE_TOKENS["mlp"], None, False)]
    assert (eye.vision, eye.audio) == (True, False)


def test_the_same_picture_gives_the_same_embeddings_and_another_others(eye: Projector) -> None:
    first, again, other = (eye.encode(eye.look(shown(color)))[0] for color in (RED, RED, BLUE))

    assert first.shape == (IMAGE_TOKENS["mlp"], TEXT_WIDTH)
    assert (first == again).all()
    assert not np.allclose(first, other)


@pytest.mark.parametrize("size", [(1, 1), (1, 100), (100, 1), (3000, 30), (2, 2), (333, 777)])
def test_pictures_of_any_shape_are_read(eye: Projector, size: tuple[int, int]) -> None:
    assert eye.encode(eye.look(np.zeros((size[1], size[0], 3), np.uint8)))[0].shape[0] == IMAGE_TOKENS["mlp"]


@pytest.mark.parametrize("shape", [(1, 101, 3), (10_100, 100, 3), (1, 70_000, 3)])
def test_a_strip_is_refused_before_the_library_sees_it(eye: Projector, shape: tuple[int, ...]) -> None:
    with pytest.raises(SightFault):
        eye.look(np.zeros(shape, np.uint8))


def test_sound_is_refused_by_a_projector_that_sees(eye: Projector) -> None:
    with pytest.raises(SightFault):
        eye.look(np.zeros(16_000, np.float32))


def answer(
    decoder: LlamaDecoder, seen: Embeddings, *, is_whole: bool = False, chunk: int = 64, slot: int = 0
) -> list[int]:
    """Twelve greedy tokens behind some words, a picture and some words."""
    decoder.forget(slot, 0)
    vocabulary, position = decoder.vocabulary, 0
    before = vocabulary.tokenize("<|im_start|>user\nLook: ", special=True, bos=False)
    after = vocabulary.tokenize(" What is it?<|im_end|>\n<|im_start|>assistant\n", special=True, bos=False)
    decoder.begin()
    decoder.add(slot, before, 0, rows=0)
    decoder.decode()
    position += len(before)
    for start in range(0, len(seen), chunk):
        piece = seen[start : start + chunk]
        decoder.begin()
        decoder.add_seen(slot, piece, position, rows=0, is_whole=is_whole)
        decoder.decode()
        position += len(piece)
    sampler = decoder.sampler(Sampling(temperature=0), seed=1, prompt=before, bias={})
    pending, tokens = after.tolist(), list[int]()
    while len(tokens) < 12:
        decoder.begin()
        row = decoder.add(slot, pending, position, rows=1)
        decoder.decode()
        position += len(pending)
        pending = decoder.pick([(sampler, row)])
        tokens += pending
    sampler.close()
    return tokens


def test_an_answer_depends_on_the_picture_and_repeats_itself(decoder: LlamaDecoder, eye: Projector) -> None:
    red, blue = (eye.encode(eye.look(shown(color)))[0] for color in (RED, BLUE))

    first = answer(decoder, red)
    assert answer(decoder, red, slot=1) == first
    assert answer(decoder, blue) != first


def test_words_after_a_picture_are_words_again(decoder: LlamaDecoder, eye: Projector) -> None:
    seen = eye.encode(eye.look(shown()))[0]
    answer(decoder, seen)
    decoder.forget(0, 0)
    decoder.begin()
    decoder.add(0, [1, 2, 3], 0, rows=1)
    decoder.decode()
    plain = decoder.logits(0)
    answer(decoder, seen)
    decoder.forget(0, 0)
    decoder.begin()
    decoder.add(0, [1, 2, 3], 0, rows=1)
    decoder.decode()
    assert (decoder.logits(0) == plain).all()


def test_tokens_that_look_at_each_other_are_computed_at_once(decoder: LlamaDecoder, folder: Path) -> None:
    made = sight(decoder, make_projector("gemma3", folder / "gemma3.gguf"))
    looked = made.look(shown())
    (part,) = [part for part in looked.parts if part.words is None]
    assert (part.count, part.is_whole) == (IMAGE_TOKENS["gemma3"], True)
    seen = made.encode(looked)[0]

    assert answer(decoder, seen, is_whole=True) != answer(decoder, seen, is_whole=False)
    made.close()


def test_a_picture_may_be_several_slices(decoder: LlamaDecoder, folder: Path) -> None:
    made = sight(decoder, make_projector("tiles", folder / "tiles.gguf"))
    looked = made.look(shown(size=(200, 100)))

    assert len(looked.parts) > 1
    assert [len(each) for each in made.encode(looked)] == [IMAGE_TOKENS["tiles"]] * len(looked.parts)
    made.close()


def test_words_may_stand_around_a_picture(decoder: LlamaDecoder, folder: Path) -> None:
    made = sight(decoder, make_projector("gemma3", folder / "words.gguf"))
    first, _, last = made.look(shown()).parts
    made.close()

    spoken = [
        b"".join(map(decoder.vocabulary.piece, part.words.tolist())) for part in (first, last) if part.words is not None
    ]
    assert spoken == [b"<start_of_image>", b"<end_of_image>"]


def test_a_projector_whose_marks_the_model_lacks_is_refused_at_load(decoder: LlamaDecoder, folder: Path) -> None:
    with pytest.raises(EngineFault, match="tokens around it that the model does not have"):
        decoder.see_with(make_projector("idefics3", folder / "idefics3.gguf"), OPTIONS)


def test_a_projector_that_hears(decoder: LlamaDecoder, folder: Path) -> None:
    made = sight(decoder, make_ear(folder / "ear.gguf"))
    assert (made.vision, made.audio, made.audio_rate) == (False, True, 16_000)
    low, high = (made.encode(made.look(samples(tone(1.0, hertz), 16_000, 60)))[0] for hertz in (220.0, 880.0))

    assert low.shape[1] == TEXT_WIDTH
    assert not np.allclose(low, high)
    with pytest.raises(SightFault):
        made.look(np.zeros(10, np.float32))
    with pytest.raises(SightFault):
        made.look(shown())
    made.close()


def test_tokens_that_do_not_fit_one_batch_are_refused_at_load(decoder: LlamaDecoder, folder: Path) -> None:
    path = make_projector("gemma3", folder / "large.gguf")
    library = decoder._library
    with pytest.raises(EngineFault, match=r"options\.micro_batch_tokens"):
        Projector(path, OPTIONS, library, decoder._model, room=3)


@pytest.mark.parametrize("content", [b"", b"GGUF", b"nonsense" * 100])
def test_a_file_that_is_no_projector_is_refused_by_name(decoder: LlamaDecoder, folder: Path, content: bytes) -> None:
    path = folder / "broken.gguf"
    path.write_bytes(content)
    with pytest.raises(EngineFault, match=r"broken\.gguf"):
        decoder.see_with(path, OPTIONS)


def test_a_text_model_is_no_projector(decoder: LlamaDecoder, embedded_model: Path) -> None:
    with pytest.raises(EngineFault, match="could not load the projector"):
        decoder.see_with(embedded_model, OPTIONS)


def test_a_projector_of_another_width_is_refused(
    decoder: LlamaDecoder, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.support.projector.TEXT_WIDTH", 512)
    with pytest.raises(EngineFault, match="could not load the projector"):
        decoder.see_with(make_projector("mlp", folder / "narrow.gguf"), OPTIONS)


def test_a_closed_projector_looks_at_nothing(decoder: LlamaDecoder, folder: Path) -> None:
    made = sight(decoder, make_projector("mlp", folder / "closed.gguf"))
    looked = made.look(shown())
    made.close()
    made.close()
    with pytest.raises(EngineFault):
        made.encode(looked)


def test_its_name_depends_on_the_weights(decoder: LlamaDecoder, folder: Path) -> None:
    made = [sight(decoder, make_projector("mlp", folder / f"{seed}.gguf", seed=seed)) for seed in (1, 2)]
    assert made[0].digest != made[1].digest
    for each in made:
        each.close()
