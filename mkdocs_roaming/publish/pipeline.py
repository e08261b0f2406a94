"""The pages of one build while it goes on: taken from the cache or converted, not yet written."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, MutableMapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from mkdocs_roaming.errors import ConversionError
from mkdocs_roaming.html.escape import add_lint_switches
from mkdocs_roaming.manifest.models import Page, Site
from mkdocs_roaming.manifest.sections import split_sections
from mkdocs_roaming.publish.cache import ConversionCache, ConvertedPage
from mkdocs_roaming.publish.links import LinkResolver, link_resolver_for
from mkdocs_roaming.publish.llms_txt import format_pointer

Warn = Callable[[str], None]


@dataclass(slots=True)
class Batch:
    """The pages of one build while it goes on: converted, but not yet written."""

    site: Site
    cache: ConversionCache
    warn: Warn
    pages: MutableMapping[str, Page] = field(default_factory=dict)
    converted: MutableMapping[str, ConvertedPage] = field(default_factory=dict)
    settled: bool = True
    """Whether no page was left out since the others' links to it were looked at."""

    def drop(self, path: str) -> None:
        """Leave a page out after all."""
        self.pages.pop(path, None)
        self.converted.pop(path, None)
        self.settled = False


PageMap = Callable[[Callable[[Page], ConvertedPage | str], Iterable[Page]], Iterable[ConvertedPage | str]]
"""Applies a function to pages and gives the results in order, as `map` does: in other processes, for one."""


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
    """Convert the pages of a site. One that cannot be converted is left out; `warn` gets a line that names it.

    `mapping_factory` makes what pages and their Markdown are kept in: a `dict`, or a `Shelf` where memory would not hold them.
    """
    batch = Batch(site, cache, warn, mapping_factory(), mapping_factory())
    for page in pages:
        if page.path in batch.pages:
            other = batch.pages[page.path]
            warn(
                f"{_name(page)}: has the same address as {_name(other)}, “{page.path}”; "
                "the first is published, rename one of them"
            )
            continue
        batch.pages[page.path] = page
    left = []
    for path, page in batch.pages.items():
        if _from_cache(batch, page):
            on_progress()
        else:
            left.append(path)
    paths = frozenset(batch.pages)
    results = map_fn(partial(_converted_or_why, site, paths), (batch.pages[path] for path in left))
    for path, found in zip(left, results, strict=True):
        _take(batch, batch.pages[path], found)
        on_progress()
    reconvert_stale_pages(batch)
    return batch


def reconvert_page(batch: Batch, page: Page) -> None:
    """Convert a page of the batch once more, since its article is another one by now."""
    batch.pages[page.path] = page
    _convert(batch, page)


def reconvert_stale_pages(batch: Batch) -> None:
    """Convert again what links to a page that was left out since; ends when no page does."""
    while not batch.settled:
        batch.settled = True
        stale = [
            path
            for path, page in batch.pages.items()
            if any(_links(batch, page).link(href) != url for href, url in batch.converted[path].links.items())
        ]
        for path in stale:
            _convert(batch, batch.pages[path])


# Converting


def _convert(batch: Batch, page: Page) -> None:
    if not _from_cache(batch, page):
        _take(batch, page, _converted_or_why(batch.site, batch.pages, page))


def _from_cache(batch: Batch, page: Page) -> bool:
    links = _links(batch, page)
    found = batch.cache.get(page, format_pointer(batch.site), links.link, links.absolute)
    if found is not None:
        batch.converted[page.path] = found
    return found is not None


def _take(batch: Batch, page: Page, found: ConvertedPage | str) -> None:
    if isinstance(found, str):
        batch.warn(f"{_name(page)}: {found}; the page is left out")
        batch.drop(page.path)
        return
    batch.cache.put(page, format_pointer(batch.site), found)
    batch.converted[page.path] = found


def _converted_or_why(site: Site, paths: Collection[str], page: Page) -> ConvertedPage | str:
    """Give a page converted, or why it cannot be."""
    links = link_resolver_for(site, page.path, page.url, paths)
    try:
        return _converted(page, format_pointer(site), links.link, links.absolute)
    except ConversionError as error:
        return str(error)


def _converted(page: Page, line: str, link: Callable[[str], str], image: Callable[[str], str]) -> ConvertedPage:
    if page.markdown is not None:
        return _shaped(page, page.markdown, line, link)
    from mkdocs_roaming.html.converter import convert  # a dozen modules, and lxml: needless where nothing changed

    seen_links: dict[str, str] = {}
    seen_images: dict[str, str] = {}

    def recorded(href: str) -> str:
        return seen_links.setdefault(href, link(href))

    def recorded_image(src: str) -> str:
        return seen_images.setdefault(src, image(src))

    result = convert(page.article, title=page.title, link=recorded, image=recorded_image, source=page.source_text)
    text = f"{add_lint_switches(line, page.article)}\n{result.markdown}"
    return ConvertedPage(
        text, split_sections(text, title=page.title, headings=result.headings), seen_links, seen_images
    )


def _shaped(page: Page, markdown: str, line: str, link: Callable[[str], str]) -> ConvertedPage:
    from mkdocs_roaming.publish.markdown_source import leading_pointer, normalize_markdown  # few sites give Markdown

    seen: dict[str, str] = {}
    line = add_lint_switches(line, leading_pointer(markdown))
    text = (
        f"{line}\n{normalize_markdown(markdown, title=page.title, link=lambda href: seen.setdefault(href, link(href)))}"
    )
    return ConvertedPage(text, split_sections(text, title=page.title, headings=page.headings or None), seen, {})


def _links(batch: Batch, page: Page) -> LinkResolver:
    return link_resolver_for(batch.site, page.path, page.url, batch.pages)


def _name(page: Page) -> str:
    return page.source or f"/{page.path}"
