"""Look up sections by id, alias or address, and their relatives; restrict a manifest to the pages of a scope."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Set
from fnmatch import fnmatchcase
from itertools import islice
from typing import Annotated
from urllib.parse import unquote

from msgspec import Meta, Struct
from msgspec.structs import replace

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.manifest.models import (
    Manifest,
    NavEntry,
    PageEntry,
    SectionEntry,
    SiteEntry,
    page_files,
    path_to_url,
    url_to_path,
)
from mkdocs_roaming.manifest.sections import find_contexts, find_parents, github_slug
from mkdocs_roaming.text.markdown import to_single_line, truncate_at_word

MAX_SCOPE_ITEMS = 16
MAX_SCOPE_CHARS = 200
_MAX_NAMED = 12
_MAX_NAME_CHARS = 60
"""Number and length of the names that a message lists."""

_ESCAPE = re.compile(r"\\(.)")
"""An escaped character of a pattern, such as `\\*`, which `fnmatch` writes as `[*]`."""

_FOLDER_PAGE = re.compile(r"(\b(index|readme))?\.(html?|mdx?|markdown)$|\b(index|readme)$", re.IGNORECASE)
"""The end of an address that may stand for a folder: `/index.html`, `/README.md`, `.html`, `/readme`."""

_OVERVIEW = re.compile(r"/(overview|index|intro(duction)?|getting-started|about)(\.\w+)?/?$", re.IGNORECASE)
"""The end of the path of a page that introduces its folder: `/overview/`, `/intro.html`."""

_ScopeText = Annotated[str, Meta(min_length=1, max_length=MAX_SCOPE_CHARS)]


class Scope(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The visible part of a site: the pages that match `tags` and `paths`. Without either, all of them.

    Example:
        ```python
        guide = mkdocs_roaming.Scope(paths=("guide/**",))
        answer = mkdocs_roaming.ask("site", "How do I drain the harbour?", scope=guide)
        ```

    Attributes:
        tags: Tags in any case; a page needs one of them.
        paths: Patterns in the dialect of `.gitignore`, of the path of a page (`guide/pumps/`) or of its source file
            (`guide/pumps.md`); a page needs one of them.
        version: The version that the site must have.
    """

    tags: Annotated[
        tuple[_ScopeText, ...], Meta(max_length=MAX_SCOPE_ITEMS, description="tags; a page needs one of them")
    ] = ()
    paths: Annotated[
        tuple[_ScopeText, ...],
        Meta(max_length=MAX_SCOPE_ITEMS, description="patterns such as `guide/**`; a page's path needs one of them"),
    ] = ()
    version: Annotated[_ScopeText | None, Meta(description="the version that the site must have")] = None

    def __bool__(self) -> bool:
        """Return whether anything is required."""
        return bool(self.tags or self.paths or self.version)

    def normalize(self) -> Scope:
        """Return an equivalent scope that is equal for the same tags and paths in another order."""
        tags = {tag.casefold() for tag in self.tags}
        paths = list(dict.fromkeys(map(_normalize_pattern, self.paths)))
        has_negation = any(path.startswith("!") for path in paths)
        if not has_negation:  # otherwise the last pattern that matches decides
            paths.sort()
        return Scope(tuple(sorted(tags)), tuple(paths), self.version)

    def restrict(self, manifest: Manifest) -> Manifest:
        """Return a manifest of the visible pages alone. Its digest is that of the site.

        Raises:
            UsageError: No page is visible, or the site has another version; the message names what there is.
        """
        if self.version not in (None, manifest.site.version):
            raise UsageError(self._explain_version(manifest.site))
        paths = {page.path for page in manifest.pages if self._contains(page)}
        if not paths:
            raise UsageError(self._explain_empty(manifest))
        return keep_pages(manifest, paths)

    def _contains(self, page: PageEntry) -> bool:
        tags = set(map(str.casefold, self.tags))
        if tags and tags.isdisjoint(map(str.casefold, page.tags)):
            return False
        name = PageName.from_entry(page)
        is_visible = not self.paths or self.paths[0].startswith("!")
        for pattern in self.paths:
            if match_pattern(pattern.removeprefix("!"), name):
                is_visible = not pattern.startswith("!")
        return is_visible

    def _explain_version(self, site: SiteEntry) -> str:
        """Return which version the site has, and where the others are."""
        own = f"version {site.version}" if site.version else "not versioned"
        versions = {alternate.version: alternate.manifest for alternate in reversed(site.alternates)}
        if self.version in versions:
            hint = f"open {versions[self.version]}"
        else:
            names = _list_names(alternate.version for alternate in site.alternates if alternate.version)
            hint = f"name the URL or folder of that version; other versions: {names}"
        return f"the site is {own}, not version {self.version}; {hint}"

    def _explain_empty(self, manifest: Manifest) -> str:
        """Return that no page matches, and the tags and folders that there are."""
        wanted = [f"the tag {', '.join(self.tags)}"] if self.tags else []
        if self.paths:
            wanted.append(f"the path {', '.join(self.paths)}")
        tags = _list_names(tag for page in manifest.pages for tag in page.tags)
        folders = _list_names(page.path.partition("/")[0] + "/" for page in manifest.pages if "/" in page.path)
        return f"no page matches {' and '.join(wanted)}; tags: {tags}; folders: {folders}"


class PageName(Struct, frozen=True):
    """The names by which patterns match a page.

    Attributes:
        path: The path of its address below the site: `guide/pumps/` or `guide/pumps.html`.
        sources: Its source below the docs folder, and other spellings of it. Without any, the names of the HTML and of
            the Markdown that the address may stand for are used instead.
        is_folder: Whether the address is a folder with other pages, so that the page is one of those in the folder.
    """

    path: str
    sources: tuple[str, ...] = ()
    is_folder: bool = False

    @classmethod
    def from_entry(cls, page: PageEntry) -> PageName:
        """Return the names of a published page."""
        return cls(page.path, (page.source,) if page.source else ())

    def __str__(self) -> str:
        return self.sources[0] if self.sources else self.path or "/"

    def names(self) -> tuple[str, ...]:
        """Return the names that every pattern is compared with."""
        stem = self.path
        for ending in ("/", ".html", ".htm"):
            if self.path.endswith(ending):
                stem = self.path.removesuffix(ending)
                break
        names = [self.path, stem]
        if self.sources:
            names = [unicodedata.normalize("NFC", source) for source in self.sources] + names
        else:
            file = stem or "index"
            names += [stem and f"{stem}/", f"{file}.html", f"{file}.md"]
        return tuple(dict.fromkeys(filter(None, names)))

    def index_names(self) -> tuple[str, ...]:
        """Return the names of the index files that an address may stand for."""
        has_index = not self.sources and self.path.endswith("/")
        return (f"{self.path}index.html", f"{self.path}index.md") if has_index else ()


def match_pattern(pattern: str, page: PageName) -> bool:
    """Return whether a pattern in the dialect of `.gitignore` matches a page, or a folder above it.

    The time is linear in the lengths of pattern and names, because clients of an endpoint send patterns.
    """
    names = (page.path, *page.names())
    folder, _, file = pattern.rpartition("/")
    if folder and file.startswith("index."):
        names += page.index_names()
    return any(match_name(pattern, name) for name in names)


def match_name(pattern: str, path: str) -> bool:
    """Return whether a pattern matches one name of a page, or a folder above it; see `match_pattern`."""
    names = path.strip("/").split("/")
    parts = pattern.strip("/").split("/")
    if "/" not in pattern.rstrip("/"):
        parts.insert(0, "**")
    ends = {0}  # the numbers of names that the pattern may have matched so far
    beyond = len(names) + 1
    for part in parts:
        if part == "**":
            first = min(ends, default=beyond)
            ends = set(range(first, beyond))
            continue
        glob = _ESCAPE.sub(lambda match: f"[{match[1]}]" if match[1] in "*?[" else match[1], part)
        ends = {end + 1 for end, name in enumerate(names) if end in ends and fnmatchcase(name, glob)}
    return bool(ends)


def _normalize_pattern(pattern: str) -> str:
    """Return a pattern without slashes that change nothing."""
    body = pattern.removeprefix("!")
    sign = "!" if body != pattern else ""
    body = body.rstrip("/")
    rest = body.lstrip("/")
    if "/" in rest:
        body = rest
    return sign + body


def _list_names(names: Iterable[str]) -> str:
    """Return the first distinct names for a message."""
    shown = islice(dict.fromkeys(names), _MAX_NAMED)
    return ", ".join(truncate_at_word(name, _MAX_NAME_CHARS) for name in shown) or "none"


def count_incoming_links(manifest: Manifest) -> Counter[str]:
    """Return the number of other pages that link to each page, by its path."""
    owners = {section.id: page.path for page in manifest.pages for section in page.sections}
    counts: Counter[str] = Counter()
    for page in manifest.pages:
        targets: set[str] = set()
        for section in page.sections:
            targets.update(owners[link] for link in section.links if link in owners)
        targets.discard(page.path)
        counts.update(targets)
    return counts


def keep_pages(manifest: Manifest, paths: Set[str]) -> Manifest:
    """Return a manifest of the pages with these paths alone. Its digest stays."""
    pages = tuple(page for page in manifest.pages if page.path in paths)
    return replace(manifest, pages=pages, nav=tuple(_filter_nav(manifest.nav, paths)))


def _filter_nav(entries: Iterable[NavEntry], paths: Set[str]) -> Iterator[NavEntry]:
    """Yield the entries of pages with these paths and the groups of such pages.

    Entries below a page that is not visible move up to its level.
    """
    for entry in entries:
        children = tuple(_filter_nav(entry.children, paths))
        if entry.page in paths or (children and entry.page is None):
            yield replace(entry, children=children)
        else:
            yield from children


def iter_nav_titles(
    entries: Iterable[NavEntry], above: tuple[str, ...] = ()
) -> Iterator[tuple[NavEntry, tuple[str, ...]]]:
    """Yield the entries of a nav in order, each with the titles above it."""
    for entry in entries:
        yield entry, above
        yield from iter_nav_titles(entry.children, (*above, to_single_line(entry.title)))


class SectionRef(Struct, frozen=True):
    """A section on its page; `position` is its index among the page's sections."""

    page: PageEntry
    position: int

    @property
    def section(self) -> SectionEntry:
        """The section itself."""
        return self.page.sections[self.position]

    @property
    def id(self) -> str:
        """The section's id."""
        return self.section.id


class SectionIndex:
    """All sections of a manifest, in page order."""

    def __init__(self, manifest: Manifest) -> None:
        """Index the sections of a manifest."""
        self.manifest = manifest
        self._sections: dict[str, SectionRef] = {}
        self._aliases: dict[str, str] = {}
        self._pages: dict[str, PageEntry] = {}
        self._sources: dict[str, PageEntry] = {}
        self._markdown: dict[str, PageEntry] = {}
        self._groups: dict[str, NavEntry] = {}
        self._nav_titles: dict[str, tuple[str, ...]] = {}
        self._trees: dict[str, _PageTree] = {}
        self._page_order = {page.path: index for index, page in enumerate(manifest.pages)}
        for page in manifest.pages:
            self._pages.setdefault(page.path, page)
            if page.source:
                self._sources.setdefault(page.source, page)
            for path in (page.markdown, *page_files(page.path)):
                self._markdown.setdefault(path, page)
            for position, section in enumerate(page.sections):
                self._sections.setdefault(section.id, SectionRef(page, position))
                for alias in section.aliases:
                    self._aliases.setdefault(alias, section.id)
        for page in manifest.pages:
            if page.url and (address := url_to_path(manifest.site.url, page.url)):
                self._pages.setdefault(address, page)
        for entry, above in iter_nav_titles(manifest.nav):
            if entry.page is not None:
                self._nav_titles.setdefault(entry.page, above)
            elif entry.id:
                self._groups.setdefault(entry.id, entry)

    def __len__(self) -> int:
        """Return the number of sections."""
        return len(self._sections)

    def __iter__(self) -> Iterator[SectionRef]:
        """Yield all sections in page order."""
        return iter(self._sections.values())

    def get(self, id_: str) -> SectionRef | None:
        """Return the section with an id or an alias."""
        return self._sections.get(id_) or self._sections.get(self._aliases.get(id_, ""))

    def get_group(self, id_: str) -> NavEntry | None:
        """Return the nav group with an id."""
        return self._groups.get(id_)

    def get_page(self, path: str) -> PageEntry | None:
        """Return the page with a path; slashes at its start and end may be missing."""
        path = path.lstrip("/")
        return self._pages.get(path) or self._pages.get(path + "/") or self._pages.get(path.rstrip("/"))

    def resolve(self, address: str) -> SectionRef | None:
        """Return the section with an address.

        Args:
            address: An id, `<page path>#<anchor>`, `<source>.md#<anchor>`, the path of a page's published Markdown, or
                a URL of the site.
        """
        if section := self.get(address):
            return section
        url, _, anchor = address.partition("#")
        path = url_to_path(self.manifest.site.url, url) if "://" in url else url.lstrip("/")
        if path is None:
            return None
        decoded = unquote(path)
        page = self._sources.get(path) or self.get_page(path) or self.get_page(decoded) or self._markdown.get(decoded)
        return self.find_anchor(page, unquote(anchor)) if page else None

    def find(self, address: str) -> SectionRef | None:
        """Return the section with an address as in `resolve`, or that of the folder which a guessed address names."""
        return self.resolve(address) or self._resolve_folder(address)

    def find_page(self, address: str) -> SectionRef | None:
        """Return the section with an address as in `find`, or that of its page if the anchor does not exist."""
        return self.find(address) or self.find(address.partition("#")[0])

    def _resolve_folder(self, address: str) -> SectionRef | None:
        """Return the page that a guessed address names, or else the overview or the first uppermost page of the folder.

        Args:
            address: A path or URL of the site, with a slash or a file's extension, and without an anchor.
        """
        names_folder = "/" in address or _FOLDER_PAGE.search(address)
        path = url_to_path(self.manifest.site.url, address) if "://" in address else address.lstrip("/")
        if path is None or "#" in address or not names_folder:
            return None
        stem = _FOLDER_PAGE.sub("", unquote(path)).rstrip("/")
        page = self._pages.get(f"{stem}.html" if stem else "")
        if page is not None:
            return SectionRef(page, 0)
        pages = [page for page in self.manifest.pages if page.path.startswith(f"{stem}/")]
        page = min(pages, key=_rank_in_folder, default=None)
        return SectionRef(page, 0) if page else None

    def find_anchor(self, page: PageEntry, anchor: str) -> SectionRef | None:
        """Return the section of a page with or around an anchor; the page's own section for an empty one.

        On sites without HTML, anchors are GitHub's.
        """
        if not anchor:
            return SectionRef(page, 0)
        for position, section in enumerate(page.sections):
            own = section.anchor if self.manifest.anchors else github_slug(section.title)
            if anchor == own:
                return SectionRef(page, position)
        for position, section in enumerate(page.sections):
            if anchor in section.anchors:
                return SectionRef(page, position)
        return None

    def children(self, ref: SectionRef) -> list[SectionRef]:
        """Return the direct subsections in order."""
        return [SectionRef(ref.page, child) for child in self._tree(ref.page).children[ref.position]]

    def descendants(self, ref: SectionRef) -> list[SectionRef]:
        """Return all subsections in document order."""
        end = self._tree(ref.page).ends[ref.position]
        return [SectionRef(ref.page, position) for position in range(ref.position + 1, end)]

    def count_descendants(self, ref: SectionRef) -> int:
        """Return the number of all subsections."""
        return self._tree(ref.page).ends[ref.position] - ref.position - 1

    def parent(self, ref: SectionRef) -> SectionRef | None:
        """Return the enclosing section on the same page."""
        parent = self._tree(ref.page).parents[ref.position]
        return None if parent is None else SectionRef(ref.page, parent)

    def ancestors(self, ref: SectionRef) -> list[SectionRef]:
        """Return the enclosing sections on the same page, outermost first."""
        above: list[SectionRef] = []
        parents = self._tree(ref.page).parents
        parent = parents[ref.position]
        while parent is not None:
            above.insert(0, SectionRef(ref.page, parent))
            parent = parents[parent]
        return above

    def neighbours(self, ref: SectionRef) -> tuple[SectionRef | None, SectionRef | None]:
        """Return the previous and the next section with the same parent; of a page the previous and the next page."""
        tree = self._tree(ref.page)
        parent = tree.parents[ref.position]
        if parent is None:
            rank = self._page_order[ref.page.path]
            near = [SectionRef(page, 0) for page in self.manifest.pages[max(rank - 1, 0) : rank + 2]]
        else:
            siblings = tree.children[parent]
            rank = bisect_left(siblings, ref.position)
            near = [SectionRef(ref.page, position) for position in siblings[max(rank - 1, 0) : rank + 2]]
        last = near[-1]
        return near[0] if rank else None, None if last.id == ref.id else last

    def breadcrumb(self, ref: SectionRef) -> tuple[str, ...]:
        """Return the titles from the top of the nav to the section, each safe on a single line.

        A title that repeats the one above it is left out. Where several subsections have the same title, that of the
        heading above them which they belong to is included: “pip compile”, “Options”.
        """
        own = ref.section.title if ref.position else ref.page.title
        titles = (*self._nav_titles.get(ref.page.path, ()), *self.titles_above(ref), to_single_line(own))
        pairs = zip(titles, (*titles[1:], ""), strict=True)
        return tuple(title for title, below in pairs if title.casefold() != below.casefold())

    def titles_above(self, ref: SectionRef) -> tuple[str, ...]:
        """Return the titles of the sections above a section on its page, the page's own first."""
        above = self.ancestors(ref)
        context = self._tree(ref.page).contexts[ref.position]
        if above and context is not None and context != above[-1].position:
            above.append(SectionRef(ref.page, context))
        titles: list[str] = []
        for section in above:
            title = section.section.title if section.position else ref.page.title
            titles.append(to_single_line(title))
        return tuple(titles)

    def nav_titles(self, page: PageEntry) -> tuple[str, ...]:
        """Return the titles of the nav groups that contain a page."""
        return self._nav_titles.get(page.path, ())

    def url(self, ref: SectionRef) -> str:
        """Return the section's URL, with its anchor if it has one."""
        page = ref.page.url or path_to_url(self.manifest.site.url, ref.page.path) or "./"
        return f"{page}#{ref.section.anchor}" if ref.position and ref.section.anchor else page

    def _tree(self, page: PageEntry) -> _PageTree:
        if page.path in self._trees:
            return self._trees[page.path]
        titles = [section.title for section in page.sections]
        parents = find_parents([section.level for section in page.sections])
        contexts = find_contexts(titles, parents)
        children: list[list[int]] = [[] for _ in parents]
        ends = list(range(1, len(parents) + 1))
        for position, parent in enumerate(parents):
            if parent is not None:
                children[parent].append(position)
            while parent is not None:
                ends[parent] = position + 1
                parent = parents[parent]
        tree = _PageTree(parents, ends, children, contexts)
        self._trees[page.path] = tree
        return tree


class _PageTree(Struct, frozen=True):
    """Nesting of a page's sections: per section its parent, the end of its descendants, its children."""

    parents: list[int | None]
    ends: list[int]
    children: list[list[int]]
    contexts: list[int | None]


def _rank_in_folder(page: PageEntry) -> tuple[int, bool]:
    """Return the place of a page among those of a folder: the uppermost first, of these the overview."""
    return page.path.rstrip("/").count("/"), not _OVERVIEW.search(page.path)
