"""LoRA adapters and a control vector, made of chance, on the real model: what is computed with what."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from tests.support.adapters import make_control_vector, make_lora
from troth.domain import NO_ADAPTERS, Adapters
from troth.engines.llama_cpp import LlamaCpp, LlamaCppOptions
from troth.engines.llama_cpp.decoder import LlamaDecoder
from troth.engines.llama_cpp.options import LoraOptions, VectorOptions
from troth.errors import EngineFault

FIRST, SECOND, BOTH = Adapters(((0, 1.0),)), Adapters(((1, 1.0),)), Adapters(((0, 1.0), (1, 0.5)))
STEERED = Adapters((), control=True)
LORAS = tuple(LoraOptions(source=name) for name in ("first.gguf", "second.gguf"))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """Two adapters and a control vector."""
    folder = tmp_path_factory.mktemp("adapters")
    first, second = (make_lora(folder / f"{seed}.gguf", seed=seed) for seed in (1, 2))
    return first, second, make_control_vector(folder / "vector.gguf", seed=3)


@pytest.fixture(scope="module")
def decoder(embedded_model: Path, files: tuple[Path, Path, Path]) -> Iterator[LlamaDecoder]:
    options = LlamaCppOptions(
        context_tokens=128,
        slots=2,
        determinism="fast",
        lora=LORAS,
        control_vector=VectorOptions(source="vector.gguf", scale=0.5),
    )
    loaded = LlamaCpp(embedded_model, options, extra=files).load(lambda fraction: None)
    yield loaded
    loaded.close()


def logits(decoder: LlamaDecoder, adapters: Adapters) -> npt.NDArray[np.float32]:
    """The row behind a short text, computed with these adapters."""
    decoder.forget(0, 0)
    decoder.adapt(adapters)
    decoder.begin()
    decoder.add(0, decoder.vocabulary.tokenize("The fox is", special=False, bos=False), 0, rows=1)
    decoder.decode()
    return decoder.logits(0)


def test_every_set_of_adapters_has_numbers_of_its_own_and_they_come_back(decoder: LlamaDecoder) -> None:
    rows = {each: logits(decoder, each) for each in (NO_ADAPTERS, FIRST, SECOND, BOTH, STEERED)}
    seen = list(rows.values())
    assert all(not np.array_equal(one, other) for place, one in enumerate(seen) for other in seen[:place])
    for adapters in (STEERED, NO_ADAPTERS, BOTH, FIRST, NO_ADAPTERS):
        assert np.array_equal(logits(decoder, adapters), rows[adapters])


def test_a_scale_counts(decoder: LlamaDecoder) -> None:
    plain = logits(decoder, NO_ADAPTERS)
    weak, strong = (logits(decoder, Adapters(((0, scale),))) for scale in (0.01, 1.0))
    assert np.abs(weak - plain).max() < np.abs(strong - plain).max()


@pytest.mark.parametrize(
    ("options", "width", "words"),
    [
        ({"lora": LORAS[:1]}, 576, "could not load the adapter"),
        ({"control_vector": VectorOptions(source="x")}, 64, "direction.1 has 64 numbers"),
    ],
)
def test_a_file_that_is_no_adapter_of_this_model_is_named(
    options: dict[str, object], width: int, words: str, embedded_model: Path, tmp_path: Path
) -> None:
    file = make_control_vector(tmp_path / "odd.gguf", seed=1, width=width)
    engine = LlamaCpp(embedded_model, LlamaCppOptions.model_validate({"determinism": "fast"} | options), extra=(file,))
    with pytest.raises(EngineFault, match=words) as fault:
        engine.load(lambda fraction: None)
    assert str(file) in fault.value.message
