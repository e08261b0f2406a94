"""Compare word search, embeddings and hybrid search on one site.

    python benchmarks/meaning.py SITE_DIR [QUESTIONS.yml …] [--links] --config roaming.toml

The vectors of the site are requested from the server in `[embeddings]` of the settings and stored in memory; the site is
not changed. Prints hit@1/5/12 of pages and sections for words, meaning (embeddings) and both (hybrid search), as in
`search_quality.py`, the size of the vectors, and the time of a hybrid search relative to a word search.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from public.vectors import add_library_vectors
from search_quality import Question, Ranking, make_link_questions, print_hits, read_questions, search_ranking

from mkdocs_roaming.config import load_settings
from mkdocs_roaming.embeddings.client import QueryEmbedder, create_embeddings_client
from mkdocs_roaming.embeddings.store import EmbeddingsOptions
from mkdocs_roaming.library.hybrid import HybridSearch
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.search import Search
from mkdocs_roaming.library.targets import open_library
from mkdocs_roaming.manifest.io import VECTORS_PATH
from mkdocs_roaming.manifest.lookup import SectionRef
from mkdocs_roaming.search.ranking import Weights


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site", help="Folder or URL of a published site.")
    parser.add_argument("questions", nargs="*", type=Path, help="Question files.")
    parser.add_argument(
        "--links", type=int, nargs="?", const=400, help="Use link texts as queries, at most N (default: 400)."
    )
    parser.add_argument("--config", type=Path, help="Settings with a model in [embeddings].")
    options = parser.parse_args()
    settings = load_settings(options.config)
    if settings.embeddings is None:
        raise SystemExit("no embeddings model configured. Set one in [embeddings] of the settings.")
    endpoint = create_embeddings_client(settings.embeddings, os.environ)
    library, size = add_site_vectors(
        options.site, EmbeddingsOptions(endpoint.model, lambda: endpoint, settings.embeddings.text_prefix)
    )
    queries = QueryEmbedder(endpoint, prefix=settings.embeddings.query_prefix, on_warning=print, timeout=60.0)
    count = len(library.sections)
    print(
        f"{options.site}: {len(library.manifest.pages)} pages, {count} sections; {size / count:.0f} bytes per section"
    )
    queries_sent: list[str] = []
    for file in options.questions:
        questions = [question for question in read_questions(file, library) if question.gold]
        print(f"\n{file}: {len(questions)} answerable questions")
        queries_sent += print_comparison(questions, HybridSearch(library, queries))
    if options.links:
        questions = make_link_questions(library, options.links)
        print(f"\n{len(questions)} link texts")
        queries_sent += print_comparison(questions, HybridSearch(library, queries, weights=Weights(links=0.0)))
    hybrid = HybridSearch(library, queries)
    words = measure_median(queries_sent, Search(library).find)
    both = measure_median(queries_sent, hybrid.find)
    print(f"\na hybrid search with cached query vector takes {both / words:.1f} times as long as a word search")


def print_comparison(questions: Sequence[Question], hybrid: HybridSearch) -> list[str]:
    """Print the hits of each ranking and return the queries."""
    rankings: dict[str, Ranking] = {
        "words": search_ranking(Search(hybrid.library, weights=hybrid.weights)),
        "meaning": meaning_ranking(hybrid),
        "both": hybrid_ranking(hybrid),
    }
    print_hits(questions, rankings)
    return [question.text for question in questions]


def meaning_ranking(hybrid: HybridSearch) -> Ranking:
    """Return the ranking by embeddings only."""

    def rank(query: str) -> list[SectionRef]:
        return [section for section, _, _ in hybrid.vectors.nearest(query) or ()]

    return rank


def hybrid_ranking(hybrid: HybridSearch) -> Ranking:
    """Return the ranking of hybrid search."""
    return lambda query: [hit.section for hit in hybrid.find(query, limit=200)]


def measure_median(queries: Sequence[str], find: Callable[[str], Any]) -> float:
    """Return the median seconds of a search with warm caches."""
    seconds = []
    for number in range(3):
        for query in queries[:100]:
            started = time.perf_counter()
            find(query)
            if number:
                seconds.append(time.perf_counter() - started)
    return statistics.median(seconds)


def add_site_vectors(location: str, options: EmbeddingsOptions) -> tuple[Library, int]:
    """Return a published site with vectors, and the size of the vectors in bytes."""
    return add_library_vectors(open_library(location), options, Path(location) / VECTORS_PATH)


if __name__ == "__main__":
    main()
