"""Can these docs be roamed? Rules that look at a published site, findings with a fix, one score."""

from __future__ import annotations

from mkdocs_roaming.lint.config import Config, config_of, with_options
from mkdocs_roaming.lint.docs import Docs, Files, docs_of
from mkdocs_roaming.lint.finding import Finding, Found, Rule, Severity
from mkdocs_roaming.lint.report import Report, lint
from mkdocs_roaming.lint.rules import RULES

__all__ = [
    "RULES",
    "Config",
    "Docs",
    "Files",
    "Finding",
    "Found",
    "Report",
    "Rule",
    "Severity",
    "config_of",
    "docs_of",
    "lint",
    "with_options",
]
