"""What the collapsed outline alone finds: a navigator that reads it line by line and goes where words are shared.

It never searches. It reads the outline, then up to three times the closed branches whose lines share most with the
question, then opens the eight best lines in one call. So a section that it does not reach has a title, an opening and
keywords that say nothing of what is asked, or stands behind too many siblings.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import log

from mkdocs_roaming.roam.navigator import Expanded, Navigator, Outlined, render
from mkdocs_roaming.roam.search import asked
from mkdocs_roaming.roam.tools import MOST_IDS
from mkdocs_roaming.words import Word, estimate_tokens, found, terms

LOOKS = 3
"""How often closed branches are looked into, three of them at a time."""

BRANCHES = 3


@dataclass(frozen=True, slots=True)
class Walked:
    """The sections opened, each with the number of its tool call, and the tokens of all that was read."""

    opened: Mapping[str, int]
    tokens: int


def walk_outline(question: str, navigator: Navigator) -> Walked:
    """Walk from the outline to the sections that share most words with a question."""
    language = navigator.library.manifest.site.language
    words = asked(question, language)
    seen = _Seen(words, language)
    text = navigator.outline()
    tokens = estimate_tokens(text)
    seen.read(text)
    calls = 0
    for _ in range(LOOKS):
        branches = seen.closed()[:BRANCHES]
        if not branches:
            break
        for line in branches:
            calls += 1
            branch = navigator.read_outline(line.id)
            line.read = True
            tokens += estimate_tokens(render(branch))
            if isinstance(branch, Outlined):
                seen.read(branch.text, line.above)
    best = [line.id for line in seen.best()[:MOST_IDS]]
    if not best:
        return Walked({}, tokens)
    before = set(navigator.opened)
    result = navigator.expand_sections(best)
    if isinstance(result, Expanded):
        tokens += estimate_tokens(render(result))
    return Walked({id_: calls + 1 for id_ in navigator.opened if id_ not in before}, tokens)


@dataclass(slots=True)
class _Line:
    """A line of the outline: the question's words in its title and in the rest, those of the lines above it."""

    id: str
    title: frozenset[int]
    rest: frozenset[int]
    above: frozenset[int]
    order: int
    closed: bool
    read: bool = False


@dataclass(slots=True)
class _Seen:
    """The lines read so far."""

    words: list[Word]
    language: str
    lines: dict[str, _Line] = field(default_factory=dict)

    def read(self, text: str, above: frozenset[int] = frozenset()) -> None:
        """Take in the lines of an outline that stand below some words."""
        parents: list[tuple[int, frozenset[int]]] = [(-1, above)]
        for written in text.split("\n")[1:]:
            match = _LINE.match(written)
            if match is None:
                continue
            depth, id_, about = len(match[1]), match[2], match[3]
            while parents[-1][0] >= depth:
                parents.pop()
            over = parents[-1][1]
            title, _, rest = _MORE.sub("", about).partition(" — ")
            line = _Line(
                id_, self._shared(title), self._shared(rest), over, len(self.lines), bool(_CLOSED.search(about))
            )
            line.closed = line.closed or id_.endswith("+")
            if id_ not in self.lines:
                self.lines[id_] = line
            elif not line.closed:
                self.lines[id_].closed = False
            parents.append((depth, over | line.title | line.rest))

    def closed(self) -> list[_Line]:
        """Give the closed branches that share words with the question, best first."""
        return [line for line in self._ranked(self.lines.values()) if line.closed and not line.read]

    def best(self) -> list[_Line]:
        """Give the lines that can be opened and share words with the question, best first."""
        return [line for line in self._ranked(self.lines.values()) if not line.id.endswith("+")]

    def _ranked(self, lines: Iterable[_Line]) -> list[_Line]:
        """Rank lines by the words that they share, rare ones above all, their own title's twice, those above half."""
        count = len(self.lines)
        holding = [0] * len(self.words)
        for line in self.lines.values():
            for at in line.title | line.rest:
                holding[at] += 1
        worth = [log(1 + count / times) if times else 0.0 for times in holding]

        def score(line: _Line) -> float:
            own = line.title | line.rest
            share = [2 * worth[at] for at in sorted(line.title)] + [worth[at] for at in sorted(line.rest - line.title)]
            return round(sum(share) + sum(0.5 * worth[at] for at in sorted(line.above - own)), 6)

        scores = {line.id: score(line) for line in lines}
        return sorted((line for line in lines if scores[line.id] > 0), key=lambda line: (-scores[line.id], line.order))

    def _shared(self, text: str) -> frozenset[int]:
        there = terms(text, self.language)
        return frozenset(at for at, word in enumerate(self.words) if found(word, there))


_LINE = re.compile(r"( *)\[([0-9a-f]{8}\+?)\] (.*)")
_MORE = re.compile(r"^\d+ more: | \+\d+ (?:more )?inside$")
_CLOSED = re.compile(r" \+\d+ (?:more )?inside$")
