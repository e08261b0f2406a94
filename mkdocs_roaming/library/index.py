"""The full-text index of a site: the fields of its sections as rows of terms, and their pages as groups.

Index files in the user's cache folder hold the indexes of sites that were searched before. A file's name is a digest of
the site's manifest, which contains the digests of all texts, and of everything else that the index depends on. An index
contributes row numbers and scores only; texts are read from the site and verified. Files that are damaged, of another
version or unreadable are ignored; all can be deleted at any time.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import zlib
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Protocol, Self, TypeVar

import msgspec

from mkdocs_roaming._version import __version__
from mkdocs_roaming.errors import LibraryError
from mkdocs_roaming.library.postings import Postings, PostingsBuilder, PostingsData
from mkdocs_roaming.library.readers import read_file
from mkdocs_roaming.manifest.lookup import SectionIndex, SectionRef
from mkdocs_roaming.manifest.models import Manifest, PageEntry
from mkdocs_roaming.manifest.page_kinds import find_late_pages
from mkdocs_roaming.settings import prepare
from mkdocs_roaming.text.languages import load_words
from mkdocs_roaming.text.tokenizer import Word, extract_terms, parse_words

T = TypeVar("T")

FIELDS = ("title", "above", "nav", "below", "links", "asks", "body")
"""The fields of a section, in the order of the weights of `Index`."""

_PAGE_WEIGHTS = [{"title": 3.0, "body": 1.0}.get(name, 0.0) for name in FIELDS]
_PLACED = [FIELDS.index(name) for name in ("title", "links", "asks", "body")]  # the others are titles of other sections
_BATCH_SIZE = 500
_MIN_TYPO_LENGTH = 4
_LONG_TERM = 7
_MIN_STEM_LENGTH = 5
_MIN_REPEATED_TERMS = 8
_MAX_READ_MORE_TERMS = 4  # at the end of an excerpt: "Continue reading"
_LINK = r"(?<!!)\[([^\]\[\n]{1,200})\]\(<?(https?://[^)>\s]+)"
_TARGET = (  # of links and images; an expression such as `calls[0](event)` has none
    r"(?:\]\(<?(?=https?:|mailto:|data:|\.{0,2}/|#)|<(?=https?://)|\b(?:href|src)=\")[^()\s<>\"]*"
)
_VERSION = r"v?\d+\.\d"


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


class IndexData(msgspec.Struct, frozen=True, array_like=True):
    """What an index file stores of a site.

    Attributes:
        postings: The terms of the sections.
        title_lengths: The number of distinct terms in each title, without stop words if others remain.
        late_pages: The numbers of the pages that come after others: see `find_late_pages`.
        repeats: The rows that repeat another one, and which: excerpts in the lists of a blog.
    """

    postings: PostingsData
    title_lengths: list[int]
    late_pages: list[int]
    repeats: dict[int, int]


class Index:
    """The postings of a site's sections. Rows and pages are numbered in the site's order.

    Args:
        library: The site.
        data: The content of the index.
        complete: Whether all texts could be read.

    Raises:
        ValueError: The data are of another site.
    """

    def __init__(self, library: SiteTexts, data: IndexData, *, complete: bool = True) -> None:
        self.sections = list(library.sections)
        self.data, self.complete = data, complete
        numbers: dict[str, int] = {}
        self.page_numbers = [numbers.setdefault(section.page.path, len(numbers)) for section in self.sections]
        """The number of each row's page."""
        self.page_count = len(numbers)
        self.postings = Postings(data.postings, self.page_numbers)
        if len(data.title_lengths) != len(self.sections) or not all(data.title_lengths):
            raise ValueError("the index is of other titles")

    @classmethod
    def from_texts(
        cls, library: SiteTexts, weights: Sequence[float], excluded_links: Container[tuple[str, str]] = ()
    ) -> Self:
        """Build the index of a site. A section whose text cannot be read is indexed with its opening.

        Args:
            library: The site.
            weights: The weight of a term in each of the `FIELDS`.
            excluded_links: Links whose words are not indexed: lower-case words and the id of the target section.
        """
        sections, language = list(library.sections), library.manifest.site.language
        read_texts = list(_read_texts(library, sections))
        texts = [
            section.section.opening if text is None else text
            for section, text in zip(sections, read_texts, strict=True)
        ]
        links = _link_texts(library, sections, texts)
        builder, title_lengths, repeats = PostingsBuilder(weights, _PAGE_WEIGHTS, _PLACED), list[int](), Repeats()
        pages: dict[str, int] = {}
        cached_terms = lru_cache(_BATCH_SIZE)(lambda part: extract_terms(part, language))  # many share a breadcrumb
        for section, text in zip(sections, texts, strict=True):
            link_texts = [
                words for words in links.get(section.id, ()) if (words.lower(), section.id) not in excluded_links
            ]
            fields = (section.section.title, *_context_fields(library, section, link_texts))
            page = pages.setdefault(section.page.path, len(pages))
            title, body = _title_terms(section.section.title, language), extract_terms(strip_targets(text), language)
            builder.add(page, [*map(cached_terms, fields), body], title)
            title_lengths.append(len(title) or 1)
            repeats.add(page, section.section.title, body)
        late_pages = [pages[path] for path in find_late_pages(library.manifest) if path in pages]
        data = IndexData(builder.build(), title_lengths, late_pages, repeats.find())
        return cls(library, data, complete=None not in read_texts)

    def similar_terms(self, term: str) -> list[str]:
        """Return terms of the site for one that it never uses: other spellings, and the term without a prefix."""
        if len(term) < _MIN_TYPO_LENGTH or not term.isalpha():
            return []
        most = 2 if len(term) > _LONG_TERM else 1
        errors = {other: count_errors(term, other, most) for other in self.postings.terms_with_initial(term[0])}
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


class Repeats:
    """Finds the sections that repeat another page's: the same title, and the same text or its beginning."""

    def __init__(self) -> None:
        self._rows: dict[str, list[tuple[int, int, list[str]]]] = {}
        self._count = 0

    def add(self, page: int, title: str, body: list[str]) -> None:
        """Add the next row."""
        if len(body) >= _MIN_REPEATED_TERMS:
            self._rows.setdefault(title, []).append((self._count, page, body))
        self._count += 1

    def find(self) -> dict[int, int]:
        """Return the rows that repeat another one, which has no less text."""
        found: dict[int, int] = {}
        for same in self._rows.values():
            longest = sorted(same, key=lambda each: (-len(each[2]), each[0]))
            for at, (row, page, body) in enumerate(longest):
                beginning = body[: len(body) - _MAX_READ_MORE_TERMS] if at else body
                for other, other_page, other_body in longest[:at]:
                    if other not in found and page != other_page and other_body[: len(beginning)] == beginning:
                        found[row] = other
                        break
        return found


def _is_other_word(term: str, other: str) -> bool:
    """Return whether a short term differs by another letter, as "move" and "more" do, and not by a slip of the keys."""
    return len(term) == len(other) == _MIN_TYPO_LENGTH and sorted(term) != sorted(other)


def count_errors(one: str, other: str, most: int) -> int:
    """Return how many letters are inserted, deleted, replaced or swapped; more than `most` are not counted.

    It is the optimal string alignment distance.
    """
    if abs(len(one) - len(other)) > most:
        return most + 1
    before, last = list[int](), list(range(len(other) + 1))
    for row, letter in enumerate(one):
        now = [row + 1]
        for at, other_letter in enumerate(other):
            count = min(last[at + 1] + 1, now[at] + 1, last[at] + (letter != other_letter))
            if row and at and letter == other[at - 1] and one[row - 1] == other_letter:
                count = min(count, before[at - 1] + 1)
            now.append(count)
        if min(now) > most:
            return most + 1
        before, last = last, now
    return last[-1]


def strip_targets(text: str) -> str:
    """Return Markdown without the targets of its links and images, whose words are not part of the text."""
    return re.sub(_TARGET, " ", text)


def _title_terms(title: str, language: str) -> frozenset[str]:
    words = parse_words(title, language)
    content_words = [word for word in words if not word.stop] or words
    return frozenset(term for word in content_words for term in word.parts)


def asks_about_changes(words: Sequence[Word], language: str) -> bool:
    """Return whether a question is about versions and changes, in the language of the site or in English."""
    known = load_words(language, "search.change_words") | load_words("en", "search.change_words")
    return any(word.whole in known or re.match(_VERSION, word.text) for word in words)


def _context_fields(library: SiteTexts, section: SectionRef, link_texts: Sequence[str]) -> tuple[str, ...]:
    """Return the fields `above`, `nav`, `below`, `links` and `asks` of a section."""
    own = section.section
    return (
        " / ".join(library.sections.titles_above(section)),
        " / ".join(library.sections.nav_titles(section.page)),
        " / ".join(child.section.title for child in library.sections.children(section)),
        " / ".join(link_texts),
        " / ".join((*own.asks, own.about, *(section.page.questions if section.position == 0 else ()))),
    )


def _read_texts(library: SiteTexts, sections: Sequence[SectionRef]) -> Iterator[str | None]:
    """Yield the text of each section, or None if it cannot be read.

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
                yield None


def _link_texts(library: SiteTexts, sections: Sequence[SectionRef], texts: Sequence[str]) -> dict[str, list[str]]:
    """Return the words of the links to each section, by its id, from other pages."""
    links: dict[str, list[str]] = {}
    for section, text in zip(sections, texts, strict=True):
        for words, url in re.findall(_LINK, text):
            target = library.sections.resolve(url)
            if target is not None and target.page is not section.page:
                links.setdefault(target.id, []).append(words)
    return links


# Index files

INDEX_VERSION = "3"
"""Increased when a site gets another index or other scores: by the tokenizer, the fields or the format of the files."""

MAX_CACHE_BYTES = 256 * 2**20
"""Size of the folder; the files that were not used for the longest time are deleted."""

_SUFFIX = ".index"
_CHECKSUM_BYTES = 4


class IndexCache(msgspec.Struct, frozen=True):
    """Index files in a folder, which several processes may use, and files with other data of a site.

    Attributes:
        folder: The folder; it is created when it is needed.
        max_bytes: Size of the folder. A single file may have a quarter of it.
        min_sections: Indexes of smaller sites are built again each time, which takes little longer than reading a file.
    """

    folder: Path
    max_bytes: int = MAX_CACHE_BYTES
    min_sections: int = 100

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> IndexCache | None:
        """Return the cache in `ROAMING_CACHE_DIR`, or the user's; None if the variable is empty."""
        setting = environ.get("ROAMING_CACHE_DIR")
        if setting is None:
            from platformdirs import user_cache_path

            folder = user_cache_path("mkdocs-roaming", appauthor=False)
            return cls(folder / "search") if folder.is_absolute() else None  # a user may have no home
        return cls(Path(setting) / "search") if setting else None

    def load(self, key: str, kind: type[T]) -> T | None:
        """Return the data with a key, or None."""
        path = self.folder / (key + _SUFFIX)
        try:
            content = memoryview(read_file(path, self.max_bytes // 4))
            if zlib.crc32(content[_CHECKSUM_BYTES:]) != int.from_bytes(content[:_CHECKSUM_BYTES], "little"):
                return None
            data = msgspec.msgpack.decode(content[_CHECKSUM_BYTES:], type=prepare(kind))
        except (LibraryError, msgspec.MsgspecError, UnicodeDecodeError):
            return None
        with suppress(OSError):
            os.utime(path)
        return data

    def store(self, key: str, data: object) -> None:
        """Write data, unless they are too large or the folder cannot be written; then delete the oldest files."""
        from tempfile import mkstemp  # a search with a stored index does not need it

        content = msgspec.msgpack.encode(data)
        if len(content) > self.max_bytes // 4:
            return
        with suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True)
            descriptor, temporary = mkstemp(_SUFFIX, dir=self.folder)  # readable by the user alone
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(zlib.crc32(content).to_bytes(_CHECKSUM_BYTES, "little"))
                    file.write(content)
                Path(temporary).replace(self.folder / (key + _SUFFIX))
            except BaseException:
                Path(temporary).unlink(missing_ok=True)
                raise
            self._delete_oldest()

    def _delete_oldest(self) -> None:
        files = [(path.stat(), path) for path in self.folder.glob("*" + _SUFFIX)]
        files.sort(key=lambda each: each[0].st_mtime, reverse=True)
        size = 0
        for status, path in files:
            size += status.st_size
            if size > self.max_bytes:
                path.unlink(missing_ok=True)


def index_key(manifest: Manifest, weights: Sequence[float]) -> str:
    """Return the key of a site's index: a digest of all that the index depends on.

    The manifest's own digest is not used: a site could state that of another one.
    """
    parts = (INDEX_VERSION, __version__, sys.byteorder, tuple(weights), manifest)
    return hashlib.sha256(msgspec.msgpack.encode(parts)).hexdigest()[:40]
