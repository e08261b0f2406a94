"""Full-text search over sections: SQLite FTS5, fed with our own terms; a section's page counts too."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from mkdocs_roaming.errors import LibraryError
from mkdocs_roaming.manifest import PageEntry
from mkdocs_roaming.places import Place
from mkdocs_roaming.roam.library import Library
from mkdocs_roaming.roam.snippets import snippet
from mkdocs_roaming.words import Word, terms
from mkdocs_roaming.words import query as words_of

LONGEST = 2_000
"""The characters of a question that are read."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A section that was found; a higher score is better, the best window of its text is the snippet."""

    place: Place
    score: float
    snippet: str


@dataclass(frozen=True, slots=True)
class Weights:
    """What counts how much in ranking. The fields of a section first, then what its page adds."""

    title: float = 4.0
    breadcrumb: float = 1.5
    keywords: float = 1.0
    links: float = 1.0
    body: float = 1.0
    page: float = 0.3


class Search:
    """Finds sections by words. The index is built on first use; reading is safe from several threads."""

    def __init__(self, library: Library, *, weights: Weights | None = None) -> None:
        self.library = library
        self.weights = weights or Weights()
        self._language = library.manifest.site.language
        self._lock = threading.Lock()
        self._index: _Index | None = None

    def find(self, query: str, *, limit: int = 10, within: Callable[[Place], bool] | None = None) -> list[Hit]:
        """Give the best sections for any text a person types, best first; a section's own address finds it too."""
        words = asked(query, self._language)
        ranked = self.rank(words)
        named = self.library.places.address(query.strip()) if query.strip() and len(query) < LONGEST else None
        if named is not None:
            best = ranked[0][1] + 1 if ranked else 1.0
            ranked = [(named, best), *((place, score) for place, score in ranked if place.id != named.id)]
        hits: list[Hit] = []
        for place, score in ranked:
            if len(hits) >= limit:
                break
            if within is None or within(place):
                hits.append(Hit(place, score, snippet(self._read(place), words, self._language)))
        return hits

    def pages(self, query: str, *, limit: int = 10, within: Callable[[Place], bool] | None = None) -> list[PageEntry]:
        """Give the pages whose best section ranks first."""
        found: dict[str, PageEntry] = {}
        for place, _ in self.rank(asked(query, self._language)):
            if len(found) >= limit:
                break
            if within is None or within(place):
                found.setdefault(place.page.path, place.page)
        return list(found.values())

    def rank(self, words: Sequence[Word]) -> list[tuple[Place, float]]:
        """Give every section that holds one of the words, and its score, best first."""
        if not words:
            return []
        with self._lock:
            if self._index is None:
                self._index = _Index(self.library)
            found = self._index.find(words, self.weights)
        pages: dict[str, float] = {}
        for place, score in found:
            pages[place.page.path] = max(pages.get(place.page.path, 0.0), score)
        scored = [
            (score + self.weights.page * pages[place.page.path], at, place) for at, (place, score) in enumerate(found)
        ]
        scored.sort(key=lambda entry: (-entry[0], entry[1]))
        return [(place, score) for score, _, place in scored]

    def _read(self, place: Place) -> str:
        try:
            return self.library.text(place)
        except LibraryError:
            return place.section.opening


def asked(query: str, language: str) -> list[Word]:
    """Give the words of a question that tell something; all of them where none does."""
    words = [word for word in words_of(query[:LONGEST], language) if any(word.runs)]
    return ([word for word in words if not word.stop] or words)[:_MOST_WORDS]


class _Index:
    """The table of sections; rows are numbered as the sections stand."""

    def __init__(self, library: Library) -> None:
        self.places = list(library.places)
        self._table = sqlite3.connect(":memory:", check_same_thread=False)
        # Our terms hold no spaces and no quotes; whatever else they hold belongs to them.
        marks = "".join(chr(code) for code in range(33, 127) if not chr(code).isalnum() and chr(code) not in "\"'")
        self._table.execute(
            f"CREATE VIRTUAL TABLE sections USING fts5({', '.join(_FIELDS)}, tokenize=\"ascii tokenchars '{marks}'\")"
        )
        self._table.executemany(
            f"INSERT INTO sections(rowid, {', '.join(_FIELDS)}) VALUES (?, {', '.join('?' * len(_FIELDS))})",
            self._rows(library),
        )

    def __del__(self) -> None:
        self._table.close()

    def find(self, words: Sequence[Word], weights: Weights) -> list[tuple[Place, float]]:
        """Give the sections that hold any of the words, best first."""
        phrases = " OR ".join(
            f'"{" ".join(run)}"{" *" if word.prefix else ""}' for word in words for run in word.runs if run
        )
        values = ", ".join(str(float(getattr(weights, field))) for field in _FIELDS)
        rows = self._table.execute(
            f"SELECT rowid, bm25(sections, {values}) AS score FROM sections WHERE sections MATCH ? "
            "ORDER BY score, rowid",
            (phrases,),
        )
        return [(self.places[row], -score) for row, score in rows]

    def _rows(self, library: Library) -> Iterator[tuple[object, ...]]:
        language = library.manifest.site.language

        def words(text: str) -> str:
            return " ".join(terms(text, language))

        leading = _leading(library)
        for at, (place, text) in enumerate(_texts(library, self.places)):
            yield (
                at,
                words(place.section.title),
                words(" / ".join(library.places.breadcrumb(place)[:-1])),
                words(" ".join(place.section.keywords)),
                words(" / ".join(leading.get(place.id, ()))),
                words(text),
            )


def _texts(library: Library, places: Sequence[Place]) -> Iterator[tuple[Place, str]]:
    """Read all sections, in batches where they are too many to be kept; one that cannot be read has its opening."""
    library.prefetch()
    for begin in range(0, len(places), _BATCH):
        batch = places[begin : begin + _BATCH]
        library.prefetch(list({place.page.path: place.page for place in batch}.values()))
        for place in batch:
            try:
                yield place, library.text(place)
            except LibraryError:
                yield place, place.section.opening


def _leading(library: Library) -> dict[str, list[str]]:
    """Give for each section the titles of those that link to it."""
    leading: dict[str, list[str]] = {}
    for place in library.places:
        for target in place.section.links:
            leading.setdefault(target, []).append(place.section.title)
    return leading


_FIELDS = ("title", "breadcrumb", "keywords", "links", "body")
_MOST_WORDS = 48
_BATCH = 500
