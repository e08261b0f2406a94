"""A site as a tree of outline lines: nav groups, pages, sections."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.manifest.lookup import SectionIndex, SectionRef
from mkdocs_roaming.manifest.models import NavEntry, PageEntry
from mkdocs_roaming.text.markdown import to_single_line, truncate_at_word
from mkdocs_roaming.text.tokenizer import estimate_tokens


@dataclass(slots=True, eq=False)
class OutlineLine:
    """A line of the outline and those below it: `cost` is its own, in tokens, `weight` that of all of them.

    `at` is its position among its siblings, `until` how many lines stand in its first 0, 1, 2 … children.
    """

    id: str
    title: str
    opening: str = ""
    keywords: tuple[str, ...] = ()
    children: list[OutlineLine] = field(default_factory=list)
    kind: Literal["root", "group", "page", "section"] = "section"
    level: int = 0
    parent: OutlineLine | None = None
    inside: int = 0
    cost: int = 0
    weight: int = 0
    at: int = 0
    until: list[int] = field(default_factory=list)


def site_lines(places: SectionIndex) -> OutlineLine:
    """Give the lines of a whole site below a root that is no line itself."""
    manifest = places.manifest
    root = OutlineLine("", manifest.site.name, kind="root")
    pages = {page.path: page for page in manifest.pages}

    def add(entry: NavEntry) -> OutlineLine | None:
        if entry.page is not None:
            page = pages.pop(entry.page, None)
            if page is None:
                return None
            line = _page_line(page)
        elif entry.id:
            line = OutlineLine(entry.id, entry.title, kind="group")
        else:
            return None  # an outside link cannot be opened
        line.children += [child for below in entry.children if (child := add(below))]
        return line

    root.children = [line for entry in manifest.nav if (line := add(entry))]
    root.children += [_page_line(page) for page in pages.values()]
    _link(root, 0)
    return root


def _link(line: OutlineLine, level: int) -> None:
    """Tell every line its parent, its depth and how many lines it hides when closed."""
    line.level = level
    line.until = [0]
    for at, child in enumerate(line.children):
        child.parent, child.at = line, at
        _link(child, level + 1)
        line.until.append(line.until[-1] + 1 + child.inside)
    line.inside = line.until[-1]


def _page_line(page: PageEntry) -> OutlineLine:
    line = section_line(SectionRef(page, 0))
    line.kind = "page"
    stack = [(page.sections[0].level, line)]
    for at, section in enumerate(page.sections[1:], 1):
        while len(stack) > 1 and stack[-1][0] >= section.level:
            stack.pop()
        child = section_line(SectionRef(page, at))
        stack[-1][1].children.append(child)
        stack.append((section.level, child))
    return line


def section_line(place: SectionRef) -> OutlineLine:
    """Give the line of one section, without those below it."""
    section = place.section
    opening = place.page.description if place.position == 0 and place.page.description else section.opening
    return OutlineLine(section.id, section.title, opening, section.keywords)


def branch_lines(root: OutlineLine, branch: str, places: SectionIndex) -> OutlineLine:
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
        found = OutlineLine("", above.title, kind="root", children=above.children[above.children.index(found) :])
    else:
        found = OutlineLine("", found.title, kind="root", children=[found])
    _link(found, 0)
    return found


def walk(line: OutlineLine) -> Iterator[OutlineLine]:
    """Give a line and all below it, in the order of the text."""
    waiting = [line]
    while waiting:
        line = waiting.pop()
        yield line
        waiting += reversed(line.children)


# MERGED mkdocs_roaming.outline:
# The manifest as collapsed text within a token budget: what a model reads first.
#
# One order of lines that does not depend on the budget: nav groups, then pages, then the inner outlines of
# pages in
# blocks of at most 40 lines. An outline is the longest beginning of that order that fits, shown in nav order;
# so a
# larger budget only adds. The idea of a ranked map cut to a budget is aider's repomap; the comment style is
# that of
# John Berryman's Roaming RAG.


OUTLINE_BUDGET = 8000


MIN_OUTLINE_BUDGET = 200


MAX_BLOCK_LINES = 40


"""The most lines of a page's inner outline that open at once."""


Style = Literal["compact", "comment"]


_LEGEND = {
    "compact": "[id] Title — opening · keywords. “+12 inside” is closed: read_outline(id) or expand_sections opens it. "
    "“[id+] 30 more: Title …” stands for 30 lines: read_outline(id+).",
    "comment": "<!-- Collapsed outline: titles and openings only. -->",
}


def render_outline(
    places: SectionIndex,
    *,
    budget: int = OUTLINE_BUDGET,
    branch: str | None = None,
    style: Style = "compact",
    rank: Sequence[str] = (),
) -> str:
    """Give the outline of a site, or of one branch of it, in at most `budget` estimated tokens.

    `branch` is the id of a nav group, a page or a section, or `<id>+`: the siblings from that id on, as a line
    `[<id>+] 30 more` names them. `rank` names page ids in the order in which their inner outlines open; nav order
    where it is silent. Raises UsageError for a budget below 200 and for an unknown branch.
    """
    if budget < MIN_OUTLINE_BUDGET:
        raise UsageError(f"an outline needs a budget of at least {MIN_OUTLINE_BUDGET} tokens, not {budget}")
    root = site_lines(places)
    order = _order
    if branch is not None:
        root = branch_lines(root, branch, places)
        order = _reading_order if branch.endswith("+") else _order
    return _Drawing(root, budget, style).fill(order(root, rank))


def render_page_outlines(pages: Sequence[PageEntry], *, budget: int = 2500, most: int = MAX_BLOCK_LINES) -> str:
    """Give the inner outlines of some pages, best first, at most `most` lines a page, in at most `budget` tokens.

    Where all of them are too much, every page gets fewer lines before any page gets none.
    """
    fewer = [lines for lines in _FEWER if lines < most]
    for lines in (most, *fewer):
        text = "".join(_page_outline(page, lines) for page in pages)
        if estimate_tokens(text) <= budget:
            return text
    text = ""
    for page in pages:
        block = _page_outline(page, 1)
        if estimate_tokens(text + block) > budget:
            break
        text += block
    return text


_FEWER = (30, 24, 18, 14, 10, 7, 5, 3, 2, 1)


def _page_outline(page: PageEntry, most: int) -> str:
    lines = [
        _line(section_line(SectionRef(page, at)), "compact", min(page.sections[at].level, 6) - 1)
        for at in range(min(len(page.sections), most))
    ]
    if len(page.sections) > most:
        lines[0] = lines[0].rstrip("\n") + f" +{len(page.sections) - most} more inside\n"
    return "".join(lines)


def _reading_order(root: OutlineLine, rank: Sequence[str]) -> Iterator[list[OutlineLine]]:
    """Give line by line what stands behind `[id+] 30 more`, so that those thirty come before what follows them."""
    return ([line] for line in walk(root) if line is not root)


def _order(root: OutlineLine, rank: Sequence[str]) -> Iterator[list[OutlineLine]]:
    """Give the blocks of lines in the order in which they open; no block depends on the budget."""
    lines = [line for line in walk(root) if line is not root]
    first = {id(line) for line in root.children}
    groups = [line for line in lines if line.kind == "group"]
    groups.sort(key=lambda line: line.level)
    yield from ([line] for line in groups)
    tops = [line for line in lines if line.kind != "group" and (line.kind == "page" or id(line) in first)]
    yield from ([line] for line in tops)
    places = {id_: at for at, id_ in enumerate(rank)}
    for line in sorted(tops, key=lambda line: places.get(line.id, len(places))):
        yield from _blocks([child for child in line.children if child.kind == "section"])


def _blocks(children: list[OutlineLine]) -> Iterator[list[OutlineLine]]:
    """Give an inner outline whole where it has at most 40 lines, else level by level, 40 lines at a time."""
    whole = [line for child in children for line in walk(child)]
    if len(whole) <= MAX_BLOCK_LINES:
        if whole:
            yield whole
        return
    for at in range(0, len(children), MAX_BLOCK_LINES):
        yield children[at : at + MAX_BLOCK_LINES]
    for child in children:
        yield from _blocks(child.children)


class _Drawing:
    """The lines shown so far, and what they cost: a sum over lines, so never less than the text's own estimate.

    Lines are chosen as if all that stays closed were told in as few marks as can be, and leave a tenth of the budget.
    That tenth then goes into finer marks, so that each stands for no more than one call shows.
    """

    def __init__(self, root: OutlineLine, budget: int, style: Style) -> None:
        self.root, self.budget, self.style = root, budget, style
        self.shown: dict[int, list[int]] = {}  # by line, the positions of its children that are
        for line in reversed(list(walk(root))):
            line.cost = 0 if line is root else estimate_tokens(_line(line, style, line.level - 1))
            line.weight = line.cost + sum(child.weight for child in line.children)
        self.cost = estimate_tokens(_LEGEND[style] + "\n") + self._closed_cost(root, _ONE)

    def fill(self, order: Iterator[list[OutlineLine]]) -> str:
        legend = _LEGEND[self.style] + "\n"
        run = _ONE
        if estimate_tokens(legend) + self.root.weight <= self.budget:
            self.shown = {id(line): list(range(len(line.children))) for line in walk(self.root)}
        else:
            self._open_all(order, self.budget - self.budget // 10)
            run = self._finest()
        return "".join([legend, *self._draw(self.root, run)])

    def _open_all(self, order: Iterator[list[OutlineLine]], budget: int) -> None:
        for block in order:
            before = self.cost
            self._open(block)
            if self.cost > budget:
                self._close(block)
                self.cost = before
                return

    def _open(self, block: Sequence[OutlineLine]) -> None:
        above = {id(line.parent): line.parent for line in block if line.parent and self._is_shown(line.parent)}
        self.cost -= sum(self._closed_cost(line, _ONE) for line in above.values())
        for line in block:
            insort(self.shown.setdefault(id(line.parent), []), line.at)
        touched = above | {id(line): line for line in block}
        self.cost += sum(line.cost for line in block) + sum(self._closed_cost(line, _ONE) for line in touched.values())

    def _close(self, block: Sequence[OutlineLine]) -> None:
        for line in block:
            self.shown[id(line.parent)].remove(line.at)

    def _is_shown(self, line: OutlineLine) -> bool:
        if line is self.root:
            return True
        row = self.shown.get(id(line.parent), [])
        at = bisect_left(row, line.at)
        return at < len(row) and row[at] == line.at

    def _finest(self) -> float:
        """Give the weight that one mark may stand for, so that all marks fit."""
        shown = [line for line in walk(self.root) if self._is_shown(line)]
        coarse = sum(self._closed_cost(line, _ONE) for line in shown)
        run: float = min(self.budget, _READ) * _SHARE
        while run < self.root.weight:
            if self.cost - coarse + sum(self._closed_cost(line, run) for line in shown) <= self.budget:
                return run
            run *= 1.5
        return _ONE

    def _closed_cost(self, line: OutlineLine, run: float) -> int:
        return sum(estimate_tokens(text) for texts in self._closed(line, run).values() for text in texts)

    def _closed(self, line: OutlineLine, run: float) -> dict[int, list[str]]:
        """Give what tells of a line's children that are not shown: where among them, and the marks.

        Where none is shown, one mark stands at -1, in the line itself, unless it stands for too much.
        """
        row = self.shown.get(id(line))
        if line.children and not row and line.kind != "root" and line.weight - line.cost <= run:
            return {-1: [_inside(line, self.style)]}
        edges = [-1, *(row or ()), len(line.children)]
        return {
            before + 1: self._marks(line, before + 1, end, run) for before, end in pairwise(edges) if end > before + 1
        }

    def _marks(self, line: OutlineLine, start: int, end: int, run: float) -> list[str]:
        if run == _ONE:
            return [_rest(line.children[start], line.until[end] - line.until[start], self.style)]
        return [_rest(first, count, self.style) for first, count in _runs(line.children[start:end], run)]

    def _draw(self, line: OutlineLine, run: float) -> Iterator[str]:
        closed = self._closed(line, run)
        if line.kind != "root":
            yield _line(line, self.style, line.level - 1, "".join(closed.get(-1, ())))
        row = self.shown.get(id(line), [])
        for at in sorted({*closed, *row} - {-1}):
            yield from closed.get(at, ())
            if at not in closed:
                yield from self._draw(line.children[at], run)


_ONE = float("inf")  # one mark for whatever it stands for


_READ = 6000  # tokens of one call's answer


_SHARE = 0.6  # of it that a mark may stand for: what is closed further on takes room too


def _runs(lines: Sequence[OutlineLine], most: float) -> list[tuple[OutlineLine, int]]:
    """Cut lines and all below them into runs of at most that weight: each one's first line, and how many there are.

    A run is read as its first line and that line's later siblings, so it goes on until a line stands further out.
    """
    runs: list[tuple[OutlineLine, int, int]] = []

    def add(line: OutlineLine, count: int, weight: int, *, apart: bool) -> bool:
        goes_on = bool(runs) and runs[-1][0].level <= line.level and runs[-1][2] + weight <= most
        if goes_on:
            first, counted, weighed = runs[-1]
            runs[-1] = (first, counted + count, weighed + weight)
        elif apart:
            runs.append((line, count, weight))
        return goes_on or apart

    def take(line: OutlineLine) -> None:
        if not add(line, 1 + line.inside, line.weight, apart=line.weight <= most or not line.children):
            add(line, 1, line.cost, apart=True)
            for child in line.children:
                take(child)

    for line in lines:
        take(line)
    return [(first, count) for first, count, _ in runs]


def _line(line: OutlineLine, style: Style, depth: int, inside: str = "") -> str:
    title, about = _words(line)
    if style == "comment":
        call = "read_outline" if line.kind == "group" else "expand_section"
        comment = f'<!-- Section collapsed - expand with {call}("{line.id}") -->'
        return f"{'#' * min(depth + 1, 6)} {title}\n{about}{' ' if about else ''}{comment}{inside}\n"
    return f"{_indent(depth)}[{line.id}] {title}{' — ' + about if about else ''}{inside}\n"


def _words(line: OutlineLine) -> tuple[str, str]:
    """Give a line's title, and its opening and keywords, cut so that any line fits the smallest budget."""
    title = truncate_at_word(to_single_line(line.title), 100)
    if estimate_tokens(title) > _TITLE:
        title = truncate_at_word(title, _TITLE)
    opening = truncate_at_word(to_single_line(line.opening), 200)
    left = _WORDS - estimate_tokens(title)
    if estimate_tokens(opening) > left:
        opening = truncate_at_word(opening, left)
    left -= estimate_tokens(opening)
    keywords: list[str] = []
    for keyword in line.keywords[:10]:
        left -= estimate_tokens(keyword) + 1
        if left < 0:
            break
        keywords.append(to_single_line(keyword))
    return title, " · ".join(part for part in (opening, ", ".join(keywords)) if part)


_TITLE = 40


_FROM = 24


_WORDS = 80  # tokens of a line's title, opening and keywords


def _indent(depth: int) -> str:
    return "  " * min(depth, 12)


def _inside(line: OutlineLine, style: Style) -> str:
    return f" <!-- +{line.inside} inside -->" if style == "comment" else f" +{line.inside} inside"


def _rest(first: OutlineLine, count: int, style: Style) -> str:
    if style == "comment":
        return f'<!-- {count} more - read_outline("{first.id}+") -->\n'
    title = truncate_at_word(to_single_line(first.title), _FROM)
    return f"{_indent(first.level - 1)}[{first.id}+] {count} more: {title}{' …' if count > 1 else ''}\n"
