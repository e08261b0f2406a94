"""Render the outline: the manifest as collapsed text within a token budget.

Lines are opened in an order that does not depend on the budget: nav groups, then pages, then the inner outlines of
pages in blocks of at most 40 lines. An outline is the longest beginning of that order that fits, shown in nav order,
so a larger budget only adds lines. The ranked map within a budget follows aider's repository map.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.manifest.lookup import SectionIndex, SectionRef
from mkdocs_roaming.manifest.models import NavEntry, PageEntry
from mkdocs_roaming.text.markdown import to_single_line, truncate_at_word
from mkdocs_roaming.text.tokenizer import estimate_tokens

OUTLINE_BUDGET = 8000
MIN_OUTLINE_BUDGET = 200
MAX_BLOCK_LINES = 40
"""Maximum number of lines of a page's inner outline that are opened together."""

_LEGEND = (
    "[id] Title — opening. “+12 inside” is closed: read_outline(id) or expand_sections opens it. "
    "“[id+] 30 more: Title …” replaces 30 lines: read_outline(id+).\n"
)
_PAGE_BLOCK_SIZES = (MAX_BLOCK_LINES, 30, 24, 18, 14, 10, 7, 5, 3, 2, 1)
_PAGE_OUTLINE_BUDGET = 1000
_UNLIMITED = float("inf")  # weight of a marker that may represent any number of lines
_CALL_BUDGET = 6000  # tokens of one call of `read_outline`
_MARKER_SHARE = 0.6  # maximum share of a call's budget that a marker represents: further markers take room too
_MAX_TITLE_TOKENS = 40
_MAX_TEXT_TOKENS = 80  # of title and opening of a line
_MAX_MARKER_TITLE = 24
_MAX_INDENT = 12


def render_outline(sections: SectionIndex, *, budget: int = OUTLINE_BUDGET, branch: str | None = None) -> str:
    """Return the outline of a site, or of one branch of it.

    Args:
        sections: Sections of the site.
        budget: Maximum number of estimated tokens.
        branch: Id of a nav group, page or section; or `<id>+`, as in `[<id>+] 30 more`, for it and its later siblings.

    Raises:
        UsageError: The budget is below 200, or there is no such branch.
    """
    if budget < MIN_OUTLINE_BUDGET:
        raise UsageError(f"an outline needs a budget of at least {MIN_OUTLINE_BUDGET} tokens, not {budget}")
    root = _build_tree(sections)
    if branch is None:
        return _Renderer(root, budget).render(_iter_blocks(root))
    root = _find_branch(root, branch, sections)
    # Siblings are opened in document order: the lines that a marker represents come first.
    blocks = ([line] for line in _iter_tree(root) if line is not root)
    return _Renderer(root, budget).render(blocks if branch.endswith("+") else _iter_blocks(root))


def render_page_outline(page: PageEntry, *, budget: int = _PAGE_OUTLINE_BUDGET) -> str:
    """Return the inner outline of a page, with as many lines as fit into the budget."""
    return next((text for size in _PAGE_BLOCK_SIZES if estimate_tokens(text := _render_page(page, size)) <= budget), "")


def _render_page(page: PageEntry, limit: int) -> str:
    lines = [
        _render_line(_section_line(SectionRef(page, position)), min(section.level, 6) - 1)
        for position, section in enumerate(page.sections[:limit])
    ]
    if len(page.sections) > limit:
        lines[0] = lines[0].rstrip("\n") + f" +{len(page.sections) - limit} more inside\n"
    return "".join(lines)


# The tree of lines


@dataclass(slots=True, eq=False)
class _Line:
    """A line of the outline.

    Attributes:
        inside: Number of lines below it.
        cost: Tokens of the line.
        weight: Tokens of the line and all lines below it.
        rank: Index among its siblings.
        counts: Number of lines in its first 0, 1, 2 … children.
    """

    id: str
    title: str
    opening: str = ""
    children: list[_Line] = field(default_factory=list)
    kind: Literal["root", "group", "page", "section"] = "section"
    level: int = 0
    parent: _Line | None = None
    inside: int = 0
    cost: int = 0
    weight: int = 0
    rank: int = 0
    counts: list[int] = field(default_factory=list)


def _build_tree(sections: SectionIndex) -> _Line:
    """Return the root of all lines of a site; the root itself is not shown."""
    manifest = sections.manifest
    root = _Line("", manifest.site.name, kind="root")
    pages = {page.path: page for page in manifest.pages}

    def make_line(entry: NavEntry) -> _Line | None:
        if entry.page is not None:
            page = pages.pop(entry.page, None)
            if page is None:
                return None
            line = _page_line(sections, SectionRef(page, 0))
        elif entry.id:
            line = _Line(entry.id, entry.title, kind="group")
        else:
            return None  # an external link cannot be opened
        line.children += [child for below in entry.children if (child := make_line(below))]
        return line

    root.children = [line for entry in manifest.nav if (line := make_line(entry))]
    root.children += [_page_line(sections, SectionRef(page, 0)) for page in pages.values()]
    _link(root, 0)
    return root


def _page_line(sections: SectionIndex, ref: SectionRef) -> _Line:
    """Return the line of a page or section with its subsections."""
    line = _section_line(ref)
    line.kind = "section" if ref.position else "page"
    line.children = [_page_line(sections, child) for child in sections.children(ref)]
    return line


def _section_line(ref: SectionRef) -> _Line:
    """Return the line of a section without its subsections."""
    section = ref.section
    opening = ref.page.description if ref.position == 0 and ref.page.description else section.opening
    return _Line(section.id, section.title, opening)


def _link(line: _Line, level: int) -> None:
    """Set level, parent, rank and counts of all lines of a tree."""
    line.level = level
    line.counts = [0]
    for rank, child in enumerate(line.children):
        child.parent, child.rank = line, rank
        _link(child, level + 1)
        line.counts.append(line.counts[-1] + 1 + child.inside)
    line.inside = line.counts[-1]


def _find_branch(root: _Line, branch: str, sections: SectionIndex) -> _Line:
    """Return a new root for a branch."""
    id_ = branch.removesuffix("+")
    if (ref := sections.get(id_)) is not None:
        id_ = ref.id
    found = next((line for line in _iter_tree(root) if line.id == id_ and line is not root), None)
    if found is None:
        raise UsageError(f"no nav group, page or section {branch!r}; take an id from the outline")
    if branch.endswith("+"):
        parent = found.parent or root
        found = _Line("", parent.title, kind="root", children=parent.children[parent.children.index(found) :])
    else:
        found = _Line("", found.title, kind="root", children=[found])
    _link(found, 0)
    return found


def _iter_tree(line: _Line) -> Iterator[_Line]:
    """Yield a line and all lines below it in document order."""
    remaining = [line]
    while remaining:
        line = remaining.pop()
        yield line
        remaining += reversed(line.children)


def _iter_blocks(root: _Line) -> Iterator[list[_Line]]:
    """Yield blocks of lines in the order in which they are opened; none depends on the budget."""
    lines = [line for line in _iter_tree(root) if line is not root]
    top = {id(line) for line in root.children}
    groups = sorted((line for line in lines if line.kind == "group"), key=lambda line: line.level)
    yield from ([line] for line in groups)
    pages = [line for line in lines if line.kind == "page" or (line.kind == "section" and id(line) in top)]
    yield from ([line] for line in pages)
    for line in pages:
        yield from _iter_section_blocks([child for child in line.children if child.kind == "section"])


def _iter_section_blocks(children: list[_Line]) -> Iterator[list[_Line]]:
    """Yield an inner outline as one block if it is small enough, otherwise level by level."""
    whole = [line for child in children for line in _iter_tree(child)]
    if len(whole) <= MAX_BLOCK_LINES:
        if whole:
            yield whole
        return
    for start in range(0, len(children), MAX_BLOCK_LINES):
        yield children[start : start + MAX_BLOCK_LINES]
    for child in children:
        yield from _iter_section_blocks(child.children)


# Rendering


class _Renderer:
    """Lines that are shown, and their cost: a sum over lines, and so never less than the estimate of the whole text.

    Lines are opened as if all closed lines had the fewest possible markers, within nine tenths of the budget. The last
    tenth is spent on more markers, so that none represents more lines than one call shows.
    """

    def __init__(self, root: _Line, budget: int) -> None:
        self._root, self._budget = root, budget
        self._shown: dict[int, set[int]] = {}  # per line, the ranks of its shown children
        for line in reversed(list(_iter_tree(root))):
            line.cost = 0 if line is root else estimate_tokens(_render_line(line, line.level - 1))
            line.weight = line.cost + sum(child.weight for child in line.children)
        self._cost = estimate_tokens(_LEGEND) + self._marker_cost(root, _UNLIMITED)

    def render(self, blocks: Iterator[list[_Line]]) -> str:
        max_weight = _UNLIMITED
        if estimate_tokens(_LEGEND) + self._root.weight <= self._budget:
            self._shown = {id(line): set(range(len(line.children))) for line in _iter_tree(self._root)}
        else:
            self._open_blocks(blocks, self._budget - self._budget // 10)
            max_weight = self._find_marker_weight()
        return "".join([_LEGEND, *self._iter_text(self._root, max_weight)])

    def _open_blocks(self, blocks: Iterator[list[_Line]], budget: int) -> None:
        for block in blocks:
            before = self._cost
            self._open(block)
            if self._cost > budget:
                for line in block:
                    self._shown[id(line.parent)].remove(line.rank)
                self._cost = before
                return

    def _open(self, block: Sequence[_Line]) -> None:
        parents = {id(line.parent): line.parent for line in block if line.parent and self._is_shown(line.parent)}
        self._cost -= sum(self._marker_cost(line, _UNLIMITED) for line in parents.values())
        for line in block:
            self._shown.setdefault(id(line.parent), set()).add(line.rank)
        touched = parents | {id(line): line for line in block}
        self._cost += sum(line.cost for line in block)
        self._cost += sum(self._marker_cost(line, _UNLIMITED) for line in touched.values())

    def _is_shown(self, line: _Line) -> bool:
        return line is self._root or line.rank in self._shown.get(id(line.parent), ())

    def _find_marker_weight(self) -> float:
        """Return the smallest maximum weight of a marker with which all markers fit."""
        shown = [line for line in _iter_tree(self._root) if self._is_shown(line)]
        text_cost = self._cost - sum(self._marker_cost(line, _UNLIMITED) for line in shown)
        weight: float = min(self._budget, _CALL_BUDGET) * _MARKER_SHARE
        while weight < self._root.weight:
            if text_cost + sum(self._marker_cost(line, weight) for line in shown) <= self._budget:
                return weight
            weight *= 1.5
        return _UNLIMITED

    def _marker_cost(self, line: _Line, max_weight: float) -> int:
        return sum(estimate_tokens(text) for texts in self._make_markers(line, max_weight).values() for text in texts)

    def _make_markers(self, line: _Line, max_weight: float) -> dict[int, list[str]]:
        """Return the markers of a line's closed children by rank.

        If none is shown, one marker with rank -1 is part of the line itself, unless it would represent too many lines.
        """
        ranks = sorted(self._shown.get(id(line), ()))
        if line.children and not ranks and line.kind != "root" and line.weight - line.cost <= max_weight:
            return {-1: [f" +{line.inside} inside"]}
        edges = [-1, *ranks, len(line.children)]
        return {
            before + 1: self._make_run_markers(line, before + 1, end, max_weight)
            for before, end in pairwise(edges)
            if end > before + 1
        }

    def _make_run_markers(self, line: _Line, start: int, end: int, max_weight: float) -> list[str]:
        if max_weight == _UNLIMITED:
            return [_render_marker(line.children[start], line.counts[end] - line.counts[start])]
        runs = _split_runs(line.children[start:end], max_weight)
        return [_render_marker(first, count) for first, count in runs]

    def _iter_text(self, line: _Line, max_weight: float) -> Iterator[str]:
        markers = self._make_markers(line, max_weight)
        if line.kind != "root":
            yield _render_line(line, line.level - 1, "".join(markers.get(-1, ())))
        for rank in sorted({*markers, *self._shown.get(id(line), ())} - {-1}):
            if rank in markers:
                yield from markers[rank]
            else:
                yield from self._iter_text(line.children[rank], max_weight)


def _split_runs(lines: Sequence[_Line], max_weight: float) -> list[tuple[_Line, int]]:
    """Split lines and all lines below them into runs; return the first line and the number of lines of each.

    A run is opened as its first line and that line's later siblings, so a line of a lower level ends it.
    """
    runs: list[tuple[_Line, int, int]] = []
    pending = list(reversed(lines))
    while pending:
        line = pending.pop()
        count, weight = 1 + line.inside, line.weight
        if weight > max_weight and line.children:
            count, weight = 1, line.cost
            pending += reversed(line.children)
        if runs and runs[-1][0].level <= line.level and runs[-1][2] + weight <= max_weight:
            first, run_count, run_weight = runs[-1]
            runs[-1] = (first, run_count + count, run_weight + weight)
        else:
            runs.append((line, count, weight))
    return [(first, count) for first, count, _ in runs]


def _render_line(line: _Line, depth: int, suffix: str = "") -> str:
    title, text = _truncate_texts(line)
    return f"{_indent(depth)}[{line.id}] {title}{' — ' + text if text else ''}{suffix}\n"


def _truncate_texts(line: _Line) -> tuple[str, str]:
    """Return a line's title and opening, so short that every line fits the smallest budget."""
    title = truncate_at_word(to_single_line(line.title), 100)
    if estimate_tokens(title) > _MAX_TITLE_TOKENS:
        title = truncate_at_word(title, _MAX_TITLE_TOKENS)
    opening = truncate_at_word(to_single_line(line.opening), 200)
    remaining = _MAX_TEXT_TOKENS - estimate_tokens(title)
    if estimate_tokens(opening) > remaining:
        opening = truncate_at_word(opening, remaining)
    return title, opening


def _indent(depth: int) -> str:
    return "  " * min(depth, _MAX_INDENT)


def _render_marker(first: _Line, count: int) -> str:
    title = truncate_at_word(to_single_line(first.title), _MAX_MARKER_TITLE)
    return f"{_indent(first.level - 1)}[{first.id}+] {count} more: {title}{' …' if count > 1 else ''}\n"
