"""Run the enabled rules on a site, locate their findings in the sources, compute the score, and format the report.

`LintConfig` says which rules run on which pages.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

import msgspec

from mkdocs_roaming.errors import ManifestNotFoundError, UsageError
from mkdocs_roaming.files import read_inside
from mkdocs_roaming.lint.context import SEVERITIES, Finding, LintContext, Problem, Rule, Severity, SourceReader
from mkdocs_roaming.lint.rules import load_rules
from mkdocs_roaming.manifest.io import MANIFEST_PATH, load_manifest
from mkdocs_roaming.manifest.lookup import PageName, SectionIndex, SectionRef, match_pattern
from mkdocs_roaming.manifest.models import PageEntry
from mkdocs_roaming.manifest.sections import github_slug
from mkdocs_roaming.settings import decode_table
from mkdocs_roaming.text.blocks import FRONT_MATTER, find_headings, strip_markup
from mkdocs_roaming.text.markdown import pluralize

WEIGHTS: Mapping[Severity, int] = {"error": 10, "warning": 3, "hint": 1}
"""Weights of findings in the score."""

_MIN_TEMPLATED = 4
"""Number of other pages with the same problem, from which it is that of a template."""
_FULL_SCORE = 100
_FINGERPRINT_CHARS = 32
_MAX_LOGGED = 20
"""Number of findings in a build log."""
_GITHUB_LEVELS: Mapping[Severity, str] = {"error": "error", "warning": "warning", "hint": "notice"}

_NUMBER = re.compile(r"\d+")
"""What differs between the messages about a template: `12` in “has 12 subsections”."""
_ATTRIBUTES = re.compile(r"\s*\{:?[^{}]*\}\s*$")
"""The attributes behind a heading: `{ #install .wide }`."""


class LintConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Configuration of the linter.

    Attributes:
        level: Whether the plugin lints a build, and whether errors and warnings fail it.
        disable: Ids of rules to disable.
        pages: Ids of rules to ignore by pattern of pages; `*` means all rules.
    """

    level: Literal["warn", "strict", "off"] = "warn"
    disable: frozenset[str] = frozenset()
    pages: Mapping[str, frozenset[str]] = {}

    def ignores(self, rule: Rule, problem: Problem) -> bool:
        """Return whether a rule is ignored on the page of a problem; patterns match its source or its path."""
        if problem.page is None:
            return False
        name = PageName.from_entry(problem.page)
        patterns = [pattern for pattern, ignored in self.pages.items() if rule.id in ignored or "*" in ignored]
        return any(match_pattern(pattern, name) for pattern in patterns)

    def override(self, *, disable: Iterable[str], strict: bool) -> LintConfig:
        """Return the configuration with options of the command line, which take precedence.

        Raises:
            UsageError: If there is no rule with one of the ids.
        """
        disabled = frozenset(disable)
        _check_rules(disabled, "--disable")
        level = "strict" if strict else self.level
        return msgspec.structs.replace(self, level=level, disable=self.disable | disabled)


def parse_config(value: object, where: str) -> LintConfig:
    """Return the configuration from a value in mkdocs.yml or roaming.toml: a level or a table.

    Raises:
        UsageError: If the value is invalid; the message starts with `where`.
    """
    table = dict(value) if isinstance(value, Mapping) else {"level": value}
    level = table.get("level", "warn")
    if level is None or isinstance(level, bool):  # YAML reads `off` as False
        table["level"] = "warn" if level else "off"
    try:
        config = decode_table(table, LintConfig, where)
    except UsageError as error:
        raise UsageError(
            f"{error}. Set warn, strict or off, or a table with the keys level, disable and pages; a list of rules is "
            "written as [no-opening, empty-title]."
        ) from None
    _check_rules(config.disable, f"{where}: disable")
    for pattern, rules in config.pages.items():
        _check_rules(rules - {"*"}, f"{where}: pages: {pattern}")
    return config


def _check_rules(rules: frozenset[str], where: str) -> None:
    """Raise a UsageError for the first id that is not that of a rule."""
    known = load_rules()
    for rule in sorted(rules - known.keys()):
        raise UsageError(f"{where}: unknown rule {rule!r}. Known rules: {', '.join(known)}.")


@dataclass(frozen=True, slots=True)
class LintReport:
    """The findings of a site, in the order of its pages and lines; those about the whole site come first."""

    site: str
    pages: int
    sections: int
    score: int
    findings: tuple[Finding, ...]

    def count(self, severity: Severity) -> int:
        """Return the number of findings of a severity."""
        return sum(finding.severity == severity for finding in self.findings)

    @property
    def has_faults(self) -> bool:
        """Whether there are errors or warnings."""
        return any(finding.severity != "hint" for finding in self.findings)

    def __str__(self) -> str:
        """Return the score and the number of findings."""
        counts: list[str] = []
        for severity in SEVERITIES:
            number = self.count(severity)
            if number:
                counts.append(pluralize(number, severity))
        summary = ", ".join(counts) or "nothing found"
        sections = pluralize(self.sections, "section")
        return f"{self.score}/{_FULL_SCORE}: {summary} in {sections} on {pluralize(self.pages, 'page')}"


def lint_site(
    context: LintContext, config: LintConfig | None = None, read_source: SourceReader | None = None
) -> LintReport:
    """Run all enabled rules.

    Args:
        context: The site.
        config: Disabled rules and ignored pages.
        read_source: Returns the text of a source file, to report lines of the sources.

    Raises:
        PluginError: If a rule of another distribution cannot be loaded.
    """
    config = config or LintConfig()
    problems: list[tuple[Rule, Problem]] = []
    for rule in load_rules().values():
        if rule.id in config.disable:
            continue
        reported = [problem for problem in rule.check(context) if not config.ignores(rule, problem)]
        problems += [(rule, problem) for problem in reported]

    @cache
    def open_source(path: str | None) -> _Source | None:
        text = read_source(path) if read_source and path else None
        return _Source.parse(text) if text is not None else None

    counts = Counter[str]()
    findings = []
    for rule, problem in _merge_templated(problems):
        fingerprint = _make_fingerprint(rule, problem, counts)
        finding = _to_finding(context, rule, problem, fingerprint, open_source)
        findings.append(finding)
    order: dict[str | None, int] = {page.path: number for number, page in enumerate(context.manifest.pages, 1)}
    findings.sort(key=lambda finding: (order.get(finding.page, 0), finding.line, finding.rule))
    sections = len(context.sections)
    score = compute_score((finding.severity for finding in findings), sections)
    return LintReport(
        site=context.manifest.site.name,
        pages=len(context.manifest.pages),
        sections=sections,
        score=score,
        findings=tuple(findings),
    )


def lint_folder(folder: Path, config: LintConfig, docs: Path | None = None) -> LintReport:
    """Lint a site that has been published to a folder.

    Args:
        folder: The site.
        config: Disabled rules and ignored pages.
        docs: The folder of the sources.

    Raises:
        ManifestNotFoundError: If the folder contains no manifest.
        ManifestError: If the manifest is invalid.
        PluginError: If a rule of another distribution cannot be loaded.
    """
    file = folder / MANIFEST_PATH
    try:
        manifest = load_manifest(file.read_bytes(), where=str(file))
    except FileNotFoundError:
        raise ManifestNotFoundError(
            f"{folder}: no {MANIFEST_PATH} in this folder; build the site with the plugin, or run `roaming index` on it"
        ) from None
    read = open_sources(folder)
    context = LintContext(SectionIndex(manifest), lambda page: read(page.markdown) or "")
    return lint_site(context, config, open_sources(docs) if docs else None)


def open_sources(docs: Path) -> SourceReader:
    """Return a reader of the text files in a folder, such as that of the sources."""

    def read(source: str) -> str | None:
        data = read_inside(docs, source)
        return data.decode("utf-8", "replace") if data is not None else None

    return read


def compute_score(severities: Iterable[Severity], sections: int) -> int:
    """Return 100 / (1 + weight of the findings / sections), rounded down.

    Small and large sites are comparable, any finding lowers the score, and a further finding never raises it.
    """
    weight = sum(WEIGHTS[severity] for severity in severities)
    return _FULL_SCORE * sections // (sections + weight) if weight else _FULL_SCORE


def _merge_templated(problems: Iterable[tuple[Rule, Problem]]) -> Iterator[tuple[Rule, Problem]]:
    """Yield problems; of one that a template causes on many pages, the first.

    It is the same text, which the message quotes, or concerns sections of the same title.
    """
    groups: dict[object, list[tuple[Rule, Problem]]] = defaultdict(list)
    for rule, problem in problems:
        page = problem.page
        shared_text = ""
        if problem.line is not None:
            shared_text = problem.quote if problem.quote in problem.message else ""
        elif page is not None and problem.position:
            shared_text = page.sections[problem.position].title
        scope = shared_text or (page.path if page else None)  # without a shared text only problems of one page
        message = _NUMBER.sub("#", problem.message)
        groups[rule.id, message, scope].append((rule, problem))
    for group in groups.values():
        rule, first = group[0]
        paths = dict.fromkeys(problem.page.path for _, problem in group if problem.page)
        repeated = [path for path in paths if first.page is None or path != first.page.path]
        if len(repeated) < _MIN_TEMPLATED:
            yield from group
        else:
            note = f"The same applies to {len(repeated)} other pages, such as {repeated[0]}."
            yield rule, replace(first, fix=f"{first.fix} {note}")


def _make_fingerprint(rule: Rule, problem: Problem, counts: Counter[str]) -> str:
    """Return the fingerprint of a finding, with its number among equal ones."""
    page = problem.page
    identity = [rule.id, page.path if page else "", problem.quote or problem.message]
    if page:
        identity.append(page.sections[problem.position].id)
    key = "\0".join(identity)
    counts[key] += 1
    numbered = f"{key}\0{counts[key]}".encode("utf-8", "surrogatepass")
    return hashlib.sha256(numbered).hexdigest()[:_FINGERPRINT_CHARS]


def _to_finding(
    context: LintContext,
    rule: Rule,
    problem: Problem,
    fingerprint: str,
    open_source: Callable[[str | None], _Source | None],
) -> Finding:
    finding = Finding(rule.id, rule.severity, problem.message, problem.fix, fingerprint=fingerprint)
    page = problem.page
    if page is None:
        return finding
    line = problem.line
    if line is None:
        line = context.text_by_path[page.path].starts[problem.position]
    source = open_source(page.source)
    source_line = source.find_line(page, problem.position, problem.quote) if source else None
    ref = SectionRef(page, problem.position)
    return replace(
        finding,
        markdown=page.markdown,
        line=line + 1,
        source=page.source,
        source_line=source_line,
        page=page.path,
        section=ref.id,
        breadcrumb=context.sections.breadcrumb(ref),
        url=context.sections.url(ref),
        quote=problem.quote,
    )


@dataclass(frozen=True, slots=True)
class _Source:
    """A source file: its lines, and line and slug of each heading."""

    lines: list[str]
    headings: list[tuple[int, str]]

    @classmethod
    def parse(cls, text: str) -> _Source:
        front_matter = FRONT_MATTER.match(text)
        end = front_matter.end() if front_matter else 0
        offset = text.count("\n", 0, end)
        headings = []
        for heading in find_headings(text[end:]):
            title = strip_markup(_ATTRIBUTES.sub("", heading.text))
            headings.append((offset + heading.start, github_slug(title)))
        return cls(text.split("\n"), headings)

    def find_line(self, page: PageEntry, position: int, quote: str) -> int | None:
        """Return the line, counted from 1, of a quotation from a section, else of its heading, else None.

        Of several headings with the title of the section, the one with its number counts.
        """
        slug = github_slug(page.sections[position].title)
        number = sum(github_slug(section.title) == slug for section in page.sections[:position])
        same = [index for index, heading in enumerate(self.headings) if heading[1] == slug]
        start = 0
        end = len(self.lines)
        line_of_heading = 1 if position == 0 else None
        if number < len(same):
            start = self.headings[same[number]][0]
            line_of_heading = start + 1
            following = same[number] + 1
            if following < len(self.headings):
                end = self.headings[following][0]
        if not quote:
            return line_of_heading
        for line in range(start, end):
            text = " ".join(self.lines[line].split())
            if quote in text:
                return line + 1
        return line_of_heading


# Formats: text, build log, JSON, GitHub annotations


def format_text(report: LintReport, docs: str = "", lib: str = "") -> Iterator[str]:
    """Yield the lines of a report for a terminal: three per finding, and the score.

    Args:
        report: The report.
        docs: The folder of the sources, as a prefix of their paths.
        lib: Name of the site in the last line.
    """
    for finding in report.findings:
        section = ""
        if finding.section:
            section = f"  {' › '.join(finding.breadcrumb)} [{finding.section}]"
        yield f"{finding.describe_location(docs)}: {finding.severity} {finding.rule}{section}"
        yield f"    {finding.message}"
        yield f"    Fix: {finding.fix}"
    yield f"{lib}: {report}" if lib else str(report)


def format_log(report: LintReport) -> Iterator[tuple[Severity | None, str]]:
    """Yield the lines of a report for a build log with their severity: the worst findings, then the score."""
    findings = sorted(report.findings, key=lambda finding: SEVERITIES.index(finding.severity))
    for finding in findings[:_MAX_LOGGED]:
        location = finding.describe_location()
        yield finding.severity, f"lint: {location}: {finding.rule}: {finding.message} {finding.fix}"
    hidden = len(findings) - _MAX_LOGGED
    if hidden > 0:
        yield findings[_MAX_LOGGED].severity, f"lint: {hidden} more; run `roaming lint` on the site to list all of them"
    yield None, f"lint: {report}"


def report_to_dict(report: LintReport) -> dict[str, Any]:
    """Return a report as JSON-compatible data, with the summaries of the rules that found something."""
    counts = {severity: report.count(severity) for severity in SEVERITIES}
    ids = {finding.rule for finding in report.findings}
    rules = {}
    for rule in load_rules().values():
        if rule.id in ids:
            rules[rule.id] = {"severity": rule.severity, "why": rule.summary}
    return {
        "site": report.site,
        "score": report.score,
        "pages": report.pages,
        "sections": report.sections,
        "counts": counts,
        "rules": rules,
        "findings": [asdict(finding) for finding in report.findings],
    }


def format_github(report: LintReport, docs: str = "") -> Iterator[str]:
    """Yield a report as workflow commands, which GitHub turns into annotations."""
    for finding in report.findings:
        location = " "
        if finding.page is not None:
            file, line = finding.location(docs)
            place = f",line={line}" if line else ""
            location = f" file={_escape_property(file)}{place},"
        title = _escape_property(f"roaming {finding.rule}")
        message = _escape_data(f"{finding.message} {finding.fix}")
        yield f"::{_GITHUB_LEVELS[finding.severity]}{location}title={title}::{message}"
    yield f"::notice title=roaming lint::{_escape_data(str(report))}"


def _escape_data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape_data(text).replace(":", "%3A").replace(",", "%2C")
