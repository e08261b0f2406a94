"""Staging folders: where sites are crawled before the upload to a bucket. One process uses a folder at a time.

SCRATCH/<store>/<key>/lock     locked while a process uses the folder
SCRATCH/<store>/<key>/site     output of the crawl; removed after the upload, kept if the process is killed
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

from mkdocs_roaming.errors import RoamingError
from roaming_crawler.state import try_lock
from roaming_fleet.buckets import BucketError
from roaming_fleet.lock import LockLostError

STALE_SECONDS = 7 * 24 * 3_600.0
"""Age after which the folder of a killed process is removed."""


def default_staging_dir() -> Path:
    """Return the default folder, one per user."""
    return Path(tempfile.gettempdir()) / f"roaming-crawl-{getattr(os, 'getuid', int)()}"


@contextmanager
def staging_folder(scratch: Path, store: str, key: str) -> Iterator[Path]:
    """Provide a folder for the crawl of a site.

    It is kept if the process is killed, or if the store fails, so that a later run can resume. Otherwise it is removed
    at the end.

    Raises:
        BucketError: The folder belongs to another user or cannot be written to; it is permanent, because no site can
            be crawled.
    """
    parent = scratch / hashlib.sha256(store.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    try:
        for folder in (scratch, parent):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _check_owner(folder)
        # Another process may use the first folder, or be suspended in it.
        candidates = (parent / (f"{key}~{number}" if number else key) for number in count())
        handle, place = next(filter(None, map(_lock, candidates)))
    except OSError as error:
        where = error.filename or scratch
        raise BucketError(f"{where}: cannot be written to ({error.strerror or error})", lasting=True) from None
    try:
        yield place / "site"
        shutil.rmtree(place, ignore_errors=True)
    except (BucketError, LockLostError):
        raise
    except RoamingError:  # sites that fail permanently would fill the disk
        shutil.rmtree(place, ignore_errors=True)
        raise
    finally:
        os.close(handle)


def remove_stale_staging(scratch: Path, now: float | None = None) -> None:
    """Remove old folders of killed processes, for all stores."""
    with suppress(OSError):
        for place in [place for parent in scratch.iterdir() for place in parent.iterdir()]:
            with suppress(OSError):
                age = (now or time.time()) - (place / _LOCK).stat().st_mtime
                if age > STALE_SECONDS and (locked := _lock(place)):
                    shutil.rmtree(place, ignore_errors=True)
                    os.close(locked[0])


def _lock(place: Path) -> tuple[int, Path] | None:
    """Lock a folder; return None if another process has."""
    while True:
        with suppress(FileNotFoundError):  # its last user has just removed it
            place.mkdir(exist_ok=True)
            handle = os.open(place / _LOCK, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
            if not try_lock(handle, place / _LOCK):
                os.close(handle)
                return None
            if _is_same_file(handle, place / _LOCK):
                os.utime(handle)
                return handle, place
            os.close(handle)


def _is_same_file(handle: int, file: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), file.stat())
    except FileNotFoundError:
        return False


def _check_owner(folder: Path) -> None:
    """Raise BucketError for a folder of another user, who could change the files before the upload."""
    if not hasattr(os, "geteuid"):  # Windows
        return
    if folder.stat().st_uid not in (os.geteuid(), 0):
        raise BucketError(f"{folder}: belongs to another user; give your own folder with --scratch", lasting=True)


_LOCK = "lock"
