"""Rows with embeddings, what other ways to ask send to a model, and their prices."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from public.methods import HYBRID_NAME, make_described_methods, make_methods
from public.vectors import MODEL, Embeddings, find_embeddings, open_hybrid_search
from public.ways import Prompt, iter_ways, iter_ways_lines, make_chunks_prompt, make_whole_prompt

from mkdocs_roaming import Page, open_library, publish_pages
from mkdocs_roaming.library.library import Library

WORDS = ("valve", "pump", "tide", "level")


class WordModel:
    """A model whose vectors count four words; `valves` and `taps` mean the same."""

    model = MODEL

    def __init__(self) -> None:
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> list[Sequence[float]]:
        self.texts += texts
        return [[0.1 + text.lower().replace("tap", "valve").count(word) for word in WORDS] for text in texts]


@pytest.fixture
def model() -> WordModel:
    return WordModel()


@pytest.fixture
def embeddings(model: WordModel, tmp_path: Path) -> Embeddings:
    return Embeddings(model, tmp_path / "vectors" / "harbour.bin")


@pytest.fixture
def library(tmp_path: Path) -> Library:
    texts = {"Valves": "Open the upper valve first, then each other valve.", "Tides": "A tide has a level."}
    pages = [Page(f"{name}/", name, article=f"<h1>{name}</h1><p>{text}</p>") for name, text in texts.items()]
    publish_pages(pages, tmp_path / "site", url="https://docs.example/", name="Harbour")
    return open_library(str(tmp_path / "site"))


def test_methods_have_rows_with_embeddings_only_with_a_model(library: Library, embeddings: Embeddings) -> None:
    names = [method.name for method in make_methods(library, embeddings=embeddings)]

    assert [name for name in names if MODEL in name] == [f"{MODEL} embeddings", HYBRID_NAME]
    assert not any(MODEL in method.name for method in make_methods(library))


def test_embeddings_find_sections_without_a_word_of_the_question(library: Library, embeddings: Embeddings) -> None:
    *_, by_meaning, hybrid, search, _ = make_methods(library, embeddings=embeddings)

    assert [each.section.section.title for each in by_meaning.rank("which tap?").sections][:1] == ["Valves"]
    assert [each.section.section.title for each in hybrid.rank("which tap?").sections][:1] == ["Valves"]
    assert not search.rank("which tap?").sections


def test_vectors_of_texts_are_kept_for_the_next_run(library: Library, embeddings: Embeddings, model: WordModel) -> None:
    open_hybrid_search(library, embeddings)
    assert len(model.texts) == 2
    open_hybrid_search(library, embeddings)
    assert len(model.texts) == 2


def test_described_methods_all_search_the_descriptions(
    library: Library, embeddings: Embeddings, tmp_path: Path
) -> None:
    valves = library.manifest.pages[0]
    [section] = valves.sections
    entry = {"title": "Valves", "digest": section.body, "about": "Taps", "asks": ["Where does the pump go?"]}
    file = tmp_path / "descriptions.json"
    file.write_text(json.dumps({"format": 1, "pages": {valves.path: {"sections": {section.id: entry}}}}), "utf-8")
    methods = make_described_methods(library, file, embeddings=embeddings)

    assert [method.name for method in methods] == [
        "FTS5 porter, with descriptions",
        "BM25, with descriptions",
        f"{MODEL} embeddings, with descriptions",
        f"{HYBRID_NAME}, with descriptions",
        "`roaming search`, with descriptions",
        "prefetch, with descriptions",
    ]
    first = {
        method.name: [each.section.section.title for each in method.rank("pump").sections][:1] for method in methods[:3]
    }
    assert all(titles == ["Valves"] for titles in first.values())


def test_model_is_found_in_the_folder_with_the_checkouts(tmp_path: Path) -> None:
    assert find_embeddings(tmp_path, "harbour") is None
    (tmp_path / MODEL).mkdir()
    found = find_embeddings(tmp_path, "harbour")
    assert found
    assert found.cache == tmp_path / "vectors/harbour.bin"


def test_prompts_count_tokens_and_know_whether_they_have_an_answer(library: Library, embeddings: Embeddings) -> None:
    hybrid = open_hybrid_search(library, embeddings)
    valves, _ = (section.id for section in library.sections)
    chunks = make_chunks_prompt(library, hybrid, "which tap?", [valves])
    whole = make_whole_prompt(library, [valves])

    assert chunks.has_right
    assert 0 < chunks.tokens < whole.tokens
    assert make_chunks_prompt(library, hybrid, "which tap?", []).has_right is None
    assert make_whole_prompt(library, []).has_right is None


def test_ways_cost_their_tokens_and_the_same_replies() -> None:
    opened, whole, chunks = [Prompt(1_000, True)], [Prompt(100_000, True)], [Prompt(500, False)]
    rows = list(iter_ways_lines(list(iter_ways(opened, whole, chunks, 1.5, 100.0))))

    costs = [[cell.strip() for cell in row.strip("|").split("|")][4] for row in rows[2:]]
    assert [row.split(" | ")[3] for row in rows[2:]] == ["100%", "100%", "100%", "0%"]
    assert float(costs[1].replace(",", "")) > float(costs[2]) > float(costs[0]) > float(costs[3])
