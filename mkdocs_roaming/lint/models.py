"""What a rule is, what it finds, and how that is told to an author."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from mkdocs_roaming.manifest.models import PageEntry

if TYPE_CHECKING:
    from mkdocs_roaming.lint.context import Docs

Severity = Literal["error", "warning", "hint"]
"""An error misleads whoever roams, a warning costs them, a hint would help them."""

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "hint")
"""From the worst to the least."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a rule's function found: where, what, and what to do about it.

    `page` is None where the site as a whole is meant, `at` the section's position on the page. `line` is counted from
    0 in the page's Markdown, None for the line of the section's heading. `quote` is what stands there.
    """

    message: str
    fix: str
    page: PageEntry | None = None
    at: int = 0
    line: int | None = None
    quote: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: its name, how grave a finding is, why it matters, and the function that looks."""

    name: str
    severity: Severity
    why: str
    look: Callable[[Docs], Iterator[Found]]
    on: bool = True
    """Whether it looks without being asked to."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding with its place. Lines are counted from 1.

    `line` is that in the page's Markdown, `source_line` that in the source, None where the source is not at hand. A
    finding on the site as a whole has neither page nor section. `fingerprint` names the finding while the text around
    it changes.
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
