"""Configuration of the linter: enabled rules, ignored pages, and whether findings fail a build."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Literal

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.lint.models import Rule
from mkdocs_roaming.lint.rules import load_rules
from mkdocs_roaming.manifest.models import PageEntry

Level = Literal["off", "warn", "strict"]

_KEYS = ("level", "disable", "enable", "pages")
_ALL = "*"


@dataclass(frozen=True, slots=True)
class LintConfig:
    """Configuration of the linter.

    Attributes:
        level: Whether the plugin lints a build, and whether errors and warnings fail it.
        disable: Ids of rules to disable.
        enable: Ids of rules to enable that are off by default.
        pages: Ids of rules to ignore by glob of page; `*` means all rules.
    """

    level: Level = "warn"
    disable: frozenset[str] = frozenset()
    enable: frozenset[str] = frozenset()
    pages: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def is_enabled(self, rule: Rule) -> bool:
        """Return whether a rule runs."""
        return rule.id not in self.disable and (rule.enabled or rule.id in self.enable)

    def is_ignored(self, rule: Rule, page: PageEntry) -> bool:
        """Return whether a rule is ignored on a page; globs match its source or its path."""
        names = [name for name in (page.source, page.path) if name]
        return any(
            not ignored.isdisjoint((rule.id, _ALL)) and any(fnmatchcase(name, pattern) for name in names)
            for pattern, ignored in self.pages.items()
        )

    def override(self, *, disable: Iterable[str], enable: Iterable[str], strict: bool) -> LintConfig:
        """Return the configuration with options of the command line, which take precedence.

        Raises:
            UsageError: If there is no rule with one of the ids.
        """
        disabled, enabled = _parse_rules(list(disable), "--disable"), _parse_rules(list(enable), "--enable")
        return replace(
            self,
            level="strict" if strict else self.level,
            disable=(self.disable - enabled) | disabled,
            enable=(self.enable | enabled) - disabled,
        )


def parse_config(value: object, where: str) -> LintConfig:
    """Return the configuration from a value in mkdocs.yml or roaming.toml: a level or a table.

    Raises:
        UsageError: If the value is invalid; the message starts with `where`.
    """
    if value is None or isinstance(value, (bool, str)):
        return LintConfig(level=_parse_level(value, where))
    if not isinstance(value, Mapping):
        raise UsageError(f"{where}: expected warn, strict, off or a table, got {type(value).__name__}")
    for key in value:
        if key not in _KEYS:
            raise UsageError(f"{where}: unknown key {key!r}. Known keys: {', '.join(_KEYS)}.")
    pages = value.get("pages", {})
    if not isinstance(pages, Mapping) or not all(isinstance(pattern, str) for pattern in pages):
        raise UsageError(f"{where}: pages: expected a table from globs to lists of rules")
    return LintConfig(
        level=_parse_level(value.get("level", "warn"), where),
        disable=_parse_rules(value.get("disable", []), f"{where}: disable"),
        enable=_parse_rules(value.get("enable", []), f"{where}: enable"),
        pages={
            pattern: _parse_rules(rules, f"{where}: pages: {pattern}", allow_all=True)
            for pattern, rules in pages.items()
        },
    )


def _parse_level(value: object, where: str) -> Level:
    if value is None or value is False or value == "off":  # YAML reads `off` as False
        return "off"
    if value is True or value == "warn":
        return "warn"
    if value == "strict":
        return "strict"
    raise UsageError(f"{where}: unknown level {value!r}. Use warn, strict or off.")


def _parse_rules(value: object, where: str, *, allow_all: bool = False) -> frozenset[str]:
    if not isinstance(value, list) or not all(isinstance(rule, str) for rule in value):
        raise UsageError(f"{where}: expected a list of rules, such as [no-opening, empty-title]")
    known = load_rules()
    for rule in value:
        if rule not in known and not (allow_all and rule == _ALL):
            raise UsageError(f"{where}: unknown rule {rule!r}. Known rules: {', '.join(known)}.")
    return frozenset(value)
