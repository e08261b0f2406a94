"""The nav of a built site that has no configuration to ask: from its llms.txt, its theme's sidebar, or its folders."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast
from urllib.parse import urljoin

from lxml import etree

from mkdocs_roaming.html.themes import ThemeSet, compile_selector, load_themes
from mkdocs_roaming.manifest.models import Manifest, NavEntry, NavItem, url_to_path

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


def from_sidebar(page: etree._Element, resolve: Resolve, themes: ThemeSet | None = None) -> tuple[NavItem, ...]:
    """Give the nav in a page's sidebar; empty where no theme is recognised.

    Groups that the page shows closed are empty: `together` fills them from other pages, or drops them.
    """
    if nav := _pydata(page, resolve):
        return nav
    for selector in (themes or load_themes()).navs:
        bars = [bar for bar in compile_selector(selector)(page) if not _of_a_post(bar)]
        found = [item for bar in bars for item in _items(bar, resolve)]
        if sum(1 for _ in _paths(found)) > 1:
            return tuple(_once(found, set()))
    contents = compile_selector(".toctree-wrapper")(page) if resolve("#") == "" else ()  # a Sphinx theme without a nav
    return tuple(_once([item for part in contents for item in _items(part, resolve)], set()))


def merge_navs(
    navs: Sequence[tuple[NavItem, ...]], pages: Iterable[str], read: Callable[[str], tuple[NavItem, ...]]
) -> tuple[NavItem, ...]:
    """Give the nav that the sidebars of several pages make together, without groups that hold nothing.

    Many themes show a page its own branch only. So where `pages` are left that the sidebars at hand did not name,
    `read` gives theirs too, until a number of them brought nothing new.
    """
    nav = max(navs, key=lambda one: len(collect_paths(one)), default=())
    for one in navs:
        if collect_paths(one) - collect_paths(nav):
            nav = _merged(nav, one)
    named, fruitless = collect_paths(nav), 0
    for path in pages if nav else ():
        if path in named:
            continue
        one = read(path)
        if collect_paths(one) - named:
            nav = _merged(nav, one)
            named = collect_paths(nav)
        else:
            fruitless += 1
        if fruitless > _FRUITLESS:
            break
    return tuple(_full(_once(nav, set())))


_FRUITLESS = 30


def from_folders(titles: Mapping[str, str]) -> tuple[NavItem, ...]:
    """Give a nav that follows the folders of the paths; `titles` names the pages by path."""
    tree: dict[str, dict] = {}  # type: ignore[type-arg]  # a folder holds folders
    for path in titles:
        *folders, _last = path.rstrip("/").split("/")
        at = tree
        for folder in folders:
            at = at.setdefault(folder, {})
    return tuple(_folder(tree, "", titles))


def collect_paths(nav: Iterable[NavItem]) -> set[str]:
    """Give the paths of the pages that a nav names."""
    return set(_paths(nav))


# Nested lists, as every theme writes its nav


def _items(element: etree._Element, resolve: Resolve) -> list[NavItem]:
    """Read the lists right below an element; a caption before a list, or within it, makes a group of what follows."""
    groups: list[tuple[str, list[NavItem]]] = [("", [])]
    caption = ""
    for child in element:
        tag = child.tag if isinstance(child.tag, str) else ""
        here = groups[-1][1]
        if "relations" in _classes(child):  # alabaster: the pages before and after
            continue
        if "part-title" in _classes(child):  # mdBook
            groups.append((_text(child), []))
        elif _is_item(child):
            item = _item(child, resolve)
            if item.title or item.path is not None:
                here.append(item)
            elif here and tag == "li":  # mdBook: the inner list stands in an item of its own
                here[-1] = replace(here[-1], children=(*here[-1].children, *item.children))
            else:
                here.extend(item.children)
        elif tag in ("ul", "ol", "nav", "div", "details", "section") or "-" in tag:
            items = _items(child, resolve)
            here.extend([NavItem(caption, children=tuple(items))] if caption and items else items)
            caption = "" if items else caption
        elif tag in ("p", "h2", "h3", "summary", "span") and "caption" in (child.get("class") or "") + tag:
            caption = _text(child)
    return [
        item
        for title, items in groups
        for item in ([NavItem(title, children=tuple(items))] if title and items else items)
    ]


def _item(element: etree._Element, resolve: Resolve) -> NavItem:
    own = _own(element)
    children = tuple(item for part in own if _is_list(part) for item in _items(part, resolve))
    label, path, closed = " ".join((element.text or "").split()), None, False
    for part in own:
        if part.tag not in _LABELS:
            continue
        href = part.get("href") if part.tag == "a" else None
        if part.get("role") == "button":  # Docusaurus: a group that opens; its link leads to its first page
            closed, href = True, None
        # `#` alone is how Sphinx links to the page one is on, and how menus open; `#section` is a table of contents.
        if href is not None and path is None and (not href.startswith("#") or (href == "#" and not children)):
            path = resolve(href)
            label = _text(part) or label
        label = label or _text(part)
    return NavItem(label if path is not None or children or closed else "", path, children=children)


def _pydata(page: etree._Element, resolve: Resolve) -> tuple[NavItem, ...]:
    """Read what pydata's theme splits in two: the head of the page names the parts, the sidebar the pages of one."""
    items: dict[str, NavItem] = {}
    for link in compile_selector("ul.bd-navbar-elements a")(page):
        path = resolve(link.get("href") or "")
        if path is None or path in items:
            continue
        inner: list[NavItem] = []
        if any({"current", "active"} & _classes(above) for above in link.iterancestors("li")):
            inner = [
                item for bar in compile_selector(".bd-docs-nav .bd-toc-item")(page) for item in _items(bar, resolve)
            ]
        items[path] = NavItem(_text(link), path, children=tuple(inner))
    return tuple(items.values())


def _of_a_post(bar: etree._Element) -> bool:
    """Tell whether it is what Material shows beside a post: its date, its author, related links."""
    return any("md-sidebar--post" in _classes(above) for above in bar.iterancestors())


def _is_item(element: etree._Element) -> bool:
    return element.tag == "li" or "VPSidebarItem" in _classes(element)


def _is_list(element: etree._Element) -> bool:
    return element.tag in ("ul", "ol") or (element.tag == "div" and "items" in _classes(element))  # VitePress


def _classes(element: etree._Element) -> set[str]:
    return set((element.get("class") or "").split())


def _own(item: etree._Element) -> list[etree._Element]:
    """Give what stands in an entry, but not within entries below it."""
    found = []
    walker = etree.iterwalk(item, events=("start",))
    for _, element in walker:
        if element is not item:
            found.append(element)
            if _is_item(element):
                walker.skip_subtree()
    return found


_LABELS = frozenset(("a", "label", "span", "p", "summary", "button", "h2", "h3"))


def _merged(nav: Sequence[NavItem], other: Sequence[NavItem]) -> tuple[NavItem, ...]:
    """Give a nav with what another one knows more; what is new stands behind what it stands behind there."""
    places = {_key(item): at for at, item in enumerate(nav)}
    behind: dict[int, list[NavItem]] = {}
    items = list(nav)
    at = -1 if any(_key(item) in places for item in other) else len(items) - 1
    for item in other:
        known = places.get(_key(item))
        if known is None:
            behind.setdefault(at, []).append(item)
        else:
            items[known] = replace(items[known], children=_merged(items[known].children, item.children))
            at = known
    return (*behind.get(-1, ()), *(one for at, item in enumerate(items) for one in (item, *behind.get(at, ()))))


def _key(item: NavItem) -> tuple[str | None, str]:
    return (item.path, "" if item.path is not None else item.title)


def _once(items: Iterable[NavItem], seen: set[str]) -> Iterator[NavItem]:
    """Leave out what was named before: themes write their nav once for wide and once for narrow screens."""
    for item in items:
        again = item.path is not None and item.path in seen
        if item.path is not None:
            seen.add(item.path)
        children = tuple(_once(item.children, seen))
        if not again or children:
            yield NavItem(item.title, None if again else item.path, children=children)


def _full(items: Iterable[NavItem]) -> Iterator[NavItem]:
    for item in items:
        children = tuple(_full(item.children))
        if item.path is not None or children:
            yield replace(item, children=children)


def _paths(items: Iterable[NavItem]) -> Iterator[str]:
    for item in items:
        if item.path is not None:
            yield item.path
        yield from _paths(item.children)


def _text(element: etree._Element) -> str:
    """Give an entry's text, without the numbers of chapters and what else is there for the eye only."""
    return " ".join("".join(_seen(element)).replace("\u200b", "").split())


_seen = cast(
    "Callable[[etree._Element], list[str]]",
    etree.XPath(".//text()[not(ancestor::*[@aria-hidden='true'])]", smart_strings=False),
)


def _folder(tree: Mapping[str, Any], above: str, titles: Mapping[str, str]) -> Iterator[NavItem]:
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


def make_resolver(site_url: str, page_url: str, paths: Iterable[str]) -> Resolve:
    """Give what resolves the hrefs of a page to the paths of published pages."""
    known = set(paths)

    def resolve(href: str) -> str | None:
        try:
            path = url_to_path(site_url, urljoin(page_url, href).partition("#")[0].partition("?")[0])
        except ValueError:
            return None
        if path is None:
            return None
        forms = (path, path + "/", path.rstrip("/"), path.rstrip("/") + ".html")
        return next((form for form in forms if form in known), None)

    return resolve
