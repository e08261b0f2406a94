"""A built site on disk: its pages, where the Markdown of each is, what its addresses lead to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

from lxml import html

from reading.article import Element


@dataclass(slots=True)
class SitePage:
    """A page, and the file of its Markdown if it has one."""

    file: str
    """Where its HTML is, below the site's folder; this is what a page is called here."""
    url: str
    markdown: Path | None
    markdown_url: str
    ids: frozenset[str]


@dataclass(slots=True)
class Built:
    """A built site."""

    folder: Path
    url: str
    pages: dict[str, SitePage] = field(default_factory=dict)
    twins: dict[str, str] = field(default_factory=dict)
    """Pages by the path of their Markdown."""

    def target(self, url: str) -> str:
        """Name what an address leads to: `file#anchor` of this site, else the address itself."""
        address, _, fragment = url.partition("#")
        address = self.url if f"{address}/" == self.url else address
        if not address.startswith(self.url):
            return url
        path = unquote(urlsplit(address[len(self.url) :]).path)
        for file in (path, f"{path}/index.html".lstrip("/") if not path.endswith("/") else f"{path}index.html"):
            file = self.twins.get(file, file)
            if file and (self.folder / file).is_file():
                return f"{file}#{unquote(fragment)}" if fragment else file
        return f"{path}#{unquote(fragment)}" if fragment else f"/{path}"

    def is_internal(self, url: str) -> bool:
        """Tell whether an address belongs to this site."""
        return url.startswith(self.url) or url + "/" == self.url

    def is_broken(self, target: str) -> bool:
        """Tell whether a target of this site is not there: its file, or its anchor on the page."""
        file, _, fragment = target.partition("#")
        if page := self.pages.get(file):
            return bool(fragment) and fragment != "top" and fragment not in page.ids
        return not file or not (self.folder / file).is_file()


def parse(file: Path) -> Element:
    """Give a file's HTML as a tree."""
    parser = html.HTMLParser(huge_tree=True, remove_comments=True, remove_pis=True, encoding="utf-8")
    return html.document_fromstring(file.read_bytes() or b"<html></html>", parser=parser)


def read_site(folder: Path, *, pattern: str | None = None, url: str | None = None) -> Built:
    """Find the pages of a site and their Markdown.

    `pattern` says where the Markdown of a page is, with `{path}` for its folder (`guide/`, or empty) and `{page}` for
    its address without `.html`. Otherwise the page tells by its link of type text/markdown, else `{path}index.md` or
    `{page}.md` is taken if it is there.
    """
    files = [file.relative_to(folder).as_posix() for file in sorted(folder.rglob("*.html"))]
    roots = (_root(file, parse(folder / file)) for file in files)
    site = Built(folder, url or next(filter(None, roots), "http://site.invalid/"))
    for file in files:
        if _is_page(file, tree := parse(folder / file)):
            page_url = site.url + (file.removesuffix("index.html") if file.rpartition("/")[2] == "index.html" else file)
            markdown = _markdown_of(folder, file, tree, pattern)
            ids = frozenset(
                element.get("id") or element.get("name") or "" for element in tree.cssselect("[id], a[name]")
            )
            site.pages[file] = SitePage(file, page_url, markdown, "", ids)
            if markdown is not None:
                path = markdown.relative_to(folder).as_posix()
                site.pages[file].markdown_url = site.url + path
                for twin in {path, *_beside(file)}:
                    site.twins.setdefault(twin, file)
    return site


def _root(file: str, tree: Element) -> str | None:
    """Give the site's address by a page that names its own."""
    for link in tree.cssselect("link[rel=canonical]"):
        path = file.removesuffix("index.html") if file.rpartition("/")[2] == "index.html" else file
        address = unquote(link.get("href") or "")
        if urlsplit(address).scheme and address.endswith("/" + path):
            return address[: len(address) - len(path)]
    return None


def _is_page(file: str, tree: Element) -> bool:
    """Tell a page from redirects, templates that were copied, and what nobody reads as a page."""
    if file.rpartition("/")[2] in ("404.html", "search.html") or file == "search/index.html":
        return False
    if any((meta.get("http-equiv") or "").casefold() == "refresh" for meta in tree.iter("meta")):
        return False
    return tree.find(".//title") is not None and "{{" not in (tree.findtext(".//title") or "")


def _beside(file: str) -> Iterator[str]:
    path = file.removesuffix("index.html") if file.rpartition("/")[2] == "index.html" else ""
    page = file.removesuffix(".html") if not path and file != "index.html" else path.rstrip("/")
    yield f"{path}index.md" if path or file == "index.html" else f"{page}.md"
    if page:
        yield f"{page}.md"


def _markdown_of(folder: Path, file: str, tree: Element, pattern: str | None) -> Path | None:
    if pattern is not None:
        path = file.rpartition("/")[0]
        named = pattern.format(path=f"{path}/" if path else "", page=re.sub(r"(/?index)?\.html$", "", file) or "index")
        return found if (found := folder / named).is_file() else None
    for link in tree.cssselect("link[rel=alternate][type='text/markdown']"):
        path = unquote(urlsplit(urljoin(f"http://site.invalid/{file}", link.get("href") or "")).path).lstrip("/")
        if (folder / path).is_file():
            return folder / path
    return next((folder / path for path in _beside(file) if (folder / path).is_file()), None)
