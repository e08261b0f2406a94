"""Titles of pages, and the name of the site in them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

_SEPARATOR = re.compile(r"\s+(?:[-|–—·•»/]|::)\s+|:\s+|\s+(?=\()")
"""What is between the title of a page and the name of the site: ` | `, ` :: `, `: `, or the space before `(`."""
_EDGE = " \t\n-|–—·•»/:"
_DOCUMENTATION = re.compile(r"( v?\d[\w.]*)? documentation$")
"""What Sphinx appends to the name: ` 1.2 documentation`."""
_FEW_TITLES = 3
"""Too few to tell the name of a site from a title that is the same by chance."""
_MIN_SHARE = 0.6
_SIMILAR = 0.9
"""Share of the most frequent part: the title of the home page is often the name alone."""
_MAX_CHARS = 300
_NO_TITLE = "<no title>"
"""The title of a page without a heading, by Sphinx."""
_SUFFIX = re.compile(r"\.\w+$")
"""The suffix of a file: `.html`."""


class CommonPart(NamedTuple):
    """The beginning or the end that most titles of a site have, and the name of the site in it."""

    beginning: str = ""
    end: str = ""

    @property
    def name(self) -> str:
        """The part without separators and parentheses."""
        name = (self.beginning or self.end).strip(_EDGE)
        if name.startswith("(") and name.endswith(")"):
            name = name[1:-1]
        return _DOCUMENTATION.sub("", name)

    def remove_from(self, title: str) -> str:
        """Return a title without the part; empty if it has nothing else."""
        own = title.removeprefix(self.beginning).removesuffix(self.end).strip()
        return own if own != _NO_TITLE else ""


def title_from_path(path: str) -> str:
    """Return a title for an untitled page or folder, such as `Install it` for `guide/install-it.html`."""
    last = _SUFFIX.sub("", path).rstrip("/").rpartition("/")[2]
    name = " ".join(last.replace("-", " ").replace("_", " ").split())
    return name[:1].upper() + name[1:] or path or "Home"


def find_common_part(titles: Iterable[str]) -> CommonPart:
    """Return the longest part that most titles have before or after a separator, or as a whole.

    Of one or two titles it is what follows the last separator.
    """
    known = [title[:_MAX_CHARS] for title in titles if title]
    counts = Counter[CommonPart]()
    last_parts: set[CommonPart] = set()
    for title in known:
        whole = CommonPart(end=title)
        counts[whole] += 1
        separators = list(_SEPARATOR.finditer(title))
        for separator in separators:
            counts[CommonPart(beginning=title[: separator.end()])] += 1
            counts[CommonPart(end=title[separator.start() :])] += 1
        if separators:
            last_parts.add(CommonPart(end=title[separators[-1].start() :]))
    if len(known) < _FEW_TITLES:
        return last_parts.pop() if len(last_parts) == 1 else CommonPart()
    most = max(counts.values(), default=0)
    least = max(_MIN_SHARE * len(known), min(most - 1, _SIMILAR * most))
    similar = (part for part, count in counts.items() if count >= least)
    return max(similar, key=lambda part: len("".join(part)), default=CommonPart())
