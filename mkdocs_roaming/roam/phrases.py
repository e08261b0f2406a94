"""Whether a question asks with the words of a phrase: next to each other, in order, in whatever case and ending."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from mkdocs_roaming.languages import code, fold, stem
from mkdocs_roaming.words import groups, is_spaceless, split, word

LONGEST = 2_000
"""The characters of a question that are read."""

Runs = tuple[tuple[str, ...], ...]
"""The ways to read one word, each as terms one behind the other."""


class Asking:
    """A question, read once and held against many phrases.

    A word is read as its stem, as it stands, and as the parts of an identifier; a script without spaces by its
    characters. So a question is a net of paths: `ServerTimeouts` leads over `server` and `timeout`, or past both.
    """

    def __init__(self, question: str, language: str) -> None:
        self._language = language
        self._words: list[tuple[str, bool]] = []
        self._edges: list[list[tuple[str, int]]] = [[]]
        self._first = [0]  # for each knot the word that goes on there
        self._last = [0]  # and how many words have begun before it
        self._begins: dict[str, list[int]] = {}
        at = 0
        for text, runs, joined in _units(question[:LONGEST], language):
            at = self._add(at, text, runs, joined)

    def find(self, phrase: str) -> str | None:
        """Give the question's words that a phrase is found by; None where it is not asked for.

        A phrase of words that stand in most questions is never found.
        """
        wanted = _phrase(phrase, self._language)
        return self._find(wanted) if wanted else None

    def part(self, phrase: str) -> tuple[str, ...]:
        """Give the words of the question by which a part of a phrase is found, stop words aside."""
        telling = (one.text for one in groups(phrase, self._language) if any(one.runs) and not one.stop)
        return tuple(dict.fromkeys(filter(None, map(self.find, telling))))

    def _add(self, at: int, text: str, runs: Runs, joined: bool) -> int:
        mine = len(self._words)
        self._words.append((text, joined))
        end = self._knot(mine + 1, mine + 1)
        for run in runs:
            here = at
            for term in run[:-1]:
                inside = self._knot(mine, mine + 1)
                self._edge(here, term, inside)
                here = inside
            self._edge(here, run[-1], end)
        return end

    def _knot(self, first: int, last: int) -> int:
        self._edges.append([])
        self._first.append(first)
        self._last.append(last)
        return len(self._edges) - 1

    def _edge(self, start: int, term: str, end: int) -> None:
        self._edges[start].append((term, end))
        self._begins.setdefault(term, []).append(start)

    def _find(self, wanted: tuple[Runs, ...]) -> str | None:
        starts = {start for run in wanted[0] for start in self._begins.get(run[0], ())}
        for start in sorted(starts, key=lambda knot: (self._first[knot], knot)):
            here = {start}
            for runs in wanted:
                here = {end for knot in here for run in runs for end in self._walk(knot, run)}
            if here:
                return self._said(self._first[start], min(self._last[end] for end in here))
        return None

    def _walk(self, knot: int, run: tuple[str, ...]) -> set[int]:
        here = {knot}
        for term in run:
            here = {end for at in here for edge, end in self._edges[at] if edge == term}
        return here

    def _said(self, first: int, last: int) -> str:
        """Give words of the question as they were written."""
        said = ""
        for text, joined in self._words[first:last]:
            said += text if joined or not said else f" {text}"
        return said


def _units(text: str, language: str) -> Iterator[tuple[str, Runs, bool]]:
    """Give the words of a text with the ways to read them; True where one is joined to the one before."""
    end = 0
    for run in split(text):
        at = text.find(run, end)
        joined = at == end > 0
        end = at + len(run) if at >= 0 else end
        if not is_spaceless(run):
            if runs := _runs(run, language):
                yield run, runs, joined
            continue
        for character in run:
            if folded := fold(character):
                yield character, ((folded,),), joined
            joined = True


@lru_cache(1 << 12)
def _runs(run: str, language: str) -> Runs:
    read = word(run, language)
    ways = [*read.runs, read.terms]
    if len(read.parts) == 1:  # a stem that needs its accents is had without them too
        ways.append((stem(fold(read.whole), code(language)),))
    return tuple(dict.fromkeys(way for way in ways if way and all(way)))


@lru_cache(1 << 12)
def _phrase(phrase: str, language: str) -> tuple[Runs, ...]:
    if all(one.stop for one in groups(phrase, language) if any(one.runs)):
        return ()
    return tuple(runs for _, runs, _ in _units(phrase, language))
