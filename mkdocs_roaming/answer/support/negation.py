"""Whether a sentence contradicts a statement: one of them has a negation more, or a word's opposite."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from mkdocs_roaming.answer.support.text import PolarityWords, Token, is_negation, load_polarity_words
from mkdocs_roaming.text.languages import fold

_CONTEXT_WORDS = 6
_MAX_CONTEXT_TOKENS = 24
_STOP_WORD_WEIGHT = 0.5

_MAX_REACH = 4
_MAX_POSITIONS = 12  # negations, or occurrences of one word, that are compared
_CLAUSE_ENDS = frozenset(",;:.!?()—–，、；：。！？（）")
_NEARLY_EQUAL = 0.75
_SAME_CONTEXT = 0.9
_MAX_PREFIX_CHARS = 3


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A contradiction: positions of the first and last token in the sentence, and of both in the statement."""

    start: int
    end: int
    statement: tuple[int, int]


def find_contradictions(sentence: Sequence[Token], statement: Sequence[Token], language: str) -> list[Contradiction]:
    """Return the contradictions between a sentence and a statement."""
    words = load_polarity_words(language)
    ours, theirs = _Polarity(sentence, words), _Polarity(statement, words)
    found = {*_find_negations(ours, theirs, words), *_find_opposites(ours, theirs, words)}
    contradictions = list[Contradiction]()
    for candidate in sorted(found, key=lambda each: (each.start, each.end, each.statement)):
        first, last = candidate.statement
        if not any(first <= other.statement[1] and last >= other.statement[0] for other in contradictions):
            contradictions.append(candidate)
    return contradictions


def agrees_with(
    sentence: Sequence[Token], contradiction: Contradiction, statement: Sequence[Token], language: str
) -> bool:
    """Return whether another statement says what the sentence says at the place of a contradiction."""
    words = load_polarity_words(language)
    ours, theirs = _Polarity(sentence, words), _Polarity(statement, words)
    if contradiction.start in ours.reaches:
        return contradiction.start not in _unmatched_negations(ours, theirs)[0]
    return sentence[contradiction.start].key in theirs.affirmed


def context_similarity(ours: Sequence[Token], position: int, theirs: Sequence[Token], their_position: int) -> float:
    """Return how similar the words around two positions are; near words count more.

    Tokens of the same family as the word itself are skipped, so the order of a list has no effect.
    """
    family = ours[position].family
    return sum(
        (_STOP_WORD_WEIGHT if is_stop_word else 1.0) / max(distance, their_side[key][0])
        for side, their_side in zip(
            _context(ours, position, family), _context(theirs, their_position, family), strict=True
        )
        for key, (distance, is_stop_word) in side.items()
        if key in their_side
    )


def _context(tokens: Sequence[Token], position: int, family: str) -> tuple[dict[str, tuple[int, bool]], ...]:
    """Return the words before and after a position, each with its distance."""
    before, after = range(position - 1, -1, -1), range(position + 1, len(tokens))
    return _context_side(tokens, before, family), _context_side(tokens, after, family)


def _context_side(tokens: Sequence[Token], positions: range, family: str) -> dict[str, tuple[int, bool]]:
    side: dict[str, tuple[int, bool]] = {}
    distance = 0
    for position in positions[:_MAX_CONTEXT_TOKENS]:
        token = tokens[position]
        if token.kind == "break" or (family and token.family == family) or token.is_conjunction:
            continue
        distance += 1
        side.setdefault("#" if token.family == "number" else token.key, (distance, token.is_stop_word))
        if distance == _CONTEXT_WORDS:
            break
    return side


class _Polarity:
    """A sentence with its negations.

    Attributes:
        tokens: The tokens.
        positions: The positions of each key.
        reaches: The positions that each negation negates.
        affirmed: How often each key occurs without a negation.
        negated: The keys that are negated.
    """

    def __init__(self, tokens: Sequence[Token], words: PolarityWords) -> None:
        self.tokens = tokens
        self.positions: dict[str, list[int]] = {}
        for position, token in enumerate(tokens):
            positions = self.positions.setdefault(token.key, [])
            if len(positions) < _MAX_POSITIONS:
                positions.append(position)
        negations = [position for position in range(len(tokens)) if _negates(tokens, position, words)]
        self.reaches = {position: _find_reach(tokens, position, words) for position in negations[:_MAX_POSITIONS]}
        negated = {position for reach in self.reaches.values() for position in reach}
        self.affirmed = Counter(token.key for position, token in enumerate(tokens) if position not in negated)
        self.negated = frozenset(tokens[position].key for position in negated)

    def keys(self, positions: Sequence[int]) -> frozenset[str]:
        return frozenset(self.tokens[position].key for position in positions)


def _negates(tokens: Sequence[Token], position: int, words: PolarityWords) -> bool:
    token = tokens[position]
    if not is_negation(token, words):
        return False
    word = fold(token.text).replace("’", "'")
    earlier = tokens[max(0, position - 12) : position]
    if word in words.continuing and any(is_negation(other, words) for other in earlier):
        return False
    is_incomplete = word in words.incomplete or word.startswith(words.prefixes)
    if is_incomplete and any(is_negation(other, words) for other in tokens[position + 1 : position + 6]):
        return False
    after = [fold(other.text) for other in tokens[position : position + 3]]
    before = [fold(other.text) for other in tokens[max(0, position - 2) : position + 1]]
    return not any(after[: len(phrase)] == phrase or before[-len(phrase) :] == phrase for phrase in words.exceptions)


def _find_reach(tokens: Sequence[Token], position: int, words: PolarityWords) -> tuple[int, ...]:
    """Return what a negation negates: the next content words of its clause, or the last ones before it."""
    reach = list[int]()
    for following in range(position + 1, min(len(tokens), position + 16)):
        token = tokens[following]
        if token.text in _CLAUSE_ENDS or fold(token.text) in words.clause_breaks or len(reach) == _MAX_REACH:
            break
        if _negates(tokens, following, words):
            break
        if token.kind != "break" and not token.is_stop_word:
            reach.append(following)
    for preceding in range(position - 1, max(-1, position - 8), -1) if not reach else ():
        token = tokens[preceding]
        if token.kind != "break" and not token.is_stop_word and len(reach) < 2:
            reach.append(preceding)
    return tuple(reach)


def _unmatched_negations(ours: _Polarity, theirs: _Polarity) -> tuple[list[int], list[int]]:
    """Return the negations of each side without a counterpart; the most similar ones are matched first."""
    similarity = {
        (position, their_position): len(ours.keys(reach) & theirs.keys(their_reach))
        + context_similarity(ours.tokens, position, theirs.tokens, their_position)
        for position, reach in ours.reaches.items()
        for their_position, their_reach in theirs.reaches.items()
        if ours.keys(reach) & theirs.keys(their_reach)
    }
    unmatched, their_unmatched = dict.fromkeys(ours.reaches), dict.fromkeys(theirs.reaches)
    for position, their_position in sorted(similarity, key=lambda pair: (-similarity[pair], pair)):
        if position in unmatched and their_position in their_unmatched:
            del unmatched[position], their_unmatched[their_position]
    return list(unmatched), list(their_unmatched)


def _find_negations(ours: _Polarity, theirs: _Polarity, words: PolarityWords) -> Iterator[Contradiction]:
    """Find negations on one side of words that the other side affirms."""
    unmatched, their_unmatched = _unmatched_negations(ours, theirs)
    keys, their_keys = ours.positions.keys(), theirs.positions.keys()
    nearly_equal = len(keys & their_keys) >= _NEARLY_EQUAL * len(keys | their_keys)
    for position in unmatched:
        negated = _find_affirmed(ours, position, theirs, words, nearly_equal=nearly_equal)
        if negated is not None:
            affirmed = theirs.positions[ours.tokens[negated].key][0]
            yield Contradiction(position, position, (affirmed, affirmed))
    for position in their_unmatched:
        negated = _find_affirmed(theirs, position, ours, words, nearly_equal=nearly_equal)
        if negated is not None:
            affirmed = max(
                ours.positions[theirs.tokens[negated].key],
                key=lambda each: context_similarity(ours.tokens, each, theirs.tokens, negated),
            )
            yield Contradiction(affirmed, affirmed, (min(position, negated), max(position, negated)))


def _find_affirmed(
    side: _Polarity, position: int, other: _Polarity, words: PolarityWords, *, nearly_equal: bool
) -> int | None:
    """Return the first word that a negation negates and that the other side affirms more often."""
    for negated in side.reaches[position][:2]:
        key = side.tokens[negated].key
        if other.affirmed[key] > side.affirmed[key]:
            return negated
        if nearly_equal and len(other.positions.get(key, ())) >= len(side.positions[key]):
            return negated
        if _find_opposite_keys(key, other.affirmed, words):
            return None  # `not enabled` agrees with `disabled`
    return None


def _find_opposites(ours: _Polarity, theirs: _Polarity, words: PolarityWords) -> Iterator[Contradiction]:
    """Find words in whose place the statement has an opposite."""
    for key, positions in ours.positions.items():
        if ours.tokens[positions[0]].kind != "word":
            continue
        same_key = theirs.positions.get(key, [])
        for opposite in _find_opposite_keys(key, theirs.positions, words):
            candidates = theirs.positions[opposite]
            is_negated_once = (key in ours.negated) != (opposite in theirs.negated)
            if is_negated_once and (len(positions), len(candidates)) == (1, 1):
                continue  # the negation makes up for the opposite
            for position in positions:
                if opposite in ours.positions and _is_list_item(ours.tokens, position):
                    continue

                def similarity(their_position: int, position: int = position) -> float:
                    return context_similarity(ours.tokens, position, theirs.tokens, their_position)

                best = max(candidates, key=similarity)
                if len(positions) <= len(same_key) and _is_list_item(theirs.tokens, best):
                    continue
                own_similarity = max(map(similarity, same_key), default=0.0)
                if similarity(best) >= _SAME_CONTEXT and similarity(best) > own_similarity:
                    yield Contradiction(position, position, (best, best))


def _is_list_item(tokens: Sequence[Token], position: int) -> bool:
    """Return whether a word is an item of a list, whose order has no meaning."""
    neighbors = (*tokens[max(0, position - 1) : position], *tokens[position + 1 : position + 2])
    return any(token.text in ",、，" or token.is_conjunction for token in neighbors)


def _find_opposite_keys(key: str, candidates: Collection[str], words: PolarityWords) -> list[str]:
    """Return the candidates that are opposites of a word."""
    found = [other for other in sorted(words.opposites.get(key, ())) if other in candidates]
    for prefix in words.opposite_prefixes:
        if prefix + key in candidates and len(key) > _MAX_PREFIX_CHARS:
            found.append(prefix + key)
        if key.startswith(prefix) and len(key) - len(prefix) > _MAX_PREFIX_CHARS and key[len(prefix) :] in candidates:
            found.append(key[len(prefix) :])
    return list(dict.fromkeys(found))
