"""Reversed statements: clauses in which an antonym stands where the nearest statement has the opposite word.

    is_reversed("The cache is cleared before the build.", evidence)  # the section: “… is cleared after each build.”

Only pairs of words such as *before* and *after*, at the same place among the same words, are compared: verbs of
instructions are reversed legitimately (“to disable it, remove …”), as are conditions and negations.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache

from mkdocs_roaming.answer.support.evidence import Evidence, find_words, normalize_text, split_clauses
from mkdocs_roaming.text.languages import load_phrases, load_words
from mkdocs_roaming.text.tokenizer import stem

_LINK_TARGET = re.compile(r"\]\([^()\s]{1,500}\)")
_MAX_STATEMENTS = 20
_SAME_STATEMENT_SHARE = 0.8
_PLACE_WORDS = 3


def is_reversed(clause: str, evidence: Evidence) -> bool:
    """Return whether a clause has the antonym of a word of the nearest statements, and none of them has its word."""
    words = _read_words(clause)
    return any(_is_opposite(words, word, evidence) for word in _load_opposites().keys() & set(words))


def _is_opposite(words: Sequence[str], word: str, evidence: Evidence) -> bool:
    opposites, others = _load_opposites()[word], {*words} - {word}
    context = {stem(other) for other in others} & evidence.words
    if _is_hedged(words, word) or opposites & others or len(context) < max(2, len(others) / 2):
        return False
    similar = [
        (share, part)
        for share, statement in evidence.find_similar(context)[:_MAX_STATEMENTS]
        for part in _read_clauses(statement.text)
    ]
    return not any(_is_aligned(words, word, part, word) for _, part in similar) and any(
        share >= _SAME_STATEMENT_SHARE and _is_aligned(words, word, part, other) and not _is_hedged(part, other)
        for share, part in similar
        for other in opposites.intersection(part)
    )


def _is_aligned(ours: Sequence[str], word: str, theirs: Sequence[str], other: str) -> bool:
    """Return whether two words precede one same word or, at the end of a clause, follow two same words."""
    return any(
        bool(after & their_after) if after and their_after else len(before & their_before) > 1
        for before, after in _find_places(ours, word)
        for their_before, their_after in _find_places(theirs, other)
    )


def _find_places(words: Sequence[str], word: str) -> Iterator[tuple[set[str], set[str]]]:
    """Yield the stems before and after each occurrence of a word."""
    for place, found in enumerate(words):
        if found == word:
            near = words[max(0, place - _PLACE_WORDS) : place], words[place + 1 : place + 1 + _PLACE_WORDS]
            yield {stem(one) for one in near[0]}, {stem(one) for one in near[1]}


def _is_hedged(words: Sequence[str], word: str) -> bool:
    """Return whether a clause is a condition, or negates something."""
    negations = load_words("en", "support.negations") - {word}
    return words[0] in load_words("en", "support.conditions") or any(
        one in negations or one.endswith("n't") for one in words
    )


def _read_words(clause: str) -> list[str]:
    """Return the words of a clause without function words and link targets."""
    ignored = load_words("en", "support.unimportant_words")
    return [word for word in find_words(normalize_text(_LINK_TARGET.sub("]", clause))) if word not in ignored]


@lru_cache(1 << 9)
def _read_clauses(text: str) -> list[list[str]]:
    return [words for start, end in split_clauses(text) if (words := _read_words(text[start:end]))]


@cache
def _load_opposites() -> dict[str, set[str]]:
    opposites: dict[str, set[str]] = {}
    for pair in load_phrases("en", "support.opposites"):
        sides = [side.split() for side in pair.split("/")]
        for ours, theirs in (sides, sides[::-1]):
            for word in ours:
                opposites.setdefault(word, set()).update(theirs)
    return opposites
