"""Countable items of a page for each measure, independent of the format that they were extracted from."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

MEASURES = (
    "headings",
    "code blocks",
    "code languages that the HTML names",
    "code spans",
    "tab labels",
    "admonitions",
    "tables",
    "table cells",
    "alignments",
    "list items",
    "tasks",
    "terms",
    "parameters",
    "images",
    "media",
    "formulas",
    "footnotes",
    "emphasis",
    "marked text",
    "links",
    "links in code",
    "words",
)


@dataclass(slots=True)
class Items:
    """Items of one page by measure. Each item is a text that can be found on the page."""

    counts: dict[str, Counter[str]] = field(default_factory=lambda: {measure: Counter() for measure in MEASURES})
    hrefs: list[str] = field(default_factory=list)
    """Link URLs as written."""
    code_hrefs: list[str] = field(default_factory=list)
    """URLs of links inside code blocks, which Markdown cannot express."""
    signatures: Counter[str] = field(default_factory=Counter)
    """Signatures of API objects, which may follow the heading as code instead."""
    object_names: Counter[str] = field(default_factory=Counter)
    """Names of API objects that HTML does not mark as headings."""
    optional_words: Counter[str] = field(default_factory=Counter)
    """Additional words that Markdown needs: repeated names of API objects, URLs of videos and icons."""
    has_title: bool = False
    heading_order: list[tuple[int, str]] = field(default_factory=list)
    """Level and text of the headings in order."""

    def add(self, measure: str, item: str) -> None:
        """Count an item unless it is empty."""
        if item:
            self.counts[measure][item] += 1

    def add_heading(self, level: int, text: str, *, may_be_title: bool = True) -> None:
        """Count a heading.

        The first H1 of the page is its title. Further ones count as H2, because a GFM page has one title.
        """
        if not text:
            return
        is_title = level == 1 and may_be_title and not self.has_title
        self.has_title = self.has_title or is_title
        self.heading_order.append((1 if is_title else max(level, 2), text))
        self.add("headings", "H{} {}".format(*self.heading_order[-1]))

    def merge(self, other: Items) -> None:
        """Add the items and link URLs of a part of the page."""
        for measure, counter in other.counts.items():
            self.counts[measure].update(counter)
        self.hrefs.extend(other.hrefs)


def normalize_text(text: str) -> str:
    """Return the visible text: whitespace collapsed, zero-width characters removed."""
    return " ".join(text.translate(_INVISIBLE).split())


def split_words(text: str) -> list[str]:
    """Return the words of a text: case-folded runs of letters, digits and underscores."""
    return _WORD.findall(text.translate(_INVISIBLE).casefold())


def first_words(text: str, count: int = 8) -> str:
    """Return the first words of a text, which identify it."""
    return " ".join(split_words(text)[:count])


PART_SEPARATOR = "\ue001"
"""Separates the parts of an item that may be written as several items."""

GFM_KINDS = frozenset({"note", "tip", "important", "warning", "caution"})

_WORD = re.compile(r"\w+")
_INVISIBLE = dict.fromkeys(map(ord, "\u200b\u00ad\ufeff\u2060\u200c"))
