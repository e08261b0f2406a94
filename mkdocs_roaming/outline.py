"""The manifest as collapsed text within a token budget: what a model reads first.

One order of lines that does not depend on the budget: nav groups, then pages, then the inner outlines of pages in
blocks of at most 40 lines. An outline is the longest beginning of that order that fits, shown in nav order; so a
larger budget only adds. The idea of a ranked map cut to a budget is aider's repomap; the comment style is that of
John Berryman's Roaming RAG.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Literal

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.headings import cut_at_word, one_line
from mkdocs_roaming.manifest import PageEntry
from mkdocs_roaming.places import Place, Places
from mkdocs_roaming.tree import Line, branch_lines, section_line, site_lines, walk
from mkdocs_roaming.words import estimate_tokens

BUDGET = 8000
SMALLEST = 200
BLOCK = 40
"""The most lines of a page's inner outline that open at once."""

Style = Literal["compact", "comment"]

_LEGEND = {
    "compact": "[id] Title — opening · keywords. “+12 inside” is closed: read_outline(id) or expand_sections opens it. "
    "“[id+] 30 more: Title …” stands for 30 lines: read_outline(id+).",
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
    root = site_lines(places)
    order = _order
    if branch is not None:
        root = branch_lines(root, branch, places)
        order = _reading_order if branch.endswith("+") else _order
    return _Drawing(root, budget, style).fill(order(root, rank))


def page_outlines(pages: Sequence[PageEntry], *, budget: int = 2500, most: int = BLOCK) -> str:
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
        _line(section_line(Place(page, at)), "compact", min(page.sections[at].level, 6) - 1)
        for at in range(min(len(page.sections), most))
    ]
    if len(page.sections) > most:
        lines[0] = lines[0].rstrip("\n") + f" +{len(page.sections) - most} more inside\n"
    return "".join(lines)


# Which lines open first


def _reading_order(root: Line, rank: Sequence[str]) -> Iterator[list[Line]]:
    """Give line by line what stands behind `[id+] 30 more`, so that those thirty come before what follows them."""
    return ([line] for line in walk(root) if line is not root)


def _order(root: Line, rank: Sequence[str]) -> Iterator[list[Line]]:
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


def _blocks(children: list[Line]) -> Iterator[list[Line]]:
    """Give an inner outline whole where it has at most 40 lines, else level by level, 40 lines at a time."""
    whole = [line for child in children for line in walk(child)]
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
    """The lines shown so far, and what they cost: a sum over lines, so never less than the text's own estimate.

    Lines are chosen as if all that stays closed were told in as few marks as can be, and leave a tenth of the budget.
    That tenth then goes into finer marks, so that each stands for no more than one call shows.
    """

    def __init__(self, root: Line, budget: int, style: Style) -> None:
        self.root, self.budget, self.style = root, budget, style
        self.shown: dict[int, list[int]] = {}  # by line, the positions of its children that are
        for line in reversed(list(walk(root))):
            line.cost = 0 if line is root else estimate_tokens(_line(line, style, line.level - 1))
            line.weight = line.cost + sum(child.weight for child in line.children)
        self.cost = estimate_tokens(_LEGEND[style] + "\n") + self._closed_cost(root, _ONE)

    def fill(self, order: Iterator[list[Line]]) -> str:
        legend = _LEGEND[self.style] + "\n"
        run = _ONE
        if estimate_tokens(legend) + self.root.weight <= self.budget:
            self.shown = {id(line): list(range(len(line.children))) for line in walk(self.root)}
        else:
            self._open_all(order, self.budget - self.budget // 10)
            run = self._finest()
        return "".join([legend, *self._draw(self.root, run)])

    def _open_all(self, order: Iterator[list[Line]], budget: int) -> None:
        for block in order:
            before = self.cost
            self._open(block)
            if self.cost > budget:
                self._close(block)
                self.cost = before
                return

    def _open(self, block: Sequence[Line]) -> None:
        above = {id(line.parent): line.parent for line in block if line.parent and self._is_shown(line.parent)}
        self.cost -= sum(self._closed_cost(line, _ONE) for line in above.values())
        for line in block:
            insort(self.shown.setdefault(id(line.parent), []), line.at)
        touched = above | {id(line): line for line in block}
        self.cost += sum(line.cost for line in block) + sum(self._closed_cost(line, _ONE) for line in touched.values())

    def _close(self, block: Sequence[Line]) -> None:
        for line in block:
            self.shown[id(line.parent)].remove(line.at)

    def _is_shown(self, line: Line) -> bool:
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

    def _closed_cost(self, line: Line, run: float) -> int:
        return sum(estimate_tokens(text) for texts in self._closed(line, run).values() for text in texts)

    def _closed(self, line: Line, run: float) -> dict[int, list[str]]:
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

    def _marks(self, line: Line, start: int, end: int, run: float) -> list[str]:
        if run == _ONE:
            return [_rest(line.children[start], line.until[end] - line.until[start], self.style)]
        return [_rest(first, count, self.style) for first, count in _runs(line.children[start:end], run)]

    def _draw(self, line: Line, run: float) -> Iterator[str]:
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


def _runs(lines: Sequence[Line], most: float) -> list[tuple[Line, int]]:
    """Cut lines and all below them into runs of at most that weight: each one's first line, and how many there are.

    A run is read as its first line and that line's later siblings, so it goes on until a line stands further out.
    """
    runs: list[tuple[Line, int, int]] = []

    def add(line: Line, count: int, weight: int, *, apart: bool) -> bool:
        goes_on = bool(runs) and runs[-1][0].level <= line.level and runs[-1][2] + weight <= most
        if goes_on:
            first, counted, weighed = runs[-1]
            runs[-1] = (first, counted + count, weighed + weight)
        elif apart:
            runs.append((line, count, weight))
        return goes_on or apart

    def take(line: Line) -> None:
        if not add(line, 1 + line.inside, line.weight, apart=line.weight <= most or not line.children):
            add(line, 1, line.cost, apart=True)
            for child in line.children:
                take(child)

    for line in lines:
        take(line)
    return [(first, count) for first, count, _ in runs]


def _line(line: Line, style: Style, depth: int, inside: str = "") -> str:
    title, about = _words(line)
    if style == "comment":
        call = "read_outline" if line.kind == "group" else "expand_section"
        comment = f'<!-- Section collapsed - expand with {call}("{line.id}") -->'
        return f"{'#' * min(depth + 1, 6)} {title}\n{about}{' ' if about else ''}{comment}{inside}\n"
    return f"{_indent(depth)}[{line.id}] {title}{' — ' + about if about else ''}{inside}\n"


def _words(line: Line) -> tuple[str, str]:
    """Give a line's title, and its opening and keywords, cut so that any line fits the smallest budget."""
    title = cut_at_word(one_line(line.title), 100)
    if estimate_tokens(title) > _TITLE:
        title = cut_at_word(title, _TITLE)
    opening = cut_at_word(one_line(line.opening), 200)
    left = _WORDS - estimate_tokens(title)
    if estimate_tokens(opening) > left:
        opening = cut_at_word(opening, left)
    left -= estimate_tokens(opening)
    keywords: list[str] = []
    for keyword in line.keywords[:10]:
        left -= estimate_tokens(keyword) + 1
        if left < 0:
            break
        keywords.append(one_line(keyword))
    return title, " · ".join(part for part in (opening, ", ".join(keywords)) if part)


_TITLE = 40
_FROM = 24
_WORDS = 80  # tokens of a line's title, opening and keywords


def _indent(depth: int) -> str:
    return "  " * min(depth, 12)


def _inside(line: Line, style: Style) -> str:
    return f" <!-- +{line.inside} inside -->" if style == "comment" else f" +{line.inside} inside"


def _rest(first: Line, count: int, style: Style) -> str:
    if style == "comment":
        return f'<!-- {count} more - read_outline("{first.id}+") -->\n'
    title = cut_at_word(one_line(first.title), _FROM)
    return f"{_indent(first.level - 1)}[{first.id}+] {count} more: {title}{' …' if count > 1 else ''}\n"
