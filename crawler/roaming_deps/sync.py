"""Synchronization of a project: find the documentation of its packages, crawl what is missing, and write its view.

The sites of all projects are in one store, with a key for each documented version. So a site is crawled once, and no
project reads the documentation of another version than its view names.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import anyio
import msgspec
from msgspec import structs

from mkdocs_roaming.errors import ManifestError, RoamingError
from mkdocs_roaming.files import read_inside, write_atomically
from mkdocs_roaming.library.targets import PackageInfo
from mkdocs_roaming.locks import hold_folder
from mkdocs_roaming.manifest.io import BUNDLE_PATH, MANIFEST_PATH, load_manifest
from mkdocs_roaming.publish.options import parse_options
from mkdocs_roaming.text.markdown import pluralize
from mkdocs_roaming.text.tokenizer import extract_terms
from roaming_crawler.config import CrawlConfig, CrawlLimits, EventHandler, Politeness
from roaming_crawler.fetch import RefusedError, UnavailableError
from roaming_crawler.variants import match_version
from roaming_crawler.versions import DocumentedVersion
from roaming_deps import addresses, project
from roaming_deps.addresses import Address, Metadata
from roaming_deps.lockfiles import read_dependencies
from roaming_deps.probe import OtherSiteError, find_package_version, is_moving
from roaming_deps.project import Dependency, DepsSettings, PackageDocs, Project
from roaming_deps.store import USER_ONLY, count_bytes, free_space, make_key
from roaming_fleet import records
from roaming_fleet.catalog import update_catalog
from roaming_fleet.folder import StoreFolder
from roaming_fleet.job import RunPlan, SiteSpec
from roaming_fleet.records import SiteRecord, read_record
from roaming_fleet.run import config_digest, crawl_many, group_by_host, prepare_store, site_status

DEFAULT_AGE = 7 * 86_400.0
"""Age in seconds after which documentation that may change is crawled again."""


class SyncReport(msgspec.Struct):
    """Result of a sync: the packages, the number of crawled sites and downloaded bytes, and why it was stopped."""

    packages: list[PackageDocs]
    crawled: int = 0
    bytes: int = 0
    stopped: str = ""


@dataclass(slots=True)
class _Package:
    """A package during a sync.

    Attributes:
        source: Address at which its version was found.
        key: Key of its version in the store.
        is_stored: The site documents another version by now, and the store has a copy of the wanted one.
        why: Why there is no documentation.
        old: Result of the last sync.
    """

    dependency: Dependency
    metadata: Metadata
    addresses: Sequence[Address] = ()
    version: DocumentedVersion | None = None
    source: str = ""
    key: str = ""
    is_stored: bool = False
    why: str = ""
    old: PackageDocs | None = None


def sync(
    root: Path,
    *,
    include_all: bool = False,
    refresh: bool = False,
    older_than: float = DEFAULT_AGE,
    allow_private: bool = False,
    at_once: int = 4,
    politeness: Politeness | None = None,
    on_event: EventHandler = lambda name, data: None,
) -> SyncReport:
    """Synchronize the documentation of a project's packages.

    Args:
        root: Folder of the project.
        include_all: Include packages that only other packages need.
        refresh: Crawl all sites again.
        older_than: Age in seconds after which documentation that may change is crawled again.
        allow_private: Allow private addresses for the sites' own hosts and ports.
        at_once: Number of concurrent hosts.
        politeness: How hosts are treated.
        on_event: Progress callback.

    Raises:
        UsageError: A lock file or the settings cannot be read, or the data folder cannot be written.
        StoreError: The store cannot be used.
    """
    config = replace(_CONFIG, refresh=refresh, allow_private=allow_private, politeness=politeness or Politeness())
    data = project.data_folder(os.environ)
    root = root.resolve()
    data.mkdir(USER_ONLY, parents=True, exist_ok=True)
    # One process probes and crawls, so that hosts keep their pace.
    with hold_folder(data, lambda message: on_event("locked", {"why": message})):
        settings = project.load_deps_settings(root)
        return _Sync(data, root, config, settings, at_once, older_than, on_event).run(include_all=include_all)


@dataclass(frozen=True, slots=True)
class _Sync:
    data: Path
    root: Path
    config: CrawlConfig
    settings: DepsSettings
    at_once: int
    older_than: float
    on_event: EventHandler

    @property
    def store(self) -> StoreFolder:
        return StoreFolder(self.data / "store")

    def run(self, *, include_all: bool) -> SyncReport:
        packages, locks = self._choose(include_all=include_all)
        report = SyncReport([])
        last = project.load_project(self.data, self.root)
        known = {(docs.ecosystem, docs.info.name): docs for docs in last.packages} if last else {}
        for package in packages:
            package.old = known.get((package.dependency.ecosystem, package.dependency.name))
        self._find_versions([package for package in packages if not self._reuse(package)])
        self._crawl(packages, report)
        report.packages = _assign_keys(self._describe(package, report) for package in packages)
        _write_view(project.project_folder(self.data, self.root), self.store.root, report.packages)
        project.save_project(self.data, Project(str(self.root), locks, tuple(report.packages), time.time()))
        return report

    def _choose(self, *, include_all: bool) -> tuple[list[_Package], dict[str, str]]:
        """Return the wanted packages with their addresses, and the digests of the lock files."""
        settings = self.settings
        known = addresses.read_environment(self.root, os.environ)
        installed = {name: metadata.version for name, metadata in known.items()}
        dependencies, locks = read_dependencies(self.root, installed=installed)
        wanted: dict[str, Dependency] = {}
        unknown: list[Dependency] = []
        for dependency in dependencies:
            if not settings.is_wanted(dependency, include_all=include_all):
                continue
            key = addresses.metadata_key(dependency)
            wanted[key] = dependency
            is_installed = key in known and _bare_version(known[key]) == dependency.version
            if not is_installed and not settings.find_site(dependency.name):
                unknown.append(dependency)
        for key, metadata in addresses.read_index(unknown).items():
            known[key] = structs.replace(metadata, imports=known.get(key, metadata).imports)
        packages: list[_Package] = []
        for key, dependency in wanted.items():
            package = _Package(dependency, known.get(key) or Metadata(dependency.name))
            packages.append(package)
            if not self._use_bundle(package):
                package.metadata = structs.replace(package.metadata, bundle="")
                package.addresses, package.why = addresses.find_addresses(package.metadata, settings)
        return packages, locks

    def _use_bundle(self, package: _Package) -> bool:
        """Set the bundle in a package as its version if it is that in use and not damaged."""
        metadata = package.metadata
        used = package.dependency.version
        if not metadata.bundle or _bare_version(metadata) != used:
            return False
        folder = Path(metadata.bundle)
        try:
            digest = load_manifest(read_inside(folder, MANIFEST_PATH) or b"").digest
        except (OSError, ManifestError):
            return False
        url = f"{folder.as_uri()}/"
        package.version = DocumentedVersion(url, used, "manifest", True, url)
        package.key = make_key(f"{url}#{digest}", used)
        package.is_stored = self._has_copy(package.key)
        return True

    def _reuse(self, package: _Package) -> bool:
        """Set the version that the last sync found, unless a site may have a better one by now."""
        old = package.old
        if old is None or old.why or self.config.refresh or old.info.used != package.dependency.version:
            return False
        if old.info.origin == "bundle" or not self._has_copy(old.place):
            return False  # a site is crawled again only after its URL was found to show the version still
        if old.source not in [address.url for address in package.addresses]:
            return False
        is_exact = match_version(old.info.documented, old.info.used) == _SAME
        version = DocumentedVersion(old.url, old.info.documented, old.info.origin, is_exact, old.url)
        is_fixed = version.kind != "latest" and not is_moving(version)
        if not is_fixed and time.time() - old.crawled >= self.older_than:
            return False
        package.version = version
        package.key = old.place
        package.source = old.source
        return True

    def _has_copy(self, key: str) -> bool:
        record = read_record(self.store, key)
        return bool(record and record.entry and record.config == config_digest(self.config))

    def _find_versions(self, packages: Sequence[_Package]) -> None:
        """Set the version of each package with an address, or why there is none; several hosts at once."""
        by_key = {str(number): package for number, package in enumerate(packages) if package.addresses}
        groups = group_by_host([SiteSpec(package.addresses[0].url, key) for key, package in by_key.items()])

        def find(group: Sequence[SiteSpec]) -> None:
            for spec in group:
                package = by_key[spec.key]
                self.on_event("probe", {"package": package.dependency.name})
                anyio.run(self._find_version, package)

        pool = ThreadPoolExecutor(self.at_once, "probe")
        try:
            list(pool.map(find, groups))
        finally:
            pool.shutdown(cancel_futures=True)

    async def _find_version(self, package: _Package) -> None:
        problems: list[str] = []
        misled: list[str] = []
        for address in package.addresses:
            try:
                version = await find_package_version(
                    address, package.metadata, package.dependency.version, self.data / "probe", self.config
                )
            except RoamingError as error:
                problem = f"private address, refused: {error}" if isinstance(error, RefusedError) else str(error)
                chosen = misled if isinstance(error, OtherSiteError) else problems
                chosen.append(records.shorten(problem, _MAX_WHY_CHARS))
                if isinstance(error, UnavailableError) and _NO_HOST not in problem:
                    break  # other addresses are worse ones
            else:
                self._set_version(package, version)
                package.source = address.url
                return
        package.why = [*misled, *problems][0]

    def _set_version(self, package: _Package, version: DocumentedVersion) -> None:
        """Set the version of a package, or the copy in the store if that is in use and the site has another."""
        package.version = version
        package.key = make_key(version.url, version.name)
        used = package.dependency.version
        if used and not version.exact:
            key = make_key(version.url, used)
            copy = read_record(self.store, key)
            if copy and copy.entry:
                package.version = DocumentedVersion(copy.url, used, "version", True, "")
                package.key = key
                package.is_stored = True

    def _crawl(self, packages: Iterable[_Package], report: SyncReport) -> None:
        """Crawl the sites that are due."""
        store = self.store
        plan = RunPlan(store, self.config, "", config_digest(self.config))
        due: dict[str, SiteSpec] = {}
        for package in packages:
            version = package.version
            if version is None or package.is_stored:
                continue
            record = read_record(store, package.key)
            age = self.older_than if is_moving(version) else None
            if site_status(record, plan, age) == "due":
                due[package.key] = SiteSpec(version.url, package.key)
        if not due:
            return
        report.stopped = free_space(self.data, {package.key for package in packages})
        if report.stopped:
            return
        result = crawl_many(
            tuple(due.values()),
            store,
            self.config,
            at_once=self.at_once,
            older_than=self.older_than,
            on_event=self.on_event,
        )
        report.crawled = result.new + result.changed + result.same
        report.bytes = result.bytes
        report.stopped = result.stopped

    def _describe(self, package: _Package, report: SyncReport) -> PackageDocs:
        """Return the documentation of a package: its bundle, its copy in the store, or that of the last sync."""
        dependency = package.dependency
        metadata = package.metadata
        version = package.version
        why = package.why
        info = PackageInfo(dependency.name, dependency.version)
        docs = PackageDocs(info, "", dependency.ecosystem, dependency.direct, imports=metadata.imports)
        if version:
            record = read_record(self.store, package.key)
            if record and record.entry:
                folder = self.store.root / package.key
                bundle = read_inside(Path(metadata.bundle), BUNDLE_PATH) if metadata.bundle else None
                if bundle:  # names the pages that are left out
                    write_atomically(folder / BUNDLE_PATH, bundle)
                origin = "bundle" if metadata.bundle else version.kind
                docs = structs.replace(
                    docs,
                    info=structs.replace(info, documented=version.name, origin=origin),
                    place=package.key,
                    url=record.url,
                    source=package.source,
                    crawled=record.entry.crawled,
                    why=_explain(record),
                )
                return _measure(docs, folder)
            why = _explain(record) if record else report.stopped or "not crawled yet; run roaming deps sync"
        old = package.old
        is_same = old is not None and old.info.used == dependency.version and old.crawled
        if old and is_same and (self.store.root / old.place / MANIFEST_PATH).exists():
            return structs.replace(old, direct=dependency.direct, imports=metadata.imports, why=f"not updated: {why}")
        return structs.replace(docs, why=why)


def _bare_version(metadata: Metadata) -> str:
    """Return the version of an installed package without a local part such as `+cu121`."""
    return metadata.version.partition("+")[0]


def _explain(record: SiteRecord) -> str:
    """Return why a copy is not complete or not current, an empty string if it is."""
    if record.state != "failed" and not record.kept:
        return ""
    problem = "not updated: " if record.entry else ""
    if record.kept:
        problem = f"{pluralize(record.kept, 'page')} not fetched: "
    return f"{problem}{record.error}; {records.format_next_try(record.next_try)}"


def _measure(docs: PackageDocs, folder: Path) -> PackageDocs:
    """Return a package with the numbers of its pages, flagged sections and bytes; without a place if it is damaged."""
    try:
        manifest = load_manifest((folder / MANIFEST_PATH).read_bytes())
    except (ManifestError, FileNotFoundError) as error:
        why = f"{folder}: cannot be read ({error}); run roaming deps sync --refresh"
        return structs.replace(docs, place="", why=records.shorten(why, _MAX_WHY_CHARS))
    flags = sum(bool(section.flags) for section in manifest.sections())
    return structs.replace(docs, pages=len(manifest.pages), flags=flags, bytes=count_bytes(folder))


def _assign_keys(packages: Iterable[PackageDocs]) -> list[PackageDocs]:
    """Return the packages with keys; those of one version that one site documents share the key of the first."""
    by_key: dict[str, PackageDocs] = {}
    described: list[PackageDocs] = []

    def rank(docs: PackageDocs) -> tuple[bool, bool, bool, str]:
        name = docs.info.name
        return docs.ecosystem != "python", name.lower() not in docs.url.lower(), not docs.direct, name

    for docs in sorted(packages, key=rank):
        name = docs.info.name
        site = (docs.place, docs.info.used)
        same = next((first for first in by_key.values() if (first.place, first.info.used) == site), None)
        if same and docs.place:
            by_key[same.key] = structs.replace(same, aliases=(*same.aliases, name))
            described.append(structs.replace(docs, key=same.key))
            continue
        slug = _NOT_IN_KEYS.sub("-", name.lower()).strip("-")[:_MAX_NAME_CHARS] or docs.ecosystem
        digest = hashlib.sha256(f"{docs.ecosystem} {name}".encode()).hexdigest()[:6]
        choices = (slug, f"{docs.ecosystem}-{slug}", f"{slug}-{digest}")
        key = next(choice for choice in choices if choice not in by_key)
        by_key[key] = structs.replace(docs, key=key)
    return sorted([*by_key.values(), *described], key=lambda docs: (docs.info.name, docs.ecosystem))


def _write_view(folder: Path, store: Path, packages: Iterable[PackageDocs]) -> None:
    """Write the records and the catalog of a project's packages; `home` of a record is the folder."""
    view = StoreFolder(folder)
    run = secrets.token_hex(6)
    prepare_store(view)
    first = {docs.key: docs for docs in sorted(packages, key=lambda docs: bool(docs.aliases))}  # with all names
    for key, docs in first.items():
        entry = None
        place = store / docs.place
        if docs.place:
            entry = records.make_catalog_entry(key, load_manifest((place / MANIFEST_PATH).read_bytes()), docs.crawled)
            names = extract_terms(" ".join((docs.info.name, *docs.imports, *docs.aliases)), "en")
            entry = structs.replace(entry, summary="", names=tuple(dict.fromkeys(names)), package=docs.info)
        state = "done" if entry else "failed"
        home = str(place) if entry else ""
        record = SiteRecord(key, docs.url, state, "", run, time.time(), home=home, error=docs.why, entry=entry)
        records.write_record(view, record)
    view.delete([file.path for file in view.list(records.RECORDS_DIR) if Path(file.path).stem not in first])
    update_catalog(view)


_MAX_PAGES = 3_000
_CONFIG = CrawlConfig(
    limits=CrawlLimits(pages=_MAX_PAGES),
    options=structs.replace(parse_options({"similar_pages": False}), section_files=False),
    page_copies=False,
    workers=0,
)
"""Configuration of all crawls: options of a project would make two projects crawl one site in turn."""
_MAX_WHY_CHARS = 300
_MAX_NAME_CHARS = 80
_NOT_IN_KEYS = re.compile(r"[^a-z0-9]+")
"""What becomes a dash in keys: the signs of `@types/node`."""
_SAME = 3
_NO_HOST = "no such host"
