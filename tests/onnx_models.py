"""Small embedding models in the layout of model hubs, for onnxruntime and tokenizers.

The vector of a token is a row of a table. Synonyms have the same row; the vector of a text is the mean of its tokens.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import numpy
from onnx import TensorProto, helper, numpy_helper, save_model
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.normalizers import Lowercase
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

DIMENSIONS = 16
GROUPS = (("[UNK]",), ("[CLS]",), ("car", "automobile"), ("price", "outlay"), ("washed",), ("known",), ("sunday",))
"""The words that the models know, in groups of synonyms."""


def write_model(
    folder: Path,
    *,
    file: str = "model.onnx",
    inputs: Sequence[str] = ("input_ids", "attention_mask", "token_type_ids"),
    sentence_output: bool = False,
    uses_first_token: bool | None = None,
) -> Path:
    """Write a model and its tokenizer, and return the folder.

    Args:
        folder: The folder.
        file: The path of the model below it.
        inputs: The names of the inputs of the model.
        sentence_output: Whether the model returns the vector of the text after those of the tokens.
        uses_first_token: What `1_Pooling/config.json` says; None writes no such file.
    """
    words = [word for group in GROUPS for word in group]
    rows = numpy.array([_direction(group[0]) for group in GROUPS for _ in group], numpy.float32)
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"])]
    outputs = [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["batch", "tokens", DIMENSIONS])]
    if sentence_output:
        nodes.append(helper.make_node("ReduceMax", ["last_hidden_state", "axes"], ["sentence_embedding"], keepdims=0))
        outputs.append(helper.make_tensor_value_info("sentence_embedding", TensorProto.FLOAT, ["batch", DIMENSIONS]))
    graph = helper.make_graph(
        nodes,
        "words",
        [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"]) for name in inputs],
        outputs,
        [numpy_helper.from_array(rows, "table"), numpy_helper.from_array(numpy.array([1]), "axes")],
    )
    path = folder / file
    path.parent.mkdir(parents=True, exist_ok=True)
    save_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), path)
    tokenizer = Tokenizer(WordLevel({word: id_ for id_, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.normalizer = Lowercase()
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.post_processor = TemplateProcessing(single="[CLS] $A", special_tokens=[("[CLS]", 1)])
    tokenizer.enable_padding(length=128)  # as some published ones do
    tokenizer.save(str(folder / "tokenizer.json"))
    if uses_first_token is not None:
        (folder / "1_Pooling").mkdir()
        settings = {"word_embedding_dimension": DIMENSIONS, "pooling_mode_cls_token": uses_first_token}
        (folder / "1_Pooling/config.json").write_text(json.dumps(settings))
    return folder


def _direction(word: str) -> list[float]:
    digest = hashlib.sha256(word.encode()).digest()
    return [byte / 128 - 1 for byte in digest[:DIMENSIONS]]
