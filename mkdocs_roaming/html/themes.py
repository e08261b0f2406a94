"""Themes: which elements of a page play which role, and where its article and its navigation are.

A theme is data. `themes.toml` covers the common generators and Markdown extensions, packages add themes through the
entry point group `roaming.themes`, and a site adds its own CSS classes with the option `classes`.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast, get_args

import msgspec

from mkdocs_roaming._json import prepare
from mkdocs_roaming.errors import PluginError, UsageError
from mkdocs_roaming.plugins import load_entry_points

if TYPE_CHECKING:
    from lxml import etree

ENTRY_POINT_GROUP = "roaming.themes"
ROLE_CLASS = "roaming-"
"""With a role behind it, the class that gives an element this role, whatever its other classes are."""

Role = str
"""What an element is converted as, one of `ROLES`."""

AdmonitionKind = Literal["NOTE", "TIP", "IMPORTANT", "WARNING", "CAUTION"]
"""GitHub's five kinds of alerts."""

ADMONITION_KINDS: tuple[AdmonitionKind, ...] = get_args(AdmonitionKind)


def split_names(text: str) -> tuple[str, ...]:
    """Split names that are separated by white space."""
    return tuple(text.split())


ROLES: tuple[Role, ...] = split_names(
    "group pager skip text self-link permalink footnote-reference footnotes display-math raw-math math mermaid "
    "abbreviation button gloss admonition-title admonition tabs terminal code-table code-title api-heading classifier "
    "footnote-label strong member member-name prototype grid signature labels spaced line line-block rubric "
    "code-wrapper emoji caption code code-span definitions drawing emphasis heading image input line-break "
    "link list media quotation quote rule script span strike table tag"
)
"""All roles. An element whose classes name several roles plays the first of them."""

_BLOCK_ROLES = frozenset(split_names("heading list code group quote admonition definitions rule table tabs"))
_MAX_ROLES = 10_000
"""Size of the cache of roles: a page may invent any number of classes."""
_RANK_OF_SITE = -1
"""The rank of a site's own classes, before that of any role."""
_RANK_OF_MARK = -2
_DIGEST_DIGITS = 16


@dataclass(frozen=True, slots=True)
class Tabs:
    """CSS selectors of the labels and the panels of a set of tabs; `:scope` is the element with the role `tabs`."""

    labels: str
    panels: str


@dataclass(frozen=True, slots=True)
class Theme:
    """The HTML of a theme, a generator or a Markdown extension, as data.

    Raises:
        ValueError: A role or a kind of admonition is unknown.
    """

    name: str
    articles: tuple[str, ...] = ()
    """CSS selectors of the element that holds a page's article, the best first."""
    parts: Mapping[Role, str] = field(default_factory=dict)
    """CSS selectors by role of elements in an article that this theme finds; elsewhere they are not looked for."""
    navs: tuple[str, ...] = ()
    """CSS selectors of the elements that hold the site's navigation, the best first."""
    roles: Mapping[Role, str] = field(default_factory=dict)
    """Selectors by role: `.class`, `tag.class`, `tag.class.class` or `tag`, separated by spaces.

    A class that ends in `_` or `-` matches every class that begins with it (Docusaurus appends hashes).
    """
    admonitions: Mapping[AdmonitionKind, str] = field(default_factory=dict)
    """The CSS classes of each kind of admonition, separated by spaces."""
    admonition_prefixes: tuple[str, ...] = ()
    """Prefixes of the classes that name the kind, such as `alert-` in `alert-warning`."""
    tabs: tuple[Tabs, ...] = ()

    def __post_init__(self) -> None:
        """Check the names that a type checker may not have seen."""
        for role in (*self.roles, *self.parts):
            if role not in ROLES:
                raise ValueError(f"theme {self.name}: unknown role {role!r}. {_suggest(role, ROLES)}")
        for kind in self.admonitions:
            if kind not in ADMONITION_KINDS:
                raise ValueError(f"theme {self.name}: unknown kind {kind!r}. {_suggest(kind, ADMONITION_KINDS)}")


def _suggest(name: str, known: Sequence[str]) -> str:
    """Return the nearest known name, and all of them, for an error message."""
    nearest = get_close_matches(name, known, 1)
    hint = f"Did you mean {nearest[0]!r}? " if nearest else ""
    return f"{hint}Known names: {', '.join(known)}."


@cache
def _read_builtin_themes() -> str:
    return resources.files(__package__).joinpath("themes.toml").read_text("utf-8")


@cache
def builtin_themes() -> tuple[Theme, ...]:
    """Return the themes that need no package, the most specific first."""
    tables = tomllib.loads(_read_builtin_themes())
    kind = prepare(Theme)  # a crawl converts pages in several threads
    return tuple(msgspec.convert({"name": name, **table}, kind) for name, table in tables.items())


@cache
def tag_roles() -> Mapping[str, Role]:
    """Return the roles of HTML's own tags."""
    html = next(theme for theme in builtin_themes() if theme.name == "html")
    roles: dict[str, Role] = {}
    for role, selectors in html.roles.items():
        roles |= {selector: role for selector in selectors.split() if "." not in selector}
    return roles


@cache
def block_tags() -> frozenset[str]:
    """Return the tags that cannot be inside a line of text."""
    tags = {tag for tag, role in tag_roles().items() if role in _BLOCK_ROLES}
    return frozenset(tags | {"figcaption", "starlight-tabs", "summary"})


class _Rule(NamedTuple):
    """A compiled selector of a class."""

    rank: int
    tag: str
    """The tag; `""` for any."""
    role: Role
    classes: frozenset[str]
    """Classes that an element must have, too."""


class Roles(dict[tuple[Any, str | None], Role]):
    """Roles by tag and class attribute, each looked up once."""

    def __init__(self, themes: Iterable[Theme], classes: Mapping[str, Role]) -> None:
        """Compile the selectors of themes, and of a site's own classes."""
        self._tags: dict[str, Role] = {}
        self._rules: dict[str, list[_Rule]] = {}
        selectors = [(f".{ROLE_CLASS}{role}", role, _RANK_OF_MARK) for role in ROLES]
        for selector, role in classes.items():
            selectors.append((selector if "." in selector else f".{selector}", role, _RANK_OF_SITE))
        for theme in themes:
            for role, names in theme.roles.items():
                selectors += [(selector, role, ROLES.index(role)) for selector in names.split()]
        for selector, role, rank in selectors:
            tag, *required = selector.split(".")
            if required:
                rule = _Rule(rank, tag, role, frozenset(required[1:]))
                self._rules.setdefault(required[0], []).append(rule)
            else:
                self._tags.setdefault(tag, role)
        self._prefixes = tuple(name for name in self._rules if name.endswith(("_", "-")))

    def __missing__(self, key: tuple[Any, str | None]) -> Role:
        """Look up the role of an element: `span` if it is only a wrapper within a line, `skip` for a comment."""
        if len(self) > _MAX_ROLES:
            self.clear()
        tag, classes = key
        names = (classes or "").split()
        rules: list[_Rule] = []
        for name in names:
            rules += self._rules.get(name, [])
            for prefix in self._prefixes:
                if name.startswith(prefix):
                    rules += self._rules[prefix]
        matching = [rule for rule in rules if rule.tag in ("", tag) and rule.classes.issubset(names)]
        if not isinstance(tag, str):
            role = "skip"
        elif matching:
            role = min(matching, key=lambda rule: rule.rank).role
        else:
            role = self._tags.get(tag, "span")
        self[key] = role
        return role


class ThemeSet:
    """The themes in use, and a site's own classes, compiled for lookups.

    The classes of a site take precedence over all themes. Of themes, the first match counts for articles, navigation
    and tabs, and the first of `ROLES` for roles.
    """

    def __init__(self, themes: Iterable[Theme], classes: Mapping[str, str] | None = None) -> None:
        """Compile themes.

        Args:
            themes: The themes, the most important first.
            classes: Roles, or kinds of admonitions, of a site's own classes.
        """
        themes = tuple(themes)
        roles, kinds = parse_classes(classes or {})
        self.roles = Roles(themes, roles)
        self.articles = tuple((selector, theme.parts) for theme in themes for selector in theme.articles)
        self.navs = tuple(selector for theme in themes for selector in theme.navs)
        self.tabs = tuple(tabs for theme in themes for tabs in theme.tabs)
        self._prefixes = tuple(prefix for theme in themes for prefix in theme.admonition_prefixes)
        self._kinds = kinds
        for theme in themes:
            for kind, names in theme.admonitions.items():
                for name in names.split():
                    self._kinds.setdefault(name, kind)

    def admonition_kind(self, classes: str) -> AdmonitionKind:
        """Return the kind of an admonition with these classes; NOTE if none of them is known."""
        for name in classes.lower().split():
            for prefix in self._prefixes:
                name = name.removeprefix(prefix)
            if name in self._kinds:
                return self._kinds[name]
        return "NOTE"


def load_themes(classes: Mapping[str, str] | None = None) -> ThemeSet:
    """Return the themes of the installed packages and the built-in ones, with a site's own classes.

    Args:
        classes: Roles, or kinds of admonitions, by CSS class (see `parse_classes`).

    Raises:
        UsageError: A class has an unknown role.
        PluginError: The theme of a package cannot be loaded.
    """
    return _load_themes(tuple(sorted((classes or {}).items())))


@cache
def _load_themes(classes: tuple[tuple[str, str], ...]) -> ThemeSet:
    return ThemeSet((*_load_installed_themes(), *builtin_themes()), dict(classes))


@cache
def _load_installed_themes() -> tuple[Theme, ...]:
    return tuple(_check_theme(name, theme) for name, theme in load_entry_points(ENTRY_POINT_GROUP).items())


def digest_themes(classes: Mapping[str, str]) -> str:
    """Return the digest of all themes and a site's own classes, a part of the key of cached conversions and crawls.

    Of built-in themes the text is read and not parsed: a build with a warm cache does not need them.
    """
    content = repr((_read_builtin_themes(), _load_installed_themes(), sorted(classes.items())))
    return hashlib.sha256(content.encode()).hexdigest()[:_DIGEST_DIGITS]


def _check_theme(name: str, theme: object) -> Theme:
    where = f"entry point {name!r} of {ENTRY_POINT_GROUP}"
    if not isinstance(theme, Theme):
        raise PluginError(
            f"{where}: expected a Theme, got {type(theme).__name__}. "
            "Name an instance of mkdocs_roaming.html.themes.Theme."
        )
    selectors = [*theme.articles, *theme.navs, *theme.parts.values()]
    for tabs in theme.tabs:
        selectors += [tabs.labels, tabs.panels]
    for selector in selectors:
        try:
            compile_selector(selector)
        except ValueError as error:
            raise PluginError(f"{where}: {selector!r} is not a valid CSS selector: {error}") from error
    return theme


def parse_classes(classes: Mapping[str, str]) -> tuple[dict[str, Role], dict[str, AdmonitionKind]]:
    """Return the roles that the option `classes` names by CSS class, and the kinds of its admonitions by class.

    Raises:
        UsageError: A role is unknown.
    """
    names_of_kinds = {kind.lower(): kind for kind in ADMONITION_KINDS}
    roles: dict[str, Role] = {}
    kinds: dict[str, AdmonitionKind] = {}
    for selector, name in classes.items():
        if name in names_of_kinds:
            roles[selector] = "admonition"
            kinds[selector.rpartition(".")[2].lower()] = names_of_kinds[name]
        elif name in ROLES:
            roles[selector] = name
        else:
            known = (*ROLES, *names_of_kinds)
            raise UsageError(f"classes: {selector}: unknown role {name!r}. {_suggest(name, known)}")
    return roles, kinds


@cache
def compile_selector(selector: str) -> Callable[[etree._Element], list[etree._Element]]:
    """Return a function that finds the elements that match a CSS selector, among an element and everything in it.

    Raises:
        ValueError: The selector is invalid.
    """
    from cssselect import HTMLTranslator  # not at the top: a build with a warm cache parses no HTML
    from cssselect.parser import SelectorError
    from lxml.etree import XPath

    prefix = "self::" if selector.startswith(":scope") else "descendant-or-self::"
    try:
        xpath = XPath(HTMLTranslator().css_to_xpath(selector, prefix))
    except SelectorError as error:
        raise ValueError(str(error)) from error
    return cast("Callable[[etree._Element], list[etree._Element]]", xpath)
