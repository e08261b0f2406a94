"""A built site on disk: its pages, their Markdown files, and the targets of its links."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

from lxml import html

from page_content.article import Element


@dataclass(slots=True)
class SitePage:
    """A page and its Markdown file, if any."""

    file: str
    """Path of the HTML file within the site, which identifies the page."""
    url: str
    markdown: Path | None
    markdown_url: str
    ids: frozenset[str]


@dataclass(slots=True)
class BuiltSite:
    """A built site."""

    folder: Path
    url: str
    pages: dict[str, SitePage] = field(default_factory=dict)
    pages_by_markdown: dict[str, str] = field(default_factory=dict)
    """HTML path of each page by the paths of its Markdown."""

    def resolve_target(self, url: str) -> str:
        """Return the target of a URL: `file#anchor` for this site, otherwise the URL itself."""
        page_url, _, fragment = url.partition("#")
        page_url = self.url if f"{page_url}/" == self.url else page_url
        if not page_url.startswith(self.url):
            return url
        path = unquote(urlsplit(page_url[len(self.url) :]).path)
        for file in (path, f"{path}/index.html".lstrip("/") if not path.endswith("/") else f"{path}index.html"):
            file = self.pages_by_markdown.get(file, file)
            if file and (self.folder / file).is_file():
                return f"{file}#{unquote(fragment)}" if fragment else file
        return f"{path}#{unquote(fragment)}" if fragment else f"/{path}"

    def is_internal(self, url: str) -> bool:
        """Return whether a URL belongs to this site."""
        return url.startswith(self.url) or url + "/" == self.url

    def is_broken(self, target: str) -> bool:
        """Return whether the file of a target, or its anchor on the page, does not exist."""
        file, _, fragment = target.partition("#")
        if page := self.pages.get(file):
            return bool(fragment) and fragment != "top" and fragment not in page.ids
        return not file or not (self.folder / file).is_file()


def parse_html(file: Path) -> Element:
    """Parse an HTML file."""
    parser = html.HTMLParser(huge_tree=True, remove_comments=True, remove_pis=True, encoding="utf-8")
    return html.document_fromstring(file.read_bytes() or b"<html></html>", parser=parser)


def find_pages(folder: Path, *, pattern: str | None = None, url: str | None = None) -> BuiltSite:
    """Find the pages of a site and their Markdown files.

    Args:
        folder: Folder of the built site.
        pattern: Path of a page's Markdown, with `{path}` for its folder (`guide/`, or empty) and `{page}` for its path
            without `.html`. By default, the page's link of type text/markdown, `{path}index.md` or `{page}.md`.
        url: URL of the site (default: from the canonical links).
    """
    files = [file.relative_to(folder).as_posix() for file in sorted(folder.rglob("*.html"))]
    urls = (_parse_site_url(file, parse_html(folder / file)) for file in files)
    site = BuiltSite(folder, url or next(filter(None, urls), "http://site.invalid/"))
    for file in files:
        if _is_page(file, tree := parse_html(folder / file)):
            page_url = site.url + (file.removesuffix("index.html") if file.rpartition("/")[2] == "index.html" else file)
            markdown = _find_markdown(folder, file, tree, pattern)
            ids = frozenset(
                element.get("id") or element.get("name") or "" for element in tree.cssselect("[id], a[name]")
            )
            site.pages[file] = SitePage(file, page_url, markdown, "", ids)
            if markdown is not None:
                path = markdown.relative_to(folder).as_posix()
                site.pages[file].markdown_url = site.url + path
                for twin in {path, *_default_markdown_paths(file)}:
                    site.pages_by_markdown.setdefault(twin, file)
    return site


def _parse_site_url(file: str, tree: Element) -> str | None:
    """Return the URL of the site according to the canonical link of a page."""
    for link in tree.cssselect("link[rel=canonical]"):
        path = file.removesuffix("index.html") if file.rpartition("/")[2] == "index.html" else file
        canonical = unquote(link.get("href") or "")
        if urlsplit(canonical).scheme and canonical.endswith("/" + path):
            return canonical[: len(canonical) - len(path)]
    return None


def _is_page(file: str, tree: Element) -> bool:
    """Return whether a file is a page, and not a redirect, a copied template, the 404 or the search page."""
    if file.rpartition("/")[2] in ("404.html", "search.html") or file == "search/index.html":
        return False
    if any((meta.get("http-equiv") or "").casefold() == "refresh" for meta in tree.iter("meta")):
        return False
    return tree.find(".//title") is not None and "{{" not in (tree.findtext(".//title") or "")


def _default_markdown_paths(file: str) -> Iterator[str]:
    path = file.removesuffix("index.html") if file.rpartition("/")[2] == "index.html" else ""
    page = file.removesuffix(".html") if not path and file != "index.html" else path.rstrip("/")
    yield f"{path}index.md" if path or file == "index.html" else f"{page}.md"
    if page:
        yield f"{page}.md"


def _find_markdown(folder: Path, file: str, tree: Element, pattern: str | None) -> Path | None:
    if pattern is not None:
        path = file.rpartition("/")[0]
        relative = pattern.format(
            path=f"{path}/" if path else "", page=re.sub(r"(/?index)?\.html$", "", file) or "index"
        )
        return file_path if (file_path := folder / relative).is_file() else None
    for link in tree.cssselect("link[rel=alternate][type='text/markdown']"):
        path = unquote(urlsplit(urljoin(f"http://site.invalid/{file}", link.get("href") or "")).path).lstrip("/")
        if (folder / path).is_file():
            return folder / path
    return next((folder / path for path in _default_markdown_paths(file) if (folder / path).is_file()), None)
