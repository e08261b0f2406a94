"""The set of code chunks: its pages, both rules of right chunks, and the published rows."""

from __future__ import annotations

from pathlib import Path

from public.contextual import Chunk, File, Question, iter_rows, make_pages, map_chunks, read_published, score_chunks
from public.corpus import build_library
from public.methods import make_methods
from public.report import Published

FILES = [
    File(
        "f1",
        [Chunk(0, "x = 1\n```\n# prime\n```\npump.fill()"), Chunk(1, "<div>ebb</div>\n---\ntide()")],
    ),
    File("f2", [Chunk(0, "def drain(valve):\n    valve.open()")]),
]
TEXTS = {("f1", 0): "a", ("f1", 1): "b", ("f2", 0): "a"}


def test_make_pages_keeps_code_that_looks_like_markdown(tmp_path: Path) -> None:
    library = build_library(make_pages(FILES), tmp_path, name="Code", url="https://code.example/")

    chunks = map_chunks(library, FILES)

    assert sorted(chunks.values()) == [("f1", 0), ("f1", 1), ("f2", 0)]
    texts = {place: library.text(library.sections.get(id_)) for id_, place in chunks.items()}
    assert "x = 1\n```\n# prime\n```\npump.fill()" in texts["f1", 0]
    assert "<div>ebb</div>\n---\ntide()" in texts["f1", 1]


def test_score_chunks_counts_equal_text_by_the_rule_of_the_set_only() -> None:
    scores = score_chunks([("f2", 0)], [("f1", 0), ("f1", 1)], TEXTS)

    assert (scores["pass 5"], scores["exact 5"]) == (0.5, 0.0)


def test_score_chunks_ignores_chunks_below_the_depth() -> None:
    found = [("f2", number) for number in range(1, 6)] + [("f1", 1)]
    texts = TEXTS | {("f2", number): str(number) for number in range(1, 6)}

    scores = score_chunks(found, [("f1", 1)], texts)

    assert (scores["pass 5"], scores["pass 10"], scores["exact 5"], scores["exact 10"]) == (0.0, 1.0, 0.0, 1.0)


def test_iter_rows_finds_the_chunk_with_the_words_of_the_question(tmp_path: Path) -> None:
    library = build_library(make_pages(FILES), tmp_path, name="Code", url="https://code.example/")
    chunks = map_chunks(library, FILES)
    texts = {(file.original_uuid, chunk.original_index): chunk.content for file in FILES for chunk in file.chunks}
    question = Question("How does drain open the valve?", [("f2", 0)])

    rows = list(iter_rows([question], make_methods(library, lambda section: section.id in chunks), chunks, texts))

    assert {row.method: row.scores["pass 5"] for row in rows}["`roaming search`"] == 1.0


def test_read_published_names_rows_by_the_heading_above() -> None:
    notebook = {
        "cells": [
            {"cell_type": "markdown", "source": ["## Basic\n", "### Steps\n"]},
            {"cell_type": "code", "source": [], "outputs": [{"text": ["Pass@5: 80.92%\n", "Total"]}, {"text": "Pass@10: 87.15%"}]},
            {"cell_type": "markdown", "source": ["## Better\n"]},
            {"cell_type": "code", "source": [], "outputs": [{"data": {}}, {"text": ["Pass@5: 91.24%\n"]}]},
        ]
    }  # fmt: skip

    assert list(read_published(notebook)) == [
        Published("Basic", {"pass@5": "80.9%", "pass@10": "87.2%"}),
        Published("Better", {"pass@5": "91.2%"}),
    ]
