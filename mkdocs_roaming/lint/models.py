"""Rules, the problems that they yield, and the findings that are reported."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Literal

from mkdocs_roaming.manifest.models import PageEntry

if TYPE_CHECKING:
    from mkdocs_roaming.lint.context import LintContext

Severity = Literal["error", "warning", "hint"]
"""An error misleads readers and models, a warning costs them time or tokens, a hint is an improvement."""

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "hint")
"""All severities, worst first."""

SITE_FILE = "llms.txt"
"""The file to which findings about the whole site are attached."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem that a rule found.

    Attributes:
        message: The problem, as a sentence.
        fix: What the author should do, as a sentence.
        page: The page, or None for the whole site.
        position: Position of the section on the page.
        line: Line in the page's Markdown, counted from 0; None for the heading of the section.
        quote: The text that causes the problem, to find its line in the source.
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
        if not re.fullmatch("[a-z]+(-[a-z]+)*", self.id):
            raise ValueError(f"invalid rule id {self.id!r}: use lower-case words with hyphens, such as no-opening")
        if self.severity not in SEVERITIES:
            raise ValueError(f"invalid severity {self.severity!r} of {self.id}: use one of {', '.join(SEVERITIES)}")


def rule(id: str, severity: Severity, summary: str) -> Callable[[Check], Rule]:  # noqa: A002  # the field's name
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

    def location(self, docs: str = "") -> tuple[str, int]:
        """Return file and line: of the source if its line is known, else of the published Markdown.

        Args:
            docs: The folder of the sources, as a prefix of the source's path.
        """
        if self.source and self.source_line is not None:
            return str(PurePosixPath(docs) / self.source), self.source_line
        return self.markdown or SITE_FILE, self.line

    def describe_location(self, docs: str = "") -> str:
        """Return the location as `file:line`, or `the site`."""
        file, line = self.location(docs)
        return f"{file}:{line}" if self.page is not None else "the site"
