"""Group questions that ask for the same thing.

Two questions are similar if they share rare words, or if search found the same sections for them. Each question is a
vector of its stems and of the ids of these sections, weighted by rarity, and joins the group whose mean is nearest.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import log, sqrt

from mkdocs_roaming.text.languages import load_words
from mkdocs_roaming.text.tokenizer import parse_words

MIN_SIMILARITY = 0.45
"""Minimum cosine of a question and the mean of its group."""

_SECTION_WEIGHT = 0.4
_PASSES = 2

Vector = dict[str, float]


def group_questions(
    questions: Sequence[str], sections: Sequence[Sequence[str]], language: str = "en"
) -> list[list[int]]:
    """Return the positions of the questions in each group, the most central question first; large groups first.

    Args:
        questions: The questions.
        sections: The ids of the sections that search found for each, best first.
        language: The language of the site.
    """
    features = [_read_features(*pair, language) for pair in zip(questions, sections, strict=True)]
    vectors = _make_vectors(features)
    groups = _cluster(vectors, [])
    for _ in range(_PASSES):
        groups = _cluster(vectors, [_mean(vectors[position] for position in group) for group in groups])
    for group in groups:
        center = _mean(vectors[position] for position in group)
        group.sort(key=lambda position: (-_dot(vectors[position], center), position))
    return sorted(groups, key=lambda group: (-len(group), min(group)))


def _cluster(vectors: Sequence[Vector], centers: Sequence[Vector]) -> list[list[int]]:
    """Return the positions of the vectors that are near the same center; vectors that are near none become centers."""
    members: list[list[int]] = [[] for _ in centers]
    sums = [dict(center) for center in centers]
    for position, vector in enumerate(vectors):
        nearest = max(range(len(sums)), key=lambda at: _cosine(vector, sums[at]), default=None)
        if nearest is None or _cosine(vector, sums[nearest]) < MIN_SIMILARITY:
            members.append([position])
            sums.append(dict(vector))
            continue
        members[nearest].append(position)
        if nearest >= len(centers):
            for name, weight in vector.items():
                sums[nearest][name] = sums[nearest].get(name, 0.0) + weight
    return [group for group in members if group]


def _read_features(question: str, sections: Sequence[str], language: str) -> Counter[str]:
    fillers = load_words("en", "search.filler_words")
    words = [word for word in parse_words(question, language) if not word.stop and word.text.lower() not in fillers]
    features = Counter(part for word in words for part in set(word.parts))
    features.update(f"§{id_}" for id_ in sections[:2])
    return features


def _make_vectors(features: Sequence[Counter[str]]) -> list[Vector]:
    """Return unit vectors, weighted by rarity."""
    counts = Counter(name for each in features for name in each)
    vectors: list[Vector] = []
    for each in features:
        vector = {
            name: log(1 + len(features) / counts[name]) * (_SECTION_WEIGHT if name.startswith("§") else 1.0)
            for name in each
        }
        vectors.append(_normalize(vector))
    return vectors


def _mean(vectors: Iterable[Vector]) -> Vector:
    total: dict[str, float] = defaultdict(float)
    for vector in vectors:
        for name, weight in vector.items():
            total[name] += weight
    return _normalize(total)


def _normalize(vector: Mapping[str, float]) -> Vector:
    length = sqrt(sum(weight * weight for weight in vector.values())) or 1.0
    return {name: weight / length for name, weight in vector.items()}


def _cosine(unit: Mapping[str, float], other: Mapping[str, float]) -> float:
    product = _dot(unit, other)
    return product / sqrt(sum(weight * weight for weight in other.values())) if product else 0.0


def _dot(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    return sum(weight * other.get(name, 0.0) for name, weight in one.items())
