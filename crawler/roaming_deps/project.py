"""A project: its settings, and what the last `roaming deps sync` found for its packages.

    <data>/deps/store/                      store of all projects' sites; a key contains the documented version
    <data>/deps/projects/<id>/project.json  `Project`, written last
    <data>/deps/projects/<id>/.fleet/       records and catalog of the project's packages

`<data>` is `ROAMING_DATA_DIR`, or the user's data folder. Nothing is written into the project.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import Path
from stat import S_IWOTH
from typing import Any, Literal

import msgspec
from platformdirs import user_data_path

from mkdocs_roaming._json import decode_json
from mkdocs_roaming.errors import LibraryError, UsageError
from mkdocs_roaming.files import write_atomically
from mkdocs_roaming.library.installed import normalize_name
from mkdocs_roaming.library.readers import MissingFileError, read_file
from mkdocs_roaming.library.targets import PackageInfo
from mkdocs_roaming.settings import decode_table

Ecosystem = Literal["python", "npm"]
PROJECT_FILE = "project.json"
LOCK_FILES: dict[Ecosystem, tuple[str, ...]] = {
    "python": ("uv.lock", "poetry.lock", "pdm.lock", "pylock.toml", "pylock.*.toml", "requirements*.txt"),
    "npm": ("package-lock.json", "pnpm-lock.yaml"),
}
"""Patterns of the lock files that can be read; the first that is there counts for each ecosystem."""
MAX_BYTES = 20 * 2**20
"""Maximum size of a file of a project, which is not trusted: a link may lead to a device or a pipe."""


class Dependency(msgspec.Struct, frozen=True):
    """A package that a project uses.

    Attributes:
        version: Version in the lock file; empty if it is unknown.
        direct: The project itself asks for it.
        spec: What the lock file says of its origin if that is not the usual registry: `git` or `registry`.
    """

    name: str
    ecosystem: Ecosystem
    version: str
    direct: bool
    spec: str = ""


class PackageDocs(msgspec.Struct, frozen=True):
    """A package and its documentation.

    Attributes:
        key: Key of the package in the project's view; ids begin with it.
        place: Key in the store; empty without documentation.
        url: URL of the documentation.
        source: Address in the settings or the metadata at which it was found.
        crawled: Unix time at which the documentation was fetched.
        bytes: Size of the documentation.
        flags: Number of sections with suspicious text.
        why: Why there is no documentation.
        imports: Names by which code imports the package.
        aliases: Other packages that the same site documents.
    """

    info: PackageInfo
    key: str
    ecosystem: Ecosystem
    direct: bool
    place: str = ""
    url: str = ""
    source: str = ""
    crawled: float = 0.0
    bytes: int = 0
    pages: int = 0
    flags: int = 0
    why: str = ""
    imports: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()


class Project(msgspec.Struct, frozen=True):
    """A project after a sync.

    Attributes:
        root: Its folder, absolute.
        locks: SHA-256 digest of each lock file, by its path in the folder.
        synced: Unix time of the sync.
    """

    root: str
    locks: dict[str, str]
    packages: tuple[PackageDocs, ...]
    synced: float


class DepsSettings(msgspec.Struct, frozen=True):
    """The table `[tool.roaming.deps]`.

    Attributes:
        add: Indirect packages that are wanted, too.
        exclude: Packages that are left out; `*` matches any characters.
        sites: URL of the documentation of a package; `{version}` is replaced by the version in use.
    """

    add: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    sites: dict[str, str] = {}

    def is_wanted(self, dependency: Dependency, *, include_all: bool = False) -> bool:
        """Return whether a package is to have documentation; names match in any spelling."""
        name = normalize_name(dependency.name)
        if not (include_all or dependency.direct or name in map(normalize_name, self.add)):
            return False
        return not any(fnmatchcase(name, normalize_name(pattern)) for pattern in self.exclude)

    def find_site(self, name: str) -> str | None:
        """Return the URL for a package."""
        sites = {normalize_name(package): url for package, url in self.sites.items()}
        return sites.get(normalize_name(name))


def find_root(start: Path) -> Path:
    """Return the folder of the project that a folder belongs to: the nearest one with a lock file.

    Folders above that of the repository are not looked at, nor those of other users, or in which all users may write.
    Without a lock file, it is the folder itself.
    """
    start = start.resolve()
    for folder in (start, *start.parents):
        info = folder.stat()
        if folder != start and (info.st_uid != start.stat().st_uid or info.st_mode & S_IWOTH):
            break
        patterns = chain.from_iterable(LOCK_FILES.values())
        if any(any(folder.glob(pattern)) for pattern in patterns):
            return folder
        if (folder / ".git").exists():
            break
    return start


def data_folder(environ: Mapping[str, str]) -> Path:
    """Return the folder of the store and of the projects.

    Raises:
        UsageError: The user has no home, and the variable `ROAMING_DATA_DIR` is not set.
    """
    setting = environ.get("ROAMING_DATA_DIR")
    with suppress(RuntimeError):
        folder = Path(setting) if setting else user_data_path("mkdocs-roaming", appauthor=False)
        if setting or folder.is_absolute():
            return folder.absolute() / "deps"
    raise UsageError("there is no data folder for this user; name one in the variable ROAMING_DATA_DIR")


def project_folder(data: Path, root: Path) -> Path:
    """Return the folder of a project's view."""
    return data / "projects" / hashlib.sha256(str(root.resolve()).encode()).hexdigest()[:16]


def load_project(data: Path, root: Path) -> Project | None:
    """Return what the last sync of a project found; None before the first one, or if the file is damaged."""
    try:
        return decode_json((project_folder(data, root) / PROJECT_FILE).read_bytes(), Project)
    except (OSError, ValueError):
        return None


def save_project(data: Path, project: Project) -> None:
    """Write what a sync found."""
    write_atomically(project_folder(data, Path(project.root)) / PROJECT_FILE, msgspec.json.encode(project))


def locks_changed(project: Project) -> bool:
    """Return whether a lock file is not what it was at the last sync, or cannot be read."""
    try:
        for name, digest in project.locks.items():
            if hashlib.sha256(read_file(Path(project.root) / name, MAX_BYTES)).hexdigest() != digest:
                return True
    except LibraryError:
        return True
    return False


def load_deps_settings(root: Path) -> DepsSettings:
    """Return the settings in `pyproject.toml`, else those under `"roaming": {"deps": …}` in `package.json`.

    Raises:
        UsageError: A file cannot be read, or a setting is wrong.
    """
    import tomllib

    from roaming_crawler.scope import canonical_url

    for file, parse, keys in (
        ("pyproject.toml", tomllib.loads, ("tool", "roaming", "deps")),
        ("package.json", json.loads, ("roaming", "deps")),
    ):
        path = root / file
        try:
            table: Any = parse(read_file(path, MAX_BYTES).decode("utf-8-sig"))
        except MissingFileError:
            continue
        except (LibraryError, ValueError, RecursionError) as error:
            raise UsageError(f"{path}: cannot be read ({error})") from None
        for key in keys:
            table = table.get(key) if isinstance(table, dict) else None
        if table is None:
            continue
        where = f"{path}: [{'.'.join(keys)}]"
        settings = decode_table(table, DepsSettings, where)
        for name, url in settings.sites.items():
            if not (canonical_url(url.replace("{version}", "1")) or "").startswith("http"):
                raise UsageError(f"{where}: sites.{name}: give a URL that starts with https://, not {url!r:.100}")
        return settings
    return DepsSettings()
