"""Compare ways to rank sections: the default search, variants of it, and other methods.

    python benchmarks/rankings.py NAME=SITE_DIR … [--questions FILE.yml] [--most 200]

There are three kinds of queries: the questions of a file about the first site; and of each site with at least forty
links between pages, the link texts and the sentences around the links, without the link texts. The right section is
the target of the link, and the page with the link does not count. Links are divided randomly into five parts; a link is
tested with an index that excludes its part.

For each ranking the table contains hit@1 of pages, hit@1 and hit@5 of sections, and the mean reciprocal rank, as means
over sites; and the gain relative to the default search with its 95 % interval (paired bootstrap by site). A ranking is
better if it gains on one kind and loses on none.
"""

from __future__ import annotations

import argparse
import math
import random
import re
import sqlite3
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from search_quality import LINK, Question, find_ranks, fts5_ranking, make_link_questions, read_questions

from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.search import Search
from mkdocs_roaming.library.targets import open_library
from mkdocs_roaming.manifest.lookup import SectionRef
from mkdocs_roaming.search.ranking import Weights, parse_query
from mkdocs_roaming.text.tokenizer import is_stop_word, split_words

MIN_LINKS = 40
PARTS = 5
MAX_DEPTH = 200
"""Number of sections considered in each ranking."""
KINDS = ("asked", "links", "sentences")
WINDOW, STEP = 100, 50
"""Words in a window, and between the starts of two windows."""

Ranking = Callable[[Question], Sequence[SectionRef]]
RankingFactory = Callable[["BenchmarkSite"], Ranking]


@dataclass(frozen=True, slots=True)
class BenchmarkSite:
    """A site with its queries by kind."""

    name: str
    library: Library
    sections: tuple[SectionRef, ...]
    queries: dict[str, Sequence[Question]]
    excluded_links: dict[Question, frozenset[tuple[str, str]]]
    """Links that the index for a query excludes."""


@dataclass(frozen=True, slots=True)
class Score:
    """A score of the ranks of the right page and the right section."""

    name: str
    compute: Callable[[int, int], float]


SCORES = (
    Score("page @1", lambda page, section: float(page < 1)),
    Score("section @1", lambda page, section: float(section < 1)),
    Score("section @5", lambda page, section: float(section < 5)),
    Score("1 / rank", lambda page, section: 1 / (section + 1) if section < MAX_DEPTH else 0.0),
)


# Queries


def load_site(name: str, folder: str, questions: Path | None, limit: int) -> BenchmarkSite:
    """Open a site and create its queries."""
    library = open_library(folder)
    links = make_link_questions(library, limit)
    sentences = list(make_sentence_questions(library))
    random.Random(7).shuffle(sentences)
    kinds = {"links": links, "sentences": sentences[:limit]}
    queries: dict[str, Sequence[Question]] = {
        kind: questions_of_kind for kind, questions_of_kind in kinds.items() if len(questions_of_kind) >= MIN_LINKS
    }
    if questions:
        queries["asked"] = [question for question in read_questions(questions, library) if question.gold]
    parts = [
        frozenset((link.text.lower(), next(iter(link.gold))) for link in links[index::PARTS]) for index in range(PARTS)
    ]
    excluded = {question: parts[index % PARTS] for index, question in enumerate(links)}
    return BenchmarkSite(name, library, tuple(library.sections), queries, excluded)


def make_sentence_questions(library: Library) -> Iterator[Question]:
    """Yield sentences with one link to another page, without the link text, as questions of four or more words."""
    pages = {page.markdown: page for page in library.manifest.pages}
    site = library.manifest.site.url
    known: set[tuple[str, str]] = set()
    for section in library.sections:
        lines = (line for line in library.text(section).splitlines() if "](" in line and not line.startswith("#"))
        for sentence in (part for line in lines for part in _SENTENCE_END.split(line)):
            urls = [url for _, url in LINK.findall(sentence)]
            path, _, anchor = urls[0].removeprefix(site).partition("#") if len(urls) == 1 else ("", "", "")
            page = pages.get(path) if urls and urls[0].startswith(site) else None
            target = library.sections.find_anchor(page, anchor) if page else None
            words = _MARKUP.sub(" ", LINK.sub(" ", sentence)).strip(" -")
            significant = [word for word in split_words(words) if not is_stop_word(word)]
            if target is None or target.page is section.page or len(significant) < 4 or (words, target.id) in known:
                continue
            known.add((words, target.id))
            yield Question(words, frozenset([target.id]), section.page.path)


_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z\[`*])")
_MARKUP = re.compile(r"https?://\S+|\[!\w+\]|[*`>|]")


# Rankings


def make_search(link_texts: bool = False, **changes: float) -> RankingFactory:
    """Rank with `roaming search` and changed weights, without link texts or with those of the other parts."""

    def make(site: BenchmarkSite) -> Ranking:
        weights = Weights(**{"links": 0.0, **changes})
        searches: dict[frozenset[tuple[str, str]], Search] = {}

        def rank(question: Question) -> Sequence[SectionRef]:
            excluded = site.excluded_links.get(question, frozenset()) if link_texts else frozenset()
            if excluded not in searches:
                searches[excluded] = Search(site.library, weights=weights, excluded_links=excluded)
            words = parse_query(question.text, site.library.manifest.site.language)
            return [section for section, _ in searches[excluded].rank(words)[:MAX_DEPTH]]

        return rank

    return make


def make_fts5(site: BenchmarkSite) -> Ranking:
    """Rank with FTS5 over the section texts, with porter stemming."""
    rank = fts5_ranking(site.library)
    return lambda question: rank(question.text)[:MAX_DEPTH]


def make_windows(sum_scores: bool) -> RankingFactory:
    """Rank with FTS5 over windows: by the best one, or by NodeScore of PageIndex, the sum over √(windows + 1)."""

    def make(site: BenchmarkSite) -> Ranking:
        pieces = [
            (index, piece)
            for index, section in enumerate(site.sections)
            for piece in _split_windows(site.library.text(section))
        ]
        counts = [0] * len(site.sections)
        for index, _ in pieces:
            counts[index] += 1
        table = sqlite3.connect(":memory:")
        table.execute("CREATE VIRTUAL TABLE windows USING fts5(text, tokenize='porter unicode61')")
        table.executemany("INSERT INTO windows VALUES (?)", ((piece,) for _, piece in pieces))

        def rank(question: Question) -> Sequence[SectionRef]:
            words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", question.text))
            rows = table.execute("SELECT rowid, -bm25(windows) FROM windows WHERE windows MATCH ?", (words,))
            scores: dict[int, float] = {}
            for row, score in rows if words else ():
                index = pieces[row - 1][0]
                scores[index] = scores.get(index, 0.0) + score if sum_scores else max(scores.get(index, 0.0), score)
            if sum_scores:
                scores = {index: score / math.sqrt(counts[index] + 1) for index, score in scores.items()}
            return [
                site.sections[index] for index in sorted(scores, key=lambda index: (-scores[index], index))[:MAX_DEPTH]
            ]

        return rank

    return make


def _split_windows(markdown: str) -> list[str]:
    words = markdown.split()
    return [" ".join(words[index : index + WINDOW]) for index in range(0, max(len(words) - STEP, 1), STEP)]


def fuse(*factories: RankingFactory) -> RankingFactory:
    """Rank by reciprocal rank fusion: the sum of 1 / (60 + rank) over several rankings."""

    def make(site: BenchmarkSite) -> Ranking:
        rankings = [factory(site) for factory in factories]

        def rank(question: Question) -> Sequence[SectionRef]:
            scores: dict[SectionRef, float] = {}
            for ranking in rankings:
                for index, section in enumerate(ranking(question), 1):
                    scores[section] = scores.get(section, 0.0) + 1 / (60 + index)
            return sorted(scores, key=lambda section: -scores[section])

        return rank

    return make


BODY_WEIGHTS = {
    **dict.fromkeys(("title", "above", "nav", "below", "page", "full_title_bonus", "pairs", "synonym"), 0.0),
    "body": 1.0,
}
_BEST_WINDOW = make_windows(sum_scores=False)
RANKINGS: dict[str, RankingFactory] = {
    "`roaming search`": make_search(),
    "… first version: no penalty for missing words, no `pairs`, lower weight of page and title": make_search(
        coverage_penalty=0.0, page=0.4, full_title_bonus=0.4, pairs=0.0
    ),
    "… with link texts": make_search(link_texts=True, links=Weights().links),
    "… without synonyms": make_search(synonym=0.0),
    "… without the page's text": make_search(page=0.0),
    "… without `full_title_bonus`": make_search(full_title_bonus=0.0),
    "… without `pairs`": make_search(pairs=0.0),
    "… half the weight of titles": make_search(title=Weights().title / 2),
    "… text alone, BM25": make_search(**BODY_WEIGHTS, coverage_penalty=0.0),
    "FTS5 porter": make_fts5,
    "best window": _BEST_WINDOW,
    "NodeScore": make_windows(sum_scores=True),
    "fused: search, FTS5 porter": fuse(make_search(), make_fts5),
    "fused: search, best window": fuse(make_search(), _BEST_WINDOW),
    "fused: search, FTS5, window": fuse(make_search(), make_fts5, _BEST_WINDOW),
    "fused: FTS5, window": fuse(make_fts5, _BEST_WINDOW),
}


# Results


def format_tables(sites: Sequence[BenchmarkSite], rankings: dict[str, RankingFactory]) -> Iterator[str]:
    """Yield the lines of a table for each kind of query."""
    for kind in KINDS:
        tested = [site for site in sites if kind in site.queries]
        if not tested:
            continue
        yield f"\n{kind}: " + ", ".join(f"{site.name} {len(site.queries[kind])}" for site in tested) + "\n"
        yield "| ranking |" + "".join(f" {score.name} |" for score in SCORES) + " gain |"
        yield "| --- |" + " --: |" * (len(SCORES) + 1)
        default: list[list[tuple[int, int]]] = []
        for name, factory in rankings.items():
            ranks = [
                [find_ranks(question, rank(question)) for question in site.queries[kind]]
                for site, rank in ((site, factory(site)) for site in tested)
            ]
            default = default or ranks
            cells = "".join(
                f" {100 * mean([mean([score.compute(*pair) for pair in site_ranks]) for site_ranks in ranks]):.1f} |"
                for score in SCORES
            )
            yield f"| {name} |{cells} {format_gain(ranks, default, SCORES[-1].compute)} |"


def format_gain(
    ranks: Sequence[Sequence[tuple[int, int]]],
    baseline: Sequence[Sequence[tuple[int, int]]],
    score: Callable[[int, int], float],
) -> str:
    """Return the mean difference to the baseline and its 95 % interval."""
    gains = [
        [score(*pair) - score(*base) for pair, base in zip(site_ranks, base_ranks, strict=True)]
        for site_ranks, base_ranks in zip(ranks, baseline, strict=True)
    ]
    rng = random.Random(1)
    means = sorted(
        100 * mean([mean(rng.choices(site_gains, k=len(site_gains))) for site_gains in gains]) for _ in range(1_000)
    )
    return f"{100 * mean([mean(site_gains) for site_gains in gains]):+.1f} ({means[25]:+.1f} … {means[974]:+.1f})"


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sites", nargs="+", metavar="NAME=SITE_DIR", help="Published sites.")
    parser.add_argument("--questions", type=Path, help="Question file about the first site.")
    parser.add_argument(
        "--most", type=int, default=200, help="Maximum number of queries of each kind per site (default: 200)."
    )
    options = parser.parse_args(arguments)
    arguments_by_site = [argument.rpartition("=") for argument in options.sites]
    sites = [
        load_site(name or folder, folder, None if index else options.questions, options.most)
        for index, (name, _, folder) in enumerate(arguments_by_site)
    ]
    for line in format_tables(sites, RANKINGS):
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
