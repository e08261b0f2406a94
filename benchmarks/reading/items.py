"""What a page holds, whatever it was read from: countable items for each measure."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

MEASURES = (
    *("headings", "code blocks", "languages", "code spans", "tab labels", "admonitions", "tables", "cells"),
    *("alignments", "list items", "tasks", "terms", "images", "media", "math", "footnotes", "emphasis", "marked text"),
    *("links", "links in code", "words"),
)


@dataclass(slots=True)
class Items:
    """The items of one page by measure. An item is a text, so that a person can look for it on the page."""

    of: dict[str, Counter[str]] = field(default_factory=lambda: {measure: Counter() for measure in MEASURES})
    hrefs: list[str] = field(default_factory=list)
    """Addresses of links, as written."""
    code_hrefs: list[str] = field(default_factory=list)
    """Addresses of links within code blocks, which Markdown has no way to write."""
    signatures: Counter[str] = field(default_factory=Counter)
    """Signatures in the headings of API objects, which may stand as code below instead."""
    spare: Counter[str] = field(default_factory=Counter)
    """Words that Markdown has to say in addition: names of such objects twice, addresses of films and icons."""
    has_headline: bool = False

    def add(self, measure: str, item: str) -> None:
        """Count an item that is not empty."""
        if item:
            self.of[measure][item] += 1

    def heading(self, level: int, text: str, *, may_be_title: bool = True) -> None:
        """Count a heading. The page's first H1 is its title; a further one may be an H2: GFM pages have one title."""
        if not text:
            return
        title = level == 1 and may_be_title and not self.has_headline
        self.has_headline = self.has_headline or title
        self.add("headings", f"H{1 if title else max(level, 2)} {text}")

    def join(self, other: Items) -> None:
        """Take in what a part of the page holds."""
        for measure, counts in other.of.items():
            self.of[measure].update(counts)
        self.hrefs.extend(other.hrefs)


def clean(text: str) -> str:
    """Give text as it is seen: white space collapsed, what has no width gone."""
    return " ".join(text.translate(_INVISIBLE).split())


def words(text: str) -> list[str]:
    """Give the words of a text: runs of letters, digits and underscores, in one case."""
    return _WORD.findall(text.translate(_INVISIBLE).casefold())


def beginning(text: str, count: int = 8) -> str:
    """Give the first words of a longer text: enough to know it by, whatever stands further down in it."""
    return " ".join(words(text)[:count])


PART = "\ue001"
"""Parts the parts of an item that may be written as several."""

GFM_KINDS = frozenset({"note", "tip", "important", "warning", "caution"})

_WORD = re.compile(r"\w+")
_INVISIBLE = dict.fromkeys(map(ord, "\u200b\u00ad\ufeff\u2060\u200c"))
