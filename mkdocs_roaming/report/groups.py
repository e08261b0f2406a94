"""Put questions that ask for the same thing into groups.

Two questions are similar if they share rare words, above all words that the site lacks, or if search finds the same
section for them. Each question is a vector of its stems and of the id of this section, weighted by rarity, and joins
the group whose mean is nearest. Groups with the same best section are one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import hypot, log, sqrt

from mkdocs_roaming.text.languages import load_words
from mkdocs_roaming.text.tokenizer import parse_words

MIN_SIMILARITY = 0.28
"""Minimum cosine of a question and the mean of its group."""

_SECTION_WEIGHT = 0.4
_ABSENT_WEIGHT = 2.0

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
    groups = _merge([section for _, section, _ in clues], _cluster(vectors))
    for group in groups:
        center = Counter(name for position in group for name in vectors[position])
        group.sort(key=lambda position: (-_dot(vectors[position], center), position))
    return sorted(groups, key=lambda group: (-len(group), min(group)))


def _merge(sections: Sequence[str], groups: Iterable[list[int]]) -> list[list[int]]:
    """Return the groups; those for whose questions search finds the same section most often become one."""
    merged = defaultdict[object, list[int]](list)
    for group in groups:
        best, _ = Counter(sections[position] for position in group).most_common(1)[0]
        merged[best or group[0]] += group
    return list(merged.values())


def _cluster(vectors: Iterable[Vector]) -> Iterator[list[int]]:
    """Yield the positions of the vectors that are near the same mean; a vector that is near none begins a group."""
    groups: list[list[int]] = []
    squares: list[float] = []  # of the length of each group's sum
    index = defaultdict[str, dict[int, float]](dict)  # the weights of a name in the sums that have it
    for position, vector in enumerate(vectors):
        products = defaultdict[int, float](float)
        for name, weight in vector.items():
            for at, other in index[name].items():
                products[at] += weight * other
        nearest = max(products, key=lambda at: products[at] / sqrt(squares[at]), default=0)
        if products[nearest] < MIN_SIMILARITY * sqrt(squares[nearest] if squares else 1):
            nearest = len(groups)
            groups.append([])
            squares.append(0.0)
        groups[nearest].append(position)
        squares[nearest] += 2 * products[nearest] + 1
        for name, weight in vector.items():
            index[name][nearest] = index[name].get(nearest, 0.0) + weight
    yield from groups


def _weigh_features(clue: Clue, language: str) -> dict[str, float]:
    question, section, absent_words = clue
    fillers = load_words("en", "search.filler_words")
    words = [word for word in parse_words(question, language) if not word.stop]
    features = {part: 1.0 for word in words if word.text.lower() not in fillers for part in word.parts}
    absent = {one.parts[0] for word in absent_words for one in parse_words(word, language) if len(one.parts) == 1}
    features |= dict.fromkeys(absent & features.keys(), _ABSENT_WEIGHT)
    return features | ({f"§{section}": _SECTION_WEIGHT} if section else {})


def _make_vectors(features: Sequence[Mapping[str, float]]) -> list[Vector]:
    """Return unit vectors, weighted by rarity."""
    counts = Counter(name for each in features for name in each)
    rarity = {name: log(1 + len(features) / count) for name, count in counts.items()}
    lengths = [hypot(*(weight * rarity[name] for name, weight in each.items())) for each in features]
    pairs = zip(features, lengths, strict=True)
    return [{name: weight * rarity[name] / length for name, weight in each.items()} for each, length in pairs]


def _dot(one: Vector, other: Vector) -> float:
    return sum(weight * other.get(name, 0.0) for name, weight in one.items())
