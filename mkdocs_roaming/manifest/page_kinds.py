"""Kinds of pages and of groups in the nav: guides, reference and archives.

A page's kind follows from its path, the titles above it in the nav, and its headings. In doubt a page is a guide, and
within a kind the order of the nav remains: authors know best what to read first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import IntEnum
from functools import cache, lru_cache

from mkdocs_roaming.manifest.lookup import iter_nav_titles
from mkdocs_roaming.manifest.models import MORE_GROUP, Manifest, NavEntry, PageEntry
from mkdocs_roaming.text.languages import available_languages, fold, load_phrases

_MIN_API_HEADINGS = 5
_API_SHARE = 0.9
"""Number of a page's sections, and share of those with anchors of API objects, from which it is reference."""

_MIN_VERSIONS = 3
_VERSION_SHARE = 0.5
"""Number and share of the sections with versions as titles from which a page is a change log."""

_CACHED_NAMES = 4_096

_VERSION = r"\W*(?:version |release |v)?\d+\.\d|\W*(?:19|20)\d\d\b|unreleased|\W*unreleased\W*$"
"""The beginning of a folded title that is a version or a date: `v2.1`, `[2.1.0]`, `release 2.1`, `2026-11-30`."""

_VERSION_NUMBER = r"\bv?\d+(?:[._]\d\w*)+"
"""A version within a title: the `v2.1` of “Release notes v2.1”."""

_DATED_PATH = r"(?:^|/)(?:19|20)\d\d/\d\d/"
"""The date in a path: `blog/2026/11/pumps/`."""

_DATED_POST = r"((?:[^/]+/)*?)(?:archives?/(?:19|20)\d\d\b|(?:19|20)\d\d/\d\d?/)"
"""The beginning of the path of a post, or of the archive of a year, with the folder of the blog."""

_POST_LIST = (
    r"((?:[^/]+/)*?)(?:(?:19|20)\d\d(?:/\d\d?){0,2}|pages?/\d+|(?:archives?|categor(?:y|ies)|tags?|authors?)(?:/[^/]+)*?)"
    r"(?:/|\.html|/index\.html)?$"
)
"""The path of a list of posts, with the folder of the blog: `blog/2026/`, `blog/page/2/`, `blog/category/pumps/`."""

_LANGUAGE = r"[a-z]{2}(?:-[A-Za-z]{2,4})?"
"""The name of a folder with a translation: `de`, `pt-BR`."""


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
    kinds: dict[str, PageKind] = {}
    for page in manifest.pages:
        folder, _, path = page.path.partition("/")
        if path and path in paths and re.fullmatch(_LANGUAGE, folder):  # a translation
            kinds[page.path] = PageKind.ARCHIVE
        else:
            kinds[page.path] = classify_page(page, titles.get(page.path, ()), manifest.site.name)
    return kinds


def find_late_pages(manifest: Manifest) -> list[str]:
    """Return the pages that readers seldom look for: archives, change logs and pages for contributors."""
    kinds = classify_pages(manifest)
    names = _load_names("contributor_titles")
    late: list[str] = []
    for page in manifest.pages:
        is_archive = kinds[page.path] is PageKind.ARCHIVE
        if is_archive or not names.isdisjoint(_name_page(page)):
            late.append(page.path)
    return late


def rank_needs(manifest: Manifest) -> dict[str, int]:
    """Return how soon readers need each page, by its path: 0 is first.

    They need the home page, then first steps and answers to frequent questions, guides, reference of commands and
    settings, other reference, and last the late pages.
    """
    kinds = classify_pages(manifest)
    late = frozenset(find_late_pages(manifest))
    sooner = _load_names("start_titles"), _load_names("lookup_titles"), frozenset[str]()
    ranks: dict[str, int] = {}
    for page in manifest.pages:
        kind = PageKind.ARCHIVE if page.path in late else kinds[page.path]
        is_later = sooner[kind].isdisjoint(_name_page(page))
        ranks[page.path] = 2 * kind + 1 + is_later if page.path else 0
    return ranks


def _name_page(page: PageEntry) -> frozenset[str]:
    """Return the squeezed names of a page's folders and file, and its title."""
    names = (*page.path.strip("/").split("/"), page.title)
    return frozenset(map(_squeeze, names))


def entry_kind(entry: NavEntry, kinds: Mapping[str, PageKind]) -> PageKind:
    """Return the kind of a nav entry: of a group, the first kind among its pages; links elsewhere count as guides.

    Pages that are not in the nav of the site come after its guides.
    """
    inside = [entry_kind(child, kinds) for child in entry.children]
    if entry.page is not None and entry.page in kinds:
        inside.append(kinds[entry.page])
    kind = min(inside, default=PageKind.GUIDE)
    is_more = entry.page is None and entry.title == MORE_GROUP
    return max(kind, PageKind.REFERENCE) if is_more else kind


def find_listing_pages(paths: Iterable[str]) -> frozenset[str]:
    """Return the pages that only list the posts of a blog: by year, category, tag or author, or the older ones.

    A folder is a blog if it has posts with a date in their path, or an archive of a year.
    """
    paths = tuple(paths)
    blogs = {match[1] for path in paths if (match := re.match(_DATED_POST, path))}
    return frozenset(path for path in paths if find_blog(path) in blogs)


def find_blog(path: str) -> str | None:
    """Return the folder of a blog whose posts a page lists, by year, category, tag or author; None for other paths."""
    match = re.match(_POST_LIST, path)
    return match[1] if match else None


def is_changelog(page: PageEntry) -> bool:
    """Return whether a page is a change log or release notes, by its title, its path or its headings."""
    if _is_changelog_name(page.title) or _is_changelog_name(_file_name(page.path)):
        return True
    versions = 0
    for section in page.sections[1:]:
        title = fold(section.title).strip()
        versions += re.match(_VERSION, title) is not None
    return versions >= _MIN_VERSIONS and versions > _VERSION_SHARE * (len(page.sections) - 1)


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
    titles: list[str] = []
    for title in nav_titles or (page.title,):
        words = [word for word in title.split() if _squeeze(word) not in site_words]
        titles.append(" ".join(words) or title)
    names = {_squeeze(title) for title in titles}
    folder_names = {_squeeze(folder) for folder in folders[:-1] or folders}
    # A page about the blog plugin, or a tutorial that builds a blog, is no blog: only the top level counts.
    top = {_squeeze(folders[0])}
    if nav_titles:
        top.add(_squeeze(titles[0]))
    if _load_names("archive_titles") & (names | top) or _load_names("archive_top_titles") & top:
        return PageKind.ARCHIVE
    if _load_names("changelog_titles") & folder_names or any(map(_is_changelog_name, titles)):
        return PageKind.ARCHIVE
    if re.search(_DATED_PATH, page.path) or is_changelog(page):
        return PageKind.ARCHIVE
    if _load_names("reference_titles") & (names | folder_names) or _describes_api(page):
        return PageKind.REFERENCE
    endings = _load_names("reference_endings")
    is_named = any(_ends_with(title, endings) for title in titles)
    return PageKind.REFERENCE if is_named else PageKind.GUIDE


def _describes_api(page: PageEntry) -> bool:
    """Return whether nearly all sections of a page have anchors of API objects, such as `pump.Valve.open`."""
    sections = page.sections[1:]
    objects = 0
    for section in sections:
        names = (section.anchor or "").split(".")
        objects += len(names) > 1 and all(map(str.isidentifier, names))
    return len(sections) >= _MIN_API_HEADINGS and objects >= _API_SHARE * len(sections)


# Names


@cache
def _load_names(key: str) -> frozenset[str]:
    """Return squeezed titles and folders of all languages: many sites mix theirs with English, or do not declare it."""
    names: set[str] = set()
    for language in available_languages():
        names.update(map(_squeeze, load_phrases(language, f"pages.{key}")))
    return frozenset(names)


@lru_cache(_CACHED_NAMES)  # a build asks for the kinds of all pages several times
def _is_changelog_name(name: str) -> bool:
    """Return whether a title or a file's name is that of a change log: also `Release notes 2.1` and just `v2.1`."""
    rest, versions = re.subn(_VERSION_NUMBER, " ", fold(name))
    title = _squeeze(rest)
    if title in _load_names("changelog_titles") or (versions == 1 and not title):
        return True
    return _ends_with(rest, _load_names("changelog_endings"))


def _ends_with(title: str, endings: frozenset[str]) -> bool:
    """Return whether the last word of a title, or its last two, is one of the endings."""
    words = title.replace("_", " ").replace("-", " ").split()
    last = _squeeze("".join(words[-1:]))
    last_two = _squeeze("".join(words[-2:]))
    return last in endings or last_two in endings


@lru_cache(_CACHED_NAMES)
def _squeeze(text: str) -> str:
    """Return the letters and digits of a text, folded."""
    return "".join(filter(str.isalnum, fold(text)))


def _file_name(path: str) -> str:
    return path.strip("/").rpartition("/")[2].removesuffix(".html")
