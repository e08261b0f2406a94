"""Put questions that ask for the same thing into groups.

Two questions are similar if they share rare words, above all words that the site lacks, or if search finds the same
section for them. Each question is a vector of its stems and of the id of this section, weighted by rarity, and joins
the group whose first question is nearest. Groups with the same best section are one.
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

_SECTION_WEIGHT = 0.4
_ABSENT_WEIGHT = 2.0

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
    for group in _cluster(_make_vectors([_weigh_features(clue, language) for clue in clues])):
        best, _ = Counter(clues[position].section for position in group).most_common(1)[0]
        groups[best or group[0]] += group
    return sorted(map(sorted, groups.values()), key=lambda group: (-len(group), group))


def _cluster(vectors: Sequence[Vector]) -> Iterable[list[int]]:
    """Return the positions of similar vectors: each joins the nearest first one of a group, or begins a group."""
    groups = defaultdict[int, list[int]](list)
    weights = defaultdict[str, dict[int, float]](dict)  # of a name in the first vectors of the groups
    for position, vector in enumerate(vectors):
        products = defaultdict[int, float](float)
        for name, weight in vector.items():
            for first, other in weights[name].items():
                products[first] += weight * other
        first = max(products, key=products.__getitem__, default=position)
        if products[first] < MIN_SIMILARITY:
            first = position
            for name, weight in vector.items():
                weights[name][position] = weight
        groups[first].append(position)
    return groups.values()


def _weigh_features(clue: Clue, language: str) -> dict[str, float]:
    fillers = load_words("en", "search.filler_words")
    words = [word for word in parse_words(clue.question, language) if not word.stop]
    features = {part: 1.0 for word in words if word.text.lower() not in fillers for part in word.parts}
    absent = {part for text in clue.absent for word in parse_words(text, language) for part in word.parts}
    features |= dict.fromkeys(absent & features.keys(), _ABSENT_WEIGHT)
    return features | ({f"§{clue.section}": _SECTION_WEIGHT} if clue.section else {})


def _make_vectors(questions: Sequence[Mapping[str, float]]) -> list[Vector]:
    """Return unit vectors, weighted by rarity."""
    counts = Counter(name for features in questions for name in features)
    vectors = list[Vector]()
    for features in questions:
        weights = {name: weight * log(1 + len(questions) / counts[name]) for name, weight in features.items()}
        length = hypot(*weights.values())
        vectors.append({name: weight / length for name, weight in weights.items()})
    return vectors
