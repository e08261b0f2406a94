"""Whether two words stand in the same place of two sentences, judged by the words around them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from mkdocs_roaming.answer.support.text import CONJUNCTIONS, PolarityWords, Token, is_negation, load_polarity_words
from mkdocs_roaming.text.languages import fold


def context_similarity(ours: Sequence[Token], at: int, theirs: Sequence[Token], there: int) -> float:
    """Give how much the words around one place are those around the other, nearer ones counting more.

    Whatever is of the same family as the word itself is passed over, so the order of a list says nothing.
    """
    family = ours[at].family
    return sum(
        (_STOP if stop else 1.0) / max(distance, there_side[key][0])
        for side, there_side in zip(_around(ours, at, family), _around(theirs, there, family), strict=True)
        for key, (distance, stop) in side.items()
        if key in there_side
    )


_STOP = 0.5


_WINDOW = 6


def _around(tokens: Sequence[Token], at: int, family: str) -> tuple[dict[str, tuple[int, bool]], ...]:
    """Give the words before and behind a place, each with its distance."""
    return _side(tokens, range(at - 1, -1, -1), family), _side(tokens, range(at + 1, len(tokens)), family)


def _side(tokens: Sequence[Token], places: range, family: str) -> dict[str, tuple[int, bool]]:
    side: dict[str, tuple[int, bool]] = {}
    distance = 0
    for place in places[:_FARTHEST]:
        token = tokens[place]
        if token.kind == "break" or (family and token.family == family) or token.key in CONJUNCTIONS:
            continue
        distance += 1
        side.setdefault("#" if token.family == "number" else token.key, (distance, token.stop))
        if distance == _WINDOW:
            break
    return side


_FARTHEST = 24


# MERGED mkdocs_roaming.answer.support.polarity:
# Whether a sentence says the opposite of its source: a negation more or less, a word turned round.


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A place where a sentence turns round what its source says, by its tokens; `there` are the source's."""

    start: int
    end: int
    there: tuple[int, int]


def find_contradictions(ours: Sequence[Token], theirs: Sequence[Token], language: str) -> list[Contradiction]:
    """Give the places where a sentence turns round what a statement says; none where they agree or cannot be told."""
    known = load_polarity_words(language)
    mine, other = _Side(ours, known), _Side(theirs, known)
    found = [*_negated(mine, other, known), *_turned(mine, other, known)]
    kept = list[Contradiction]()
    for turn in sorted(set(found), key=lambda turn: (turn.start, turn.end, turn.there)):
        first, last = turn.there
        if not any(first <= other.there[1] and last >= other.there[0] for other in kept):
            kept.append(turn)
    return kept


def agrees_with(ours: Sequence[Token], turn: Contradiction, theirs: Sequence[Token], language: str) -> bool:
    """Tell whether another statement says what a sentence says at such a place."""
    known = load_polarity_words(language)
    mine, other = _Side(ours, known), _Side(theirs, known)
    if turn.start in mine.reaches:
        return turn.start not in _unpaired(mine, other)[0]
    return ours[turn.start].key in other.free


class _Side:
    """A sentence, its negations and what they reach."""

    def __init__(self, tokens: Sequence[Token], known: PolarityWords) -> None:
        self.tokens = tokens
        self.sections: dict[str, list[int]] = {}
        for at, token in enumerate(tokens):
            places = self.sections.setdefault(token.key, [])
            if len(places) < _MOST:
                places.append(at)
        negations = [at for at in range(len(tokens)) if _negates(tokens, at, known)]
        self.reaches = {at: _reach(tokens, at, known) for at in negations[:_MOST]}
        negated = {at for reach in self.reaches.values() for at in reach}
        self.free = Counter(token.key for at, token in enumerate(tokens) if at not in negated)
        self.negated = frozenset(tokens[at].key for at in negated)

    def keys_of(self, places: Sequence[int]) -> frozenset[str]:
        return frozenset(self.tokens[at].key for at in places)


_REACH = 4


_MOST = 12  # negations, or times the same word, that are looked at in a sentence


_CLAUSE_ENDS = frozenset(",;:.!?()—–，、；：。！？（）")


def _negates(tokens: Sequence[Token], at: int, known: PolarityWords) -> bool:
    token = tokens[at]
    if not is_negation(token, known):
        return False
    word = fold(token.text).replace("’", "'")
    if word in known.continuing and any(is_negation(other, known) for other in tokens[max(0, at - 12) : at]):
        return False
    is_half = word in known.halves or word.startswith(known.beginnings)
    if is_half and any(is_negation(other, known) for other in tokens[at + 1 : at + 6]):
        return False
    following = [fold(other.text) for other in tokens[at : at + 3]]
    before = [fold(other.text) for other in tokens[max(0, at - 2) : at + 1]]
    return not any(following[: len(each)] == list(each) or before[-len(each) :] == list(each) for each in known.phrases)


def _reach(tokens: Sequence[Token], at: int, known: PolarityWords) -> tuple[int, ...]:
    """Give what a negation reaches: the next telling words of its clause, or where there are none the last ones."""
    reached = list[int]()
    for place in range(at + 1, min(len(tokens), at + 16)):
        token = tokens[place]
        if token.text in _CLAUSE_ENDS or fold(token.text) in known.breaks or len(reached) == _REACH:
            break
        if _negates(tokens, place, known):
            break
        if token.kind != "break" and not token.stop:
            reached.append(place)
    for place in range(at - 1, max(-1, at - 8), -1) if not reached else ():
        token = tokens[place]
        if token.kind != "break" and not token.stop and len(reached) < 2:
            reached.append(place)
    return tuple(reached)


def _unpaired(mine: _Side, other: _Side) -> tuple[list[int], list[int]]:
    """Give the negations of either side that have no counterpart on the other, the likest being paired first."""
    likeness = {
        (here, there): len(mine.keys_of(reach) & other.keys_of(reached))
        + context_similarity(mine.tokens, here, other.tokens, there)
        for here, reach in mine.reaches.items()
        for there, reached in other.reaches.items()
        if mine.keys_of(reach) & other.keys_of(reached)
    }
    ours, theirs = dict.fromkeys(mine.reaches), dict.fromkeys(other.reaches)
    for here, there in sorted(likeness, key=lambda pair: (-likeness[pair], pair)):
        if here in ours and there in theirs:
            del ours[here], theirs[there]
    return list(ours), list(theirs)


def _negated(mine: _Side, other: _Side, known: PolarityWords) -> Iterator[Contradiction]:
    """Find negations on one side only: what they reach stands unnegated on the other."""
    ours, theirs = _unpaired(mine, other)
    keys, others = mine.sections.keys(), other.sections.keys()
    verbatim = len(keys & others) >= _VERBATIM * len(keys | others)
    for at in ours:
        place = _standing(mine, at, other, known, verbatim=verbatim)
        if place is not None:
            there = other.sections[mine.tokens[place].key][0]
            yield Contradiction(at, at, (there, there))
    for at in theirs:
        place = _standing(other, at, mine, known, verbatim=verbatim)
        if place is not None:
            places = mine.sections[other.tokens[place].key]
            here = max(places, key=lambda one: context_similarity(mine.tokens, one, other.tokens, place))
            yield Contradiction(here, here, (min(at, place), max(at, place)))


def _standing(mine: _Side, at: int, other: _Side, known: PolarityWords, *, verbatim: bool) -> int | None:
    """Give what a negation reaches first that stands on the other side unnegated, and more often than on this one."""
    for place in mine.reaches[at][:2]:
        key = mine.tokens[place].key
        if other.free[key] > mine.free[key]:
            return place
        if verbatim and len(other.sections.get(key, ())) >= len(mine.sections[key]):
            return place
        if _opposed(key, other.free, known):
            return None  # `not enabled` says what `disabled` says
    return None


_VERBATIM = 0.75


def _turned(mine: _Side, other: _Side, known: PolarityWords) -> Iterator[Contradiction]:
    """Find words that stand where the statement has an opposite."""
    for key, places in mine.sections.items():
        if mine.tokens[places[0]].kind != "word":
            continue
        standing = other.sections.get(key, [])
        for opposite in _opposed(key, other.sections, known):
            theirs = other.sections[opposite]
            if (key in mine.negated) != (opposite in other.negated) and (len(places), len(theirs)) == (1, 1):
                continue  # a negation makes up for it
            for here in places:
                if opposite in mine.sections and _is_listed(mine.tokens, here):
                    continue
                best = max(theirs, key=lambda there: context_similarity(mine.tokens, here, other.tokens, there))
                likeness = context_similarity(mine.tokens, here, other.tokens, best)
                own = max(
                    (context_similarity(mine.tokens, here, other.tokens, there) for there in standing), default=0.0
                )
                if len(places) <= len(standing) and _is_listed(other.tokens, best):
                    continue
                if likeness >= _SAME_PLACE and likeness > own:
                    yield Contradiction(here, here, (best, best))


def _is_listed(tokens: Sequence[Token], at: int) -> bool:
    """Tell whether a word is one of several in a row: their order says little."""
    around = (*tokens[max(0, at - 1) : at], *tokens[at + 1 : at + 2])
    return any(token.text in ",、，" or token.key in CONJUNCTIONS for token in around)


_SAME_PLACE = 0.9


def _opposed(key: str, among: Collection[str], known: PolarityWords) -> list[str]:
    """Give the words among others that are the opposite of one."""
    found = [other for other in sorted(known.opposing.get(key, ())) if other in among]
    for prefix in known.prefixes:
        if prefix + key in among and len(key) > _SHORT:
            found.append(prefix + key)
        if key.startswith(prefix) and len(key) - len(prefix) > _SHORT and key[len(prefix) :] in among:
            found.append(key[len(prefix) :])
    return list(dict.fromkeys(found))


_SHORT = 3
