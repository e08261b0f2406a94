"""Build the manifest from pages with final Markdown: sections, nav, and links between sections."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from string import ascii_lowercase
from urllib.parse import unquote

from msgspec.structs import replace

from mkdocs_roaming.manifest.aliases import PreviousSite, assign_ids
from mkdocs_roaming.manifest.lookup import SectionIndex
from mkdocs_roaming.manifest.models import (
    MAX_OPENING,
    MORE_GROUP,
    Manifest,
    NavEntry,
    NavItem,
    PageEntry,
    PublishedPage,
    Section,
    SectionEntry,
    Site,
    SiteEntry,
    join_url,
    markdown_path,
    path_to_url,
    url_to_path,
)
from mkdocs_roaming.manifest.numbers import NumberIndex
from mkdocs_roaming.manifest.sections import IdAllocator, file_digest, github_slug
from mkdocs_roaming.text.languages import fold, load_phrases
from mkdocs_roaming.text.markdown import ends_sentence, to_single_line
from mkdocs_roaming.text.openings import find_sentences, leads_elsewhere, make_opening

_MIN_SHARED = 3
"""Number of pages on which a sentence is a tip, a banner or boilerplate; fewer may have the same subject."""

_MAX_SHARED_BLOCKS = 3
"""Number of shared texts that are looked for at the beginning of a page."""

_SEPARATOR = ", "
"""Between the names in an opening."""

_VARIABLE = "#"
"""In the pattern of a text in place of what differs between pages."""

_VARIABLES = re.compile(r"#(?:[^\w#]*#)*")
"""Variables with signs between them: `#, #-#`."""

_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
"""A number, version, date or time: `3`, `1.2.3`, `2026-11-30`, `9:45`."""

_GENERIC = "lint.empty_titles"
_MAX_INTRODUCTION = 30
"""Characters of a title that introduces a page; longer ones are questions of a FAQ."""

_INTRODUCTIONS = ("what is ", "what are ", "about ", "description", "detailed description", "name", "summary")


def build_manifest(
    site: Site,
    pages: Sequence[PublishedPage],
    *,
    generator: str = "",
    previous: PreviousSite | None = None,
) -> Manifest:
    """Return the manifest of a site, without its digest.

    Args:
        site: Site with its nav.
        pages: Pages in nav order.
        generator: Program that publishes the site.
        previous: Previous build, whose ids keep their meaning.
    """
    assigned = assign_ids(pages, previous)
    anchors = _index_anchors(pages, assigned.ids, site.url)
    describer = _Describer(site, pages)
    entries: list[PageEntry] = []
    for published, ids, aliases in zip(pages, assigned.ids, assigned.aliases, strict=True):
        description, openings = describer.describe(published)
        page = published.page
        sections: list[SectionEntry] = []
        for at, section in enumerate(published.sections):
            entry = SectionEntry(
                id=ids[at],
                level=section.level,
                title=to_single_line(section.title),
                start=section.start,
                end=section.end,
                digest=section.digest,
                anchor=section.anchor,
                body=section.body,
                tokens=section.tokens,
                opening=openings[at],
                links=_find_links(section, ids[at], page.path, site.url, anchors),
                aliases=aliases[at],
                anchors=section.anchors,
                flags=section.flags,
            )
            sections.append(entry)
        data = published.encode()
        has_own_url = page.url and page.url != path_to_url(site.url, page.path)
        page_entry = PageEntry(
            id=ids[0],
            title=sections[0].title,
            path=page.path,
            markdown=markdown_path(page.path),
            digest=file_digest(data),
            bytes=len(data),
            sections=tuple(sections),
            source=page.source,
            origin="html" if page.markdown is None else "markdown",
            description=description,
            tags=page.tags,
            full=published.full,
            tokens=sum(section.tokens for section in sections),
            url=page.url if has_own_url else None,
            questions=page.questions,
        )
        entries.append(page_entry)
    entries = _drop_repeated_texts(entries)
    site_description = to_single_line(site.description)
    if not find_sentences(site.description, site.name):
        site_description = summarize_home(entries)
    name = to_single_line(site.name)
    manifest = Manifest(
        site=SiteEntry(name, site.url, site_description, site.language, site.version, site.alternates),
        pages=tuple(entries),
        nav=_make_nav(site, entries, assigned.allocator),
        anchors=not pages or any(section.anchor for entry in entries for section in entry.sections),
        nav_source=site.nav_source,
        crawled_from=site.crawled_from,
        generator=generator,
    )
    return _add_citations(manifest, pages)


def _add_citations(manifest: Manifest, pages: Iterable[PublishedPage]) -> Manifest:
    """Return a manifest with the sections that each section cites by their numbers."""
    numbers = NumberIndex(SectionIndex(manifest))
    if not numbers.labels:
        return manifest
    entries: list[PageEntry] = []
    for entry, published in zip(manifest.pages, pages, strict=True):
        data = published.encode()
        sections: list[SectionEntry] = []
        for section in entry.sections:
            cites = {cited.id: None for cited, *_ in numbers.find(section.cut(data) or "", entry)}
            for known in (section.id, *section.links):
                cites.pop(known, None)
            sections.append(replace(section, cites=tuple(cites)))
        entries.append(replace(entry, sections=tuple(sections)))
    return replace(manifest, pages=tuple(entries))


def summarize_home(pages: Sequence[PageEntry]) -> str:
    """Return what the home page says about its site, which describes a site without a description."""
    for page in pages:
        if not page.path:
            own = page.sections[0]
            return page.description or (own.opening if own.body else "")
    return ""


def sanitize_manifest(manifest: Manifest) -> Manifest:
    """Return a foreign manifest with titles, descriptions and openings that are safe on a single line."""
    name = to_single_line(manifest.site.name)
    site = replace(manifest.site, name=name, description=to_single_line(manifest.site.description))
    pages = tuple(map(_sanitize_page, manifest.pages))
    return replace(manifest, site=site, pages=pages, nav=_sanitize_nav(manifest.nav))


def _sanitize_page(page: PageEntry) -> PageEntry:
    sections: list[SectionEntry] = []
    for section in page.sections:
        title = to_single_line(section.title)
        opening = to_single_line(section.opening)
        about = to_single_line(section.about)
        asks = tuple(map(to_single_line, section.asks))
        sections.append(replace(section, title=title, opening=opening, about=about, asks=asks))
    return replace(
        page,
        title=to_single_line(page.title),
        description=to_single_line(page.description),
        sections=tuple(sections),
        questions=tuple(map(to_single_line, page.questions)),
        summary=to_single_line(page.summary),
    )


def _sanitize_nav(nav: Iterable[NavEntry]) -> tuple[NavEntry, ...]:
    sanitized: list[NavEntry] = []
    for entry in nav:
        children = _sanitize_nav(entry.children)
        sanitized.append(replace(entry, title=to_single_line(entry.title), children=children))
    return tuple(sanitized)


# Descriptions of pages, and openings of sections


class _Describer:
    """Chooses the texts that say what pages and sections are about.

    Texts are shared if several pages have them below different titles, those of pages also if numbers, names and titles
    alone differ: bylines, banners, texts of a template. Sections below the titles of a template differ in their page
    alone.
    """

    def __init__(self, site: Site, pages: Sequence[PublishedPage]) -> None:
        self._site = site
        counts = Counter[str]()
        for published in pages:
            counts.update({_fold_title(section.title) for section in published.sections[1:]})
        self._template_titles = {title for title, count in counts.items() if count >= _MIN_SHARED}
        self._shared: set[str] = set()
        uses = defaultdict[str, set[tuple[str, str, str]]](set)  # each with the text, its page and the title above it
        for published in pages:
            for section in published.sections[1:]:
                uses[section.opening].add((section.opening, published.page.path, section.title))
        for _ in range(_MAX_SHARED_BLOCKS):
            for published in pages:
                path = published.page.path
                own = published.sections[0]
                opening = self._choose_opening(published, own)
                for text in (*find_sentences(published.page.description), opening):
                    uses[text].add((text, path, path))
                    uses[_find_pattern(text, own.title)].add((text, path, own.title))
            for texts in uses.values():
                wordings, paths, titles = map(set, zip(*texts, strict=True))
                if min(len(paths), len(titles)) >= _MIN_SHARED:
                    self._shared |= wordings
            self._shared.discard("")

    def describe(self, published: PublishedPage) -> tuple[str, list[str]]:
        """Return the description of a page, and the openings of its sections.

        The description is empty if the opening of its own section describes the page.
        """
        openings = [self._choose_opening(published, section) for section in published.sections]
        opening = openings[0]
        written = to_single_line(published.page.description)
        titles = {section.title for section in published.sections}
        sentences = find_sentences(written, published.sections[0].title)
        description = " ".join(sentence for sentence in sentences if sentence not in self._shared)
        is_excerpt = opening and written.endswith(("…", "..."))  # generators cut the beginning of the page
        # Generators write the site's description on pages that have none.
        is_of_site = written == self._site.description and published.page.source is None
        is_own = not (is_excerpt or is_of_site or written in titles)
        if description and is_own:
            return description, openings
        is_contents = titles.issuperset(opening.split(_SEPARATOR))
        is_unfinished = opening.endswith((":", "：")) or leads_elsewhere(opening)
        says_nothing = not opening or is_contents or is_unfinished
        if len(openings) == 1 or not says_nothing:
            return "", openings
        openings[0] = ""
        return self._introduce_page(published.sections, openings), openings

    def _choose_opening(self, published: PublishedPage, section: Section) -> str:
        """Return the opening of a section, or its next best text if several pages share it."""
        if section.opening not in self._shared:
            return to_single_line(section.opening)
        data = published.encode()[section.start : section.end]
        text = data.decode("utf-8", "replace")
        is_page = section.parent is None
        subsections = 1 if is_page else None
        opening = make_opening(text, limit=MAX_OPENING, subsections=subsections, skipped=self._shared)
        return opening if opening or is_page else section.opening

    def _introduce_page(self, sections: Sequence[Section], openings: Sequence[str]) -> str:
        """Return the description of a page whose own section does not say what it is about; empty if no other does.

        The first subsection introduces the page if its title says so, such as “What is a gate?”, if its title is
        generic or the page's, or if there is no other. Else the first sentence below a title of a template is about the
        page.
        """
        titles: list[str] = []
        introductions: list[str] = []
        for section, opening in zip(sections, openings, strict=True):
            if section.parent == 0:
                title = _fold_title(section.title)
                titles.append(title)
                if title in self._template_titles:
                    introductions.append(opening)
        title = titles[0]
        generic = [sections[0].title]
        for language in (self._site.language, "en"):
            generic += load_phrases(language, _GENERIC)
        is_generic = title in map(_fold_title, generic)
        is_question = len(title) < _MAX_INTRODUCTION and title.startswith(_INTRODUCTIONS)
        if len(titles) == 1 or is_question or is_generic:
            introductions.insert(0, openings[1])
        for opening in introductions:
            if ends_sentence(opening) and not leads_elsewhere(opening):
                return opening
        return ""


def _find_pattern(text: str, title: str) -> str:
    """Return a text with marks in place of its numbers, of its names, and of the title of its page.

    Words with a capital are names beside a number or outside of a sentence, for some languages have them in any other.
    """
    pattern, numbers = _NUMBER.subn(_VARIABLE, text)
    if title:
        pattern = pattern.replace(title, _VARIABLE)
    first, *words = pattern.split() or [""]
    has_lowercase = any(word[0] in ascii_lowercase for word in words)
    if numbers or (has_lowercase and not ends_sentence(text)):
        pattern = first
        for word in words:
            pattern += " " + (_VARIABLE if word[0].isupper() else word)
    return _VARIABLES.sub(_VARIABLE, pattern)


def _drop_repeated_texts(pages: Sequence[PageEntry]) -> list[PageEntry]:
    """Return pages without the texts that would describe several of them in llms.txt."""
    texts = [page.description or page.sections[0].opening for page in pages]
    counts = Counter(texts)
    kept: list[PageEntry] = []
    for page, text in zip(pages, texts, strict=True):
        if counts[text] < _MIN_SHARED:
            kept.append(page)
            continue
        own = replace(page.sections[0], opening="")
        kept.append(replace(page, description="", sections=(own, *page.sections[1:])))
    return kept


def _fold_title(title: str) -> str:
    return fold(title).strip(" .:")


# Links and nav

_Anchors = Mapping[str, Mapping[str, str]]
"""The id of the section at each anchor of a page, by its path and by the path of its Markdown."""


def _index_anchors(pages: Sequence[PublishedPage], ids: Sequence[Sequence[str]], site_url: str) -> _Anchors:
    index: dict[str, dict[str, str]] = {}
    for published, page_ids in zip(pages, ids, strict=True):
        anchors = {"": page_ids[0]}
        for section, id_ in zip(published.sections, page_ids, strict=True):
            # Links on sites without HTML use the anchors that GitHub generates.
            anchors.setdefault(section.anchor or github_slug(section.title), id_)
        for section, id_ in zip(published.sections, page_ids, strict=True):
            for anchor in section.anchors:
                anchors.setdefault(anchor, id_)
        path = published.page.path
        index[path] = anchors
        index[markdown_path(path)] = anchors
        if published.page.url and (address := url_to_path(site_url, published.page.url)):
            index.setdefault(address, anchors)  # its path may be another, as that of `Help:Contents`
    return index


def _find_links(section: Section, id_: str, path: str, site_url: str, anchors: _Anchors) -> tuple[str, ...]:
    """Return the ids of the sections that a section of a page links to."""
    base = path_to_url(site_url or "/", markdown_path(path))
    links: dict[str, None] = {}
    for target in section.targets:
        url, _, anchor = join_url(base, target).partition("#")
        linked = url_to_path(site_url, url)
        if linked is None or linked not in anchors:
            continue
        page = anchors[linked]
        link = page.get(unquote(anchor), page[""])
        links[link] = None
    links.pop(id_, None)
    return tuple(links)


def _make_nav(site: Site, entries: Sequence[PageEntry], ids: IdAllocator) -> tuple[NavEntry, ...]:
    """Return the nav: each page once, without empty groups, and with a group of the pages that are not in it."""
    remaining = {entry.path: entry for entry in entries}

    def make_entries(items: Iterable[NavItem], above: tuple[str, ...]) -> tuple[NavEntry, ...]:
        made: list[NavEntry] = []
        for item in items:
            titles = (*above, item.title)
            path = item.path
            if item.url:
                target = site.follow_redirects(item.url)
                if target and target != item.url:
                    path = url_to_path(site.url, target)
            page = remaining.pop(path, None) if path is not None else None
            id_ = page.id if page else None
            if page is None and item.children:
                id_ = ids.allocate("nav:" + "/".join(titles))
            children = make_entries(item.children, titles)
            if page is None and not children and item.url is None:
                continue
            title = to_single_line(item.title)
            if not title and page:
                title = page.title
            elif not title and children:
                title = children[0].title
            url = item.url if id_ is None else None
            made.append(NavEntry(title, id_, page.path if page else None, url, children))
        return tuple(made)

    nav = make_entries(site.nav, ())
    orphans = tuple(NavEntry(page.title, page.id, page.path) for page in entries if page.path in remaining)
    if orphans and nav:
        return (*nav, NavEntry(MORE_GROUP, ids.allocate("nav:" + MORE_GROUP), children=orphans))
    return nav + orphans
