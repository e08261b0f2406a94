"""What a manifest consists of: site, nav, pages, sections, rules. `manifest.py` writes and reads them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mkdocs_roaming.page import Alternate


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
class When:
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

    when: When
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
