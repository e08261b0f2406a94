"""Put questions that ask for the same thing into groups.

Two questions are similar if they share rare words, above all words that the site lacks, or if search finds the same
section for them. Each question is a vector of its stems and of the id of this section, weighted by rarity, and joins
the group whose mean is nearest. Groups with the same best section are one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import log, sqrt

from mkdocs_roaming.text.languages import load_words
from mkdocs_roaming.text.tokenizer import parse_words

MIN_SIMILARITY = 0.26
"""Minimum cosine of a question and the mean of its group."""

_SECTION_WEIGHT = 0.4
_ABSENT_WEIGHT = 2.0
_PASSES = 2

Vector = Mapping[str, float]


Clue = tuple[str, str, Sequence[str]]
"""A question, the id of the section that matches best, and the words that no section contains."""


def group_questions(clues: Sequence[Clue], language: str = "en") -> list[list[int]]:
    """Return the positions of the questions in each group, the most central question first; large groups first.

    Args:
        clues: The questions.
        language: The language of the site.
    """
    vectors = _make_vectors([_weigh_features(clue, language) for clue in clues])
    groups = _cluster(vectors, [])
    for _ in range(_PASSES):
        groups = _cluster(vectors, [_sum(vectors[position] for position in group) for group in groups])
    groups = _merge([section for _, section, _ in clues], groups)
    for group in groups:
        center = _sum(vectors[position] for position in group)
        group.sort(key=lambda position: (-_dot(vectors[position], center), position))
    return sorted(groups, key=lambda group: (-len(group), min(group)))


def _merge(sections: Sequence[str], groups: Iterable[list[int]]) -> list[list[int]]:
    """Return the groups; those for whose questions search finds the same section most often become one."""
    merged: dict[object, list[int]] = {}
    for group in groups:
        best, _ = Counter(sections[position] for position in group).most_common(1)[0]
        merged.setdefault(best or group[0], []).extend(group)
    return list(merged.values())


def _cluster(vectors: Sequence[Vector], centers: Sequence[Vector]) -> list[list[int]]:
    """Return the positions of the vectors that are near the same center; vectors that are near none become centers."""
    members: list[list[int]] = []
    squares: list[float] = []
    index: dict[str, dict[int, float]] = {}  # the weight of a name in each center that has it

    def add(vector: Vector, at: int, product: float = 0.0) -> None:
        if at == len(members):
            members.append([])
            squares.append(0.0)
        squares[at] += 2 * product + _dot(vector, vector)
        for name, weight in vector.items():
            column = index.setdefault(name, {})
            column[at] = column.get(at, 0.0) + weight

    for center in centers:
        add(center, len(members))
    for position, vector in enumerate(vectors):
        products: dict[int, float] = {}
        for name, weight in vector.items():
            for at, other in index.get(name, {}).items():
                products[at] = products.get(at, 0.0) + weight * other
        nearest = max(products, key=lambda at: products[at] / sqrt(squares[at]), default=len(members))
        if nearest < len(members) and products[nearest] / sqrt(squares[nearest]) < MIN_SIMILARITY:
            nearest = len(members)
        if nearest >= len(centers):
            add(vector, nearest, products.get(nearest, 0.0))
        members[nearest].append(position)
    return [group for group in members if group]


def _weigh_features(clue: Clue, language: str) -> dict[str, float]:
    question, section, absent_words = clue
    fillers = load_words("en", "search.filler_words")
    words = [word for word in parse_words(question, language) if not word.stop]
    features = {part: 1.0 for word in words if word.text.lower() not in fillers for part in word.parts}
    absent = {part for word in absent_words for found in parse_words(word, language) for part in found.parts}
    features |= dict.fromkeys(absent & features.keys(), _ABSENT_WEIGHT)
    return features | ({f"§{section}": _SECTION_WEIGHT} if section else {})


def _make_vectors(features: Sequence[Mapping[str, float]]) -> list[Vector]:
    """Return unit vectors, weighted by rarity."""
    counts = Counter(name for each in features for name in each)
    vectors: list[Vector] = []
    for each in features:
        vector = {name: weight * log(1 + len(features) / counts[name]) for name, weight in each.items()}
        length = sqrt(_dot(vector, vector)) or 1.0
        vectors.append({name: weight / length for name, weight in vector.items()})
    return vectors


def _sum(vectors: Iterable[Vector]) -> Vector:
    total: dict[str, float] = {}
    for vector in vectors:
        for name, weight in vector.items():
            total[name] = total.get(name, 0.0) + weight
    return total


def _dot(one: Vector, other: Vector) -> float:
    return sum(weight * other.get(name, 0.0) for name, weight in one.items())
