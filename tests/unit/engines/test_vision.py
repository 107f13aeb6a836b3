"""Classifiers of pictures: what a file must be, what it is shown, and words for what it is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from pydantic import ValidationError

from troth.domain.vectors import Reading
from troth.engines.onnx import OnnxVisionOptions
from troth.engines.onnx.vision import NO_TOKENS, OnnxVision, VisionEncoder
from troth.errors import EngineFault

LABELS = ("red", "green", "blue")
Shape = list[str | int]


def graph_of(
    path: Path, shape: Shape, kind: int = TensorProto.FLOAT, inputs: int = 1, *, is_single: bool = False
) -> Path:
    """A model that gives the mean of each colour; `is_single`: of one picture, whatever its input says."""
    is_first = len(shape) == 4 and shape[1] == 3
    names = [f"picture{number or ''}" for number in range(inputs)]
    given = [helper.make_tensor_value_info(name, kind, shape) for name in names]
    axes = [2, 3] if is_first else [1, 2]
    found = helper.make_tensor_value_info("means", TensorProto.FLOAT, [shape[0], 3])
    nodes = [
        helper.make_node("Cast", [names[0]], ["values"], to=TensorProto.FLOAT),
        helper.make_node("ReduceMean", ["values"], ["means"], axes=axes, keepdims=0),
    ]
    constants = []
    if is_single:
        nodes[-1].output[0] = "each"
        nodes.append(helper.make_node("Reshape", ["each", "one"], ["means"]))
        constants.append(numpy_helper.from_array(np.array([1, 3], np.int64), "one"))
    graph = helper.make_graph(nodes, "means", given, [found], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, str(path))
    return path


def encoder_of(path: Path, **settings: Any) -> VisionEncoder:
    options = OnnxVisionOptions(labels=settings.pop("labels", LABELS), **settings)
    return OnnxVision(path, options).open(lambda _: None)


def planes(*colours: float) -> Reading:
    return Reading(NO_TOKENS, planes=np.full((8, 10, 3), colours, np.float32))


@pytest.mark.parametrize("shape", [["n", 8, 10, 3], ["n", 3, 8, 10]])
def test_colours_arrive_in_either_layout(tmp_path: Path, shape: Shape) -> None:
    encoder = encoder_of(graph_of(tmp_path / "model.onnx", shape))
    rows = encoder.encode([planes(1, 2, 3), planes(4, 5, 6)])
    assert rows.tolist() == [[1, 2, 3], [4, 5, 6]]
    form = encoder.facts.picture
    assert form is not None
    assert (form.height, form.width, encoder.batch_sequences) == (8, 10, 8)
    encoder.close()


def test_a_model_for_one_picture_is_given_one_at_a_time(tmp_path: Path) -> None:
    file = graph_of(tmp_path / "model.onnx", [1, 8, 10, 3])
    assert encoder_of(file).batch_sequences == 1
    with pytest.raises(EngineFault, match="one picture at a time"):
        encoder_of(file, batch_sequences=2)


def test_a_model_that_only_says_it_takes_several_is_given_one_at_a_time(tmp_path: Path) -> None:
    file = graph_of(tmp_path / "model.onnx", ["n", 8, 10, 3], is_single=True)
    encoder = encoder_of(file, batch_sequences=1)
    assert encoder.encode([planes(1, 2, 3)]).tolist() == [[1, 2, 3]]
    assert encoder_of(file).batch_sequences == 1


def test_a_size_that_the_file_leaves_open_is_the_operators(tmp_path: Path) -> None:
    file = graph_of(tmp_path / "model.onnx", ["n", "h", "w", 3])
    with pytest.raises(EngineFault, match=r"set options\.size"):
        encoder_of(file)
    form = encoder_of(file, size=(8, 10)).facts.picture
    assert form is not None
    assert (form.height, form.width) == (8, 10)


@pytest.mark.parametrize(
    ("shape", "settings", "words"),
    [
        (["n", 8, 10, 3], {"size": (8, 8)}, "looks at pictures of 8 × 10"),
        (["n", 8, 10, 3], {"resize": 9}, "options.resize, 9, is less"),
        (["n", 8, 10, 3], {"labels": ("a", "b")}, "options.labels names 2"),
        (["n", 8, 10, 1], {}, "coloured pictures"),
        (["n", 8, 3], {}, "coloured pictures"),
    ],
)
def test_what_does_not_fit_is_told(tmp_path: Path, shape: Shape, settings: dict[str, Any], words: str) -> None:
    with pytest.raises(EngineFault, match=words):
        encoder_of(graph_of(tmp_path / "model.onnx", shape), **settings)


@pytest.mark.parametrize(("kind", "inputs"), [(TensorProto.UINT8, 1), (TensorProto.FLOAT, 2)])
def test_inputs_of_another_kind_are_refused(tmp_path: Path, kind: int, inputs: int) -> None:
    with pytest.raises(EngineFault, match="coloured pictures"):
        encoder_of(graph_of(tmp_path / "model.onnx", ["n", 8, 10, 3], kind, inputs))


@pytest.mark.parametrize(
    "settings",
    [
        {"image_std": (1.0, 0.0, 1.0)},
        {"keep_ratio": True},
        {"rescale_factor": float("inf")},
        {"image_mean": (float("nan"), 0.0, 0.0)},
        {"labels": ("a", "a")},
        {"labels": ("a",), "safe_labels": ("a",)},
    ],
)
def test_options_that_contradict_themselves_are_faults(settings: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        OnnxVisionOptions(**{"labels": LABELS} | settings)
