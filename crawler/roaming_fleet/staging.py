"""Where sites are crawled before they are uploaded: a folder for each, that one process has at a time.

SCRATCH/<store>/<key>/lock     locked while somebody is at it
SCRATCH/<store>/<key>/site     goes on to be crawled where a process was killed; gone once it is uploaded, or fails
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

from roaming_crawler.state import try_lock

from mkdocs_roaming.errors import RoamingError
from roaming_fleet.buckets.base import BucketError
from roaming_fleet.leases import LeaseHeldError

STALE_SECONDS = 7 * 24 * 3_600.0
"""How long what a killed process left is kept, for one that goes on with it."""


def default_staging_dir() -> Path:
    """Give where sites are crawled where nobody says otherwise: a folder of this user's."""
    return Path(tempfile.gettempdir()) / f"roaming-crawl-{getattr(os, 'getuid', int)()}"


@contextmanager
def staging_folder(scratch: Path, store: str, key: str) -> Iterator[Path]:
    """Give the folder to crawl a site of a store in. It is kept where a process is killed, or the store fails.

    What the block leaves when it comes to its end, or when the site is at fault, is in the store as well.

    Raises BucketError where the scratch folder is somebody else's or cannot be written to: no site can be crawled then.
    """
    above = scratch / hashlib.sha256(store.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    try:
        for folder in (scratch, above):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _check(folder)
        # Another process may be at one, or stand still.
        handle, place = next(filter(None, (_locked(above / (f"{key}~{at}" if at else key)) for at in count())))
    except OSError as error:
        where = error.filename or scratch
        raise BucketError(f"{where}: cannot be written to ({error.strerror or error})", lasting=True) from None
    try:
        yield place / "site"
        shutil.rmtree(place, ignore_errors=True)
    except (BucketError, LeaseHeldError):
        raise
    except RoamingError:  # else sites that fail for good would fill the disk
        shutil.rmtree(place, ignore_errors=True)
        raise
    finally:
        os.close(handle)


def remove_stale_staging(scratch: Path, now: float | None = None) -> None:
    """Remove what killed processes left long ago, of whatever store."""
    with suppress(OSError):
        for place in [place for above in scratch.iterdir() for place in above.iterdir()]:
            with suppress(OSError):
                if (now or time.time()) - (place / _LOCK).stat().st_mtime > STALE_SECONDS and (lock := _locked(place)):
                    shutil.rmtree(place, ignore_errors=True)
                    os.close(lock[0])


def _locked(place: Path) -> tuple[int, Path] | None:
    """Lock a place; None where another process has it."""
    while True:
        with suppress(FileNotFoundError):  # whoever had it removes it just now
            place.mkdir(exist_ok=True)
            handle = os.open(place / _LOCK, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
            if not try_lock(handle, place / _LOCK):
                os.close(handle)
                return None
            if _same(handle, place / _LOCK):
                os.utime(handle)
                return handle, place
            os.close(handle)


def _same(handle: int, file: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), file.stat())
    except FileNotFoundError:
        return False


def _check(folder: Path) -> None:
    """Raise BucketError for a folder into which somebody else may put what we would upload."""
    if not hasattr(os, "geteuid"):  # Windows
        return
    if folder.stat().st_uid not in (os.geteuid(), 0):
        raise BucketError(f"{folder}: is somebody else's; give a folder of your own: --scratch", lasting=True)


_LOCK = "lock"
