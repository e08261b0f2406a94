"""Full-text search over sections: SQLite FTS5, fed with our own terms; what a section's page says counts too."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from mkdocs_roaming.errors import LibraryError
from mkdocs_roaming.manifest import PageEntry
from mkdocs_roaming.places import Place
from mkdocs_roaming.roam.history import asks_for_history
from mkdocs_roaming.roam.index import Index
from mkdocs_roaming.roam.library import Library
from mkdocs_roaming.roam.snippets import snippet
from mkdocs_roaming.roam.synonyms import synonyms
from mkdocs_roaming.words import Word
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
    """What counts how much in ranking: a section's fields first, then the rest.

    `above` are the titles around the section on its page, `nav` its page's title and those above that, `below` its
    subsections' titles, `links` the words of links that lead to it. `page` is the share of what the whole page says;
    `entire` is added, as a share, for a title all of whose words are asked for. A chatty word (*want*, *often*)
    counts as the share `chatty` of any other, a word guessed for one that the site never uses as `guess`, a word of
    the same meaning as `synonym`. A change log counts as the share `history`, unless changes are asked for. Measured
    by benchmarks/search_quality.py.
    """

    title: float = 12.0
    above: float = 2.0
    nav: float = 1.2
    keywords: float = 0.4
    below: float = 0.9
    links: float = 4.0
    body: float = 0.9
    page: float = 0.4
    entire: float = 0.4
    chatty: float = 0.4
    guess: float = 0.7
    synonym: float = 0.2
    history: float = 0.65


class Search:
    """Finds sections by words. The index is built on first use; reading is safe from several threads."""

    def __init__(self, library: Library, *, weights: Weights | None = None) -> None:
        self.library = library
        self.weights = weights or Weights()
        self._language = library.manifest.site.language
        self._lock = threading.Lock()
        self._index: Index | None = None

    def find(self, query: str, *, limit: int = 10, within: Callable[[Place], bool] | None = None) -> list[Hit]:
        """Give the best sections for any text a person types, best first; a section's own address finds it too."""
        words = asked(query, self._language)
        ranked = self.rank(words)
        named = self._named(query.strip())
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

    def _named(self, query: str) -> Place | None:
        """Give the section that an id, a path or a URL names; a single word is no path, though a page may have it."""
        places = self.library.places
        if len(query) > LONGEST:
            return None
        return places.get(query) or (places.address(query) if _ADDRESS.search(query) else None)

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
                self._index = Index(self.library)
            index = self._index
            scores, pages = self._sums(index, words)
        asked_for = {term for word in words for run in word.runs for term in run}
        old = 1.0 if asks_for_history(words) else self.weights.history
        for row, score in scores.items():
            page, titled = index.page_of[row], index.titles[row]
            score += self.weights.page * pages.get(page, 0.0)
            if not titled.isdisjoint(asked_for):
                score *= 1 + self.weights.entire * (len(titled & asked_for) / len(titled))
            scores[row] = score * old if index.history[page] else score
        best_first = sorted(sorted(scores), key=scores.__getitem__, reverse=True)  # equals as they stand on the site
        return [(index.places[row], scores[row]) for row in best_first]

    def _sums(self, index: Index, words: Sequence[Word]) -> tuple[dict[int, float], dict[int, float]]:
        """Give what the words score in sections, and in pages."""
        sections: dict[int, float] = {}
        pages: dict[int, float] = {}
        fields = self._fields()
        for word in words:
            ways = list(self._ways(index, word))
            _add(sections, [(index.sections(phrases, fields), weight) for phrases, weight in ways])
            _add(pages, [(index.pages(phrases), weight) for phrases, weight in ways])
        return sections, pages

    def _ways(self, index: Index, word: Word) -> Iterator[tuple[tuple[str, ...], float]]:
        """Give the phrases by which a word is looked up, and what they count."""
        weight = self.weights.chatty if word.text.lower() in _CHATTY else 1.0
        phrases = tuple(f'"{" ".join(run)}"{" *" if word.prefix else ""}' for run in word.runs if run)
        if index.holds(phrases):
            yield phrases, weight
        elif self.weights.guess and not word.prefix:
            yield tuple(f'"{term}"' for term in index.guesses(word.parts[-1])), weight * self.weights.guess
        if self.weights.synonym and len(word.parts) == 1:
            others = tuple(f'"{term}"' for term in synonyms(word.parts[0], self._language))
            yield others, weight * self.weights.synonym

    def _fields(self) -> tuple[float, ...]:
        own = self.weights
        return (own.title, own.above, own.nav, own.keywords, own.below, own.links, own.body)

    def _read(self, place: Place) -> str:
        try:
            return self.library.text(place)
        except LibraryError:
            return place.section.opening


def _add(scores: dict[int, float], ways: Sequence[tuple[Mapping[int, float], float]]) -> None:
    """Add what a word scores in each row, by the best of the ways in which it was looked up."""
    weighed = [{row: weight * score for row, score in found.items()} for found, weight in ways if found]
    best = weighed[0] if weighed else {}
    for other in weighed[1:]:
        for row, score in other.items():
            best[row] = max(score, best.get(row, 0.0))
    for row, score in best.items():
        scores[row] = scores.get(row, 0.0) + score


def asked(query: str, language: str) -> list[Word]:
    """Give the words of a question that tell something; all of them where none does."""
    words = [word for word in words_of(query[:LONGEST], language) if any(word.runs)]
    return ([word for word in words if not word.stop] or words)[:_MOST_WORDS]


_MOST_WORDS = 48
_ADDRESS = re.compile(r"[/#]|\.md$")

# Words that people ask with and that a page seldom answers with: rare in a text, so they would count for too much.
_CHATTY = frozenset(
    word
    for line in (
        "able actually allowed already also always anything back best better bit can cannot come comes correct",
        "could different else ever every exactly find first found get gets getting go goes going good got happen",
        "happens help instead just keep keeps kind know last let like long look looking looks lot lots make makes",
        "many may mean means might much must need needs never new often old once only other own please possible",
        "properly put really right same say says see seem seems should some something sort still tell than thing",
        "things think time times tried try trying turn turns twice use used using want wants way ways whole",
        "without wonder work working works would wrong",
    )
    for word in line.split()
)
