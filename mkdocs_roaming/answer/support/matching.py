"""How much of a text stands in sections, word by word: the method of RAGTools.jl's `annotate_support`.

A word scores 1 in a section that has it, else the share of its character trigrams, taken with the character behind it,
that the section has; words that say little and single characters are skipped. A piece of text scores the mean of its
words in the section where that is highest, and is credited to it if it reaches a quarter. Pieces that stand together
score Σ(score × length) of the credited ones ÷ the length of all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log

from mkdocs_roaming.answer.support.text import Token, is_negation, load_polarity_words, split_segments, tokenize
from mkdocs_roaming.text.synonyms import find_synonyms
from mkdocs_roaming.text.tokenizer import extract_terms, parse_word

MIN_CREDITED_SCORE = 0.25


"""The score from which on a piece is credited to its best section."""


@dataclass(frozen=True, slots=True)
class ScoredPiece:
    """A piece of text and what it scores in each section."""

    length: int
    scores: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Credit:
    """What pieces together are worth: their section, by its place, the score, and the length that nobody supports."""

    section: int | None
    score: float
    uncredited: int


def split_words(text: str) -> list[str]:
    """Give all of a text in its order: words, signs, white space."""
    return _TOKEN.findall(text)


def word_and_trigram_set(text: Sequence[str]) -> frozenset[str]:
    """Give the words of a text, as tokens, and their trigrams: what other text is held against."""
    bounded = {
        _bounded(before, token, after): token
        for before, token, after in zip(["", *text], text, [*text[1:], ""], strict=False)
        if len(token) > 1
    }
    return frozenset(bounded.values()).union(*map(_trigrams, bounded))


def score_piece(text: Sequence[str], sections: Sequence[frozenset[str]], is_stop: Callable[[str], bool]) -> ScoredPiece:
    """Score a piece of text, as tokens, in every section."""
    sums, counted, before = [0.0] * len(sections), 0, ""
    for at, token in enumerate(text):
        if len(token) == 1 or is_stop(token):
            continue
        counted += 1
        after = text[at + 1] if at + 1 < len(text) else ""
        wanted: set[str] | None = None
        for number, held in enumerate(sections):
            if token in held:
                sums[number] += 1
                continue
            if wanted is None:
                wanted = _trigrams(_bounded(before, token, after)) | {token}
            sums[number] += len(wanted & held) / len(wanted)
        before = token  # the last word that counted, not the last token: so the method has it
    return ScoredPiece(sum(map(len, text)), tuple(each / counted if counted else 0.0 for each in sums))


def credit_section(pieces: Iterable[ScoredPiece], *, uncredited: int = 0, prefer: int | None = None) -> Credit:
    """Credit pieces that stand together to the section that supports most of them.

    `uncredited` is a length that counts as well, without a section: the method never forgets what it could not credit,
    from the first piece of an answer to its last. `prefer` is a section that is taken where none is clearly better.
    """
    worth: dict[int, float] = {}
    length = 0
    for each in pieces:
        best = max(each.scores, default=0.0)
        if best < MIN_CREDITED_SCORE:
            uncredited += each.length
            continue
        kept = prefer is not None and each.scores[prefer] >= _CLEARLY * best
        at = prefer if kept and prefer is not None else each.scores.index(best)
        worth[at] = worth.get(at, 0.0) + each.scores[at] * each.length
        length += each.length
    if not worth or not length:
        return Credit(None, 0.0, uncredited)
    section = max(worth, key=lambda at: (worth[at], -at))
    return Credit(section, worth[section] / (length + uncredited), uncredited)


_CLEARLY = 0.8


_TOKEN = re.compile(r"\s+|=>|\(;|@\w+|\w+|[,.(){}\[\];:+\-*/<>=&|!@#$%^~`\"']")


def _trigrams(text: str) -> set[str]:
    return {text[at : at + 3] for at in range(len(text) - 2)}


def _bounded(before: str, token: str, after: str) -> str:
    """Give a word with its neighbours, where these are single characters."""
    return (before if len(before) == 1 else "") + token + (after if len(after) == 1 else "")


# MERGED mkdocs_roaming.answer.support.statements:
# What the opened sections say, statement by statement: which is nearest to a sentence, and what stands
# anywhere.


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence, heading, row or line of code of a section; `section` is the section's place."""

    section: int
    text: str
    tokens: tuple[Token, ...]
    telling: frozenset[str]
    """The keys of the words and names that tell what it is about; a table's head tells for each of its rows."""
    is_row: bool = False


@dataclass(frozen=True, slots=True)
class NearStatement:
    """A statement near to a sentence: the share of the sentence's words that it has, and how like the two are."""

    statement: Statement
    covered: float
    like: float


class StatementIndex:
    """All that the opened sections say."""

    def __init__(self, texts: Sequence[str], language: str) -> None:
        self.language = language
        self._texts = texts
        self._raw = "\n\n".join(texts)
        self._known = load_polarity_words(language)
        self.all = [statement for at, text in enumerate(texts) for statement in self._read(at, text)]
        self._weights: dict[str, float] = {}
        self._asked: dict[tuple[str, str], bool] = {}
        self._holding: dict[str, list[int]] = {}
        self._literals: dict[tuple[str, str], list[tuple[int, int]]] = {}
        for number, statement in enumerate(self.all):
            for key in statement.telling:
                self._holding.setdefault(key, []).append(number)
            for at, token in enumerate(statement.tokens):
                if token.family:
                    self._literals.setdefault((token.family, token.key), []).append((number, at))

    def telling(self, of: Sequence[Token]) -> frozenset[str]:
        """Give the keys that tell what a sentence is about: no numbers, no stop words, no negations."""
        return frozenset(self._held(token) for token in of if self._tells(token))

    def words(self, of: Sequence[Token]) -> frozenset[str]:
        """Give those keys that are words of prose."""
        return frozenset(self._held(token) for token in of if self._tells(token) and not token.family)

    def _key(self, token: Token) -> str:
        return self._known.axes.get(token.key, token.key)

    def _held(self, token: Token) -> str:
        """Give a word's key, of one that is held only the other way round (`unsupported`) that one's."""
        key = self._key(token)
        if key not in self._holding:
            for prefix in self._known.prefixes:
                if key.startswith(prefix) and len(key) > len(prefix) + 3:
                    bare = key[len(prefix) :]
                    bare = self._known.axes.get(bare, bare)
                    if bare in self._holding:
                        return bare
        return key

    def _tells(self, token: Token) -> bool:
        if token.stop or token.kind == "break" or token.family == "number":
            return False
        return not is_negation(token, self._known)

    def weight(self, key: str) -> float:
        """Give what a key weighs: the rarer, the more."""
        if key not in self._weights:
            self._weights[key] = log(1 + (len(self.all) + 1) / (len(self._holding.get(key, ())) + 1))
        return self._weights[key]

    def nearest(self, ours: Sequence[Token], *, most: int = 6) -> list[NearStatement]:
        """Give the statements nearest to a sentence, the nearest first."""
        telling, words = self.telling(ours), self.words(ours)
        shared: dict[int, float] = {}
        for key in sorted(telling):
            weight = self.weight(key)
            for number in self._holding.get(key, ())[:_MOST_HELD]:
                shared[number] = shared.get(number, 0.0) + weight
        top = sorted(shared, key=lambda number: (-shared[number], number))[:_MOST_RANKED]
        total = sum(map(self.weight, telling))
        ranked = list[tuple[float, NearStatement]]()
        for number in top:
            theirs = self.all[number].telling
            like = shared[number] / (total + sum(map(self.weight, theirs)) - shared[number])
            covered = self._share(words or telling, theirs)
            ranked.append((shared[number] / total + _LIKE * like, NearStatement(self.all[number], covered, like)))
        return [near for _, near in sorted(ranked, key=lambda pair: -pair[0])[:most]]

    def covered(self, words: Collection[str], section: int) -> float:
        """Give the share of a sentence's words that a section covers as a whole."""
        return self._share(words, self._sections[section])

    def _share(self, keys: Collection[str], among: Collection[str]) -> float:
        total = sum(map(self.weight, keys))
        return sum(self.weight(key) for key in keys if key in among) / total if total else 1.0

    def literals(self, family: str, key: str) -> Iterator[tuple[Statement, int]]:
        """Give where a literal stands: statements, and its place among their tokens."""
        for number, at in self._literals.get((family, key), ())[:_MOST_PLACES]:
            yield self.all[number], at

    def has_number(self, token: Token) -> bool:
        """Tell whether a number stands anywhere as a number: `8000` does not in `18000`, `1.2` does not in `1.2.3`."""
        return ("number", token.key) in self._literals or self._once(self._number, token.key)

    def has_name(self, name: str) -> bool:
        """Tell whether a name stands anywhere as it is written, not as a part of a longer one."""
        return self._once(self._name, name)

    def has_phrase(self, phrase: str) -> bool:
        """Tell whether a phrase stands anywhere; space between words, case and what makes words bold do not count."""
        return _flat(phrase) in self._flat

    def has_line(self, line: str) -> bool:
        """Tell whether a line of code stands anywhere, space aside."""
        return self._once(self._spaced.__contains__, " ".join(line.split()))

    def knows(self, token: Token) -> bool:
        """Tell whether a word stands anywhere, in whatever form, or another that says the same or the opposite."""
        one = parse_word(token.text, self.language)
        if token.key in self._terms or self._held(token) in self._holding or not one.terms:
            return True
        if one.terms[-1] in self._terms or all(term in self._terms for term in one.terms):
            return True
        if len(token.key) > _STEM and token.key[:_STEM] in self._beginnings:
            return True
        return any(other.terms[-1] in self._terms for other in find_synonyms(one, self.language) if other.terms)

    def _once(self, ask: Callable[[str], bool], what: str) -> bool:
        """Ask for the same thing once only: an answer repeats its names."""
        key = (ask.__name__, what)
        if key not in self._asked:
            self._asked[key] = ask(what)
        return self._asked[key]

    def _number(self, key: str) -> bool:
        whole = rf"(?<![\w.]){re.escape(key)}(?!\d|[.,]\d|\w*\d)"
        return key[-1:].isdecimal() and key in self._raw and re.search(whole, self._raw) is not None

    def _name(self, name: str) -> bool:
        return any(_stands(name, text) for text in (self._raw, self._plain))

    def _read(self, section: int, text: str) -> Iterator[Statement]:
        head, last = frozenset[str](), None
        for stretch in split_segments(text):
            piece = text[stretch.start : stretch.end]
            read = tuple(tokenize(piece, self.language, code=stretch.kind == "code"))
            telling = frozenset(self._key(token) for token in read if self._tells(token))
            is_row = stretch.kind == "row"
            if is_row and last != "row":
                head = telling
            last = stretch.kind
            yield Statement(section, piece, read, telling | head if is_row else telling, is_row)

    @cached_property
    def _sections(self) -> list[set[str]]:
        held: list[set[str]] = [set() for _ in self._texts]
        for statement in self.all:
            held[statement.section] |= statement.telling
        return held

    @cached_property
    def _terms(self) -> frozenset[str]:
        return frozenset(extract_terms(self._raw, self.language)) | frozenset(self._holding)

    @cached_property
    def _beginnings(self) -> frozenset[str]:
        return frozenset(term[:_STEM] for term in self._terms if len(term) > _STEM)

    @cached_property
    def _plain(self) -> str:
        return _ESCAPED.sub(r"\1", self._raw) if "\\" in self._raw else ""

    @cached_property
    def _flat(self) -> str:
        return _flat(self._raw)

    @cached_property
    def _spaced(self) -> str:
        return " ".join(self._raw.split())


_MOST_HELD = 400  # statements that are looked at for one word: who says the same thing that often says it alike


_MOST_PLACES = 60


_MOST_RANKED = 40


_LIKE = 0.15


_STEM = 6


_ESCAPED = re.compile(r"\\([\\`*_{}\[\]()#+.!|<>~-])")


_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]{0,500}\)")


_SIGNS = re.compile(r"[*`\\]+|(?<!\w)_+|_+(?!\w)")


def _flat(text: str) -> str:
    return " ".join(_SIGNS.sub("", _LINK.sub(r"\1", text)).replace("’", "'").casefold().split())


def _stands(name: str, text: str) -> bool:
    at = text.find(name)
    if at < 0:
        return False
    sign = "-" if name.startswith("-") else ""
    before = rf"(?<![\w{sign}])" if re.match(r"[\w-]", name) else ""
    after = rf"(?![\w{sign}])" if re.search(r"\w$", name) else ""
    return re.compile(before + re.escape(name) + after).search(text, at) is not None
