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
    page_files,
    path_to_url,
    url_to_path,
)
from mkdocs_roaming.manifest.sections import find_contexts, find_parents, github_slug
from mkdocs_roaming.text.markdown import to_single_line, truncate_at_word

MAX_SCOPE_ITEMS = 16
MAX_SCOPE_CHARS = 200
_MAX_NAMED = 12

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
        paths = dict.fromkeys(map(_normalize_pattern, self.paths))
        has_negation = any(path.startswith("!") for path in paths)  # the last pattern that matches decides
        return Scope(tuple(sorted(tags)), tuple(paths if has_negation else sorted(paths)), self.version)

    def restrict(self, manifest: Manifest) -> Manifest:
        """Return a manifest of the visible pages alone. Its digest is that of the site.

        Raises:
            UsageError: No page is visible, or the site has another version; the message names what there is.
        """
        self._check_version(manifest)
        pages = tuple(page for page in manifest.pages if self._has_tag(page) and self._has_path(page))
        if not pages:
            raise UsageError(self._explain_empty(manifest))
        return keep_pages(manifest, {page.path for page in pages})

    def _has_tag(self, page: PageEntry) -> bool:
        return not self.tags or not {tag.casefold() for tag in self.tags}.isdisjoint(map(str.casefold, page.tags))

    def _has_path(self, page: PageEntry) -> bool:
        name = PageName.from_entry(page)
        is_visible = not self.paths or self.paths[0].startswith("!")
        for pattern in self.paths:
            if match_pattern(pattern.removeprefix("!"), name):
                is_visible = not pattern.startswith("!")
        return is_visible

    def _check_version(self, manifest: Manifest) -> None:
        site = manifest.site
        if self.version in (None, site.version):
            return
        found = next((other.manifest for other in site.alternates if other.version == self.version), None)
        others = _list_names(other.version for other in site.alternates if other.version)
        own = f"version {site.version}" if site.version else "not versioned"
        hint = f"open {found}" if found else f"name the URL or folder of that version; other versions: {others}"
        raise UsageError(f"the site is {own}, not version {self.version}; {hint}")

    def _explain_empty(self, manifest: Manifest) -> str:
        """Return that no page matches, and the tags and folders that there are."""
        wanted = [f"the tag {', '.join(self.tags)}"] if self.tags else []
        wanted += [f"the path {', '.join(self.paths)}"] if self.paths else []
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
        stem = re.sub(r"(/|\.html?)$", "", self.path)
        if self.sources:
            own = (*(unicodedata.normalize("NFC", source) for source in self.sources), self.path, stem)
        else:
            own = (self.path, stem, stem and f"{stem}/", f"{stem or 'index'}.html", f"{stem or 'index'}.md")
        return tuple(dict.fromkeys(filter(None, own)))

    def index_names(self) -> tuple[str, ...]:
        """Return the names of the index files that an address may stand for."""
        has_index = not self.sources and self.path.endswith("/")
        return (f"{self.path}index.html", f"{self.path}index.md") if has_index else ()


def match_pattern(pattern: str, page: PageName) -> bool:
    """Return whether a pattern in the dialect of `.gitignore` matches a page, or a folder above it.

    The time is linear in the lengths of pattern and names, because clients of an endpoint send patterns.
    """
    names = (page.path, *page.names(), *(page.index_names() if re.search(_INDEX, pattern) else ()))
    return any(match_name(pattern, name) for name in names)


def match_name(pattern: str, path: str) -> bool:
    """Return whether a pattern matches one name of a page, or a folder above it; see `match_pattern`."""
    names = path.strip("/").split("/")
    parts = pattern.strip("/").split("/")
    ends = {0}  # the numbers of names that the pattern may have matched so far
    for part in parts if "/" in pattern.rstrip("/") else ["**", *parts]:
        if part == "**":
            ends = set(range(min(ends, default=len(names) + 1), len(names) + 1))
        else:
            glob = re.sub(_ESCAPE, lambda match: f"[{match[1]}]" if match[1] in "*?[" else match[1], part)
            ends = {end + 1 for end in ends if end < len(names) and fnmatchcase(names[end], glob)}
    return bool(ends)


_ESCAPE = r"\\(.)"
_INDEX = r"/index\.\w+$"
_FOLDER_PAGE = re.compile(r"(\b(index|readme))?\.(html?|mdx?|markdown)$|\b(index|readme)$", re.IGNORECASE)
_OVERVIEW = re.compile(r"/(overview|index|intro(duction)?|getting-started|about)(\.\w+)?/?$", re.IGNORECASE)


def _normalize_pattern(pattern: str) -> str:
    """Return a pattern without slashes that change nothing."""
    sign, body = ("!", pattern[1:]) if pattern.startswith("!") else ("", pattern)
    body = body.rstrip("/")
    return sign + (body.lstrip("/") if "/" in body.lstrip("/") else body)


def _list_names(names: Iterable[str]) -> str:
    """Return the first distinct names for a message."""
    shown = islice(dict.fromkeys(names), _MAX_NAMED)
    return ", ".join(truncate_at_word(name, 60) for name in shown) or "none"


def count_incoming_links(manifest: Manifest) -> Counter[str]:
    """Return the number of other pages that link to each page, by its path."""
    owners = {section.id: page.path for page in manifest.pages for section in page.sections}
    counts: Counter[str] = Counter()
    for page in manifest.pages:
        targets = {owners[link] for section in page.sections for link in section.links if link in owners}
        counts.update(targets - {page.path})
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
        if found := self.get(address):
            return found
        path, _, anchor = address.partition("#")
        if "://" in path:
            site_path = url_to_path(self.manifest.site.url, path)
            if site_path is None:
                return None
            path = site_path
        path = path.lstrip("/")
        page = self._sources.get(path) or self.get_page(unquote(path)) or self._markdown.get(unquote(path))
        return None if page is None else self.find_anchor(page, unquote(anchor))

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
        path = url_to_path(self.manifest.site.url, address) if "://" in address else address.lstrip("/")
        if path is None or "#" in address or not ("/" in address or _FOLDER_PAGE.search(address)):
            return None
        stem = _FOLDER_PAGE.sub("", unquote(path)).rstrip("/")
        below = (page for page in self.manifest.pages if page.path.startswith(f"{stem}/"))
        ranks = ((page.path.rstrip("/").count("/"), not _OVERVIEW.search(page.path), page) for page in below)
        own = self._pages.get(stem and f"{stem}.html")
        page = own or min(ranks, key=lambda rank: rank[:2], default=(None,))[-1]
        return self.find_anchor(page, "") if page else None

    def find_anchor(self, page: PageEntry, anchor: str) -> SectionRef | None:
        """Return the section of a page with or around an anchor; the page's own section for an empty one.

        On sites without HTML, anchors are GitHub's.
        """
        if not anchor:
            return SectionRef(page, 0)
        for position, section in enumerate(page.sections):
            if anchor == (section.anchor if self.manifest.anchors else github_slug(section.title)):
                return SectionRef(page, position)
        within = (position for position, section in enumerate(page.sections) if anchor in section.anchors)
        return next((SectionRef(page, position) for position in within), None)

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
        parent = self.parent(ref)
        return [*self.ancestors(parent), parent] if parent else []

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
        own = min(rank, 1)
        return near[0] if own else None, near[own + 1] if own + 1 < len(near) else None

    def breadcrumb(self, ref: SectionRef) -> tuple[str, ...]:
        """Return the titles from the top of the nav to the section, each safe on a single line.

        A title that repeats the one above it is left out. Where several subsections have the same title, that of the
        heading above them which they belong to is included: “pip compile”, “Options”.
        """
        titles = (*self._nav_titles.get(ref.page.path, ()), *self.titles_above(ref), to_single_line(ref.section.title))
        if ref.position == 0:
            titles = (*titles[:-1], to_single_line(ref.page.title))
        pairs = zip(titles, (*titles[1:], ""), strict=True)
        return tuple(title for title, below in pairs if title.casefold() != below.casefold())

    def titles_above(self, ref: SectionRef) -> tuple[str, ...]:
        """Return the titles of the sections above a section on its page, the page's own first."""
        above = self.ancestors(ref)
        context = self._tree(ref.page).contexts[ref.position]
        if above and context is not None and context != above[-1].position:
            above.append(SectionRef(ref.page, context))
        return tuple(to_single_line(other.section.title if other.position else ref.page.title) for other in above)

    def nav_titles(self, page: PageEntry) -> tuple[str, ...]:
        """Return the titles of the nav groups that contain a page."""
        return self._nav_titles.get(page.path, ())

    def url(self, ref: SectionRef) -> str:
        """Return the section's URL, with its anchor if it has one."""
        page = ref.page.url or path_to_url(self.manifest.site.url, ref.page.path) or "./"
        return f"{page}#{ref.section.anchor}" if ref.position and ref.section.anchor else page

    def _tree(self, page: PageEntry) -> _PageTree:
        tree = self._trees.get(page.path)
        if tree is None:
            tree = self._trees[page.path] = _PageTree.from_sections(page.sections)
        return tree


class _PageTree(Struct, frozen=True):
    """Nesting of a page's sections: per section its parent, the end of its descendants, its children."""

    parents: list[int | None]
    ends: list[int]
    children: list[list[int]]
    contexts: list[int | None]

    @classmethod
    def from_sections(cls, sections: tuple[SectionEntry, ...]) -> _PageTree:
        parents = find_parents([section.level for section in sections])
        children: list[list[int]] = [[] for _ in sections]
        ends = list(range(1, len(sections) + 1))
        for position, parent in enumerate(parents):
            if parent is not None:
                children[parent].append(position)
        for position, parent in reversed(list(enumerate(parents))):
            if parent is not None:
                ends[parent] = max(ends[parent], ends[position])
        return cls(parents, ends, children, find_contexts([section.title for section in sections], parents))
