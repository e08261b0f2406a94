"""Which rows hold a term, and how much that says of each: BM25 over weighted fields, of rows and of groups of rows.

An index in memory that answers a word in one step, for sections and their pages at once. Each row is also kept as a
string in which every character stands for a term, so that a phrase is found by looking for a string in strings.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import lru_cache
from math import log

from mkdocs_roaming.errors import LibraryError
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.manifest.lookup import SectionRef
from mkdocs_roaming.manifest.models import PageEntry
from mkdocs_roaming.manifest.sections import github_slug
from mkdocs_roaming.text.languages import fold
from mkdocs_roaming.text.tokenizer import Word, extract_terms, parse_words

Phrase = tuple[str, ...]


"""Terms that stand one after the other."""


@dataclass(frozen=True, slots=True)
class PostingMatches:
    """The rows, and the groups, that hold something, in order, each with its score."""

    rows: array[int] = field(default_factory=lambda: array("I"))
    scores: array[float] = field(default_factory=lambda: array("d"))
    groups: array[int] = field(default_factory=lambda: array("I"))
    group_scores: array[float] = field(default_factory=lambda: array("d"))


class Postings:
    """Rows are added in order, then `close` ends adding; from then on several threads may read.

    `weights` tells what a term counts in each field of a row, `group_weights` what it counts there for the group.
    """

    def __init__(self, weights: Sequence[float], group_weights: Sequence[float]) -> None:
        self._weights = tuple(weights)
        self._group_weights = tuple(group_weights)
        self._characters = _Characters()
        self._held = _Held()
        self._texts: list[str] = []
        self._group_of: list[int] = []
        self._lengths: list[int] = []
        self._norms: list[float] = []
        self._group_norms: list[float] = []
        self._spellings: dict[str, list[str]] = {}

    def add(self, group: int, fields: Sequence[Sequence[str]]) -> None:
        """Add a row: the terms of each of its fields, in order."""
        row, character, held = len(self._texts), self._characters.__getitem__, self._held
        texts = ["".join(map(character, terms)) if terms else "" for terms in fields]
        longest, *others = sorted(range(len(texts)), key=lambda at: -len(texts[at]))
        weight, shared = self._weights[longest], self._group_weights[longest]
        said = {each: (row, weight * count, shared * count) for each, count in Counter(texts[longest]).items()}
        for at in others:
            weight, shared = self._weights[at], self._group_weights[at]
            for each in texts[at]:
                _, own, together = said.get(each, _NONE)
                said[each] = (row, own + weight, together + shared)
        for each, entry in said.items():
            held[each].extend(entry)
        self._texts.append(_FIELD.join(texts))
        self._group_of.append(group)
        self._lengths.append(sum(map(len, texts)))

    def close(self) -> None:
        """End adding: what a row's length takes from its score is known from now on."""
        groups = [0] * (max(self._group_of, default=-1) + 1)
        counted = [at for at, weight in enumerate(self._group_weights) if weight]
        for group, text in zip(self._group_of, self._texts, strict=True):
            fields = text.split(_FIELD)
            groups[group] += sum(len(fields[at]) for at in counted)
        self._norms = _norms(self._lengths)
        self._group_norms = _norms(groups)
        for term in sorted(self._characters):
            self._spellings.setdefault(term[0], []).append(term)

    def find(self, phrases: Iterable[Phrase], *, prefix: bool = False) -> PostingMatches:
        """Give the rows that hold any of the phrases: what the best of them scores. With `prefix` terms begin so."""
        found = [each for phrase in phrases if (each := self._phrase(phrase, prefix)).rows]
        return merge_matches([(each, 1.0) for each in found])

    def spellings(self, first: str) -> Sequence[str]:
        """Give the terms that begin with a character, in alphabetical order."""
        return self._spellings.get(first, ())

    def __contains__(self, term: str) -> bool:
        return term in self._characters

    def _phrase(self, phrase: Phrase, prefix: bool) -> PostingMatches:
        if prefix:
            held = self._any([term for term in self.spellings(phrase[0][0]) if term.startswith(phrase[0])])
        elif not all(term in self._characters for term in phrase):
            return PostingMatches()
        elif len(phrase) == 1:
            held = self._held[self._characters[phrase[0]]]
        else:
            held = self._run([self._characters[term] for term in phrase])
        return self._scored(list(map(int, held[0::3])), held[1::3], held[2::3])

    def _scored(self, rows: list[int], frequencies: Sequence[float], shared: Sequence[float]) -> PostingMatches:
        """Give what rows score that hold something so often, and their groups."""
        together: dict[int, float] = {}
        group_of = self._group_of
        for row, frequency in zip(rows, shared, strict=True):
            if frequency:
                group = group_of[row]
                together[group] = together.get(group, 0.0) + frequency
        return PostingMatches(
            array("I", rows),
            _bm25(rows, frequencies, self._norms),
            array("I", together),
            _bm25(together, together.values(), self._group_norms),
        )

    def _any(self, terms: Sequence[str]) -> array[float]:
        """Give what rows hold of several terms, taken for one."""
        sums: dict[float, tuple[float, float]] = {}
        for term in terms:
            held = self._held[self._characters[term]]
            for row, own, shared in zip(held[0::3], held[1::3], held[2::3], strict=True):
                before = sums.get(row, (0.0, 0.0))
                sums[row] = (before[0] + own, before[1] + shared)
        return array("f", [each for row in sorted(sums) for each in (row, *sums[row])])

    def _run(self, characters: Sequence[str]) -> array[float]:
        """Give what rows hold of a phrase."""
        each = sorted((self._held[character] for character in set(characters)), key=len)
        rows = set(each[0][0::3]).intersection(*(held[0::3] for held in each[1:]))
        run, held = "".join(characters), array("f")
        for row in sorted(rows):
            text = self._texts[int(row)]
            if run in text:
                counts = [field.count(run) for field in text.split(_FIELD)]
                held.extend((row, _dot(counts, self._weights), _dot(counts, self._group_weights)))
        return held


def merge_matches(found: Sequence[tuple[PostingMatches, float]]) -> PostingMatches:
    """Give what the best of several scores in each row and group, each weighed."""
    if not found:
        return PostingMatches()
    if len(found) == 1 and found[0][1] == 1.0:
        return found[0][0]
    rows = _best([(each.rows, each.scores, weight) for each, weight in found])
    groups = _best([(each.groups, each.group_scores, weight) for each, weight in found])
    return PostingMatches(array("I", rows), array("d", rows.values()), array("I", groups), array("d", groups.values()))


def _best(found: Sequence[tuple[array[int], array[float], float]]) -> dict[int, float]:
    numbers, scores, weight = found[0]
    highest = dict(zip(numbers, scores if weight == 1.0 else [weight * score for score in scores], strict=True))
    for numbers, scores, weight in found[1:]:
        for number, score in zip(numbers, scores, strict=True):
            if weight * score > highest.get(number, -1.0):
                highest[number] = weight * score
    return highest


class _Held(dict[str, "array[float]"]):
    """Of each term, by its character, the rows that hold it: row, frequency there, frequency there for its group."""

    def __missing__(self, character: str) -> array[float]:
        self[character] = held = array("f")
        return held


class _Characters(dict[str, str]):
    """A character for each term, given when the term is first met."""

    def __missing__(self, term: str) -> str:
        self[term] = character = chr(min(len(self) + 1, _LAST))  # terms beyond a million are taken for one
        return character


def _bm25(rows: Iterable[int], frequencies: Iterable[float], norms: Sequence[float]) -> array[float]:
    """Score rows by BM25 as SQLite's FTS5 does: a word that most rows hold says next to nothing, but not nothing."""
    rows = list(rows)
    rarity = log((len(norms) - len(rows) + 0.5) / (len(rows) + 0.5))
    top = (_SATURATION + 1) * (rarity if rarity > 0 else _LEAST)
    return array("d", [top * often / (often + norms[row]) for row, often in zip(rows, frequencies, strict=True)])


def _norms(lengths: Sequence[int]) -> list[float]:
    average = sum(lengths) / len(lengths) if lengths else 0.0
    return [_SATURATION * (1 - _BY_LENGTH + _BY_LENGTH * length / (average or 1.0)) for length in lengths]


def _dot(counts: Iterable[int], weights: Iterable[float]) -> float:
    return sum(count * weight for count, weight in zip(counts, weights, strict=True))


_NONE = (0, 0.0, 0.0)


_FIELD = "\0"  # stands for no term, so no phrase reaches from one field into the next


_LAST = 0x10FFFF


_SATURATION = 1.2


_BY_LENGTH = 0.75


_LEAST = 1e-6


# MERGED mkdocs_roaming.roam.history:
# Pages that tell what changed once: who asks how something works seldom means them, though they name it all.


def is_changelog(page: PageEntry) -> bool:
    """Tell whether a page is a change log or release notes, by its title or the end of its path."""
    return any(_CHANGELOG_NAME.fullmatch(fold(name)) for name in (page.title.strip(), _last(page.path)))


def asks_about_changes(words: Sequence[Word]) -> bool:
    """Tell whether a question is about versions and changes."""
    return any(word.whole in _ASKED or _VERSION.match(word.text) for word in words)


def _last(path: str) -> str:
    return path.strip("/").rpartition("/")[2].removesuffix(".html")


_CHANGELOG_NAME = re.compile(
    "release[ _-]?notes?|releases?|change[ _-]?logs?|changes|(?:version )?history|what[’']?s[ -]new|news"
    "|versionshinweise|anderungen|anderungsprotokoll|neuigkeiten"
    "|notes? de versions?|journal des modifications|nouveautes|notas de (?:la )?version|registro de cambios|novedades"
    "|更新日志|更新日誌|变更日志|发行说明|変更履歴|リリースノート"
)


_VERSION = re.compile(r"v?\d+\.\d")


_ASKED = frozenset(
    """
    added change changed changelog changes deprecated history introduced migrate migration new news release released
    releases removed renamed since upgrade upgraded upgrading version versions when
    anderung anderungen geandert neu seit veroffentlicht wann entfernt
    ajoute change changements depuis nouveau nouveaute nouveautes supprime quand
    anadido cambio cambios desde nuevo novedades eliminado cuando
    """.split()  # noqa: SIM905 -- a list of them would be forty lines
)


# MERGED mkdocs_roaming.roam.index:
# What search looks words up in: what is known of each section, field by field, and of its page.


FIELDS = ("title", "above", "nav", "keywords", "below", "links", "body")


"""What is known of a section, in the order of the weights that `Index` takes."""


class Index:
    """Rows are numbered as sections, and pages, stand on the site. May be read from several threads.

    `weights` tells what a word counts in each of the `FIELDS`. Links in `excluded_links`, by their words in lower case and
    the id of the section that they lead to, say nothing of it.
    """

    def __init__(
        self, library: Library, weights: Sequence[float], excluded_links: Container[tuple[str, str]] = ()
    ) -> None:
        self.sections = list(library.sections)
        rows: dict[str, int] = {}
        self.page_of = [rows.setdefault(place.page.path, len(rows)) for place in self.sections]
        pages = {place.page.path: place.page for place in self.sections}
        self.pages = len(rows)
        history = [is_changelog(pages[path]) for path in rows]
        self.history = frozenset(row for row, page in enumerate(self.page_of) if history[page])
        """The sections of pages that tell of what changed once."""
        self._language = library.manifest.site.language
        titles = [self._telling(place.section.title) for place in self.sections]
        self.telling = [len(title) for title in titles]
        """How many terms each title has, stop words left out where others remain."""
        self.titled: dict[str, list[int]] = {}
        """The sections whose titles hold a term."""
        for row, title in enumerate(titles):
            for term in title:
                self.titled.setdefault(term, []).append(row)
        self.postings = self._filled(library, weights, excluded_links)

    def guesses(self, term: str) -> list[str]:
        """Give the site's words that may be meant by one that it never uses: misspelt, or with a prefix before it."""
        if len(term) < _SHORTEST_GUESSED or not term.isalpha():
            return []
        alike = [word for word in self.postings.spellings(term[0]) if abs(len(word) - len(term)) <= 2]
        inner = [term[at:] for at in range(2, 4) if len(term) - at >= _SHORTEST_STEM]
        inside = [part for part in inner if part in self.postings]
        return list(dict.fromkeys(get_close_matches(term, alike, 3, 0.8) + inside))

    def _filled(
        self, library: Library, weights: Sequence[float], excluded_links: Container[tuple[str, str]]
    ) -> Postings:
        texts = list(_texts(library, self.sections))
        leading = _leading(library, self.sections, texts)
        postings = Postings(weights, [_PAGE_WEIGHTS.get(name, 0.0) for name in FIELDS])
        language = self._language
        said = lru_cache(_BATCH)(lambda part: extract_terms(part, language))  # what stands above is the same for many
        for page, place, text in zip(self.page_of, self.sections, texts, strict=True):
            heard = [words for words in leading.get(place.id, ()) if (words.lower(), place.id) not in excluded_links]
            around = _around(library, place, heard)
            postings.add(page, [*map(said, (place.section.title, *around)), extract_terms(text, language)])
        postings.close()
        return postings

    def _telling(self, text: str) -> frozenset[str]:
        words = parse_words(text, self._language)
        telling = [word for word in words if not word.stop] or words
        return frozenset(term for word in telling for term in word.parts)


def _around(library: Library, place: SectionRef, leading: Sequence[str]) -> tuple[str, str, str, str, str]:
    """Give what stands around a section: above it on its page, in the nav, its keywords, below it, links to it."""
    crumbs = library.sections.breadcrumb(place)[:-1]
    on_page = 0
    above = library.sections.parent(place)
    while above is not None:
        on_page += 1
        above = library.sections.parent(above)
    here = crumbs[len(crumbs) - on_page :]
    return (
        " / ".join(here),
        " / ".join(crumbs[: len(crumbs) - on_page]),
        " / ".join(place.section.keywords),
        " / ".join(child.section.title for child in library.sections.children(place)),
        " / ".join(leading),
    )


def _texts(library: Library, places: Sequence[SectionRef]) -> Iterator[str]:
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


def _leading(library: Library, places: Sequence[SectionRef], texts: Sequence[str]) -> dict[str, list[str]]:
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


def _target(library: Library, page: PageEntry, anchor: str) -> SectionRef | None:
    """Give the section that a link leads to; where there is no HTML, anchors are the slugs that GitHub makes."""
    if found := library.sections.find_anchor(page, anchor):
        return found
    slug = (at for at, section in enumerate(page.sections) if github_slug(section.title) == anchor)
    at = None if library.manifest.anchors else next(slug, None)
    return None if at is None else SectionRef(page, at)


_LINK = re.compile(r"(?<!!)\[([^\]\[\n]{1,200})\]\(<?(https?://[^)>\s]+)")


_PAGE_WEIGHTS = {"title": 3.0, "body": 1.0}


_BATCH = 500


_SHORTEST_GUESSED = 4


_SHORTEST_STEM = 5
