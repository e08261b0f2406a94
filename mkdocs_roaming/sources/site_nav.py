"""The navigation of a built site, from the sidebars of its pages, or its folders."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast
from urllib.parse import urljoin

from lxml import etree

from mkdocs_roaming.html.themes import ThemeSet, compile_selector, load_themes
from mkdocs_roaming.html.titles import title_from_path
from mkdocs_roaming.html.visitor import Element, has_class
from mkdocs_roaming.manifest.models import NavItem, iter_nav, join_url, url_to_path
from mkdocs_roaming.text.markdown import to_single_line

Nav = tuple[NavItem, ...]
Resolve = Callable[[str], str | None]
"""Returns the path of a published page for the target of a link, None for anything else."""

_MAX_FRUITLESS = 30
"""`merge_navs` stops after this number of further pages that add nothing."""
_MAX_CACHED = 64
"""Navigations in a cache: pages of one branch mostly follow each other."""
TOCTREE = "toctree-wrapper"
"""The class of lists of pages that Sphinx makes from toctrees."""
_CONTAINERS = ("ul", "ol", "nav", "div", "details", "section")
"""Tags of elements that may be around the lists of a sidebar; custom elements are, too."""
_CAPTIONS = ("p", "h2", "h3", "summary", "span")
_LABELS = frozenset(("a", "label", "span", "p", "summary", "button", "h2", "h3"))
"""Tags of the text of an item."""
_visible_texts = cast(
    "Callable[[Element], list[str]]",
    etree.XPath(".//text()[not(ancestor::*[@aria-hidden='true'])]", smart_strings=False),
)
_hrefs = cast("Callable[[Element], list[str]]", etree.XPath(".//a/@href", smart_strings=False))
_count_items = cast("Callable[[Element], float]", etree.XPath("count(.//li) + 0.5 * count(.//ul)"))


def from_config(items: Sequence[Any], paths: Mapping[str, str], titles: Mapping[str, str], site_url: str) -> Nav | None:
    """Return the navigation in the configuration of MkDocs or Zensical; None if a plugin has to complete it.

    Args:
        items: The option `nav`.
        paths: The path of each page by its Markdown source.
        titles: The titles of the pages by path, for entries without one.
        site_url: The URL of the site, for links to other files of it.
    """
    nav: list[NavItem] = []
    for item in items:
        entries = item.items() if isinstance(item, dict) else [("", item)]
        for title, target in entries:
            name = to_single_line(str(title))
            source = str(target or "").strip().removeprefix("./").lstrip("/")
            is_folder = source.endswith("/") and ":" not in source
            if isinstance(target, list):
                children = from_config(target, paths, titles, site_url)
                if children is None:
                    return None
                nav.append(NavItem(name, children=children))
            elif source in paths:
                path = paths[source]
                nav.append(NavItem(name or titles.get(path) or source, path))
            elif is_folder or "*" in source or not source:
                return None
            else:
                nav.append(NavItem(name, url=urljoin(site_url, str(target).strip())))
    return tuple(nav)


class NavCache:
    """Navigations by what is equal on all pages: pages have other relative links, and another current page."""

    def __init__(self) -> None:
        """Create an empty cache."""
        self._navs: dict[Hashable, Nav] = {}

    def read(self, bars: Sequence[Element], resolve: Resolve) -> Nav:
        """Return the navigation in the sidebars of a page."""
        key: list[Hashable] = []
        for bar in bars:
            text = str(etree.tostring(bar, method="text", encoding="unicode", with_tail=False))
            key += [*map(resolve, _hrefs(bar)), _count_items(bar), " ".join(text.split())]
        nav = self._navs.pop(tuple(key), None)
        if nav is None:
            nav = _read_bars(bars, resolve)
        self._navs[tuple(key)] = nav
        if len(self._navs) > _MAX_CACHED:
            oldest = next(iter(self._navs))
            del self._navs[oldest]
        return nav


def from_sidebar(page: Element, resolve: Resolve, themes: ThemeSet | None = None, cache: NavCache | None = None) -> Nav:
    """Return the navigation in the sidebar of a page, empty if its theme is unknown.

    Groups that the page shows closed are empty: `merge_navs` fills them from other pages, or drops them.

    Args:
        page: The page.
        resolve: Returns the path of the page that a link leads to.
        themes: The themes in use (default: `load_themes()`).
        cache: Navigations of other pages.
    """
    read = cache.read if cache else _read_bars
    if nav := _read_pydata(page, resolve, read):
        return nav
    for selector in (themes or load_themes()).navs:
        bars = compile_selector(selector)(page)
        # Material's sidebar of a blog post has its date and author.
        bars = [bar for bar in bars if not any(has_class(parent, "md-sidebar--post") for parent in bar.iterancestors())]
        nav = read(bars, resolve) if bars else ()
        if len(collect_paths(nav)) > 1:
            return nav
    # The home page of a Sphinx site whose theme has no navigation
    return from_toctrees(page, resolve) if resolve("#") == "" else ()


def from_toctrees(page: Element, resolve: Resolve) -> Nav:
    """Return the lists of pages in the text of a page, which Sphinx makes from its toctrees."""
    return _read_bars(compile_selector(f".{TOCTREE}")(page), resolve)


def complete_sidebar(nav: Nav, titles: Mapping[str, str]) -> tuple[Nav, str]:
    """Return the navigation in sidebars with the home page, or else that of the folders, and the name of its source.

    Args:
        nav: The navigation in sidebars; it counts if it contains several pages.
        titles: The titles of the pages by path.
    """
    paths = collect_paths(nav)
    if len(paths) < 2:
        return from_folders(titles), "folders"
    home = (NavItem(titles[""], ""),) if "" in titles and "" not in paths else ()
    return (*home, *nav), "sidebar"


def from_folders(titles: Mapping[str, str]) -> Nav:
    """Return a navigation that follows the folders of the pages.

    Args:
        titles: The titles of the pages by path.
    """

    def read(parent: str, paths: Iterable[str]) -> Iterator[NavItem]:
        inner = defaultdict[str, list[str]](list)
        pages: list[str] = []
        for path in sorted(paths):
            name, _, rest = path.removeprefix(parent).partition("/")
            if rest:
                inner[name].append(path)
            else:
                pages.append(path)
        groups: list[NavItem] = []
        for name in sorted(inner):
            folder = f"{parent}{name}/"
            spellings = (folder, f"{parent}{name}", f"{parent}{name}.html")
            page = next((spelling for spelling in spellings if spelling in titles), None)
            title = title_from_path(folder) if page is None else titles[page]
            groups.append(NavItem(title, page, children=tuple(read(folder, inner[name]))))
        known = {group.path for group in groups}
        yield from (NavItem(titles[path], path) for path in pages if path not in known)
        yield from groups

    return tuple(read("", titles))


def merge_navs(navs: Sequence[Nav], pages: Iterable[str], read: Callable[[str], Nav]) -> Nav:
    """Merge the sidebars of several pages, and drop empty groups.

    Many themes show only the branch of the page. So the sidebars of pages that are not in the navigation yet are read,
    too, until a number of them adds nothing.

    Args:
        navs: The sidebars of some pages.
        pages: The paths of all pages.
        read: Returns the sidebar of a page.
    """
    largest = max(navs, key=lambda nav: len(collect_paths(nav)), default=())
    merged = _MergedNav()
    known = set[str]()

    def add(nav: Nav) -> bool:
        """Add a navigation if it has new pages, and return whether it has."""
        new = collect_paths(nav) - known
        if new:
            merged.add(nav)
            known.update(new)
        return bool(new)

    for nav in (largest, *navs):
        add(nav)
    fruitless = 0
    for path in pages if known else ():
        if path not in known and not add(read(path)):
            fruitless += 1
        if fruitless > _MAX_FRUITLESS:
            break
    return tuple(_drop_empty_groups(_drop_repeated(merged.items())))


def add_inner_pages(nav: Nav, read: Callable[[str], Nav]) -> Nav:
    """Add to each page of a navigation those that its text lists and the navigation does not contain.

    Args:
        nav: The navigation, such as a sidebar that shows only the upper levels of a site.
        read: Returns the pages that the text of a page lists.
    """
    known = collect_paths(nav)

    def find_new(items: Nav) -> Iterator[NavItem]:
        for item in items:
            if item.path in known:
                continue
            if item.path is not None:
                known.add(item.path)
            yield replace(item, children=tuple(find_new(item.children)))

    def extend(item: NavItem) -> NavItem:
        listed = read(item.path) if item.path else ()  # the home page lists pages of all levels
        new = _drop_empty_groups(find_new(listed))
        return replace(item, children=tuple(map(extend, (*item.children, *new))))

    return tuple(map(extend, nav))


def collect_paths(nav: Iterable[NavItem]) -> set[str]:
    """Return the paths of the pages in a navigation."""
    return {item.path for item in iter_nav(nav) if item.path is not None}


def make_resolver(site_url: str, page_url: str, paths: Iterable[str]) -> Resolve:
    """Return a function that maps the targets of a page's links to the paths of published pages."""
    known = set(paths)

    def resolve(href: str) -> str | None:
        url = join_url(page_url, href).partition("#")[0].partition("?")[0]
        path = url_to_path(site_url, url)
        if path is None:
            return None
        stem = path.rstrip("/")
        forms = (path, f"{path}/", stem, f"{stem}.html")
        return next((form for form in forms if form in known), None)

    return resolve


# Sidebars: every theme writes them as nested lists


def _read_bars(bars: Sequence[Element], resolve: Resolve) -> Nav:
    return tuple(_drop_repeated(item for bar in bars for item in _read_lists(bar, resolve)))


def _read_lists(element: Element, resolve: Resolve) -> list[NavItem]:
    """Read the lists in an element. A caption before a list, or in it, makes a group of the following items."""
    groups: list[tuple[str, list[NavItem]]] = [("", [])]
    caption = ""
    for child in element:
        tag = child.tag if isinstance(child.tag, str) else ""
        _, items = groups[-1]
        if has_class(child, "relations") or _is_page_contents(child):  # alabaster: the previous and the next page
            continue
        if has_class(child, "part-title"):  # mdBook
            groups.append((_read_text(child), []))
        elif _is_item(child):
            item = _read_item(child, resolve)
            if item.title or item.path is not None:
                items.append(item)
            elif items and tag == "li":  # mdBook: an inner list is in an item of its own
                items[-1] = replace(items[-1], children=(*items[-1].children, *item.children))
            else:
                items.extend(item.children)
        elif tag in _CONTAINERS or "-" in tag:
            inner = _read_lists(child, resolve)
            items.extend(_join_groups([(caption, inner)]))
            if inner:
                caption = ""
        elif tag in _CAPTIONS and "caption" in child.get("class", ""):
            caption = _read_text(child)
    return _join_groups(groups)


def _join_groups(groups: Iterable[tuple[str, list[NavItem]]]) -> list[NavItem]:
    """Return groups as items. The items of a group without a title are not nested."""
    nav: list[NavItem] = []
    for title, items in groups:
        if title and items:
            nav.append(NavItem(title, children=tuple(items)))
        else:
            nav.extend(items)
    return nav


def _read_item(element: Element, resolve: Resolve) -> NavItem:
    """Read an item: its label, the page that it leads to, and the items in it.

    `#` alone is Sphinx's link to the current page, or opens a menu. `#section` belongs to a table of contents.
    """
    children: list[NavItem] = []
    parts: list[Element] = []
    walker = etree.iterwalk(element, events=("start",))
    for _, part in walker:
        if part is element:
            continue
        if _is_item(part):
            walker.skip_subtree()
        elif part.tag in ("ul", "ol") or (part.tag == "div" and has_class(part, "items")):  # VitePress
            children += _read_lists(part, resolve)
        elif part.tag in _LABELS:
            parts.append(part)
    label = " ".join((element.text or "").split())
    path = None
    is_group = bool(children)
    for part in parts:
        href = part.get("href") if part.tag == "a" else None
        if href == "#" and children:
            href = None
        if part.get("role") == "button":  # in Docusaurus a link to the first page of the group
            is_group = True
        elif href is not None and path is None and (href == "#" or not href.startswith("#")):
            path = resolve(href)
            label = _read_text(part) or label
        label = label or _read_text(part)
    return NavItem(label if is_group or path is not None else "", path, children=tuple(children))


def _read_pydata(page: Element, resolve: Resolve, read: Callable[[Sequence[Element], Resolve], Nav]) -> Nav:
    """Read the navigation of the pydata theme: the header names the parts, the sidebar the pages of the current one."""
    items: dict[str, NavItem] = {}
    for link in compile_selector("ul.bd-navbar-elements a")(page):
        path = resolve(link.get("href", ""))
        if path is None or path in items:
            continue
        children: Nav = ()
        if any(has_class(parent, "current", "active") for parent in link.iterancestors("li")):
            children = read(compile_selector(".bd-docs-nav .bd-toc-item")(page), resolve)
        items[path] = NavItem(_read_text(link), path, children=children)
    return tuple(items.values())


def _is_page_contents(element: Element) -> bool:
    """Return whether a list is Sphinx's list of the sections of the page, next to the navigation in its sidebar."""
    if element.tag != "ul" or not len(element) or element[0].get("class"):
        return False
    targets = [link.get("href", "") for link in element.iter("a")]
    return bool(targets) and all(target.startswith("#") for target in targets)


def _is_item(element: Element) -> bool:
    return element.tag == "li" or has_class(element, "VPSidebarItem")


def _read_text(element: Element) -> str:
    """Return the text of an item without hidden parts such as chapter numbers."""
    return " ".join("".join(_visible_texts(element)).replace("\u200b", "").split())


# Operations on navigations


class _MergedNav:
    """A navigation to which others are added in time linear in their sizes."""

    def __init__(self) -> None:
        self._items: dict[_Key, tuple[NavItem, _MergedNav]] = {}
        self._next: dict[_Key | None, _Key | None] = {None: None}
        self._last: _Key | None = None

    def add(self, nav: Sequence[NavItem]) -> None:
        """Add the items of another navigation, each after the item that it follows there."""
        counts: Counter[tuple[str | None, str]] = Counter()
        names = [(item.path, item.title if item.path is None else "") for item in nav]
        is_known = any((*name, 1) in self._items for name in names)
        at = None if is_known else self._last
        for item, name in zip(nav, names, strict=True):
            counts[name] += 1
            key = (*name, counts[name])
            if key not in self._items:
                self._items[key] = item, _MergedNav()
                self._next[key] = self._next[at]
                self._next[at] = key
                if at == self._last:
                    self._last = key
            at = key
            self._items[key][1].add(item.children)

    def items(self) -> Iterator[NavItem]:
        """Yield the merged items in order."""
        key = self._next[None]
        while key is not None:
            item, children = self._items[key]
            yield replace(item, children=tuple(children.items()))
            key = self._next[key]


_Key = tuple[str | None, str, int]
"""Path of a page or title of a group, and the number of its occurrence."""


def _drop_repeated(items: Iterable[NavItem], seen: set[str] | None = None) -> Iterator[NavItem]:
    """Drop repeated pages: themes write their navigation for wide and for narrow screens."""
    seen = set() if seen is None else seen
    for item in items:
        path = None if item.path in seen else item.path
        if item.path is not None:
            seen.add(item.path)
        children = tuple(_drop_repeated(item.children, seen))
        if path == item.path or children:
            yield NavItem(item.title, path, children=children)


def _drop_empty_groups(items: Iterable[NavItem]) -> Iterator[NavItem]:
    for item in items:
        children = tuple(_drop_empty_groups(item.children))
        if item.path is not None or children:
            yield replace(item, children=children)
