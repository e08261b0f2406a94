"""The nav of a built site that has no configuration to ask: from its llms.txt, its theme's sidebar, or its folders."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from urllib.parse import urljoin

from lxml import html as lxml_html

from mkdocs_roaming.manifest import Manifest, NavEntry
from mkdocs_roaming.page import NavItem, path_of

SIDEBARS = (
    "nav.md-nav--primary",  # Material, Zensical
    "ul.theme-doc-sidebar-menu",  # Docusaurus
    ".sidebar-tree",  # furo
    ".wy-menu-vertical",  # Sphinx and MkDocs readthedocs
    ".bd-sidebar-primary",  # pydata
    ".VPSidebar nav",
    "nav.sidebar",  # Starlight
    "mdbook-sidebar-scrollbox, .sidebar-scrollbox, ol.chapter",  # mdBook
    ".sphinxsidebarwrapper .toctree-wrapper, .sphinxsidebarwrapper",  # alabaster and its kin
    "#navbar-collapse .navbar-nav, .navbar-nav",  # MkDocs
)
"""Where themes keep the nav, the most telling first."""

Resolve = Callable[[str], str | None]
"""Gives the path of a published page for an href, None for anything else."""


def from_manifest(manifest: Manifest) -> tuple[NavItem, ...]:
    """Give the nav that an earlier build of ours published."""

    def item(entry: NavEntry) -> NavItem:
        return NavItem(entry.title, entry.page, entry.url, tuple(map(item, entry.children)))

    return tuple(map(item, manifest.nav))


def from_llms_txt(text: str, resolve: Resolve) -> tuple[NavItem, ...]:
    """Give the groups of an llms.txt; empty where fewer than two of its links lead to pages of the site."""
    groups: list[tuple[str, list[NavItem]]] = [("", [])]
    for line in text.splitlines():
        if heading := re.match(r"##\s+(.+)", line):
            groups.append((heading[1].strip(), []))
        elif link := re.match(r"\s*[-*+]\s+\[([^\]]+)\]\(\s*<?([^)>\s]+)", line):
            path = resolve(re.sub(r"(index\.html)?\.md(?=$|#)", lambda found: found[1] or "", link[2]))
            path = path if path is not None else resolve(re.sub(r"(^|/)index\.md$", r"\1", link[2]))
            if path is not None:
                groups[-1][1].append(NavItem(link[1].strip(), path))
    if sum(len(items) for _, items in groups) < 2:
        return ()
    nav: list[NavItem] = []
    for title, items in groups:
        nav += [NavItem(title, children=tuple(items))] if title and items else items
    return tuple(nav)


def from_sidebar(page: lxml_html.HtmlElement, resolve: Resolve) -> tuple[NavItem, ...]:
    """Give the nav in a page's sidebar; empty where no theme is recognised."""
    for selector in SIDEBARS:
        found = [item for bar in page.cssselect(selector) for item in _items(bar, resolve)]
        if sum(1 for _ in _paths(found)) > 1:
            return tuple(_once(found, set()))
    return ()


def from_folders(titles: Mapping[str, str]) -> tuple[NavItem, ...]:
    """Give a nav that follows the folders of the paths; `titles` names the pages by path."""
    tree: dict[str, dict] = {}  # type: ignore[type-arg]  # a folder holds folders
    for path in titles:
        *folders, _last = path.rstrip("/").split("/")
        at = tree
        for folder in folders:
            at = at.setdefault(folder, {})
    return tuple(_folder(tree, "", titles))


def count(nav: Iterable[NavItem]) -> int:
    """Give how many pages a nav names."""
    return sum(1 for _ in _paths(nav))


# Nested lists, as every theme writes its nav


def _items(element: lxml_html.HtmlElement, resolve: Resolve) -> Iterator[NavItem]:
    """Read the lists right below an element; a caption before a list makes a group of it."""
    caption = ""
    for child in element:
        tag = child.tag if isinstance(child.tag, str) else ""
        if tag == "li":
            yield from _item(child, resolve)
        elif tag in ("ul", "ol", "nav", "div", "details", "section") or "-" in tag:
            items = list(_items(child, resolve))
            if caption and items:
                yield NavItem(caption, children=tuple(items))
                caption = ""
            else:
                yield from items
        elif tag in ("p", "h2", "h3", "summary", "span") and "caption" in (child.get("class") or "") + tag:
            caption = _text(child)


def _item(element: lxml_html.HtmlElement, resolve: Resolve) -> Iterator[NavItem]:
    inner = [child for child in element.iter("ul", "ol") if _owner(child) is element]
    children = tuple(item for part in inner for item in _items(part, resolve))
    label, path = " ".join((element.text or "").split()), None
    for part in element.iter("a", "label", "span", "p", "summary", "button", "h2", "h3"):
        if _owner(part) is not element:
            continue
        href = part.get("href") if part.tag == "a" else None
        # `#` alone is how Sphinx links to the page one is on, and how menus open; `#section` is a table of contents.
        if href is not None and path is None and (not href.startswith("#") or (href == "#" and not children)):
            path = resolve(href)
            label = _text(part) or label
        label = label or _text(part)
    if path is not None or children:
        yield NavItem(label, path, children=children)


def _owner(element: lxml_html.HtmlElement) -> lxml_html.HtmlElement | None:
    return next((above for above in element.iterancestors("li")), None)


def _once(items: Iterable[NavItem], seen: set[str]) -> Iterator[NavItem]:
    """Leave out what was named before: themes write their nav once for wide and once for narrow screens."""
    for item in items:
        path = item.path if item.path is None or item.path not in seen else None
        if path is not None:
            seen.add(path)
        children = tuple(_once(item.children, seen))
        if path is not None or children:
            yield NavItem(item.title, path, children=children)


def _paths(items: Iterable[NavItem]) -> Iterator[str]:
    for item in items:
        if item.path is not None:
            yield item.path
        yield from _paths(item.children)


def _text(element: lxml_html.HtmlElement) -> str:
    return " ".join("".join(element.itertext()).replace("\u200b", "").split())


def _folder(tree: Mapping[str, dict], above: str, titles: Mapping[str, str]) -> Iterator[NavItem]:  # type: ignore[type-arg]
    here = [path for path in titles if path.startswith(above) and "/" not in path[len(above) :].rstrip("/")]
    for path in sorted(here, key=lambda path: (path.rstrip("/") != above.rstrip("/"), path)):
        if path.rstrip("/").rpartition("/")[2] not in tree or path == "":
            yield NavItem(titles[path], path)
    for name in sorted(tree):
        own = next(
            (path for path in (f"{above}{name}/", f"{above}{name}", f"{above}{name}.html") if path in titles), None
        )
        title = titles[own] if own is not None else name.replace("-", " ").replace("_", " ").capitalize()
        children = [item for item in _folder(tree[name], f"{above}{name}/", titles) if item.path != own]
        yield NavItem(title, own, children=tuple(children))


def resolver(site_url: str, page_url: str, paths: Iterable[str]) -> Resolve:
    """Give what resolves the hrefs of a page to the paths of published pages."""
    known = set(paths)

    def resolve(href: str) -> str | None:
        try:
            path = path_of(site_url, urljoin(page_url, href).partition("#")[0].partition("?")[0])
        except ValueError:
            return None
        if path is None:
            return None
        forms = (path, path + "/", path.rstrip("/"), path.rstrip("/") + ".html")
        return next((form for form in forms if form in known), None)

    return resolve


def best(candidates: Sequence[tuple[NavItem, ...]]) -> tuple[NavItem, ...]:
    """Give the nav that names the most pages."""
    return max(candidates, key=count, default=())
