"""The documentation that installed packages contain, as one library: `installed:`, or `installed:httpx,typer`.

A distribution announces its bundle (`publish.agents.bundle`) with an entry point of the group `roaming.docs`, whose
value is the folder as a module name: `httpx = "httpx._docs"`. Packages are not imported; metadata and files are read.
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from mkdocs_roaming.errors import LibraryError, RoamingError
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.readers import INSTALLED_SCHEME, FolderReader, Reader
from mkdocs_roaming.manifest.io import MANIFEST_PATH, dump_manifest, load_manifest, with_digest
from mkdocs_roaming.manifest.models import Manifest, NavEntry, PageEntry, SectionEntry, SiteEntry, path_to_url
from mkdocs_roaming.manifest.sections import IdAllocator

if TYPE_CHECKING:
    from importlib.metadata import Distribution

GROUP = "roaming.docs"
_SEPARATORS = re.compile(r"[-_.]+")
"""What separates words in the name of a distribution: `zope.interface`, `typing_extensions`."""

_log = logging.getLogger(__name__)


class Bundle(Struct, frozen=True):
    """The documentation of an installed distribution: its name, its version, and the folder."""

    package: str
    version: str
    folder: Path

    @property
    def label(self) -> str:
        """Name and version."""
        return f"{self.package} {self.version}"


def open_installed(where: str) -> Library:
    """Open the documentation of installed packages.

    Args:
        where: `installed:`, which may be followed by names of distributions with commas between them.

    Raises:
        LibraryError: No installed package contains documentation, or one of the named packages does not.
    """
    by_name = {normalize_name(bundle.package): bundle for bundle in find_bundles()}
    names = where.removeprefix(INSTALLED_SCHEME).split(",")
    wanted = dict.fromkeys(normalize_name(name) for name in names if name.strip())
    for name in wanted:
        if name not in by_name:
            raise LibraryError(
                f"{where}: {name} is not installed here, or contains no documentation; packages that do: "
                f"{', '.join(by_name) or 'none'}"
            )
    reader = _BundleReader(where, [by_name[name] for name in wanted or by_name])
    if not reader.manifests:
        raise LibraryError(
            f"{where}: no installed package contains documentation that can be read (entry point `{GROUP}`); ask a "
            "site instead"
        )
    return Library(reader.merged, reader)


def find_bundles(path: Sequence[str] | None = None) -> list[Bundle]:
    """Return the documentation of all installed distributions that announce some, sorted by their names.

    Args:
        path: Folders with distributions, of another environment; those of this one by default.
    """
    from importlib.metadata import distributions  # imports email and zipfile

    bundles: dict[str, Bundle] = {}
    for distribution in distributions(path=list(path or sys.path)):
        for entry_point in distribution.entry_points.select(group=GROUP):
            folder = _find_folder(entry_point.value, distribution, is_here=path is None)
            if folder:
                bundle = Bundle(distribution.name, distribution.version, folder)
                bundles.setdefault(normalize_name(bundle.package), bundle)
    return [bundles[name] for name in sorted(bundles)]


def _find_folder(module: str, distribution: Distribution, *, is_here: bool) -> Path | None:
    """Return the folder of a module name; None if it contains no manifest, as in a checkout before a release.

    Nothing is imported: the folder is looked up in the distribution, and for one that is installed here in editable
    mode below its top-level package.
    """
    parts = module.split(".")
    if not all(map(str.isidentifier, parts)):
        _log.warning("%s: the entry point %s = %s is no module name; it is ignored", distribution.name, GROUP, module)
        return None
    folders = [Path(str(distribution.locate_file("/".join(parts))))]
    spec = find_spec(parts[0]) if is_here else None
    if spec and spec.submodule_search_locations:
        folders += [Path(place, *parts[1:]) for place in spec.submodule_search_locations]
    for folder in folders:
        if (folder / MANIFEST_PATH).is_file():
            return folder
    return None


def normalize_name(name: str) -> str:
    """Return the name of a distribution as packaging tools compare it (PEP 503)."""
    return _SEPARATORS.sub("-", name.strip()).lower()


class _BundleReader(Reader):
    """The bundles of several distributions, each below its name."""

    is_remote = False

    def __init__(self, where: str, bundles: Sequence[Bundle]) -> None:
        self.where = where
        self._readers = {bundle.package: FolderReader(bundle.folder) for bundle in bundles}
        self.folders = [reader.root for reader in self._readers.values()]
        self.manifests: dict[Bundle, Manifest] = {}
        for bundle in bundles:
            reader = self._readers[bundle.package]
            try:
                self.manifests[bundle] = load_manifest(reader.manifest(), where=f"{reader.where}/{MANIFEST_PATH}")
            except RoamingError as error:  # the others can be read
                _log.warning("%s: its documentation is left out: %s", bundle.label, error)
        self.merged = _merge(self.manifests)

    def manifest(self, cache_key: str = "") -> bytes:
        """Return the JSON of the common manifest."""
        return dump_manifest(self.merged).encode("utf-8", "surrogatepass")

    def file(self, path: str, cache_key: str = "") -> bytes:
        """Return a file of a bundle."""
        package, _, rest = path.partition("/")
        if package not in self._readers:
            raise LibraryError(f"{self.where}: no {path}")
        return self._readers[package].file(rest, cache_key)


# The common manifest


def _merge(manifests: Mapping[Bundle, Manifest]) -> Manifest:
    """Return one manifest, in which each distribution is a group of the nav, named with its version."""
    ids = IdAllocator()
    pages = list[PageEntry]()
    nav = list[NavEntry]()
    for bundle, manifest in manifests.items():
        group = ids.allocate(f"{bundle.package}:")
        renamed = {section.id: ids.allocate(f"{bundle.package}:{section.id}") for section in manifest.sections()}
        pages += [_move_page(page, bundle, manifest.site, renamed) for page in manifest.pages]
        entries = manifest.nav or tuple(NavEntry(page.title, page.id, page.path) for page in manifest.pages)
        children = tuple(_move_nav(entry, bundle, renamed, ids) for entry in entries)
        nav.append(NavEntry(bundle.label, group, children=children))
    labels = [bundle.label for bundle in manifests]
    name = ", ".join(labels[:2])
    if len(labels) > 2:
        name += f" and {len(labels) - 2} more"
    languages = {manifest.site.language for manifest in manifests.values()}
    language = languages.pop() if len(languages) == 1 else "en"
    site = SiteEntry(name, f"{INSTALLED_SCHEME}/", f"Documentation of {', '.join(labels)}.", language)
    return with_digest(Manifest(site, tuple(pages), tuple(nav), nav_source="installed"))


def _move_page(page: PageEntry, bundle: Bundle, site: SiteEntry, renamed: Mapping[str, str]) -> PageEntry:
    sections: list[SectionEntry] = []
    for section in page.sections:
        links, cites = (
            tuple(renamed[link] for link in targets if link in renamed) for targets in (section.links, section.cites)
        )
        sections.append(replace(section, id=renamed[section.id], links=links, cites=cites, aliases=()))
    return replace(
        page,
        id=renamed[page.id],
        path=f"{bundle.package}/{page.path}",
        markdown=f"{bundle.package}/{page.markdown}",
        url=page.url or path_to_url(site.url, page.path),
        sections=tuple(sections),
        full=None,
    )


def _move_nav(entry: NavEntry, bundle: Bundle, renamed: Mapping[str, str], ids: IdAllocator) -> NavEntry:
    package = bundle.package
    id_ = entry.id
    if id_:
        id_ = renamed.get(id_) or ids.allocate(f"{package}:{id_}")
    page = None if entry.page is None else f"{package}/{entry.page}"
    children = tuple(_move_nav(child, bundle, renamed, ids) for child in entry.children)
    return replace(entry, id=id_, page=page, children=children)
