"""What every source of pages yields: pages, the nav they stand in, and the site they belong to."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import quote, unquote


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of a rendered page: its level (1 to 6), plain text and anchor, None where it has no id."""

    level: int
    text: str
    anchor: str | None


@dataclass(frozen=True, slots=True)
class Page:
    """One page, before it is published.

    `path` is the canonical URL's path below the site's URL, decoded, NFC, without query and `index.html`;
    the home page's is `""`. `title` is the nav's title, used where the page has no heading of its own.
    """

    path: str
    title: str
    article: str = ""
    """The article's HTML, as rendered; empty where Markdown is all there is."""
    source: str | None = None
    """The source file's path, below the docs folder."""
    source_text: str | None = None
    """The source file's Markdown; asked only for what HTML lost."""
    description: str = ""
    tags: tuple[str, ...] = ()
    url: str | None = None
    """The address, where it isn't the site's URL + `path`."""
    markdown: str | None = None
    """The Markdown that its site publishes itself, as fetched; None where the article is to be converted."""
    headings: tuple[Heading, ...] = ()
    """The rendered page's headings, beside such Markdown: it knows no anchors."""


@dataclass(frozen=True, slots=True)
class NavItem:
    """An entry of the nav: a group with children, a page (`path`), both, or an outside link (`url`)."""

    title: str
    path: str | None = None
    url: str | None = None
    children: tuple[NavItem, ...] = ()


@dataclass(frozen=True, slots=True)
class Alternate:
    """Another language or version of the same site, by the URL of its manifest."""

    manifest: str
    language: str | None = None
    version: str | None = None


@dataclass(frozen=True, slots=True)
class Site:
    """The site that pages belong to. `url` ends in a slash."""

    name: str
    url: str
    description: str = ""
    language: str = "en"
    version: str | None = None
    alternates: tuple[Alternate, ...] = ()
    nav: tuple[NavItem, ...] = ()
    nav_source: str = "mkdocs"


class Pages(Protocol):
    """A source of pages: a MkDocs build, a built site's folder, a crawl, a list in a test."""

    def pages(self) -> Iterable[Page]:
        """Yield each page once, in nav order where there is one."""
        ...


def url_of(site_url: str, path: str) -> str:
    """Give a page's address, percent-encoded."""
    return site_url + quote(path, safe=_SAFE)


def path_of(site_url: str, url: str) -> str | None:
    """Give the path of the page that a URL of this site names, fragment and query aside; None for another site's."""
    if not url.startswith(site_url) and url + "/" != site_url:
        return None
    return canonical_path(unquote(re.split("[?#]", url[len(site_url) :], maxsplit=1)[0]))


def canonical_path(path: str) -> str:
    """Give a decoded path in the one form that ids are made of: NFC, without a leading slash and `index.html`."""
    path = unicodedata.normalize("NFC", path).lstrip("/")
    return re.sub(r"(^|/)index\.html?$", r"\1", path)


def markdown_path(path: str) -> str:
    """Give the file that holds a page's Markdown: `guide/install/` → `guide/install/index.md`."""
    if not path or path.endswith("/"):
        return path + "index.md"
    return re.sub(r"\.html?$", "", path) + ".md"


def twin_path(path: str) -> str | None:
    """Give the second address at which agents try a page's Markdown: `guide/install/` → `guide/install.md`."""
    return path[:-1] + ".md" if path.endswith("/") and path != "/" else None


_SAFE = "/-._~!$&'()*+,;=:@"  # what RFC 3986 lets stand in a path
