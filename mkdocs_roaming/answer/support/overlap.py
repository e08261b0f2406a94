"""How much of a text stands in sections, word by word: the method of RAGTools.jl's `annotate_support`.

A word scores 1 in a section that has it, else the share of its character trigrams, taken with the character behind it,
that the section has; words that say little and single characters are skipped. A piece of text scores the mean of its
words in the section where that is highest, and is credited to it if it reaches a quarter. Pieces that stand together
score Σ(score × length) of the credited ones ÷ the length of all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

CREDITED = 0.25
"""The score from which on a piece is credited to its best section."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of text and what it scores in each section."""

    length: int
    scores: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Credit:
    """What pieces together are worth: their section, by its place, the score, and the length that nobody supports."""

    section: int | None
    score: float
    uncredited: int


def tokens(text: str) -> list[str]:
    """Give all of a text in its order: words, signs, white space."""
    return _TOKEN.findall(text)


def grams(text: Sequence[str]) -> frozenset[str]:
    """Give the words of a text, as tokens, and their trigrams: what other text is held against."""
    bounded = {
        _bounded(before, token, after): token
        for before, token, after in zip(["", *text], text, [*text[1:], ""], strict=False)
        if len(token) > 1
    }
    return frozenset(bounded.values()).union(*map(_trigrams, bounded))


def piece(text: Sequence[str], sections: Sequence[frozenset[str]], is_stop: Callable[[str], bool]) -> Piece:
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
    return Piece(sum(map(len, text)), tuple(each / counted if counted else 0.0 for each in sums))


def credit(pieces: Iterable[Piece], *, uncredited: int = 0, prefer: int | None = None) -> Credit:
    """Credit pieces that stand together to the section that supports most of them.

    `uncredited` is a length that counts as well, without a section: the method never forgets what it could not credit,
    from the first piece of an answer to its last. `prefer` is a section that is taken where none is clearly better.
    """
    worth: dict[int, float] = {}
    length = 0
    for each in pieces:
        best = max(each.scores, default=0.0)
        if best < CREDITED:
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
