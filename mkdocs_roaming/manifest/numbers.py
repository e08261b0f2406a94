"""Find the sections that a text cites by their numbers: “§ 5 BUrlG”, “Rule 12”, “F.16”, “RFC 9110, 15.5”.

A heading is numbered if it begins with a number (`15.5 Client errors`, `73. Remedies`), perhaps behind a word or sign
(`§ 5 Leave`, `Rule 12`, `F.16: Parameters`). There is no list of such words: what precedes several different numbers is
a label. Headings without a label are cited by the word that precedes most of their numbers in the openings of sections.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import combinations

from mkdocs_roaming.manifest.lookup import SectionIndex, SectionRef
from mkdocs_roaming.manifest.models import PageEntry
from mkdocs_roaming.text.languages import base_language, fold, stem
from mkdocs_roaming.text.tokenizer import Word, is_stop_word, parse_words

_MIN_NUMBERS = 3
"""Number of different numbers from which a word is a label."""

_MIN_LETTERS = 3
"""Letters of an abbreviation, and of a label that may have a space before its number: `a 4` is not `A.4`."""

_MAX_INITIALS = 8

_LABEL = r"(?>[^\W\d_]++(?:\.[^\W\d_]++)*)|[§¶№]++"
_NUMBER = r"(?:\d+(?:[.-]\d+)*(?:-?[A-Za-z])?|[IVXLCDM]+(?!\.?\s?\d))(?![^\Wºª])"
_NUMBERED = rf"(?:(?P<label>{_LABEL})(?P<gap>\.?\s*))?(?P<number>{_NUMBER})"
_HEADING = re.compile(rf"(?:[^\W\d_]+\s+){{0,2}}?{_NUMBERED}")
"""The beginning of a numbered heading, with up to two words before its label: `Technical Rule 5`."""

_LIST = rf"(?P<more>(?:(?:\s*[,/–-]\s*|\s+[^\W\d_]{{1,3}}\s+){_NUMBER}){{0,99}})"
_PARTS = r"(?:[\s,]*\([^\W_]{1,3}\)|[\s,]+[^\W\d_]+\.?\s+\d+\w*\)?){0,9}"
_NAME = r"(?:,?\s+(?P<small>(?:[^\W\d_]{1,3}\s+){0,2})(?P<name>[^\W\d_][\w-]*+(?: (?:[^\W\d_]{1,3} )?\d{3,})?))?"
_CITATION = re.compile(rf"(?<![\w./-]){_NUMBERED}(?={_LIST}{_PARTS}{_NAME})")
"""A citation, perhaps before a list of numbers (`12, 13`), parts (`(2)(a)`) and a name (`of the Harbour Act`)."""

_SHORT_NAME = re.compile(r"\w*[A-Z]\w*[A-Z]\w*(?: \d+)?|\d{3,}")
"""The short name of a document: `BUrlG`, `GDPR`, `9110`."""

_Name = tuple[str, ...]
"""The terms of a word."""


class NumberIndex:
    """The numbered headings of a site.

    Args:
        sections: The sections of the site.

    Attributes:
        labels: The words and signs before several numbers, the most frequent one first.
    """

    def __init__(self, sections: SectionIndex) -> None:
        self._sections = sections
        self._language = base_language(sections.manifest.site.language)
        self._words: set[str | None] = set()
        self._names: dict[str, set[_Name]] = {}
        self._headings: dict[tuple[str, str], list[SectionRef]] = defaultdict(list)
        for section in sections:
            match = _HEADING.match(section.section.title)
            if match is not None and (match["label"] or match["number"][0].isdigit()):
                self._words.add(match["label"])
                self._headings[self._read_label(match), _normalize(match["number"])].append(section)
        self.labels = _find_frequent(self._headings)

    def find(self, text: str, page: PageEntry | None = None) -> Iterator[list[SectionRef]]:
        """Yield the sections that each citation in a query may mean; with a page, in its text the only one that it may.

        They are in the document that is named after the number, or else in the page's own, or in that which the query
        names best.
        """
        if not self.labels:
            return
        context = self._find_names(page) if page else self._parse(text)
        for match in _CITATION.finditer(text):
            if match["number"] == "I" and is_stop_word(match["label"] or "a", self._language):
                continue  # the pronoun: “do I”
            label = self._find_label(match)
            before = text[max(match.start() - len("5 "), 0) : match.start()]
            if label is None and before[:1].isdigit():
                continue  # a part of the section: Abs. 2 in § 5 Abs. 2
            heading = self.labels[0] if label is None else label  # Paragraph 5 BUrlG
            names: set[_Name] = set()
            for name in (match["name"] or "", match["label"] or ""):
                if _SHORT_NAME.fullmatch(name) or (page and match["small"] and name[:1].isupper()):
                    names |= self._parse(name)
            is_heading = (heading, _normalize(match["number"])) in self._headings
            numbers = [match["number"]] if is_heading else match["number"].split("-")  # §§ 3-5
            numbers += re.findall(_NUMBER, match["more"])
            if match["label"] in self._words:
                del numbers[1:]
            for number in numbers:
                ranks: dict[tuple[int, bool, int], list[SectionRef]] = defaultdict(list)
                for section in self._headings.get((heading, _normalize(number)), ()):
                    if page is None and section.position == 0 and not section.section.opening:
                        continue  # “Harbour Act 2014” is the name of a document
                    known = self._find_names(section.page)
                    is_other = any(name[0].isdigit() and name not in known for name in names)  # Act of 2009
                    common = 0 if is_other else len(names & known)
                    ranks[common, section.page is page, len(context & known)].append(section)
                best = max(ranks, default=(0, False, 0))
                is_named, is_here, _ = best
                is_only = len(ranks[best]) == 1
                is_word = label or self._parse(match["label"] or "")  # not the number of a measure
                is_clear = not page or (is_word and is_only and (is_here or len(ranks) == 1))
                is_elsewhere = names and (page or not is_only)
                if is_named or (ranks[best] and is_clear and label is not None and not is_elsewhere):
                    yield ranks[best]

    def _find_label(self, match: re.Match[str]) -> str | None:
        """Return the label that the word before a number means, also if it is short for the most frequent one."""
        word = self._read_label(match)
        if word and word in self.labels:
            return word
        short = fold(match["label"] or "").removesuffix("s")
        for label, main in ((self.labels[0], self.labels[0]), ("", self._word)):
            if len(main) >= _MIN_LETTERS and match["label"] and main.startswith(short) and self._parse(match["label"]):
                return label
        return "" if "." in match["number"] and "" in self.labels else None

    @cached_property
    def _word(self) -> str:
        """The word that precedes most numbers of headings without a label in the openings of their pages."""
        if "" not in self.labels:
            return ""
        citations = set()
        for section in self._sections:
            for match in _CITATION.finditer(section.section.opening):
                label, number = self._read_label(match), _normalize(match["number"])
                if len(label) >= _MIN_LETTERS and any(
                    heading.page is section.page for heading in self._headings.get(("", number), ())
                ):
                    citations.add((label, number))
        return next(iter(_find_frequent(citations)), "")

    def _read_label(self, match: re.Match[str]) -> str:
        """Return the stem of a label; the first of several signs, and a short label with what is behind it."""
        label = match["label"] or ""
        if len(label) >= _MIN_LETTERS:
            return stem(label, self._language)
        gap = "" if "-" in match["number"] else match["gap"]
        return fold(label + gap) if label.isalpha() else label[:1]

    def _find_names(self, page: PageEntry) -> set[_Name]:
        """Return the words of the path, the title and the nav groups of a page, and the initials of these titles."""
        if page.path not in self._names:
            names = self._parse(re.sub(r"\W", " ", page.path))
            for title in (*self._sections.nav_titles(page), page.title):
                names |= self._parse(title)
                words = [word for word in parse_words(title.partition("(")[0], self._language) if word.text.isalpha()]
                for initials in _join_initials(words), _join_initials(word for word in words if not word.stop):
                    for start, end in combinations(range(len(initials) + 1), 2):  # “New Harbour Act” is NHA, NH and HA
                        names |= self._parse(initials[start:end])
            self._names[page.path] = names
        return self._names[page.path]

    def _parse(self, text: str) -> set[_Name]:
        """Return the terms of the words of a text that say something."""
        words = parse_words(text, self._language)
        return {run for word in words if not word.stop for run in word.runs}


def _find_frequent(headings: Iterable[tuple[str, str]]) -> list[str]:
    """Return the labels that have several different numbers, the most frequent one first."""
    counts = Counter(label for label, _ in headings)
    return [label for label, count in counts.most_common() if count >= _MIN_NUMBERS]


def _join_initials(words: Iterable[Word]) -> str:
    return "".join(word.text[0] for word in words)[:_MAX_INITIALS]


def _normalize(number: str) -> str:
    """Return the form of a number that is equal for other spellings: `52-A`, `52a`."""
    return re.sub(r"-(?=[^\W\d])", "", number).casefold()
