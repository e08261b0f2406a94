"""The full-text index: BM25 over weighted fields, for sections and for the pages that contain them.

`Postings` is the index of terms, in memory, with rows and groups of rows. It scores as SQLite's FTS5 does. Each row is
also stored as a string with one character per term, so a phrase is a substring. `Index` fills it with the fields of a
site's sections.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache, lru_cache
from math import log
from typing import Protocol

from mkdocs_roaming.errors import LibraryError
from mkdocs_roaming.manifest.lookup import SectionIndex, SectionRef
from mkdocs_roaming.manifest.models import Manifest, PageEntry
from mkdocs_roaming.text.languages import available_languages, fold, load_phrases, load_words
from mkdocs_roaming.text.tokenizer import Word, extract_terms, parse_words

Phrase = tuple[str, ...]
"""Consecutive terms."""

FIELDS = ("title", "above", "nav", "below", "links", "body")
"""The fields of a section, in the order of the weights of `Index`."""

_PAGE_WEIGHTS = {"title": 3.0, "body": 1.0}
_BATCH_SIZE = 500
_MIN_TYPO_LENGTH = 4
_MIN_STEM_LENGTH = 5
_LINK = re.compile(r"(?<!!)\[([^\]\[\n]{1,200})\]\(<?(https?://[^)>\s]+)")
_VERSION = re.compile(r"v?\d+\.\d")

# BM25's k1 and b; a term in most rows has a small positive score instead of a negative one.
_SATURATION = 1.2
_LENGTH_SHARE = 0.75
_MIN_RARITY = 1e-6

_FIELD_SEPARATOR = "\0"  # the character of no term, so no phrase crosses fields
_LAST_CHARACTER = 0x10FFFF
_ABSENT = (0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class PostingMatches:
    """The matching rows and groups, each with its score, in ascending order of rows."""

    rows: array[int] = field(default_factory=lambda: array("I"))
    scores: array[float] = field(default_factory=lambda: array("d"))
    groups: array[int] = field(default_factory=lambda: array("I"))
    group_scores: array[float] = field(default_factory=lambda: array("d"))


class Postings:
    """An index of rows of terms. Add rows, then `close` it; from then on several threads may read.

    Args:
        weights: The weight of a term in each field of a row.
        group_weights: The weight of a term in each field, for the score of the row's group.
    """

    def __init__(self, weights: Sequence[float], group_weights: Sequence[float]) -> None:
        self._weights = tuple(weights)
        self._group_weights = tuple(group_weights)
        self._characters = _Characters()
        # For each term's character: row, frequency in the row, frequency for the group, and so on for the next row.
        self._entries: defaultdict[str, array[float]] = defaultdict(lambda: array("f"))
        self._texts: list[str] = []
        self._groups: list[int] = []
        self._lengths: list[int] = []
        self._norms: list[float] = []
        self._group_norms: list[float] = []
        self._terms_by_initial: dict[str, list[str]] = {}

    def add(self, group: int, fields: Sequence[Sequence[str]]) -> None:
        """Add the next row: its group and the terms of each field, in order."""
        row, character, entries = len(self._texts), self._characters.__getitem__, self._entries
        texts = ["".join(map(character, terms)) if terms else "" for terms in fields]
        longest, *others = sorted(range(len(texts)), key=lambda at: -len(texts[at]))
        weight, group_weight = self._weights[longest], self._group_weights[longest]
        frequencies = {
            term: (row, weight * count, group_weight * count) for term, count in Counter(texts[longest]).items()
        }
        for at in others:
            weight, group_weight = self._weights[at], self._group_weights[at]
            for term in texts[at]:
                _, in_row, in_group = frequencies.get(term, _ABSENT)
                frequencies[term] = (row, in_row + weight, in_group + group_weight)
        for term, entry in frequencies.items():
            entries[term].extend(entry)
        self._texts.append(_FIELD_SEPARATOR.join(texts))
        self._groups.append(group)
        self._lengths.append(sum(map(len, texts)))

    def close(self) -> None:
        """Compute what depends on all rows: length norms, and the terms by their first character."""
        group_lengths = [0] * (max(self._groups, default=-1) + 1)
        counted = [at for at, weight in enumerate(self._group_weights) if weight]
        for group, text in zip(self._groups, self._texts, strict=True):
            fields = text.split(_FIELD_SEPARATOR)
            group_lengths[group] += sum(len(fields[at]) for at in counted)
        self._norms = _length_norms(self._lengths)
        self._group_norms = _length_norms(group_lengths)
        for term in sorted(self._characters):
            self._terms_by_initial.setdefault(term[0], []).append(term)

    def find(self, phrases: Iterable[Phrase], *, prefix: bool = False) -> PostingMatches:
        """Return the rows that contain any of the phrases, scored by the best of them.

        Args:
            phrases: The alternatives.
            prefix: Match all terms that begin with a phrase's first term.
        """
        matches = [each for phrase in phrases if (each := self._find_phrase(phrase, prefix)).rows]
        return merge_matches([(each, 1.0) for each in matches])

    def terms_with_initial(self, character: str) -> Sequence[str]:
        """Return the terms that begin with a character, sorted."""
        return self._terms_by_initial.get(character, ())

    @property
    def row_count(self) -> int:
        """The number of rows."""
        return len(self._texts)

    def positions(self, row: int, phrases: Iterable[Phrase]) -> list[int]:
        """Return where the phrases begin in a row, in terms from its start."""
        text = self._texts[row]
        known = [phrase for phrase in phrases if phrase and all(term in self._characters for term in phrase)]
        patterns = ("".join(self._characters[term] for term in phrase) for phrase in known)
        return [match.start() for pattern in patterns for match in re.finditer(re.escape(pattern), text)]

    def __contains__(self, term: str) -> bool:
        return term in self._characters

    def _find_phrase(self, phrase: Phrase, prefix: bool) -> PostingMatches:
        if prefix:
            entries = self._sum_entries(
                [term for term in self.terms_with_initial(phrase[0][0]) if term.startswith(phrase[0])]
            )
        elif not all(term in self._characters for term in phrase):
            return PostingMatches()
        elif len(phrase) == 1:
            entries = self._entries[self._characters[phrase[0]]]
        else:
            entries = self._phrase_entries([self._characters[term] for term in phrase])
        return self._score(list(map(int, entries[0::3])), entries[1::3], entries[2::3])

    def _score(
        self, rows: list[int], frequencies: Sequence[float], group_frequencies: Sequence[float]
    ) -> PostingMatches:
        in_groups: dict[int, float] = {}
        for row, frequency in zip(rows, group_frequencies, strict=True):
            if frequency:
                group = self._groups[row]
                in_groups[group] = in_groups.get(group, 0.0) + frequency
        return PostingMatches(
            array("I", rows),
            _bm25(rows, frequencies, self._norms),
            array("I", in_groups),
            _bm25(in_groups, in_groups.values(), self._group_norms),
        )

    def _sum_entries(self, terms: Sequence[str]) -> array[float]:
        """Return the entries of several terms as if they were one."""
        sums: dict[float, tuple[float, float]] = {}
        for term in terms:
            entries = self._entries[self._characters[term]]
            for row, in_row, in_group in zip(entries[0::3], entries[1::3], entries[2::3], strict=True):
                before = sums.get(row, (0.0, 0.0))
                sums[row] = (before[0] + in_row, before[1] + in_group)
        return array("f", [number for row in sorted(sums) for number in (row, *sums[row])])

    def _phrase_entries(self, characters: Sequence[str]) -> array[float]:
        """Return the entries of a phrase of several terms."""
        shortest, *others = sorted((self._entries[character] for character in set(characters)), key=len)
        rows = set(shortest[0::3]).intersection(*(entries[0::3] for entries in others))
        phrase, result = "".join(characters), array("f")
        for row in sorted(rows):
            text = self._texts[int(row)]
            if phrase in text:
                counts = [field.count(phrase) for field in text.split(_FIELD_SEPARATOR)]
                result.extend((row, _dot(counts, self._weights), _dot(counts, self._group_weights)))
        return result


def merge_matches(matches: Sequence[tuple[PostingMatches, float]]) -> PostingMatches:
    """Return all matching rows and groups with the highest of their weighted scores."""
    if not matches:
        return PostingMatches()
    if len(matches) == 1 and matches[0][1] == 1.0:
        return matches[0][0]
    rows = _highest([(each.rows, each.scores, weight) for each, weight in matches])
    groups = _highest([(each.groups, each.group_scores, weight) for each, weight in matches])
    return PostingMatches(array("I", rows), array("d", rows.values()), array("I", groups), array("d", groups.values()))


def _highest(matches: Sequence[tuple[array[int], array[float], float]]) -> dict[int, float]:
    highest: dict[int, float] = {}
    for numbers, scores, weight in matches:
        for number, score in zip(numbers, scores, strict=True):
            if weight * score > highest.get(number, -1.0):
                highest[number] = weight * score
    return highest


class _Characters(dict[str, str]):
    """A character for each term, assigned on first use."""

    def __missing__(self, term: str) -> str:
        # All terms beyond the number of Unicode characters share the last one.
        self[term] = character = chr(min(len(self) + 1, _LAST_CHARACTER))
        return character


def _bm25(rows: Iterable[int], frequencies: Iterable[float], norms: Sequence[float]) -> array[float]:
    rows = list(rows)
    rarity = log((len(norms) - len(rows) + 0.5) / (len(rows) + 0.5))
    maximum = (_SATURATION + 1) * (rarity if rarity > 0 else _MIN_RARITY)
    return array("d", [maximum * count / (count + norms[row]) for row, count in zip(rows, frequencies, strict=True)])


def _length_norms(lengths: Sequence[int]) -> list[float]:
    average = sum(lengths) / len(lengths) if lengths else 0.0
    return [_SATURATION * (1 - _LENGTH_SHARE + _LENGTH_SHARE * length / (average or 1.0)) for length in lengths]


def _dot(counts: Iterable[int], weights: Iterable[float]) -> float:
    return sum(count * weight for count, weight in zip(counts, weights, strict=True))


# Sections


class SiteTexts(Protocol):
    """What search reads of a `Library`."""

    manifest: Manifest
    sections: SectionIndex

    @property
    def whole(self) -> SiteTexts:
        """The whole site, if this is the part of it in a scope."""

    @property
    def where(self) -> str:
        """The folder or address, for messages."""

    def text(self, section: SectionRef) -> str:
        """Return a section's own text, or raise LibraryError."""

    def file(self, path: str, cache_key: str = "") -> bytes:
        """Return a published file, or raise LibraryError."""

    def prefetch(self, pages: Sequence[PageEntry] | None = None) -> None:
        """Load pages ahead of `text`."""


class Index:
    """The postings of a site's sections. Rows and pages are numbered in the site's order.

    Args:
        library: The site.
        weights: The weight of a term in each of the `FIELDS`.
        excluded_links: Links whose words are not indexed: lower-case words and the id of the target section.
    """

    def __init__(
        self, library: SiteTexts, weights: Sequence[float], excluded_links: Container[tuple[str, str]] = ()
    ) -> None:
        self.sections = list(library.sections)
        self._language = library.manifest.site.language
        numbers: dict[str, int] = {}
        self.page_numbers = [numbers.setdefault(section.page.path, len(numbers)) for section in self.sections]
        """The number of each row's page."""
        self.page_count = len(numbers)
        pages = {section.page.path: section.page for section in self.sections}
        changelogs = {numbers[path] for path, page in pages.items() if is_changelog(page)}
        self.changelog_rows = frozenset(row for row, page in enumerate(self.page_numbers) if page in changelogs)
        titles = [self._title_terms(section.section.title) for section in self.sections]
        self.title_lengths = [len(terms) for terms in titles]
        """The number of distinct terms in each title, without stop words if others remain."""
        self.title_rows: dict[str, list[int]] = {}
        """The rows whose titles contain a term."""
        for row, terms in enumerate(titles):
            for term in terms:
                self.title_rows.setdefault(term, []).append(row)
        self.postings = self._build_postings(library, weights, excluded_links)

    def similar_terms(self, term: str) -> list[str]:
        """Return terms of the site for one that it never uses: other spellings, and the term without a prefix."""
        if len(term) < _MIN_TYPO_LENGTH or not term.isalpha():
            return []
        candidates = [word for word in self.postings.terms_with_initial(term[0]) if abs(len(word) - len(term)) <= 2]
        stems = [term[at:] for at in range(2, 4) if len(term) - at >= _MIN_STEM_LENGTH]
        known_stems = [stem for stem in stems if stem in self.postings]
        return list(dict.fromkeys(get_close_matches(term, candidates, 3, 0.8) + known_stems))

    def _build_postings(
        self, library: SiteTexts, weights: Sequence[float], excluded_links: Container[tuple[str, str]]
    ) -> Postings:
        texts = list(_read_texts(library, self.sections))
        links = _link_texts(library, self.sections, texts)
        postings = Postings(weights, [_PAGE_WEIGHTS.get(name, 0.0) for name in FIELDS])
        language = self._language
        cached_terms = lru_cache(_BATCH_SIZE)(lambda part: extract_terms(part, language))  # many share a breadcrumb
        for page, section, text in zip(self.page_numbers, self.sections, texts, strict=True):
            link_texts = [
                words for words in links.get(section.id, ()) if (words.lower(), section.id) not in excluded_links
            ]
            fields = (section.section.title, *_context_fields(library, section, link_texts))
            postings.add(page, [*map(cached_terms, fields), extract_terms(text, language)])
        postings.close()
        return postings

    def _title_terms(self, title: str) -> frozenset[str]:
        words = parse_words(title, self._language)
        content_words = [word for word in words if not word.stop] or words
        return frozenset(term for word in content_words for term in word.parts)


def is_changelog(page: PageEntry) -> bool:
    """Return whether a page is a change log or release notes, by its title or the last part of its path."""
    name = page.path.strip("/").rpartition("/")[2].removesuffix(".html")
    return any(_squeeze(each) in _changelog_titles() for each in (page.title, name))


def asks_about_changes(words: Sequence[Word]) -> bool:
    """Return whether a question is about versions and changes."""
    return any(word.whole in _change_words() or _VERSION.match(word.text) for word in words)


@cache
def _changelog_titles() -> frozenset[str]:
    """Return the titles of all languages: many sites mix theirs with English, or do not declare it."""
    languages = available_languages()
    return frozenset(_squeeze(title) for code in languages for title in load_phrases(code, "search.changelog_titles"))


@cache
def _change_words() -> frozenset[str]:
    return frozenset[str]().union(*(load_words(code, "search.change_words") for code in available_languages()))


def _squeeze(title: str) -> str:
    return re.sub(r"[\s_'’-]", "", fold(title))


def _context_fields(library: SiteTexts, section: SectionRef, link_texts: Sequence[str]) -> tuple[str, str, str, str]:
    """Return the fields `above`, `nav`, `below` and `links` of a section."""
    breadcrumb = library.sections.breadcrumb(section)[:-1]
    first_on_page = len(breadcrumb) - len(library.sections.ancestors(section))
    return (
        " / ".join(breadcrumb[first_on_page:]),
        " / ".join(breadcrumb[:first_on_page]),
        " / ".join(child.section.title for child in library.sections.children(section)),
        " / ".join(link_texts),
    )


def _read_texts(library: SiteTexts, sections: Sequence[SectionRef]) -> Iterator[str]:
    """Yield the text of each section, or its opening if it cannot be read.

    Pages are prefetched in batches, for a site that is larger than the page cache.
    """
    library.prefetch()
    for start in range(0, len(sections), _BATCH_SIZE):
        batch = sections[start : start + _BATCH_SIZE]
        library.prefetch(list({section.page.path: section.page for section in batch}.values()))
        for section in batch:
            try:
                yield library.text(section)
            except LibraryError:
                yield section.section.opening


def _link_texts(library: SiteTexts, sections: Sequence[SectionRef], texts: Sequence[str]) -> dict[str, list[str]]:
    """Return the words of the links to each section, by its id, from other pages."""
    pages = {page.markdown: page for page in library.manifest.pages}
    pages |= {page.path: page for page in library.manifest.pages}
    site_url = library.manifest.site.url
    links: dict[str, list[str]] = {}
    for section, text in zip(sections, texts, strict=True):
        for words, url in _LINK.findall(text):
            path, _, anchor = url.removeprefix(site_url).partition("#")
            page = pages.get(path) if url.startswith(site_url) else None
            target = library.sections.find_anchor(page, anchor) if page else None
            if target is not None and target.page is not section.page:
                links.setdefault(target.id, []).append(words)
    return links
