"""Exact search: lines that contain a string.

Ranking finds what a question is about. Identifiers, options and error messages are found better by their exact text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from mkdocs_roaming.errors import LibraryError, UsageError
from mkdocs_roaming.library.library import OWN, Library, Origin

MAX_SECTIONS = 20
"""Default number of sections in a result."""

_MAX_PATTERN_CHARS = 500
_MAX_LINES = 3
"""Maximum number of matching lines that are shown of a section."""
_MAX_LINE_CHARS = 300
_MAX_BEFORE_MATCH = 75
"""Maximum number of characters of a long line before its match."""


@dataclass(frozen=True, slots=True)
class Line:
    """A matching line: its number in the section, from 1, and the part around the match if it is long."""

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class SectionMatch:
    """A section with matching lines.

    Attributes:
        id: The section's id.
        title: Its heading.
        breadcrumb: The titles above it in the navigation and on its page, and its own.
        url: Its address.
        lines: The first matching lines, in order.
        matches: Number of its matching lines.
    """

    id: str
    title: str
    breadcrumb: tuple[str, ...]
    url: str
    lines: tuple[Line, ...]
    matches: int


@dataclass(frozen=True, slots=True)
class GrepResult:
    """The sections in which a pattern was found, those with a matching heading first, else in the order of the site.

    Attributes:
        pattern: The pattern.
        sections: The first sections.
        found: Number of all sections with a match.
        matches: Number of all matching lines.
        unread: Number of sections that could not be read.
        origin: The site that the lines are from.
        unread_sites: The sites of a store that could not be opened.
    """

    pattern: str
    sections: tuple[SectionMatch, ...]
    found: int
    matches: int
    unread: int
    origin: Origin = OWN
    unread_sites: tuple[str, ...] = ()


def grep(library: Library, pattern: str, *, limit: int = MAX_SECTIONS) -> GrepResult:
    """Return the sections with lines that contain a string.

    Case counts if the pattern has a capital letter.

    Args:
        library: The site.
        pattern: The string.
        limit: Maximum number of sections.

    Raises:
        UsageError: The pattern is empty or too long.
        LibraryError: No section can be read.
    """
    expression = _compile(pattern)
    library.prefetch()
    sections = library.sections
    results: list[SectionMatch] = []
    unread = 0
    for section in sections:
        try:
            text = library.text(section)
        except LibraryError:
            unread += 1
            if unread == len(sections):
                raise
            continue
        numbered = enumerate(text.splitlines(), 1)
        matches = [(number, match) for number, line in numbered if (match := expression.search(line))]
        if not matches:
            continue
        lines = [Line(number, _cut_line(match.string, match.start())) for number, match in matches[:_MAX_LINES]]
        title = section.section.title
        breadcrumb = tuple(sections.breadcrumb(section))
        url = sections.url(section)
        results.append(SectionMatch(section.id, title, breadcrumb, url, tuple(lines), len(matches)))
    shown = sorted(results, key=lambda result: expression.search(result.title) is None)[:limit]
    origin = library.origin(result.id for result in shown)
    total = sum(result.matches for result in results)
    return GrepResult(pattern, tuple(shown), len(results), total, unread, origin)


def limit_grep(result: GrepResult, cap: int) -> GrepResult:
    """Return a result with the first sections that fit into `cap` characters when they are rendered."""
    while result.sections and len(render_grep(result)) > cap:
        result = replace(result, sections=result.sections[:-1])
    return result


def render_grep(result: GrepResult) -> str:
    """Return a result as text: for each section a line with id and place, then its lines with their numbers."""
    sites = f" ({', '.join(result.unread_sites)})" if result.unread_sites else ""
    unread = f"{result.unread} sections could not be read{sites}.\n" if result.unread else ""
    if not result.found:
        return f"No line matches.\n{unread}"
    shown = len(result.sections)
    more = f"; sections 1 to {shown} are shown, a longer pattern finds fewer" if shown < result.found else ""
    total = f"Lines: {result.matches}, sections: {result.found}{more}.\n"
    text = result.origin.render()
    for match in result.sections:
        text += f"[{match.id}] {' › '.join(match.breadcrumb)}\n"
        text += "".join(f"  {line.number}: {line.text}\n" for line in match.lines)
        hidden = match.matches - len(match.lines)
        if hidden:
            text += f"  {hidden} more in this section\n"
    return text + total + unread


def _compile(pattern: str) -> re.Pattern[str]:
    if not pattern.strip():
        raise UsageError("the pattern is empty; give a string that the documentation contains")
    if len(pattern) > _MAX_PATTERN_CHARS:
        raise UsageError(f"the pattern has {len(pattern)} characters, at most {_MAX_PATTERN_CHARS} are searched for")
    has_capital = pattern != pattern.lower()
    return re.compile(re.escape(pattern.strip("\r\n")), 0 if has_capital else re.IGNORECASE)


def _cut_line(line: str, start: int) -> str:
    """Return a line, or the part of a long one around its match."""
    if len(line) <= _MAX_LINE_CHARS:
        return line
    begin = max(0, min(start - _MAX_BEFORE_MATCH, len(line) - _MAX_LINE_CHARS))
    end = begin + _MAX_LINE_CHARS
    return f"{'…' if begin else ''}{line[begin:end]}{'…' if end < len(line) else ''}"
