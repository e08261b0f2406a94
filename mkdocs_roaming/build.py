"""Pages whose Markdown is final -> the manifest: ids, nav, links between sections, keywords, aliases."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol
from urllib.parse import unquote

from mkdocs_roaming.aliases import Previous, find_aliases
from mkdocs_roaming.headings import one_line
from mkdocs_roaming.manifest import Manifest, NavEntry, PageEntry, SectionEntry, SiteEntry
from mkdocs_roaming.page import NavItem, Page, Site, markdown_path, path_of, url_of
from mkdocs_roaming.section import Ids, Section, github_slug, hash_id

MORE = "More"
"""The nav group of pages that the nav does not name."""


class KeywordsOf(Protocol):
    """Finds the keywords of sections: `keywords.keywords`, or what remembers its result."""

    def __call__(self, texts: Iterable[str], language: str, *, shown: Iterable[str]) -> list[tuple[str, ...]]:
        """Give the keywords of each text; texts are made when they are asked for, and may be asked for again."""
        ...


@dataclass(frozen=True, slots=True)
class Written:
    """A page and its final Markdown file. `full` is the file's byte offset in llms-full.txt, None without one."""

    page: Page
    markdown: str
    sections: tuple[Section, ...]
    full: int | None = None


def build(
    site: Site,
    pages: Sequence[Written],
    *,
    generator: str = "",
    previous: Previous | None = None,
    hash_of: Callable[[str], str] = hash_id,
    keywords_of: KeywordsOf | None = None,
    warn: Callable[[str], None] = lambda message: None,
) -> Manifest:
    """Give the manifest of a site, its digest left to `dump`; `pages` stand in nav order.

    `warn` is told what was given up, a line each: aliases that collide with a living id. `hash_of` makes ids of keys,
    `keywords_of` finds the sections' keywords, in the place of `keywords.keywords`.
    """
    ids = Ids(hash_of)
    anchors = _Anchors(site.url)
    page_ids = []
    for written in pages:
        page_ids.append(ids.of_page(written.page.path, written.sections))
        anchors.add(written, page_ids[-1])
    found = iter(_keywords(pages, site.language, keywords_of))
    entries = [_page(written, own, anchors, found, site.url) for written, own in zip(pages, page_ids, strict=True)]
    if previous is not None:
        aliases = find_aliases(previous, entries, map(_data, pages), warn)
        entries = [_with_aliases(entry, aliases) for entry in entries]
    nav = _nav(site.nav, entries, ids)
    return Manifest(
        site=SiteEntry(
            one_line(site.name), site.url, one_line(site.description), site.language, site.version, site.alternates
        ),
        pages=tuple(entries),
        nav=nav,
        anchors=not pages or any(section.anchor for entry in entries for section in entry.sections),
        nav_source=site.nav_source,
        generator=generator,
    )


def in_lines(manifest: Manifest) -> Manifest:
    """Give somebody else's manifest with titles, descriptions and openings as `build` has them: each fit for a line."""
    site = replace(manifest.site, name=one_line(manifest.site.name), description=one_line(manifest.site.description))
    pages = tuple(
        replace(
            page,
            title=one_line(page.title),
            description=one_line(page.description),
            sections=tuple(
                replace(section, title=one_line(section.title), opening=one_line(section.opening))
                for section in page.sections
            ),
        )
        for page in manifest.pages
    )
    return replace(manifest, site=site, pages=pages, nav=_nav_in_lines(manifest.nav))


def _nav_in_lines(nav: Iterable[NavEntry]) -> tuple[NavEntry, ...]:
    return tuple(replace(entry, title=one_line(entry.title), children=_nav_in_lines(entry.children)) for entry in nav)


def in_nav_order(site: Site, pages: Iterable[Page]) -> list[Page]:
    """Give the pages in the order of the nav, those that it does not name last, in the order given."""
    by_path = {page.path: page for page in pages}
    return [by_path[path] for path in paths_in_nav_order(site, by_path)]


def paths_in_nav_order(site: Site, paths: Collection[str]) -> list[str]:
    """Give the paths of pages in that order."""
    ordered: dict[str, None] = {}

    def walk(items: Iterable[NavItem]) -> None:
        for item in items:
            if item.path is not None and item.path in paths:
                ordered[item.path] = None
            walk(item.children)

    walk(site.nav)
    return list(ordered | dict.fromkeys(paths))


def _data(written: Written) -> bytes:
    return written.markdown.encode("utf-8", "surrogatepass")


def _page(
    written: Written,
    ids: Sequence[str],
    anchors: _Anchors,
    keywords: Iterator[tuple[str, ...]],
    site_url: str,
) -> PageEntry:
    page, data = written.page, _data(written)
    return PageEntry(
        id=ids[0],
        title=one_line(written.sections[0].title),
        path=page.path,
        markdown=markdown_path(page.path),
        digest="sha256:" + hashlib.sha256(data).hexdigest(),
        bytes=len(data),
        sections=tuple(
            SectionEntry(
                id=id_,
                level=section.level,
                title=one_line(section.title),
                start=section.start,
                end=section.end,
                digest=section.digest,
                anchor=section.anchor,
                body=section.body,
                tokens=section.tokens,
                opening=one_line(section.opening),
                keywords=next(keywords),
                links=anchors.linked(id_, section.targets),
            )
            for id_, section in zip(ids, written.sections, strict=True)
        ),
        source=page.source,
        origin="html" if page.markdown is None else "markdown",
        description=one_line(page.description),
        tags=page.tags,
        full=written.full,
        tokens=sum(section.tokens for section in written.sections),
        url=page.url if page.url and page.url != url_of(site_url, page.path) else None,
    )


class _Anchors:
    """Where the links of a site lead: the ids of all pages' anchors."""

    def __init__(self, site_url: str) -> None:
        self._site_url = site_url
        self._ids: dict[str, dict[str, str]] = {}

    def add(self, written: Written, ids: Sequence[str]) -> None:
        """Take note of a page, by its own path and by its Markdown's."""
        # Where there is no HTML, links lead to the slugs that GitHub makes.
        anchors = {
            section.anchor or github_slug(section.title): id_
            for section, id_ in reversed(list(zip(written.sections, ids, strict=True)))
        }
        anchors[""] = ids[0]
        self._ids[written.page.path] = self._ids[markdown_path(written.page.path)] = anchors

    def linked(self, own: str, targets: Iterable[str]) -> tuple[str, ...]:
        """Give the ids of the sections that a section links to."""
        found: dict[str, None] = {}
        for target in targets:
            path = path_of(self._site_url, target.partition("#")[0])
            anchors = self._ids.get(path) if path is not None else None
            if anchors is not None:
                found[anchors.get(unquote(target.partition("#")[2]), anchors[""])] = None
        found.pop(own, None)
        return tuple(found)


def _keywords(pages: Sequence[Written], language: str, keywords_of: KeywordsOf | None) -> list[tuple[str, ...]]:
    if keywords_of is None:
        from mkdocs_roaming.keywords import keywords  # builds that remember theirs never need it

        keywords_of = keywords

    def texts() -> Iterator[str]:
        for written in pages:
            data = _data(written)
            for section in written.sections:
                yield data[section.start : section.end].decode("utf-8", "replace")

    def shown() -> Iterator[str]:
        return (f"{section.title} {section.opening}" for written in pages for section in written.sections)

    return keywords_of(_Anew(texts), language, shown=_Anew(shown))


@dataclass(frozen=True, slots=True)
class _Anew(Iterable[str]):
    """Texts that are made when they are gone through, each time anew."""

    make: Callable[[], Iterator[str]]

    def __iter__(self) -> Iterator[str]:
        return self.make()


def _with_aliases(entry: PageEntry, aliases: Mapping[str, tuple[str, ...]]) -> PageEntry:
    return replace(
        entry, sections=tuple(replace(section, aliases=aliases.get(section.id, ())) for section in entry.sections)
    )


def _nav(items: Sequence[NavItem], entries: Sequence[PageEntry], ids: Ids) -> tuple[NavEntry, ...]:
    pages = {entry.path: entry for entry in entries}
    left = dict(pages)  # what no item has named yet: a page stands in the nav once

    def entry_of(item: NavItem, above: tuple[str, ...]) -> NavEntry | None:
        titles = (*above, item.title)
        page = left.pop(item.path, None) if item.path is not None else None
        own = page.id if page else ids.new("nav:" + "/".join(titles)) if item.children else None
        children = tuple(entry for child in item.children if (entry := entry_of(child, titles)))
        if page is None and not children and item.url is None:
            return None
        return NavEntry(
            one_line(item.title), own, page.path if page else None, item.url if own is None else None, children
        )

    nav = [entry for item in items if (entry := entry_of(item, ()))]
    orphans = [NavEntry(page.title, page.id, page.path) for page in entries if page.path in left]
    if orphans and nav:
        orphans = [NavEntry(MORE, ids.new("nav:" + MORE), children=tuple(orphans))]
    return (*nav, *orphans)
