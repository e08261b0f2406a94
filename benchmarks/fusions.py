"""How should what words and what meaning say of a section be put together, and how much should meaning count?

    python benchmarks/fusions.py NAME=SITE_DIR … [--questions NAME=FILE.yml …] --config roaming.toml [--most 200]

Asks the server that `[embeddings]` of the settings names; a site that was published with its vectors is not embedded
again. Three kinds of questions, as `rankings.py` has them: those of question files, the words of links, and the
sentences that links stand in without the links' words; words search without the words of links.

For each way the table gives hit@1/5/12 of pages and of sections and the mean of 1 / rank, as means over sites, then
what it gains in 1 / rank beside words alone and beside search as it is built, with the intervals in which 95 of 100
draws of as many questions lie (bootstrap, by site, paired).
"""

from __future__ import annotations

import argparse
import os
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from meaning import with_meaning
from rankings import DEEP, gain, mean, sentence_questions
from search_quality import DEPTHS, Question, found_at, link_questions, read_questions

from mkdocs_roaming.config import load_settings
from mkdocs_roaming.embeddings.client import EmbeddingsClient, QueryEmbedder, create_embeddings_client
from mkdocs_roaming.embeddings.store import EmbeddingsOptions
from mkdocs_roaming.library.hybrid import VECTOR_WEIGHT, HybridSearch, fuse_scores
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.search import Search, Weights, parse_query

Scores = Mapping[str, float]
"""What sections score, by their ids, the best first."""
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, and what words and meaning say to it."""

    question: Question
    words: Scores
    meaning: Scores
    telling: int
    """How many of its words tell something."""


Way = Callable[[Asked], Scores]


# Ways to put both together


def shared(share: float) -> Way:
    """Add up scores, as search does: so much by meaning, the rest by words."""
    return lambda one: fuse_scores(one.words, one.meaning, share)


def by_length(few: float, many: float, telling: int = 4) -> Way:
    """Add up scores, meaning counting otherwise for a question of so many words that tell, or more."""
    return lambda one: fuse_scores(one.words, one.meaning, few if one.telling < telling else many)


def by_rank(share: float) -> Way:
    """Add up 1 / (60 + rank): reciprocal rank fusion, each counting as its share."""

    def way(one: Asked) -> Scores:
        scores: dict[str, float] = {}
        for weight, ranked in ((1 - share, one.words), (share, one.meaning)):
            for at, id_ in enumerate(ranked, 1):
                scores[id_] = scores.get(id_, 0.0) + weight / (60 + at)
        return scores

    return way


BUILT = f"scores, {VECTOR_WEIGHT:g} by meaning"
WAYS: dict[str, Way] = {
    "words": lambda one: one.words,
    "meaning": lambda one: one.meaning,
    **{f"scores, {share:g} by meaning": shared(share) for share in sorted({*SHARES, VECTOR_WEIGHT})},
    "scores, 0.5 from four telling words on, else 0.3": by_length(0.3, 0.5),
    "ranks, half and half": by_rank(0.5),
    "ranks, 0.3 by meaning": by_rank(0.3),
}


# What is asked, and what comes of it


def answers(
    library: Library, queries: QueryEmbedder, kinds: Mapping[str, Sequence[Question]]
) -> dict[str, list[Asked]]:
    """Ask all questions of a site once, by words and by meaning."""
    language = library.manifest.site.language
    hybrid = HybridSearch(Search(library, weights=replace(Weights(), links=0.0)), queries)
    whole = HybridSearch(Search(library), queries)

    def ask(question: Question, search: HybridSearch) -> Asked:
        near = search.vectors.nearest(question.ask)
        if near is None:
            raise SystemExit(f"no vector for {question.ask!r}")
        telling = parse_query(question.ask, language)
        words = {place.id: score for place, score in search.words.rank(telling)}
        return Asked(question, words, {one.place.id: one.cosine for one in near}, len(telling))

    return {
        kind: [ask(each, whole if kind == "asked" else hybrid) for each in questions]
        for kind, questions in kinds.items()
    }


def questions_of(library: Library, file: Path | None, most: int, least: int) -> dict[str, Sequence[Question]]:
    """Give what is asked of a site, by kind."""
    sentences = list(sentence_questions(library))
    random.Random(7).shuffle(sentences)
    kinds: dict[str, Sequence[Question]] = {"links": link_questions(library, most), "sentences": sentences[:most]}
    kinds = {kind: some for kind, some in kinds.items() if len(some) >= least}
    if file:
        kinds["asked"] = [question for question in read_questions(file, library) if question.gold]
    return kinds


def table(title: str, sites: Sequence[tuple[Library, Sequence[Asked]]]) -> Iterator[str]:
    """Give the table of the ways for one kind of questions, as means over sites."""
    yield f"\n{title}\n"
    heads = [f"{what} @{depth}" for what in ("page", "section") for depth in DEPTHS]
    yield "| way |" + "".join(f" {head} |" for head in (*heads, "1/rank", "beside words", "beside what is built"))
    yield "| --- |" + " --: |" * (len(heads) + 3)
    found = {
        name: [[_found(library, each, way) for each in some] for library, some in sites] for name, way in WAYS.items()
    }
    for name, ranks in found.items():
        cells = [
            mean([mean([float(one[at] < depth) for one in each]) for each in ranks])
            for at in (0, 1)
            for depth in DEPTHS
        ]
        cells.append(mean([mean([_reciprocal(*one) for one in each]) for each in ranks]))
        gains = [gain(ranks, found[other], _reciprocal) if name != other else "" for other in ("words", BUILT)]
        yield (
            f"| {name} |" + "".join(f" {100 * cell:.1f} |" for cell in cells) + "".join(f" {each} |" for each in gains)
        )


def _found(library: Library, one: Asked, way: Way) -> tuple[int, int]:
    scores = way(one)
    order = sorted(scores, key=scores.__getitem__, reverse=True)[:DEEP]
    page, section = found_at(one.question, [place for id_ in order if (place := library.sections.get(id_))])
    return (page, section) if one.question.gold & set(order) else (DEEP, DEEP)


def _reciprocal(page: int, section: int) -> float:
    return 1 / (section + 1) if section < DEEP else 0.0


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sites", nargs="+", metavar="NAME=SITE_DIR", help="published sites")
    parser.add_argument("--questions", action="append", default=[], metavar="NAME=FILE", help="what is asked of a site")
    parser.add_argument("--config", type=Path, help="settings that name a model in [embeddings]")
    parser.add_argument("--most", type=int, default=200, help="questions of a kind and site")
    parser.add_argument("--least", type=int, default=40, help="links, or sentences, that a site must have")
    parser.add_argument("--each", action="store_true", help="a table for each site too")
    options = parser.parse_args(arguments)
    said = load_settings(options.config).embeddings
    if said is None:
        raise SystemExit("name a model in [embeddings] of the settings")
    endpoint: EmbeddingsClient = create_embeddings_client(said, os.environ)
    queries = QueryEmbedder(endpoint, prefix=said.query_prefix, on_warning=print, timeout=60.0)
    files = dict(each.split("=", 1) for each in options.questions)
    kinds: dict[str, list[tuple[str, Library, list[Asked]]]] = {}
    for name, folder in (each.split("=", 1) for each in options.sites):
        library, _ = with_meaning(folder, EmbeddingsOptions(endpoint.model, lambda: endpoint, said.text_prefix))
        file = Path(files[name]) if name in files else None
        found = answers(library, queries, questions_of(library, file, options.most, options.least))
        for kind, some in found.items():
            kinds.setdefault(kind, []).append((name, library, some))
    print(f"as built: {BUILT}")
    for kind, those in kinds.items():
        named = ", ".join(f"{name} {len(some)}" for name, _, some in those)
        tables = [(f"{kind}: {named}", those)]
        if options.each and len(those) > 1:
            tables += [(f"{kind}: {each[0]}", [each]) for each in those]
        for title, sites in tables:
            for line in table(title, [(library, some) for _, library, some in sites]):
                print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
