"""What rules read, the manifest of a site and the text of each page, and the problems that they yield."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import PurePosixPath
from typing import Literal

from mkdocs_roaming.manifest.lookup import SectionIndex, SectionRef
from mkdocs_roaming.manifest.models import MORE_GROUP, Manifest, PageEntry
from mkdocs_roaming.manifest.page_kinds import is_changelog
from mkdocs_roaming.text.blocks import LINE_END, Block, find_code_spans, parse_blocks, split_lines
from mkdocs_roaming.text.languages import base_language, fold, load_phrases

Severity = Literal["error", "warning", "hint"]
"""An error misleads readers and models, a warning costs them time or tokens, a hint is an improvement."""

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "hint")
"""All severities, worst first."""

SourceReader = Callable[[str], str | None]
"""Returns the text of a source file by its path below the docs folder, or None."""

SITE_FILE = "llms.txt"
"""The file to which findings about the whole site are attached."""

_MARKS_OF_CODE = ("```", "~~~", "    ", "\t")
"""Without these a page has neither fenced nor indented code."""
_CODE = re.compile(r"`[^`]*`|<code.*?</code>")
_NUMBERING = re.compile(r"^(?:\d+(?:\.\d+)*[.)]?|[a-z][.)])\s+")
"""The number of a heading: `2.1. `, `b) `."""
_DECORATION = " \t.,:;!?…-–—_*#()[]{}¶§→←«»“”\"'"
_CODE_LIKE = re.compile(r"^[.$@_-]|_|\w\.\w|\(\)|^[a-z][a-z0-9]*$|^[A-Z]{3,}$|[a-z][A-Z]|[A-Z]{2}[a-z]")
"""A name in code: `max_size`, `pump.Valve`, `run()`, `readFile`, `HTTPServer`."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem that a rule found.

    Attributes:
        message: The problem, as a sentence.
        fix: What the author should do, as a sentence.
        page: The page, or None for the whole site.
        position: Position of the section on the page.
        line: Line in the page's Markdown, counted from 0; None for the heading of the section.
        quote: The text that causes the problem, to find its line in the source. If the message contains it, problems
            with the same message on many pages are merged as one of their template.
    """

    message: str
    fix: str
    page: PageEntry | None = None
    position: int = 0
    line: int | None = None
    quote: str = ""


Check = Callable[["LintContext"], Iterable[Problem]]


@dataclass(frozen=True, slots=True)
class Rule:
    """A lint rule.

    Attributes:
        id: Lower-case words with hyphens.
        severity: Severity of its findings.
        summary: Why the problem matters, in a sentence or two.
        check: Yields the problems of a site.
    """

    id: str
    severity: Severity
    summary: str
    check: Check

    def __post_init__(self) -> None:
        """Check id and severity."""
        words = self.id.split("-")
        if not (self.id.isascii() and self.id.islower() and all(map(str.isalpha, words))):
            raise ValueError(f"invalid rule id {self.id!r}: use lower-case words with hyphens, such as no-opening")
        if self.severity not in SEVERITIES:
            raise ValueError(f"invalid severity {self.severity!r} of {self.id}: use one of {', '.join(SEVERITIES)}")


def rule(id: str, severity: Severity, summary: str) -> Callable[[Check], Rule]:
    """Return a decorator that turns a check function into a `Rule`."""

    def decorate(check: Check) -> Rule:
        return Rule(id, severity, summary, check)

    return decorate


@dataclass(frozen=True, slots=True)
class Finding:
    """A reported problem with its location; lines are counted from 1.

    Attributes:
        rule: Id of the rule.
        severity: Severity of the rule.
        message: The problem.
        fix: What the author should do.
        markdown: Path of the published Markdown file, empty for the whole site.
        line: Line in that file.
        source: Path of the source file, if known.
        source_line: Line in the source file, or None if the source is not available.
        page: Path of the page, or None for the whole site.
        section: Id of the section.
        breadcrumb: Titles from the nav to the section.
        url: URL of the section.
        quote: The text that causes the problem.
        fingerprint: Identifies the finding while the text around it changes.
    """

    rule: str
    severity: Severity
    message: str
    fix: str
    markdown: str = ""
    line: int = 1
    source: str | None = None
    source_line: int | None = None
    page: str | None = None
    section: str = ""
    breadcrumb: tuple[str, ...] = ()
    url: str = ""
    quote: str = ""
    fingerprint: str = ""

    def location(self, docs: str = "") -> tuple[str, int | None]:
        """Return the file, which is the source if it is known, and the line in it; None in what a build has written.

        Args:
            docs: The folder of the sources, as a prefix of the source's path.
        """
        if self.source:
            return str(PurePosixPath(docs) / self.source), self.source_line
        return self.markdown or SITE_FILE, None

    def describe_location(self, docs: str = "") -> str:
        """Return the location as `file:line`, `file` without a line, or `the site`."""
        if self.page is None:
            return "the site"
        file, line = self.location(docs)
        return f"{file}:{line}" if line else file


@dataclass(frozen=True, slots=True)
class PageText:
    """The Markdown of a page.

    Attributes:
        page: The page.
        markdown: Its whole Markdown.
        lines: Its lines.
        prose: The same lines, empty where code is, with the content of code spans blanked.
        starts: The line of each section's heading.
        open_fence: The line of a fence that is never closed.
    """

    page: PageEntry
    markdown: str
    lines: tuple[str, ...]
    prose: tuple[str, ...]
    starts: tuple[int, ...]
    open_fence: int | None

    def section_at(self, line: int) -> int:
        """Return the position of the section that contains a line; 0 for lines above the title."""
        return max(0, bisect_right(self.starts, line) - 1)

    def own_lines(self, position: int) -> range:
        """Return the lines between a section's heading and the next heading."""
        end = len(self.lines)
        if position + 1 < len(self.starts):
            end = self.starts[position + 1]
        start = min(self.starts[position] + 1, end)
        return range(start, end)


class LintContext:
    """A published site as rules see it.

    Attributes:
        sections: The sections of the site, with parents, children and breadcrumbs.
        pages: The text of all pages, in the order of the manifest.
    """

    def __init__(self, sections: SectionIndex, read_page: Callable[[PageEntry], str]) -> None:
        """Read all pages.

        Args:
            sections: The sections of the site.
            read_page: Returns the Markdown of a page.
        """
        self.sections = sections
        self.pages = tuple(parse_page_text(page, read_page(page)) for page in self.manifest.pages)

    @property
    def manifest(self) -> Manifest:
        """The manifest of the site."""
        return self.sections.manifest

    @cached_property
    def language(self) -> str:
        """The language of the site, without a region."""
        return base_language(self.manifest.site.language)

    @cached_property
    def authored_pages(self) -> tuple[PageText, ...]:
        """The pages that an author wrote: all but the generated lists of blog posts."""
        return tuple(text for text in self.pages if not _is_post_list(text, self.manifest.site.url))

    @cached_property
    def manual_pages(self) -> tuple[PageText, ...]:
        """The authored pages without change logs, which are long and repetitive by nature."""
        return tuple(text for text in self.authored_pages if not is_changelog(text.page))

    @cached_property
    def text_by_path(self) -> Mapping[str, PageText]:
        """The text of each page by the path of the page."""
        return {text.page.path: text for text in self.pages}

    @cached_property
    def unlisted_pages(self) -> tuple[PageEntry, ...]:
        """The pages that the author's nav omits; the manifest lists them in a last group of its own."""
        manifest = self.manifest
        last = manifest.nav[-1] if manifest.nav else None
        if last is None or last.title != MORE_GROUP:
            return ()
        # The author may have a group of that title, too. That of the build ends with the last page of the manifest.
        pages = manifest.pages[-len(last.children) :] if last.children else ()
        listed = [(entry.page, entry.title) for entry in last.children]
        return pages if listed == [(page.path, page.title) for page in pages] else ()

    def iter_sections(self, pages: Iterable[PageText]) -> Iterator[tuple[PageText, SectionRef]]:
        """Yield every section of some pages with the text of its page, in document order."""
        for text in pages:
            for position in range(len(text.page.sections)):
                yield text, SectionRef(text.page, position)


def parse_page_text(page: PageEntry, markdown: str) -> PageText:
    """Parse the Markdown of a page into lines, prose and sections."""
    lines = tuple(split_lines(markdown))
    code = _find_code(markdown)
    blank = {number for block in code for number in range(block.start, block.end)}
    prose = tuple("" if number in blank else _blank_spans(line) for number, line in enumerate(lines))
    open_fence = next((block.start for block in code if _is_open(block, lines)), None)
    return PageText(page, markdown, lines, prose, _section_lines(page, markdown), open_fence)


def is_empty_title(title: str, language: str) -> bool:
    """Return whether a title fits any section of any documentation; English titles count in every language."""
    normalized = _NUMBERING.sub("", fold(title)).strip(_DECORATION)
    return normalized in _empty_titles(language) or normalized in _empty_titles("en")


def is_identifier(text: PageText, ref: SectionRef) -> bool:
    """Return whether a title is a name of code, which the author cannot choose.

    Such a title is formatted or spelled as code, or has an anchor such as `pump.Valve`.
    """
    if "." in (ref.section.anchor or "") or _CODE_LIKE.search(ref.section.title):
        return True
    line = text.lines[text.starts[ref.position]]
    if "`" not in line and "<code" not in line:
        return False
    besides = _CODE.sub("", line).replace("_", "x")
    return not any(map(str.isalnum, besides))


@cache
def _empty_titles(language: str) -> frozenset[str]:
    return frozenset(map(fold, load_phrases(language, "lint.empty_titles")))


def _is_post_list(text: PageText, site_url: str) -> bool:
    """Return whether most headings of a page are links to pages of the site, as in a blog's lists."""
    headings = 0
    linked = 0
    for start, section in zip(text.starts, text.page.sections, strict=True):
        if section.level == 2:
            line = text.lines[start]
            headings += 1
            linked += line.startswith("## [") and f"]({site_url}" in line
    return 2 * linked > headings


def _section_lines(page: PageEntry, markdown: str) -> tuple[int, ...]:
    data = markdown.encode("utf-8", "surrogatepass")
    starts = []
    line = 0
    offset = 0
    for section in page.sections:
        line += len(LINE_END.findall(data[offset : section.start].decode("utf-8", "replace")))
        starts.append(line)
        offset = section.start
    return tuple(starts)


def _find_code(markdown: str) -> list[Block]:
    """Return fenced and indented code. CommonMark sees indented code in the second paragraph of a footnote."""
    code: list[Block] = []
    if not any(mark in markdown for mark in _MARKS_OF_CODE):
        return code
    is_footnote = False
    for block in parse_blocks(markdown).walk():
        if block.kind == "paragraph":
            is_footnote = block.text.startswith("[^")
        elif block.kind == "fence" or (block.kind == "code" and not is_footnote):
            code.append(block)
    return code


def _is_open(block: Block, lines: Sequence[str]) -> bool:
    """Return whether code has a fence that is never closed, so that all text below it is code."""
    return block.kind == "fence" and block.code_end == block.end and not any(lines[block.end :])


def _blank_spans(line: str) -> str:
    for start, end, ticks in find_code_spans(line) if "`" in line else ():
        line = f"{line[: start + ticks]}{' ' * (end - start - 2 * ticks)}{line[end - ticks :]}"
    return line
