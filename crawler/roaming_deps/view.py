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

from mkdocs_roaming.errors import LibraryError, RoamingError
from mkdocs_roaming.library.library import Library, extract_host
from mkdocs_roaming.library.targets import format_day, open_library
from mkdocs_roaming.manifest.lookup import keep_pages
from mkdocs_roaming.manifest.models import Manifest, PageEntry
from mkdocs_roaming.text.markdown import plain_version
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
            self._notice = ""
            if locks_changed(self._project):
                day = format_day(self._project.synced)
                self._notice = (
                    f"lock files changed since the documentation was synced on {day}; run `roaming deps sync`"
                )
        return self._project

    @property
    def notice(self) -> str:
        """Says that lock files have changed since the last sync, or which packages could not be opened; else empty."""
        lines = [self._notice] if self.project and self._notice else []
        if self._unread:
            lines.append(f"{', '.join(sorted(self._unread))}: cannot be read; run `roaming deps sync`")
        return "\n".join(lines)

    @property
    def name(self) -> str:
        """The packages with documentation, and the versions that it describes."""
        names: list[str] = []
        for info in (docs.info for docs in self.project.packages if docs.place):
            version = plain_version(info.documented if info.origin == "latest" else info.used)
            names.append(f"{info.name} {version or 'latest'}")
        more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
        return ", ".join(names[:_MAX_NAMED]) + more

    def find_key(self, name: str) -> str | None:
        """Return the key of the package with a name in any spelling."""
        keys = _index_names(self.project.packages).get(_normalize(name), {})
        return next(iter(keys), None)

    def find_mentioned(self, question: str) -> list[str]:
        """Return the packages that a question names or quotes code of, first those with documentation."""
        named = self.named_site(question)
        if named:
            return [named]
        packages = self.project.packages
        keys = find_packages(question, packages)
        documented = {docs.key for docs in packages if docs.place}
        return [key for key in keys if key in documented] or keys[:1]

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
        info = record.entry.package if record and record.entry else None
        if record is None or info is None:
            raise LibraryError(f"{key}: no documentation; run `roaming deps sync`")
        try:
            library = open_library(record.home)
        except RoamingError:
            raise LibraryError(f"{key}: cannot be read; run `roaming deps sync`") from None
        hidden: set[str] = set()
        if self._skip_flagged:
            for section in library.sections:
                if section.section.flags:
                    hidden.update(inner.id for inner in (section, *library.sections.descendants(section)))
        library = library.rename_ids(partial(_prepare, key=key, is_bundle=info.origin == "bundle", hidden=hidden))
        library.trusted = False
        return library

    def _get_site(self, key: str) -> RankedSite:
        docs = next((docs for docs in self.project.packages if docs.key == key), None)
        if docs is None or docs.place:
            return super()._get_site(key)
        raise LibraryError(f"{docs.info.name} {docs.info.used}: {docs.why or 'no documentation'}")


def find_packages(question: str, packages: Iterable[PackageDocs]) -> list[str]:
    """Return the keys of up to three packages whose code a question quotes.

    Those in tracebacks come first, the last frame before others; then imports, dotted names and names in backticks, the
    most frequent first. Other words decide nothing: the names of many packages are words of English.
    """
    names = _index_names(packages)
    weights: Counter[str] = Counter()
    for place, match in enumerate(_EVIDENCE.finditer(question[:_MAX_QUESTION_CHARS]), 1):
        kind, _, ecosystem = str(match.lastgroup).partition("_")
        for name in match[match.lastgroup or 0].split(","):
            parts = _normalize(name).partition(" ")[0].split(".")[:_MAX_NAME_PARTS]
            while parts and ".".join(parts) not in names:
                parts.pop()
            for key, own_ecosystem in names.get(".".join(parts), {}).items():
                if ecosystem not in ("", own_ecosystem):
                    continue
                weights[key] = _FRAME_WEIGHT * place if kind == "frame" else weights[key] + 1
    return [key for key, _ in weights.most_common(_MAX_PACKAGES)]


def _index_names(packages: Iterable[PackageDocs]) -> dict[str, dict[str, str]]:
    """Return the keys of packages, and the ecosystem of each, by all their names; first the one with a name as key."""
    packages = list(packages)
    names: dict[str, dict[str, str]] = {docs.key: {docs.key: docs.ecosystem} for docs in packages}
    for docs in packages:
        for name in (docs.info.name, *docs.aliases, *docs.imports):
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
        pages: list[PageEntry] = []
        for page in manifest.pages:
            sections = tuple(section for section in page.sections if section.id not in hidden)
            pages.append(replace(page, sections=sections))
        paths = {page.path for page in pages if page.id not in hidden}
        manifest = keep_pages(replace(manifest, pages=tuple(pages)), paths)
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
_MAX_QUESTION_CHARS = 20_000
_FRAME_WEIGHT = _MAX_QUESTION_CHARS
"""A package in a traceback outweighs all names of others: there are fewer of them than characters."""
_MAX_PACKAGES = 3
_MAX_NAME_PARTS = 4
_MAX_NAMED = 12
