"""Ranking methods: what each finds for a question, and the text that it sends to a model.

Definitions, equal for all methods:

- A result is a section with text of its own below its heading; a heading with nothing but subsections is none. A set
  that names its sections may choose others (`is_result`).
- The texts are those of the published Markdown: a section's heading and its own text, without its subsections.
- Tokens are a quarter of the characters, rounded up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Protocol

from msgspec import Struct

from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.navigator import Navigator
from mkdocs_roaming.library.search import Search
from mkdocs_roaming.library.texts import PREFETCH_TOKENS
from mkdocs_roaming.library.tools import SearchResults, render
from mkdocs_roaming.manifest.expand import render_expansion
from mkdocs_roaming.manifest.lookup import SectionRef

from .baselines import RankTexts, make_bm25, make_fts5
from .corpus import has_text
from .report import SEARCH_NAME
from .vectors import MODEL, Embeddings, open_hybrid_search

MAX_DEPTH = 50
"""Number of sections that a method returns."""
CHARS_PER_TOKEN = 4
IsResult = Callable[[SectionRef], bool]
"""Returns whether a section can be a result."""
SEPARATOR = "\n\n"
WORDS_NAME = f"{SEARCH_NAME}, words alone"
HYBRID_NAME = f"{SEARCH_NAME}, hybrid with {MODEL}"


def count_tokens(text: str) -> int:
    """Return the number of tokens of a text: a quarter of its characters, rounded up."""
    return -(-len(text) // CHARS_PER_TOKEN)


class RankedSection(Struct, frozen=True):
    """A section that a method found, and the text that it sends of it."""

    section: SectionRef
    text: str


class Ranked(Struct, frozen=True):
    """What a method found for a question.

    Attributes:
        sections: The sections, best first.
        sent: The whole text that is sent, of a method that decides this itself; None if a caller takes as much as it
            wants.
    """

    sections: tuple[RankedSection, ...]
    sent: str | None = None

    def first(self, count: int) -> Ranked:
        """Return the first sections; what a method sends of its own accord remains whole."""
        return Ranked(self.sections[:count], self.sent)

    def text(self) -> str:
        """Return the text that is sent: whole sections in order."""
        return SEPARATOR.join(each.text for each in self.sections) if self.sent is None else self.sent


class Method(Protocol):
    """A way to rank the sections of a library for a question."""

    @property
    def name(self) -> str:
        """The name in tables."""

    def rank(self, question: str) -> Ranked:
        """Return what is found for a question."""


class TextMethod:
    """Ranks by one text for each section.

    Args:
        name: The name in tables.
        library: The library.
        make: Makes the ranking of the texts.
        index_text: Returns the text of a section that is ranked; by default its own text, which is sent in any case.
        is_result: Whether a section can be a result.
    """

    def __init__(
        self,
        name: str,
        library: Library,
        make: Callable[[Sequence[str]], RankTexts],
        index_text: Callable[[Library, SectionRef], str] = Library.text,
        *,
        is_result: IsResult = has_text,
    ) -> None:
        self.name = name
        self._library = library
        self._sections = [section for section in library.sections if is_result(section)]
        self._rank = make([index_text(library, section) for section in self._sections])

    def rank(self, question: str) -> Ranked:
        """Return the sections whose ranked texts contain a word of the question."""
        sections = [self._sections[row] for row in self._rank(question)[:MAX_DEPTH]]
        return Ranked(tuple(RankedSection(section, self._library.text(section)) for section in sections))


class EmbeddingsMethod:
    """Ranks by embeddings alone: a section is as near to the question as the nearest of its windows.

    Args:
        library: The library.
        hybrid: Its hybrid search.
        is_result: Whether a section can be a result.
    """

    def __init__(self, library: Library, hybrid: Search, *, is_result: IsResult = has_text) -> None:
        self.name = f"{MODEL} embeddings"
        self._library = library
        self._hybrid = hybrid
        self._is_result = is_result

    def rank(self, question: str) -> Ranked:
        """Return the nearest sections."""
        vectors = self._hybrid.published
        near = vectors.find_near(question) if vectors else None
        rows = near.rows if near else {}
        sections = list(self._library.sections)
        ordered = [sections[row] for row in sorted(rows, key=lambda row: -rows[row].cosine)]
        found = (RankedSection(section, self._library.text(section)) for section in ordered if self._is_result(section))
        return Ranked(tuple(islice(found, MAX_DEPTH)))


class SearchMethod:
    """Ranks as `roaming search` does, and sends the sections' own texts.

    Args:
        library: The library.
        search: Its search.
        name: The name in tables.
        is_result: Whether a section can be a result.
    """

    def __init__(
        self, library: Library, search: Search, name: str = SEARCH_NAME, *, is_result: IsResult = has_text
    ) -> None:
        self.name = name
        self._library, self._search, self._is_result = library, search, is_result

    def rank(self, question: str) -> Ranked:
        """Return the sections that search finds."""
        sections = [hit.section for hit in self._search.find(question, limit=2 * MAX_DEPTH)]
        found = [
            RankedSection(section, self._library.text(section)) for section in sections if self._is_result(section)
        ]
        return Ranked(tuple(found[:MAX_DEPTH]))


class PrefetchMethod:
    """Sends what the answer loop sends before a model's first call: opened sections, then a line for each next hit.

    Args:
        library: The library.
        search: Its search.
        is_result: Whether a section can be a result.
    """

    name = "prefetch"

    def __init__(self, library: Library, search: Search, *, is_result: IsResult = has_text) -> None:
        self._library, self._search, self._is_result = library, search, is_result

    def rank(self, question: str) -> Ranked:
        """Return the opened sections in their order, then the listed ones."""
        navigator = Navigator(self._library, search=self._search)
        navigator.texts.link_ids = True  # as the answer loop has it
        found = navigator.prefetch(question, max_tokens=PREFETCH_TOKENS)
        texts = {expansion.id: render_expansion(expansion) for expansion in found.sections}
        for hit in found.hits:
            texts.setdefault(hit.id, render(SearchResults("", (hit,))))
        sections = ((self._library.sections.get(id_), text) for id_, text in texts.items())
        ranked = (RankedSection(section, text) for section, text in sections if section and self._is_result(section))
        return Ranked(tuple(ranked), render(found))


def outline_line(library: Library, section: SectionRef) -> str:
    """Return the line of a section in an outline with openings: the titles above it, its title, its opening."""
    titles = " › ".join(library.sections.breadcrumb(section))
    return f"{titles} — {section.section.opening}" if section.section.opening else titles


def make_methods(
    library: Library, is_result: IsResult = has_text, embeddings: Embeddings | None = None
) -> list[Method]:
    """Return all methods for a library, each with its default settings.

    Args:
        library: The library.
        is_result: Whether a section can be a result.
        embeddings: The model of the rows with embeddings, which are left out without it.
    """
    search = Search(library)
    return [
        TextMethod("FTS5 porter", library, make_fts5, is_result=is_result),
        TextMethod("BM25", library, make_bm25, is_result=is_result),
        TextMethod("BM25 over outline lines", library, make_bm25, outline_line, is_result=is_result),
        *(_iter_embeddings_methods(library, is_result, embeddings) if embeddings else ()),
        SearchMethod(library, Search(library, with_table=False), WORDS_NAME, is_result=is_result),
        SearchMethod(library, search, is_result=is_result),
        PrefetchMethod(library, search, is_result=is_result),
    ]


def _iter_embeddings_methods(library: Library, is_result: IsResult, embeddings: Embeddings) -> Iterator[Method]:
    hybrid = open_hybrid_search(library, embeddings)
    yield EmbeddingsMethod(library, hybrid, is_result=is_result)
    yield SearchMethod(library, hybrid, HYBRID_NAME, is_result=is_result)
