"""Compare ways to combine the scores of words and embeddings, and weights of embeddings.

    python benchmarks/fusions.py NAME=SITE_DIR … [--questions NAME=FILE.yml …] --config roaming.toml [--most 200]

Vectors are requested from the server in `[embeddings]` of the settings; those of a site that was published with vectors
are reused. The kinds of queries are those of `rankings.py`: questions of files, link texts, and the sentences around
links without the link texts; word search does not use link texts for the latter two.

For each way the table contains hit@1/5/12 of pages and sections and the mean of 1 / rank, as means over sites; and the
gain in 1 / rank relative to word search and to hybrid search, with 95 % intervals (paired bootstrap by site).
"""

from __future__ import annotations

import argparse
import os
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from meaning import add_site_vectors
from rankings import MAX_DEPTH, format_gain, make_sentence_questions, mean
from search_quality import DEPTHS, Question, find_ranks, make_link_questions, read_questions

from mkdocs_roaming.config import load_settings
from mkdocs_roaming.embeddings.client import EmbeddingsClient, QueryEmbedder, create_embeddings_client
from mkdocs_roaming.embeddings.store import EmbeddingsOptions
from mkdocs_roaming.library.hybrid import VECTOR_WEIGHT, HybridSearch, fuse_scores
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.search.ranking import Weights, parse_query

Scores = Mapping[str, float]
"""Scores of sections by id, best first."""
WEIGHTS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)


@dataclass(frozen=True, slots=True)
class ScoredQuestion:
    """A question with its scores by words and by embeddings."""

    question: Question
    words: Scores
    meaning: Scores
    significant_words: int


Fusion = Callable[[ScoredQuestion], Scores]


# Fusions


def add_scores(weight: float) -> Fusion:
    """Add scores, with the given weight of embeddings, as hybrid search does."""
    return lambda question: fuse_scores(question.words, question.meaning, weight)


def add_scores_by_length(short: float, long: float, min_words: int = 4) -> Fusion:
    """Add scores, with another weight for questions of `min_words` or more significant words."""
    return lambda question: fuse_scores(
        question.words, question.meaning, short if question.significant_words < min_words else long
    )


def fuse_ranks(question: ScoredQuestion) -> Scores:
    """Add 1 / (60 + rank): reciprocal rank fusion."""
    scores: dict[str, float] = {}
    for ranking in (question.words, question.meaning):
        for rank, id_ in enumerate(ranking, 1):
            scores[id_] = scores.get(id_, 0.0) + 1 / (60 + rank)
    return scores


HYBRID = f"both, weight {VECTOR_WEIGHT:g}"
FUSIONS: dict[str, Fusion] = {
    "words": lambda question: question.words,
    "meaning": lambda question: question.meaning,
    **{f"both, weight {weight:g}": add_scores(weight) for weight in sorted({*WEIGHTS, VECTOR_WEIGHT})},
    "both, weight 0.5 for four or more significant words, else 0.3": add_scores_by_length(0.3, 0.5),
    "ranks": fuse_ranks,
}


# Queries and results


def score_questions(
    library: Library, queries: QueryEmbedder, kinds: Mapping[str, Sequence[Question]]
) -> dict[str, list[ScoredQuestion]]:
    """Score the questions about a site by words and by embeddings."""
    language = library.manifest.site.language
    hybrid = HybridSearch(library, queries, weights=Weights(links=0.0))
    with_links = HybridSearch(library, queries)

    def score(question: Question, search: HybridSearch) -> ScoredQuestion:
        near = search.vectors.nearest(question.text)
        if near is None:
            raise SystemExit(f"no vector for {question.text!r}")
        query = parse_query(question.text, language)
        words = {section.id: value for section, value in search.rank(query)}
        return ScoredQuestion(question, words, {section.id: cosine for section, cosine, _ in near}, len(query))

    return {
        kind: [score(question, with_links if kind == "asked" else hybrid) for question in questions]
        for kind, questions in kinds.items()
    }


def make_questions(library: Library, file: Path | None, limit: int, min_links: int) -> dict[str, Sequence[Question]]:
    """Return the queries of a site by kind."""
    sentences = list(make_sentence_questions(library))
    random.Random(7).shuffle(sentences)
    kinds: dict[str, Sequence[Question]] = {
        "links": make_link_questions(library, limit),
        "sentences": sentences[:limit],
    }
    kinds = {kind: questions for kind, questions in kinds.items() if len(questions) >= min_links}
    if file:
        kinds["asked"] = [question for question in read_questions(file, library) if question.gold]
    return kinds


def format_table(title: str, sites: Sequence[tuple[Library, Sequence[ScoredQuestion]]]) -> Iterator[str]:
    """Yield the lines of the table for one kind of queries, as means over sites."""
    yield f"\n{title}\n"
    heads = [f"{what} @{depth}" for what in ("page", "section") for depth in DEPTHS]
    yield "| ranks |" + "".join(f" {head} |" for head in (*heads, "1 / rank", "gain over words", "gain over both"))
    yield "| --- |" + " --: |" * (len(heads) + 3)
    ranks_by_fusion = {
        name: [[_find_ranks(library, question, fusion) for question in questions] for library, questions in sites]
        for name, fusion in FUSIONS.items()
    }
    for name, ranks in ranks_by_fusion.items():
        cells = [
            mean([mean([float(pair[position] < depth) for pair in site_ranks]) for site_ranks in ranks])
            for position in (0, 1)
            for depth in DEPTHS
        ]
        cells.append(mean([mean([_reciprocal(*pair) for pair in site_ranks]) for site_ranks in ranks]))
        gains = [
            format_gain(ranks, ranks_by_fusion[other], _reciprocal) if name != other else ""
            for other in ("words", HYBRID)
        ]
        yield (
            f"| {name} |" + "".join(f" {100 * cell:.1f} |" for cell in cells) + "".join(f" {gain} |" for gain in gains)
        )


def _find_ranks(library: Library, question: ScoredQuestion, fusion: Fusion) -> tuple[int, int]:
    scores = fusion(question)
    order = sorted(scores, key=scores.__getitem__, reverse=True)[:MAX_DEPTH]
    page_rank, section_rank = find_ranks(
        question.question, [section for id_ in order if (section := library.sections.get(id_))]
    )
    return (page_rank, section_rank) if question.question.gold & set(order) else (MAX_DEPTH, MAX_DEPTH)


def _reciprocal(page: int, section: int) -> float:
    return 1 / (section + 1) if section < MAX_DEPTH else 0.0


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sites", nargs="+", metavar="NAME=SITE_DIR", help="Published sites.")
    parser.add_argument(
        "--questions", action="append", default=[], metavar="NAME=FILE", help="Question file of a site (repeatable)."
    )
    parser.add_argument("--config", type=Path, help="Settings with a model in [embeddings].")
    parser.add_argument(
        "--most", type=int, default=200, help="Maximum number of queries of each kind per site (default: 200)."
    )
    parser.add_argument(
        "--least", type=int, default=40, help="Minimum number of links, or sentences, of a site (default: 40)."
    )
    parser.add_argument("--each", action="store_true", help="Also print a table for each site.")
    options = parser.parse_args(arguments)
    embeddings = load_settings(options.config).embeddings
    if embeddings is None:
        raise SystemExit("no embeddings model configured. Set one in [embeddings] of the settings.")
    endpoint: EmbeddingsClient = create_embeddings_client(embeddings, os.environ)
    queries = QueryEmbedder(endpoint, prefix=embeddings.query_prefix, on_warning=print, timeout=60.0)
    files = dict(argument.split("=", 1) for argument in options.questions)
    kinds: dict[str, list[tuple[str, Library, list[ScoredQuestion]]]] = {}
    for name, folder in (argument.split("=", 1) for argument in options.sites):
        library, _ = add_site_vectors(
            folder, EmbeddingsOptions(endpoint.model, lambda: endpoint, embeddings.text_prefix)
        )
        file = Path(files[name]) if name in files else None
        scored = score_questions(library, queries, make_questions(library, file, options.most, options.least))
        for kind, questions in scored.items():
            kinds.setdefault(kind, []).append((name, library, questions))
    print(f"hybrid search: {HYBRID}")
    for kind, sites_of_kind in kinds.items():
        counts = ", ".join(f"{name} {len(questions)}" for name, _, questions in sites_of_kind)
        tables = [(f"{kind}: {counts}", sites_of_kind)]
        if options.each and len(sites_of_kind) > 1:
            tables += [(f"{kind}: {site[0]}", [site]) for site in sites_of_kind]
        for title, sites in tables:
            for line in format_table(title, [(library, questions) for _, library, questions in sites]):
                print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
