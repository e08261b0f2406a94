"""Whether two words stand in the same place of two sentences, judged by the words around them."""

from __future__ import annotations

from collections.abc import Sequence

from mkdocs_roaming.answer.support.opposites import JOINING
from mkdocs_roaming.answer.support.tokens import Token


def alike(ours: Sequence[Token], at: int, theirs: Sequence[Token], there: int) -> float:
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
        if token.kind == "break" or (family and token.family == family) or token.key in JOINING:
            continue
        distance += 1
        side.setdefault("#" if token.family == "number" else token.key, (distance, token.stop))
        if distance == _WINDOW:
            break
    return side


_FARTHEST = 24
