"""Data classes of pages and sites, and of the manifest that describes a published site.

`Page`, `NavItem` and `Site` are what a source of pages (a MkDocs build, a folder, a crawler) passes to the publisher.
The entries are the manifest itself: types, constraints and descriptions are declared here once, and `manifest.io`
decodes, validates and documents them with msgspec. The order of the fields is their order in the file.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from functools import lru_cache
from posixpath import relpath
from typing import Annotated, Any, Literal, TypeVar
from urllib.parse import quote, unquote, urljoin, urlsplit

from msgspec import Meta, Struct, field

OUTLINE_BUDGET = 8000
MIN_OUTLINE_BUDGET = 200
"""Default and minimum size of an outline, in estimated tokens."""

LLMS_TXT = "llms.txt"
LLMS_FULL = "llms-full.txt"
OUTLINE_PATH = "roaming/outline.md"
NOT_FOUND_PAGE = "404.html"
"""Paths of files of a site."""

MORE_GROUP = "More"
"""Title of the nav group with the pages that are not in the nav."""

# Limits that readers do not enforce, so that a longer text does not make a whole site unreadable.
MAX_OPENING = 200

_ID_LENGTH = 8
"""Hex digits of an id, and of the digest of a slice."""

SectionId = Annotated[str, Meta(title="section id", pattern="^[0-9a-f]{8}$", max_length=8)]
Sha256 = Annotated[str, Meta(pattern="^sha256:[0-9a-f]{64}$", max_length=71)]
Size = Annotated[int, Meta(ge=0)]


def _always(default: object) -> Any:
    """Declare a default that is written to the file: `omit_defaults` leaves out constants only."""
    return field(default_factory=lambda: default)


# Pages as sources yield them


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of a rendered page: level (1 to 6), plain text, and anchor (None without an id)."""

    level: int
    text: str
    anchor: str | None
    anchors: tuple[str, ...] = ()
    """Further anchors on the page between this heading and the next one."""


@dataclass(frozen=True, slots=True)
class Page:
    r"""One page before it is published.

    `path` is the path of the canonical URL below the site's URL: decoded, in Unicode NFC, without query and
    `index.html`; it is empty for the home page. `title` is the title in the nav, used if the page has no heading.

    Example:
        ```python
        from_html = mkdocs_roaming.Page("guide/", "Guide", article="<h1>Guide</h1><p>Drain the harbour first.</p>")
        from_markdown = mkdocs_roaming.Page("faq/", "FAQ", markdown="# FAQ\n\nDrain the harbour first.\n")
        ```
    """

    path: str
    title: str
    article: str = ""
    """HTML of the rendered article; empty if the page is available as Markdown only."""
    source: str | None = None
    """Path of the source file below the docs folder."""
    code_languages: tuple[tuple[str, str], ...] = ()
    """Code of the page with its language, in the order of conversion, for code blocks whose HTML names no language."""
    description: str = ""
    tags: tuple[str, ...] = ()
    url: str | None = None
    """URL of the page if it is not the site's URL followed by `path`."""
    markdown: str | None = None
    """Markdown that the site publishes itself, as fetched; None if `article` is to be converted."""
    headings: tuple[Heading, ...] = ()
    """Headings of the rendered page, for the anchors that fetched Markdown lacks."""
    questions: tuple[str, ...] = ()
    """Questions that the page answers, as suggestions for readers."""


@dataclass(frozen=True, slots=True)
class Section:
    """A slice of a page's Markdown.

    Attributes:
        level: Level of the heading.
        title: Text of the heading.
        anchor: Anchor of the heading on the rendered page.
        start: Offset of the first byte.
        end: Offset of the byte after the section's own text.
        parent: Index of the enclosing section on the page; None for the page's own section.
        opening: Its first sentence of prose; empty if it has none.
        targets: URLs that it links to.
        digest: Digest of the slice.
        body: Digest of the text below the heading; empty without text.
        tokens: Estimated number of tokens.
        anchors: Further anchors on the rendered page between the heading and the next one.
        flags: Kinds of text in it that seem to be written for language models; see `text.injection.Kind`.
    """

    level: int
    title: str
    anchor: str | None
    start: int
    end: int
    parent: int | None = None
    opening: str = ""
    targets: tuple[str, ...] = ()
    digest: str = ""
    body: str = ""
    tokens: int = 0
    anchors: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()


class PublishedPage(Struct, frozen=True):
    """A page with its final Markdown. `full` is the byte offset of the Markdown in llms-full.txt."""

    page: Page
    markdown: str
    sections: tuple[Section, ...]
    full: int | None = None

    def encode(self) -> bytes:
        """Return the content of the Markdown file."""
        return self.markdown.encode("utf-8", "surrogatepass")


@dataclass(frozen=True, slots=True)
class NavItem:
    """Navigation entry: a group with children, a page (`path`), both, or an external link (`url`)."""

    title: str
    path: str | None = None
    url: str | None = None
    children: tuple[NavItem, ...] = ()


class Alternate(Struct, frozen=True, omit_defaults=True):
    """The same site in another language or version."""

    manifest: Annotated[str, Meta(description="URL of its manifest, relative to this manifest")]
    language: str | None = _always(None)
    version: str | None = None


@dataclass(frozen=True, slots=True)
class Site:
    """Site that pages belong to. `url` ends with a slash; it is empty if it is not known."""

    name: str
    url: str
    description: str = ""
    language: str = "en"
    version: str | None = None
    alternates: tuple[Alternate, ...] = ()
    nav: tuple[NavItem, ...] = ()
    nav_source: str = "mkdocs"
    classes: Mapping[str, str] = dataclass_field(default_factory=dict)
    """Roles of the site's own CSS classes, for the conversion of its pages."""
    has_llms_txt: bool = True
    """Whether the site has an llms.txt, of this package or its own, to which pages link."""
    crawled_from: str = ""
    """The host that a crawl fetched the pages from; empty for an own site. The published files are a copy then: links
    lead to the pages of the original site, because it does not have the other files."""
    redirects: Mapping[str, str] = dataclass_field(default_factory=dict)
    """The URL to which each redirect page leads, by the path of the redirect page."""

    def follow_redirects(self, url: str) -> str:
        """Return the URL to which a URL leads; the URL itself if it is no redirect, or leads in a circle."""
        target = url
        fragment = ""
        for _ in range(_MAX_REDIRECTS):
            path = url_to_path(self.url, target) if self.redirects and "?" not in target else None
            forms = () if path is None else (path, path + "/", path.rstrip("/"))  # static hosts serve them alike
            further = [self.redirects[form] for form in forms if form in self.redirects]
            if not further:
                return target if "#" in target or not fragment else f"{target}#{fragment}"
            fragment = target.partition("#")[2] or fragment
            target = further[0]
        return url


# The manifest


class SiteEntry(Struct, frozen=True, omit_defaults=True):
    """The site as a whole."""

    name: Annotated[str, Meta(description="name of the site")]
    url: Annotated[
        str,
        Meta(
            description="URL of the site, with a slash at the end; empty if it is not known: links are relative then",
            extra_json_schema={"pattern": "(^|/)$"},
        ),
    ]
    description: Annotated[str, Meta(description="one sentence about the site")] = ""
    language: Annotated[str, Meta(description="language of the pages, as in HTML's lang attribute")] = _always("en")
    version: Annotated[str | None, Meta(description="version of the documentation, if there are several")] = None
    alternates: Annotated[tuple[Alternate, ...], Meta(description="the same site in other languages and versions")] = ()


class NavEntry(Struct, frozen=True, omit_defaults=True):
    """A group (id, children), a page of the site (id, page, perhaps children) or an external link (url)."""

    title: str
    id: SectionId | None = None
    page: Annotated[str | None, Meta(description="path of the page")] = None
    url: Annotated[str | None, Meta(description="target of an external link")] = None
    children: tuple[NavEntry, ...] = ()


class SectionEntry(Struct, frozen=True, omit_defaults=True):
    """A slice of a page's Markdown, from one heading to the next."""

    id: SectionId
    level: Annotated[int, Meta(ge=1, le=6, description="level of the heading")]
    title: Annotated[str, Meta(description="text of the heading without markup")]
    start: Annotated[Size, Meta(description="offset of its first byte in the Markdown file")]
    end: Annotated[Size, Meta(description="offset of the byte after its own text, where its first subsection starts")]
    digest: Annotated[
        str, Meta(pattern="^[0-9a-f]{8}$", max_length=8, description="first 8 hex digits of the slice's SHA-256")
    ]
    anchor: Annotated[str | None, Meta(description="anchor on the rendered page")] = _always(None)
    body: Annotated[
        str,
        Meta(
            pattern="^([0-9a-f]{8})?$",
            max_length=8,
            description="the same digest of the trimmed text below the heading; empty without text",
        ),
    ] = ""
    tokens: Annotated[Size, Meta(description="estimated number of tokens")] = _always(0)
    opening: Annotated[
        str,
        Meta(
            description="first sentence of its prose, or the names in its list or table; empty if it has neither",
            extra_json_schema={"maxLength": MAX_OPENING},
        ),
    ] = _always("")
    links: Annotated[tuple[SectionId, ...], Meta(description="sections that it links to")] = ()
    cites: Annotated[tuple[SectionId, ...], Meta(description="further sections that it cites by their numbers")] = ()
    aliases: Annotated[tuple[SectionId, ...], Meta(description="former ids of the section")] = ()
    anchors: Annotated[
        tuple[str, ...],
        Meta(description="further anchors within the section, such as those of parameters and terms"),
    ] = ()
    flags: Annotated[
        tuple[str, ...],
        Meta(
            description="text that seems to be written for language models, found by a crawl: instruction, hidden, "
            "invisible, exfiltration"
        ),
    ] = ()
    about: Annotated[str, Meta(description="what the section is for; written by a model")] = ""
    asks: Annotated[
        tuple[str, ...], Meta(description="questions that the section answers, in readers' words; written by a model")
    ] = ()

    def cut(self, data: bytes) -> str | None:
        """Return the text in a Markdown file; None if it is not the file that the manifest describes."""
        text = data[self.start : self.end]
        return text.decode("utf-8", "replace") if slice_digest(text) == self.digest else None


def slice_digest(data: bytes) -> str:
    """Return the digest of a slice: the first hex digits of its SHA-256."""
    return hashlib.sha256(data).hexdigest()[:_ID_LENGTH]


class PageEntry(Struct, frozen=True, omit_defaults=True):
    """A page with its sections; the page's own section is the first."""

    id: Annotated[SectionId, Meta(description="id of the page's own section")]
    title: str
    path: Annotated[str, Meta(description="path of the canonical URL below site.url: decoded, NFC, without index.html")]
    markdown: Annotated[str, Meta(description="path of the Markdown file, relative to the site's root")]
    digest: Annotated[Sha256, Meta(description="SHA-256 of the Markdown file")]
    bytes: Annotated[Size, Meta(description="size of the Markdown file")]
    sections: Annotated[
        tuple[SectionEntry, ...], Meta(min_length=1, description="sections in order, the page's own first")
    ]
    source: Annotated[str | None, Meta(description="path of the source file below the docs folder")] = None
    origin: Annotated[Literal["html", "markdown"], Meta(description="format that the Markdown was made from")] = (
        _always("html")
    )
    description: Annotated[str, Meta(description="description of the page in llms.txt")] = ""
    tags: Annotated[tuple[str, ...], Meta(description="tags of the page")] = ()
    full: Annotated[Size | None, Meta(description="byte offset of the page's Markdown in llms-full.txt")] = None
    tokens: Annotated[Size, Meta(description="estimated number of tokens")] = _always(0)
    url: Annotated[str | None, Meta(description="URL of the page if it is not site.url followed by path")] = None
    questions: Annotated[
        tuple[str, ...], Meta(description="questions that the page answers, as suggestions for readers")
    ] = ()
    summary: Annotated[str, Meta(description="what the page is for; written by a model")] = ""


class RuleCondition(Struct, frozen=True, omit_defaults=True):
    """Conditions that must all hold. An empty condition never holds, `always` does on every question."""

    any: Annotated[
        tuple[str, ...],
        Meta(description="phrases, one of which occurs: its words, folded and stemmed, next to each other in order"),
    ] = ()
    all: Annotated[tuple[str, ...], Meta(description="phrases, each of which occurs")] = ()
    pages: Annotated[tuple[SectionId, ...], Meta(description="the reader is on one of these pages")] = ()
    always: Annotated[bool, Meta(description="applies to every question")] = False


class RuleEntry(Struct, frozen=True, omit_defaults=True):
    """Sections that are opened for a question before a model reads it."""

    when: Annotated[RuleCondition, Meta(extra_json_schema={"minProperties": 1})]
    open: Annotated[tuple[SectionId, ...], Meta(min_length=1, description="sections to open")]
    name: str = ""


class VectorsEntry(Struct, frozen=True, omit_defaults=True):
    """The file roaming/vectors.bin: embeddings of the sections."""

    digest: Annotated[Sha256, Meta(description="SHA-256 of the file")]
    bytes: Annotated[Size, Meta(description="size of the file")]
    model: Annotated[str, Meta(description="embeddings model; a question needs a vector of the same model")]
    dimensions: Annotated[int, Meta(ge=1, le=8192)]
    windows: Annotated[Size, Meta(description="parts of sections, each of which has a vector")]


class LlmsTxtEntry(Struct, frozen=True, omit_defaults=True):
    """The list of pages in llms.txt: the end of the file, below the text of an author if there is one."""

    bytes: Annotated[Size, Meta(description="size of the list; 0 if the site has its own llms.txt, or none")]
    digest: Annotated[Sha256, Meta(description="SHA-256 of the list")]


class Manifest(Struct, frozen=True, omit_defaults=True):
    """Description of a published site: its pages, their sections, nav and rules."""

    site: SiteEntry
    pages: Annotated[tuple[PageEntry, ...], Meta(description="pages in nav order")]
    nav: Annotated[tuple[NavEntry, ...], Meta(description="navigation in the site's order")] = _always(())
    rules: Annotated[tuple[RuleEntry, ...], Meta(description="rules in order of priority")] = _always(())
    vectors: VectorsEntry | None = None
    llms_txt: Annotated[
        LlmsTxtEntry | None, Meta(description="the list of pages in llms.txt; older versions did not record it")
    ] = None
    anchors: Annotated[bool, Meta(description="whether anchors are those of the rendered pages")] = _always(True)
    nav_source: Annotated[str, Meta(description="origin of the nav")] = _always("mkdocs")
    crawled_from: Annotated[
        str, Meta(description="host that a crawl fetched the pages from; empty for an own site")
    ] = ""
    generator: Annotated[str, Meta(description="program that wrote the manifest")] = ""
    digest: Annotated[
        Sha256,
        Meta(description="SHA-256 of this file's canonical JSON (sorted keys, no spaces, UTF-8) without this field"),
    ] = ""

    @property
    def tokens(self) -> int:
        """Estimated number of tokens of the whole site."""
        return sum(page.tokens for page in self.pages)

    def sections(self) -> Iterable[SectionEntry]:
        """Return all sections in page order."""
        return (section for page in self.pages for section in page.sections)


# Paths and URLs of pages


N = TypeVar("N", NavItem, NavEntry)


def iter_nav(entries: Iterable[N]) -> Iterator[N]:
    """Yield the entries of a nav and all entries below them, in nav order."""
    for entry in entries:
        yield entry
        yield from iter_nav(entry.children)


def sort_paths_by_nav(site: Site, paths: Collection[str]) -> list[str]:
    """Return the paths of pages in nav order; paths that are not in the nav follow in the given order."""
    ordered = (item.path for item in iter_nav(site.nav) if item.path is not None and item.path in paths)
    return list(dict.fromkeys(ordered) | dict.fromkeys(paths))


def path_to_url(site_url: str, path: str) -> str:
    """Return the percent-encoded URL of a page."""
    return site_url + quote(path, safe=_PATH_CHARACTERS)


def is_valid_url(url: str) -> bool:
    """Return whether a URL can be parsed and encoded."""
    try:
        url.encode()
        return urlsplit(url).port != 0
    except ValueError:
        return False


def join_url(base: str, url: str) -> str:
    """Return a URL that is relative to another one; an invalid one, such as `http://[`, is returned unchanged."""
    try:
        return urljoin(base, url)
    except ValueError:
        return url


def root_path(site_url: str) -> str:
    """Return the percent-encoded path of a site's URL, with a slash at both ends."""
    return quote(urlsplit(site_url).path or "/", safe="/%")


@lru_cache(maxsize=4096)
def url_to_path(site_url: str, url: str) -> str | None:
    """Return the path of the page that a URL names, or None for a URL of another site.

    Query and fragment are ignored. A path whose escapes are not UTF-8 stays escaped, because its bytes tell it from
    others. A build asks for the same URLs again and again.
    """
    is_elsewhere = not site_url and HAS_HOST.match(url)
    is_below = url.startswith(site_url) or url + "/" == site_url
    if is_elsewhere or not is_below:
        return None
    path = url[len(site_url) :].partition("#")[0].partition("?")[0]
    with suppress(UnicodeDecodeError):
        path = unquote(path, errors="strict")
    return canonicalize_path(path)


def relative_url(path: str, target: str, root: str = "") -> str:
    """Return the relative URL from a page to a file of the site, both given by their paths.

    Args:
        path: The path of the page.
        target: The path of the file.
        root: The result of `find_root`. If it is not empty, the URL begins at the root of the host.
    """
    folder = path.rpartition("/")[0]
    url = target if root else relpath("/" + target, "/" + folder)
    return root + quote(url, safe="/-._~!$&'()*+,;=@")


def canonicalize_path(path: str) -> str:
    """Return a decoded path in the form that ids are derived from: NFC, no leading slash, no `index.html`."""
    path = unicodedata.normalize("NFC", path).lstrip("/")
    folder, slash, name = path.rpartition("/")
    return folder + slash if name in ("index.html", "index.htm") else path


def markdown_path(path: str) -> str:
    """Return the file of a page's Markdown: `guide/install/` → `guide/install/index.md`."""
    if not path or path.endswith("/"):
        return path + "index.md"
    stem, dot, extension = path.rpartition(".")
    has_stem = dot and extension in ("html", "htm")
    return f"{stem if has_stem else path}.md"


def short_markdown_path(path: str) -> str | None:
    """Return the other path where agents look for a page's Markdown: `guide/install/` → `guide/install.md`."""
    return path[:-1] + ".md" if path.endswith("/") and path != "/" else None


def page_files(path: str) -> tuple[str, ...]:
    """Return the files with a page's Markdown: one, or two with the same content."""
    copy = short_markdown_path(path)
    return (markdown_path(path), copy) if copy else (markdown_path(path),)


HAS_HOST = re.compile(r"//|[a-z][a-z0-9+.-]*:", re.IGNORECASE)
"""The beginning of a URL that is not relative to a host."""
_MAX_REDIRECTS = 10
_PATH_CHARACTERS = "/-._~!$&'()*+,;=:@"  # RFC 3986, section 3.3
