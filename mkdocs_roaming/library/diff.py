"""Compare two versions of a site: pages and sections that were added, changed, renamed, moved or removed.

A section is the same as long as its id exists, itself or as an alias. Sections whose ids are gone are recognized by
their text, as in a build that knows the previous one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from mkdocs_roaming.errors import LibraryError
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.manifest.builder import PreviousSite, find_aliases
from mkdocs_roaming.manifest.lookup import SectionRef
from mkdocs_roaming.manifest.models import PageEntry, SectionEntry

ChangeKind = Literal["added", "changed", "renamed", "moved", "removed"]
"""A section is moved if it is on another page, a page if its path is another; renamed if the title is another."""

_MIN_COMMON_PERCENT = 10


@dataclass(frozen=True, slots=True)
class SectionLocation:
    """A page or section in one version."""

    id: str
    title: str
    breadcrumb: tuple[str, ...]
    path: str
    url: str


@dataclass(frozen=True, slots=True)
class Change:
    """Change of a page or section.

    `text` is True if its text changed, `sections` is the number of sections of a page.
    """

    kind: ChangeKind
    before: SectionLocation | None
    after: SectionLocation | None
    text: bool = False
    sections: int = 0


@dataclass(frozen=True, slots=True)
class DiffSide:
    """One of the two versions."""

    where: str
    site: str
    digest: str
    pages: int
    sections: int


@dataclass(frozen=True, slots=True)
class SiteDiff:
    """Changes in the order of the newer version; removed pages and sections are last.

    Attributes:
        before: Older version.
        after: Newer version.
        pages: Changes of pages.
        sections: Changes of sections.
        aliases: Former ids and the ids of the same sections in the newer version.
        published: Former ids that are aliases in the newer manifest; the others are what a build with the previous
            manifest would write.
        common: Number of sections that are in both versions, changed or not.
        notes: Former ids that are now the ids of other sections.
    """

    before: DiffSide
    after: DiffSide
    pages: tuple[Change, ...]
    sections: tuple[Change, ...]
    aliases: Mapping[str, str]
    published: frozenset[str]
    common: int
    notes: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there are no changes that readers can see."""
        return not (self.pages or self.sections)

    @property
    def is_unrelated(self) -> bool:
        """Whether the two have so few sections in common that they are hardly versions of one site."""
        return 100 * self.common < _MIN_COMMON_PERCENT * min(self.before.sections, self.after.sections)


def diff_sites(before: Library, after: Library) -> SiteDiff:
    """Compare two versions of a site."""
    notes: list[str] = []
    successors = dict(_match_sections(before, after, notes.append))
    predecessors = {new: old for old, new in successors.items()}
    return SiteDiff(
        before=_make_side(before),
        after=_make_side(after),
        pages=tuple(_diff_pages(before, after, predecessors)),
        sections=tuple(_diff_sections(before, after, predecessors)),
        aliases={old: new for old, new in successors.items() if old != new},
        published=frozenset(alias for section in after.manifest.sections() for alias in section.aliases),
        common=len(successors),
        notes=tuple(notes),
    )


def _match_sections(before: Library, after: Library, warn: Callable[[str], None]) -> Iterator[tuple[str, str]]:
    """Yield the id of each section of the older version that is in the newer one, and its id there."""
    current = {section.id for section in after.manifest.sections()}
    aliases = {alias: section.id for section in after.manifest.sections() for alias in section.aliases}
    for library in (before, after):
        library.prefetch()
    matched: dict[str, str] = {}
    if any(section.id not in current and section.id not in aliases for section in before.manifest.sections()):
        previous = PreviousSite(before.manifest, lambda page, section: _read_text(before, page, section))
        pages = after.manifest.pages
        data = [_read_page(after, page) for page in pages]
        for id_, former in find_aliases(previous, pages, data, warn).items():
            matched |= dict.fromkeys(former, id_)
    taken: set[str] = set()
    for section in before.manifest.sections():
        id_ = section.id if section.id in current else aliases.get(section.id) or matched.get(section.id, "")
        if id_ and id_ not in taken:
            taken.add(id_)
            yield section.id, id_


def _read_text(library: Library, page: PageEntry, section: SectionEntry) -> str | None:
    try:
        return library.text(SectionRef(page, page.sections.index(section)))
    except LibraryError:
        return None


def _read_page(library: Library, page: PageEntry) -> bytes:
    """Join a page's Markdown from its sections; one that cannot be read is replaced by spaces."""
    data = bytearray(b" " * max(section.end for section in page.sections))
    for position, section in enumerate(page.sections):
        size = section.end - section.start
        with suppress(LibraryError):
            data[section.start : section.end] = library.text(SectionRef(page, position)).encode()[:size].ljust(size)
    return bytes(data)


def _diff_sections(before: Library, after: Library, predecessors: Mapping[str, str]) -> Iterator[Change]:
    matched = set(predecessors.values())
    for new in after.sections:
        old = before.sections.get(predecessors.get(new.id, ""))
        if old is None:
            yield Change("added", None, _locate(after, new))
            continue
        text = old.section.body != new.section.body
        if kind := _classify(old, new, text=text):
            yield Change(kind, _locate(before, old), _locate(after, new), text)
    for old in before.sections:
        if old.id not in matched:
            yield Change("removed", _locate(before, old), None)


def _diff_pages(before: Library, after: Library, predecessors: Mapping[str, str]) -> Iterator[Change]:
    paths = {page.path for page in after.manifest.pages}
    matched: set[str] = set()
    for page in after.manifest.pages:
        new, count = SectionRef(page, 0), len(page.sections)
        former = before.sections.get_page(page.path) or _find_moved_page(before, predecessors.get(new.id), paths)
        if former is None:
            yield Change("added", None, _locate(after, new), sections=count)
            continue
        matched.add(former.path)
        old, text = SectionRef(former, 0), _page_texts(former) != _page_texts(page)
        if kind := _classify(old, new, text=text):
            yield Change(kind, _locate(before, old), _locate(after, new), text, count)
    for page in before.manifest.pages:
        if page.path not in matched:
            yield Change("removed", _locate(before, SectionRef(page, 0)), None, sections=len(page.sections))


def _find_moved_page(before: Library, id_: str | None, paths: set[str]) -> PageEntry | None:
    """Return the older version's page with this id, if its path is gone."""
    ref = before.sections.get(id_) if id_ else None
    return ref.page if ref is not None and ref.position == 0 and ref.page.path not in paths else None


def _page_texts(page: PageEntry) -> list[tuple[str, str]]:
    """Return titles and digests of the sections; the digest of the file includes links that no author changes."""
    return [(section.title, section.body) for section in page.sections]


def _classify(old: SectionRef, new: SectionRef, *, text: bool) -> ChangeKind | None:
    if old.page.path != new.page.path:
        return "moved"
    if old.section.title != new.section.title:
        return "renamed"
    return "changed" if text else None


def _locate(library: Library, ref: SectionRef) -> SectionLocation:
    sections = library.sections
    return SectionLocation(ref.id, ref.section.title, sections.breadcrumb(ref), ref.page.path, sections.url(ref))


def _make_side(library: Library) -> DiffSide:
    manifest = library.manifest
    return DiffSide(library.where, manifest.site.name, manifest.digest, len(manifest.pages), len(library.sections))
