"""Old ids for new sections: what a section that is gone has become, so that an id once given still opens it."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import unquote

from msgspec.structs import replace

from mkdocs_roaming.manifest.models import (
    Manifest,
    NavEntry,
    NavItem,
    Page,
    PageEntry,
    SectionEntry,
    Site,
    SiteEntry,
    markdown_path,
    path_to_url,
    url_to_path,
)
from mkdocs_roaming.manifest.sections import IdAllocator, Section, github_slug, hash_id
from mkdocs_roaming.text.markdown import to_single_line
from mkdocs_roaming.text.tokenizer import extract_terms

MIN_OVERLAP = 0.9


"""The share of words that two texts must have in common to count as the same section."""


@dataclass(frozen=True, slots=True)
class PreviousSite:
    """The manifest published last, and a way to its texts; `text` gives None where there is none any more."""

    manifest: Manifest
    text: Callable[[PageEntry, SectionEntry], str | None]


def find_aliases(
    previous: PreviousSite, pages: Sequence[PageEntry], data: Iterable[bytes], warn: Callable[[str], None]
) -> dict[str, tuple[str, ...]]:
    """Give for each living id the old ids that it answers to.

    Sections that are gone are matched by their text's digest, then by at least 0.9 word overlap; inherited aliases
    are carried on. An alias that equals a living id is dropped, with a warning.
    """
    living = {section.id: section for page in pages for section in page.sections}
    before = {section.id: (page, section) for page in previous.manifest.pages for section in page.sections}
    gone = {id_: pair for id_, pair in before.items() if id_ not in living}
    new = {
        section.id: (page, section, text[section.start : section.end])
        for page, text in zip(pages, data, strict=True)
        for section in page.sections
        if section.id not in before
    }
    became = _by_digest(gone, new)
    became |= _by_words(previous, {id_: gone[id_] for id_ in gone if id_ not in became}, new, set(became.values()))
    aliases: dict[str, list[str]] = {}
    for id_, (_, section) in before.items():
        heir = id_ if id_ in living else became.get(id_)
        if heir is None:
            continue
        for old in (*section.aliases, *(() if heir == id_ else (id_,))):
            if old in living:
                warn(f"old id {old} of section “{section.title}” is given to another section now; its alias is dropped")
            else:
                aliases.setdefault(heir, []).append(old)
    return {heir: tuple(dict.fromkeys(old)) for heir, old in aliases.items()}


_Gone = dict[str, tuple[PageEntry, SectionEntry]]


_New = dict[str, tuple[PageEntry, SectionEntry, bytes]]


def _by_digest(gone: _Gone, new: _New) -> dict[str, str]:
    became: dict[str, str] = {}
    taken: set[str] = set()
    for key in ("digest", "body"):
        old_times = Counter(getattr(section, key) for id_, (_, section) in gone.items() if id_ not in became)
        new_times = Counter(getattr(section, key) for id_, (_, section, _text) in new.items() if id_ not in taken)
        by_digest = {getattr(section, key): id_ for id_, (_, section, _text) in new.items() if id_ not in taken}
        for id_, (page, section) in gone.items():
            value = getattr(section, key)
            if id_ in became or not value or value not in by_digest:
                continue
            twins = [
                other for other, (at, entry, _) in new.items() if getattr(entry, key) == value and at.path == page.path
            ]
            if old_times[value] == new_times[value] == 1:
                became[id_] = by_digest[value]
            elif len(twins) == 1:  # the same text elsewhere too: the one on the same page is meant
                became[id_] = twins[0]
            taken.update(became.values())
    return became


def _by_words(previous: PreviousSite, gone: _Gone, new: _New, taken: set[str]) -> dict[str, str]:
    language = previous.manifest.site.language
    bags = {
        id_: Counter(extract_terms(text.decode("utf-8", "replace"), language))
        for id_, (_, _section, text) in new.items()
        if id_ not in taken
    }
    became: dict[str, str] = {}
    for id_, (page, section) in gone.items():
        text = previous.text(page, section) if bags else None
        if not text:
            continue
        bag = Counter(extract_terms(text, language))
        best = max(((_overlap(bag, other), heir) for heir, other in bags.items()), default=(0.0, ""))
        if best[0] >= MIN_OVERLAP:
            became[id_] = best[1]
            del bags[best[1]]
    return became


def _overlap(one: Counter[str], other: Counter[str]) -> float:
    """Give the share of words in common (Dice's coefficient over counted words)."""
    total = one.total() + other.total()
    return 2 * (one & other).total() / total if total else 0.0


# MERGED mkdocs_roaming.build:
# Pages whose Markdown is final -> the manifest: ids, nav, links between sections, keywords, aliases.


MORE_GROUP = "More"


"""The nav group of pages that the nav does not name."""


class KeywordExtractor(Protocol):
    """Finds the keywords of sections: `keywords.keywords`, or what remembers its result."""

    def __call__(self, texts: Iterable[str], language: str, *, shown: Iterable[str]) -> list[tuple[str, ...]]:
        """Give the keywords of each text; texts are made when they are asked for, and may be asked for again."""
        ...


@dataclass(frozen=True, slots=True)
class PublishedPage:
    """A page and its final Markdown file. `full` is the file's byte offset in llms-full.txt, None without one."""

    page: Page
    markdown: str
    sections: tuple[Section, ...]
    full: int | None = None


def build_manifest(
    site: Site,
    pages: Sequence[PublishedPage],
    *,
    generator: str = "",
    previous: PreviousSite | None = None,
    hash_key: Callable[[str], str] = hash_id,
    keyword_extractor: KeywordExtractor | None = None,
    warn: Callable[[str], None] = lambda message: None,
) -> Manifest:
    """Give the manifest of a site, its digest left to `dump`; `pages` stand in nav order.

    `warn` is told what was given up, a line each: aliases that collide with a living id. `hash_key` makes ids of keys,
    `keyword_extractor` finds the sections' keywords, in the place of `keywords.keywords`.
    """
    ids = IdAllocator(hash_key)
    anchors = _Anchors(site.url)
    page_ids = []
    for written in pages:
        page_ids.append(ids.allocate_page(written.page.path, written.sections))
        anchors.add(written, page_ids[-1])
    found = iter(_keywords(pages, site.language, keyword_extractor))
    entries = [_page(written, own, anchors, found, site.url) for written, own in zip(pages, page_ids, strict=True)]
    if previous is not None:
        aliases = find_aliases(previous, entries, map(_data, pages), warn)
        entries = [_with_aliases(entry, aliases) for entry in entries]
    nav = _nav(site.nav, entries, ids)
    return Manifest(
        site=SiteEntry(
            to_single_line(site.name),
            site.url,
            to_single_line(site.description),
            site.language,
            site.version,
            site.alternates,
        ),
        pages=tuple(entries),
        nav=nav,
        anchors=not pages or any(section.anchor for entry in entries for section in entry.sections),
        nav_source=site.nav_source,
        generator=generator,
    )


def sanitize_manifest(manifest: Manifest) -> Manifest:
    """Give somebody else's manifest with titles, descriptions and openings as `build` has them: each fit for a line."""
    site = replace(
        manifest.site, name=to_single_line(manifest.site.name), description=to_single_line(manifest.site.description)
    )
    pages = tuple(
        replace(
            page,
            title=to_single_line(page.title),
            description=to_single_line(page.description),
            sections=tuple(
                replace(section, title=to_single_line(section.title), opening=to_single_line(section.opening))
                for section in page.sections
            ),
        )
        for page in manifest.pages
    )
    return replace(manifest, site=site, pages=pages, nav=_nav_in_lines(manifest.nav))


def _nav_in_lines(nav: Iterable[NavEntry]) -> tuple[NavEntry, ...]:
    return tuple(
        replace(entry, title=to_single_line(entry.title), children=_nav_in_lines(entry.children)) for entry in nav
    )


def sort_by_nav(site: Site, pages: Iterable[Page]) -> list[Page]:
    """Give the pages in the order of the nav, those that it does not name last, in the order given."""
    by_path = {page.path: page for page in pages}
    return [by_path[path] for path in sort_paths_by_nav(site, by_path)]


def sort_paths_by_nav(site: Site, paths: Collection[str]) -> list[str]:
    """Give the paths of pages in that order."""
    ordered: dict[str, None] = {}

    def walk(items: Iterable[NavItem]) -> None:
        for item in items:
            if item.path is not None and item.path in paths:
                ordered[item.path] = None
            walk(item.children)

    walk(site.nav)
    return list(ordered | dict.fromkeys(paths))


def _data(written: PublishedPage) -> bytes:
    return written.markdown.encode("utf-8", "surrogatepass")


def _page(
    written: PublishedPage,
    ids: Sequence[str],
    anchors: _Anchors,
    keywords: Iterator[tuple[str, ...]],
    site_url: str,
) -> PageEntry:
    page, data = written.page, _data(written)
    return PageEntry(
        id=ids[0],
        title=to_single_line(written.sections[0].title),
        path=page.path,
        markdown=markdown_path(page.path),
        digest="sha256:" + hashlib.sha256(data).hexdigest(),
        bytes=len(data),
        sections=tuple(
            SectionEntry(
                id=id_,
                level=section.level,
                title=to_single_line(section.title),
                start=section.start,
                end=section.end,
                digest=section.digest,
                anchor=section.anchor,
                body=section.body,
                tokens=section.tokens,
                opening=to_single_line(section.opening),
                keywords=next(keywords),
                links=anchors.linked(id_, section.targets),
            )
            for id_, section in zip(ids, written.sections, strict=True)
        ),
        source=page.source,
        origin="html" if page.markdown is None else "markdown",
        description=to_single_line(page.description),
        tags=page.tags,
        full=written.full,
        tokens=sum(section.tokens for section in written.sections),
        url=page.url if page.url and page.url != path_to_url(site_url, page.path) else None,
    )


class _Anchors:
    """Where the links of a site lead: the ids of all pages' anchors."""

    def __init__(self, site_url: str) -> None:
        self._site_url = site_url
        self._ids: dict[str, dict[str, str]] = {}

    def add(self, written: PublishedPage, ids: Sequence[str]) -> None:
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
            path = url_to_path(self._site_url, target.partition("#")[0])
            anchors = self._ids.get(path) if path is not None else None
            if anchors is not None:
                found[anchors.get(unquote(target.partition("#")[2]), anchors[""])] = None
        found.pop(own, None)
        return tuple(found)


def _keywords(
    pages: Sequence[PublishedPage], language: str, keyword_extractor: KeywordExtractor | None
) -> list[tuple[str, ...]]:
    if keyword_extractor is None:
        from mkdocs_roaming.text.keywords import extract_keywords  # builds that remember theirs never need it

        keyword_extractor = extract_keywords

    def texts() -> Iterator[str]:
        for written in pages:
            data = _data(written)
            for section in written.sections:
                yield data[section.start : section.end].decode("utf-8", "replace")

    def shown() -> Iterator[str]:
        return (f"{section.title} {section.opening}" for written in pages for section in written.sections)

    return keyword_extractor(_Anew(texts), language, shown=_Anew(shown))


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


def _nav(items: Sequence[NavItem], entries: Sequence[PageEntry], ids: IdAllocator) -> tuple[NavEntry, ...]:
    pages = {entry.path: entry for entry in entries}
    left = dict(pages)  # what no item has named yet: a page stands in the nav once

    def entry_of(item: NavItem, above: tuple[str, ...]) -> NavEntry | None:
        titles = (*above, item.title)
        page = left.pop(item.path, None) if item.path is not None else None
        own = page.id if page else ids.allocate("nav:" + "/".join(titles)) if item.children else None
        children = tuple(entry for child in item.children if (entry := entry_of(child, titles)))
        if page is None and not children and item.url is None:
            return None
        return NavEntry(
            to_single_line(item.title), own, page.path if page else None, item.url if own is None else None, children
        )

    nav = [entry for item in items if (entry := entry_of(item, ()))]
    orphans = [NavEntry(page.title, page.id, page.path) for page in entries if page.path in left]
    if orphans and nav:
        orphans = [NavEntry(MORE_GROUP, ids.allocate("nav:" + MORE_GROUP), children=tuple(orphans))]
    return (*nav, *orphans)
