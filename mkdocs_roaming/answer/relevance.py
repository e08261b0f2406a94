"""How well what was opened answers a question, judged by words alone.

Each word of the question weighs what its rarity in all that was seen says. A passage scores the share of that weight
which it holds itself, which its section holds and which the titles above it hold, and a little more where it has a
number or a piece of code and the question asks for one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import log

from mkdocs_roaming.answer.alike import alike, is_common, misspelt
from mkdocs_roaming.answer.quotes import Piece, pieces
from mkdocs_roaming.words import Word, found, query, terms, word


@dataclass(frozen=True, slots=True)
class Source:
    """The text of one opened section, under the titles that lead to it; the best rank a search gave it, from 0."""

    id: str
    titles: tuple[str, ...]
    text: str
    rank: int = 99


@dataclass(frozen=True, slots=True)
class Weighed:
    """A word of the question: its weight, what else says the same, and whether it was seen anywhere."""

    word: Word
    weight: float
    also: tuple[Word, ...] = ()
    seen: bool = True
    name: bool = False


@dataclass(frozen=True, slots=True)
class Passage:
    """Pieces of a source that are quoted together, how well they answer, and the share that they hold themselves."""

    source: Source
    pieces: tuple[Piece, ...]
    score: float
    own: float
    section: float


class Bag:
    """The terms of a text, in order and as a set."""

    __slots__ = ("all", "terms")

    def __init__(self, text: str, language: str) -> None:
        self.terms = terms(text, language)
        self.all = frozenset(self.terms)

    def has(self, one: Word) -> bool:
        """Tell whether a word stands in the text."""
        if not one.prefix and not any(run[0] in self.all for run in one.runs):
            return False
        return found(one, self.terms)

    def holds(self, one: Weighed) -> float:
        """Give 1 where the text has the word, less where it has another that says the same."""
        if self.has(one.word):
            return 1.0
        return _ALSO if any(self.has(other) for other in one.also) else 0.0


def weigh(question: str, earlier: str, documents: Iterable[str], language: str) -> list[Weighed]:
    """Give the question's words with their weights; a short follow-up borrows from the question before it.

    `documents` is all text that was seen, by section, to tell which words are rare.
    """
    words = _content(question, language)
    borrowed = _content(earlier, language) if earlier and len(words) <= _SHORT else []
    mine = {one.runs for one in words}
    factors = [(one, 1.0) for one in words] + [(one, _BORROWED) for one in borrowed if one.runs not in mine]
    bags = [Bag(text, language) for text in documents]
    known = frozenset().union(*(bag.all for bag in bags))
    weighed: list[Weighed] = []
    for one, factor in factors:
        also = alike(one, language)
        often = sum(bag.has(one) for bag in bags)
        if not often and (meant := misspelt(one, sorted(known))):
            also = (*also, word(meant, language))
        name = is_name(one, question)
        if not often:
            often = _UNSEEN if not name else 0
        weight = factor * max(log((len(bags) + 1) / (often + 0.5)), _LEAST) ** _RARITY
        weight *= _NAMED if name else _COMMON if is_common(one) else 1.0
        weighed.append(Weighed(one, weight, also, bool(often) and any(bag.has(one) for bag in bags), name))
    return weighed


def is_name(one: Word, question: str) -> bool:
    """Tell whether a word of the question is a name: an identifier, a version, something with a capital inside it."""
    if _NAME.search(one.text):
        return True
    at = question.find(one.text)
    inside = at > 0 and not question[:at].rstrip().endswith((".", "?", "!", ":", '"', "“"))
    return inside and one.text[:1].isupper()


def passages(question: str, weighed: Sequence[Weighed], sources: Iterable[Source], language: str) -> list[Passage]:
    """Give all passages of the sources, the best first."""
    total = sum(one.weight for one in weighed) or 1.0
    wanted = [(literal, bonus) for asks, literal, bonus in _WANTED if asks.search(question)]
    scored = [passage for source in sources for passage in _scored(source, weighed, total, wanted, language)]
    return sorted(scored, key=lambda one: (-one.score, one.source.rank, one.source.id, one.pieces[0].start))


_ALSO = 0.7
_SHORT = 2
_BORROWED = 0.6
_LEAST = 0.2
_RARITY = 1.25
_NAMED = 2.0
_COMMON = 0.6
_UNSEEN = 3  # a word nobody uses says less than a rare one of the site: people put things in their own words


def _content(question: str, language: str) -> list[Word]:
    words = [one for one in query(question, language) if one.runs]
    telling = [one for one in words if not one.stop and one.text.lower() not in _EMPTY]
    return telling or [one for one in words if not one.stop]


_EMPTY = frozenset(
    [
        *("want", "need", "like", "please", "way", "thing", "things", "get", "got", "make", "use", "using", "used"),
        *("possible", "know", "tell", "help", "question", "work", "works", "exactly", "just", "really", "think"),
    ]
)
"""Words that nearly every question may hold and that no stop list has."""

_NAME = re.compile(r"[A-Z].*[A-Z]|[a-z][A-Z]|[A-Za-z]\d|\d[A-Za-z]|[._/@#]\w|^[-$@.]|\d[.]\d")
_ASKS_NUMBER = re.compile(
    r"\b(how (many|much|long|often|fast|old|big|large|far|high|deep|late|soon)|max(imum)?|min(imum)?|longest|shortest|"
    r"oldest|newest|highest|lowest|limits?|default|ports?|size|rate|interval|timeouts?|at what time|when|number|"
    r"version|after how)\b",
    re.IGNORECASE,
)
_ASKS_CODE = re.compile(
    r"\b(how (do|can|to|should) |what do i (type|run|call|write)|command|flags?|options?|env|variable|setting|"
    r"parameter|key|force|disable|enable|where did|called|rename[d]?)\b",
    re.IGNORECASE,
)
_ASKS_TIME = re.compile(
    r"\b(how (long|often|fast|soon|late|old|many (\w+ )?(seconds|minutes|hours|days|weeks|months|years))|timeouts?|"
    r"interval|at what time|lifetime|expires?)\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(?<![\w.])\d")
_CODE = re.compile(r"`[^`]+`|^ {0,3}(?:`{3}|~{3})", re.MULTILINE)
_TIME = re.compile(
    r"(?<![\w.])\d[\d.,]*[ -]?(?:ms|s|m|h|d|min|(?:milli)?seconds?|minutes?|hours?|days?|weeks?|months?|years?)\b"
    r"|\b\d\d?:\d\d\b|\b(?:daily|hourly|weekly|monthly)\b"
)
_WANTED = ((_ASKS_NUMBER, _NUMBER, 0.06), (_ASKS_CODE, _CODE, 0.04), (_ASKS_TIME, _TIME, 0.08))
"""What a question asks for, what such an answer holds, and what it is worth to hold it."""


def _scored(
    source: Source,
    weighed: Sequence[Weighed],
    total: float,
    wanted: Sequence[tuple[re.Pattern[str], float]],
    language: str,
) -> Iterator[Passage]:
    title = Bag(source.titles[-1] if source.titles else "", language)
    above = Bag(" \n ".join(source.titles[:-1]), language)
    body = Bag(source.text, language)
    titled = [max(title.holds(one), _ABOVE * above.holds(one)) for one in weighed]
    inside = [max(body.holds(one), near) for one, near in zip(weighed, titled, strict=True)]
    section = sum(one.weight * share for one, share in zip(weighed, inside, strict=True)) / total
    heads = sum(one.weight * share for one, share in zip(weighed, titled, strict=True)) / total
    for group in together(source.text):
        spans = [(piece.start, piece.end) for piece in group]
        if group[0].head:
            spans.insert(0, group[0].head)
        text = "\n".join(source.text[start:end] for start, end in spans)
        bag = Bag(text, language)
        own = sum(one.weight * bag.holds(one) for one in weighed) / total
        score = _OWN * own + _SECTION * section + _TITLED * heads + _RANK / (1 + source.rank)
        score += sum(bonus for literal, bonus in wanted if literal.search(text))
        score -= _LONG * max(0, len(text) - 300) / 300
        yield Passage(source, tuple(group), score, own, section)


_OWN = 0.4
_SECTION = 0.35
_TITLED = 0.2
_ABOVE = 0.5
_RANK = 0.1
_LONG = 0.03


def together(text: str) -> Iterator[list[Piece]]:
    """Give what is quoted together: short paragraphs, steps and code with its lead-in whole, of long ones a part."""
    blocks = [list(group) for _, group in groupby(pieces(text), key=lambda piece: piece.block)]
    for at, block in enumerate(blocks):
        before = blocks[at - 1] if at else []
        lead = [before[-1]] if before and before[-1].kind == "sentence" else []
        size = block[-1].end - block[0].start
        match block[0].kind:
            case "sentence":
                if block[-1].lead and at + 1 < len(blocks):
                    continue  # goes with what it leads to
                if size <= _SHORT_PARAGRAPH:
                    yield block
                else:
                    yield from ([piece] for piece in block)
                    yield from (block[one : one + 2] for one in range(len(block) - 1))
            case "code":
                yield [*lead, *block]
            case "item" if size <= _SHORT_LIST:
                yield [*(lead if lead and lead[0].lead else []), *block]
            case _:
                yield from ([piece] for piece in block)


_SHORT_PARAGRAPH = 420
_SHORT_LIST = 500
