"""Titles of pages, and the name of the site in them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

_SEPARATOR = re.compile(r"\s+(?:[-|–—·•»/]|::)\s+|:\s+|\s+(?=\()")
_EDGE = re.compile(r"^[\s\-|–—·•»/:]+|[\s\-|–—·•»/:]+$")
_DOCUMENTATION = re.compile(r"( v?\d[\w.]*)? documentation$")  # Sphinx appends it
_FEW_TITLES = 3  # too few to tell the name of a site from a title that is the same by chance
_MIN_SHARE = 0.6
_SIMILAR = 0.9  # the title of the home page is often the name alone
_MAX_CHARS = 300
_NO_TITLE = "<no title>"  # as Sphinx names a page without a heading


class CommonPart(NamedTuple):
    """The beginning or the end that most titles of a site have, and the name of the site in it."""

    beginning: str = ""
    end: str = ""

    @property
    def name(self) -> str:
        """The part without separators and parentheses."""
        name = _EDGE.sub("", self.beginning or self.end)
        if name.startswith("(") and name.endswith(")"):
            name = name[1:-1]
        return _DOCUMENTATION.sub("", name)

    def remove_from(self, title: str) -> str:
        """Return a title without the part; empty if it has nothing else."""
        own = title.removeprefix(self.beginning).removesuffix(self.end).strip()
        return own if own != _NO_TITLE else ""


def title_from_path(path: str) -> str:
    """Return a title for an untitled page or folder, such as `Install it` for `guide/install-it.html`."""
    last = re.sub(r"\.\w+$", "", path).rstrip("/").rpartition("/")[2]
    name = " ".join(re.split(r"[-_\s]+", last)).strip()
    return f"{name[:1].upper()}{name[1:]}" or path or "Home"


def find_common_part(titles: Iterable[str]) -> CommonPart:
    """Return the longest part that most titles have before or after a separator, or as a whole.

    Of one or two titles it is what follows the last separator.
    """
    known = [title[:_MAX_CHARS] for title in titles if title]
    if len(known) < _FEW_TITLES:
        ends = {title[separator.start() :] for title in known for separator in [*_SEPARATOR.finditer(title)][-1:]}
        return CommonPart(end=ends.pop()) if len(ends) == 1 else CommonPart()
    counts = Counter[CommonPart]()
    for title in known:
        counts[CommonPart(end=title)] += 1
        for separator in _SEPARATOR.finditer(title):
            counts[CommonPart(beginning=title[: separator.end()])] += 1
            counts[CommonPart(end=title[separator.start() :])] += 1
    most = max(counts.values(), default=0)
    least = max(_MIN_SHARE * len(known), min(most - 1, _SIMILAR * most))
    similar = (part for part, count in counts.items() if count >= least)
    return max(similar, key=lambda part: len("".join(part)), default=CommonPart())
