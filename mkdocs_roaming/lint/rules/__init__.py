"""Built-in rules, one module per family, and rules of other distributions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from mkdocs_roaming.errors import PluginError
from mkdocs_roaming.lint.context import Rule
from mkdocs_roaming.lint.rules import content, headings, structure
from mkdocs_roaming.plugins import load_entry_points

GROUP = "roaming.lint_rules"
"""Entry-point group of additional rules; an object is a `Rule` or an iterable of rules."""


BUILTIN_RULES: Mapping[str, Rule] = {
    rule.id: rule
    for family in (headings, structure, content)
    for rule in vars(family).values()
    if isinstance(rule, Rule)
}
"""The built-in rules by id, in the order of their modules."""


@cache
def load_rules() -> Mapping[str, Rule]:
    """Return the built-in rules and those of other distributions by id.

    Raises:
        PluginError: If an entry point cannot be imported, is not a rule, or has the id of another rule.
    """
    rules = dict(BUILTIN_RULES)
    for name, value in load_entry_points(GROUP).items():
        for rule in _as_rules(name, value):
            if rule.id in rules:
                raise PluginError(
                    f"the entry point {name!r} ({GROUP}) defines the rule {rule.id!r}, which exists already; "
                    "rename it or uninstall its package"
                )
            rules[rule.id] = rule
    return rules


def _as_rules(name: str, value: object) -> list[Rule]:
    rules: list[Any] = []
    if isinstance(value, Rule):
        rules = [value]
    elif isinstance(value, Iterable):
        rules = list(value)
    if not rules or not all(isinstance(rule, Rule) for rule in rules):
        raise PluginError(
            f"the entry point {name!r} ({GROUP}) is {type(value).__name__}, expected a Rule or a list of rules; "
            "decorate its function with mkdocs_roaming.lint.rule"
        )
    return rules
