"""Which of the sites that a question may be about it is about: those that hold its words in one place.

The catalogue knows which words a site holds, not which of them stand together: `mount` and `static` are words of many
sites, a section on mounting static files is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mkdocs_roaming.errors import LibraryError
from mkdocs_roaming.roam.library import Library
from mkdocs_roaming.roam.search import Hit
from mkdocs_roaming.words import terms


@dataclass(frozen=True, slots=True)
class Telling:
    """A word of a question that tells something: the terms it may leave, and how rare it is among the sites."""

    terms: frozenset[str]
    rarity: float


def fit(library: Library, hits: Iterable[Hit], words: Sequence[Telling]) -> float:
    """Give by how much a site's score counts: what share of a question's words, by rarity, its best hit holds."""
    asked = sum(word.rarity for word in words)
    if not asked:
        return 1.0
    held = titled = 0.0
    language = library.manifest.site.language
    for hit in hits:
        place = hit.place
        above = " / ".join(library.places.breadcrumb(place))
        try:
            text = library.text(place)
        except LibraryError:
            text = ""
        own, title = set(terms(f"{above} / {text}", language)), set(terms(place.section.title, language))
        held = max(held, sum(word.rarity for word in words if word.terms & own))
        titled = max(titled, sum(word.rarity for word in words if word.terms & title))
    return (held / asked) ** 2 * (1 + _TITLE * titled / asked)


_TITLE = 0.5
"""What a word in the title counts beside one in the text. This and the square: benchmarks/fleet_sites.py."""
