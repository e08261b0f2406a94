"""Boilerplate: what most pages of a site repeat around their articles, whatever its tags and classes are.

A page is read as a sequence of units: the texts between the borders of blocks. Units that most pages of a sample have
are boilerplate at the beginning and the end of an article, and anywhere if they are lists of links.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from itertools import groupby
from typing import Literal

from lxml import etree
from lxml import html as lxml_html

from mkdocs_roaming.html.document import parse_body, remove_element
from mkdocs_roaming.html.themes import tag_roles
from mkdocs_roaming.html.visitor import Element

SAMPLE_SIZE = 40
"""Number of pages that show what is boilerplate."""

_MIN_SAMPLE = 8
"""Number of pages below which a repeated text may be a coincidence."""
_MIN_SHARE = 0.6
"""Share of the pages of a sample that have a text of boilerplate."""
_MIN_LINKS = 3
"""Number of links of a menu within an article."""
_MAX_PAGER_CHARS = 300
_INLINE = frozenset(
    {"span", "a", "link", "code-span", "strong", "emphasis", "tag", "image", "math", "labels", "strike"}
)
_PAGER = re.compile(r"[\W\d]*(?:previous|prev|next|up|home|top|contents|index|back)\b", re.IGNORECASE)
"""The beginning of a text that leads to the pages before and after: `« Previous`, `Next`."""

Place = Literal["text", "tail"]
"""Where a text is: in an element, or behind it."""


@dataclass(slots=True)
class _Unit:
    """The text between two borders of blocks, and where it is."""

    is_heading: bool = False
    nodes: list[tuple[Element, Place]] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    section: Element | None = None
    """The element around a heading with an anchor: a section of the article."""
    links: int = 0
    other_words: int = 0
    """Number of words that are in no link."""

    def add(self, element: Element, place: Place, *, in_link: bool) -> None:
        """Add the text in or behind an element."""
        text = element.text if place == "text" else element.tail
        words = text.split() if text else []
        if not text or not words:
            return
        self.nodes.append((element, place))
        self.words += words
        if not in_link and any(map(str.isalnum, text)):
            self.other_words += len(words)

    @property
    def key(self) -> str:
        """The text on one line."""
        return " ".join(self.words)

    @property
    def is_link(self) -> bool:
        """Whether it consists of links."""
        return self.links > 0 and not self.other_words and not self.is_heading

    @property
    def is_pager(self) -> bool:
        """Whether it leads to the pages before and after this one."""
        key = self.key
        return self.links > 0 and len(key) <= _MAX_PAGER_CHARS and _PAGER.match(key) is not None


def learn_boilerplate(articles: Iterable[str]) -> tuple[str, ...] | None:
    """Return the texts of boilerplate in a sample of a site's articles; None if it shows none.

    The result is empty if pages have only links to those before and after them.

    Args:
        articles: The HTML of the articles, as `find_article` returns them.
    """
    sample = list(articles)
    if len(sample) < _MIN_SAMPLE:
        return None
    pages = [_read_units(parse_body(article)) for article in sample]
    counts: Counter[str] = Counter()
    for units in pages:
        counts.update({unit.key for unit in units})
    repeated = {key for key, count in counts.items() if count >= _MIN_SHARE * len(pages)}
    has_boilerplate = any(_find_boilerplate(units, repeated) for units in pages)
    return tuple(sorted(repeated)) if has_boilerplate else None


def remove_boilerplate(article: str, boilerplate: Sequence[str] | None) -> str:
    """Return the HTML of an article without boilerplate, and without the elements that contain nothing else."""
    if boilerplate is None:
        return article
    root = parse_body(article)
    units = _find_boilerplate(_read_units(root), frozenset(boilerplate))
    if not units:
        return article
    changed: set[Element | None] = set()
    for unit in units:
        for element, place in unit.nodes:
            setattr(element, place, None)
            changed.add(element if place == "text" else element.getparent())
    _remove_empty(root, changed)
    return str(lxml_html.tostring(root, encoding="unicode"))


def _remove_empty(root: Element, changed: Set[Element | None]) -> None:
    """Remove the elements around changed ones that have no text any more."""
    elements = list(root.iter("*"))
    full: set[Element | None] = {root}
    around = set(changed)
    for element in reversed(elements):  # the elements in it come before
        parent = element.getparent()
        if element in full or (element.text and element.text.strip()):
            full |= {element, parent}
        if element.tail and element.tail.strip():
            full.add(parent)
        if element in around:
            around.add(parent)
    for element in elements:
        if element in around and element not in full:
            remove_element(element)


def _read_units(root: Element) -> list[_Unit]:
    roles = tag_roles()
    units = [_Unit()]
    links = 0
    headings = 0
    walker = etree.iterwalk(root, events=("start", "end"))
    for event, element in walker:
        role = roles.get(element.tag, "span")
        is_start = event == "start"
        if role not in _INLINE and units[-1].words:
            units.append(_Unit())
        unit = units[-1]
        if is_start and role in ("script", "skip"):
            walker.skip_subtree()
            continue
        step = 1 if is_start else -1
        if role == "link":
            links += step
        if role == "heading":
            headings += step
        if is_start:
            unit.is_heading = headings > 0
            unit.links += role == "link"
            if role == "heading" and element.get("id"):
                unit.section = element.getparent()
            unit.add(element, "text", in_link=links > 0)
        elif element is not root:
            unit.add(element, "tail", in_link=links > 0)
    return [unit for unit in units if unit.words]


def _find_boilerplate(units: Sequence[_Unit], repeated: Set[str]) -> list[_Unit]:
    """Return the units of an article that are boilerplate."""
    is_repeated = [unit.key in repeated for unit in units]
    is_edge = [known or unit.is_pager for unit, known in zip(units, is_repeated, strict=True)]
    content = [at for at, unit in enumerate(units) if not (is_edge[at] or unit.is_link)]
    if all(units[at].is_heading for at in content):
        return []  # a page of links, or one that all pages repeat
    start, end = _find_edges(units, is_edge, content[0], content[-1])
    sections = {unit.section for unit in units[end:]} - {None}
    boilerplate = [*units[:start], *_find_menus(units[start:end], is_repeated[start:end])]
    for unit in units[end:]:
        element, _ = unit.nodes[0]
        if sections.isdisjoint(element.iterancestors()):
            boilerplate.append(unit)
    return boilerplate


def _find_edges(units: Sequence[_Unit], is_edge: Sequence[bool], first: int, last: int) -> tuple[int, int]:
    """Return where the article begins and ends, around its first and last unit that is certainly content."""
    start = first
    while start and not is_edge[start - 1]:
        start -= 1
    while start and units[start - 1].is_heading:
        start -= 1  # of the first section
    end = len(units)
    while end > last + 1 and is_edge[end - 1]:
        end -= 1
    return start, end


def _find_menus(units: Sequence[_Unit], is_repeated: Sequence[bool]) -> Iterator[_Unit]:
    """Yield the repeated links within an article: several that follow each other."""
    pairs = zip(units, is_repeated, strict=True)
    for is_menu, run in groupby(pairs, key=lambda pair: pair[1] and pair[0].is_link):
        menu = [unit for unit, _ in run]
        if is_menu and sum(unit.links for unit in menu) >= _MIN_LINKS:
            yield from menu
