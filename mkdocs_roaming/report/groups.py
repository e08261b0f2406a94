"""Put questions that ask for the same thing into groups.

Two questions are similar if they share rare words, above all words that the site lacks. Each question is a vector of
its stems, weighted by rarity, and joins the group whose first question is nearest. Groups for which search finds the
same section most often are one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import hypot, log

from msgspec import Struct

from mkdocs_roaming.text.languages import load_words
from mkdocs_roaming.text.tokenizer import parse_words

MIN_SIMILARITY = 0.28
"""Minimum cosine of a question and the first one of its group."""

_ABSENT_WEIGHT = 2.0  # weight of a word that the site lacks; that of the others is 1

Vector = Mapping[str, float]


class Clue(Struct, frozen=True):
    """A question, the id of the section that matches best, and the words that no section contains."""

    question: str
    section: str = ""
    absent: Sequence[str] = ()


def group_questions(clues: Sequence[Clue], language: str = "en") -> list[list[int]]:
    """Return the positions of the questions in each group; large groups first.

    Args:
        clues: The questions.
        language: The language of the site.
    """
    groups = defaultdict[object, list[int]](list)
    for group in _cluster(_make_vectors(clues, language)):
        sections = Counter(clues[position].section for position in group)
        best = max(sections, key=sections.__getitem__)
        groups[best or group[0]] += group
    return sorted(map(sorted, groups.values()), key=lambda group: (-len(group), group))


def _make_vectors(clues: Sequence[Clue], language: str) -> list[Vector]:
    """Return unit vectors of the stems in each question, weighted by rarity."""
    fillers = load_words("en", "search.filler_words")
    features = []
    for clue in clues:
        absent = {part for word in parse_words(" ".join(clue.absent), language) for part in word.parts}
        weights: dict[str, float] = {}
        for word in parse_words(clue.question, language):
            if not word.stop and word.text.lower() not in fillers:
                weights |= {part: _ABSENT_WEIGHT if part in absent else 1.0 for part in word.parts}
        features.append(weights)
    counts = Counter(part for weights in features for part in weights)
    vectors: list[Vector] = []
    for weights in features:
        vector = {part: weight * log(1 + len(clues) / counts[part]) for part, weight in weights.items()}
        length = hypot(*vector.values())
        vectors.append({part: weight / length for part, weight in vector.items()})
    return vectors


def _cluster(vectors: Sequence[Vector]) -> Iterable[list[int]]:
    """Return the positions of similar vectors: each joins the nearest first one of a group, or begins a group."""
    groups: dict[int, list[int]] = {}
    firsts = defaultdict[str, list[int]](list)  # the first vectors of groups, by the stems that they contain
    for position, vector in enumerate(vectors):
        products = defaultdict[int, float](float)
        for part, weight in vector.items():
            for first in firsts[part]:
                products[first] += weight * vectors[first][part]
        nearest = max(products, key=products.__getitem__, default=position)
        if products[nearest] >= MIN_SIMILARITY:
            groups[nearest].append(position)
            continue
        groups[position] = [position]
        for part in vector:
            firsts[part].append(position)
    return groups.values()
