"""Check a published site for content that is hard to navigate.

A rule is a function that yields problems:

    from mkdocs_roaming.lint import LintContext, Problem, rule

    @rule("short-title", "hint", "A title of one letter says nothing in search results.")
    def short_title(site: LintContext) -> Iterator[Problem]:
        for _, ref in site.iter_sections(site.manual_pages):
            if len(ref.section.title) == 1:
                yield Problem("The title has one letter.", "Name the subject.", ref.page, ref.position)

Other distributions add rules through the entry-point group `roaming.lint_rules`; built-in rules are in `lint.rules`.
"""

from __future__ import annotations

from mkdocs_roaming.lint.context import Finding, LintContext, PageText, Problem, Rule, Severity, rule
from mkdocs_roaming.lint.runner import LintConfig, LintReport, lint_folder, lint_site

__all__ = [
    "Finding",
    "LintConfig",
    "LintContext",
    "LintReport",
    "PageText",
    "Problem",
    "Rule",
    "Severity",
    "lint_folder",
    "lint_site",
    "rule",
]
