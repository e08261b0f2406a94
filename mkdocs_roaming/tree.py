"""A site as a tree of outline lines: nav groups, pages, sections."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.manifest import NavEntry, PageEntry
from mkdocs_roaming.places import Place, Places


@dataclass(slots=True, eq=False)
class Line:
    """A line of the outline and those below it: `cost` is its own, in tokens, `weight` that of all of them.

    `at` is its position among its siblings, `until` how many lines stand in its first 0, 1, 2 … children.
    """

    id: str
    title: str
    opening: str = ""
    keywords: tuple[str, ...] = ()
    children: list[Line] = field(default_factory=list)
    kind: Literal["root", "group", "page", "section"] = "section"
    level: int = 0
    parent: Line | None = None
    inside: int = 0
    cost: int = 0
    weight: int = 0
    at: int = 0
    until: list[int] = field(default_factory=list)


def site_lines(places: Places) -> Line:
    """Give the lines of a whole site below a root that is no line itself."""
    manifest = places.manifest
    root = Line("", manifest.site.name, kind="root")
    pages = {page.path: page for page in manifest.pages}

    def add(entry: NavEntry) -> Line | None:
        if entry.page is not None:
            page = pages.pop(entry.page, None)
            if page is None:
                return None
            line = _page_line(page)
        elif entry.id:
            line = Line(entry.id, entry.title, kind="group")
        else:
            return None  # an outside link cannot be opened
        line.children += [child for below in entry.children if (child := add(below))]
        return line

    root.children = [line for entry in manifest.nav if (line := add(entry))]
    root.children += [_page_line(page) for page in pages.values()]
    _link(root, 0)
    return root


def _link(line: Line, level: int) -> None:
    """Tell every line its parent, its depth and how many lines it hides when closed."""
    line.level = level
    line.until = [0]
    for at, child in enumerate(line.children):
        child.parent, child.at = line, at
        _link(child, level + 1)
        line.until.append(line.until[-1] + 1 + child.inside)
    line.inside = line.until[-1]


def _page_line(page: PageEntry) -> Line:
    line = section_line(Place(page, 0))
    line.kind = "page"
    stack = [(page.sections[0].level, line)]
    for at, section in enumerate(page.sections[1:], 1):
        while len(stack) > 1 and stack[-1][0] >= section.level:
            stack.pop()
        child = section_line(Place(page, at))
        stack[-1][1].children.append(child)
        stack.append((section.level, child))
    return line


def section_line(place: Place) -> Line:
    """Give the line of one section, without those below it."""
    section = place.section
    opening = place.page.description if place.at == 0 and place.page.description else section.opening
    return Line(section.id, section.title, opening, section.keywords)


def branch_lines(root: Line, branch: str, places: Places) -> Line:
    """Give the lines of a branch, below a root of its own: an id's, or with `<id>+` those of its siblings from it on.

    Raises UsageError for a branch that is not there.
    """
    rest = branch.endswith("+")
    id_ = branch.removesuffix("+")
    if (place := places.get(id_)) is not None:
        id_ = place.id
    found = next((line for line in walk(root) if line.id == id_ and line is not root), None)
    if found is None:
        raise UsageError(f"no nav group, page or section {branch!r}; take an id from the outline")
    if rest:
        above = found.parent or root
        found = Line("", above.title, kind="root", children=above.children[above.children.index(found) :])
    else:
        found = Line("", found.title, kind="root", children=[found])
    _link(found, 0)
    return found


def walk(line: Line) -> Iterator[Line]:
    """Give a line and all below it, in the order of the text."""
    waiting = [line]
    while waiting:
        line = waiting.pop()
        yield line
        waiting += reversed(line.children)
