"""Where a section stands: looked up by id, alias or address; its parents, children, neighbours and breadcrumb."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import unquote

from mkdocs_roaming.manifest.models import Manifest, NavEntry, PageEntry, SectionEntry, path_to_url, url_to_path
from mkdocs_roaming.manifest.sections import github_slug
from mkdocs_roaming.text.markdown import to_single_line


@dataclass(frozen=True, slots=True)
class SectionRef:
    """A section in its page: `at` is its position among the page's sections, in the order of the text."""

    page: PageEntry
    position: int

    @property
    def section(self) -> SectionEntry:
        """The section that stands here."""
        return self.page.sections[self.position]

    @property
    def id(self) -> str:
        """The section's id."""
        return self.section.id


class SectionIndex:
    """All places of a manifest."""

    def __init__(self, manifest: Manifest) -> None:
        self.manifest = manifest
        self._places: dict[str, SectionRef] = {}
        self._aliases: dict[str, str] = {}
        self._pages: dict[str, PageEntry] = {}
        self._sources: dict[str, PageEntry] = {}
        self._groups: dict[str, tuple[NavEntry, tuple[str, ...]]] = {}
        self._trails: dict[str, tuple[str, ...]] = {}
        self._trees: dict[str, _Tree] = {}
        self._order = {page.path: at for at, page in enumerate(manifest.pages)}
        for page in manifest.pages:
            self._pages.setdefault(page.path, page)
            if page.source:
                self._sources.setdefault(page.source, page)
            for at, section in enumerate(page.sections):
                self._places.setdefault(section.id, SectionRef(page, at))
                for alias in section.aliases:
                    self._aliases.setdefault(alias, section.id)
        self._walk(manifest.nav, ())

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[SectionRef]:
        return iter(self._places.values())

    def get(self, id_: str) -> SectionRef | None:
        """Give the place of an id or of an alias."""
        return self._places.get(id_) or self._places.get(self._aliases.get(id_, ""))

    def get_group(self, id_: str) -> NavEntry | None:
        """Give the nav group of an id."""
        found = self._groups.get(id_)
        return found[0] if found else None

    def get_page(self, path: str) -> PageEntry | None:
        """Give the page of a path, with or without its slashes."""
        path = path.lstrip("/")
        return self._pages.get(path) or self._pages.get(path + "/") or self._pages.get(path.rstrip("/"))

    def resolve(self, text: str) -> SectionRef | None:
        """Give the place of an address: an id, `<page path>#<anchor>`, `<source>.md#<anchor>`, or a URL of the site."""
        if found := self.get(text):
            return found
        where, _, anchor = text.partition("#")
        if "://" in where:
            path = url_to_path(self.manifest.site.url, where)
            if path is None:
                return None
            where = path
        page = self._sources.get(where.lstrip("/")) or self.get_page(unquote(where))
        if page is None:
            return None
        return self.find_anchor(page, unquote(anchor))

    def find_anchor(self, page: PageEntry, anchor: str) -> SectionRef | None:
        """Give the place of an anchor on a page; the page's own for an empty one.

        Where there is no HTML, anchors are spelt as GitHub spells them.
        """
        if not anchor:
            return SectionRef(page, 0)
        for at, entry in enumerate(page.sections):
            if anchor == (entry.anchor if self.manifest.anchors else github_slug(entry.title)):
                return SectionRef(page, at)
        return None

    def children(self, place: SectionRef) -> list[SectionRef]:
        """Give the sections directly below, in order."""
        return [SectionRef(place.page, at) for at in self._tree(place.page).children[place.position]]

    def descendants(self, place: SectionRef) -> list[SectionRef]:
        """Give all sections below, in the order of the text."""
        return [
            SectionRef(place.page, at) for at in range(place.position + 1, self._tree(place.page).ends[place.position])
        ]

    def count_descendants(self, place: SectionRef) -> int:
        """Give how many sections are below."""
        return self._tree(place.page).ends[place.position] - place.position - 1

    def parent(self, place: SectionRef) -> SectionRef | None:
        """Give the section above on the same page."""
        above = self._tree(place.page).parents[place.position]
        return None if above is None else SectionRef(place.page, above)

    def neighbours(self, place: SectionRef) -> tuple[SectionRef | None, SectionRef | None]:
        """Give the sections before and behind, of the same parent; for a page the pages before and behind."""
        tree = self._tree(place.page)
        above = tree.parents[place.position]
        if above is None:
            pages = self.manifest.pages
            at = self._order[place.page.path]
            row = [SectionRef(page, 0) for page in pages[max(at - 1, 0) : at + 2]]
            at = min(at, 1)
        else:
            at = tree.ranks[place.position]
            row = [SectionRef(place.page, other) for other in tree.children[above][max(at - 1, 0) : at + 2]]
            at = min(at, 1)
        return (row[at - 1] if at else None, row[at + 1] if at + 1 < len(row) else None)

    def breadcrumb(self, place: SectionRef) -> tuple[str, ...]:
        """Give the titles from the nav's top down to the section, its own last, each fit for a line."""
        titles: list[str] = []
        above: SectionRef | None = place
        while above is not None and above.position:
            titles.append(to_single_line(above.section.title))
            above = self.parent(above)
        return (*self._trails.get(place.page.path, ()), to_single_line(place.page.title), *reversed(titles))

    def url(self, place: SectionRef) -> str:
        """Give the section's address on the site, with its anchor where it has one."""
        page = place.page.url or path_to_url(self.manifest.site.url, place.page.path)
        return f"{page}#{place.section.anchor}" if place.position and place.section.anchor else page

    def _walk(self, entries: Iterable[NavEntry], trail: tuple[str, ...]) -> None:
        for entry in entries:
            if entry.page is not None:
                self._trails.setdefault(entry.page, trail)
            elif entry.id:
                self._groups.setdefault(entry.id, (entry, trail))
            self._walk(entry.children, (*trail, to_single_line(entry.title)))

    def _tree(self, page: PageEntry) -> _Tree:
        """Give how a page's sections enclose each other; worked out once a page."""
        if page.path not in self._trees:
            self._trees[page.path] = _tree(page.sections)
        return self._trees[page.path]


@dataclass(frozen=True, slots=True)
class _Tree:
    """For each section of a page its parent, where what it encloses ends, its children, its rank among siblings."""

    parents: list[int | None]
    ends: list[int]
    children: list[list[int]]
    ranks: list[int]


def _tree(sections: tuple[SectionEntry, ...]) -> _Tree:
    count = len(sections)
    tree = _Tree([None] * count, [count] * count, [[] for _ in range(count)], [0] * count)
    stack: list[int] = []
    for at, section in enumerate(sections):
        while len(stack) > 1 and sections[stack[-1]].level >= section.level:
            tree.ends[stack.pop()] = at
        if stack:
            tree.parents[at] = stack[-1]
            tree.ranks[at] = len(tree.children[stack[-1]])
            tree.children[stack[-1]].append(at)
        stack.append(at)
    return tree
