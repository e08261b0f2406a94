"""Measure which questions are declined without a model.

    python benchmarks/declining.py SITE_DIR[=QUESTIONS.jsonl] … [--pairs 100] [--show]

A question is declined if its confidence is below `MIN_CONFIDENCE`. A question file has one JSON object with `ask`, `kind`
and `sections` in each line. Three tables are printed:

- names from code spans, identifiers and options, 40 of each site in three phrasings: the share that is declined;
- for thresholds from .50 to .95, the share declined of foreign questions: titles and given questions of a site asked on
  another one, an equal number for each pair of sites, and the questions of questions/elsewhere.txt on every site;
- the same of questions about the site itself: 40 of its section titles, and its question file by kind.

A foreign question is left out if the other site may answer it: if one of its sections contains both words of the question
that fewest sections of the question's own site contain. Titles and questions need two words that are no stop words and not
common. All choices are made by a hash, so that they are the same in each run. `--show` prints wrong decisions.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path

from mkdocs_roaming.library.search import Search
from mkdocs_roaming.library.targets import open_library
from mkdocs_roaming.search.relevance import MIN_CONFIDENCE
from mkdocs_roaming.text.markdown import find_code
from mkdocs_roaming.text.tokenizer import extract_terms, is_common_word, is_stop_word, parse_query

NAMES = 40
TITLES = 40
PHRASINGS = ("{}", "what does {} do", "how do I use {}")
THRESHOLDS = [percent / 100 for percent in range(50, 100, 5)]
ELSEWHERE = Path(__file__).parent / "questions" / "elsewhere.txt"
NAME = re.compile(r"--?[A-Za-z][\w-]+|(?=\S{3})[A-Za-z_]\w*(?:[.:-]+\w+)*")
CONSTANTS = frozenset(("true", "false", "none", "null", "yes", "no"))


@dataclass(frozen=True, slots=True)
class Question:
    """A question and its kind."""

    kind: str
    ask: str


class Site:
    """A published site, with the questions about it."""

    def __init__(self, argument: str) -> None:
        folder, _, file = argument.partition("=")
        library = open_library(folder)
        self.name = library.manifest.site.name[:20]
        self.language = library.manifest.site.language
        self.search = Search(library)
        self._texts = [library.text(section) for section in library.sections]
        self._terms = [frozenset(extract_terms(text, self.language)) for text in self._texts]
        titles = {section.section.title for section in library.sections if self.rarest(section.section.title)}
        self.questions = [Question("titles", title) for title in choose(titles, TITLES)]
        for line in Path(file).read_text("utf-8").splitlines() if file else ():
            entry = json.loads(line)
            self.questions.append(Question(entry.get("kind", "questions"), entry["ask"]))

    def choose_names(self) -> list[str]:
        """Return names of code spans: identifiers and options."""
        spans = (text[start:end] for text in self._texts for start, end in find_code(text))
        names = {span.strip("`").strip() for span in spans if "\n" not in span}
        return choose((name for name in names if NAME.fullmatch(name) and not self._is_plain(name.lower())), NAMES)

    def rarest(self, ask: str) -> tuple[frozenset[str], ...]:
        """Return the terms of the two significant words that fewest sections contain; none if there are not two."""
        words = [word for word in parse_query(ask, self.language) if not word.stop and not is_common_word(word)]
        terms = {frozenset(word.parts): word for word in words if word.text[0].isalpha()}
        rarest = sorted(terms, key=lambda parts: (self._count(parts), sorted(parts)))[:2]
        return tuple(rarest) if len(rarest) == 2 else ()

    def may_answer(self, words: Sequence[frozenset[str]]) -> bool:
        """Return whether a section contains all words."""
        return any(all(parts <= terms for parts in words) for terms in self._terms)

    def _is_plain(self, word: str) -> bool:
        return word in CONSTANTS or is_stop_word(word, self.language)

    def _count(self, parts: frozenset[str]) -> int:
        return sum(parts <= terms for terms in self._terms)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sites", nargs="+", metavar="SITE_DIR[=QUESTIONS.jsonl]")
    parser.add_argument("--pairs", type=int, default=100, help="Number of foreign questions (default: 100).")
    parser.add_argument("--show", action="store_true", help="Print the questions with a wrong decision.")
    options = parser.parse_args()
    sites = [Site(argument) for argument in options.sites]
    print_names(sites, show=options.show)
    foreign = rate_foreign(sites, options.pairs)
    print_curve("foreign: declined", foreign)
    own = [(question, site, site.search.confidence(question.ask)) for site in sites for question in site.questions]
    print_curve("own: declined", own)
    if options.show:
        wrong = [each for each in foreign if each[2] >= MIN_CONFIDENCE] + [
            each for each in own if each[2] < MIN_CONFIDENCE
        ]
        for question, site, confidence in wrong:
            print(f"{confidence:.3f} {site.name:20} {question.kind:18} {question.ask}")


def print_names(sites: Sequence[Site], *, show: bool) -> None:
    """Print the share of names that are declined, for each site and phrasing."""
    print(f"{'names: declined':22}" + "".join(f"{phrasing.format('X'):>18}" for phrasing in PHRASINGS))
    totals: list[list[bool]] = [[] for _ in PHRASINGS]
    for site in sites:
        asked = [[phrasing.format(name) for name in site.choose_names()] for phrasing in PHRASINGS]
        declined = [[site.search.confidence(ask) < MIN_CONFIDENCE for ask in asks] for asks in asked]
        print_row(site.name, declined)
        for total, values in zip(totals, declined, strict=True):
            total += values
        rows = [zip(*each, strict=True) for each in zip(asked, declined, strict=True)] if show else []
        for ask in [ask for row in rows for ask, is_declined in row if is_declined]:
            print(f"    {ask}")
    print_row("all", totals)


def rate_foreign(sites: Sequence[Site], count: int) -> list[tuple[Question, Site, float]]:
    """Return foreign questions with the site on which they are asked and their confidence."""
    asks = [Question("elsewhere", line) for line in ELSEWHERE.read_text("utf-8").splitlines()]
    chosen = [(question, site) for site in sites for question in asks]
    pairs = list(permutations(sites, 2))
    for at, (own, other) in enumerate(sorted(pairs, key=lambda pair: order(pair[0].name + pair[1].name))):
        words = {question: own.rarest(question.ask) for question in own.questions}
        foreign = [question for question in words if words[question] and not other.may_answer(words[question])]
        foreign.sort(key=lambda question: order(question.ask + other.name))
        most = count // len(pairs) + (at < count % len(pairs))
        chosen += [(Question(f"foreign {question.kind}", question.ask), other) for question in foreign[:most]]
    return [(question, site, site.search.confidence(question.ask)) for question, site in chosen]


def print_curve(title: str, rated: Sequence[tuple[Question, Site, float]]) -> None:
    """Print the share below each threshold, by kind and together."""
    print(f"\n{title:22}" + "".join(f"{threshold:>6.2f}" for threshold in THRESHOLDS) + f"   now ({MIN_CONFIDENCE})")
    kinds = dict.fromkeys(question.kind for question, _, _ in rated)
    groups = {kind: [confidence for question, _, confidence in rated if question.kind == kind] for kind in kinds}
    given = [value for kind, values in groups.items() if kind != "elsewhere" for value in values]
    for kind, values in {**groups, "all but elsewhere" if "elsewhere" in groups else "all": given}.items():
        shares = [sum(value < threshold for value in values) / (len(values) or 1) for threshold in THRESHOLDS]
        now = format_share([value < MIN_CONFIDENCE for value in values])
        print(f"{kind:22}" + "".join(f"{100 * share:5.0f}%" for share in shares) + f"   {now}")


def print_row(name: str, columns: Iterable[Sequence[bool]]) -> None:
    """Print a row of shares."""
    print(f"{name:22}" + "".join(f"{format_share(values):>18}" for values in columns), flush=True)


def format_share(values: Sequence[bool]) -> str:
    """Return a share as percentage with the number of values."""
    return f"{100 * sum(values) / len(values):.1f}% of {len(values)}" if values else "–"


def choose(texts: Iterable[str], count: int) -> list[str]:
    """Return some of the texts, the same in each run."""
    return sorted(texts, key=order)[:count]


def order(text: str) -> bytes:
    """Return a key that sorts texts in an arbitrary order, which is the same in each run."""
    return hashlib.sha256(text.encode()).digest()


if __name__ == "__main__":
    main()
