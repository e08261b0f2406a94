"""Can these docs be roamed? Rules that look at a published site, findings with a fix, one score."""

from __future__ import annotations

from mkdocs_roaming.lint.config import Config, config_of, with_options
from mkdocs_roaming.lint.context import Docs, Files, docs_of
from mkdocs_roaming.lint.models import Finding, Found, Rule, Severity
from mkdocs_roaming.lint.rules import RULES
from mkdocs_roaming.lint.runner import Report, lint

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
