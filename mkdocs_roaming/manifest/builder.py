"""Build the manifest from pages with final Markdown: ids, nav, links between sections, and aliases.

An alias is a former id of a section. When a section gets another id, because its heading or page was renamed, it is
recognized by its text, so that the old id still opens it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
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
from mkdocs_roaming.manifest.sections import IdAllocator, Section, file_digest, github_slug
from mkdocs_roaming.text.markdown import to_single_line
from mkdocs_roaming.text.tokenizer import extract_terms

MORE_GROUP = "More"
"""Title of the nav group with the pages that are not in the nav."""

_MIN_OVERLAP = 0.9  # share of common words of two texts that count as one section


@dataclass(frozen=True, slots=True)
class PublishedPage:
    """A page with its final Markdown. `full` is the byte offset of the Markdown in llms-full.txt."""

    page: Page
    markdown: str
    sections: tuple[Section, ...]
    full: int | None = None

    def encode(self) -> bytes:
        """Return the content of the Markdown file."""
        return self.markdown.encode("utf-8", "surrogatepass")


@dataclass(frozen=True, slots=True)
class PreviousSite:
    """The manifest of the previous build, and a function that returns the text of its sections (None if it is gone)."""

    manifest: Manifest
    text: Callable[[PageEntry, SectionEntry], str | None]


def build_manifest(
    site: Site,
    pages: Sequence[PublishedPage],
    *,
    generator: str = "",
    previous: PreviousSite | None = None,
    warn: Callable[[str], None] = lambda message: None,
) -> Manifest:
    """Return the manifest of a site, without its digest.

    Args:
        site: Site with its nav.
        pages: Pages in nav order.
        generator: Program that publishes the site.
        previous: Previous build, whose ids become aliases.
        warn: Called with a line for each alias that is dropped.
    """
    ids = IdAllocator()
    anchors = _AnchorIndex(site.url)
    page_ids = []
    for published in pages:
        page_ids.append(ids.allocate_page(published.page.path, published.sections))
        anchors.add(published, page_ids[-1])
    entries = [
        _make_page_entry(published, own, anchors, site.url) for published, own in zip(pages, page_ids, strict=True)
    ]
    if previous is not None:
        aliases = find_aliases(previous, entries, (published.encode() for published in pages), warn)
        entries = [_add_aliases(entry, aliases) for entry in entries]
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
        nav=_make_nav(site.nav, entries, ids),
        anchors=not pages or any(section.anchor for entry in entries for section in entry.sections),
        nav_source=site.nav_source,
        generator=generator,
    )


def sanitize_manifest(manifest: Manifest) -> Manifest:
    """Return a foreign manifest with titles, descriptions and openings that are safe on a single line."""
    site = replace(
        manifest.site,
        name=to_single_line(manifest.site.name),
        description=to_single_line(manifest.site.description),
    )
    return replace(
        manifest, site=site, pages=tuple(map(_sanitize_page, manifest.pages)), nav=_sanitize_nav(manifest.nav)
    )


def _sanitize_page(page: PageEntry) -> PageEntry:
    sections = tuple(
        replace(section, title=to_single_line(section.title), opening=to_single_line(section.opening))
        for section in page.sections
    )
    title, description = to_single_line(page.title), to_single_line(page.description)
    return replace(page, title=title, description=description, sections=sections)


def _sanitize_nav(nav: Iterable[NavEntry]) -> tuple[NavEntry, ...]:
    return tuple(
        replace(entry, title=to_single_line(entry.title), children=_sanitize_nav(entry.children)) for entry in nav
    )


def sort_paths_by_nav(site: Site, paths: Collection[str]) -> list[str]:
    """Return the paths of pages in nav order; paths that are not in the nav follow in the given order."""
    ordered: dict[str, None] = {}

    def visit(items: Iterable[NavItem]) -> None:
        for item in items:
            if item.path is not None and item.path in paths:
                ordered[item.path] = None
            visit(item.children)

    visit(site.nav)
    return list(ordered | dict.fromkeys(paths))


# Pages and sections


def _make_page_entry(published: PublishedPage, ids: Sequence[str], anchors: _AnchorIndex, site_url: str) -> PageEntry:
    page, data = published.page, published.encode()
    return PageEntry(
        id=ids[0],
        title=to_single_line(published.sections[0].title),
        path=page.path,
        markdown=markdown_path(page.path),
        digest=file_digest(data),
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
                links=anchors.find_links(id_, section.targets),
                anchors=section.anchors,
            )
            for id_, section in zip(ids, published.sections, strict=True)
        ),
        source=page.source,
        origin="html" if page.markdown is None else "markdown",
        description=to_single_line(page.description),
        tags=page.tags,
        full=published.full,
        tokens=sum(section.tokens for section in published.sections),
        url=page.url if page.url and page.url != path_to_url(site_url, page.path) else None,
    )


class _AnchorIndex:
    """The ids of all anchors of a site."""

    def __init__(self, site_url: str) -> None:
        self._site_url = site_url
        self._ids: dict[str, dict[str, str]] = {}

    def add(self, published: PublishedPage, ids: Sequence[str]) -> None:
        """Add a page under its own path and the path of its Markdown."""
        # Links on sites without HTML use the anchors that GitHub generates.
        anchors = {
            section.anchor or github_slug(section.title): id_
            for section, id_ in reversed(list(zip(published.sections, ids, strict=True)))
        }
        for section, id_ in zip(published.sections, ids, strict=True):
            for anchor in section.anchors:
                anchors.setdefault(anchor, id_)
        anchors[""] = ids[0]
        self._ids[published.page.path] = self._ids[markdown_path(published.page.path)] = anchors

    def find_links(self, own: str, targets: Iterable[str]) -> tuple[str, ...]:
        """Return the ids of the sections that a section links to."""
        found: dict[str, None] = {}
        for target in targets:
            url, _, anchor = target.partition("#")
            path = url_to_path(self._site_url, url)
            anchors = self._ids.get(path) if path is not None else None
            if anchors is not None:
                found[anchors.get(unquote(anchor), anchors[""])] = None
        found.pop(own, None)
        return tuple(found)


def _make_nav(items: Sequence[NavItem], entries: Sequence[PageEntry], ids: IdAllocator) -> tuple[NavEntry, ...]:
    """Return the nav: each page once, without empty groups, and with a group of the pages that are not in it."""
    remaining = {entry.path: entry for entry in entries}

    def make_entry(item: NavItem, above: tuple[str, ...]) -> NavEntry | None:
        titles = (*above, item.title)
        page = remaining.pop(item.path, None) if item.path is not None else None
        id_ = page.id if page else ids.allocate("nav:" + "/".join(titles)) if item.children else None
        children = tuple(entry for child in item.children if (entry := make_entry(child, titles)))
        if page is None and not children and item.url is None:
            return None
        url = item.url if id_ is None else None
        title = to_single_line(item.title) or (page.title if page else "")
        return NavEntry(title, id_, page.path if page else None, url, children)

    nav = [entry for item in items if (entry := make_entry(item, ()))]
    orphans = [NavEntry(page.title, page.id, page.path) for page in entries if page.path in remaining]
    if orphans and nav:
        orphans = [NavEntry(MORE_GROUP, ids.allocate("nav:" + MORE_GROUP), children=tuple(orphans))]
    return (*nav, *orphans)


# Aliases


def find_aliases(
    previous: PreviousSite, pages: Sequence[PageEntry], data: Iterable[bytes], warn: Callable[[str], None]
) -> dict[str, tuple[str, ...]]:
    """Return the aliases of each section that has any.

    Sections whose id is gone are matched by the digest of their text, then by a word overlap of at least 90 %. Aliases
    of the previous build are inherited. An alias that is the id of another section is dropped with a warning.

    Args:
        previous: Previous build.
        pages: Pages of the new build.
        data: Markdown of these pages.
        warn: Called with a line for each alias that is dropped.
    """
    current = {section.id for page in pages for section in page.sections}
    before = {section.id: (page, section) for page in previous.manifest.pages for section in page.sections}
    gone = {id_: pair for id_, pair in before.items() if id_ not in current}
    new = {
        section.id: (page, section, text[section.start : section.end])
        for page, text in zip(pages, data, strict=True)
        for section in page.sections
        if section.id not in before
    }
    successors = _match_by_digest(gone, new)
    unmatched = {id_: pair for id_, pair in gone.items() if id_ not in successors}
    successors |= _match_by_words(previous, unmatched, new, set(successors.values()))
    aliases: dict[str, list[str]] = {}
    for id_, (_, section) in before.items():
        successor = id_ if id_ in current else successors.get(id_)
        if successor is None:
            continue
        for alias in (*section.aliases, *(() if successor == id_ else (id_,))):
            if alias in current:
                where = f"section “{section.title}”"
                warn(f"old id {alias} of {where} is now the id of another section; the alias is dropped")
            else:
                aliases.setdefault(successor, []).append(alias)
    return {id_: tuple(dict.fromkeys(found)) for id_, found in aliases.items()}


_GoneSections = dict[str, tuple[PageEntry, SectionEntry]]
_NewSections = dict[str, tuple[PageEntry, SectionEntry, bytes]]


def _match_by_digest(gone: _GoneSections, new: _NewSections) -> dict[str, str]:
    """Match sections whose slice, or whose text below the heading, is the same."""
    successors: dict[str, str] = {}
    for key in ("digest", "body"):
        taken = set(successors.values())
        old_ids: dict[str, list[str]] = {}
        for id_, (_, section) in gone.items():
            if id_ not in successors and getattr(section, key):
                old_ids.setdefault(getattr(section, key), []).append(id_)
        new_ids: dict[str, list[str]] = {}
        for id_, (_, section, _text) in new.items():
            if id_ not in taken:
                new_ids.setdefault(getattr(section, key), []).append(id_)
        for digest, ids in old_ids.items():
            for id_ in ids:
                candidates = new_ids.get(digest, [])
                if len(candidates) > 1 or len(ids) > 1:  # the text is repeated, perhaps on other pages
                    candidates = [other for other in candidates if new[other][0].path == gone[id_][0].path]
                if len(candidates) == 1:
                    successors[id_] = candidates[0]
    return successors


def _match_by_words(previous: PreviousSite, gone: _GoneSections, new: _NewSections, taken: set[str]) -> dict[str, str]:
    """Match sections by the share of common words."""
    language = previous.manifest.site.language
    candidates = {
        id_: Counter(extract_terms(text.decode("utf-8", "replace"), language))
        for id_, (_, _section, text) in new.items()
        if id_ not in taken
    }
    successors: dict[str, str] = {}
    for id_, (page, section) in gone.items():
        text = previous.text(page, section) if candidates else None
        if not text:
            continue
        words = Counter(extract_terms(text, language))
        overlap, best = max(((_overlap(words, other), id_) for id_, other in candidates.items()), default=(0.0, ""))
        if overlap >= _MIN_OVERLAP:
            successors[id_] = best
            del candidates[best]
    return successors


def _overlap(one: Counter[str], other: Counter[str]) -> float:
    """Return the share of common words (Dice coefficient of the counts)."""
    total = one.total() + other.total()
    return 2 * (one & other).total() / total if total else 0.0


def _add_aliases(entry: PageEntry, aliases: Mapping[str, tuple[str, ...]]) -> PageEntry:
    sections = tuple(replace(section, aliases=aliases.get(section.id, ())) for section in entry.sections)
    return replace(entry, sections=sections)
