"""The store of all projects' sites: keys of copies, lock, size, and removal of what no project uses."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from mkdocs_roaming._json import decode_json
from mkdocs_roaming.errors import UsageError
from roaming_crawler.config import MEGABYTE
from roaming_crawler.versions import locate_version
from roaming_deps.project import PROJECT_FILE, Project
from roaming_fleet.cli import drop_sites
from roaming_fleet.folder import StoreFolder
from roaming_fleet.records import RECORDS_DIR, read_record


def make_key(url: str, documented: str) -> str:
    """Return the key of the copy of a site while it documents a version."""
    _, base = locate_version(url)
    slug = _make_slug(base.partition("://")[2])[:_MAX_SLUG_CHARS]
    version = _make_slug(documented)[:_MAX_VERSION_CHARS]
    digest = hashlib.sha256(url.encode("utf-8", "replace")).hexdigest()[:6]
    return f"{slug or 'site'}-{digest}-{version or 'latest'}"


def _make_slug(text: str) -> str:
    return _NOT_IN_KEYS.sub("-", text.lower()).strip("-.")


def free_space(data: Path, keys: set[str]) -> str:
    """Remove unused sites, other than those with some keys, from a store that is too large.

    Returns:
        Why nothing can be crawled; empty if there is room.
    """
    setting = os.environ.get("ROAMING_DEPS_MAX_BYTES") or str(_MAX_BYTES)
    if not setting.isdecimal():
        raise UsageError(f"ROAMING_DEPS_MAX_BYTES={setting}: give a number of bytes")
    limit = int(setting)
    store = data / "store"
    if count_bytes(store) > limit:
        _remove_unused(data, keys)
    size = count_bytes(store)
    if size <= limit:
        return ""
    limits = f"{size / MEGABYTE:.1f} MB, its limit is {limit / MEGABYTE:.1f} MB"
    return f"the store has {limits}; repeat the command, or raise ROAMING_DEPS_MAX_BYTES"


def _remove_unused(data: Path, keep: Iterable[str]) -> None:
    """Remove the sites that no project uses, and the views of projects that are gone or were not synced for long."""
    store = StoreFolder(data / "store")
    used = set(keep)
    for file in data.glob(f"projects/*/{PROJECT_FILE}"):
        with suppress(ValueError):  # a damaged file is written again by the next sync
            project = decode_json(file.read_bytes(), Project)
            if Path(project.root).is_dir() and time.time() - project.synced < _MAX_AGE:
                used.update(docs.place for docs in project.packages)
            else:
                shutil.rmtree(file.parent)
    keys = sorted(Path(file.path).stem for file in store.list(RECORDS_DIR))
    unused = [key for key in keys if key not in used and read_record(store, key)]
    if unused:
        drop_sites(store.where, unused)
        shutil.rmtree(data / "probe", ignore_errors=True)


def count_bytes(folder: Path) -> int:
    """Return the size of the files in a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


_MAX_BYTES = 2_000_000_000
_MAX_AGE = 180 * 86_400.0
"""Age in seconds of its last sync after which a project counts no more."""
_MAX_SLUG_CHARS = 50
_MAX_VERSION_CHARS = 30
USER_ONLY = 0o700
"""The mode of a folder that no other user may enter."""
_NOT_IN_KEYS = re.compile(r"[^a-z0-9.]+")
"""What becomes a dash in keys: the slash in `docs.example/kite`."""
