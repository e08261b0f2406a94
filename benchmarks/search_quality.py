"""How often does search rank the right page and the right section first?

    python benchmarks/search_quality.py SITE_DIR QUESTIONS.yml [QUESTIONS.yml …]
    python benchmarks/search_quality.py SITE_DIR --links

Prints hit@1/5/12 for pages and sections: of `roaming search`, and of SQLite FTS5 with its own porter tokenizer over
the same sections' text. With a question file also the sections that the offline model reaches, and how many of the
questions without an answer it declines (`--no-offline` leaves that out). `--links` asks without a question file: the
words of each link between pages are a question, the section it leads to is the answer, and the page that it stands on
is left out of the results; so an index of links cannot answer its own questions, search runs without that field.
"""

from __future__ import annotations

import argparse
import random
import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import anyio
import yaml

from mkdocs_roaming.library.library import Library, open_library
from mkdocs_roaming.library.search import Search, Weights
from mkdocs_roaming.manifest.lookup import SectionRef
from mkdocs_roaming.text.tokenizer import is_stop_word, split_words

DEPTHS = (1, 5, 12)
Rank = Callable[[str], list[SectionRef]]


@dataclass(frozen=True, slots=True)
class Question:
    """A question, the ids of the sections that answer it, and the page that must not count."""

    ask: str
    gold: frozenset[str]
    without: str | None = None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site", help="a published site: its folder or address")
    parser.add_argument("questions", nargs="*", type=Path, help="question files")
    parser.add_argument("--links", type=int, nargs="?", const=400, help="ask by the site's own links, at most so many")
    parser.add_argument("--no-offline", action="store_true", help="leave the offline model out")
    options = parser.parse_args()
    library = open_library(options.site)
    print(f"{options.site}: {len(library.manifest.pages)} pages, {len(library.sections)} sections")
    for file in options.questions:
        questions = read_questions(file, library)
        answerable = [question for question in questions if question.gold]
        print(f"\n{file}: {len(answerable)} answerable, {len(questions) - len(answerable)} not")
        show(answerable, {"search": ranked(Search(library)), "FTS5 porter": porter(library)})
        if not options.no_offline:
            show_offline(library, questions)
    if options.links:
        questions = link_questions(library, options.links)
        print(f"\n{len(questions)} links between pages, by their words")
        show(
            questions,
            {"search": ranked(Search(library, weights=replace(Weights(), links=0.0))), "FTS5 porter": porter(library)},
        )


def show(questions: Sequence[Question], rankings: dict[str, Rank]) -> None:
    """Print a line for each way to rank."""
    print(f"{'':14}" + "".join(f"{f'{what} @{depth}':>13}" for what in ("page", "section") for depth in DEPTHS))
    for name, rank in rankings.items():
        page, section = hits(questions, rank)
        print(f"{name:14}" + "".join(f"{100 * share:12.1f}%" for share in (*page, *section)))


def hits(questions: Sequence[Question], rank: Rank) -> tuple[list[float], list[float]]:
    """Give the shares of questions whose page, and whose section, is among the first 1, 5, 12."""
    pages, sections = [0.0] * len(DEPTHS), [0.0] * len(DEPTHS)
    for question in questions:
        page, section = found_at(question, rank(question.ask))
        for at, depth in enumerate(DEPTHS):
            pages[at] += (page < depth) / len(questions)
            sections[at] += (section < depth) / len(questions)
    return pages, sections


def found_at(question: Question, places: Sequence[SectionRef]) -> tuple[int, int]:
    """Give the ranks of the first right page, among pages, and of the first right section."""
    places = [place for place in places if place.page.path != question.without]
    right = {place.page.path for place in places if place.id in question.gold}
    order = list(dict.fromkeys(place.page.path for place in places))
    page = next((at for at, path in enumerate(order) if path in right), len(order) + DEPTHS[-1])
    section = next((at for at, place in enumerate(places) if place.id in question.gold), len(places) + DEPTHS[-1])
    return page, section


def read_questions(file: Path, library: Library) -> list[Question]:
    """Read a question file; an address that names no section is an error."""
    questions = []
    for at, entry in enumerate(yaml.safe_load(file.read_text("utf-8"))["questions"], 1):
        gold = set()
        for address in entry.get("sections", ()):
            place = library.sections.resolve(address)
            if place is None:
                raise SystemExit(f"{file}: question {at}: no section {address!r}")
            gold.add(place.id)
        if bool(gold) != entry.get("answerable", True):
            raise SystemExit(
                f"{file}: question {at}: answerable is {entry.get('answerable', True)}, with {len(gold)} sections"
            )
        questions.append(Question(entry["ask"], frozenset(gold)))
    return questions


def link_questions(library: Library, most: int) -> list[Question]:
    """Make questions of the links between pages: at least two telling words, each once, drawn by chance."""
    pages = {page.markdown: page for page in library.manifest.pages}
    site = library.manifest.site.url
    found: dict[tuple[str, str], Question] = {}
    for place in library.sections:
        for words, url in LINK.findall(library.text(place)):
            path, _, anchor = url.removeprefix(site).partition("#")
            page = pages.get(path) if url.startswith(site) else None
            target = library.sections.find_anchor(page, anchor) if page else None
            telling = [word for word in split_words(words) if not is_stop_word(word)]
            if target is None or target.page is place.page or len(telling) < 2:
                continue
            found.setdefault((words.lower(), target.id), Question(words, frozenset([target.id]), place.page.path))
    questions = list(found.values())
    random.Random(7).shuffle(questions)
    return questions[:most]


LINK = re.compile(r"(?<!!)\[([^\]\[\n]+)\]\((https?://[^)\s]+)\)")


def ranked(search: Search) -> Rank:
    """Give how search ranks sections."""
    return lambda ask: [hit.place for hit in search.find(ask, limit=200)]


def porter(library: Library) -> Rank:
    """Give how SQLite's own full-text search ranks the same sections by their text."""
    table = sqlite3.connect(":memory:")
    table.execute("CREATE VIRTUAL TABLE sections USING fts5(text, tokenize='porter unicode61')")
    places = list(library.sections)
    table.executemany("INSERT INTO sections(rowid, text) VALUES (?, ?)", rows(library, places))

    def rank(ask: str) -> list[SectionRef]:
        words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", ask))
        found = table.execute(
            "SELECT rowid FROM sections WHERE sections MATCH ? ORDER BY bm25(sections), rowid", (words,)
        )
        return [places[row] for (row,) in found] if words else []

    return rank


def rows(library: Library, places: Sequence[SectionRef]) -> Iterator[tuple[int, str]]:
    library.prefetch()
    return ((at, library.text(place)) for at, place in enumerate(places))


def show_offline(library: Library, questions: Sequence[Question]) -> None:
    """Print how often the offline model opens and cites a right section, and what it does without one."""
    from mkdocs_roaming.answer.events import collect_answer
    from mkdocs_roaming.answer.loop import answer
    from mkdocs_roaming.answer.models.extractive import ExtractiveModel
    from mkdocs_roaming.library.navigator import Navigator

    search = Search(library)
    answerable = [question for question in questions if question.gold]
    opened = cited = declined = wrongly = 0
    for question in questions:
        navigator = Navigator(library, search=search)
        result = anyio.run(collect_answer, answer(question.ask, navigator, ExtractiveModel(), whole_site_tokens=0))
        none = result.state in ("not_found", "refused")
        if question.gold:
            opened += not question.gold.isdisjoint(navigator.opened)
            cited += any(citation.id in question.gold for citation in result.citations)
            wrongly += none
        else:
            declined += none
    right, without = len(answerable), len(questions) - len(answerable)
    print(f"offline model: a right section opened {share(opened, right)}, cited {share(cited, right)},")
    print(f"  declined {share(wrongly, right)}; questions without an answer declined {share(declined, without)}")


def share(part: int, whole: int) -> str:
    """Give a share as people read it."""
    return f"{100 * part / whole:.1f}% ({part} of {whole})" if whole else "none"


if __name__ == "__main__":
    main()
