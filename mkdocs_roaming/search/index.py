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
"""The weight of a term in each field for the score of the page."""

_PLACED = [FIELDS.index(name) for name in ("title", "links", "asks", "body")]
"""The fields whose terms have places; the others are titles of other sections."""

_SEPARATOR = " / "
"""Between the texts of a field."""

_CACHED_TERMS = 500
_MIN_TYPO_LENGTH = 4
_MIN_STEM_LENGTH = 5
_MAX_AFFIX = 3
"""Letters of a term's prefix or ending without which the site may use it, such as those of `customise`."""

_MIN_HALF = 4
"""Letters of each half of a compound."""

_JOINTS = ("", "s", "n", "en", "es")
"""Letters between the halves of a compound, as in German and Dutch."""

_MIN_REPEATED_TERMS = 8
_MIN_LONG_TEXT = 20
"""Number of terms from which a text is not repeated below another title either."""

_SIGNATURE = r"\A\s*#[^\n]*\n\s*```[^\n]*\n(?:(?!```)[^\n]*\n)*```"
"""The heading of a section with the fenced signature below it, as API docs have it."""

_LINK = r"(?<!!)\[([^\]\[\n]{1,200})\]\(<?(https?://[^)>\s]+)"
"""The words and the URL of a link, `[words](https://…)`: a parser takes ten times as long for a whole site."""

_TARGET = r"(?:\]\(<?(?=https?:|mailto:|data:|\.{0,2}/|#)|<(?=https?://)|\b(?:href|src)=\")[^()\s<>\"]*"
"""The target of a link or image, `](https://…`; an expression such as `calls[0](event)` has none."""


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

    @classmethod
    def from_texts(cls, sections: SectionIndex, texts: Iterable[str | None], weights: Sequence[float]) -> Self:
        """Build the index of a site.

        Args:
            sections: The sections of the site.
            texts: The own text of each section. Without one, the section is indexed with its opening.
            weights: The weight of a term in each of the `FIELDS`.
        """
        language = sections.manifest.site.language
        complete = True
        bodies: list[str] = []
        for section, text in zip(sections, texts, strict=True):
            if text is None:
                text = section.section.opening
                complete = False
            bodies.append(text)
        links = _link_texts(sections, bodies)
        builder = PostingsBuilder(weights, _PAGE_WEIGHTS, _PLACED)
        title_lengths: list[int] = []
        rows: list[tuple[SectionRef, str, list[str]]] = []
        pages: dict[str, int] = {}
        cached_terms = lru_cache(_CACHED_TERMS)(lambda part: extract_terms(part, language))  # many share a breadcrumb
        for section, text in zip(sections, bodies, strict=True):
            title_words = parse_words(section.section.title, language)
            content_words = [word for word in title_words if not word.stop] or title_words
            title: set[str] = set()
            for word in content_words:
                title.update(word.parts)
            body = extract_terms(strip_targets(text), language)
            link_texts = links.get(section.id, ())
            fields = [cached_terms(field) for field in _short_fields(sections, section, link_texts)]
            page = pages.setdefault(section.page.path, len(pages))
            fields.append(body)
            builder.add(page, fields, title)
            title_lengths.append(len(title) or 1)
            rows.append((section, text, body))
        late_pages = [pages[path] for path in find_late_pages(sections.manifest) if path in pages]
        repeats = _find_repeats(rows)
        data = IndexData(builder.build(), title_lengths, late_pages, repeats)
        return cls(sections, data, complete=complete)

    def similar_terms(self, term: str) -> list[str]:
        """Return terms of the site for one that it never uses: other spellings, or without a prefix or an ending."""
        if len(term) < _MIN_TYPO_LENGTH or not term.isalpha():
            return []
        similar: dict[str, None] = {}
        for candidate in self.postings.terms_with_prefix(term[0]):
            if is_spelling(term, candidate) and not is_stop_word(candidate, self.language):
                similar[candidate] = None
        for count in range(2, _MAX_AFFIX + 1):
            for stem in (term[count:], term[:-count]):
                if len(stem) >= _MIN_STEM_LENGTH and stem in self.postings:
                    similar[stem] = None
        return list(similar)

    def compounds(self, term: str) -> list[str]:
        """Return the words of the site that are composed with a term, by their beginning or end."""
        if len(term) < _MIN_STEM_LENGTH or not term.isalpha():
            return []
        compounds: list[str] = []
        for word in self.postings.data.terms:
            is_longer = word != term
            if is_longer and (word.startswith(term) or word.endswith(term)):
                compounds.append(word)
        for at in range(_MIN_HALF, len(term) - _MIN_HALF + 1):
            second = term[at:]
            if second not in self.postings:
                continue
            for joint in _JOINTS:
                first = term[:at].removesuffix(joint)
                if first in self.postings:
                    compounds += [first, second]
        return compounds


def _find_repeats(texts: Iterable[tuple[SectionRef, str, list[str]]]) -> dict[int, int]:
    """Return the rows that repeat an earlier one, and which.

    A row repeats title and terms, or a long text: below any title, or below its title with another signature, as
    classes repeat what they inherit.
    """
    first_rows: dict[tuple[str, ...], int] = {}
    repeats: dict[int, int] = {}
    for row, (section, text, terms) in enumerate(texts):
        title = section.section.title
        keys: list[tuple[str, ...]] = []
        if len(terms) >= _MIN_REPEATED_TERMS:
            keys.append((title, *terms))
        if len(terms) >= _MIN_LONG_TEXT:
            keys.append((section.section.body,))
            described = re.sub(_SIGNATURE, "", text, count=1).strip()
            if described:
                keys.append((title, described))
        for key in keys:
            first = first_rows.setdefault(key, row)
            if first != row:
                repeats[row] = repeats.get(first, first)
    return repeats


def is_spelling(term: str, spelling: str) -> bool:
    """Return whether two terms differ by at most one letter, or by two swapped ones.

    A short term with another letter, as "move" and "more", is another word and no slip of the keys.
    """
    start = 0
    while start < len(term) and spelling.startswith(term[start], start):
        start += 1
    rest = term[start:]
    other_rest = spelling[start:]
    if rest[1:] == other_rest or rest == other_rest[1:]:
        return True
    if rest[1:] == other_rest[1:]:
        return len(term) > _MIN_TYPO_LENGTH
    return rest[:2] == other_rest[1::-1] and rest[2:] == other_rest[2:]


def strip_targets(text: str) -> str:
    """Return Markdown without the targets of its links and images, whose words are not part of the text."""
    return re.sub(_TARGET, " ", text)


def _short_fields(sections: SectionIndex, section: SectionRef, link_texts: Sequence[str]) -> tuple[str, ...]:
    """Return the fields of a section except the last, its body."""
    own = section.section
    children = [child.section.title for child in sections.children(section)]
    asks = [*own.asks, own.about]
    if section.position == 0:
        asks += section.page.questions
    parts = (sections.titles_above(section), sections.nav_titles(section.page), children, link_texts, asks)
    return (own.title, *(_SEPARATOR.join(texts) for texts in parts))


def _link_texts(sections: SectionIndex, texts: Sequence[str]) -> dict[str, list[str]]:
    """Return the words of the links to each section, by its id, from other pages."""
    links: dict[str, list[str]] = {}
    for section, text in zip(sections, texts, strict=True):
        for words, url in re.findall(_LINK, text):
            target = sections.resolve(url)
            if target is not None and target.page is not section.page:
                links.setdefault(target.id, []).append(words)
    return links
