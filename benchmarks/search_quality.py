"""Measure how often search ranks the right page and section first.

    python benchmarks/search_quality.py SITE_DIR QUESTIONS.yml [QUESTIONS.yml …]
    python benchmarks/search_quality.py SITE_DIR --links

Prints hit@1/5/12 of pages and sections for `roaming search` and for SQLite FTS5 with its porter tokenizer over the same
section texts. `--links` uses the texts of the links between pages as queries; the target of the link is the right
section, and the page with the link is excluded from the results. Because an index of link texts cannot be tested with
the same links, search runs without that field.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from public.baselines import make_fts5
from question_files import Question, read_questions

from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.search import Search
from mkdocs_roaming.library.targets import open_library
from mkdocs_roaming.manifest.lookup import SectionRef
from mkdocs_roaming.search.ranking import Weights
from mkdocs_roaming.text.tokenizer import is_stop_word, split_words

DEPTHS = (1, 5, 12)
Ranking = Callable[[str], list[SectionRef]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site", help="Folder or URL of a published site.")
    parser.add_argument("questions", nargs="*", type=Path, help="Question files.")
    parser.add_argument(
        "--links", type=int, nargs="?", const=400, help="Use link texts as queries, at most N (default: 400)."
    )
    options = parser.parse_args()
    library = open_library(options.site)
    print(f"{options.site}: {len(library.manifest.pages)} pages, {len(library.sections)} sections")
    for file in options.questions:
        questions = read_questions(file, library)
        answerable = [question for question in questions if question.gold]
        print(f"\n{file}: {len(answerable)} answerable questions, {len(questions) - len(answerable)} without an answer")
        print_hits(answerable, library, Search(library))
    if options.links:
        questions = make_link_questions(library, options.links)
        print(f"\n{len(questions)} link texts")
        print_hits(questions, library, Search(library, weights=Weights(links=0.0)))


def print_hits(questions: Sequence[Question], library: Library, search: Search) -> None:
    """Print a row for each ranking."""
    rankings = {"roaming search": search_ranking(search), "FTS5 porter": fts5_ranking(library)}
    print(f"{'':16}" + "".join(f"{f'{what} @{depth}':>13}" for what in ("page", "section") for depth in DEPTHS))
    for name, rank in rankings.items():
        page, section = count_hits(questions, rank)
        print(f"{name:16}" + "".join(f"{100 * share:12.1f}%" for share in (*page, *section)))


def count_hits(questions: Sequence[Question], rank: Ranking) -> tuple[list[float], list[float]]:
    """Return the shares of questions whose page, and whose section, is among the first 1, 5 and 12."""
    pages, sections = [0.0] * len(DEPTHS), [0.0] * len(DEPTHS)
    for question in questions:
        page, section = find_ranks(question, rank(question.text))
        for at, depth in enumerate(DEPTHS):
            pages[at] += (page < depth) / len(questions)
            sections[at] += (section < depth) / len(questions)
    return pages, sections


def find_ranks(question: Question, sections: Sequence[SectionRef]) -> tuple[int, int]:
    """Return the zero-based ranks of the first right page among pages and of the first right section."""
    sections = [section for section in sections if section.page.path != question.excluded_page]
    right_pages = {section.page.path for section in sections if section.id in question.gold}
    order = list(dict.fromkeys(section.page.path for section in sections))
    page = next((at for at, path in enumerate(order) if path in right_pages), len(order) + DEPTHS[-1])
    section = next(
        (at for at, section in enumerate(sections) if section.id in question.gold), len(sections) + DEPTHS[-1]
    )
    return page, section


def make_link_questions(library: Library, limit: int) -> list[Question]:
    """Return random link texts with at least two significant words as questions, each only once."""
    pages = {page.markdown: page for page in library.manifest.pages}
    site = library.manifest.site.url
    questions_by_link: dict[tuple[str, str], Question] = {}
    for section in library.sections:
        for words, url in LINK.findall(library.text(section)):
            path, _, anchor = url.removeprefix(site).partition("#")
            page = pages.get(path) if url.startswith(site) else None
            target = library.sections.find_anchor(page, anchor) if page else None
            significant = [word for word in split_words(words) if not is_stop_word(word)]
            if target is None or target.page is section.page or len(significant) < 2:
                continue
            questions_by_link.setdefault(
                (words.lower(), target.id), Question(words, frozenset([target.id]), excluded_page=section.page.path)
            )
    questions = list(questions_by_link.values())
    random.Random(7).shuffle(questions)
    return questions[:limit]


LINK = re.compile(r"(?<!!)\[([^\]\[\n]+)\]\((https?://[^)\s]+)\)")


def search_ranking(search: Search) -> Ranking:
    """Return the ranking of `roaming search`."""
    return lambda query: [hit.section for hit in search.find(query, limit=200)]


def fts5_ranking(library: Library) -> Ranking:
    """Return the ranking of SQLite FTS5 over the section texts."""
    sections = list(library.sections)
    library.prefetch()
    rank = make_fts5([library.text(section) for section in sections])
    return lambda query: [sections[row] for row in rank(query)]


if __name__ == "__main__":
    main()
