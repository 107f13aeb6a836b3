"""A classifier in ONNX form, made by tests: a text scores the sum of what its words do, by weights of chance."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

VOCABULARY = 30_522  # of BERT's tokenizer, which the embedding model of tests brings
SEED = 5


def make_classifier(path: Path, labels: int) -> Path:
    """The model's file, with a number for each of so many labels."""
    weights = np.random.default_rng(SEED).normal(0, 1, (VOCABULARY, labels)).astype(np.float32)
    ids, mask = (helper.make_tensor_value_info(name, TensorProto.INT64, ["b", "s"]) for name in NAMES)
    logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["b", labels])
    nodes = [
        helper.make_node("Gather", ["weights", NAMES[0]], ["each"]),
        helper.make_node("Cast", [NAMES[1]], ["counts"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["counts", "last"], ["spread"]),
        helper.make_node("Mul", ["each", "spread"], ["kept"]),
        helper.make_node("ReduceSum", ["kept", "middle"], ["logits"], keepdims=0),
    ]
    constants = [
        numpy_helper.from_array(weights, "weights"),
        numpy_helper.from_array(np.array([2], np.int64), "last"),
        numpy_helper.from_array(np.array([1], np.int64), "middle"),
    ]
    graph = helper.make_graph(nodes, "classifier", [ids, mask], [logits], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    onnx.save(model, str(path))
    return path


NAMES = ("input_ids", "attention_mask")
