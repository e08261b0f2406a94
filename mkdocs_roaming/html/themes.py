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
from functools import cache, lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

import msgspec

from mkdocs_roaming.errors import PluginError, UsageError
from mkdocs_roaming.plugins import load_entry_points
from mkdocs_roaming.settings import prepare

if TYPE_CHECKING:
    from lxml import etree

ENTRY_POINT_GROUP = "roaming.themes"

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
    return f"{f'Did you mean {nearest[0]!r}? ' if nearest else ''}Known names: {', '.join(known)}."


@cache
def builtin_themes() -> tuple[Theme, ...]:
    """Return the themes that need no package, the most specific first."""
    tables = tomllib.loads(resources.files(__package__).joinpath("themes.toml").read_text("utf-8"))
    kind = prepare(Theme)  # a crawl converts pages in several threads
    return tuple(msgspec.convert({"name": name, **table}, kind) for name, table in tables.items())


@cache
def tag_roles() -> Mapping[str, Role]:
    """Return the roles of HTML's own tags."""
    html = next(theme for theme in builtin_themes() if theme.name == "html")
    return {selector: role for role, names in html.roles.items() for selector in names.split() if "." not in selector}


@cache
def block_tags() -> frozenset[str]:
    """Return the tags that cannot be inside a line of text."""
    tags = {tag for tag, role in tag_roles().items() if role in _BLOCK_ROLES}
    return frozenset(tags | {"figcaption", "starlight-tabs", "summary"})


def name_class(role: Role) -> str:
    """Return the class that gives an element a role, whatever its other classes are."""
    return f"roaming-{role}"


class Roles(dict[tuple[Any, str | None], Role]):
    """Roles by tag and class attribute, each looked up once."""

    def __init__(self, themes: Iterable[Theme], classes: Mapping[str, Role]) -> None:
        """Compile the selectors of themes, and of a site's own classes."""
        self._tags: dict[str, Role] = {}
        self._classes: dict[str, list[tuple[int, str, Role, frozenset[str]]]] = {}
        for role in ROLES:
            self._add(f".{name_class(role)}", role, rank=-2)
        for selector, role in classes.items():
            self._add(selector if "." in selector else f".{selector}", role, rank=-1)
        for theme in themes:
            for role, selectors in theme.roles.items():
                for selector in selectors.split():
                    self._add(selector, role, rank=ROLES.index(role))
        self._prefixes = tuple(name for name in self._classes if name.endswith(("_", "-")))

    def __missing__(self, key: tuple[Any, str | None]) -> Role:
        """Look up a role. The size is bounded: a page may invent any number of classes."""
        if len(self) > 10_000:
            self.clear()
        tag, classes = key
        role = self[key] = self._find(tag, classes) if isinstance(tag, str) else "skip"
        return role

    def _add(self, selector: str, role: Role, *, rank: int) -> None:
        tag, *names = selector.split(".")
        if names:
            self._classes.setdefault(names[0], []).append((rank, tag, role, frozenset(names[1:])))
        else:
            self._tags.setdefault(tag, role)

    def _find(self, tag: str, classes: str | None) -> Role:
        """Return the role of an element; `span` if it is only a wrapper within a line."""
        best = (len(ROLES), "", self._tags.get(tag, "span"), frozenset[str]())
        tokens = (classes or "").split()
        for token in tokens:
            rules = self._classes.get(token, [])
            for prefix in self._prefixes:
                if token.startswith(prefix):
                    rules = rules + self._classes[prefix]
            for rule in rules:
                if rule[1] in ("", tag) and rule[0] < best[0] and rule[3].issubset(tokens):
                    best = rule
        return best[2]


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
        roles, kinds = _split_classes(classes or {})
        self.roles = Roles(themes, roles)
        self.articles = tuple((selector, theme.parts) for theme in themes for selector in theme.articles)
        self.navs = tuple(selector for theme in themes for selector in theme.navs)
        self.tabs = tuple(tabs for theme in themes for tabs in theme.tabs)
        self.admonition_kind: Callable[[str], AdmonitionKind] = lru_cache(maxsize=1024)(self._find_admonition_kind)
        """Returns the kind of an admonition with these classes; NOTE if none of them is known."""
        self._prefixes = tuple(prefix for theme in themes for prefix in theme.admonition_prefixes)
        self._kinds = kinds
        for theme in themes:
            for kind, names in theme.admonitions.items():
                for name in names.split():
                    self._kinds.setdefault(name, kind)

    def _find_admonition_kind(self, classes: str) -> AdmonitionKind:
        for token in classes.lower().split():
            for prefix in self._prefixes:
                token = token.removeprefix(prefix)
            if token in self._kinds:
                return self._kinds[token]
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
    """Return the digest of installed themes and a site's own classes, a part of the key of cached conversions.

    It is empty without any, and built-in themes are not read: a build with a warm cache does not need them.
    """
    parts = _load_installed_themes(), tuple(sorted(classes.items()))
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16] if any(parts) else ""


def _check_theme(name: str, theme: object) -> Theme:
    where = f"entry point {name!r} of {ENTRY_POINT_GROUP}"
    if not isinstance(theme, Theme):
        raise PluginError(
            f"{where}: expected a Theme, got {type(theme).__name__}. "
            "Name an instance of mkdocs_roaming.html.themes.Theme."
        )
    tabs = (part for tabs in theme.tabs for part in (tabs.labels, tabs.panels))
    for selector in (*theme.articles, *theme.navs, *theme.parts.values(), *tabs):
        try:
            compile_selector(selector)
        except ValueError as error:
            raise PluginError(f"{where}: {selector!r} is not a valid CSS selector: {error}") from error
    return theme


def parse_classes(value: object) -> dict[str, str]:
    """Check the option `classes`: roles, or kinds of admonitions in lower case, by CSS class.

    Raises:
        UsageError: The value is no mapping of names, or a role is unknown.
    """
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for item in value.items() for name in item):
        raise UsageError("classes: expected a mapping of CSS classes to roles, such as `my-note: admonition`")
    _split_classes(value)
    return dict(value)


def _split_classes(classes: Mapping[str, str]) -> tuple[dict[str, Role], dict[str, AdmonitionKind]]:
    """Split the classes of a site into roles, and kinds of admonitions."""
    roles: dict[str, Role] = {}
    kinds: dict[str, AdmonitionKind] = {}
    for selector, name in classes.items():
        kind = next((kind for kind in ADMONITION_KINDS if kind.lower() == name), None)
        role = next((role for role in ROLES if role == name), "admonition" if kind else None)
        if role is None:
            known = (*ROLES, *(kind.lower() for kind in ADMONITION_KINDS))
            raise UsageError(f"classes: {selector}: unknown role {name!r}. {_suggest(name, known)}")
        roles[selector] = role
        if kind:
            kinds[selector.rpartition(".")[2].lower()] = kind
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
