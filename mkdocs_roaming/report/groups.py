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
    features = [_weigh_features(clue, language) for clue in clues]
    counts = Counter(name for weights in features for name in weights)
    rarities = {name: log(1 + len(clues) / count) for name, count in counts.items()}
    groups = defaultdict[object, list[int]](list)
    for group in _cluster(features, rarities):
        sections = Counter(clues[position].section for position in group)
        best = max(sections, key=sections.__getitem__)
        groups[best or group[0]] += group
    return sorted(map(sorted, groups.values()), key=lambda group: (-len(group), group))


def _weigh_features(clue: Clue, language: str) -> dict[str, float]:
    fillers = load_words("en", "search.filler_words")
    absent = {part for text in clue.absent for word in parse_words(text, language) for part in word.parts}
    features: dict[str, float] = {}
    for word in parse_words(clue.question, language):
        if not word.stop and word.text.lower() not in fillers:
            features |= {part: _ABSENT_WEIGHT if part in absent else 1.0 for part in word.parts}
    return features


def _cluster(features: Iterable[Mapping[str, float]], rarities: Mapping[str, float]) -> Iterable[list[int]]:
    """Return the positions of similar questions: each joins the nearest first one of a group, or begins a group."""
    groups = defaultdict[int, list[int]](list)
    index = defaultdict[str, dict[int, float]](dict)  # the weights of a name in the first questions of the groups
    for position, weights in enumerate(features):
        vector = {name: weight * rarities[name] for name, weight in weights.items()}
        length = hypot(*vector.values())
        products = defaultdict[int, float](float)
        for name, weight in vector.items():
            for first, first_weight in index[name].items():
                products[first] += weight / length * first_weight
        first = max(products, key=products.__getitem__, default=position)
        if products[first] < MIN_SIMILARITY:
            first = position
            for name, weight in vector.items():
                index[name][position] = weight / length
        groups[first].append(position)
    return groups.values()
