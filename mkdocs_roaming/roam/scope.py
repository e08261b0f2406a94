"""What of a library may be seen: enforced where places are looked up, not by a prompt."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.manifest import Manifest, NavEntry, PageEntry
from mkdocs_roaming.places import Places
from mkdocs_roaming.roam.library import Library


@dataclass(frozen=True, slots=True)
class Scope:
    """What may be seen: pages with any of the tags, of any of the globs over paths; `version` is the site's."""

    tags: tuple[str, ...] = ()
    pages: tuple[str, ...] = ()
    version: str | None = None


def scoped(library: Library, scope: Scope) -> Places:
    """Give the places that may be seen; the others are as if they did not exist."""
    manifest = library.manifest
    if scope.version is not None and scope.version != manifest.site.version:
        others = [other.manifest for other in manifest.site.alternates if other.version == scope.version]
        cure = f"open {others[0]}" if others else "open that version's own site"
        raise UsageError(
            f"{library.where} is version {manifest.site.version or 'unknown'}, not {scope.version}; {cure}"
        )
    if not scope.tags and not scope.pages:
        return library.places
    pages = tuple(page for page in manifest.pages if _in_scope(page, scope))
    paths = {page.path for page in pages}
    return Places(replace(manifest, pages=pages, nav=tuple(_kept(manifest, paths))))


def _in_scope(page: PageEntry, scope: Scope) -> bool:
    if scope.tags and not set(scope.tags) & set(page.tags):
        return False
    names = {page.path, page.path.rstrip("/"), page.source or page.path}
    return not scope.pages or any(fnmatchcase(name, glob.lstrip("/")) for name in names for glob in scope.pages)


def _kept(manifest: Manifest, paths: set[str]) -> Iterator[NavEntry]:
    def kept(entries: Iterable[NavEntry]) -> Iterator[NavEntry]:
        for entry in entries:
            children = tuple(kept(entry.children))
            if entry.page in paths or (children and entry.page is None):
                yield replace(entry, children=children)
            else:
                yield from children  # below a page that may not be seen

    return kept(manifest.nav)
