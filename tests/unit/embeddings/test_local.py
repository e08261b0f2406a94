"""Models in the process: the files of a folder, pooling, names, and what is wrong with a folder."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy
import pytest
from onnx_models import DIMENSIONS, write_model

from mkdocs_roaming.embeddings.embedder import EmbeddingError
from mkdocs_roaming.embeddings.local import LocalEmbedder, read_catalogue, select_default_model


def embed(folder: Path, *texts: str) -> numpy.ndarray[Any, Any]:
    return numpy.array(LocalEmbedder(folder).embed(texts))


def test_texts_with_synonyms_have_the_same_vector_in_any_company(tmp_path: Path) -> None:
    folder = write_model(tmp_path)
    vectors = embed(folder, "the car is washed", "", "The automobile is washed", "price " * 600)
    assert vectors.shape == (4, DIMENSIONS)
    assert (vectors[0] == vectors[2]).all()
    assert (vectors[0] == embed(folder, "the car is washed")[0]).all()
    assert not numpy.allclose(vectors[0], vectors[3])


def test_lone_surrogate_is_replaced(tmp_path: Path) -> None:
    assert embed(write_model(tmp_path), "car \udc80").shape == (1, DIMENSIONS)


@pytest.mark.parametrize("file", ["onnx/model.onnx", "onnx/model_O2.onnx", "model_int8.onnx"])
@pytest.mark.parametrize("inputs", [["input_ids"], ["input_ids", "attention_mask"]])
def test_folder_is_read_as_hubs_lay_it_out(tmp_path: Path, file: str, inputs: list[str]) -> None:
    expected = embed(write_model(tmp_path / "usual"), "a car", "outlay")
    assert (embed(write_model(tmp_path / "other", file=file, inputs=inputs), "a car", "outlay") == expected).all()


def test_pooling_is_that_of_the_model(tmp_path: Path) -> None:
    """The mean of all tokens, the first token, or what the model itself returns."""
    mean = embed(write_model(tmp_path / "mean", uses_first_token=False), "car", "price")
    first = embed(write_model(tmp_path / "first", uses_first_token=True), "car", "price")
    own = embed(write_model(tmp_path / "own", sentence_output=True), "car", "price")
    tokens = 2 * mean - first
    assert (first[0] == first[1]).all()
    assert numpy.allclose(own, numpy.maximum(first, tokens), atol=1e-6)


def test_name_is_folder_with_digest_of_model(tmp_path: Path) -> None:
    first = LocalEmbedder(write_model(tmp_path / "a" / "words")).model
    assert first.startswith("words@")
    assert str(tmp_path) not in first
    shutil.copytree(tmp_path / "a" / "words", tmp_path / "b" / "words")
    assert LocalEmbedder(tmp_path / "b" / "words").model == first
    assert LocalEmbedder(write_model(tmp_path / "c" / "words", inputs=["input_ids"])).model != first


def test_folder_without_model_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingError, match=r"a model needs tokenizer\.json and model\.onnx"):
        LocalEmbedder(tmp_path / "missing")
    write_model(tmp_path)
    (tmp_path / "tokenizer.json").unlink()
    with pytest.raises(EmbeddingError, match=r"a model needs tokenizer\.json"):
        LocalEmbedder(tmp_path)


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_broken_file_is_an_error_of_one_line(tmp_path: Path, name: str) -> None:
    write_model(tmp_path)
    (tmp_path / name).write_bytes(b"<html>")
    with pytest.raises(EmbeddingError, match="the model cannot be run") as caught:
        embed(tmp_path, "car")
    assert str(tmp_path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_invalid_pooling_is_an_error(tmp_path: Path) -> None:
    write_model(tmp_path, uses_first_token=True)
    (tmp_path / "1_Pooling/config.json").write_text("{")
    with pytest.raises(EmbeddingError, match="the model cannot be run"):
        embed(tmp_path, "car")


def test_model_with_other_inputs_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingError, match="pixel_values"):
        embed(write_model(tmp_path, inputs=["input_ids", "pixel_values"]), "car")


@pytest.mark.parametrize(
    ("language", "name"),
    [
        ("en", "all-MiniLM-L6-v2"),
        ("en-GB", "all-MiniLM-L6-v2"),
        ("de", "multilingual-e5-small"),
        ("zh_TW", "multilingual-e5-small"),
    ],
)
def test_default_model_follows_language(language: str, name: str) -> None:
    assert select_default_model(language) == name
    assert read_catalogue()[name].licence in ("Apache-2.0", "MIT")
