"""A BERT model in ONNX form, weights in 8 bits, as a GGUF file: the same weights for llama.cpp.

    python -m tests.support.bert_gguf embedding out.gguf     # or rerank

The weights of a matrix product have no name of their own in the graph: they are found by the name of the product.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import numpy.typing as npt
import onnx
from onnx import numpy_helper

from tests.support.vector_models import Files, fetched

Array = npt.NDArray[Any]
LAYERS, HEADS, WIDTH, INNER, POSITIONS = 12, 12, 384, 1536, 512
EPSILON = 1e-12
PHANTOM_SPACE = "\N{LOWER ONE EIGHTH BLOCK}"  # what llama.cpp's WordPiece puts before the beginning of a word
PARTS = {
    "attention.self.query": "attn_q",
    "attention.self.key": "attn_k",
    "attention.self.value": "attn_v",
    "attention.output.dense": "attn_output",
    "attention.output.LayerNorm": "attn_output_norm",
    "intermediate.dense": "ffn_up",
    "output.dense": "ffn_down",
    "output.LayerNorm": "layer_output_norm",
}


class Weights:
    """The weights of a graph by the names that its makers gave them."""

    def __init__(self, path: Path) -> None:
        graph = onnx.load(str(path)).graph
        self._arrays = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
        self._products = {node.name: node.input[1] for node in graph.node if node.op_type == "MatMulInteger"}
        self._prefix = "bert." if "bert.embeddings.LayerNorm.weight" in self._arrays else ""

    def named(self, name: str) -> Array:
        """An array that has kept its name, as floats."""
        return self._floats(self._prefix + name)

    def head(self, name: str) -> Array:
        """The same, of the classifier."""
        return self._floats(name)

    def matrix(self, name: str) -> Array:
        """The weight of the linear layer `name`, [out, in]."""
        path = "/" + (self._prefix + name).replace("layer.", "layer-").replace(".", "/").replace("layer-", "layer.")
        transposed: Array = self._floats(self._products[f"{path}/MatMul_quant"].removesuffix("_quantized")).T
        return transposed

    def _floats(self, name: str) -> Array:
        if name in self._arrays:
            found: Array = self._arrays[name].astype(np.float32)
            return found
        scale, zero = self._arrays[f"{name}_scale"], self._arrays[f"{name}_zero_point"]
        plain: Array = (self._arrays[f"{name}_quantized"].astype(np.float32) - zero.astype(np.float32)) * scale
        return plain


def write_gguf(files: Files, kind: str, target: Path) -> Path:
    """`target` is the model as a GGUF file, in 16 bits."""
    weights = Weights(files.model)
    writer = gguf.GGUFWriter(target, "bert")
    writer.add_name(f"{kind} of the tests")
    writer.add_context_length(POSITIONS)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_layer_norm_eps(EPSILON)
    writer.add_causal_attention(False)
    writer.add_pooling_type(gguf.PoolingType.RANK if kind == "rerank" else gguf.PoolingType.CLS)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    _write_vocabulary(writer, json.loads(files.tokenizer.read_text("utf-8"))["model"]["vocab"])
    _write_tensors(writer, weights)
    if kind == "rerank":
        _matrix(writer, "cls.weight", weights.named("pooler.dense.weight").T)
        writer.add_tensor("cls.bias", weights.named("pooler.dense.bias"))
        _matrix(writer, "cls.output.weight", weights.head("classifier.weight").reshape(WIDTH, 1).T)
        writer.add_tensor("cls.output.bias", weights.head("classifier.bias"))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return target


def _write_vocabulary(writer: gguf.GGUFWriter, vocabulary: Mapping[str, int]) -> None:
    texts = sorted(vocabulary, key=lambda text: vocabulary[text])
    special = {text for text in texts if text.startswith("[") and text.endswith("]") and len(text) > 2}
    writer.add_tokenizer_model("bert")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([_written(text) if text not in special else text for text in texts])
    writer.add_token_types([gguf.TokenType.CONTROL if text in special else gguf.TokenType.NORMAL for text in texts])
    writer.add_token_type_count(2)
    writer.add_bos_token_id(vocabulary["[CLS]"])
    writer.add_eos_token_id(vocabulary["[SEP]"])
    writer.add_sep_token_id(vocabulary["[SEP]"])
    writer.add_unk_token_id(vocabulary["[UNK]"])
    writer.add_pad_token_id(vocabulary["[PAD]"])
    writer.add_mask_token_id(vocabulary["[MASK]"])
    writer.add_add_bos_token(True)
    writer.add_add_eos_token(True)
    writer.add_add_sep_token(False)


def _written(text: str) -> str:
    return text[2:] if text.startswith("##") else PHANTOM_SPACE + text


def _write_tensors(writer: gguf.GGUFWriter, weights: Weights) -> None:
    _matrix(writer, "token_embd.weight", weights.named("embeddings.word_embeddings.weight"))
    writer.add_tensor("position_embd.weight", weights.named("embeddings.position_embeddings.weight"))
    writer.add_tensor("token_types.weight", weights.named("embeddings.token_type_embeddings.weight"))
    for kind in ("weight", "bias"):
        writer.add_tensor(f"token_embd_norm.{kind}", weights.named(f"embeddings.LayerNorm.{kind}"))
    for layer in range(LAYERS):
        for name, short in PARTS.items():
            at = f"encoder.layer.{layer}.{name}"
            if "LayerNorm" in name:
                writer.add_tensor(f"blk.{layer}.{short}.weight", weights.named(f"{at}.weight"))
            else:
                _matrix(writer, f"blk.{layer}.{short}.weight", weights.matrix(at))
            writer.add_tensor(f"blk.{layer}.{short}.bias", weights.named(f"{at}.bias"))


def _matrix(writer: gguf.GGUFWriter, name: str, weight: Array) -> None:
    writer.add_tensor(name, np.ascontiguousarray(weight, dtype=np.float16))


if __name__ == "__main__":
    print(write_gguf(fetched(sys.argv[1]), sys.argv[1], Path(sys.argv[2])))  # noqa: T201
