"""Where a finding stands in the file that an author edits."""

from __future__ import annotations

import re
from collections.abc import Callable

from mkdocs_roaming.headings import Mark, plain, read_headings
from mkdocs_roaming.manifest import PageEntry
from mkdocs_roaming.section import github_slug

Sources = Callable[[str], str | None]
"""Gives a source's text by its path below the docs folder, None where there is none."""


class SourceLines:
    """Finds lines in sources; each is read once."""

    def __init__(self, sources: Sources | None) -> None:
        self._sources = sources
        self._read: dict[str, tuple[list[str], list[Mark], int] | None] = {}

    def line(self, page: PageEntry, at: int, quote: str) -> int | None:
        """Give the line, counted from 1, of what is quoted from a section, else of its heading, else None."""
        found = self._file(page.source) if page.source else None
        if found is None:
            return None
        lines, marks, offset = found
        heading = _heading(page, at, marks)
        begin = offset + marks[heading].line if heading is not None else 0
        end = len(lines)
        if heading is not None and heading + 1 < len(marks):
            end = offset + marks[heading + 1].line
        for wanted in _wanted(quote):
            for number in range(begin, end):
                if wanted in " ".join(lines[number].split()):
                    return number + 1
        if heading is None:
            return 1 if at == 0 else None
        return begin + 1

    def _file(self, source: str) -> tuple[list[str], list[Mark], int] | None:
        if source not in self._read:
            text = self._sources(source) if self._sources else None
            self._read[source] = _parted(text) if text is not None else None
        return self._read[source]


def _parted(text: str) -> tuple[list[str], list[Mark], int]:
    """Give a source's lines, its headings, and how many lines of front matter stand before."""
    front = _FRONT_MATTER.match(text)
    body = text[front.end() :] if front else text
    return text.split("\n"), read_headings(body), text[: front.end()].count("\n") if front else 0


def _heading(page: PageEntry, at: int, marks: list[Mark]) -> int | None:
    """Give which of the source's headings is a section's: the same text, and as many of that text before it."""
    slug = github_slug(page.sections[at].title)
    before = sum(github_slug(section.title) == slug for section in page.sections[:at])
    same = [number for number, mark in enumerate(marks) if _slug(mark.title) == slug]
    return same[before] if before < len(same) else None


def _slug(title: str) -> str:
    return github_slug(plain(_ATTRIBUTES.sub("", title)))


def _wanted(quote: str) -> list[str]:
    """Give what to look for: the quote, or of an address what stands behind its last slash or `#`."""
    if not quote:
        return []
    if "://" not in quote:
        return [quote]
    address, _, fragment = quote.partition("#")
    name = re.sub(r"(?:/index)?\.md$", "", address).rstrip("/").rpartition("/")[2]
    return [one for one in (f"#{fragment}" if fragment else "", name) if one]


_FRONT_MATTER = re.compile(r"\A\ufeff?---[ \t]*\r?\n(?:.*\r?\n)*?(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)")
_ATTRIBUTES = re.compile(r"\s*\{:?[^{}]*\}\s*$")
