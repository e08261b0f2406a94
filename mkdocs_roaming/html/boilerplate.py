"""Boilerplate: what most pages of a site repeat around their articles, whatever its tags and classes are.

A page is read as a sequence of units: the texts between the borders of blocks. Units that most pages of a sample have
are boilerplate at the beginning and the end of an article, and anywhere if they are lists of links.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from itertools import groupby, takewhile
from typing import Literal

from lxml import etree
from lxml import html as lxml_html

from mkdocs_roaming.html.document import parse_body, remove_element
from mkdocs_roaming.html.themes import tag_roles
from mkdocs_roaming.html.visitor import Element

SAMPLE_SIZE = 40
"""Number of pages that show what is boilerplate."""

_MIN_SAMPLE = 8
_MIN_SHARE = 0.6
_MIN_LINKS = 3
_MAX_PAGER_CHARS = 300
_INLINE = frozenset(
    {"span", "a", "link", "code-span", "strong", "emphasis", "tag", "image", "math", "labels", "strike"}
)
_PAGER = re.compile(r"[\W\d]*(?:previous|prev|next|up|home|top|contents|index|back)\b", re.IGNORECASE)


@dataclass(slots=True)
class _Unit:
    """The text between two borders of blocks, and where it is."""

    is_heading: bool = False
    nodes: list[tuple[Element, Literal["text", "tail"]]] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    section: Element | None = None
    """The element around a heading with an anchor: a section of the article."""
    links: int = 0
    other_words: int = 0
    """Number of words that are in no link."""

    def add(self, element: Element, place: Literal["text", "tail"], *, in_link: bool) -> None:
        """Add the text in or behind an element."""
        text = element.text if place == "text" else element.tail
        if text and (words := text.split()):
            self.nodes.append((element, place))
            self.words += words
            self.other_words += 0 if in_link or not any(map(str.isalnum, text)) else len(words)

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
    counts = Counter(key for units in pages for key in {unit.key for unit in units})
    repeated = {key for key, count in counts.items() if count >= _MIN_SHARE * len(pages)}
    return tuple(sorted(repeated)) if any(_find_boilerplate(units, repeated) for units in pages) else None


def remove_boilerplate(article: str, boilerplate: Sequence[str] | None) -> str:
    """Return the HTML of an article without boilerplate, and without the elements that contain nothing else."""
    if boilerplate is None:
        return article
    root = parse_body(article)
    found = _find_boilerplate(_read_units(root), frozenset(boilerplate))
    if not found:
        return article
    nodes = [node for unit in found for node in unit.nodes]
    for element, place in nodes:
        setattr(element, place, None)
    _remove_empty(root, {element if place == "text" else element.getparent() for element, place in nodes})
    return str(lxml_html.tostring(root, encoding="unicode"))


def _remove_empty(root: Element, changed: Set[Element | None]) -> None:
    """Remove the elements around changed ones that have no text any more."""
    elements = list(root.iter("*"))
    full: set[Element | None] = {root}
    around: set[Element | None] = set()
    for element in reversed(elements):  # each one after those in it
        if element in full or (element.text and element.text.strip()):
            full |= {element, element.getparent()}
        if element.tail and element.tail.strip():
            full.add(element.getparent())
        if element in changed or element in around:
            around |= {element, element.getparent()}
    for element in elements:
        if element in around and element not in full:
            remove_element(element)


def _read_units(root: Element) -> list[_Unit]:
    roles = tag_roles()
    units = [_Unit()]
    links = headings = 0
    walker = etree.iterwalk(root, events=("start", "end"))
    for event, element in walker:
        role = roles.get(element.tag, "span")
        is_start = event == "start"
        if role not in _INLINE and units[-1].words:
            units.append(_Unit())
        unit = units[-1]
        if role in ("script", "skip"):
            if is_start:
                walker.skip_subtree()
                continue
        else:
            links += (role == "link") * (1 if is_start else -1)
            headings += (role == "heading") * (1 if is_start else -1)
        if is_start:
            unit.is_heading = headings > 0
            unit.links += role == "link"
            unit.section = element.getparent() if role == "heading" and element.get("id") else unit.section
            unit.add(element, "text", in_link=links > 0)
        elif element is not root:
            unit.add(element, "tail", in_link=links > 0)
    return [unit for unit in units if unit.words]


def _find_boilerplate(units: Sequence[_Unit], repeated: Set[str]) -> list[_Unit]:
    """Return the units of an article that are boilerplate."""
    is_repeated = [unit.key in repeated for unit in units]
    is_edge = [unit.is_pager or known for unit, known in zip(units, is_repeated, strict=True)]
    content = [at for at, unit in enumerate(units) if not (is_edge[at] or unit.is_link)]
    if all(units[at].is_heading for at in content):
        return []  # a page of links, or one that all pages repeat
    start, end = _find_edges(units, is_edge, content[0], content[-1])
    sections = {unit.section for unit in units[end:]} - {None}
    after = (unit for unit in units[end:] if sections.isdisjoint(unit.nodes[0][0].iterancestors()))
    return [*units[:start], *_find_menus(units[start:end], is_repeated[start:end]), *after]


def _find_edges(units: Sequence[_Unit], is_edge: Sequence[bool], first: int, last: int) -> tuple[int, int]:
    """Return where the article begins and ends, around its first and last unit that is certainly content."""
    start = max((at + 1 for at in range(first) if is_edge[at]), default=0)
    while start and units[start - 1].is_heading:
        start -= 1  # of the first section
    after = takewhile(is_edge.__getitem__, range(len(units) - 1, last, -1))
    return start, len(units) - sum(1 for _ in after)


def _find_menus(units: Sequence[_Unit], is_repeated: Sequence[bool]) -> Iterator[_Unit]:
    """Yield the repeated links within an article: several that follow each other."""
    pairs = zip(units, is_repeated, strict=True)
    for is_menu, run in groupby(pairs, key=lambda pair: pair[1] and pair[0].is_link):
        menu = [unit for unit, _ in run]
        if is_menu and sum(unit.links for unit in menu) >= _MIN_LINKS:
            yield from menu
