"""How well what was opened answers a question, judged by words alone.

Each word of the question weighs what its rarity in all that was seen says. A piece of text scores the share of that
weight that it holds itself, and less for what its heading, its neighbours and its place on the site hold.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import log

from mkdocs_roaming.answer.quotes import Piece, pieces
from mkdocs_roaming.words import Word, found, query, terms


@dataclass(frozen=True, slots=True)
class Source:
    """The text of one opened section, under the titles that lead to it; the best rank a search gave it, from 0."""

    id: str
    titles: tuple[str, ...]
    text: str
    rank: int = 99


@dataclass(frozen=True, slots=True)
class Weighed:
    """A word of the question: its weight, what else says the same, whether it names a thing."""

    word: Word
    weight: float
    also: tuple[Word, ...] = ()
    named: bool = False


@dataclass(frozen=True, slots=True)
class Scored:
    """A piece of a source and its score."""

    source: Source
    piece: Piece
    score: float
    own: frozenset[int]
    """The question's words in the piece itself, by position."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A question laid beside what was opened: its pieces by score, how sure it is, which words were nowhere."""

    scored: tuple[Scored, ...]
    confidence: float
    weighed: tuple[Weighed, ...]
    unseen: tuple[Weighed, ...]
    parts: Mapping[str, float] = field(default_factory=dict)


def read(
    question: str, earlier: str, documents: Mapping[str, str], sources: Sequence[Source], language: str
) -> Reading:
    """Weigh a question against sources. `documents` is all text that was seen, by section, for rarity alone."""
    bags = {id_: Bag(text, language) for id_, text in documents.items()}
    weighed = weigh(question, earlier, list(bags.values()), language)
    total = sum(one.weight for one in weighed) or 1.0
    scored: list[Scored] = []
    for source in sources:
        found_here = _score(source, weighed, total, _wants(question), language)
        scored += found_here
    scored.sort(key=lambda one: (-one.score, one.source.rank, one.piece.start))
    unseen = tuple(one for one in weighed if not any(bag.has(one.word) for bag in bags.values()))
    confidence, parts = _confidence(scored, weighed, unseen, sources, total, language)
    return Reading(tuple(scored), confidence, tuple(weighed), unseen, parts)


class Bag:
    """The terms of a text, in order and as a set."""

    __slots__ = ("all", "terms")

    def __init__(self, text: str, language: str) -> None:
        self.terms = terms(text, language)
        self.all = frozenset(self.terms)

    def has(self, word: Word) -> bool:
        """Tell whether a word stands in the text."""
        if not word.prefix and not any(run[0] in self.all for run in word.runs):
            return False
        return found(word, self.terms)

    def holds(self, one: Weighed) -> float:
        """Give 1 where the text has the word, less where it has another that says the same."""
        if self.has(one.word):
            return 1.0
        return _ALSO_COUNTS if any(self.has(other) for other in one.also) else 0.0


def weigh(question: str, earlier: str, bags: Sequence[Bag], language: str) -> list[Weighed]:
    """Give the question's words with their weights; a short follow-up borrows from the question before it."""
    words = _content(question, language)
    borrowed = _content(earlier, language) if earlier and len(words) <= _SHORT else []
    known = {one.runs for one in words}
    factors = [(one, 1.0) for one in words] + [(one, _BORROWED) for one in borrowed if one.runs not in known]
    count = len(bags)
    weighed: list[Weighed] = []
    for one, factor in factors:
        frequency = sum(bag.has(one) for bag in bags)
        weight = factor * max(log((count + 1) / (frequency + 0.5)), _LEAST)
        weighed.append(Weighed(one, weight, (), _names(one, question)))
    return weighed


_ALSO_COUNTS = 0.6
_SHORT = 2
_BORROWED = 0.6
_LEAST = 0.2


def _content(question: str, language: str) -> list[Word]:
    words = [one for one in query(question, language) if one.runs]
    telling = [one for one in words if not one.stop and one.text.lower() not in _EMPTY]
    return telling or [one for one in words if not one.stop] or words


_EMPTY = frozenset(
    [
        "want",
        "need",
        "like",
        "please",
        "way",
        "thing",
        "things",
        "get",
        "got",
        "make",
        "use",
        "using",
        "used",
        "possible",
        "know",
        "tell",
        "help",
        "question",
        "work",
        "works",
        "exactly",
    ]
)
"""Words that nearly every question may hold and that no stop list has."""

_NAME = re.compile(r"[A-Z].*[A-Z]|[a-z][A-Z]|[A-Za-z]\d|\d[A-Za-z]|[._/@#-]\w|^[-$@.]|\d[.]\d")


def _names(one: Word, question: str) -> bool:
    """Tell whether a word of the question is a name: an identifier, a version, something with a capital inside it."""
    if _NAME.search(one.text):
        return True
    at = question.find(one.text)
    inside = at > 0 and not question[:at].rstrip().endswith((".", "?", "!", ":", '"', "“"))
    return inside and one.text[:1].isupper()


_WANTS_NUMBER = re.compile(
    r"\b(how (many|much|long|often|fast|old|big|large|far|high|deep|late|soon)|max(imum)?|min(imum)?|longest|shortest|"
    r"oldest|newest|highest|lowest|limits?|default|ports?|size|rate|interval|timeouts?|at what time|when|number|"
    r"version|after how)\b",
    re.IGNORECASE,
)
_WANTS_CODE = re.compile(
    r"\b(how (do|can|to|should) |what do i (type|run|call|write)|command|flags?|options?|env|variable|setting|"
    r"parameter|key|force|disable|enable|where did|called|rename[d]?)\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(?<![\w.])\d")
_CODE = re.compile(r"`[^`]+`")


def _wants(question: str) -> tuple[bool, bool]:
    return bool(_WANTS_NUMBER.search(question)), bool(_WANTS_CODE.search(question))


def _score(
    source: Source, weighed: Sequence[Weighed], total: float, wants: tuple[bool, bool], language: str
) -> list[Scored]:
    text = source.text
    found_pieces = pieces(text)
    if not found_pieces:
        return []
    bags = [Bag(text[piece.start : piece.end], language) for piece in found_pieces]
    title = Bag(source.titles[-1] if source.titles else "", language)
    above = Bag(" \n ".join(source.titles[:-1]), language)
    body = Bag(text, language)
    holds = [[bag.holds(one) for one in weighed] for bag in bags]
    far = [max(_TITLE * title.holds(one), _ABOVE * above.holds(one), _BODY * body.holds(one)) for one in weighed]
    scored: list[Scored] = []
    for at, piece in enumerate(found_pieces):
        near = [
            max(
                (holds[other][index] for other in (at - 1, at + 1) if 0 <= other < len(holds)),
                default=0.0,
            )
            for index in range(len(weighed))
        ]
        head = Bag(text[piece.head[0] : piece.head[1]], language) if piece.head else None
        score = 0.0
        for index, one in enumerate(weighed):
            own = holds[at][index]
            if head is not None:
                own = max(own, _HEAD * head.holds(one))
            score += one.weight * max(own, _NEAR * near[index], far[index])
        score /= total
        body_text = text[piece.start : piece.end]
        if wants[0] and _NUMBER.search(body_text):
            score += _NUMBER_BONUS
        if wants[1] and (piece.kind == "code" or _CODE.search(body_text)):
            score += _CODE_BONUS
        score += _RANK / (1 + source.rank)
        own_words = frozenset(index for index in range(len(weighed)) if holds[at][index])
        scored.append(Scored(source, piece, score, own_words))
    return scored


_TITLE = 0.75
_ABOVE = 0.45
_BODY = 0.4
_NEAR = 0.55
_HEAD = 0.7
_NUMBER_BONUS = 0.08
_CODE_BONUS = 0.05
_RANK = 0.12


def _confidence(
    scored: Sequence[Scored],
    weighed: Sequence[Weighed],
    unseen: Sequence[Weighed],
    sources: Sequence[Source],
    total: float,
    language: str,
) -> tuple[float, dict[str, float]]:
    if not scored:
        return 0.0, {}
    coverage = 0.0
    for source in sources:
        bag = Bag(" \n ".join((*source.titles, source.text)), language)
        coverage = max(coverage, sum(one.weight * bag.holds(one) for one in weighed) / total)
    named = sum(one.weight for one in unseen if one.named) / total
    lost = sum(one.weight for one in unseen) / total
    return scored[0].score, {"top": scored[0].score, "coverage": coverage, "named": named, "lost": lost}
