"""Kinds of pages: guides, reference and archives; and a nav sorted by them.

A page's kind follows from its path, the titles above it in the nav, and its headings. In doubt a page is a guide, and
within a kind the order of the nav remains: authors know best what to read first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import IntEnum
from functools import cache, lru_cache

from msgspec.structs import replace

from mkdocs_roaming.manifest.lookup import iter_nav_titles
from mkdocs_roaming.manifest.models import MORE_GROUP, Manifest, NavEntry, PageEntry
from mkdocs_roaming.text.languages import available_languages, fold, load_phrases

_MIN_API_HEADINGS = 5
_API_SHARE = 0.9
_MIN_VERSIONS = 3
_VERSION_SHARE = 0.5

_VERSION = r"\W*(?:version |release |v)?\d+\.\d|\W*(?:19|20)\d\d\b|unreleased|\W*unreleased\W*$"
_VERSION_NUMBER = r"\bv?\d+(?:[._]\d\w*)+"
_API_ANCHOR = r"[^\W\d]\w*(?:\.[^\W\d]\w*)+"
_DATED_PATH = r"(?:^|/)(?:19|20)\d\d/\d\d/"
_DATED_POST = r"((?:[^/]+/)*?)(?:archives?/(?:19|20)\d\d\b|(?:19|20)\d\d/\d\d?/)"
_POST_LIST = (
    r"((?:[^/]+/)*?)(?:(?:19|20)\d\d(?:/\d\d?){0,2}|pages?/\d+|(?:archives?|categor(?:y|ies)|tags?|authors?)(?:/[^/]+)*?)"
    r"(?:/|\.html|/index\.html)?$"
)
_LANGUAGE_FOLDER = r"[a-z]{2}(?:-[A-Za-z]{2,4})?/"
_PUNCTUATION = r"[\W_]+"


class PageKind(IntEnum):
    """The kind of a page, in the order in which readers need them."""

    GUIDE = 0
    REFERENCE = 1
    """Descriptions of an API, of commands or of settings, for lookup."""
    ARCHIVE = 2
    """What few questions are about: blog, change logs, sponsors, translations, lists of people."""


def classify_pages(manifest: Manifest) -> dict[str, PageKind]:
    """Return the kind of each page by its path."""
    titles: dict[str, tuple[str, ...]] = {}
    for entry, above in iter_nav_titles(manifest.nav):
        if entry.page is not None:
            titles.setdefault(entry.page, (*above, entry.title))
    paths = {page.path for page in manifest.pages}
    return {
        page.path: PageKind.ARCHIVE
        if _is_translation(page.path, paths)
        else classify_page(page, titles.get(page.path, ()), manifest.site.name)
        for page in manifest.pages
    }


def find_late_pages(manifest: Manifest) -> list[str]:
    """Return the pages that readers seldom look for: archives, change logs and pages for contributors."""
    kinds = classify_pages(manifest)
    names = _load_names("contributor_titles")
    return [
        page.path
        for page in manifest.pages
        if kinds[page.path] is PageKind.ARCHIVE or not names.isdisjoint(_name_page(page))
    ]


def rank_needs(manifest: Manifest) -> dict[str, int]:
    """Return how soon readers need each page, by its path: 0 is first.

    They need the home page, then first steps and answers to frequent questions, guides, reference of commands and
    settings, other reference, and last the late pages.
    """
    kinds = classify_pages(manifest)
    late = frozenset(find_late_pages(manifest))
    sooner = _load_names("start_titles"), _load_names("lookup_titles"), frozenset[str]()

    def rank(page: PageEntry) -> int:
        kind = PageKind.ARCHIVE if page.path in late else kinds[page.path]
        return 2 * kind + 1 + sooner[kind].isdisjoint(_name_page(page)) if page.path else 0

    return {page.path: rank(page) for page in manifest.pages}


def _name_page(page: PageEntry) -> frozenset[str]:
    """Return the squeezed names of a page's folders and file, and its title."""
    return frozenset(map(_squeeze, (*page.path.strip("/").split("/"), page.title)))


def sort_by_kind(entries: Iterable[NavEntry], kinds: Mapping[str, PageKind]) -> tuple[NavEntry, ...]:
    """Return nav entries, on each level, with guides first, then reference, then archives; otherwise in nav order.

    Args:
        entries: Entries of a nav.
        kinds: The kind of each page by its path.
    """
    sorted_below = [replace(entry, children=sort_by_kind(entry.children, kinds)) for entry in entries]
    return tuple(sorted(sorted_below, key=lambda entry: entry_kind(entry, kinds)))


def entry_kind(entry: NavEntry, kinds: Mapping[str, PageKind]) -> PageKind:
    """Return the kind of a nav entry: of a group, the first kind among its pages; links elsewhere count as guides.

    Pages that are not in the nav of the site come after its guides.
    """
    found = [kinds[entry.page]] if entry.page is not None and entry.page in kinds else []
    found += [entry_kind(child, kinds) for child in entry.children]
    kind = min(found, default=PageKind.GUIDE)
    is_more = entry.page is None and entry.title == MORE_GROUP
    return max(kind, PageKind.REFERENCE) if is_more else kind


def find_listing_pages(paths: Iterable[str]) -> frozenset[str]:
    """Return the pages that only list the posts of a blog: by year, category, tag or author, or the older ones.

    A folder is a blog if it has posts with a date in their path, or an archive of a year.
    """
    paths = tuple(paths)
    blogs = {found[1] for path in paths if (found := re.match(_DATED_POST, path))}
    return frozenset(path for path in paths if find_blog(path) in blogs)


def find_blog(path: str) -> str | None:
    """Return the folder of a blog whose posts a page lists, by year, category, tag or author; None for other paths."""
    found = re.match(_POST_LIST, path)
    return found[1] if found else None


def is_changelog(page: PageEntry) -> bool:
    """Return whether a page is a change log or release notes, by its title, its path or its headings."""
    if _is_changelog_name(page.title) or _is_changelog_name(_file_name(page.path)):
        return True
    versions = sum(is_version(section.title) for section in page.sections[1:])
    return versions >= _MIN_VERSIONS and versions > _VERSION_SHARE * (len(page.sections) - 1)


def is_version(title: str) -> bool:
    """Return whether a title is a version or a date, as in change logs."""
    return re.match(_VERSION, fold(title).strip()) is not None


def classify_page(page: PageEntry, nav_titles: tuple[str, ...], site_name: str) -> PageKind:
    """Return the kind of a page.

    Args:
        page: The page.
        nav_titles: The titles above it in the nav and its own there; empty if it is not in the nav.
        site_name: Name of the site, whose words say nothing in a title.
    """
    if not page.path:
        return PageKind.GUIDE
    site_words = frozenset(map(_squeeze, site_name.split()))
    folders = page.path.strip("/").split("/")
    folders[-1] = _file_name(page.path)
    titles = [_strip_words(title, site_words) for title in nav_titles or (page.title,)]
    squeezed = {_squeeze(title) for title in titles}
    squeezed_folders = set(map(_squeeze, folders[:-1] or folders))
    # A page about the blog plugin, or a tutorial that builds a blog, is no blog: only the top level counts.
    top = {_squeeze(folders[0]), *map(_squeeze, titles[:1] if nav_titles else ())}
    archive_names = _load_names("archive_titles") & (squeezed | top) | _load_names("archive_top_titles") & top
    is_changelog_page = is_changelog(page) or any(map(_is_changelog_name, titles))
    is_changelog_page |= not squeezed_folders.isdisjoint(_load_names("changelog_titles"))
    if archive_names or is_changelog_page or re.search(_DATED_PATH, page.path):
        return PageKind.ARCHIVE
    is_named = any(_ends_with(title, _load_names("reference_endings")) for title in titles)
    if is_named or _load_names("reference_titles") & (squeezed_folders | squeezed) or _describes_api(page):
        return PageKind.REFERENCE
    return PageKind.GUIDE


def _is_translation(path: str, paths: set[str]) -> bool:
    """Return whether a page is in the folder of a language and is also there without it."""
    found = re.match(_LANGUAGE_FOLDER, path)
    return found is not None and len(path) > found.end() and path[found.end() :] in paths


def _describes_api(page: PageEntry) -> bool:
    """Return whether nearly all sections of a page have anchors of API objects, such as `pump.Valve.open`."""
    anchors = [section.anchor or "" for section in page.sections[1:]]
    objects = sum(re.fullmatch(_API_ANCHOR, anchor) is not None for anchor in anchors)
    return len(anchors) >= _MIN_API_HEADINGS and objects >= _API_SHARE * len(anchors)


# Names


@cache
def _load_names(key: str) -> frozenset[str]:
    """Return squeezed titles and folders of all languages: many sites mix theirs with English, or do not declare it."""
    languages = available_languages()
    return frozenset(_squeeze(name) for code in languages for name in load_phrases(code, f"pages.{key}"))


@lru_cache(4_096)  # a build asks for the kinds of all pages several times
def _is_changelog_name(name: str) -> bool:
    """Return whether a title or a file's name is that of a change log: also `Release notes 2.1` and just `v2.1`."""
    rest, versions = re.subn(_VERSION_NUMBER, " ", fold(name))
    is_bare_version = versions == 1 and not _squeeze(rest)
    is_title = _squeeze(rest) in _load_names("changelog_titles")
    return is_bare_version or is_title or _ends_with(rest, _load_names("changelog_endings"))


def _ends_with(title: str, endings: frozenset[str]) -> bool:
    """Return whether the last word of a title, or its last two, is one of the endings."""
    words = re.split(r"[\s_-]+", title.strip())
    return _squeeze(words[-1]) in endings or _squeeze("".join(words[-2:])) in endings


def _strip_words(title: str, words: frozenset[str]) -> str:
    """Return a title without some words, unless it consists of them."""
    return " ".join(word for word in title.split() if _squeeze(word) not in words) or title


@lru_cache(4_096)
def _squeeze(text: str) -> str:
    return re.sub(_PUNCTUATION, "", fold(text))


def _file_name(path: str) -> str:
    return path.strip("/").rpartition("/")[2].removesuffix(".html")
