"""The sections that a tool's result shows, each on its own, for models that are told of them one by one."""

from __future__ import annotations

from collections.abc import Iterator

from mkdocs_roaming.answer.models import OpenSection
from mkdocs_roaming.expand import Expansion


def opened(expansion: Expansion) -> Iterator[OpenSection]:
    """Give what an expansion shows: the section itself, then those inside, each with its heading for a place."""
    for shown in expansion.shown:
        if shown.text.strip():
            heading = shown.text.lstrip().partition("\n")[0].strip("# \t")
            inside = () if shown.id == expansion.id else (heading[:_LONGEST],)
            yield OpenSection(shown.id, tuple(filter(None, (*expansion.breadcrumb, *inside))), shown.text)


_LONGEST = 120
