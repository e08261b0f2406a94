"""The full-text index of a site: the fields of its sections as rows of terms, and their pages as groups."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Self

import msgspec

from mkdocs_roaming.manifest.lookup import SectionIndex, SectionRef
from mkdocs_roaming.manifest.page_kinds import find_late_pages
from mkdocs_roaming.search.postings import Postings, PostingsBuilder, PostingsData
from mkdocs_roaming.text.tokenizer import extract_terms, is_stop_word, parse_words

FIELDS = ("title", "above", "nav", "below", "links", "asks", "body")
"""The fields of a section, in the order of the weights of `Index`."""

_PAGE_WEIGHTS = [{"title": 3.0, "body": 1.0}.get(name, 0.0) for name in FIELDS]
_PLACED = [FIELDS.index(name) for name in ("title", "links", "asks", "body")]  # the others are titles of other sections
_CACHED_TERMS = 500
_MIN_TYPO_LENGTH = 4
_LONG_TERM = 7
_MIN_STEM_LENGTH = 5
_MIN_REPEATED_TERMS = 8
_MIN_LONG_TEXT = 20  # terms of a text that is not repeated below another title either
_SIGNATURE = r"\A\s*#[^\n]*\n\s*```[^\n]*\n(?:(?!```)[^\n]*\n)*```"
_LINK = r"(?<!!)\[([^\]\[\n]{1,200})\]\(<?(https?://[^)>\s]+)"
_TARGET = (  # of links and images; an expression such as `calls[0](event)` has none
    r"(?:\]\(<?(?=https?:|mailto:|data:|\.{0,2}/|#)|<(?=https?://)|\b(?:href|src)=\")[^()\s<>\"]*"
)


class IndexData(msgspec.Struct, frozen=True, array_like=True):
    """What an index file stores of a site.

    Attributes:
        postings: The terms of the sections.
        title_lengths: The number of distinct terms in each title, without stop words if others remain.
        late_pages: The numbers of the pages that come after others: see `find_late_pages`.
        repeats: The rows with the title and the text of an earlier one, and which.
    """

    postings: PostingsData
    title_lengths: list[int]
    late_pages: list[int]
    repeats: dict[int, int]


class Index:
    """The postings of a site's sections. Rows and pages are numbered in the site's order.

    Args:
        sections: The sections of the site.
        data: The content of the index.
        complete: Whether all texts could be read.

    Raises:
        ValueError: The data are of another site.
    """

    def __init__(self, sections: SectionIndex, data: IndexData, *, complete: bool = True) -> None:
        self.sections = list(sections)
        self.language = sections.manifest.site.language
        self.data = data
        self.complete = complete
        numbers: dict[str, int] = {}
        self.page_numbers = [numbers.setdefault(section.page.path, len(numbers)) for section in self.sections]
        """The number of each row's page."""
        self.page_count = len(numbers)
        self.postings = Postings(data.postings, self.page_numbers)
        if len(data.title_lengths) != len(self.sections) or not all(data.title_lengths):
            raise ValueError("the index is of other titles")

    @classmethod
    def from_texts(
        cls,
        sections: SectionIndex,
        texts: Iterable[str | None],
        weights: Sequence[float],
    ) -> Self:
        """Build the index of a site.

        Args:
            sections: The sections of the site.
            texts: The own text of each section. Without one, the section is indexed with its opening.
            weights: The weight of a term in each of the `FIELDS`.
        """
        language = sections.manifest.site.language
        given = list(texts)
        bodies = [
            section.section.opening if text is None else text for section, text in zip(sections, given, strict=True)
        ]
        links = _link_texts(sections, bodies)
        builder = PostingsBuilder(weights, _PAGE_WEIGHTS, _PLACED)
        title_lengths = list[int]()
        rows: list[tuple[SectionRef, str, list[str]]] = []
        pages: dict[str, int] = {}
        cached_terms = lru_cache(_CACHED_TERMS)(lambda part: extract_terms(part, language))  # many share a breadcrumb
        for section, text in zip(sections, bodies, strict=True):
            fields = (section.section.title, *_context_fields(sections, section, links.get(section.id, ())))
            page = pages.setdefault(section.page.path, len(pages))
            title = _title_terms(section.section.title, language)
            body = extract_terms(strip_targets(text), language)
            builder.add(page, [*map(cached_terms, fields), body], title)
            title_lengths.append(len(title) or 1)
            rows.append((section, text, body))
        late_pages = [pages[path] for path in find_late_pages(sections.manifest) if path in pages]
        data = IndexData(builder.build(), title_lengths, late_pages, _find_repeats(rows))
        return cls(sections, data, complete=None not in given)

    def similar_terms(self, term: str) -> list[str]:
        """Return terms of the site for one that it never uses: other spellings, and the term without a prefix."""
        if len(term) < _MIN_TYPO_LENGTH or not term.isalpha():
            return []
        most = 2 if len(term) > _LONG_TERM else 1
        candidates = (
            other for other in self.postings.terms_with_prefix(term[0]) if not is_stop_word(other, self.language)
        )
        errors = {other: count_errors(term, other, most) for other in candidates}
        least = min(errors.values(), default=most + 1)
        found = [other for other, count in errors.items() if count == least <= most and not _is_other_word(term, other)]
        stems = [term[at:] for at in range(2, 4) if len(term) - at >= _MIN_STEM_LENGTH]
        return list(dict.fromkeys(found + [stem for stem in stems if stem in self.postings]))

    def compounds(self, term: str) -> list[str]:
        """Return the words of the site that are composed with a term, by their beginning or end."""
        if len(term) < _MIN_STEM_LENGTH or not term.isalpha():
            return []
        terms = self.postings.data.terms
        found = [other for other in terms if other != term and (other.startswith(term) or other.endswith(term))]
        halves = (
            (term[:at].removesuffix(joint), term[at:])
            for at in range(4, len(term) - 3)
            for joint in ("", "s", "n", "en", "es")
        )
        return found + [half for pair in halves if all(half in self.postings for half in pair) for half in pair]


def _find_repeats(texts: Iterable[tuple[SectionRef, str, list[str]]]) -> dict[int, int]:
    """Return the rows that repeat an earlier one, and which.

    A row repeats title and terms, or a long text: below any title, or below its title with another signature, as
    classes repeat what they inherit.
    """
    first_rows: dict[tuple[str, ...], int] = {}
    repeats: dict[int, int] = {}
    for row, (section, text, terms) in enumerate(texts):
        title = section.section.title
        keys: list[tuple[str, ...]] = [(title, *terms)] if len(terms) >= _MIN_REPEATED_TERMS else []
        if len(terms) >= _MIN_LONG_TEXT:
            described = re.sub(_SIGNATURE, "", text, count=1).strip()
            keys += [(section.section.body,), (title, described)] if described else [(section.section.body,)]
        for key in keys:
            if (first := first_rows.setdefault(key, row)) != row:
                repeats[row] = repeats.get(first, first)
    return repeats


def _is_other_word(term: str, other: str) -> bool:
    """Return whether a short term differs by another letter, as "move" and "more" do, and not by a slip of the keys."""
    return len(term) == len(other) == _MIN_TYPO_LENGTH and sorted(term) != sorted(other)


def count_errors(one: str, other: str, most: int) -> int:
    """Return how many letters are inserted, deleted, replaced or swapped; more than `most` are not counted.

    It is the optimal string alignment distance.
    """
    if abs(len(one) - len(other)) > most:
        return most + 1
    before = list[int]()
    last = list(range(len(other) + 1))
    for row, letter in enumerate(one):
        now = [row + 1]
        for at, other_letter in enumerate(other):
            count = min(last[at + 1] + 1, now[at] + 1, last[at] + (letter != other_letter))
            if row and at and letter == other[at - 1] and one[row - 1] == other_letter:
                count = min(count, before[at - 1] + 1)
            now.append(count)
        if min(now) > most:
            return most + 1
        before = last
        last = now
    return last[-1]


def strip_targets(text: str) -> str:
    """Return Markdown without the targets of its links and images, whose words are not part of the text."""
    return re.sub(_TARGET, " ", text)


def _title_terms(title: str, language: str) -> frozenset[str]:
    words = parse_words(title, language)
    content_words = [word for word in words if not word.stop] or words
    return frozenset(term for word in content_words for term in word.parts)


def _context_fields(sections: SectionIndex, section: SectionRef, link_texts: Sequence[str]) -> tuple[str, ...]:
    """Return the fields `above`, `nav`, `below`, `links` and `asks` of a section."""
    own = section.section
    return (
        " / ".join(sections.titles_above(section)),
        " / ".join(sections.nav_titles(section.page)),
        " / ".join(child.section.title for child in sections.children(section)),
        " / ".join(link_texts),
        " / ".join((*own.asks, own.about, *(section.page.questions if section.position == 0 else ()))),
    )


def _link_texts(sections: SectionIndex, texts: Sequence[str]) -> dict[str, list[str]]:
    """Return the words of the links to each section, by its id, from other pages."""
    links: dict[str, list[str]] = {}
    for section, text in zip(sections, texts, strict=True):
        for words, url in re.findall(_LINK, text):
            target = sections.resolve(url)
            if target is not None and target.page is not section.page:
                links.setdefault(target.id, []).append(words)
    return links
