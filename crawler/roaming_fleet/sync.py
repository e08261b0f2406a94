"""Upload of a crawled site to an object store, and download of its state on another machine.

Pages are uploaded first, then the manifest; removed files are deleted last. A reader in between gets sections that
match their digests, or retries. The state for the next crawl is stored in archives next to the sites; unchanged
archives are not uploaded again.

    .fleet/state/<key>/known.tar.gz                      responses and the list of uploaded files; written last
    .fleet/state/<key>/<parts>-<part>-<digest>.tar.gz    a part of the bodies, parsed pages, Markdown and llms.txt

The name of an archive contains its digest: previous archives stay complete until the new list is written.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import shutil
import tarfile
import tempfile
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from pathlib import Path

import msgspec

from mkdocs_roaming._json import decode_json
from mkdocs_roaming.errors import RoamingError
from mkdocs_roaming.files import write_atomically
from mkdocs_roaming.locks import STATE_DIR, FolderBusyError, hold_folder
from mkdocs_roaming.manifest.io import MANIFEST_PATH
from mkdocs_roaming.manifest.models import LLMS_TXT
from roaming_crawler.publish import read_published_pages
from roaming_fleet.buckets import BlobNotFoundError, Bucket, BucketError
from roaming_fleet.lock import LockLostError, LockWatch
from roaming_fleet.records import FLEET_DIR, SiteRecord


class _Upload(msgspec.Struct, frozen=True):
    """What a run uploaded: digest and tag of each file, and the digest of each archive."""

    run: str = ""
    files: dict[str, list[str]] = {}
    archives: dict[str, str] = {}


def download_site(bucket: Bucket, key: str, folder: Path, last: SiteRecord) -> None:
    """Restore the state of the last crawl in a folder, whichever machine it ran on.

    A folder with the state of the last successful or the last run is kept. A site that was dropped is removed.
    """
    run = _read_upload(folder).run
    if run and run in (last.published, last.run):
        return
    if run or last.published:
        _clear(folder)
    if not last.published:
        return
    try:
        known = bucket.get(f"{_state_dir(key)}/{_KNOWN}")
        with tarfile.open(fileobj=io.BytesIO(known)) as tar:
            listed = tar.extractfile(f"{STATE_DIR}/{_UPLOADED}")
            archives = _parse_upload(listed.read() if listed else b"").archives
        for name in archives:
            _unpack(bucket.get(f"{_state_dir(key)}/{name}"), folder)
        _unpack(known, folder)  # last, because it marks the state as complete
    except (BlobNotFoundError, KeyError, tarfile.TarError, gzip.BadGzipFile, EOFError, zlib.error):
        _clear(folder)  # the state is damaged: all pages are fetched again


def upload_site(bucket: Bucket, key: str, folder: Path, run: str, lock: LockWatch) -> None:
    """Upload the changes since the last upload from this folder.

    Raises:
        LockLostError: The run was stopped.
        BucketError: The store failed; uploaded pages are restored if possible.
    """
    tags = _list_tags(bucket, key)
    last = _read_upload(folder)
    digests = {path: hashlib.sha256((folder / path).read_bytes()).hexdigest() for path in _list_published(folder)}
    changed = [path for path, digest in digests.items() if last.files.get(path) != [digest, tags.get(path)]]

    if changed:
        try:
            _upload_files(bucket, key, folder, changed, lock)
        except BucketError:
            _restore_files(bucket, key, last, changed, lock)
            raise
    if removed := [f"{key}/{path}" for path in tags if path not in digests]:
        lock.confirm()
        bucket.delete(removed)
    if changed:
        tags = _list_tags(bucket, key)
    archives, stale = _upload_archives(bucket, key, folder, lock)
    files = {path: [digest, tags.get(path, "")] for path, digest in digests.items()}
    write_atomically(folder / STATE_DIR / _UPLOADED, msgspec.json.encode(_Upload(run, files, archives)))
    lock.confirm()
    paths = [path for name in (*_RESPONSES, _UPLOADED) if (folder / (path := f"{STATE_DIR}/{name}")).exists()]
    bucket.put(f"{_state_dir(key)}/{_KNOWN}", gzip.compress(_pack(folder, paths), _COMPRESSION, mtime=0))
    lock.check()
    bucket.delete(stale)


def _upload_files(bucket: Bucket, key: str, folder: Path, paths: Sequence[str], lock: LockWatch) -> None:
    """Upload files, the manifest last."""

    def upload(path: str) -> None:
        lock.check()
        bucket.put(f"{key}/{path}", (folder / path).read_bytes())

    lock.confirm()
    with ThreadPoolExecutor(_THREADS) as threads:
        list(threads.map(upload, (path for path in paths if path != MANIFEST_PATH)))
    lock.confirm()
    if MANIFEST_PATH in paths:
        upload(MANIFEST_PATH)


def _restore_files(bucket: Bucket, key: str, last: _Upload, paths: Iterable[str], lock: LockWatch) -> None:
    """Restore the files that the stored manifest describes, from the archives, as far as the store allows."""
    with suppress(BucketError, tarfile.TarError, OSError, EOFError, zlib.error):
        lock.confirm()
        manifest = bucket.get(f"{key}/{MANIFEST_PATH}")
        if hashlib.sha256(manifest).hexdigest() != last.files.get(MANIFEST_PATH, [""])[0]:
            return  # it is the new one, and only the store's response was lost
        paths_by_digest: dict[str, list[str]] = {}  # a page may be two files
        for path in paths:
            paths_by_digest.setdefault(last.files.get(path, [""])[0], []).append(path)
        for name in last.archives:
            with tarfile.open(fileobj=io.BytesIO(bucket.get(f"{_state_dir(key)}/{name}"))) as tar:
                for file in filter(None, map(tar.extractfile, tar)):
                    data = file.read()
                    for path in paths_by_digest.get(hashlib.sha256(data).hexdigest(), ()):
                        lock.check()
                        bucket.put(f"{key}/{path}", data)


def _upload_archives(bucket: Bucket, key: str, folder: Path, lock: LockWatch) -> tuple[dict[str, str], list[str]]:
    """Upload new archives. Return the digests of all current archives, and the paths of old ones."""
    existing = {blob.path for blob in bucket.list(_state_dir(key))}
    archives = {}
    for part, paths in _partition_state(folder).items():
        data = _pack(folder, paths)
        digest = hashlib.sha256(data).hexdigest()
        archives[name := f"{part}-{digest[:16]}.tar.gz"] = digest
        if (path := f"{_state_dir(key)}/{name}") not in existing:
            lock.check()
            bucket.put(path, gzip.compress(data, _COMPRESSION, mtime=0))
    return archives, sorted(existing - {f"{_state_dir(key)}/{name}" for name in (*archives, _KNOWN)})


def _partition_state(folder: Path) -> dict[str, list[str]]:
    """Distribute files over archives by a hash of their names, so that a file stays in its archive."""
    state = (file for name in _STATE_FOLDERS for file in (folder / STATE_DIR / name).rglob("*") if file.is_file())
    paths = {file.relative_to(folder).as_posix() for file in state}
    pages = (page.markdown for page in read_published_pages(folder))
    paths |= {path for path in (MANIFEST_PATH, LLMS_TXT, *pages) if (folder / path).is_file()}
    size = sum((folder / path).stat().st_size for path in paths)
    parts = 1 << max(0, (size - 1) // _ARCHIVE_BYTES).bit_length()
    found: dict[str, list[str]] = {f"{parts}-{part}": [] for part in range(parts)}
    for path in sorted(paths):
        part = zlib.crc32(path.encode("utf-8", "surrogatepass")) % parts
        found[f"{parts}-{part}"].append(path)
    return found


def _pack(folder: Path, paths: Sequence[str]) -> bytes:
    """Return a reproducible archive of files."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for path in paths:
            data = (folder / path).read_bytes()
            info = tarfile.TarInfo(path)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return packed.getvalue()


def _unpack(archive: bytes, folder: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(folder, filter="data")


def _list_tags(bucket: Bucket, key: str) -> dict[str, str]:
    return {blob.path.removeprefix(f"{key}/"): blob.tag for blob in bucket.list(key)}


def _clear(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)


def _list_published(folder: Path) -> Iterable[str]:
    for file in sorted(folder.rglob("*")):
        path = file.relative_to(folder)
        if path.parts[0] != STATE_DIR and file.is_file():
            yield path.as_posix()


def _read_upload(folder: Path) -> _Upload:
    try:
        return _parse_upload((folder / STATE_DIR / _UPLOADED).read_bytes())
    except OSError:
        return _Upload()


def _parse_upload(data: bytes) -> _Upload:
    try:
        return decode_json(data, _Upload)
    except ValueError:
        return _Upload()


def _state_dir(key: str) -> str:
    return f"{FLEET_DIR}/state/{key}"


_THREADS = 8
_COMPRESSION = 3
_ARCHIVE_BYTES = 8 * 2**20
_KNOWN = "known.tar.gz"
_UPLOADED = "uploaded.json"
_RESPONSES = ("state.json", "journal.jsonl")
_STATE_FOLDERS = ("bodies", "read", "cache")


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
    with ExitStack() as stack:
        try:
            for folder in (scratch, parent):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                _check_owner(folder)
            # Another process may use the first folder, or be suspended in it.
            candidates = (parent / (f"{key}~{number}" if number else key) for number in count())
            place = next(place for place in candidates if _lock(place, stack))
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


def remove_stale_staging(scratch: Path, now: float | None = None) -> None:
    """Remove old folders of killed processes, for all stores."""
    with suppress(OSError):
        for place in [place for parent in scratch.iterdir() for place in parent.iterdir()]:
            with suppress(OSError), ExitStack() as stack:
                age = (now or time.time()) - (place / STATE_DIR).stat().st_mtime
                if age > STALE_SECONDS and _lock(place, stack):
                    shutil.rmtree(place, ignore_errors=True)


def _lock(place: Path, stack: ExitStack) -> bool:
    """Lock a folder until the stack is closed; return False if another process has, or has just removed it."""
    (place / STATE_DIR).mkdir(parents=True, exist_ok=True)  # so that the lock is in it: machines may share the disk
    try:
        stack.enter_context(hold_folder(place))
    except (FolderBusyError, FileNotFoundError):
        return False
    return True


def _check_owner(folder: Path) -> None:
    """Raise BucketError for a folder of another user, who could change the files before the upload."""
    if not hasattr(os, "geteuid"):  # Windows
        return
    if folder.stat().st_uid not in (os.geteuid(), 0):
        raise BucketError(f"{folder}: belongs to another user; give your own folder with --scratch", lasting=True)
