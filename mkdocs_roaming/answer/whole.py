"""A small site, whole: what fits into a prompt need not be looked for."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

from mkdocs_roaming.answer import prompts
from mkdocs_roaming.answer.models import OpenSection
from mkdocs_roaming.errors import LibraryError
from mkdocs_roaming.roam.navigator import Navigator
from mkdocs_roaming.words import estimate_tokens

WHOLE_SITE = 8_000
"""The estimated tokens below which a site is read whole: the size of an outline."""


@dataclass(frozen=True, slots=True)
class Whole:
    """All sections of a site in page order, and how they are said to a model; it depends on the site alone."""

    sections: tuple[OpenSection, ...]
    text: str
    tokens: int


def whole(navigator: Navigator, most: int) -> Whole | None:
    """Give the site whole where it has fewer than `most` estimated tokens and can be read; None elsewhere."""
    sizes = (place.section.tokens for place in navigator.places)
    if any(total >= most for total in accumulate(sizes, initial=0)):  # of a large site only the first few are counted
        return None
    try:
        read = navigator.library.kept(("whole", navigator.scope), lambda: _read(navigator))
    except LibraryError:
        return None  # what is missing is told where it is asked for
    return read if read.tokens < most else None


def _read(navigator: Navigator) -> Whole:
    places, library = navigator.places, navigator.library
    library.prefetch(places.manifest.pages)
    sections = tuple(
        OpenSection(place.id, places.breadcrumb(place), text) for place in places if (text := library.text(place))
    )
    text = prompts.whole(library.manifest.site, sections)
    return Whole(sections, text, estimate_tokens(text))
