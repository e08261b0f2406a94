"""Render the outline: the manifest as collapsed text within a token budget.

Each page has a line: `[id] Title — sentence · titles inside +N`; guides come before reference, and archives last. If
there is little room, lines lose their sentences first, then the titles inside; only then are groups closed. Remaining
room lists sections, first where much text is behind few lines. A title that is a number alone always has its opening.
`+N` is the number of sections that are not listed.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Container, Iterable, Iterator, Sequence
from functools import partial
from heapq import heappop, heappush
from itertools import count
from math import sqrt

from msgspec import Struct, field

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.manifest.lookup import SectionIndex, SectionRef
from mkdocs_roaming.manifest.models import MIN_OUTLINE_BUDGET, OUTLINE_BUDGET, NavEntry, PageEntry, iter_nav
from mkdocs_roaming.manifest.page_kinds import PageKind, classify_pages, entry_kind
from mkdocs_roaming.text.languages import fold, load_phrases
from mkdocs_roaming.text.markdown import shorten, to_italics, to_single_line, truncate_at_word
from mkdocs_roaming.text.tokenizer import estimate_tokens

_LEGEND = (
    "[id] Title — opening · titles inside +12: 12 sections inside are not listed; read_outline(id) lists them, "
    "expand_sections opens text. “[id+] 30 more: Title …”: read_outline(id+).\n"
)

_TEXT_LIMITS = ((80, 120), (60, 120), (40, 120), (0, 120), (0, 90), (0, 60), (0, 40), (0, 0))
"""Maximum characters of a line's sentence and of its titles inside, from much to little room."""
_BARE = len(_TEXT_LIMITS) - 1
"""The index of the limits without any text."""

_PAGE_OUTLINE_BUDGET = 1000
_MAX_TITLE_TOKENS = 40
"""Tokens of a line's title: in scripts without spaces, a title of the maximum length has more."""

_MAX_TITLE_CHARS = 100
_MAX_CHILD_TITLE_CHARS = 40
_MAX_MARKER_TITLE_CHARS = 24
_BARE_TITLE = re.compile(r"(?:[^\W\d_]+|§+)?\W*\d[\w.]*\W*")
"""A title that says nothing but a number: `Rule 12`, `§ 12`, `4.2`."""

_MAX_LIST = 40
"""Maximum number of subsections in a list; longer ones come last, and so do single subsections."""

_MIN_REPEATED = 4
_REPEATED_SHARE = 0.03
"""A title that occurs on at least this number and this share of the pages is not listed inside lines."""
_MIN_ARCHIVES = 3
"""Number of archives from which they are behind a marker, and of sections from which those of an archive are."""

_INDENT = "  " * 12
"""The widest indentation: deeper levels are not indented further."""

_GENERIC_TITLES = ("outline.generic_titles", "lint.empty_titles", "lint.signpost_titles")


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
    return _LEGEND + render_outline_lines(sections, budget=budget - estimate_tokens(_LEGEND), branch=branch)


def render_outline_lines(
    sections: SectionIndex, *, budget: int, branch: str | None = None, summaries: bool = False
) -> str:
    """Return the lines of `render_outline`, without the line that explains them.

    Args:
        sections: Sections of the site.
        budget: Maximum number of estimated tokens.
        branch: See `render_outline`.
        summaries: Whether pages without an author's description have the summary of a model, in italics.

    Raises:
        UsageError: There is no such branch.
    """
    head = None
    lines = _make_lines(sections, summaries=summaries)
    if branch is not None:
        head, lines = _find_branch(lines, branch, sections)
    return _Outline(budget, find_generic_titles(sections)).render(head, lines)


def render_page_outline(sections: SectionIndex, page: PageEntry) -> str:
    """Return the outline of a page, with as many lines as fit into 1,000 tokens."""
    head = _make_section_line(sections, SectionRef(page, 0))
    return _Outline(_PAGE_OUTLINE_BUDGET, find_generic_titles(sections)).render(head, head.sections)


# The tree of lines


class _Line(Struct, eq=False):
    """A line of the outline, and how much of it is shown.

    Attributes:
        ids: Its id; of a group with an index page the page's id and the group's.
        title: Its title, on one line and so short that it fits the smallest budget.
        opening: The description of the page, or the opening of the section.
        is_by_model: Whether the opening is the summary of a model.
        sections: Subsections of its page or section.
        pages: Pages and groups below it in the nav.
        is_group: Whether it is a group without an index page.
        is_archive: Whether its page is an archive, or all pages of the group are.
        tokens: Estimated size of its subsections.
        section_count: Number of all subsections of its page or section.
        page_count: Number of all sections of the pages below it.
        sections_open: Whether its subsections are listed.
        pages_open: Number of the entries of `pages` that are listed.
        limits: Index of the limits of its text.
    """

    ids: tuple[str, ...]
    title: str
    opening: str = ""
    is_by_model: bool = False
    sections: list[_Line] = field(default_factory=list)
    pages: list[_Line] = field(default_factory=list)
    is_group: bool = False
    is_archive: bool = False
    tokens: int = 0
    section_count: int = 0
    page_count: int = 0
    sections_open: bool = False
    pages_open: int = 0
    limits: int = _BARE

    @property
    def children(self) -> list[_Line]:
        """Its subsections, then its pages."""
        return self.sections + self.pages


def _make_lines(sections: SectionIndex, *, summaries: bool) -> list[_Line]:
    """Return the lines of the top level, sorted by kind on each; pages that are not in the nav come last."""
    find_kind = partial(entry_kind, kinds=classify_pages(sections.manifest))
    remaining = {page.path: page for page in sections.manifest.pages}

    def make_lines(entries: Iterable[NavEntry]) -> list[_Line]:
        lines: list[_Line] = []
        for entry in entries:
            page = remaining.pop(entry.page, None) if entry.page is not None else None
            if page is not None:
                line = _make_section_line(sections, SectionRef(page, 0))
                if summaries and page.summary and not page.description:
                    line.opening = to_single_line(page.summary)
                    line.is_by_model = True
            elif entry.page is None and entry.id:
                line = _Line((entry.id,), _shorten_title(entry.title), is_group=True)
            else:
                continue  # a page that has a line already, or an external link, which cannot be opened
            children = sorted(entry.children, key=find_kind)
            line.pages = make_lines(children)
            if line.is_group and line.pages and _is_index(entry.title, children):
                group = line
                line = group.pages[0]
                line.ids += group.ids
                line.title = group.title
                line.pages = group.pages[1:]
            for below in line.pages:
                line.page_count += below.section_count + below.page_count + (not below.is_group)
            line.is_archive = find_kind(entry) is PageKind.ARCHIVE
            lines.append(line)
        return lines

    lines = make_lines(sorted(sections.manifest.nav, key=find_kind))
    orphans = [NavEntry(page.title, page.id, path) for path, page in remaining.items()]
    return lines + make_lines(sorted(orphans, key=find_kind))


def _is_index(title: str, entries: Iterable[NavEntry]) -> bool:
    """Return whether the first entry of a group with this title is its index page."""
    first, *following = entries
    if first.page is None or first.children:
        return False
    if fold(first.title) == fold(title):
        return True
    folder = first.page.removesuffix("index.html")
    paths = [entry.page for entry in iter_nav(following) if entry.page is not None]
    return folder.endswith("/") and all(path.startswith(folder) for path in paths)


def _make_section_line(sections: SectionIndex, ref: SectionRef) -> _Line:
    """Return the line of a page or section with its subsections."""
    section = ref.section
    opening = section.opening
    if ref.position == 0 and ref.page.description:
        opening = ref.page.description
    title = section.title
    if ref.position and opening and _BARE_TITLE.fullmatch(title):
        title = f"{title} — {shorten(to_single_line(opening), _MAX_CHILD_TITLE_CHARS)}"
        opening = ""
    line = _Line((section.id,), _shorten_title(title), to_single_line(opening))
    line.section_count = sections.count_descendants(ref)
    for child in sections.children(ref):
        below = _make_section_line(sections, child)
        line.sections.append(below)
        line.tokens += below.tokens + child.section.tokens
    return line


def _iter_lines(lines: Iterable[_Line]) -> Iterator[_Line]:
    """Yield lines and all lines below them."""
    for line in lines:
        yield line
        yield from _iter_lines(line.children)


def _find_branch(lines: list[_Line], branch: str, sections: SectionIndex) -> tuple[_Line | None, list[_Line]]:
    """Return the line of a branch and its children; for `<id>+` no line, and the line of the id with later siblings.

    Raises:
        UsageError: There is no such branch.
    """
    id_ = branch.removesuffix("+")
    section = sections.get(id_)
    if section is not None:
        id_ = section.id
    for siblings in (lines, *(line.children for line in _iter_lines(lines))):
        for rank, line in enumerate(siblings):
            if id_ in line.ids:
                return (None, siblings[rank:]) if branch.endswith("+") else (line, line.children)
    raise UsageError(f"no nav group, page or section {branch!r}; take an id from the outline")


def _shorten_title(title: str) -> str:
    title = truncate_at_word(to_single_line(title), _MAX_TITLE_CHARS)
    if len(title) <= _MAX_TITLE_TOKENS or estimate_tokens(title) <= _MAX_TITLE_TOKENS:
        return title
    return truncate_at_word(title, _MAX_TITLE_TOKENS)


# Rendering

_Placed = tuple[_Line, int]
"""A line and its depth."""


class _Outline(Struct):
    """What is shown of a site. Its cost is the sum over its lines, which is never less than the estimate.

    Attributes:
        remaining: Maximum cost of further lines and texts.
        generic: Folded titles that are not listed inside a line.
        shown: Shown lines that have no texts so far.
    """

    remaining: int
    generic: Container[str]
    shown: list[_Placed] = field(default_factory=list)

    def render(self, head: _Line | None, lines: Sequence[_Line]) -> str:
        """Return the text of a list of lines, and of the line above it.

        The first lines are shown if the list does not fit, at least one; lists below it are shown or not.
        """
        heads: list[_Placed] = []
        if head is not None:
            head.sections_open = True
            head.pages_open = len(head.pages)
            self.remaining -= self._cost(head, 0)
            heads.append((head, 0))
        top = len(heads)
        marker = 0
        for rank, line in enumerate(lines):
            cost = self._cost(line, top)
            next_marker = _marker_cost(lines, rank + 1, top)
            if rank and cost + next_marker > self.remaining:
                break
            self.remaining -= cost
            self.shown.append((line, top))
            marker = next_marker
        self.remaining -= marker
        count = len(self.shown)
        for line, depth in self.shown:  # grows: level by level
            if not line.is_archive:
                archives = sum(page.is_archive for page in line.pages)
                hidden = archives if archives >= _MIN_ARCHIVES else 0
                self._open_pages(line, depth, len(line.pages) - hidden)
        shown = self.shown
        self.shown = []
        self._choose_limits(heads + shown)
        self._open_sections(
            placed for placed in shown if not placed[0].is_archive or len(placed[0].sections) < _MIN_ARCHIVES
        )
        for line, depth in shown:
            self._open_pages(line, depth, len(line.pages))
        placed = heads + shown + self.shown
        self._choose_limits(placed)
        for line, depth in placed:
            wider = max(line.limits - 1, 0)
            cost = self._cost(line, depth, wider) - self._cost(line, depth)
            if cost <= self.remaining:
                self.remaining -= cost
                line.limits = wider
        text = "".join(self._render_line(line, depth) for line, depth in heads)
        return text + self._render_list(lines, count, top)

    def _open_pages(self, line: _Line, depth: int, count: int) -> None:
        """Show the first pages below a line if they fit."""
        opened = line.pages_open
        if count <= opened:
            return
        pages = line.pages[opened:count]
        before = self._cost(line, depth) + _marker_cost(line.pages, opened, depth + 1)
        line.pages_open = count
        after = self._cost(line, depth) + _marker_cost(line.pages, count, depth + 1)
        cost = after - before + sum(self._cost(page, depth + 1) for page in pages)
        if cost > self.remaining:
            line.pages_open = opened
            return
        self.remaining -= cost
        self.shown += [(page, depth + 1) for page in pages]

    def _open_sections(self, lines: Iterable[_Placed]) -> None:
        """Show subsections, first those with the most text for their number of lines. What does not fit is skipped."""
        queue: list[tuple[float, int, _Line, int]] = []
        order = count()

        def push(line: _Line, depth: int) -> None:
            size = len(line.sections)
            if size:
                value = line.tokens / sqrt(size) if 1 < size <= _MAX_LIST else 0
                heappush(queue, (-value, next(order), line, depth))

        for line, depth in lines:
            push(line, depth)
        while queue:
            *_, line, depth = heappop(queue)
            before = self._cost(line, depth)
            line.sections_open = True
            after = self._cost(line, depth)
            cost = after - before + sum(self._cost(section, depth + 1) for section in line.sections)
            if cost > self.remaining:
                line.sections_open = False
                continue
            self.remaining -= cost
            for section in line.sections:
                self.shown.append((section, depth + 1))
                push(section, depth + 1)

    def _choose_limits(self, lines: Sequence[_Placed]) -> None:
        """Choose the widest limits that fit for the texts of all lines."""
        bare = [self._cost(line, depth) for line, depth in lines]
        for limits in range(_BARE + 1):
            remaining = self.remaining
            for (line, depth), own in zip(lines, bare, strict=True):
                remaining -= self._cost(line, depth, min(limits, line.limits)) - own
                if remaining < 0:
                    break
            else:
                self.remaining = remaining
                for line, _ in lines:
                    line.limits = min(limits, line.limits)
                return

    def _cost(self, line: _Line, depth: int, limits: int | None = None) -> int:
        return estimate_tokens(self._render_line(line, depth, limits))

    def _render_list(self, lines: Sequence[_Line], count: int, depth: int) -> str:
        text = ""
        for line in lines[:count]:
            text += self._render_line(line, depth)
            if line.sections_open:
                text += self._render_list(line.sections, len(line.sections), depth + 1)
            text += self._render_list(line.pages, line.pages_open, depth + 1)
        return text + _render_marker(lines, count, depth)

    def _render_line(self, line: _Line, depth: int, limits: int | None = None) -> str:
        max_sentence, max_titles = _TEXT_LIMITS[line.limits if limits is None else limits]
        text = f"{_INDENT[: 2 * depth]}[{line.ids[0]}] {line.title}"
        sentence = shorten(line.opening, max_sentence) if max_sentence else ""
        if sentence:
            text += f" — {to_italics(sentence) if line.is_by_model else sentence}"
        titles = self._join_titles_below(line, max_titles) if max_titles else ""
        if titles:
            text += f" · {titles}"
        closed_count = 0 if line.sections_open else line.section_count
        if not line.pages_open:
            closed_count += line.page_count
        if closed_count:
            text += f" +{closed_count}"
        return text + "\n"

    def _join_titles_below(self, line: _Line, max_chars: int) -> str:
        """Return the titles of what is closed below a line, those that say nothing left out, by level."""
        below = deque[_Line]()
        if not line.pages_open:
            below += line.pages
        if not line.sections_open:
            below += line.sections
        if not below:
            return ""
        joined = ""
        seen = {fold(line.title)}
        while below:
            child = below.popleft()
            below += child.children
            key = fold(child.title)
            if key in seen or key in self.generic:
                continue
            seen.add(key)
            title = truncate_at_word(child.title, _MAX_CHILD_TITLE_CHARS)
            if joined:
                title = f", {title}"
            if len(joined) + len(title) > max_chars:
                break
            joined += title
        return joined


def _render_marker(lines: Sequence[_Line], count: int, depth: int) -> str:
    """Return the line for what follows the shown lines of a list; empty if nothing does, or if none is shown."""
    if not 0 < count < len(lines):
        return ""
    first = lines[count]
    rest = len(lines) - count
    title = truncate_at_word(first.title, _MAX_MARKER_TITLE_CHARS)
    if rest > 1:
        title += " …"
    return f"{_INDENT[: 2 * depth]}[{first.ids[0]}+] {rest} more: {title}\n"


def _marker_cost(lines: Sequence[_Line], count: int, depth: int) -> int:
    return estimate_tokens(_render_marker(lines, count, depth))


def find_generic_titles(sections: SectionIndex) -> frozenset[str]:
    """Return the folded titles that do not distinguish a page: those that any page may contain, or many pages do."""
    manifest = sections.manifest
    counts = Counter[str]()
    for page in manifest.pages:
        counts.update({fold(section.title) for section in page.sections[1:]})
    least = max(_MIN_REPEATED, _REPEATED_SHARE * len(manifest.pages))
    generic = {title for title, count in counts.items() if count >= least}
    for language in (manifest.site.language, "en"):
        for key in _GENERIC_TITLES:
            generic.update(map(fold, load_phrases(language, key)))
    return frozenset(generic)
