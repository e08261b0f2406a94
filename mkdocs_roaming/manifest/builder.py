"""Build the manifest from pages with final Markdown: sections, nav, and links between sections."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set
from urllib.parse import unquote

from msgspec.structs import replace

from mkdocs_roaming.manifest.aliases import PreviousSite, assign_ids
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
from mkdocs_roaming.manifest.sections import IdAllocator, file_digest, github_slug
from mkdocs_roaming.text.languages import fold, load_phrases
from mkdocs_roaming.text.markdown import ends_sentence, to_single_line
from mkdocs_roaming.text.openings import find_sentences, leads_elsewhere, make_opening

_MIN_SHARED = 3
"""Number of pages on which a sentence is a tip, a banner or boilerplate; fewer may have the same subject."""
_MAX_SHARED_BLOCKS = 3  # at the beginning of a page
_SEPARATOR = ", "  # of names in an opening
_VARIABLE = "#"
_VARIABLES = re.compile(r"#(?:[^\w#]*#)*")
_WORD = re.compile(r"(?<=\s)\w\S*")
_LOWERCASE = re.compile(r"\s[a-z]")
_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
_GENERIC = "lint.empty_titles"
_MAX_INTRODUCTION = 30  # characters of a title; longer ones are questions of a FAQ
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
    sections = ((published.page.path, published.sections) for published in pages)
    assigned = assign_ids(sections, previous, lambda number: pages[number].encode())
    anchors = _AnchorIndex(site.url)
    for published, ids in zip(pages, assigned.ids, strict=True):
        anchors.add(published, ids)
    shared = _find_shared_texts(pages)
    template = _find_template_titles(pages)
    described = (
        _make_page_entry(published, ids, aliases, anchors, site, shared, template)
        for published, ids, aliases in zip(pages, assigned.ids, assigned.aliases, strict=True)
    )
    entries = list(_drop_repeated_texts(list(described)))
    return Manifest(
        site=SiteEntry(
            to_single_line(site.name),
            site.url,
            to_single_line(site.description)
            if find_sentences(site.description, site.name)
            else summarize_home(entries),
            site.language,
            site.version,
            site.alternates,
        ),
        pages=tuple(entries),
        nav=_make_nav(site, entries, assigned.allocator),
        anchors=not pages or any(section.anchor for entry in entries for section in entry.sections),
        nav_source=site.nav_source,
        crawled_from=site.crawled_from,
        generator=generator,
    )


def summarize_home(pages: Sequence[PageEntry]) -> str:
    """Return what the home page says about its site, which describes a site without a description."""
    home = next((page for page in pages if not page.path), None)
    return (home.description or (home.sections[0].body and home.sections[0].opening)) if home else ""


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
        replace(
            section,
            title=to_single_line(section.title),
            opening=to_single_line(section.opening),
            about=to_single_line(section.about),
            asks=tuple(map(to_single_line, section.asks)),
        )
        for section in page.sections
    )
    title = to_single_line(page.title)
    description = to_single_line(page.description)
    questions = tuple(map(to_single_line, page.questions))
    summary = to_single_line(page.summary)
    return replace(page, title=title, description=description, sections=sections, questions=questions, summary=summary)


def _sanitize_nav(nav: Iterable[NavEntry]) -> tuple[NavEntry, ...]:
    return tuple(
        replace(entry, title=to_single_line(entry.title), children=_sanitize_nav(entry.children)) for entry in nav
    )


# Pages and sections


def _make_page_entry(
    published: PublishedPage,
    ids: Sequence[str],
    aliases: Sequence[tuple[str, ...]],
    anchors: _AnchorIndex,
    site: Site,
    shared: Set[str],
    template: Set[str],
) -> PageEntry:
    page = published.page
    data = published.encode()
    openings = [_choose_opening(published, section, shared) for section in published.sections]
    description, openings[0] = _describe_page(published, openings, site, shared, template)
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
                opening=opening,
                links=anchors.find_links(id_, page.path, section.targets),
                aliases=former,
                anchors=section.anchors,
                flags=section.flags,
            )
            for id_, former, section, opening in zip(ids, aliases, published.sections, openings, strict=True)
        ),
        source=page.source,
        origin="html" if page.markdown is None else "markdown",
        description=description,
        tags=page.tags,
        full=published.full,
        tokens=sum(section.tokens for section in published.sections),
        url=page.url if page.url and page.url != path_to_url(site.url, page.path) else None,
        questions=page.questions,
    )


def _find_shared_texts(pages: Sequence[PublishedPage]) -> Set[str]:
    """Return the openings and sentences of descriptions that several pages have below different titles.

    Those of pages are also shared if numbers, names and titles alone differ: bylines, banners, texts of a template.
    """
    places = defaultdict[str, set[tuple[str, str, str]]](set)
    for published in pages:
        for section in published.sections[1:]:
            places[section.opening].add((section.opening, published.page.path, section.title))
    shared = set[str]()
    for _ in range(_MAX_SHARED_BLOCKS):
        for published in pages:
            path = published.page.path
            own = published.sections[0]
            for text in (*find_sentences(published.page.description), _choose_opening(published, own, shared)):
                places[text].add((text, path, path))
                places[_find_pattern(text, own.title)].add((text, path, own.title))
        for texts, *names in (zip(*found, strict=True) for found in places.values()):
            if all(len(set(values)) >= _MIN_SHARED for values in names):
                shared.update(texts)
    return shared - {""}


def _find_pattern(text: str, title: str) -> str:
    """Return a text with marks in place of its numbers, of its names, and of the title of its page.

    Words with a capital are names beside a number or outside of a sentence, for some languages have them in any other.
    """
    pattern, numbers = _NUMBER.subn(_VARIABLE, text)
    pattern = pattern.replace(title, _VARIABLE) if title else pattern
    if numbers or (not ends_sentence(text) and _LOWERCASE.search(pattern)):
        pattern = _WORD.sub(lambda found: _VARIABLE if found[0][0].isupper() else found[0], pattern)
    return _VARIABLES.sub(_VARIABLE, pattern)


def _choose_opening(published: PublishedPage, section: Section, shared: Set[str]) -> str:
    """Return the opening of a section, or its next best text if several pages share it."""
    if not section.opening or section.opening not in shared:
        return to_single_line(section.opening)
    text = published.encode()[section.start : section.end].decode("utf-8", "replace")
    subsections = 1 if section.parent is None else None
    other = make_opening(text, limit=MAX_OPENING, subsections=subsections, skipped=shared)
    return other or ("" if subsections else section.opening)


def _describe_page(
    published: PublishedPage, openings: Sequence[str], site: Site, shared: Set[str], template: Set[str]
) -> tuple[str, str]:
    """Return the description of a page, empty if the opening of its own section describes it, and that opening."""
    written = to_single_line(published.page.description)
    titles = {section.title for section in published.sections}
    sentences = find_sentences(written, published.sections[0].title)
    description = " ".join(sentence for sentence in sentences if sentence not in shared)
    is_excerpt = openings[0] and written.endswith(("…", "..."))  # generators cut the beginning of the page
    # Generators write the site's description on pages that have none.
    is_of_site = written == site.description and published.page.source is None
    if description and not (is_excerpt or is_of_site or written in titles):
        return description, openings[0]
    is_contents = titles.issuperset(openings[0].split(_SEPARATOR))
    if (_is_complete(openings[0]) and not is_contents) or len(openings) == 1:
        return "", openings[0]
    return _introduce_page(published.sections, openings, site.language, template), ""


def _introduce_page(sections: Sequence[Section], openings: Sequence[str], language: str, template: Set[str]) -> str:
    """Return the description of a page whose own section does not say what it is about; empty if no other does.

    The first subsection introduces the page if its title says so, such as “What is a gate?”, if its title is generic or
    the page's, or if there is no other. Else the first sentence below a title of a template is about the page.
    """
    titles = {at: _fold_title(section.title) for at, section in enumerate(sections) if section.parent == 0}
    first, title = next(iter(titles.items()))
    phrases = (sections[0].title, *load_phrases(language, _GENERIC), *load_phrases("en", _GENERIC))
    is_question = len(title) < _MAX_INTRODUCTION and title.startswith(_INTRODUCTIONS)
    is_introduction = len(titles) == 1 or is_question or title in map(_fold_title, phrases)
    introduced = [first] if is_introduction else []
    introduced += [at for at, title in titles.items() if title in template]
    texts = (openings[at] for at in introduced)
    return next((text for text in texts if ends_sentence(text) and not leads_elsewhere(text)), "")


def _find_template_titles(pages: Iterable[PublishedPage]) -> Set[str]:
    """Return the titles of sections that several pages have: such sections differ in their page alone."""
    titles = ({_fold_title(section.title) for section in published.sections[1:]} for published in pages)
    counts = Counter(title for names in titles for title in names)
    return {title for title, count in counts.items() if count >= _MIN_SHARED}


def _drop_repeated_texts(pages: Sequence[PageEntry]) -> Iterator[PageEntry]:
    """Yield pages without the texts that would describe several of them in llms.txt."""
    counts = Counter(page.description or page.sections[0].opening for page in pages)
    for page in pages:
        own, *others = page.sections
        is_repeated = counts[page.description or own.opening] >= _MIN_SHARED
        yield replace(page, description="", sections=(replace(own, opening=""), *others)) if is_repeated else page


def _fold_title(title: str) -> str:
    return fold(title).strip(" .:")


def _is_complete(opening: str) -> bool:
    return opening != "" and not opening.endswith((":", "：")) and not leads_elsewhere(opening)


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

    def find_links(self, own: str, path: str, targets: Iterable[str]) -> tuple[str, ...]:
        """Return the ids of the sections that a section of a page links to."""
        base = path_to_url(self._site_url or "/", markdown_path(path))
        found: dict[str, None] = {}
        for target in targets:
            url, _, anchor = join_url(base, target).partition("#")
            linked = url_to_path(self._site_url, url)
            anchors = self._ids.get(linked) if linked is not None else None
            if anchors is not None:
                found[anchors.get(unquote(anchor), anchors[""])] = None
        found.pop(own, None)
        return tuple(found)


def _make_nav(site: Site, entries: Sequence[PageEntry], ids: IdAllocator) -> tuple[NavEntry, ...]:
    """Return the nav: each page once, without empty groups, and with a group of the pages that are not in it."""
    remaining = {entry.path: entry for entry in entries}

    def make_entry(item: NavItem, above: tuple[str, ...]) -> NavEntry | None:
        titles = (*above, item.title)
        target = site.follow_redirects(item.url) if item.url else None
        path = url_to_path(site.url, target) if target and target != item.url else item.path
        page = remaining.pop(path, None) if path is not None else None
        id_ = page.id if page else ids.allocate("nav:" + "/".join(titles)) if item.children else None
        children = tuple(entry for child in item.children if (entry := make_entry(child, titles)))
        if page is None and not children and item.url is None:
            return None
        url = item.url if id_ is None else None
        title = to_single_line(item.title) or (page.title if page else next((child.title for child in children), ""))
        return NavEntry(title, id_, page.path if page else None, url, children)

    nav = [entry for item in site.nav if (entry := make_entry(item, ()))]
    orphans = [NavEntry(page.title, page.id, page.path) for page in entries if page.path in remaining]
    if orphans and nav:
        orphans = [NavEntry(MORE_GROUP, ids.allocate("nav:" + MORE_GROUP), children=tuple(orphans))]
    return (*nav, *orphans)
