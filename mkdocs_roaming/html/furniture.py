"""Furniture: what most pages of a site repeat around their articles, whatever its tags and classes are.

A page is read as a sequence of units: the texts between the borders of blocks. Units that most pages of a sample have
are furniture at the beginning and the end of an article, and anywhere if they are lists of links.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, field
from typing import Literal

from lxml import etree
from lxml import html as lxml_html

from mkdocs_roaming.html.document import parse_body, remove_element
from mkdocs_roaming.html.themes import tag_roles
from mkdocs_roaming.html.visitor import Element

SAMPLE_SIZE = 40
"""Number of pages that show what is furniture."""

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

    is_heading: bool
    nodes: list[tuple[Element, Literal["text", "tail"]]] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    section: Element | None = None
    """The element around a heading with an anchor: a section of the article."""
    links: int = 0
    other_words: int = 0
    """Number of words that are in no link."""

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


def learn_furniture(articles: Iterable[str]) -> tuple[str, ...] | None:
    """Return the texts of furniture in a sample of a site's articles; None if it shows none.

    The result is empty if pages have only links to those before and after them.

    Args:
        articles: The HTML of the articles, as `find_article` returns them.
    """
    pages = [_read_units(parse_body(article)) for article in articles]
    if len(pages) < _MIN_SAMPLE:
        return None
    counts = Counter(key for units in pages for key in {unit.key for unit in units})
    repeated = {key for key, count in counts.items() if count >= _MIN_SHARE * len(pages)}
    return tuple(sorted(repeated)) if any(_find_furniture(units, repeated) for units in pages) else None


def remove_furniture(article: str, furniture: Sequence[str] | None) -> str:
    """Return the HTML of an article without furniture, and without the elements that contain nothing else."""
    if furniture is None:
        return article
    root = parse_body(article)
    found = _find_furniture(_read_units(root), frozenset(furniture))
    if not found:
        return article
    nodes = [node for unit in found for node in unit.nodes]
    for element, place in nodes:
        setattr(element, place, None)
    for element, place in nodes:
        _remove_empty(element if place == "text" else element.getparent(), root)
    return str(lxml_html.tostring(root, encoding="unicode"))


def _remove_empty(element: Element | None, root: Element) -> None:
    """Remove an element without text, or the outermost one around it that has none."""
    empty = None
    while element is not None and element is not root and not any(text.strip() for text in element.itertext()):
        empty, element = element, element.getparent()
    if empty is not None:
        remove_element(empty)


def _read_units(root: Element) -> list[_Unit]:
    roles = tag_roles()
    units = [_Unit(is_heading=False)]
    links = headings = 0

    def add(element: Element, place: Literal["text", "tail"]) -> None:
        text = element.text if place == "text" else element.tail
        if text and (words := text.split()):
            unit = units[-1]
            unit.nodes.append((element, place))
            unit.words += words
            unit.other_words += 0 if links or not any(map(str.isalnum, text)) else len(words)

    walker = etree.iterwalk(root, events=("start", "end"))
    for event, element in walker:
        role = roles.get(element.tag, "span")
        is_border = role not in _INLINE and role != "line-break"
        step = 1 if event == "start" else -1
        if is_border and units[-1].words:
            units.append(_Unit(is_heading=False))
        if event == "start" and role in ("script", "skip"):
            walker.skip_subtree()
            continue
        if event == "start" or role not in ("script", "skip"):
            links += step * (role == "link")
            headings += step * (role == "heading")
        if event == "start":
            units[-1].is_heading = headings > 0
            if role == "heading" and element.get("id"):
                units[-1].section = element.getparent()
            units[-1].links += role == "link"
            add(element, "text")
        elif element is not root:
            add(element, "tail")
    return [unit for unit in units if unit.words]


def _find_furniture(units: Sequence[_Unit], repeated: Set[str]) -> list[_Unit]:
    """Return the units of an article that are furniture."""
    is_repeated = [unit.key in repeated for unit in units]
    count = len(units)
    content = [at for at in range(count) if not (is_repeated[at] or units[at].is_link or units[at].is_pager)]
    if all(units[at].is_heading for at in content):
        return []  # a page of links, or one that all pages repeat
    before = [at for at in range(content[0]) if is_repeated[at] or units[at].is_pager]
    start = before[-1] + 1 if before else 0
    while start and units[start - 1].is_heading:
        start -= 1  # of the first section
    end = count
    while end > content[-1] + 1 and (is_repeated[end - 1] or units[end - 1].is_pager):
        end -= 1
    sections = {unit.section for unit in units[end:]} - {None}
    after = (unit for unit in units[end:] if sections.isdisjoint(unit.nodes[0][0].iterancestors()))
    return [*units[:start], *_find_menus(units[start:end], is_repeated[start:end]), *after]


def _find_menus(units: Sequence[_Unit], is_repeated: Sequence[bool]) -> list[_Unit]:
    """Return the repeated links within an article: several that follow each other."""
    found: list[_Unit] = []
    run: list[_Unit] = []
    for unit, repeated in [*zip(units, is_repeated, strict=True), (_Unit(is_heading=False), False)]:
        if repeated and unit.is_link:
            run.append(unit)
            continue
        found += run if sum(one.links for one in run) >= _MIN_LINKS else []
        run = []
    return found
