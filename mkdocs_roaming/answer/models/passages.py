"""What can be quoted of a section: its sentences, list items, table rows, code and notes, each as it stands there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import log
from typing import Literal

from markdown_it import MarkdownIt
from markdown_it.token import Token

from mkdocs_roaming.text.synonyms import correct_spelling, find_synonyms, is_common_word
from mkdocs_roaming.text.tokenizer import Word, extract_terms, occurs_in, parse_query, parse_word

Kind = Literal["sentence", "item", "row", "code", "note"]


@dataclass(frozen=True, slots=True)
class Piece:
    """A quotable piece of a text: `start` and `end` are character offsets, `block` counts the blocks it stands in.

    `head` and `tail` are what has to be shown around it: a table's head, the fences around some lines of code. `lead`
    tells that it leads to the block behind it.
    """

    kind: Kind
    start: int
    end: int
    block: int
    head: tuple[int, int] | None = None
    tail: tuple[int, int] | None = None
    lead: bool = False


def split_pieces(text: str) -> list[Piece]:
    """Give all that can be quoted of a section's Markdown, in its order; headings and bare pointers cannot."""
    lines = [0, *(match.end() for match in _LINE_END.finditer(text)), len(text)]
    found: list[Piece] = []
    tokens = _MARKDOWN.parse(text)
    for at, token in enumerate(tokens):
        if token.level == 0 and token.map and token.nesting >= 0:
            start, end = lines[token.map[0]], lines[min(token.map[1], len(lines) - 1)]
            found += _block(text, tokens, at, start, end, lines)
    return [piece for piece in found if _says_something(text[piece.start : piece.end])]


@dataclass(frozen=True, slots=True)
class Quote:
    """Pieces of one block, ready to be shown: each slice stands so in the section."""

    kind: Kind
    slices: tuple[str, ...]
    gaps: tuple[str, ...]
    """What stands between two slices."""

    def __str__(self) -> str:
        parts = [part.strip("\r\n") for part in self.slices]
        return "".join(gap + part for gap, part in zip(("", *self.gaps), parts, strict=True))


def quote_pieces(text: str, chosen: Iterable[Piece]) -> list[Quote]:
    """Give chosen pieces of a text as blocks of Markdown, in the order of the text."""
    ordered = sorted(set(chosen), key=lambda piece: piece.start)
    return [_quote(text, list(group)) for _, group in groupby(ordered, key=lambda piece: piece.block)]


GAP = "[…]"


"""What stands where something between two quoted pieces was left out."""


_LINE_END = re.compile(r"\r\n|\n|\r")


_MARKDOWN = MarkdownIt("commonmark").enable("table").disable("inline")


_CODE_OR_LINK = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)|\]\([^)\s]*\)|<[^>\s]+>", re.DOTALL)


_SENTENCE_END = re.compile(
    r"(?:(?<![\s.][A-Za-z])(?<!e\.g)(?<!i\.e)(?<!\bvs)(?<!\bcf)(?<!\bca)(?<!\betc)(?<!\bapprox)\.|[!?])[\"'”’)*_]*(?=\s+[^\sa-z])"
    r"|[。！？]"
)


_QUOTE_GAP = re.compile(r"^[ \t]*>[ \t]*\r?\n", re.MULTILINE)


def _block(text: str, tokens: list[Token], at: int, start: int, end: int, lines: list[int]) -> Iterator[Piece]:
    token = tokens[at]
    match token.type:
        case "paragraph_open":
            yield from _sentences(text, start, end, at)
        case "fence" | "code_block":
            yield from _code(text, token, start, end, at)
        case "bullet_list_open" | "ordered_list_open":
            for item in _inside(tokens, at, "list_item_open", 1):
                if item.map:
                    yield Piece("item", lines[item.map[0]], lines[item.map[1]], at)
        case "table_open":
            rows = [row for row in _inside(tokens, at, "tr_open", 2) if row.map]
            head = (start, lines[token.map[0] + 2]) if token.map else None
            for row in rows[1:]:
                if row.map:
                    yield Piece("row", lines[row.map[0]], lines[row.map[1]], at, head)
        case "blockquote_open":
            yield from _note(text, start, end, at)
        case _:
            pass


def _code(text: str, token: Token, start: int, end: int, block: int) -> Iterator[Piece]:
    """Give code whole where it is short, else a few lines at a time between its fences."""
    lines = [match.end() + start for match in _LINE_END.finditer(text[start:end])]
    fenced = token.type == "fence" and len(lines) > 1 and text[lines[-2] : end].lstrip(" ").startswith(token.markup)
    if not fenced or len(lines) <= _SHORT_CODE:
        yield Piece("code", start, end, block)
        return
    head, tail = (start, lines[0]), (lines[-2], end)
    for first in range(0, len(lines) - 2, _WINDOW // 2):
        last = min(first + _WINDOW, len(lines) - 2)
        yield Piece("code", lines[first], lines[last], block, head, tail)
        if last == len(lines) - 2:
            return


def _note(text: str, start: int, end: int, block: int) -> Iterator[Piece]:
    """Give a quote or an admonition whole where it is short, else its paragraphs."""
    if end - start <= _SHORT_NOTE:
        yield Piece("note", start, end, block)
        return
    edge = start
    for stop, after in [*(match.span() for match in _QUOTE_GAP.finditer(text, start, end)), (end, end)]:
        if not _FENCE.search(text, edge, stop):
            yield Piece("note", edge, stop, block)
        edge = after


def _says_something(text: str) -> bool:
    """Tell whether a piece is worth quoting: not blank, no picture, no bare pointer, no admonition's title."""
    bare = _PICTURE.sub("", text).strip()
    if _POINTER.match(bare) and len(_LINK.sub("", bare)) < _POINTING:
        return False
    return bool(re.search(r"\w", _LABEL.sub("", bare)))


_SHORT_CODE = 16


_WINDOW = 8


_SHORT_NOTE = 600


_POINTING = 40


_FENCE = re.compile(r"^[> \t]*(?:`{3,}|~{3,})", re.MULTILINE)


_PICTURE = re.compile(r"!\[[^\]]*\]\([^)]*\)")


_LINK = re.compile(r"\[[^\]]*\]\([^)]*\)")


_POINTER = re.compile(
    r"(?:[-*] |\()?(?:for more|for details|see|read|learn more|more (?:on|about)|continue)\b", re.IGNORECASE
)


_LABEL = re.compile(r"^>[ \t]*(?:\[!\w+\]|\*\*[^*\n]+\*\*)[ \t]*$", re.MULTILINE)


_FOOTNOTE = re.compile(r"[ \t]*\[\^[^\]\s]+\]:?")


def _inside(tokens: list[Token], at: int, kind: str, level: int) -> Iterator[Token]:
    for token in tokens[at + 1 :]:
        if token.level == 0:
            return
        if token.type == kind and token.level == level:
            yield token


def _sentences(text: str, start: int, end: int, block: int) -> Iterator[Piece]:
    """Cut a paragraph into sentences; code and addresses hide what looks like their end."""
    hidden = _CODE_OR_LINK.sub(lambda match: "x" * len(match[0]), text[start:end])
    edge = 0
    for stop in [*(match.end() for match in _SENTENCE_END.finditer(hidden)), len(hidden)]:
        piece = text[start + edge : start + stop]
        body = piece.strip()
        if body:
            begin = start + edge + len(piece) - len(piece.lstrip())
            last = not hidden[stop:].strip()
            yield Piece("sentence", begin, begin + len(body), block, lead=last and body.endswith((":", "：")))
        edge = stop


def _quote(text: str, of_block: list[Piece]) -> Quote:
    """Join what follows one another; put heads above, tails below, and tell where something is left out."""
    first, last = of_block[0], of_block[-1]
    spans: list[tuple[int, int]] = []
    gaps: list[str] = []
    for piece in of_block:
        if spans and piece.start <= spans[-1][1] + _blank(text, spans[-1][1]):
            spans[-1] = (spans[-1][0], max(spans[-1][1], piece.end))
            continue
        if spans:
            gaps.append(f" {GAP} " if first.kind == "sentence" else f"\n{GAP}\n" if first.kind == "code" else "\n")
        spans.append((piece.start, piece.end))
    if first.head:
        spans, gaps = [first.head, *spans], ["\n", *gaps]
    if last.tail:
        spans, gaps = [*spans, last.tail], [*gaps, "\n"]
    slices = [text[start:end] for start, end in spans]
    if first.kind == "code":
        return Quote(first.kind, tuple(slices), tuple(gaps))
    return _without_footnotes(first.kind, slices, gaps)


def _blank(text: str, at: int) -> int:
    """Give how many blank characters follow."""
    return len(text[at:]) - len(text[at:].lstrip())


def _without_footnotes(kind: Kind, slices: list[str], gaps: list[str]) -> Quote:
    """Take the docs' own footnote marks out: they would look like citations."""
    parts: list[str] = []
    between: list[str] = []
    for at, slice_ in enumerate(slices):
        split = _FOOTNOTE.split(slice_)
        between += [*gaps[at - 1 : at], *[""] * (len(split) - 1)] if at else [""] * (len(split) - 1)
        parts += split
    return Quote(kind, tuple(parts), tuple(between))


# MERGED mkdocs_roaming.answer.relevance:
# How well what was opened answers a question, judged by words alone.
#
# Each word of the question weighs what its rarity in all that was seen says. A passage scores the share of that
# weight
# which it holds itself, which its section holds and which the titles above it hold, and a little more where it
# has a
# number or a piece of code and the question asks for one.


@dataclass(frozen=True, slots=True)
class Source:
    """The text of one opened section, under the titles that lead to it; the best rank a search gave it, from 0."""

    id: str
    titles: tuple[str, ...]
    text: str
    rank: int = 99


@dataclass(frozen=True, slots=True)
class WeightedWord:
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


class TextTerms:
    """The terms of a text, in order and as a set."""

    __slots__ = ("all", "terms")

    def __init__(self, text: str, language: str) -> None:
        self.terms = extract_terms(text, language)
        self.all = frozenset(self.terms)

    def has(self, one: Word) -> bool:
        """Tell whether a word stands in the text."""
        if not one.prefix and not any(run[0] in self.all for run in one.runs):
            return False
        return occurs_in(one, self.terms)

    def holds(self, one: WeightedWord) -> float:
        """Give 1 where the text has the word, less where it has another that says the same."""
        if self.has(one.word):
            return 1.0
        return _ALSO if any(self.has(other) for other in one.also) else 0.0


def weigh_words(question: str, earlier: str, documents: Iterable[str], language: str) -> list[WeightedWord]:
    """Give the question's words with their weights; a short follow-up borrows from the question before it.

    `documents` is all text that was seen, by section, to tell which words are rare.
    """
    words = _content(question, language)
    borrowed = _content(earlier, language) if earlier and len(words) <= _SHORT else []
    mine = {one.runs for one in words}
    factors = [(one, 1.0) for one in words] + [(one, _BORROWED) for one in borrowed if one.runs not in mine]
    bags = [TextTerms(text, language) for text in documents]
    known = frozenset().union(*(bag.all for bag in bags))
    weighed: list[WeightedWord] = []
    for one, factor in factors:
        also = find_synonyms(one, language)
        often = sum(bag.has(one) for bag in bags)
        if not often and (meant := correct_spelling(one, sorted(known))):
            also = (*also, parse_word(meant, language))
        name = is_name(one, question)
        if not often:
            often = _UNSEEN if not name else 0
        weight = factor * max(log((len(bags) + 1) / (often + 0.5)), _LEAST) ** _RARITY
        weight *= _NAMED if name else _COMMON if is_common_word(one) else 1.0
        weighed.append(WeightedWord(one, weight, also, bool(often) and any(bag.has(one) for bag in bags), name))
    return weighed


def is_name(one: Word, question: str) -> bool:
    """Tell whether a word of the question is a name: an identifier, a version, something with a capital inside it."""
    if _NAME.search(one.text):
        return True
    at = question.find(one.text)
    inside = at > 0 and not question[:at].rstrip().endswith((".", "?", "!", ":", '"', "“"))
    return inside and one.text[:1].isupper()


def rank_passages(
    question: str, weighed: Sequence[WeightedWord], sources: Iterable[Source], language: str
) -> list[Passage]:
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
    words = [one for one in parse_query(question, language) if one.runs]
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
    weighed: Sequence[WeightedWord],
    total: float,
    wanted: Sequence[tuple[re.Pattern[str], float]],
    language: str,
) -> Iterator[Passage]:
    title = TextTerms(source.titles[-1] if source.titles else "", language)
    above = TextTerms(" \n ".join(source.titles[:-1]), language)
    body = TextTerms(source.text, language)
    titled = [max(title.holds(one), _ABOVE * above.holds(one)) for one in weighed]
    inside = [max(body.holds(one), near) for one, near in zip(weighed, titled, strict=True)]
    section = sum(one.weight * share for one, share in zip(weighed, inside, strict=True)) / total
    heads = sum(one.weight * share for one, share in zip(weighed, titled, strict=True)) / total
    for group in group_pieces(source.text):
        spans = [(piece.start, piece.end) for piece in group]
        if group[0].head:
            spans.insert(0, group[0].head)
        text = "\n".join(source.text[start:end] for start, end in spans)
        bag = TextTerms(text, language)
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


def group_pieces(text: str) -> Iterator[list[Piece]]:
    """Give what is quoted together: short paragraphs, steps and code with its lead-in whole, of long ones a part."""
    blocks = [list(group) for _, group in groupby(split_pieces(text), key=lambda piece: piece.block)]
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
