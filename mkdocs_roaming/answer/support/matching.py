"""Comparison of an answer with the opened sections: scores by words, and the nearest statements.

The score is the method of `annotate_support` in RAGTools.jl. A word scores 1 in a section that contains it, otherwise
the share of its character trigrams (taken with the next character) that the section contains; stop words and single
characters are skipped. A piece of text scores the mean of its words in the section where that is highest, and is
credited to it from a score of a quarter. Adjacent pieces together score Σ(score × length) of the credited ones ÷ the
length of all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log

from mkdocs_roaming.answer.support.text import Token, split_segments, tokenize
from mkdocs_roaming.text.synonyms import find_synonyms
from mkdocs_roaming.text.tokenizer import extract_terms, parse_word

# Scores

MIN_CREDITED_SCORE = 0.25
_PREFERRED_SHARE = 0.8
_WORD = re.compile(r"\s+|=>|\(;|@\w+|\w+|[,.(){}\[\];:+\-*/<>=&|!@#$%^~`\"']")


@dataclass(frozen=True, slots=True)
class ScoredPiece:
    """A piece of text: its length, and its score in each section."""

    length: int
    scores: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Credit:
    """The section that supports adjacent pieces, by its number, their score, and the length without support."""

    section: int | None
    score: float
    uncredited: int


def split_words(text: str) -> list[str]:
    """Split a text into words, punctuation marks and white space."""
    return _WORD.findall(text)


def word_and_trigram_set(words: Sequence[str]) -> frozenset[str]:
    """Return the words of a section and their trigrams."""
    with_neighbors = {
        _add_neighbors(before, word, after): word
        for before, word, after in zip(["", *words], words, [*words[1:], ""], strict=False)
        if len(word) > 1
    }
    return frozenset(with_neighbors.values()).union(*map(_trigrams, with_neighbors))


def score_piece(
    words: Sequence[str], sections: Sequence[frozenset[str]], is_stop_word: Callable[[str], bool]
) -> ScoredPiece:
    """Score a piece of text in each section."""
    sums, count, before = [0.0] * len(sections), 0, ""
    for position, word in enumerate(words):
        if len(word) == 1 or is_stop_word(word):
            continue
        count += 1
        after = words[position + 1] if position + 1 < len(words) else ""
        wanted: set[str] | None = None
        for number, section in enumerate(sections):
            if word in section:
                sums[number] += 1
                continue
            if wanted is None:
                wanted = _trigrams(_add_neighbors(before, word, after)) | {word}
            sums[number] += len(wanted & section) / len(wanted)
        before = word  # as in the original: the last scored word, not the last word
    return ScoredPiece(sum(map(len, words)), tuple(total / count if count else 0.0 for total in sums))


def credit_section(pieces: Iterable[ScoredPiece], *, uncredited: int = 0, prefer: int | None = None) -> Credit:
    """Credit adjacent pieces to the section that supports most of them.

    Args:
        pieces: The pieces.
        uncredited: Length of earlier text without support. The original method adds it up over the whole answer.
        prefer: A section that is credited unless another one is clearly better.
    """
    weights: dict[int, float] = {}
    length = 0
    for piece in pieces:
        best = max(piece.scores, default=0.0)
        if best < MIN_CREDITED_SCORE:
            uncredited += piece.length
            continue
        if prefer is not None and piece.scores[prefer] >= _PREFERRED_SHARE * best:
            section = prefer
        else:
            section = piece.scores.index(best)
        weights[section] = weights.get(section, 0.0) + piece.scores[section] * piece.length
        length += piece.length
    if not weights or not length:
        return Credit(None, 0.0, uncredited)
    section = max(weights, key=lambda number: (weights[number], -number))
    return Credit(section, weights[section] / (length + uncredited), uncredited)


def _trigrams(text: str) -> set[str]:
    return {text[start : start + 3] for start in range(len(text) - 2)}


def _add_neighbors(before: str, word: str, after: str) -> str:
    """Return a word with its neighbors if these are single characters."""
    return (before if len(before) == 1 else "") + word + (after if len(after) == 1 else "")


# Statements

_MAX_STATEMENTS_PER_WORD = 400
_MAX_RANKED = 40
_SIMILARITY_WEIGHT = 0.15
_STEM_CHARS = 6
_ESCAPE = re.compile(r"\\([\\`*_{}\[\]()#+.!|<>~-])")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]{0,500}\)")
_EMPHASIS = re.compile(r"[*`\\]+|(?<!\w)_+|_+(?!\w)")


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence, heading, row or line of code of a section.

    Attributes:
        section: Number of the section.
        content: The keys of its content words and names; the head of a table counts for each of its rows.
    """

    section: int
    content: frozenset[str]


@dataclass(frozen=True, slots=True)
class NearStatement:
    """The statement nearest to a sentence: its section, and the share of the sentence's words that it contains."""

    section: int
    coverage: float


def content_keys(tokens: Iterable[Token]) -> frozenset[str]:
    """Return the keys of content words and names, without numbers, stop words and negations."""
    return frozenset(token.key for token in tokens if _is_content(token))


def word_keys(tokens: Iterable[Token]) -> frozenset[str]:
    """Return the keys of content words of prose."""
    return frozenset(token.key for token in tokens if _is_content(token) and not token.family)


def _is_content(token: Token) -> bool:
    return not token.is_stop_word and token.kind != "break" and token.family != "number"


class StatementIndex:
    """All statements of the opened sections."""

    def __init__(self, texts: Sequence[str], language: str) -> None:
        """Read the statements of all sections."""
        self.language = language
        self._texts = texts
        self._raw = "\n\n".join(texts)
        self._numbers = set[str]()
        self._statements = [statement for number, text in enumerate(texts) for statement in self._read(number, text)]
        self._weights: dict[str, float] = {}
        self._by_key: dict[str, list[int]] = {}
        for number, statement in enumerate(self._statements):
            for key in statement.content:
                self._by_key.setdefault(key, []).append(number)

    def find_nearest(self, sentence: Sequence[Token]) -> NearStatement | None:
        """Return the statement nearest to a sentence, or None if they share no words."""
        content, words = content_keys(sentence), word_keys(sentence)
        shared: dict[int, float] = {}
        for key in sorted(content):
            weight = self._weight(key)
            for number in self._by_key.get(key, ())[:_MAX_STATEMENTS_PER_WORD]:
                shared[number] = shared.get(number, 0.0) + weight
        if not shared:
            return None
        total = sum(map(self._weight, content))

        def nearness(number: int) -> float:
            theirs = sum(map(self._weight, self._statements[number].content))
            similarity = shared[number] / (total + theirs - shared[number])
            return shared[number] / total + _SIMILARITY_WEIGHT * similarity

        ranked = sorted(shared, key=lambda number: (-shared[number], number))[:_MAX_RANKED]
        nearest = self._statements[max(ranked, key=nearness)]
        return NearStatement(nearest.section, self._share(words or content, nearest.content))

    def section_coverage(self, keys: Collection[str], section: int) -> float:
        """Return the share of keys that a section contains, by weight."""
        return self._share(keys, self._section_content[section])

    def has_number(self, token: Token) -> bool:
        """Return whether a number occurs; `18000` does not contain `8000`, `1.2.3` does not contain `1.2`."""
        if token.key in self._numbers:
            return True
        pattern = rf"(?<![\w.]){re.escape(token.key)}(?!\d|[.,]\d|\w*\d)"
        return token.key[-1:].isdecimal() and token.key in self._raw and re.search(pattern, self._raw) is not None

    def has_name(self, name: str) -> bool:
        """Return whether a name occurs in the same spelling, not as a part of a longer one."""
        return any(_contains_name(text, name) for text in (self._raw, self._unescaped))

    def has_phrase(self, phrase: str) -> bool:
        """Return whether a phrase occurs, regardless of white space, case and emphasis."""
        return _to_plain_text(phrase) in self._plain_text

    def has_line(self, line: str) -> bool:
        """Return whether a line of code occurs, regardless of white space."""
        return " ".join(line.split()) in self._single_spaced

    def has_word(self, token: Token) -> bool:
        """Return whether a word occurs in any form, or a synonym of it."""
        word = parse_word(token.text, self.language)
        if token.key in self._terms or not word.terms:
            return True
        if word.terms[-1] in self._terms or all(term in self._terms for term in word.terms):
            return True
        if len(token.key) > _STEM_CHARS and token.key[:_STEM_CHARS] in self._term_beginnings:
            return True
        return any(other.terms[-1] in self._terms for other in find_synonyms(word, self.language) if other.terms)

    def _weight(self, key: str) -> float:
        """Return the weight of a key: rare words weigh most."""
        if key not in self._weights:
            count = len(self._by_key.get(key, ()))
            self._weights[key] = log(1 + (len(self._statements) + 1) / (count + 1))
        return self._weights[key]

    def _share(self, keys: Collection[str], within: Collection[str]) -> float:
        total = sum(map(self._weight, keys))
        return sum(self._weight(key) for key in keys if key in within) / total if total else 1.0

    def _read(self, section: int, text: str) -> Iterator[Statement]:
        head, last_kind = frozenset[str](), None
        for segment in split_segments(text):
            tokens = tokenize(text[segment.start : segment.end], self.language, code=segment.kind == "code")
            self._numbers.update(token.key for token in tokens if token.family == "number")
            content = content_keys(tokens)
            if segment.kind == "row" and last_kind != "row":
                head = content
            last_kind = segment.kind
            yield Statement(section, content | head if segment.kind == "row" else content)

    @cached_property
    def _section_content(self) -> list[set[str]]:
        content: list[set[str]] = [set() for _ in self._texts]
        for statement in self._statements:
            content[statement.section] |= statement.content
        return content

    @cached_property
    def _terms(self) -> frozenset[str]:
        return frozenset(extract_terms(self._raw, self.language)) | frozenset(self._by_key)

    @cached_property
    def _term_beginnings(self) -> frozenset[str]:
        return frozenset(term[:_STEM_CHARS] for term in self._terms if len(term) > _STEM_CHARS)

    @cached_property
    def _unescaped(self) -> str:
        return _ESCAPE.sub(r"\1", self._raw) if "\\" in self._raw else ""

    @cached_property
    def _plain_text(self) -> str:
        return _to_plain_text(self._raw)

    @cached_property
    def _single_spaced(self) -> str:
        return " ".join(self._raw.split())


def _to_plain_text(text: str) -> str:
    return " ".join(_EMPHASIS.sub("", _LINK.sub(r"\1", text)).replace("’", "'").casefold().split())


def _contains_name(text: str, name: str) -> bool:
    start = text.find(name)
    if start < 0:
        return False
    dash = "-" if name.startswith("-") else ""
    before = rf"(?<![\w{dash}])" if re.match(r"[\w-]", name) else ""
    after = rf"(?![\w{dash}])" if re.search(r"\w$", name) else ""
    return re.compile(before + re.escape(name) + after).search(text, start) is not None
