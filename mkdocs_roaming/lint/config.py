"""What is asked of the linter: which rules look, on which pages, and whether findings stop a build."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Literal

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.lint.rules import RULES
from mkdocs_roaming.manifest.models import PageEntry

Level = Literal["off", "warn", "strict"]


@dataclass(frozen=True, slots=True)
class Config:
    """What is asked of the linter. `pages` gives for globs over pages the rules that do not look there."""

    level: Level = "warn"
    disable: frozenset[str] = frozenset()
    enable: frozenset[str] = frozenset()
    pages: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def looks(self, rule: str) -> bool:
        """Tell whether a rule looks at all."""
        return rule not in self.disable and (RULES[rule].on or rule in self.enable)

    def spares(self, rule: str, page: PageEntry) -> bool:
        """Tell whether a rule leaves a page alone; globs are over its source, else over its path."""
        names = [name for name in (page.source, page.path) if name]
        return any(
            (rule in rules or "*" in rules) and any(fnmatchcase(name, pattern) for name in names)
            for pattern, rules in self.pages.items()
        )


def config_of(given: object, where: str) -> Config:
    """Read what mkdocs.yml or roaming.toml says of linting; `where` is named in errors.

    A level alone is enough; YAML makes False of `off`. Raises UsageError that names the place and what may stand there.
    """
    if given is None or isinstance(given, (bool, str)):
        return Config(level=_level(given, where))
    if not isinstance(given, Mapping):
        raise UsageError(f"{where}: is {type(given).__name__}; write warn, strict or off, or a table")
    for key in given:
        if key not in _KEYS:
            raise UsageError(f"{where}: has no key {key!r}; it has {', '.join(_KEYS)}")
    pages = given.get("pages", {})
    if not isinstance(pages, Mapping) or not all(isinstance(pattern, str) for pattern in pages):
        raise UsageError(f"{where}: pages is a table of globs, each with a list of rules")
    return Config(
        level=_level(given.get("level", "warn"), where),
        disable=_rules(given.get("disable", []), f"{where}: disable"),
        enable=_rules(given.get("enable", []), f"{where}: enable"),
        pages={pattern: _rules(rules, f"{where}: pages: {pattern}", every=True) for pattern, rules in pages.items()},
    )


def with_options(config: Config, disable: Iterable[str], enable: Iterable[str], *, strict: bool) -> Config:
    """Give what is asked for with what a command line says, which goes before: it may enable what a file disables."""
    off, on = _rules(list(disable), "--disable"), _rules(list(enable), "--enable")
    return replace(
        config,
        level="strict" if strict else config.level,
        disable=(config.disable - on) | off,
        enable=(config.enable | on) - off,
    )


_KEYS = ("level", "disable", "enable", "pages")


def _level(given: object, where: str) -> Level:
    if given is None or given is False or given == "off":
        return "off"
    if given is True or given == "warn":
        return "warn"
    if given == "strict":
        return "strict"
    raise UsageError(f"{where}: {given!r} is no level; write warn, strict or off")


def _rules(given: object, where: str, *, every: bool = False) -> frozenset[str]:
    if not isinstance(given, list) or not all(isinstance(name, str) for name in given):
        raise UsageError(f"{where}: is a list of rules, such as [no-opening, empty-title]")
    for name in given:
        if name not in RULES and not (every and name == "*"):
            raise UsageError(f"{where}: there is no rule {name!r}; there are {', '.join(RULES)}")
    return frozenset(given)
