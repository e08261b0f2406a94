from __future__ import annotations

import hashlib
from math import sqrt

import pytest

from mkdocs_roaming.embeddings.embedder import Vector
from mkdocs_roaming.embeddings.table import MAX_TEXT_CHARS, TABLE_MODEL, TABLE_PATH, TableEmbedder

DIGESTS = {"roaming-table-1": "a7cb2da4f33c069a2c6338f41b8153d0d5d727a6adba84b500cce02fcb516340"}


@pytest.fixture(scope="module")
def table() -> TableEmbedder:
    return TableEmbedder()


def cosine(first: Vector, second: Vector) -> float:
    product = sum(left * right for left, right in zip(first, second, strict=True))
    return product / sqrt(sum(number**2 for number in first) * sum(number**2 for number in second))


def test_name_of_the_model_changes_with_the_file() -> None:
    assert hashlib.sha256(TABLE_PATH.read_bytes()).hexdigest() == DIGESTS[TABLE_MODEL]


@pytest.mark.parametrize(
    ("question", "near", "far"),
    [
        ("my pictures are gone", "Restore deleted photos", "Pay the monthly invoice"),
        ("the machine became too hot", "Temperature limits and cooling", "Sort the table by name"),
        ("somebody guessed my login", "Choose a strong password", "Rotate the image by 90 degrees"),
    ],
)
def test_text_in_other_words_is_nearer(table: TableEmbedder, question: str, near: str, far: str) -> None:
    asked, nearer, farther = table.embed([question, near, far])
    assert cosine(asked, nearer) > cosine(asked, farther) + 0.1


@pytest.mark.parametrize(
    ("word", "pieces"),
    [
        # pieces of BERT's tokenizer
        ("backup", ["backup"]),
        ("backups", ["backup", "##s"]),
        ("reconfigure", ["rec", "##on", "##fi", "##gur", "##e"]),
        ("unsubscribe", ["un", "##su", "##bs", "##cr", "##ibe"]),
        ("microcontroller", ["micro", "##con", "##tro", "##ller"]),
        ("10000", ["1000", "##0"]),
        ("résumé", ["resume"]),
        # characters that it does not know
        ("привет", []),
        ("aпривет", []),
    ],
)
def test_word_is_split_into_longest_known_pieces(table: TableEmbedder, word: str, pieces: list[str]) -> None:
    assert table.split_word(word) == pieces


def test_case_accents_and_punctuation_do_not_matter(table: TableEmbedder) -> None:
    plain, marked = table.embed(["a cafe in the city", "A café -- in «the» CITY!"])
    assert plain == marked


@pytest.mark.parametrize("text", ["", "?!", "привет"])
def test_text_without_known_words_has_a_zero_vector(table: TableEmbedder, text: str) -> None:
    assert table.embed([text]) == [[0] * table.dimensions]


def test_vector_of_the_longest_text_is_the_sum_of_its_words(table: TableEmbedder) -> None:
    words = [f"{number:04x}" for number in range(MAX_TEXT_CHARS // 5)]
    (whole,) = table.embed([" ".join([*words, "ignored"])])
    assert whole == [sum(numbers) for numbers in zip(*table.embed(words), strict=True)]
