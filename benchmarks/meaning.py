"""Does search by meaning find more than search by words?

    python benchmarks/meaning.py SITE_DIR [QUESTIONS.yml …] [--links] --config roaming.toml

Asks the server that `[embeddings]` of the settings names for the vectors of a published site, in memory: nothing of the
site is changed. Prints hit@1/5/12 for pages and sections by words, by meaning and by both, as `search_quality.py` does,
then what the vectors take on disk and how long a search takes beside one by words.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from search_quality import Question, Rank, link_questions, ranked, read_questions, show

from mkdocs_roaming.config import load_settings
from mkdocs_roaming.embeddings.client import QueryEmbedder, create_embeddings_client
from mkdocs_roaming.embeddings.store import EmbeddingsOptions, add_vectors
from mkdocs_roaming.library.hybrid import HybridSearch
from mkdocs_roaming.library.library import Library, open_library
from mkdocs_roaming.library.readers import MemoryReader
from mkdocs_roaming.library.search import Search, Weights
from mkdocs_roaming.manifest.builder import PublishedPage
from mkdocs_roaming.manifest.io import VECTORS_PATH
from mkdocs_roaming.manifest.lookup import SectionRef
from mkdocs_roaming.manifest.models import Page


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site", help="a published site: its folder or address")
    parser.add_argument("questions", nargs="*", type=Path, help="question files")
    parser.add_argument("--links", type=int, nargs="?", const=400, help="ask by the site's own links, at most so many")
    parser.add_argument("--config", type=Path, help="settings that name a model in [embeddings]")
    options = parser.parse_args()
    settings = load_settings(options.config)
    if settings.embeddings is None:
        raise SystemExit("name a model in [embeddings] of the settings")
    endpoint = create_embeddings_client(settings.embeddings, os.environ)
    library, size = with_meaning(
        options.site, EmbeddingsOptions(endpoint.model, lambda: endpoint, settings.embeddings.text_prefix)
    )
    queries = QueryEmbedder(endpoint, prefix=settings.embeddings.query_prefix, on_warning=print, timeout=60.0)
    count = len(library.sections)
    print(f"{options.site}: {len(library.manifest.pages)} pages, {count} sections; {size / count:.0f} bytes a section")
    asked: list[str] = []
    for file in options.questions:
        questions = [question for question in read_questions(file, library) if question.gold]
        print(f"\n{file}: {len(questions)} answerable")
        asked += told(questions, HybridSearch(Search(library), queries))
    if options.links:
        questions = link_questions(library, options.links)
        print(f"\n{len(questions)} links between pages, by their words")
        asked += told(questions, HybridSearch(Search(library, weights=replace(Weights(), links=0.0)), queries))
    hybrid = HybridSearch(Search(library), queries)
    words = cost(asked, lambda ask: hybrid.words.find(ask))
    both = cost(asked, lambda ask: hybrid.find(ask))
    print(f"\na search by both takes {both / words:.1f} times one by words, the question's vector at hand")


def told(questions: Sequence[Question], hybrid: HybridSearch) -> list[str]:
    """Print how well each way ranks, and give what was asked."""
    ways: dict[str, Rank] = {"words": ranked(hybrid.words), "meaning": by_meaning(hybrid), "both": by_both(hybrid)}
    show(questions, ways)
    return [question.ask for question in questions]


def by_meaning(hybrid: HybridSearch) -> Rank:
    """Give how meaning alone ranks sections."""

    def rank(ask: str) -> list[SectionRef]:
        return [near.place for near in hybrid.vectors.nearest(ask) or ()]

    return rank


def by_both(hybrid: HybridSearch) -> Rank:
    """Give how words and meaning rank sections together."""
    return lambda ask: [hit.place for hit in hybrid.find(ask, limit=200)]


def cost(asked: Sequence[str], find: Callable[[str], Any]) -> float:
    """Give the median seconds of a search, once everything is at hand."""
    taken = []
    for again in range(3):
        for ask in asked[:100]:
            begun = time.perf_counter()
            find(ask)
            if again:
                taken.append(time.perf_counter() - begun)
    return statistics.median(taken)


def with_meaning(where: str, meaning: EmbeddingsOptions) -> tuple[Library, int]:
    """Give a published site as it would be with vectors, and their bytes."""
    library = open_library(where)
    library.prefetch()
    files = {page.markdown: library.file(page.markdown) for page in library.manifest.pages}
    written = [
        PublishedPage(Page(page.path, page.title), files[page.markdown].decode("utf-8", "surrogatepass"), ())
        for page in library.manifest.pages
    ]
    before = Path(where) / VECTORS_PATH
    manifest, data = add_vectors(library.manifest, written, meaning, known_files=[before], warn=print, note=print)
    if data is None:
        raise SystemExit(1)
    return Library(manifest, MemoryReader({**files, VECTORS_PATH: data}, where=where)), len(data)


if __name__ == "__main__":
    main()
