"""A page's Markdown line by line: which lines are prose, which are code, and to which section each belongs."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from mkdocs_roaming.headings import LINE_END
from mkdocs_roaming.manifest import PageEntry


@dataclass(frozen=True, slots=True)
class PageText:
    """A page's Markdown, read. `prose` has a line for each of `lines`: empty where code stands, code spans blanked."""

    page: PageEntry
    markdown: str
    lines: tuple[str, ...]
    prose: tuple[str, ...]
    starts: tuple[int, ...]
    """The line that each section begins with."""
    open_fence: int | None
    """The line of a fence that nothing ends."""
    silenced: frozenset[str]
    """The rules that a comment on the page switches off; `*` is all of them."""

    def section_at(self, line: int) -> int:
        """Give the position of the section that a line belongs to; the page's own for what stands above the title."""
        return max(0, bisect_right(self.starts, line) - 1)

    def own_lines(self, at: int) -> range:
        """Give the lines of a section's own text, below its heading."""
        end = self.starts[at + 1] if at + 1 < len(self.starts) else len(self.lines)
        return range(min(self.starts[at] + 1, end), end)


def read_page(page: PageEntry, markdown: str) -> PageText:
    """Read a page's Markdown."""
    lines = tuple(LINE_END.split(markdown))
    prose, fence = _prose(lines)
    return PageText(page, markdown, lines, prose, _starts(page, markdown), fence, _silenced(prose))


def links_in(line: str) -> Iterator[str]:
    """Give the addresses that a line of prose links to."""
    for found in _LINK.finditer(line):
        yield next(filter(None, found.groups()), "")


def _starts(page: PageEntry, markdown: str) -> tuple[int, ...]:
    data = markdown.encode("utf-8", "surrogatepass")
    starts, line, at = [], 0, 0
    carriage = b"\r" in data
    for section in page.sections:
        piece = data[at : section.start]
        line += len(LINE_END.findall(piece.decode("utf-8", "replace"))) if carriage else piece.count(b"\n")
        starts.append(line)
        at = section.start
    return tuple(starts)


def _prose(lines: tuple[str, ...]) -> tuple[tuple[str, ...], int | None]:
    """Blank what is code; give the line of a fence that is still open at the end."""
    prose: list[str] = []
    fence, opened, quoted = "", 0, False
    blank, listed = True, False
    for number, line in enumerate(lines):
        if fence and quoted and not line.lstrip().startswith(">"):
            fence = ""  # the quote ended, and the fence with it
        if fence:
            bare = line.strip(" \t>") if quoted else line.strip(" \t")
            if len(bare) >= len(fence) and bare == fence[0] * len(bare):
                fence = ""
            prose.append("")
            continue
        if ("```" in line or "~~~" in line) and (found := _FENCE.match(line)):
            fence, opened, quoted = found[2], number, ">" in found[1]
            prose.append("")
            continue
        indented = line.startswith(("    ", "\t"))
        if line and not line.isspace():
            if indented and blank and not listed:
                prose.append("")
                continue
            listed = listed if indented or line[0] == " " else bool(_ITEM.match(line))
        blank = not line or line.isspace() or (blank and indented)
        prose.append(_SPAN.sub(_blanked, line) if "`" in line else line)
    return tuple(prose), opened if fence else None


def _blanked(found: re.Match[str]) -> str:
    return found[1] + " " * (len(found[0]) - 2 * len(found[1])) + found[1]


def _silenced(prose: tuple[str, ...]) -> frozenset[str]:
    """Read `<!-- roaming-lint: off rule, rule -->`; without a name it means all rules."""
    names: set[str] = set()
    for line in prose:
        if "roaming-lint" in line:
            for found in _SWITCH.findall(line):
                names.update(re.findall(r"[a-z][a-z-]*[a-z]", found) or "*")
    return frozenset(names)


_FENCE = re.compile(r"((?:[ \t]|>|[-*+][ \t]|\d{1,9}[.)][ \t])*)(`{3,}(?=[^`]*$)|~{3,})")
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]|\[\^[^\]]+\]:")
_SPAN = re.compile(r"(?<![`\\])(`+)(?!`)(?:.+?)(?<!`)\1(?!`)")
_LINK = re.compile(
    r"(?<!!)\[(?:[^\[\]]|\[[^\[\]]*\])*+\]\(\s*(?:<([^<>\s]+)>|([^()<>\s]+(?:\([^()\s]*\)[^()\s]*)*))"
    r"""|<a\s[^<>]*?href=["']([^"'<>]+)["']|<(https?://[^>\s]+)>"""
)
_SWITCH = re.compile(r"<!--\s*roaming-lint:\s*off\b([^<>]*?)-->")
