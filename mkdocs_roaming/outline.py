"""The manifest as collapsed text within a token budget: what a model reads first.

One order of lines that does not depend on the budget: nav groups, then pages, then the inner outlines of pages in
blocks of at most 40 lines. An outline is the longest beginning of that order that fits, shown in nav order; so a
larger budget only adds. The idea of a ranked map cut to a budget is aider's repomap; the comment style is that of
John Berryman's Roaming RAG.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.manifest import NavEntry, PageEntry
from mkdocs_roaming.places import Place, Places
from mkdocs_roaming.words import estimate_tokens

BUDGET = 8000
SMALLEST = 200
BLOCK = 40
"""The most lines of a page's inner outline that open at once."""

Style = Literal["compact", "comment"]

_LEGEND = {
    "compact": "[id] Title — opening · keywords. “+12 inside”: closed, open with read_outline(id) or expand_sections.",
    "comment": "<!-- Collapsed outline: titles and openings only. -->",
}


def outline(
    places: Places,
    *,
    budget: int = BUDGET,
    branch: str | None = None,
    style: Style = "compact",
    rank: Sequence[str] = (),
) -> str:
    """Give the outline of a site, or of one branch of it, in at most `budget` estimated tokens.

    `branch` is the id of a nav group, a page or a section, or `<id>+`: the siblings from that id on, as a line
    `[<id>+] 30 more` names them. `rank` names page ids in the order in which their inner outlines open; nav order
    where it is silent. Raises UsageError for a budget below 200 and for an unknown branch.
    """
    if budget < SMALLEST:
        raise UsageError(f"an outline needs a budget of at least {SMALLEST} tokens, not {budget}")
    root = _tree(places)
    if branch is not None:
        root = _branch(root, branch, places)
    return _Drawing(root, budget, style).fill(_order(root, rank))


def page_outlines(pages: Sequence[PageEntry], *, budget: int = 2500, most: int = BLOCK) -> str:
    """Give the inner outlines of some pages, best first, at most `most` lines a page, in at most `budget` tokens."""
    lines: list[str] = []
    left = budget
    for page in pages:
        block = [
            _line(_section_line(Place(page, at)), "compact", min(page.sections[at].level, 6) - 1)
            for at in range(min(len(page.sections), most))
        ]
        cost = sum(map(estimate_tokens, block))
        if cost > left:
            break
        left -= cost
        lines += block
    return "".join(lines)


# The tree of lines


@dataclass(slots=True, eq=False)
class _Line:
    """A line of the outline and those below it."""

    id: str
    title: str
    opening: str = ""
    keywords: tuple[str, ...] = ()
    children: list[_Line] = field(default_factory=list)
    kind: Literal["root", "group", "page", "section"] = "section"
    level: int = 0
    parent: _Line | None = None
    inside: int = 0


def _tree(places: Places) -> _Line:
    manifest = places.manifest
    root = _Line("", manifest.site.name, kind="root")
    pages = {page.path: page for page in manifest.pages}

    def add(entry: NavEntry) -> _Line | None:
        if entry.page is not None:
            page = pages.pop(entry.page, None)
            if page is None:
                return None
            line = _page_line(page)
        elif entry.id:
            line = _Line(entry.id, entry.title, kind="group")
        else:
            return None  # an outside link cannot be opened
        line.children += [child for below in entry.children if (child := add(below))]
        return line

    root.children = [line for entry in manifest.nav if (line := add(entry))]
    root.children += [_page_line(page) for page in pages.values()]
    _link(root, 0)
    return root


def _link(line: _Line, level: int) -> None:
    """Tell every line its parent, its depth and how many lines it hides when closed."""
    line.level = level
    for child in line.children:
        child.parent = line
        _link(child, level + 1)
    line.inside = sum(1 + child.inside for child in line.children)


def _page_line(page: PageEntry) -> _Line:
    line = _section_line(Place(page, 0))
    line.kind = "page"
    stack = [(page.sections[0].level, line)]
    for at, section in enumerate(page.sections[1:], 1):
        while len(stack) > 1 and stack[-1][0] >= section.level:
            stack.pop()
        child = _section_line(Place(page, at))
        stack[-1][1].children.append(child)
        stack.append((section.level, child))
    return line


def _section_line(place: Place) -> _Line:
    section = place.section
    opening = place.page.description if place.at == 0 and place.page.description else section.opening
    return _Line(section.id, section.title, opening, section.keywords)


def _branch(root: _Line, branch: str, places: Places) -> _Line:
    rest = branch.endswith("+")
    id_ = branch.removesuffix("+")
    if (place := places.get(id_)) is not None:
        id_ = place.id
    found = next((line for line in _walk(root) if line.id == id_), None)
    if found is None:
        raise UsageError(f"no nav group, page or section {branch!r}; take an id from the outline")
    if rest:
        above = found.parent or root
        found = _Line("", above.title, kind="root", children=above.children[above.children.index(found) :])
    else:
        found = _Line("", found.title, kind="root", children=[found])
    _link(found, 0)
    return found


def _walk(line: _Line) -> Iterator[_Line]:
    waiting = [line]
    while waiting:
        line = waiting.pop()
        yield line
        waiting += reversed(line.children)


# Which lines open first


def _order(root: _Line, rank: Sequence[str]) -> Iterator[list[_Line]]:
    """Give the blocks of lines in the order in which they open; no block depends on the budget."""
    lines = [line for line in _walk(root) if line is not root]
    first = {id(line) for line in root.children}
    groups = [line for line in lines if line.kind == "group"]
    groups.sort(key=lambda line: line.level)
    yield from ([line] for line in groups)
    tops = [line for line in lines if line.kind != "group" and (line.kind == "page" or id(line) in first)]
    yield from ([line] for line in tops)
    places = {id_: at for at, id_ in enumerate(rank)}
    for line in sorted(tops, key=lambda line: places.get(line.id, len(places))):
        yield from _blocks([child for child in line.children if child.kind == "section"])


def _blocks(children: list[_Line]) -> Iterator[list[_Line]]:
    """Give an inner outline whole where it has at most 40 lines, else level by level, 40 lines at a time."""
    whole = [line for child in children for line in _walk(child)]
    if len(whole) <= BLOCK:
        if whole:
            yield whole
        return
    for at in range(0, len(children), BLOCK):
        yield children[at : at + BLOCK]
    for child in children:
        yield from _blocks(child.children)


# Fitting and drawing


class _Drawing:
    """The lines shown so far, and what they cost: a sum over lines, so never less than the text's own estimate."""

    def __init__(self, root: _Line, budget: int, style: Style) -> None:
        self.root, self.budget, self.style = root, budget, style
        self.shown: set[int] = set()
        self.cost = estimate_tokens(_LEGEND[style] + "\n") + self._closed_cost(root)

    def fill(self, blocks: Iterator[list[_Line]]) -> str:
        for block in blocks:
            added = self._open(block)
            if self.cost > self.budget:
                self._close(added)
                break
        return "".join([_LEGEND[self.style] + "\n", *self._draw(self.root)])

    def _open(self, block: Sequence[_Line]) -> list[_Line]:
        parents = {id(line.parent): line.parent for line in block if line.parent}
        self.cost -= sum(map(self._closed_cost, parents.values()))
        for line in block:
            self.shown.add(id(line))
            self.cost += estimate_tokens(_line(line, self.style, line.level - 1))
        touched = parents | {id(line): line for line in block}
        self.cost += sum(map(self._closed_cost, touched.values()))
        return list(block)

    def _close(self, block: Sequence[_Line]) -> None:
        self.shown.difference_update(map(id, block))

    def _closed_cost(self, line: _Line) -> int:
        return sum(estimate_tokens(text) for _, text in self._closed(line)) if line.children else 0

    def _closed(self, line: _Line) -> Iterator[tuple[int, str]]:
        """Give what tells of a line's children that are not shown: where among them, and the text."""
        hidden: list[_Line] = []
        if line.kind != "root" and not any(id(child) in self.shown for child in line.children):
            yield 0, _inside(line, self.style)
            return
        start = 0
        for at, child in enumerate([*line.children, None]):
            if child is not None and id(child) not in self.shown:
                start = start if hidden else at
                hidden.append(child)
            elif hidden:
                count = sum(1 + other.inside for other in hidden)
                yield start, _rest(hidden[0].id, count, line.level, self.style)
                hidden = []

    def _draw(self, line: _Line) -> Iterator[str]:
        closed = dict(self._closed(line)) if line.children else {}
        if line.kind != "root" and not any(id(child) in self.shown for child in line.children):
            yield _line(line, self.style, line.level - 1, closed.get(0, ""))
            return
        if line.kind != "root":
            yield _line(line, self.style, line.level - 1)
        for at, child in enumerate(line.children):
            if id(child) in self.shown:
                yield from self._draw(child)
            elif at in closed:
                yield closed[at]


def _line(line: _Line, style: Style, depth: int, inside: str = "") -> str:
    about = " · ".join(part for part in (line.opening, ", ".join(line.keywords)) if part)
    if style == "comment":
        call = "read_outline" if line.kind == "group" else "expand_section"
        comment = f'<!-- Section collapsed - expand with {call}("{line.id}") -->'
        return f"{'#' * min(depth + 1, 6)} {line.title}\n{about}{' ' if about else ''}{comment}{inside}\n"
    return f"{'  ' * depth}[{line.id}] {line.title}{' — ' + about if about else ''}{inside}\n"


def _inside(line: _Line, style: Style) -> str:
    return f" <!-- +{line.inside} inside -->" if style == "comment" else f" +{line.inside} inside"


def _rest(id_: str, count: int, depth: int, style: Style) -> str:
    if style == "comment":
        return f'<!-- {count} more - read_outline("{id_}+") -->\n'
    return f"{'  ' * depth}[{id_}+] {count} more\n"
