"""Convert the pages of a build to Markdown, or take them from the cache of earlier builds."""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Callable, Collection, Iterable, MutableMapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any
from urllib.parse import quote, urljoin

from mkdocs_roaming.errors import ConversionError
from mkdocs_roaming.html.final_page import remove_tag_entries
from mkdocs_roaming.html.themes import digest_themes, load_themes
from mkdocs_roaming.manifest.models import (
    HAS_HOST,
    LLMS_TXT,
    Page,
    Site,
    join_url,
    markdown_path,
    path_to_url,
    relative_url,
    url_to_path,
)
from mkdocs_roaming.manifest.sections import split_sections
from mkdocs_roaming.publish.cache import ConversionCache, ConvertedPage
from mkdocs_roaming.publish.markdown_source import normalize_markdown
from mkdocs_roaming.text.markdown import to_single_line

Warn = Callable[[str], None]

_PAGE = re.compile(rf"https?:|(?!{HAS_HOST.pattern})", re.IGNORECASE)
"""The beginning of a URL that may be that of a page of the site."""
_MARKUP = re.compile(r"([\\`*_\[\]<>])")
_SAFE = "/-._~!$&'()*+,;=:@?#%[]"
"""Reserved characters of URLs, and the % of existing escapes."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A page that a build does not publish."""

    path: str
    reason: str
    source: str | None = None
    """The source of the page below the docs folder."""

    def __str__(self) -> str:
        return f"{self.source or '/' + self.path}: {self.reason}"


@dataclass(slots=True)
class Batch:
    """The converted pages of a build, before they are written."""

    site: Site
    cache: ConversionCache
    warn: Warn
    pages: MutableMapping[str, Page] = field(default_factory=dict)
    converted: MutableMapping[str, ConvertedPage] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)
    """The pages of the site that are not published."""
    context: str = ""
    """What conversions depend on besides their page: the themes, the site's classes."""
    links_checked: bool = True
    """Whether the links between pages were checked since a page was last dropped."""
    _addresses: str = ""

    @property
    def addresses(self) -> str:
        """Digest of what the targets of links depend on: the pages of the site, and its redirects."""
        if not self._addresses:
            site = self.site
            parts = (site.url, site.crawled_from, sorted(site.redirects.items()), sorted(self.pages))
            self._addresses = hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()
        return self._addresses

    def drop(self, path: str, reason: str) -> None:
        """Exclude a page from the build."""
        page = self.pages.pop(path)
        self.converted.pop(path, None)
        self.left_out.append(LeftOut(path, reason, page.source))
        self.links_checked = False
        self._addresses = ""


PageMap = Callable[[Callable[[Page], ConvertedPage | str], Iterable[Page]], Iterable[ConvertedPage | str]]
"""Applies a function to pages and returns the results in order, as `map` does."""


def convert_pages(
    site: Site,
    pages: Iterable[Page],
    *,
    cache: ConversionCache,
    warn: Warn,
    on_progress: Callable[[], None] = lambda: None,
    map_fn: PageMap = map,
    mapping_factory: Callable[[], MutableMapping[str, Any]] = dict,
) -> Batch:
    """Convert the pages of a site. Pages that cannot be converted are dropped with a warning.

    Args:
        site: The site that the pages belong to.
        pages: The pages, in any order. Of two pages with the same path the first is published.
        cache: Conversions of earlier builds.
        warn: Receives one line for each dropped page.
        on_progress: Called after each page.
        map_fn: Applies the conversion to pages.
        mapping_factory: Creates the mappings of the batch: `dict`, or a class that stores values on disk.
    """
    batch = Batch(site, cache, warn, mapping_factory(), mapping_factory(), context=digest_themes(site.classes))
    for page in pages:
        first = batch.pages.get(page.path)
        if first is None:
            batch.pages[page.path] = page
            continue
        warn(f"{_name(page)}: same path as {_name(first)}: `{page.path}`. Only the first is published; rename one")
        batch.left_out.append(LeftOut(page.path, f"same path as {_name(first)}", page.source))
    uncached = []
    for path, page in batch.pages.items():
        if _load_cached(batch, page):
            on_progress()
        else:
            uncached.append(path)
    convert = partial(_try_convert, site, frozenset(batch.pages))
    results = map_fn(convert, (batch.pages[path] for path in uncached))
    for path, result in zip(uncached, results, strict=True):
        _store_result(batch, batch.pages[path], result)
        on_progress()
    reconvert_stale_pages(batch)
    return batch


def reconvert_page(batch: Batch, page: Page) -> None:
    """Replace a page of the batch after its article has changed, and convert it again."""
    batch.pages[page.path] = page
    _convert(batch, page)


def remove_left_out_entries(batch: Batch) -> None:
    """Remove the titles of pages that are not published from indexes of tags, and convert these again."""
    left_out = {page.path for page in batch.left_out}
    site_url = batch.site.url

    def is_left_out(base: str, href: str) -> bool:
        target = urljoin(base, href).partition("#")[0]
        return url_to_path(site_url, target) in left_out

    for page in list(batch.pages.values()) if left_out else ():
        if 'id="tag:' not in page.article:
            continue
        base = page.url or path_to_url(site_url, page.path)
        article = remove_tag_entries(page.article, partial(is_left_out, base))
        if article != page.article:
            reconvert_page(batch, replace(page, article=article))


def reconvert_stale_pages(batch: Batch) -> None:
    """Convert pages again that link to dropped pages, until no link is stale."""
    while not batch.links_checked:
        batch.links_checked = True
        stale = []
        for page in batch.pages.values():
            links = batch.converted[page.path].links
            resolve = LinkResolver(page, batch.site, batch.pages).link
            if any(resolve(href) != url for href, url in links.items()):
                stale.append(page)
        for page in stale:
            _convert(batch, page)


# Conversion of one page


def _convert(batch: Batch, page: Page) -> None:
    if not _load_cached(batch, page):
        _store_result(batch, page, _try_convert(batch.site, batch.pages, page))


def _load_cached(batch: Batch, page: Page) -> bool:
    links = LinkResolver(page, batch.site, batch.pages)
    context = format_pointer(batch.site, page) + batch.context
    cached = batch.cache.get(page, context, f"{page.url} {batch.addresses}", links.link, links.image)
    if cached is None:
        return False
    batch.converted[page.path] = cached
    return True


def _store_result(batch: Batch, page: Page, result: ConvertedPage | str) -> None:
    if isinstance(result, str):
        batch.warn(f"{_name(page)}: {result}; the page is left out")
        batch.drop(page.path, result)
        return
    context = format_pointer(batch.site, page) + batch.context
    batch.cache.put(page, context, f"{page.url} {batch.addresses}", result)
    batch.converted[page.path] = result


def _try_convert(site: Site, paths: Collection[str], page: Page) -> ConvertedPage | str:
    """Return the converted page, or the reason why it cannot be converted."""
    links = LinkResolver(page, site, paths)
    pointer = format_pointer(site, page)
    head = f"{pointer}\n" if pointer else ""
    try:
        if page.markdown is not None:
            body = normalize_markdown(page.markdown, title=page.title, link=links.link)
            text = head + body
            sections = split_sections(text, title=page.title, headings=page.headings or None)
        else:
            from mkdocs_roaming.html.converter import convert  # slow to import, and not needed if all pages are cached

            article = convert(
                page.article,
                title=page.title,
                link=links.link,
                image=links.image,
                code_languages=page.code_languages,
                themes=load_themes(site.classes),
            )
            text = head + article.markdown
            offsets = [len(head) + offset for offset in article.offsets]
            sections = split_sections(text, title=page.title, headings=article.headings, offsets=offsets)
    except ConversionError as error:
        return str(error)
    return ConvertedPage(text, sections, links.links, links.images)


def _name(page: Page) -> str:
    return page.source or f"/{page.path}"


# Links


def format_pointer(site: Site, page: Page) -> str:
    """Return the first line of a page's Markdown: a quote with a link to llms.txt; nothing without one.

    In a copy it also names the original page, and links to the llms.txt of the copy.
    """
    if not site.has_llms_txt:
        return ""
    name = _MARKUP.sub(r"\\\1", to_single_line(site.name))
    llms_txt = relative_url(markdown_path(page.path), LLMS_TXT)
    if site.crawled_from:
        url = page.url or path_to_url(site.url, page.path)
        return (
            f"> This is a copy of [a page of {name}]({url}). All pages of the copy, as Markdown, are listed in "
            f"[{LLMS_TXT}]({llms_txt}).\n"
        )
    if site.url:
        llms_txt = site.url + LLMS_TXT
    return (
        f"> This page belongs to the documentation of {name}. "
        f"All its pages, as Markdown, are listed in [{LLMS_TXT}]({llms_txt}).\n"
    )


class LinkResolver:
    """Resolves the links of one page to absolute URLs, or relative ones without the site's, and remembers them.

    Args:
        page: The page.
        site: The site. The links of a copy lead to its pages, and not to their Markdown, which only the copy has.
        paths: The paths of all published pages.
    """

    def __init__(self, page: Page, site: Site, paths: Collection[str]) -> None:
        self._site = site
        self._paths = paths
        self._page_url = page.url or path_to_url(site.url, page.path)
        self._folder = posixpath.dirname(path_to_url("/", markdown_path(page.path)))
        self._resolved: dict[str, str] = {}
        self.links: dict[str, str] = {}
        """The URL of each link by its `href`."""
        self.images: dict[str, str] = {}
        """The URL of each image by its `src`."""

    def link(self, href: str) -> str:
        """Return the URL of a link: for a published page the URL of its Markdown, or of the original of a copy."""
        if href not in self.links:
            address, hash_sign, fragment = href.strip().partition("#")
            if address not in self._resolved:  # pages often link to several sections of the same page
                self._resolved[address] = self._localize(self._resolve(address))
            url = self._resolved[address]
            if fragment:
                url = url.partition("#")[0] + hash_sign + quote(fragment, safe=_SAFE)
            self.links[href] = url
        return self.links[href]

    def image(self, src: str) -> str:
        """Return the URL of an image or another file."""
        if src not in self.images:
            self.images[src] = self._localize(self._absolute(src))
        return self.images[src]

    def _resolve(self, address: str) -> str:
        url = self._absolute(address)
        if "?" in url or not _PAGE.match(url):
            return url
        page = self._find_page(url)
        if page is None:
            url = self._site.follow_redirects(url)
            page = self._find_page(url)
        _, hash_sign, fragment = url.partition("#")  # a redirect may lead to a section
        if page is None:
            return url
        path = page if self._site.crawled_from else markdown_path(page)
        return path_to_url(self._site.url, path) + hash_sign + fragment

    def _localize(self, url: str) -> str:
        """Return a URL relative to the Markdown of the page if it is below the site, whose URL is not known."""
        if self._site.url or HAS_HOST.match(url):
            return url
        return posixpath.relpath(f"/{url}", self._folder)

    def _absolute(self, href: str) -> str:
        return quote(join_url(self._page_url, href.strip()), safe=_SAFE)

    def _find_page(self, url: str) -> str | None:
        """Return the path of the published page at a URL.

        Static hosts serve `guide`, `guide/` and `guide/index.html` alike. Sites that publish Markdown link to it by
        its file name.
        """
        path = url_to_path(self._site.url, url) if "?" not in url else None
        if path is None:
            return None
        candidates = [path, path + "/", path.rstrip("/")]
        if path.endswith(".md"):
            stem = path.removesuffix(".md")
            folder, _, name = stem.rpartition("/")
            if name == "index":
                candidates.append(f"{folder}/" if folder else "")
            candidates += [stem, stem + "/", stem + ".html"]
        return next((candidate for candidate in candidates if candidate in self._paths), None)
