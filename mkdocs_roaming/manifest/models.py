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


class PageSource(Protocol):
    """A source of pages: a MkDocs build, a built site's folder, a crawl, a list in a test."""

    def pages(self) -> Iterable[Page]:
        """Yield each page once, in nav order where there is one."""
        ...


def path_to_url(site_url: str, path: str) -> str:
    """Give a page's address, percent-encoded."""
    return site_url + quote(path, safe=_SAFE)


def url_to_path(site_url: str, url: str) -> str | None:
    """Give the path of the page that a URL of this site names, fragment and query aside; None for another site's."""
    if not url.startswith(site_url) and url + "/" != site_url:
        return None
    return canonicalize_path(unquote(re.split("[?#]", url[len(site_url) :], maxsplit=1)[0]))


def canonicalize_path(path: str) -> str:
    """Give a decoded path in the one form that ids are made of: NFC, without a leading slash and `index.html`."""
    path = unicodedata.normalize("NFC", path).lstrip("/")
    return re.sub(r"(^|/)index\.html?$", r"\1", path)


def markdown_path(path: str) -> str:
    """Give the file that holds a page's Markdown: `guide/install/` → `guide/install/index.md`."""
    if not path or path.endswith("/"):
        return path + "index.md"
    return re.sub(r"\.html?$", "", path) + ".md"


def short_markdown_path(path: str) -> str | None:
    """Give the second address at which agents try a page's Markdown: `guide/install/` → `guide/install.md`."""
    return path[:-1] + ".md" if path.endswith("/") and path != "/" else None


_SAFE = "/-._~!$&'()*+,;=:@"  # what RFC 3986 lets stand in a path


# MERGED mkdocs_roaming.entries:
# What a manifest consists of: site, nav, pages, sections, rules. `manifest.py` writes and reads them.


@dataclass(frozen=True, slots=True)
class SiteEntry:
    """What the manifest says of the site; `url` ends in a slash."""

    name: str
    url: str
    description: str = ""
    language: str = "en"
    version: str | None = None
    alternates: tuple[Alternate, ...] = ()


@dataclass(frozen=True, slots=True)
class NavEntry:
    """An entry of the nav: a group, a page of the site (`page` is its path, `id` the page's), or an outside link."""

    title: str
    id: str | None = None
    page: str | None = None
    url: str | None = None
    children: tuple[NavEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class SectionEntry:
    """A section: the bytes `start` to `end` of its page's Markdown.

    `digest` is of that slice, `body` of its text below the heading (so a renamed heading is known again);
    `tokens` is an estimate; `links` are the ids of sections that it links to.
    """

    id: str
    level: int
    title: str
    start: int
    end: int
    digest: str
    anchor: str | None = None
    body: str = ""
    tokens: int = 0
    opening: str = ""
    keywords: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PageEntry:
    """A page: where it is, where its Markdown is, and its sections, the page's own first.

    `markdown` is resolved against the site's root as the manifest's own address tells it, `full` is the byte
    offset of the page's Markdown in llms-full.txt, None where there is no such file.
    """

    id: str
    title: str
    path: str
    markdown: str
    digest: str
    bytes: int
    sections: tuple[SectionEntry, ...]
    source: str | None = None
    origin: str = "html"
    description: str = ""
    tags: tuple[str, ...] = ()
    full: int | None = None
    tokens: int = 0
    url: str | None = None


@dataclass(frozen=True, slots=True)
class RuleCondition:
    """When a rule fires: one of the phrases in `any` and each in `all` is asked for, on one of the pages (ids).

    What is empty asks for nothing; a rule that asks for nothing never fires, one with `always` does.
    """

    any: tuple[str, ...] = ()
    all: tuple[str, ...] = ()
    pages: tuple[str, ...] = ()
    always: bool = False


@dataclass(frozen=True, slots=True)
class RuleEntry:
    """A rule: the sections (ids) that are opened for a question before a model reads it."""

    when: RuleCondition
    open: tuple[str, ...]
    name: str = ""


@dataclass(frozen=True, slots=True)
class VectorsEntry:
    """The file of vectors that lies beside the manifest: its digest, whose vectors they are, how many, how long."""

    digest: str
    bytes: int
    model: str
    dimensions: int
    windows: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """A published site: its pages, their sections, its nav and its rules. `digest` is of all the rest.

    `rules_mode` is `each` or `pool`: what the rules that fire share their room by. `vectors` is None where there are
    none: search goes by words alone.
    """

    site: SiteEntry
    pages: tuple[PageEntry, ...]
    nav: tuple[NavEntry, ...] = ()
    rules: tuple[RuleEntry, ...] = ()
    rules_mode: str = "each"
    vectors: VectorsEntry | None = None
    anchors: bool = True
    nav_source: str = "mkdocs"
    generator: str = ""
    digest: str = ""

    @property
    def tokens(self) -> int:
        """The estimated tokens of the whole site."""
        return sum(page.tokens for page in self.pages)

    def sections(self) -> Iterable[SectionEntry]:
        """Give every section, in page order."""
        return (section for page in self.pages for section in page.sections)
