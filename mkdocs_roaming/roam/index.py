"""The tables that search looks words up in: SQLite FTS5 in memory, over sections by field and over whole pages."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from functools import lru_cache

from mkdocs_roaming.errors import LibraryError
from mkdocs_roaming.manifest import PageEntry
from mkdocs_roaming.places import Place
from mkdocs_roaming.roam.history import is_history
from mkdocs_roaming.roam.library import Library
from mkdocs_roaming.section import github_slug
from mkdocs_roaming.words import groups, terms

FIELDS = ("title", "above", "nav", "keywords", "below", "links", "body")
"""What is known of a section, in the order of the weights that `Index.sections` takes."""


class Index:
    """Rows are numbered as sections, and pages, stand on the site. Not for several threads at once."""

    def __init__(self, library: Library) -> None:
        self.places = list(library.places)
        rows: dict[str, int] = {}
        self.titles: list[frozenset[str]] = []
        """The terms of each title, stop words left out where others remain."""
        self.page_of = [rows.setdefault(place.page.path, len(rows)) for place in self.places]
        pages = {place.page.path: place.page for place in self.places}
        self.history = [is_history(pages[path]) for path in rows]
        """Whether each page tells of what changed once."""
        self._language = library.manifest.site.language
        self._table = sqlite3.connect(":memory:", check_same_thread=False)
        # Our terms hold no spaces and no quotes; whatever else they hold belongs to them.
        marks = "".join(chr(code) for code in range(33, 127) if not chr(code).isalnum() and chr(code) not in "\"'")
        options = f"tokenize=\"ascii tokenchars '{marks}'\""
        self._table.execute(f"CREATE VIRTUAL TABLE sections USING fts5({', '.join(FIELDS)}, {options})")
        self._table.execute(f"CREATE VIRTUAL TABLE pages USING fts5(titles, body, {options})")
        self._table.execute("CREATE VIRTUAL TABLE vocabulary USING fts5vocab(sections, row)")
        self._fill(library)
        self._scores = lru_cache(128)(self._look_up)
        self._spellings: dict[str, list[str]] | None = None

    def __del__(self) -> None:
        self._table.close()

    def sections(self, phrases: Sequence[str], weights: tuple[float, ...]) -> dict[int, float]:
        """Give the sections that hold any of the phrases: what the best of them scores."""
        return self._best("sections", phrases, weights)

    def pages(self, phrases: Sequence[str]) -> dict[int, float]:
        """Give the pages that hold any of the phrases: what the best of them scores."""
        return self._best("pages", phrases, _PAGE_WEIGHTS)

    def holds(self, phrases: Sequence[str]) -> bool:
        """Tell whether any section holds any of the phrases."""
        return any(self._scores("pages", phrase, _PAGE_WEIGHTS) for phrase in phrases)

    def guesses(self, term: str) -> list[str]:
        """Give the site's words that may be meant by one that it never uses: misspelt, or with a prefix before it."""
        if self._spellings is None:
            self._spellings = {}
            for (word,) in self._table.execute("SELECT term FROM vocabulary ORDER BY term"):
                self._spellings.setdefault(word[0], []).append(word)
        if len(term) < _SHORTEST_GUESSED or not term.isalpha():
            return []
        alike = [word for word in self._spellings.get(term[0], ()) if abs(len(word) - len(term)) <= 2]
        inner = [term[at:] for at in range(2, 4) if len(term) - at >= _SHORTEST_STEM]
        inside = [part for part in inner if part in self._spellings.get(part[0], ())]
        return list(dict.fromkeys(get_close_matches(term, alike, 3, 0.8) + inside))

    def _best(self, table: str, phrases: Sequence[str], weights: tuple[float, ...]) -> dict[int, float]:
        found = [self._scores(table, phrase, weights) for phrase in phrases]
        if len(found) < 2:
            return found[0] if found else {}
        best: dict[int, float] = {}
        for scores in found:
            for row, score in scores.items():
                best[row] = max(score, best.get(row, 0.0))
        return best

    def _look_up(self, table: str, phrase: str, weights: tuple[float, ...]) -> dict[int, float]:
        values = ", ".join(str(float(weight)) for weight in weights)
        found = self._table.execute(
            f"SELECT rowid, -bm25({table}, {values}) FROM {table} WHERE {table} MATCH ?", (phrase,)
        )
        return dict(found.fetchall())

    def _fill(self, library: Library) -> None:
        texts = list(_texts(library, self.places))
        leading = _leading(library, self.places, texts)
        bodies = [self._terms(text) for text in texts]
        titles = [self._terms(place.section.title) for place in self.places]
        self.titles = [self._telling(place.section.title) for place in self.places]
        self._table.executemany(
            f"INSERT INTO sections(rowid, {', '.join(FIELDS)}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                (at, titles[at], *map(self._terms, _around(library, place, leading.get(place.id, ()))), bodies[at])
                for at, place in enumerate(self.places)
            ),
        )
        pages: dict[int, tuple[list[str], list[str]]] = {}
        for at, page in enumerate(self.page_of):
            pages.setdefault(page, ([], []))[0].append(titles[at])
            pages[page][1].append(bodies[at])
        self._table.executemany(
            "INSERT INTO pages(rowid, titles, body) VALUES (?, ?, ?)",
            ((page, " ".join(heads), " ".join(body)) for page, (heads, body) in pages.items()),
        )

    def _telling(self, text: str) -> frozenset[str]:
        words = groups(text, self._language)
        telling = [word for word in words if not word.stop] or words
        return frozenset(term for word in telling for term in word.parts)

    def _terms(self, text: str) -> str:
        return " ".join(terms(text, self._language))


def _around(library: Library, place: Place, leading: Sequence[str]) -> tuple[str, str, str, str, str]:
    """Give what stands around a section: above it on its page, in the nav, its keywords, below it, links to it."""
    crumbs = library.places.breadcrumb(place)[:-1]
    on_page = 0
    above = library.places.parent(place)
    while above is not None:
        on_page += 1
        above = library.places.parent(above)
    here = crumbs[len(crumbs) - on_page :]
    return (
        " / ".join(here),
        " / ".join(crumbs[: len(crumbs) - on_page]),
        " / ".join(place.section.keywords),
        " / ".join(child.section.title for child in library.places.children(place)),
        " / ".join(leading),
    )


def _texts(library: Library, places: Sequence[Place]) -> Iterator[str]:
    """Read all sections, in batches where they are too many to be kept; one that cannot be read has its opening."""
    library.prefetch()
    for begin in range(0, len(places), _BATCH):
        batch = places[begin : begin + _BATCH]
        library.prefetch(list({place.page.path: place.page for place in batch}.values()))
        for place in batch:
            try:
                yield library.text(place)
            except LibraryError:
                yield place.section.opening


def _leading(library: Library, places: Sequence[Place], texts: Sequence[str]) -> dict[str, list[str]]:
    """Give for each section the words of the links that lead to it from other pages."""
    pages = {page.markdown: page for page in library.manifest.pages}
    pages |= {page.path: page for page in library.manifest.pages}
    site = library.manifest.site.url
    leading: dict[str, list[str]] = {}
    for place, text in zip(places, texts, strict=True):
        for words, url in _LINK.findall(text):
            path, _, anchor = url.removeprefix(site).partition("#")
            page = pages.get(path) if url.startswith(site) else None
            target = _target(library, page, anchor) if page else None
            if target is not None and target.page is not place.page:
                leading.setdefault(target.id, []).append(words)
    return leading


def _target(library: Library, page: PageEntry, anchor: str) -> Place | None:
    """Give the section that a link leads to; where there is no HTML, anchors are the slugs that GitHub makes."""
    if found := library.places.anchor(page, anchor):
        return found
    slug = (at for at, section in enumerate(page.sections) if github_slug(section.title) == anchor)
    at = None if library.manifest.anchors else next(slug, None)
    return None if at is None else Place(page, at)


_LINK = re.compile(r"(?<!!)\[([^\]\[\n]{1,200})\]\(<?(https?://[^)>\s]+)")
_PAGE_WEIGHTS = (3.0, 1.0)
_BATCH = 500
_SHORTEST_GUESSED = 4
_SHORTEST_STEM = 5
