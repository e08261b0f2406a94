"""Which way to rank sections finds the right one? The default of search beside what else is known to work.

    python benchmarks/rankings.py NAME=SITE_DIR … [--questions FILE.yml] [--most 200]

Three kinds of questions. Of the first site those of a question file. Of each site with forty links between pages or
more the links' words, and the sentences that the links stand in, the links' words left out; their answer is the section
that the link leads to, and the page that it stands on does not count. Links are parted into five lots by chance: what
is asked by the links of one is asked of an index that has not heard of them, nor of others like them.

For each way to rank the table gives hit@1 of pages, hit@1 and hit@5 of sections, and their mean reciprocal rank, as
means over sites; then what it gains or loses beside the default, with the interval in which 95 of 100 draws of as many
questions lie (bootstrap, by site, paired). A way is worth taking where it gains and nowhere loses.
"""

from __future__ import annotations

import argparse
import math
import random
import re
import sqlite3
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from search_quality import LINK, Question, found_at, link_questions, porter, read_questions

from mkdocs_roaming.library.library import Library, open_library
from mkdocs_roaming.library.search import Search, Weights, parse_query
from mkdocs_roaming.manifest.lookup import SectionRef
from mkdocs_roaming.text.tokenizer import is_stop_word, split_words

LEAST = 40
LOTS = 5
DEEP = 200
"""The sections of each ranking that are looked at."""
KINDS = ("asked", "links", "sentences")
WINDOW, STEP = 100, 50
"""The words of a window, and from one window to the next."""

Rank = Callable[[Question], Sequence[SectionRef]]
Way = Callable[["Docs"], Rank]


@dataclass(frozen=True, slots=True)
class Docs:
    """A site, and what is asked of it, by kind."""

    name: str
    library: Library
    places: tuple[SectionRef, ...]
    asked: dict[str, Sequence[Question]]
    lots: dict[Question, frozenset[tuple[str, str]]]
    """The links that must not be known where a question is asked."""


@dataclass(frozen=True, slots=True)
class Score:
    """What is counted of where the right page and the right section stand."""

    name: str
    of: Callable[[int, int], float]


SCORES = (
    Score("page @1", lambda page, section: float(page < 1)),
    Score("section @1", lambda page, section: float(section < 1)),
    Score("section @5", lambda page, section: float(section < 5)),
    Score("1/rank", lambda page, section: 1 / (section + 1) if section < DEEP else 0.0),
)


# What is asked


def docs(name: str, folder: str, questions: Path | None, most: int) -> Docs:
    """Open a site and find out what to ask of it."""
    library = open_library(folder)
    links = link_questions(library, most)
    sentences = list(sentence_questions(library))
    random.Random(7).shuffle(sentences)
    kinds = {"links": links, "sentences": sentences[:most]}
    given: dict[str, Sequence[Question]] = {kind: some for kind, some in kinds.items() if len(some) >= LEAST}
    if questions:
        given["asked"] = [question for question in read_questions(questions, library) if question.gold]
    lots = [frozenset((each.ask.lower(), next(iter(each.gold))) for each in links[at::LOTS]) for at in range(LOTS)]
    of_link = {question: lots[at % LOTS] for at, question in enumerate(links)}
    return Docs(name, library, tuple(library.sections), given, of_link)


def sentence_questions(library: Library) -> Iterator[Question]:
    """Make questions of sentences with one link to another page: their words but the link's, four that tell or more."""
    pages = {page.markdown: page for page in library.manifest.pages}
    site = library.manifest.site.url
    known: set[tuple[str, str]] = set()
    for place in library.sections:
        lines = (line for line in library.text(place).splitlines() if "](" in line and not line.startswith("#"))
        for sentence in (each for line in lines for each in _SENTENCE.split(line)):
            urls = [url for _, url in LINK.findall(sentence)]
            path, _, anchor = urls[0].removeprefix(site).partition("#") if len(urls) == 1 else ("", "", "")
            page = pages.get(path) if urls and urls[0].startswith(site) else None
            target = library.sections.find_anchor(page, anchor) if page else None
            words = _MARKS.sub(" ", LINK.sub(" ", sentence)).strip(" -")
            telling = [word for word in split_words(words) if not is_stop_word(word)]
            if target is None or target.page is place.page or len(telling) < 4 or (words, target.id) in known:
                continue
            known.add((words, target.id))
            yield Question(words, frozenset([target.id]), place.page.path)


_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z\[`*])")
_MARKS = re.compile(r"https?://\S+|\[!\w+\]|[*`>|]")


# Ways to rank


def search(excluded_links: bool = False, **changes: float) -> Way:
    """Rank as search does, its weights changed; without the words of links, or with those of all other lots."""

    def way(site: Docs) -> Rank:
        weights = replace(Weights(), **{"links": 0.0, **changes})
        made: dict[frozenset[tuple[str, str]], Search] = {}

        def rank(question: Question) -> Sequence[SectionRef]:
            lot = site.lots.get(question, frozenset()) if excluded_links else frozenset()
            if lot not in made:
                made[lot] = Search(site.library, weights=weights, excluded_links=lot)
            words = parse_query(question.ask, site.library.manifest.site.language)
            return [place for place, _ in made[lot].rank(words)[:DEEP]]

        return rank

    return way


def text(site: Docs) -> Rank:
    """Rank by FTS5 over sections' texts, with porter stemming."""
    rank = porter(site.library)
    return lambda question: rank(question.ask)[:DEEP]


def windows(summed: bool) -> Way:
    """Rank by FTS5 over windows: by a section's best, or by PageIndex's NodeScore, their sum over √(windows + 1)."""

    def way(site: Docs) -> Rank:
        pieces = [(at, piece) for at, place in enumerate(site.sections) for piece in _cut(site.library.text(place))]
        counts = [0] * len(site.sections)
        for at, _ in pieces:
            counts[at] += 1
        table = sqlite3.connect(":memory:")
        table.execute("CREATE VIRTUAL TABLE windows USING fts5(text, tokenize='porter unicode61')")
        table.executemany("INSERT INTO windows VALUES (?)", ((piece,) for _, piece in pieces))

        def rank(question: Question) -> Sequence[SectionRef]:
            words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", question.ask))
            found = table.execute("SELECT rowid, -bm25(windows) FROM windows WHERE windows MATCH ?", (words,))
            scores: dict[int, float] = {}
            for row, score in found if words else ():
                at = pieces[row - 1][0]
                scores[at] = scores.get(at, 0.0) + score if summed else max(scores.get(at, 0.0), score)
            if summed:
                scores = {at: score / math.sqrt(counts[at] + 1) for at, score in scores.items()}
            return [site.sections[at] for at in sorted(scores, key=lambda at: (-scores[at], at))[:DEEP]]

        return rank

    return way


def _cut(markdown: str) -> list[str]:
    words = markdown.split()
    return [" ".join(words[at : at + WINDOW]) for at in range(0, max(len(words) - STEP, 1), STEP)]


def fused(*ways: Way) -> Way:
    """Rank by the sum of 1 / (60 + rank) over several rankings."""

    def way(site: Docs) -> Rank:
        ranks = [each(site) for each in ways]

        def rank(question: Question) -> Sequence[SectionRef]:
            scores: dict[SectionRef, float] = {}
            for each in ranks:
                for at, place in enumerate(each(question), 1):
                    scores[place] = scores.get(place, 0.0) + 1 / (60 + at)
            return sorted(scores, key=lambda place: -scores[place])

        return rank

    return way


BODY = {
    **dict.fromkeys(("title", "above", "nav", "keywords", "below", "page", "full_title_bonus", "synonym"), 0.0),
    "body": 1.0,
}
WAYS: dict[str, Way] = {
    "search": search(),
    "… words that are lacking cost nothing": search(coverage_penalty=0.0),
    "… and a page's share and `full_title_bonus` 0.4": search(coverage_penalty=0.0, page=0.4, full_title_bonus=0.4),
    "… with the words of other links": search(excluded_links=True, links=Weights().links),
    "… without keywords": search(keywords=0.0),
    "… without synonyms": search(synonym=0.0),
    "… without the page's share": search(page=0.0),
    "… without `full_title_bonus`": search(full_title_bonus=0.0),
    "… titles at half": search(title=Weights().title / 2),
    "… text alone, BM25 of our terms": search(**BODY, coverage_penalty=0.0),
    "FTS5 porter": text,
    "best window": windows(summed=False),
    "NodeScore": windows(summed=True),
    "fused: search, FTS5 porter": fused(search(), text),
    "fused: search, best window": fused(search(), windows(summed=False)),
    "fused: search, FTS5, window": fused(search(), text, windows(summed=False)),
    "fused: FTS5, window": fused(text, windows(summed=False)),
}


# What comes of them


def table(sites: Sequence[Docs], ways: dict[str, Way]) -> Iterator[str]:
    """Give a table for each kind of question."""
    for kind in KINDS:
        those = [site for site in sites if kind in site.asked]
        if not those:
            continue
        yield f"\n{kind}: " + ", ".join(f"{site.name} {len(site.asked[kind])}" for site in those) + "\n"
        yield "| ranks |" + "".join(f" {score.name} |" for score in SCORES) + " gain in 1/rank |"
        yield "| --- |" + " --: |" * (len(SCORES) + 1)
        default: list[list[tuple[int, int]]] = []
        for name, way in ways.items():
            ranks = [
                [found_at(question, rank(question)) for question in site.asked[kind]]
                for site, rank in ((site, way(site)) for site in those)
            ]
            default = default or ranks
            cells = "".join(
                f" {100 * mean([mean([score.of(*each) for each in one]) for one in ranks]):.1f} |" for score in SCORES
            )
            yield f"| {name} |{cells} {gain(ranks, default, SCORES[-1].of)} |"


def gain(
    ranks: Sequence[Sequence[tuple[int, int]]],
    beside: Sequence[Sequence[tuple[int, int]]],
    score: Callable[[int, int], float],
) -> str:
    """Give the mean difference, and its interval."""
    gains = [
        [score(*one) - score(*other) for one, other in zip(mine, theirs, strict=True)]
        for mine, theirs in zip(ranks, beside, strict=True)
    ]
    draw = random.Random(1)
    drawn = sorted(100 * mean([mean(draw.choices(each, k=len(each))) for each in gains]) for _ in range(1_000))
    return f"{100 * mean([mean(each) for each in gains]):+.1f} ({drawn[25]:+.1f} … {drawn[974]:+.1f})"


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sites", nargs="+", metavar="NAME=SITE_DIR", help="published sites")
    parser.add_argument("--questions", type=Path, help="a question file about the first site")
    parser.add_argument("--most", type=int, default=200, help="questions of a kind and site")
    options = parser.parse_args(arguments)
    named = [each.rpartition("=") for each in options.sites]
    sites = [
        docs(name or folder, folder, None if at else options.questions, options.most)
        for at, (name, _, folder) in enumerate(named)
    ]
    for line in table(sites, WAYS):
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
