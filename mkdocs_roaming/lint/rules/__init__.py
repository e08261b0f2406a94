"""The rules, one function each; families of them side by side."""

from __future__ import annotations

from collections.abc import Mapping

from mkdocs_roaming.lint.models import Rule
from mkdocs_roaming.lint.rules import content, headings, links, structure

RULES: Mapping[str, Rule] = {
    rule.name: rule for family in (headings, structure, links, content) for rule in family.RULES
}
"""All rules by name."""
