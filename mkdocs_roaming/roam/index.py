"""What search looks words up in: what is known of each section, field by field, and of its page."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from difflib import get_close_matches
from functools import lru_cache

from mkdocs_roaming.errors import LibraryError
from mkdocs_roaming.manifest import PageEntry
from mkdocs_roaming.places import Place
from mkdocs_roaming.roam.history import is_history
from mkdocs_roaming.roam.library import Library
from mkdocs_roaming.roam.postings import Postings
from mkdocs_roaming.section import github_slug
from mkdocs_roaming.words import groups, terms

FIELDS = ("title", "above", "nav", "keywords", "below", "links", "body")
"""What is known of a section, in the order of the weights that `Index` takes."""


class Index:
    """Rows are numbered as sections, and pages, stand on the site. May be read from several threads.

    `weights` tells what a word counts in each of the `FIELDS`. Links in `unheard`, by their words in lower case and
    the id of the section that they lead to, say nothing of it.
    """

    def __init__(self, library: Library, weights: Sequence[float], unheard: Container[tuple[str, str]] = ()) -> None:
        self.places = list(library.places)
        rows: dict[str, int] = {}
        self.page_of = [rows.setdefault(place.page.path, len(rows)) for place in self.places]
        pages = {place.page.path: place.page for place in self.places}
        self.pages = len(rows)
        history = [is_history(pages[path]) for path in rows]
        self.history = frozenset(row for row, page in enumerate(self.page_of) if history[page])
        """The sections of pages that tell of what changed once."""
        self._language = library.manifest.site.language
        titles = [self._telling(place.section.title) for place in self.places]
        self.telling = [len(title) for title in titles]
        """How many terms each title has, stop words left out where others remain."""
        self.titled: dict[str, list[int]] = {}
        """The sections whose titles hold a term."""
        for row, title in enumerate(titles):
            for term in title:
                self.titled.setdefault(term, []).append(row)
        self.postings = self._filled(library, weights, unheard)

    def guesses(self, term: str) -> list[str]:
        """Give the site's words that may be meant by one that it never uses: misspelt, or with a prefix before it."""
        if len(term) < _SHORTEST_GUESSED or not term.isalpha():
            return []
        alike = [word for word in self.postings.spellings(term[0]) if abs(len(word) - len(term)) <= 2]
        inner = [term[at:] for at in range(2, 4) if len(term) - at >= _SHORTEST_STEM]
        inside = [part for part in inner if part in self.postings]
        return list(dict.fromkeys(get_close_matches(term, alike, 3, 0.8) + inside))

    def _filled(self, library: Library, weights: Sequence[float], unheard: Container[tuple[str, str]]) -> Postings:
        texts = list(_texts(library, self.places))
        leading = _leading(library, self.places, texts)
        postings = Postings(weights, [_PAGE_WEIGHTS.get(name, 0.0) for name in FIELDS])
        language = self._language
        said = lru_cache(_BATCH)(lambda part: terms(part, language))  # what stands above is the same for many
        for page, place, text in zip(self.page_of, self.places, texts, strict=True):
            heard = [words for words in leading.get(place.id, ()) if (words.lower(), place.id) not in unheard]
            around = _around(library, place, heard)
            postings.add(page, [*map(said, (place.section.title, *around)), terms(text, language)])
        postings.close()
        return postings

    def _telling(self, text: str) -> frozenset[str]:
        words = groups(text, self._language)
        telling = [word for word in words if not word.stop] or words
        return frozenset(term for word in telling for term in word.parts)


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
_PAGE_WEIGHTS = {"title": 3.0, "body": 1.0}
_BATCH = 500
_SHORTEST_GUESSED = 4
_SHORTEST_STEM = 5
