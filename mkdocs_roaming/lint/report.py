"""A site looked at by all rules: findings in one order, and their score."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass

from mkdocs_roaming.lint.config import Config
from mkdocs_roaming.lint.docs import Docs
from mkdocs_roaming.lint.finding import SEVERITIES, Finding, Found, Rule, Severity
from mkdocs_roaming.lint.rules import RULES
from mkdocs_roaming.lint.score import score
from mkdocs_roaming.lint.sources import SourceLines, Sources
from mkdocs_roaming.places import Place


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
    sections = len(docs.places)
    return Report(
        site=docs.manifest.site.name,
        pages=len(docs.manifest.pages),
        sections=sections,
        score=score((finding.severity for finding in findings), sections),
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
    place = Place(found.page, found.at)
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
        breadcrumb=docs.places.breadcrumb(place),
        url=docs.places.url(place),
        quote=found.quote,
        fingerprint=fingerprint,
    )
