"""Passages that can be quoted from opened sections, and how well they answer a question.

A section is split into pieces: sentences, list items, table rows, code and notes, each as it is in the section. A
passage is one or more pieces that are quoted together. Its score uses words alone: each word of the question has a
weight by its rarity, and the score is the share of that weight found in the passage, in its section and in the titles
above it, plus a bonus for a number or a piece of code if the question asks for one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import log
from typing import Literal

from markdown_it import MarkdownIt
from markdown_it.token import Token

from mkdocs_roaming.answer.support.evidence import find_sentences
from mkdocs_roaming.text.synonyms import correct_spelling, find_synonyms, is_common_word
from mkdocs_roaming.text.tokenizer import Word, extract_terms, occurs_in, parse_query, parse_word

Kind = Literal["sentence", "item", "row", "code", "note"]

# Pieces

GAP = "[…]"
"""Marks text that was left out between two quoted pieces."""

_MAX_CODE_LINES = 16
_CODE_WINDOW_LINES = 8
_MAX_NOTE_CHARS = 600
_MAX_POINTER_CHARS = 40
_MAX_PARAGRAPH_CHARS = 420
_MAX_LIST_CHARS = 500

_MARKDOWN = MarkdownIt("commonmark").enable("table").disable("inline")
_LINE_END = re.compile(r"\r\n|\n|\r")
_QUOTE_GAP = re.compile(r"^[ \t]*>[ \t]*\r?\n", re.MULTILINE)
_FENCE = re.compile(r"^[> \t]*(?:`{3,}|~{3,})", re.MULTILINE)
_IMAGE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
_LINK = re.compile(r"\[[^\]]*\]\([^)]*\)")
_POINTER = re.compile(
    r"(?:[-*] |\()?(?:for more|for details|see|read|learn more|more (?:on|about)|continue)\b", re.IGNORECASE
)
_NOTE_TITLE = re.compile(r"^>[ \t]*(?:\[!\w+\]|\*\*[^*\n]+\*\*)[ \t]*$", re.MULTILINE)
_FOOTNOTE = re.compile(r"[ \t]*\[\^[^\]\s]+\]:?")


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a section's Markdown that can be quoted.

    Attributes:
        kind: What it is.
        start: Offset of the first character.
        end: Offset behind the last character.
        block: Number of the Markdown block that contains it.
        head: Span to show above it: the head of a table, or the opening fence of code.
        tail: Span to show below it: the closing fence.
        lead: Whether it introduces the next block.
    """

    kind: Kind
    start: int
    end: int
    block: int
    head: tuple[int, int] | None = None
    tail: tuple[int, int] | None = None
    lead: bool = False


@dataclass(frozen=True, slots=True)
class Quote:
    """Pieces of one block as Markdown: `slices` of the section, with `gaps` between them."""

    kind: Kind
    slices: tuple[str, ...]
    gaps: tuple[str, ...]

    def __str__(self) -> str:
        """Return the quote as Markdown."""
        parts = [part.strip("\r\n") for part in self.slices]
        return "".join(gap + part for gap, part in zip(("", *self.gaps), parts, strict=True))


def split_pieces(text: str) -> list[Piece]:
    """Return all pieces of a section in order, without headings, images and pointers such as "See Settings"."""
    lines = [0, *(match.end() for match in _LINE_END.finditer(text)), len(text)]
    found: list[Piece] = []
    tokens = _MARKDOWN.parse(text)
    for block, token in enumerate(tokens):
        if token.level == 0 and token.map and token.nesting >= 0:
            start, end = lines[token.map[0]], lines[min(token.map[1], len(lines) - 1)]
            found += _split_block(text, tokens, block, start, end, lines)
    return [piece for piece in found if _is_quotable(text[piece.start : piece.end])]


def quote_pieces(text: str, pieces: Iterable[Piece]) -> list[Quote]:
    """Return pieces as one quote per block, in the order of the text."""
    ordered = sorted(set(pieces), key=lambda piece: piece.start)
    return [_quote_block(text, list(group)) for _, group in groupby(ordered, key=lambda piece: piece.block)]


def group_pieces(text: str) -> Iterator[list[Piece]]:
    """Yield the pieces that are quoted together: short blocks as a whole, and parts of long ones."""
    blocks = [list(group) for _, group in groupby(split_pieces(text), key=lambda piece: piece.block)]
    for position, block in enumerate(blocks):
        before = blocks[position - 1] if position else []
        lead = [before[-1]] if before and before[-1].kind == "sentence" else []
        size = block[-1].end - block[0].start
        match block[0].kind:
            case "sentence":
                if block[-1].lead and position + 1 < len(blocks):
                    continue  # quoted with the next block
                if size <= _MAX_PARAGRAPH_CHARS:
                    yield block
                else:
                    yield from ([piece] for piece in block)
                    yield from (block[first : first + 2] for first in range(len(block) - 1))
            case "code":
                yield [*lead, *block]
            case "item" if size <= _MAX_LIST_CHARS:
                yield [*(lead if lead and lead[0].lead else []), *block]
            case _:
                yield from ([piece] for piece in block)


def _split_block(text: str, tokens: list[Token], block: int, start: int, end: int, lines: list[int]) -> Iterator[Piece]:
    token = tokens[block]
    match token.type:
        case "paragraph_open":
            yield from _split_sentences(text, start, end, block)
        case "fence" | "code_block":
            yield from _split_code(text, token, start, end, block)
        case "bullet_list_open" | "ordered_list_open":
            for item in _children(tokens, block, "list_item_open", 1):
                if item.map:
                    yield Piece("item", lines[item.map[0]], lines[item.map[1]], block)
        case "table_open":
            rows = [row for row in _children(tokens, block, "tr_open", 2) if row.map]
            head = (start, lines[token.map[0] + 2]) if token.map else None
            for row in rows[1:]:
                if row.map:
                    yield Piece("row", lines[row.map[0]], lines[row.map[1]], block, head)
        case "blockquote_open":
            yield from _split_note(text, start, end, block)
        case _:
            pass


def _children(tokens: list[Token], block: int, kind: str, level: int) -> Iterator[Token]:
    for token in tokens[block + 1 :]:
        if token.level == 0:
            return
        if token.type == kind and token.level == level:
            yield token


def _split_sentences(text: str, start: int, end: int, block: int) -> Iterator[Piece]:
    spans = find_sentences(text[start:end])
    for span in spans:
        piece = Piece("sentence", start + span[0], start + span[1], block)
        yield replace(piece, lead=span == spans[-1] and text[piece.end - 1] in ":：")


def _split_code(text: str, token: Token, start: int, end: int, block: int) -> Iterator[Piece]:
    """Yield short code as a whole, otherwise overlapping windows of lines between its fences."""
    lines = [match.end() + start for match in _LINE_END.finditer(text[start:end])]
    fenced = token.type == "fence" and len(lines) > 1 and text[lines[-2] : end].lstrip(" ").startswith(token.markup)
    if not fenced or len(lines) <= _MAX_CODE_LINES:
        yield Piece("code", start, end, block)
        return
    head, tail = (start, lines[0]), (lines[-2], end)
    for first in range(0, len(lines) - 2, _CODE_WINDOW_LINES // 2):
        last = min(first + _CODE_WINDOW_LINES, len(lines) - 2)
        yield Piece("code", lines[first], lines[last], block, head, tail)
        if last == len(lines) - 2:
            return


def _split_note(text: str, start: int, end: int, block: int) -> Iterator[Piece]:
    """Yield a short quote or admonition as a whole, otherwise its paragraphs."""
    if end - start <= _MAX_NOTE_CHARS:
        yield Piece("note", start, end, block)
        return
    edge = start
    for stop, after in [*(match.span() for match in _QUOTE_GAP.finditer(text, start, end)), (end, end)]:
        if not _FENCE.search(text, edge, stop):
            yield Piece("note", edge, stop, block)
        edge = after


def _is_quotable(text: str) -> bool:
    plain = _IMAGE.sub("", text).strip()
    if _POINTER.match(plain) and len(_LINK.sub("", plain)) < _MAX_POINTER_CHARS:
        return False
    return bool(re.search(r"\w", _NOTE_TITLE.sub("", plain)))


def _quote_block(text: str, pieces: list[Piece]) -> Quote:
    """Join adjacent pieces, mark gaps, and add the head above and the tail below."""
    first, last = pieces[0], pieces[-1]
    spans: list[tuple[int, int]] = []
    gaps: list[str] = []
    for piece in pieces:
        if spans and piece.start <= spans[-1][1] + _count_blank(text, spans[-1][1]):
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


def _count_blank(text: str, start: int) -> int:
    return len(text[start:]) - len(text[start:].lstrip())


def _without_footnotes(kind: Kind, slices: list[str], gaps: list[str]) -> Quote:
    """Remove the documentation's own footnote marks: they would look like citations."""
    parts: list[str] = []
    between: list[str] = []
    for position, slice_ in enumerate(slices):
        split = _FOOTNOTE.split(slice_)
        between += [*(gaps[position - 1 : position] if position else ()), *[""] * (len(split) - 1)]
        parts += split
    return Quote(kind, tuple(parts), tuple(between))


# Scores

_SYNONYM_SHARE = 0.7
_SHORT_QUESTION_WORDS = 2
_EARLIER_QUESTION_WEIGHT = 0.6
_MIN_RARITY = 0.2
_RARITY_EXPONENT = 1.25
_NAME_WEIGHT = 2.0
_COMMON_WORD_WEIGHT = 0.6
_UNKNOWN_WORD_COUNT = 3  # an unknown word says less than a rare word of the site: readers use their own words

_OWN_WEIGHT = 0.4
_SECTION_WEIGHT = 0.35
_TITLE_WEIGHT = 0.2
_PARENT_TITLE_SHARE = 0.5
_RANK_WEIGHT = 0.1
_LENGTH_PENALTY = 0.03

_FILLER_WORDS = frozenset(
    [
        *("want", "need", "like", "please", "way", "thing", "things", "get", "got", "make", "use", "using", "used"),
        *("possible", "know", "tell", "help", "question", "work", "works", "exactly", "just", "really", "think"),
    ]
)
"""Words that occur in any question and are in no list of stop words."""

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
_BONUSES = ((_ASKS_NUMBER, _NUMBER, 0.06), (_ASKS_CODE, _CODE, 0.04), (_ASKS_TIME, _TIME, 0.08))
"""Patterns of the question and of the passage, and the bonus if both match."""


@dataclass(frozen=True, slots=True)
class Source:
    """The text of an opened section, the titles above it, and its best rank in a search (0 is first)."""

    id: str
    titles: tuple[str, ...]
    text: str
    rank: int = 99


@dataclass(frozen=True, slots=True)
class WeightedWord:
    """A word of the question.

    Attributes:
        word: The word.
        weight: Its weight.
        synonyms: Other words with the same meaning.
        known: Whether the word occurs in any text that was read.
    """

    word: Word
    weight: float
    synonyms: tuple[Word, ...] = ()
    known: bool = True


@dataclass(frozen=True, slots=True)
class Passage:
    """Pieces of a source that are quoted together, and their score."""

    source: Source
    pieces: tuple[Piece, ...]
    score: float


class TextTerms:
    """The terms of a text."""

    def __init__(self, text: str, language: str) -> None:
        """Extract the terms."""
        self._terms = extract_terms(text, language)
        self.distinct = frozenset(self._terms)

    def contains(self, word: Word) -> bool:
        """Return whether the text contains a word."""
        if not word.prefix and not any(run[0] in self.distinct for run in word.runs):
            return False
        return occurs_in(word, self._terms)

    def match(self, word: WeightedWord) -> float:
        """Return 1 if the text contains the word, less if it contains a synonym, otherwise 0."""
        if self.contains(word.word):
            return 1.0
        return _SYNONYM_SHARE if any(self.contains(synonym) for synonym in word.synonyms) else 0.0


def weigh_words(question: str, earlier: str, documents: Iterable[str], language: str) -> list[WeightedWord]:
    """Return the words of a question with their weights.

    Args:
        question: The question.
        earlier: The question before it; a short follow-up also uses its words.
        documents: The text that was read so far, one string per section, for the rarity of words.
        language: Language of the site.
    """
    words = _content_words(question, language)
    factors = [(word, 1.0) for word in words]
    if earlier and len(words) <= _SHORT_QUESTION_WORDS:
        own = {word.runs for word in words}
        added = (word for word in _content_words(earlier, language) if word.runs not in own)
        factors += [(word, _EARLIER_QUESTION_WEIGHT) for word in added]
    texts = [TextTerms(text, language) for text in documents]
    vocabulary = frozenset().union(*(text.distinct for text in texts))
    weighted: list[WeightedWord] = []
    for word, factor in factors:
        synonyms = find_synonyms(word, language)
        count = sum(text.contains(word) for text in texts)
        known = count > 0
        if not known and (correction := correct_spelling(word, sorted(vocabulary))):
            synonyms = (*synonyms, parse_word(correction, language))
        name = _is_name(word, question)
        if not known and not name:
            count = _UNKNOWN_WORD_COUNT
        weight = factor * max(log((len(texts) + 1) / (count + 0.5)), _MIN_RARITY) ** _RARITY_EXPONENT
        weight *= _NAME_WEIGHT if name else _COMMON_WORD_WEIGHT if is_common_word(word) else 1.0
        weighted.append(WeightedWord(word, weight, synonyms, known))
    return weighted


def rank_passages(
    question: str, words: Sequence[WeightedWord], sources: Iterable[Source], language: str
) -> list[Passage]:
    """Return all passages of the sources, best first."""
    total = sum(word.weight for word in words) or 1.0
    bonuses = [(literal, bonus) for asks, literal, bonus in _BONUSES if asks.search(question)]
    scored = [passage for source in sources for passage in _score_passages(source, words, total, bonuses, language)]
    return sorted(
        scored, key=lambda passage: (-passage.score, passage.source.rank, passage.source.id, passage.pieces[0].start)
    )


def _is_name(word: Word, question: str) -> bool:
    """Return whether a word of the question is a name: an identifier, a version, or capitalized inside a sentence."""
    if _NAME.search(word.text):
        return True
    position = question.find(word.text)
    inside = position > 0 and not question[:position].rstrip().endswith((".", "?", "!", ":", '"', "“"))
    return inside and word.text[:1].isupper()


def _content_words(question: str, language: str) -> list[Word]:
    words = [word for word in parse_query(question, language) if word.runs and not word.stop]
    return [word for word in words if word.text.lower() not in _FILLER_WORDS] or words


def _score_passages(
    source: Source,
    words: Sequence[WeightedWord],
    total: float,
    bonuses: Sequence[tuple[re.Pattern[str], float]],
    language: str,
) -> Iterator[Passage]:
    title = TextTerms(source.titles[-1] if source.titles else "", language)
    parents = TextTerms(" \n ".join(source.titles[:-1]), language)
    body = TextTerms(source.text, language)
    in_titles = [max(title.match(word), _PARENT_TITLE_SHARE * parents.match(word)) for word in words]
    in_section = [max(body.match(word), share) for word, share in zip(words, in_titles, strict=True)]
    title_share = sum(word.weight * share for word, share in zip(words, in_titles, strict=True)) / total
    section_share = sum(word.weight * share for word, share in zip(words, in_section, strict=True)) / total
    for group in group_pieces(source.text):
        spans = [(piece.start, piece.end) for piece in group]
        if group[0].head:
            spans.insert(0, group[0].head)
        text = "\n".join(source.text[start:end] for start, end in spans)
        terms = TextTerms(text, language)
        own_share = sum(word.weight * terms.match(word) for word in words) / total
        score = _OWN_WEIGHT * own_share + _SECTION_WEIGHT * section_share + _TITLE_WEIGHT * title_share
        score += _RANK_WEIGHT / (1 + source.rank)
        score += sum(bonus for literal, bonus in bonuses if literal.search(text))
        score -= _LENGTH_PENALTY * max(0, len(text) - 300) / 300
        yield Passage(source, tuple(group), score)
