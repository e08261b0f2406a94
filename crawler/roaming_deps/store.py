"""The store of all projects' sites: keys of copies, lock, size, and removal of what no project uses."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mkdocs_roaming._json import decode_json
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.locks import hold_folder
from roaming_crawler.config import MEGABYTE
from roaming_crawler.versions import locate_version
from roaming_deps.project import PROJECT_FILE, Project
from roaming_fleet.cli import drop_sites
from roaming_fleet.objects import open_bucket
from roaming_fleet.records import RECORDS_DIR, read_record


def make_key(url: str, documented: str) -> str:
    """Return the key of the copy of a site while it documents a version."""
    base = locate_version(url)[1].partition("://")[2].lower()
    slug, version = (re.sub(r"[^a-z0-9.]+", "-", text).strip("-.") for text in (base, documented.lower()))
    digest = hashlib.sha256(url.encode("utf-8", "replace")).hexdigest()
    return f"{slug[:50] or 'site'}-{digest[:6]}-{version[:30] or 'latest'}"


@contextmanager
def hold_lock(data: Path, on_wait: Callable[[str], None] | None = None) -> Iterator[None]:
    """Hold the lock of the data folder: one process probes and crawls, so that hosts keep their pace.

    Raises:
        FolderBusyError: Another process holds it, and `on_wait` is missing.
    """
    data.mkdir(0o700, parents=True, exist_ok=True)
    with hold_folder(data, on_wait):
        yield


def free_space(data: Path, keys: set[str]) -> str:
    """Remove unused sites, other than those with some keys, from a store that is too large.

    Returns:
        Why nothing can be crawled; empty if there is room.
    """
    limit = _max_bytes()
    store = data / "store"
    if count_bytes(store) > limit:
        _remove_unused(data, keep=keys)
    size = count_bytes(store)
    if size <= limit:
        return ""
    hint = "run roaming deps gc, or raise ROAMING_DEPS_MAX_BYTES"
    return f"the store has {size / MEGABYTE:.1f} MB, its limit is {limit / MEGABYTE:.1f} MB; {hint}"


def collect_garbage(data: Path) -> list[tuple[str, int]]:
    """Remove sites that no project uses; return their keys and sizes in bytes.

    Raises:
        FolderBusyError: A sync is running.
    """
    with hold_lock(data):
        removed = _remove_unused(data)
        for folder in _find_projects(data)[1]:
            shutil.rmtree(folder)
        return removed


def _remove_unused(data: Path, keep: Iterable[str] = ()) -> list[tuple[str, int]]:
    bucket = open_bucket(data / "store")
    store = data / "store"
    used = {docs.place for project in _find_projects(data)[0] for docs in project.packages} | set(keep)
    keys = [Path(blob.path).stem for blob in bucket.list(RECORDS_DIR)]
    removed = [(key, count_bytes(store / key)) for key in sorted(keys) if key not in used and read_record(bucket, key)]
    if removed:
        drop_sites(bucket.where, [key for key, _ in removed])
        shutil.rmtree(data / "probe", ignore_errors=True)
    return removed


def _find_projects(data: Path) -> tuple[list[Project], list[Path]]:
    """Return the projects, and the views of those that are gone or were not synced for long."""
    projects = list[Project]()
    old = list[Path]()
    for file in data.glob(f"projects/*/{PROJECT_FILE}"):
        with suppress(ValueError):  # a damaged file is written again by the next sync
            project = decode_json(file.read_bytes(), Project)
            is_used = Path(project.root).is_dir() and time.time() - project.synced < _MAX_AGE
            projects.append(project) if is_used else old.append(file.parent)
    return projects, old


def count_bytes(folder: Path) -> int:
    """Return the size of the files in a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _max_bytes() -> int:
    setting = os.environ.get("ROAMING_DEPS_MAX_BYTES") or "2000000000"
    if not setting.isdecimal():
        raise UsageError(f"ROAMING_DEPS_MAX_BYTES={setting}: give a number of bytes")
    return int(setting)


_MAX_AGE = 180 * 86_400.0
"""Age in seconds of its last sync after which a project counts no more."""
