"""What every source of pages yields: pages, the nav they stand in, and the site they belong to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, Protocol

Origin = Literal["html", "markdown"]
"""What a page's Markdown was made from: its rendered HTML, or Markdown that somebody published."""


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of a rendered page: its level (1 to 6), plain text and anchor, None where it has no id."""

    level: int
    text: str
    anchor: str | None


@dataclass(frozen=True, slots=True)
class Page:
    """One page, before it is published: exactly one of `article` and `markdown` is set.

    `path` is the canonical URL's path below the site's URL, decoded, NFC, without query and `index.html`;
    the home page's is `""`. `title` is the nav's title, used where the page has no heading of its own.
    """

    path: str
    title: str
    article: str | None = None
    """The article's HTML, as rendered."""
    markdown: str | None = None
    """Markdown that somebody else published (crawled)."""
    headings: tuple[Heading, ...] = ()
    """With `markdown`: the headings of the HTML twin, where there is one."""
    source: str | None = None
    """The source file's path, below the docs folder."""
    source_text: str | None = None
    """The source file's Markdown; asked only for what HTML lost."""
    description: str = ""
    tags: tuple[str, ...] = ()
    url: str | None = None
    """The address, where it isn't the site's URL + `path`."""

    @property
    def origin(self) -> Origin:
        """What the Markdown is made from."""
        return "html" if self.markdown is None else "markdown"


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
