"""The documentation of a project's packages as a collection of sites, whose keys are the packages."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterable, Set
from functools import partial
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from mkdocs_roaming.errors import LibraryError, RoamingError, UsageError
from mkdocs_roaming.library.library import Library, extract_host
from mkdocs_roaming.library.targets import format_day, open_library
from mkdocs_roaming.manifest.lookup import keep_pages
from mkdocs_roaming.manifest.models import Manifest
from mkdocs_roaming.text.markdown import plain_version, pluralize
from roaming_deps.project import PackageDocs, Project, load_project, locks_changed, project_folder
from roaming_fleet.collection import Collection, RankedSite

_log = logging.getLogger(__name__)


class DepsCollection(Collection):
    """The packages of a project.

    Attributes:
        root: Folder of the project.

    Raises:
        LibraryError: The project was not synced yet, or no package has documentation.
    """

    def __init__(self, root: Path, data: Path, *, skip_flagged: bool = False, **options: Any) -> None:
        """Open what the last sync of a project found.

        Args:
            root: Folder of the project.
            data: Folder of the store and of the projects.
            skip_flagged: Leave out sections that a crawl has flagged.
            options: Those of `Collection`.
        """
        self.root = root
        self._data = data
        self._skip_flagged = skip_flagged
        project = load_project(data, root)
        if project is None:
            raise LibraryError(f"{root}: not synced yet; run `roaming deps sync`")
        if not any(docs.place for docs in project.packages):
            raise LibraryError(f"{root}: no package has documentation; `roaming deps list` says why")
        super().__init__(project_folder(data, root), **options)
        self._project = project
        self._notice = ""
        self._read_at = float("-inf")
        self._unread: set[str] = set()

    @property
    def project(self) -> Project:
        """What the last sync found, read again at intervals."""
        if self._clock() - self._read_at >= self.refresh_seconds:
            self._read_at = self._clock()
            self._project = load_project(self._data, self.root) or self._project
            self._notice = _describe_changes(self._project)
        return self._project

    @property
    def notice(self) -> str:
        """Says that packages have changed since the last sync, or cannot be read; empty if neither is the case."""
        return "\n".join(filter(None, (self._notice if self.project else "", self.unread)))

    @property
    def unread(self) -> str:
        """Names the packages whose documentation could not be opened when it was last tried; empty if there is none."""
        return f"{', '.join(sorted(self._unread))}: cannot be read; run `roaming deps sync`" if self._unread else ""

    @property
    def name(self) -> str:
        """The packages with documentation, and the versions that it describes."""
        infos = [docs.info for docs in self.project.packages if docs.place]
        versions = [plain_version(one.documented if one.origin == "latest" else one.used) for one in infos]
        names = [f"{one.name} {version or 'latest'}" for one, version in zip(infos, versions, strict=True)]
        more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
        return ", ".join(names[:_MAX_NAMED]) + more

    def find_key(self, name: str) -> str | None:
        """Return the key of the package with a name in any spelling."""
        return next(iter(_index_names(self.project.packages).get(_normalize(name), ())), None)

    def find_mentioned(self, question: str) -> list[str]:
        """Return the packages that a question names or quotes code of, first those with documentation."""
        if named := self.named_site(question):
            return [named]
        packages = self.project.packages
        found = find_packages(question, packages)
        documented = {docs.key for docs in packages if docs.place}
        return [key for key in found if key in documented] or found[:1]

    def open_plain(self, key: str) -> Library:
        """Return the documentation of a package with its own ids.

        Raises:
            LibraryError: It cannot be read, or is no longer that of the version in the label.
        """
        try:
            library = self._open_docs(key)
        except LibraryError as error:
            self._unread.add(key)
            _log.warning("%s", error)
            raise
        self._unread.discard(key)
        return library

    def _open_docs(self, key: str) -> Library:
        record = self.record(key)  # label and folder of one sync, also while another one runs
        if not (record and record.entry and (info := record.entry.package)):
            raise LibraryError(f"{key}: no documentation; run `roaming deps sync`")
        try:
            library = open_library(record.home)
        except RoamingError:
            raise LibraryError(f"{key}: cannot be read; run `roaming deps sync`") from None
        flagged = [section for section in library.sections if section.section.flags and self._skip_flagged]
        hidden = {below.id for one in flagged for below in (one, *library.sections.descendants(one))}
        library = library.rename_ids(partial(_prepare, key=key, is_bundle=info.origin == "bundle", hidden=hidden))
        library.trusted = False
        return library

    def _get_site(self, key: str) -> RankedSite:
        docs = next((docs for docs in self.project.packages if docs.key == key), None)
        if docs is None or docs.place:
            return super()._get_site(key)
        raise LibraryError(f"{docs.info.name} {docs.info.used}: {docs.why or 'no documentation'}")


def _describe_changes(project: Project) -> str:
    if not locks_changed(project):
        return ""
    from roaming_deps.lockfiles import count_changes  # imports parsers of lock files

    try:
        count = count_changes(project)
    except UsageError:  # its text contains names of files, which others may have chosen
        return "a lock file is missing or cannot be read; `roaming deps list` says why"
    changed = f"{pluralize(count, 'package')} changed since the documentation was synced on"
    return f"{changed} {format_day(project.synced)}; run `roaming deps sync`" if count else ""


def find_packages(question: str, packages: Iterable[PackageDocs]) -> list[str]:
    """Return the keys of up to three packages whose code a question quotes.

    Those in tracebacks come first, the last frame before others; then imports, dotted names and names in backticks, the
    most frequent first. Other words decide nothing: the names of many packages are words of English.
    """
    names = _index_names(packages)
    weights: Counter[str] = Counter()
    for place, match in enumerate(_EVIDENCE.finditer(question[:_MAX_QUESTION_CHARS])):
        kind, _, ecosystem = str(match.lastgroup).partition("_")
        for name in match[match.lastgroup or 0].split(","):
            parts = _normalize(name).partition(" ")[0].split(".")[:_MAX_NAME_PARTS]
            prefixes = (".".join(parts[:count]) for count in range(len(parts), 0, -1))
            for key, of in next((names[prefix] for prefix in prefixes if prefix in names), {}).items():
                if ecosystem in ("", of):
                    weights[key] = _FRAME_WEIGHT * (place + 1) if kind == "frame" else weights[key] + 1
    return [key for key, _ in weights.most_common(_MAX_PACKAGES)]


def _index_names(packages: Iterable[PackageDocs]) -> dict[str, dict[str, str]]:
    """Return the keys of packages, and the ecosystem of each, by all their names; first the one with a name as key."""
    listed = [(name, docs) for docs in packages for name in (docs.info.name, *docs.aliases, *docs.imports)]
    names: dict[str, dict[str, str]] = {docs.key: {docs.key: docs.ecosystem} for _, docs in listed}
    for name, docs in listed:
        names.setdefault(_normalize(name), {})[docs.key] = docs.ecosystem
    return names


def _normalize(name: str) -> str:
    return name.strip().casefold().replace("_", "-").replace("\\", "/")


def _prepare(manifest: Manifest, key: str, is_bundle: bool, hidden: Set[str]) -> Manifest:
    """Return a manifest without hidden sections, whose text is labelled with a host that the crawler knows.

    The text of a bundle is labelled with its package: the host is only what the bundle claims.
    """
    if is_bundle or not (manifest.crawled_from or extract_host(manifest.site.url)):
        manifest = replace(manifest, crawled_from=f"package:{key}")
    if hidden:
        pages = [replace(p, sections=tuple(s for s in p.sections if s.id not in hidden)) for p in manifest.pages]
        manifest = keep_pages(replace(manifest, pages=tuple(pages)), {p.path for p in pages if p.id not in hidden})
    return manifest


_EVIDENCE = re.compile(
    r"(?m)(?:site|dist)-packages[\\/](?P<frame_python>[\w.-]+)|node_modules[\\/](?P<frame_npm>(?:@[\w.-]+[\\/])?[\w.-]+)"
    r"|\bfrom[ \t]+(?P<from_python>[\w.]+)[ \t]+import\b"
    r"|(?:^|`|>>>|;)[ \t]*import[ \t]+(?![^\n]{0,200}\bfrom[ \t]*['\"])(?P<import_python>\w[^\n;`'\"]{0,200})"
    r"|\b(?:from|import|require)[ \t]*\(?['\"](?P<import_npm>(?:@[\w.-]+/)?\w[\w.-]*)"
    r"|`(?P<quoted>@?\w[\w./-]*)"
    r"|(?<![\w./\\-])(?<!\w@)(?P<dotted>[^\W\d]\w*(?:\."
    r"(?!(?:cfg|html|ini|js|lock|md|mjs|py|rst|toml|ts|txt|ya?ml)\b)[^\W\d]\w*)+)"
)
"""Quoted code. A group is named by the kind of evidence and, if it shows that, by the ecosystem."""
_FRAME_WEIGHT = _MAX_QUESTION_CHARS = 20_000
_MAX_PACKAGES = 3
_MAX_NAME_PARTS = 4
_MAX_NAMED = 12
