"""What changed from one version of a site to the next: pages and sections added, changed, renamed, moved, removed.

A section is the same one as long as its id lives on, itself or as an alias; sections whose ids are gone are known again
by the digests of their texts and by their words, as a build with `previous` does it.
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
"""`moved` is on another page or, of a page, at another path; `renamed` has another title."""


@dataclass(frozen=True, slots=True)
class SectionLocation:
    """A page or section in one version: its id, title, page and address."""

    id: str
    title: str
    breadcrumb: tuple[str, ...]
    path: str
    url: str


@dataclass(frozen=True, slots=True)
class Change:
    """What became of a page or section. `text` tells whether its text changed too; `sections` are a page's."""

    kind: ChangeKind
    before: SectionLocation | None
    after: SectionLocation | None
    text: bool = False
    sections: int = 0


@dataclass(frozen=True, slots=True)
class DiffSide:
    """A version as a whole."""

    where: str
    site: str
    digest: str
    pages: int
    sections: int


@dataclass(frozen=True, slots=True)
class SiteDiff:
    """What changed, in the order of the newer version, what was removed last.

    `aliases` are old ids with what answers to them; `published` of them stand in the newer manifest, the others are
    what a build with `previous` would write. `kept` counts the older sections that are still there, changed or not.
    `notes` tell of ids that were given to other sections.
    """

    before: DiffSide
    after: DiffSide
    pages: tuple[Change, ...]
    sections: tuple[Change, ...]
    aliases: Mapping[str, str]
    published: frozenset[str]
    kept: int
    notes: tuple[str, ...] = ()

    @property
    def same(self) -> bool:
        """Whether nothing changed that readers could see."""
        return not (self.pages or self.sections)

    @property
    def apart(self) -> bool:
        """Whether so little is in both that they are hardly two versions of one site."""
        return 10 * self.kept < min(self.before.sections, self.after.sections)

    def became(self, id_: str) -> Change | None:
        """Give what became of a section of the older version; None where it is as it was."""
        return next((one for one in self.sections if one.before is not None and one.before.id == id_), None)


def diff_sites(before: Library, after: Library) -> SiteDiff:
    """Compare two versions of a site."""
    notes: list[str] = []
    heirs = dict(_heirs(before, after, notes.append))
    sections = tuple(_sections(before, after, heirs))
    return SiteDiff(
        before=_side(before),
        after=_side(after),
        pages=tuple(_pages(before, after, heirs)),
        sections=sections,
        aliases={old: new for old, new in heirs.items() if old != new},
        published=frozenset(alias for section in after.manifest.sections() for alias in section.aliases),
        kept=len(heirs),
        notes=tuple(notes),
    )


def _heirs(before: Library, after: Library, note: Callable[[str], None]) -> Iterator[tuple[str, str]]:
    """Give for each section of the older version the id that it has in the newer one."""
    living = {section.id for section in after.manifest.sections()}
    aliased = {alias: section.id for section in after.manifest.sections() for alias in section.aliases}
    for library in (before, after):
        library.prefetch()

    def text(page: PageEntry, section: SectionEntry) -> str | None:
        try:
            return before.text(SectionRef(page, page.sections.index(section)))
        except LibraryError:
            return None

    found: dict[str, str] = {}
    if any(section.id not in living and section.id not in aliased for section in before.manifest.sections()):
        pages = after.manifest.pages
        data = [_bytes_of(after, page) for page in pages]
        for heir, old in find_aliases(PreviousSite(before.manifest, text), pages, data, note).items():
            found |= dict.fromkeys(old, heir)
    taken: set[str] = set()
    for section in before.manifest.sections():
        now = section.id if section.id in living else aliased.get(section.id) or found.get(section.id)
        if now is not None and now not in taken:
            taken.add(now)
            yield section.id, now


def _bytes_of(library: Library, page: PageEntry) -> bytes:
    """Give a page's Markdown out of its sections, which come in one request; of one that cannot be read, blanks."""
    data = bytearray(b" " * max(section.end for section in page.sections))
    for at, section in enumerate(page.sections):
        size = section.end - section.start
        with suppress(LibraryError):
            data[section.start : section.end] = library.text(SectionRef(page, at)).encode()[:size].ljust(size)
    return bytes(data)


def _sections(before: Library, after: Library, heirs: Mapping[str, str]) -> Iterator[Change]:
    came = {new: old for old, new in heirs.items()}
    for place in after.sections:
        old = before.sections.get(came[place.id]) if place.id in came else None
        if old is None:
            yield Change("added", None, _seat(after, place))
        elif (kind := _kind(old, place)) is not None:
            yield Change(kind, _seat(before, old), _seat(after, place), text=_text_changed(old, place))
    for place in before.sections:
        if place.id not in heirs:
            yield Change("removed", _seat(before, place), None)


def _pages(before: Library, after: Library, heirs: Mapping[str, str]) -> Iterator[Change]:
    came = {new: old for old, new in heirs.items()}
    paths = {page.path for page in after.manifest.pages}
    stayed: set[str] = set()
    for page in after.manifest.pages:
        own = SectionRef(page, 0)
        earlier = before.sections.get_page(page.path) or _moved_from(before, came.get(own.id), paths)
        count = len(page.sections)
        if earlier is None:
            yield Change("added", None, _seat(after, own), sections=count)
            continue
        stayed.add(earlier.path)
        changed = _said(earlier) != _said(page)
        if earlier.path != page.path:
            kind: ChangeKind | None = "moved"
        else:
            kind = "renamed" if earlier.title != page.title else "changed" if changed else None
        if kind:
            yield Change(kind, _seat(before, SectionRef(earlier, 0)), _seat(after, own), text=changed, sections=count)
    for page in before.manifest.pages:
        if page.path not in stayed:
            yield Change("removed", _seat(before, SectionRef(page, 0)), None, sections=len(page.sections))


def _moved_from(before: Library, id_: str | None, paths: set[str]) -> PageEntry | None:
    """Give the page whose own section a page's own one was, where that page itself is gone."""
    place = before.sections.get(id_) if id_ else None
    return place.page if place is not None and place.position == 0 and place.page.path not in paths else None


def _said(page: PageEntry) -> list[tuple[str, str]]:
    """Give what a page says, section by section: its file also holds addresses that no author changes."""
    return [(section.title, section.body) for section in page.sections]


def _kind(old: SectionRef, new: SectionRef) -> ChangeKind | None:
    if old.page.path != new.page.path:
        return "moved"
    if old.section.title != new.section.title:
        return "renamed"
    return "changed" if _text_changed(old, new) else None


def _text_changed(old: SectionRef, new: SectionRef) -> bool:
    return old.section.body != new.section.body


def _seat(library: Library, place: SectionRef) -> SectionLocation:
    places = library.sections
    return SectionLocation(place.id, place.section.title, places.breadcrumb(place), place.page.path, places.url(place))


def _side(library: Library) -> DiffSide:
    manifest = library.manifest
    return DiffSide(library.where, manifest.site.name, manifest.digest, len(manifest.pages), len(library.sections))
