"""Whether a sentence says the opposite of its source: a negation more or less, a word turned round."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mkdocs_roaming.answer.opposites import Opposites, opposites
from mkdocs_roaming.answer.slots import alike
from mkdocs_roaming.answer.tokens import Token
from mkdocs_roaming.words import fold


@dataclass(frozen=True, slots=True)
class Turn:
    """A place where a sentence turns round what its source says, by its tokens; `there` are the source's."""

    start: int
    end: int
    there: tuple[int, int]


def turns(ours: Sequence[Token], theirs: Sequence[Token], language: str) -> list[Turn]:
    """Give the places where a sentence turns round what a statement says; none where they agree or cannot be told."""
    known = opposites(language)
    mine, other = _Side(ours, known), _Side(theirs, known)
    found = [*_added(mine, other, known), *_dropped(mine, other, known), *_turned(mine, other, known)]
    return sorted(set(found), key=lambda turn: (turn.start, turn.end, turn.there))


def agrees(ours: Sequence[Token], turn: Turn, theirs: Sequence[Token], language: str) -> bool:
    """Tell whether another statement says what a sentence says at such a place."""
    known = opposites(language)
    mine, other = _Side(ours, known), _Side(theirs, known)
    if turn.start in mine.reaches:
        reach = mine.keys_of(mine.reaches[turn.start])
        return any(reach & other.keys_of(reached) for reached in other.reaches.values())
    key = ours[turn.start].key
    return key in other.free


@dataclass(frozen=True, slots=True)
class _Negation:
    at: int
    reach: tuple[int, ...]


class _Side:
    """A sentence, its negations and what they reach."""

    def __init__(self, tokens: Sequence[Token], known: Opposites) -> None:
        self.tokens = tokens
        self.places: dict[str, list[int]] = {}
        for at, token in enumerate(tokens):
            self.places.setdefault(token.key, []).append(at)
        negations = [at for at in range(len(tokens)) if _negates(tokens, at, known)]
        self.reaches = {at: _reach(tokens, at, known) for at in negations}
        negated = {at for reach in self.reaches.values() for at in reach}
        self.free = frozenset(token.key for at, token in enumerate(tokens) if at not in negated)
        self.negated = frozenset(tokens[at].key for at in negated)

    def keys_of(self, places: Sequence[int]) -> frozenset[str]:
        return frozenset(self.tokens[at].key for at in places)


_REACH = 4
_CLAUSE_ENDS = frozenset(",;:.!?()—–，、；：。！？（）")


def _negates(tokens: Sequence[Token], at: int, known: Opposites) -> bool:
    token = tokens[at]
    if token.kind != "word" or token.code:
        return False
    word = fold(token.text).replace("’", "'")
    if word not in known.negations and not word.endswith("n't") and not (word[:2] == "n'" and "ne" in known.negations):
        return False
    following = [fold(other.text) for other in tokens[at : at + 3]]
    before = [fold(other.text) for other in tokens[max(0, at - 2) : at + 1]]
    return not any(following[: len(each)] == list(each) or before[-len(each) :] == list(each) for each in known.phrases)


def _reach(tokens: Sequence[Token], at: int, known: Opposites) -> tuple[int, ...]:
    """Give what a negation reaches: the next telling words of its clause, or where there are none the last ones."""
    reached = list[int]()
    for place in range(at + 1, min(len(tokens), at + 16)):
        token = tokens[place]
        if token.text in _CLAUSE_ENDS or fold(token.text) in known.breaks or len(reached) == _REACH:
            break
        if token.kind != "break" and not token.stop and not _negates(tokens, place, known):
            reached.append(place)
    for place in range(at - 1, max(-1, at - 8), -1) if not reached else ():
        token = tokens[place]
        if token.kind != "break" and not token.stop and len(reached) < 2:
            reached.append(place)
    return tuple(reached)


def _added(mine: _Side, other: _Side, known: Opposites) -> Iterator[Turn]:
    """Find negations that the statement does not have: what they reach stands there unnegated."""
    for at, reach in mine.reaches.items():
        keys = mine.keys_of(reach)
        if any(keys & other.keys_of(reached) for reached in other.reaches.values()):
            continue
        for place in reach[:2]:
            key = mine.tokens[place].key
            if key in other.free:
                there = other.places[key][0]
                yield Turn(at, at, (there, there))
                break
            if _opposed(key, other.free, known):  # `not enabled` says what `disabled` says
                break


def _dropped(mine: _Side, other: _Side, known: Opposites) -> Iterator[Turn]:
    """Find negations that the sentence does not have: what they reach stands in it unnegated."""
    for at, reach in other.reaches.items():
        keys = other.keys_of(reach)
        if any(keys & mine.keys_of(reached) for reached in mine.reaches.values()):
            continue
        for place in reach[:2]:
            key = other.tokens[place].key
            if key in mine.free and key not in mine.negated:
                here = max(mine.places[key], key=lambda one: alike(mine.tokens, one, other.tokens, place))
                yield Turn(here, here, (min(at, place), max(at, place)))
                break
            if _opposed(key, mine.free, known):
                break


def _turned(mine: _Side, other: _Side, known: Opposites) -> Iterator[Turn]:
    """Find words that stand where the statement has an opposite."""
    for key, places in mine.places.items():
        if mine.tokens[places[0]].kind != "word":
            continue
        standing = other.places.get(key, [])
        for opposite in _opposed(key, other.places, known):
            theirs = other.places[opposite]
            if (key in mine.negated) != (opposite in other.negated) and (len(places), len(theirs)) == (1, 1):
                continue  # a negation makes up for it
            for here in places:
                best = max(theirs, key=lambda there: alike(mine.tokens, here, other.tokens, there))
                likeness = alike(mine.tokens, here, other.tokens, best)
                own = max((alike(mine.tokens, here, other.tokens, there) for there in standing), default=0.0)
                if likeness >= _SAME_PLACE and likeness > own:
                    yield Turn(here, here, (best, best))


_SAME_PLACE = 0.9


def _opposed(key: str, among: frozenset[str] | dict[str, list[int]], known: Opposites) -> list[str]:
    """Give the words among others that are the opposite of one."""
    found = [other for other in sorted(known.opposing.get(key, ())) if other in among]
    for prefix in known.prefixes:
        if prefix + key in among and len(key) > _SHORT:
            found.append(prefix + key)
        if key.startswith(prefix) and len(key) - len(prefix) > _SHORT and key[len(prefix) :] in among:
            found.append(key[len(prefix) :])
    return list(dict.fromkeys(found))


_SHORT = 3
