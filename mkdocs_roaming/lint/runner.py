"""Where a finding stands in the file that an author edits."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from mkdocs_roaming.lint.config import Config
from mkdocs_roaming.lint.context import Docs, docs_of
from mkdocs_roaming.lint.models import SEVERITIES, Finding, Found, Rule, Severity
from mkdocs_roaming.lint.rules import RULES
from mkdocs_roaming.manifest.io import MANIFEST_PATH, load_manifest
from mkdocs_roaming.manifest.lookup import SectionIndex, SectionRef
from mkdocs_roaming.manifest.models import PageEntry
from mkdocs_roaming.manifest.sections import github_slug
from mkdocs_roaming.text.markdown import MarkdownHeading, parse_headings, strip_markup

Sources = Callable[[str], str | None]


"""Gives a source's text by its path below the docs folder, None where there is none."""


class SourceLines:
    """Finds lines in sources; each is read once."""

    def __init__(self, sources: Sources | None) -> None:
        self._sources = sources
        self._read: dict[str, tuple[list[str], list[MarkdownHeading], int] | None] = {}

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

    def _file(self, source: str) -> tuple[list[str], list[MarkdownHeading], int] | None:
        if source not in self._read:
            text = self._sources(source) if self._sources else None
            self._read[source] = _parted(text) if text is not None else None
        return self._read[source]


def _parted(text: str) -> tuple[list[str], list[MarkdownHeading], int]:
    """Give a source's lines, its headings, and how many lines of front matter stand before."""
    front = _FRONT_MATTER.match(text)
    body = text[front.end() :] if front else text
    return text.split("\n"), parse_headings(body), text[: front.end()].count("\n") if front else 0


def _heading(page: PageEntry, at: int, marks: list[MarkdownHeading]) -> int | None:
    """Give which of the source's headings is a section's: the same text, and as many of that text before it."""
    slug = github_slug(page.sections[at].title)
    before = sum(github_slug(section.title) == slug for section in page.sections[:at])
    same = [number for number, mark in enumerate(marks) if _slug(mark.title) == slug]
    return same[before] if before < len(same) else None


def _slug(title: str) -> str:
    return github_slug(strip_markup(_ATTRIBUTES.sub("", title)))


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


# MERGED mkdocs_roaming.lint.score:
# One number for a site: how well it can be roamed.


WEIGHTS: Mapping[Severity, int] = {"error": 10, "warning": 3, "hint": 1}


def compute_score(severities: Iterable[Severity], sections: int) -> int:
    """Give 100 where nothing was found, and the less the more was found in how many sections.

    100 / (1 + weights of the findings / sections), rounded down: a site of five pages and one of five hundred
    compare, any finding takes something off, and one more never adds.
    """
    weight = sum(WEIGHTS[severity] for severity in severities)
    return 100 * sections // (sections + weight) if weight else 100


# MERGED mkdocs_roaming.lint.report:
# A site looked at by all rules: findings in one order, and their score.


@dataclass(frozen=True, slots=True)
class Report:
    """What was found on a site, in the order of its pages and lines; findings on the site as a whole stand first."""

    site: str
    pages: int
    sections: int
    score: int
    findings: tuple[Finding, ...]

    def count(self, severity: Severity) -> int:
        """Count the findings of a severity."""
        return sum(finding.severity == severity for finding in self.findings)

    @property
    def faulty(self) -> bool:
        """Whether there is more than hints."""
        return any(finding.severity != "hint" for finding in self.findings)

    def __str__(self) -> str:
        counts = [_counted(self.count(severity), severity) for severity in SEVERITIES if self.count(severity)]
        told = ", ".join(counts) or "nothing found"
        return f"{self.score}/100: {told} in {_counted(self.sections, 'section')} on {_counted(self.pages, 'page')}"


def lint(docs: Docs, config: Config | None = None, sources: Sources | None = None) -> Report:
    """Look at a site by all rules that are asked for. `sources` gives the text of source files, for their lines."""
    config = config or Config()
    order = {page.path: at for at, page in enumerate(docs.manifest.pages)}
    found = [
        (rule, one)
        for rule in RULES.values()
        if config.looks(rule.name)
        for one in rule.look(docs)
        if one.page is None or not _spared(docs, config, rule, one)
    ]
    found.sort(key=lambda pair: (order[pair[1].page.path] if pair[1].page else -1, _line(docs, pair[1]), pair[0].name))
    lines, seen = SourceLines(sources), Counter[str]()
    findings = tuple(_finding(docs, rule, one, lines, seen) for rule, one in found)
    sections = len(docs.sections)
    return Report(
        site=docs.manifest.site.name,
        pages=len(docs.manifest.pages),
        sections=sections,
        score=compute_score((finding.severity for finding in findings), sections),
        findings=findings,
    )


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _spared(docs: Docs, config: Config, rule: Rule, found: Found) -> bool:
    assert found.page is not None
    silenced = docs.text_of[found.page.path].silenced
    return bool(silenced & {rule.name, "*"}) or config.spares(rule.name, found.page)


def _line(docs: Docs, found: Found) -> int:
    if found.page is None:
        return 0
    return docs.text_of[found.page.path].starts[found.at] if found.line is None else found.line


def _finding(docs: Docs, rule: Rule, found: Found, lines: SourceLines, seen: Counter[str]) -> Finding:
    key = "\0".join([rule.name, found.page.path if found.page else "", found.quote or found.message])
    if found.page:
        key += "\0" + found.page.sections[found.at].id
    seen[key] += 1
    fingerprint = hashlib.sha256(f"{key}\0{seen[key]}".encode("utf-8", "surrogatepass")).hexdigest()[:32]
    if found.page is None:
        return Finding(rule.name, rule.severity, found.message, found.fix, fingerprint=fingerprint)
    place = SectionRef(found.page, found.at)
    return Finding(
        rule=rule.name,
        severity=rule.severity,
        message=found.message,
        fix=found.fix,
        markdown=found.page.markdown,
        line=_line(docs, found) + 1,
        source=found.page.source,
        source_line=lines.line(found.page, found.at, found.quote),
        page=found.page.path,
        section=place.id,
        breadcrumb=docs.sections.breadcrumb(place),
        url=docs.sections.url(place),
        quote=found.quote,
        fingerprint=fingerprint,
    )


# MERGED mkdocs_roaming.lint.folder:
# A published site's folder, looked at where it lies: what a build does when it has written one.


def lint_folder(folder: Path, config: Config, docs: Path | None = None) -> Report:
    """Look at the site in a folder; `docs` is the folder of its sources.

    Raises ManifestError where its manifest cannot be read.
    """

    @cache
    def file(path: str) -> bytes | None:
        return _read(folder, path)

    places = SectionIndex(load_manifest((folder / MANIFEST_PATH).read_bytes(), where=str(folder / MANIFEST_PATH)))
    given = docs_of(places, lambda page: (file(page.markdown) or b"").decode("utf-8", "replace"), file)
    return lint(given, config, open_sources(docs) if docs else None)


def open_sources(docs: Path) -> Sources:
    """Give what reads sources from their folder."""

    def read(source: str) -> str | None:
        data = _read(docs, source)
        return data.decode("utf-8", "replace") if data is not None else None

    return read


def _read(folder: Path, path: str) -> bytes | None:
    """Give a file below a folder; None where there is none, or where its path leads out of the folder."""
    if path.startswith("/") or ".." in path.split("/") or "\0" in path:
        return None
    try:
        return (folder / path).read_bytes()
    except OSError:
        return None
