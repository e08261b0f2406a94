"""The script that makes the table of word-piece vectors."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from word_table import DIMENSIONS, PIECES, choose_pieces, encode_table, iter_sentences, join_sentences, make_vectors

from mkdocs_roaming.embeddings.table import TableEmbedder

FILES = {
    "docs/lamp.md": "---\ntitle: Lamp\n---\n# The lamp\n\nIt is [bright](lamp.html). Is it?\n\n```sh\nlamp on\n```\n",
    "docs/oil.rst": "Use :term:`lamp oil <oil>` only.\n",
    "docs/wick.cnxml": "<document><title>Wick</title><para>Trim the <term>wick</term>.</para></document>",
    "docs/numbers.md": "1.2 | 3.4 | 5.6\n",
    "other.md": "Not documentation.\n",
}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b.example"]
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run([*git, *arguments], check=True)
    return tmp_path


def test_iter_sentences_returns_prose_without_markup(repository: Path) -> None:
    sentences = list(iter_sentences(repository, "HEAD", r"docs/.+"))
    expected = ["The lamp", "It is bright.", "Is it?", "Use lamp oil only.", "Wick", "Trim the wick ."]
    assert [sentence for sentence in sentences if sentence] == expected


def test_join_sentences_returns_texts_of_limited_length() -> None:
    texts = list(join_sentences(["x" * 300, "y" * 100, "z" * 100, "w" * 900]))
    assert [len(text) for text in texts] == [401, 100, 419]


def test_choose_pieces_prefers_characters_then_frequent_pieces() -> None:
    names = ["[CLS]", "!", "é", "z", "##z", *(f"word{number}" for number in range(PIECES))]
    counts = np.arange(len(names))
    rows = choose_pieces(names, counts)
    assert len(rows) == PIECES
    assert [names[row] for row in rows[:1]] == ["##z"]
    assert {names[row] for row in rows} == {"z", "##z", *names[-PIECES + 2 :]}


def test_make_vectors_weighs_frequent_pieces_less() -> None:
    random = np.random.default_rng(1)
    sums, alone = random.normal(size=(2, 300, 2 * DIMENSIONS))
    counts = np.array([100_000, *[10] * 299])
    lengths = np.linalg.norm(make_vectors(sums, alone, counts), axis=1)
    assert lengths.shape == (300,)
    assert lengths[0] < 0.01 * lengths[1:].min()


def test_encode_table_keeps_direction_and_ratio_of_vectors(tmp_path: Path) -> None:
    vectors = np.random.default_rng(2).normal(size=(3, 64)) * [[0.1], [2], [1]]
    file = tmp_path / "table.bin"
    file.write_bytes(encode_table(["##s", "lamp", "oil"], vectors))
    oil, lamp, lamps = map(np.array, TableEmbedder(file).embed(["oil", "Lamp", "lamps"]))
    for read, vector in ((oil, vectors[2]), (lamp, vectors[1]), (lamps, vectors[1] + vectors[0])):
        assert read @ vector / np.linalg.norm(read) / np.linalg.norm(vector) > 0.97
    assert np.linalg.norm(lamp) / np.linalg.norm(oil) == pytest.approx(2, rel=0.2)
