"""Full-text search over sections: BM25 over their fields; what a section's page says counts too."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from heapq import nlargest
from itertools import chain, islice
from typing import Protocol

from mkdocs_roaming.errors import LibraryError
from mkdocs_roaming.library.index import Index, PostingMatches, asks_about_changes, merge_matches
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.snippets import snippet
from mkdocs_roaming.manifest.lookup import SectionRef
from mkdocs_roaming.manifest.models import PageEntry
from mkdocs_roaming.text.synonyms import find_stem_synonyms
from mkdocs_roaming.text.tokenizer import Word
from mkdocs_roaming.text.tokenizer import parse_query as words_of

MAX_QUERY_CHARS = 2_000
"""The characters of a question that are read."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A section that was found; a higher score is better, the best window of its text is the snippet."""

    place: SectionRef
    score: float
    snippet: str


@dataclass(frozen=True, slots=True)
class Weights:
    """What counts how much in ranking: a section's fields first, then the rest.

    `above` are the titles around the section on its page, `nav` its page's title and those above that, `below` its
    subsections' titles, `links` the words of links that lead to it. `page` is the share of what the whole page says;
    `full_title_bonus` is added, as a share, for a title all of whose words are asked for. A chatty word (*want*, *often*)
    counts as the share `chatty` of any other, a word guessed for one that the site never uses as `guess`, a word of
    the same meaning as `synonym`, of at most twice what the word itself scores. A change log counts as the share
    `history`, unless changes are asked for. Measured by benchmarks/search_quality.py.
    """

    title: float = 12.0
    above: float = 2.0
    nav: float = 1.2
    keywords: float = 0.4
    below: float = 0.9
    links: float = 4.0
    body: float = 0.9
    page: float = 0.7
    full_title_bonus: float = 0.6
    coverage_penalty: float = 0.5
    chatty: float = 0.4
    guess: float = 0.7
    synonym: float = 0.2
    history: float = 0.65


class Finder(Protocol):
    """Finds sections: `Search` by words, `HybridSearch` by words and vectors."""

    library: Library

    def find(self, query: str, *, limit: int = 10, within: Callable[[SectionRef], bool] | None = None) -> list[Hit]:
        """Return the best sections for a query, best first; `within` filters them."""
        ...

    def pages(
        self, query: str, *, limit: int = 10, within: Callable[[SectionRef], bool] | None = None
    ) -> list[PageEntry]:
        """Return the pages with the best sections, best first."""
        ...

    def rank(self, words: Sequence[Word]) -> list[tuple[SectionRef, float]]:
        """Return all sections that contain one of the words, with their scores, best first."""
        ...

    def words_only(self, query: str) -> bool:
        """Return whether the query was searched by words although vectors are configured."""
        ...


SearchFactory = Callable[[Library], Finder]


class Search:
    """Finds sections by words. The index is built on first use; reading is safe from several threads.

    `excluded_links` are links, by their words in lower case and the id of the section that they lead to, which are not told to
    the index: those that a measurement asks by.
    """

    def __init__(
        self, library: Library, *, weights: Weights | None = None, excluded_links: Container[tuple[str, str]] = ()
    ) -> None:
        self.library = library
        self.weights = weights or Weights()
        self._excluded_links = excluded_links
        self._language = library.manifest.site.language
        self._lock = threading.Lock()
        self._index: Index | None = None
        self._found = lru_cache(_KEPT)(self._look_up)

    def find(self, query: str, *, limit: int = 10, within: Callable[[SectionRef], bool] | None = None) -> list[Hit]:
        """Give the best sections for any text a person types, best first; a section's own address finds it too."""
        words = parse_query(query, self._language)
        ranked = self._ranked(words, limit)
        named = self._named(query.strip())
        if named is not None:
            ranked = self._led_by(named, ranked)
        found = (each for each in ranked if within is None or within(each[0]))
        return [
            Hit(place, score, snippet(self._read(place), words, self._language))
            for place, score in islice(found, max(limit, 0))
        ]

    def _led_by(
        self, named: SectionRef, ranked: Iterator[tuple[SectionRef, float]]
    ) -> Iterator[tuple[SectionRef, float]]:
        best = next(ranked, None)
        yield named, best[1] + 1 if best else 1.0
        yield from (each for each in chain([best] if best else [], ranked) if each[0].id != named.id)

    def _named(self, query: str) -> SectionRef | None:
        """Give the section that an id, a path or a URL names; a single word is no path, though a page may have it."""
        places = self.library.sections
        if len(query) > MAX_QUERY_CHARS:
            return None
        return places.get(query) or (places.resolve(query) if _ADDRESS.search(query) else None)

    def pages(
        self, query: str, *, limit: int = 10, within: Callable[[SectionRef], bool] | None = None
    ) -> list[PageEntry]:
        """Give the pages whose best section ranks first."""
        found: dict[str, PageEntry] = {}
        for place, _ in self._ranked(parse_query(query, self._language), _FIRST):
            if len(found) >= limit:
                break
            if within is None or within(place):
                found.setdefault(place.page.path, place.page)
        return list(found.values())

    def rank(self, words: Sequence[Word]) -> list[tuple[SectionRef, float]]:
        """Give every section that holds one of the words, and its score, best first."""
        return list(self._ranked(words))

    def words_only(self, query: str) -> bool:
        """Return False: no vectors are configured, so none are missing."""
        return False

    def _ranked(self, words: Sequence[Word], first: int = 0) -> Iterator[tuple[SectionRef, float]]:
        """Give what `rank` gives; the first so many before the rest is put in order, which few ask for."""
        scores, places = self._scores(words), self._indexed().sections
        left = list(scores)
        if 0 < first < len(scores):
            least = nlargest(first, scores.values())[-1]
            left = [row for row, score in scores.items() if score < least]
            ahead = {row: score for row, score in scores.items() if score >= least}
            yield from ((places[row], scores[row]) for row in _in_order(ahead))
        yield from ((places[row], scores[row]) for row in _in_order({row: scores[row] for row in left}))

    def _scores(self, words: Sequence[Word]) -> dict[int, float]:
        """Give what each row that holds one of the words scores."""
        index = self._indexed()
        found = [each for word in words if (each := self._found(word)).rows]
        scores, pages = _sums(found, index.pages)
        held: Counter[int] = Counter()
        for each in found:
            held.update(each.rows)
        lack = self.weights.coverage_penalty / (len(found) or 1)
        left = [1 - lack * (len(found) - count) for count in range(len(found) + 1)]
        share, page_of = self.weights.page, index.page_of
        scores = {row: (score + share * pages[page_of[row]]) * left[held[row]] for row, score in scores.items()}
        asked_for = {term for word in words for run in word.runs for term in run}
        for row, count in Counter(row for term in asked_for for row in index.titled.get(term, ())).items():
            if row in scores:
                scores[row] *= 1 + self.weights.full_title_bonus * (count / index.telling[row])
        if not asks_about_changes(words):
            for row in scores.keys() & index.history:
                scores[row] *= self.weights.history
        return scores

    def _indexed(self) -> Index:
        with self._lock:
            if self._index is None:
                own = self.weights
                fields = (own.title, own.above, own.nav, own.keywords, own.below, own.links, own.body)
                self._index = Index(self.library, fields, self._excluded_links)
            return self._index

    def _look_up(self, word: Word) -> PostingMatches:
        """Give what a word scores, by the best of the ways in which it is looked up."""
        index, weights = self._indexed(), self.weights
        weight = weights.chatty if word.text.lower() in _CHATTY else 1.0
        runs = [run for run in word.runs if run]
        found = index.postings.find(runs, prefix=word.prefix)
        ways = [(found, weight)]
        if not len(found.groups):
            guesses = [] if word.prefix or not weights.guess else index.guesses(word.parts[-1])
            ways = [(index.postings.find([(term,) for term in guesses]), weight * weights.guess)]
        if weights.synonym and len(word.parts) == 1:
            others = find_stem_synonyms(word.parts[0], self._language)
            alike = index.postings.find([(term,) for term in others])
            ways.append((alike, weight * weights.synonym * _at_most(found, alike)))
        return merge_matches([(each, share) for each, share in ways if each.rows])

    def _read(self, place: SectionRef) -> str:
        try:
            return self.library.text(place)
        except LibraryError:
            return place.section.opening


def _at_most(word: PostingMatches, alike: PostingMatches) -> float:
    """Give what of their scores is left to words of the same meaning: they are bound to what the word itself scores.

    A word that most sections hold tells hardly anything, *validator* on a site about validation; a rare synonym of it
    would decide alone.
    """
    return min(1.0, _ALIKE * max(word.scores) / max(alike.scores)) if word.rows and alike.rows else 1.0


def _sums(found: Iterable[PostingMatches], pages: int) -> tuple[dict[int, float], list[float]]:
    """Give what rows score together, and what each page does."""
    scores: dict[int, float] = {}
    of_page = [0.0] * pages
    for each in found:
        for page, score in zip(each.groups, each.group_scores, strict=True):
            of_page[page] += score
        if not scores:
            scores = dict(zip(each.rows, each.scores, strict=True))
            continue
        for row, score in zip(each.rows, each.scores, strict=True):
            scores[row] = scores.get(row, 0.0) + score
    return scores, of_page


def _in_order(scores: Mapping[int, float]) -> list[int]:
    """Give rows, the best first, equals as they stand on the site."""
    return sorted(sorted(scores), key=scores.__getitem__, reverse=True)


def parse_query(query: str, language: str) -> list[Word]:
    """Give the words of a question that tell something; all of them where none does."""
    words = [word for word in words_of(query[:MAX_QUERY_CHARS], language) if any(word.runs)]
    return ([word for word in words if not word.stop] or words)[:_MOST_WORDS]


_ALIKE = 2.0  # at 1 one of 51 questions is lost, at 5, never above the word, links gain less
_MOST_WORDS = 48
_FIRST = 100  # sections that mostly hold as many pages as are asked for
_KEPT = 256  # words whose scores are kept: those that are asked for again are those that many sections hold
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
