"""Upload of a crawled site to an object store, and download of its state on any machine.

Pages are uploaded first, then the manifest; removed files are deleted last. A reader in between gets sections that
match their digests, or retries. The state for the next crawl is stored in two archives next to the sites:

    .fleet/state/<key>/known.tar.gz           responses and the list of uploaded files; written last
    .fleet/state/<key>/pages-<digest>.tar.gz  bodies, parsed pages, Markdown and llms.txt

The previous pages stay complete until the new list is written; unchanged ones are not uploaded again.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import shutil
import tarfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from mkdocs_roaming._json import decode_json
from mkdocs_roaming.files import write_atomically
from mkdocs_roaming.locks import STATE_DIR
from mkdocs_roaming.manifest.io import MANIFEST_PATH
from mkdocs_roaming.manifest.models import LLMS_TXT
from roaming_crawler.state import read_published_pages
from roaming_fleet.buckets import BlobNotFoundError, BucketError
from roaming_fleet.lock import LockWatch
from roaming_fleet.objects import Bucket
from roaming_fleet.records import FLEET_DIR


class _Upload(msgspec.Struct, frozen=True):
    """What a run uploaded: digest and tag of each file, and the path of the archive of pages."""

    files: dict[str, list[str]] = {}
    archive: str = f"{FLEET_DIR}/none"


@contextmanager
def staging_folder(scratch: Path) -> Iterator[Path]:
    """Provide a folder for the crawl of a site before its upload.

    Raises:
        BucketError: It cannot be created; the error is lasting, because no site can be crawled.
    """
    try:
        scratch.mkdir(parents=True, exist_ok=True)
        folder = TemporaryDirectory(prefix="roaming-crawl-", dir=scratch, ignore_cleanup_errors=True)
    except OSError as error:
        where = error.filename or scratch
        raise BucketError(f"{where}: cannot be written to ({error.strerror or error})", lasting=True) from None
    with folder as place:
        yield Path(place)


def download_site(bucket: Bucket, key: str, folder: Path) -> None:
    """Restore the state of the last crawl in an empty folder, whichever machine it ran on."""
    try:
        _unpack(bucket.get(_known_path(key)), folder)
        _unpack(bucket.get(_read_upload(folder).archive), folder)
    except (BlobNotFoundError, tarfile.TarError, gzip.BadGzipFile, EOFError, zlib.error):
        shutil.rmtree(folder)  # it is damaged: all pages are fetched again


def upload_site(bucket: Bucket, key: str, folder: Path, lock: LockWatch) -> None:
    """Upload the changes since the last upload.

    Raises:
        LockLostError: The run was stopped.
        BucketError: The store failed; the next upload completes this one.
    """
    tags = _list_tags(bucket, key)
    last = _read_upload(folder)
    digests = {path: hashlib.sha256((folder / path).read_bytes()).hexdigest() for path in _list_published(folder)}
    changed = [path for path, digest in digests.items() if last.files.get(path) != [digest, tags.get(path)]]
    if changed:
        _upload_files(bucket, key, folder, changed, lock)
    if removed := [f"{key}/{path}" for path in tags if path not in digests]:
        lock.confirm()
        bucket.delete(removed)
    if changed:
        tags = _list_tags(bucket, key)
    pages = _pack(folder, _list_state(folder))
    archive = f"{_state_dir(key)}/pages-{hashlib.sha256(pages).hexdigest()[:16]}.tar.gz"
    existing = {blob.path for blob in bucket.list(_state_dir(key))}
    if archive not in existing:
        lock.check()
        bucket.put(archive, pages)
    files = {path: [digest, tags.get(path, "")] for path, digest in digests.items()}
    write_atomically(folder / STATE_DIR / _UPLOADED, msgspec.json.encode(_Upload(files, archive)))
    responses = [f"{STATE_DIR}/{name}" for name in (*_RESPONSES, _UPLOADED)]
    lock.confirm()
    bucket.put(_known_path(key), _pack(folder, [path for path in responses if (folder / path).exists()]))
    lock.check()
    bucket.delete(sorted(existing - {archive, _known_path(key)}))


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


def _list_state(folder: Path) -> list[str]:
    """Return the files that the next crawl reads, except the responses."""
    state = (file for name in _STATE_FOLDERS for file in (folder / STATE_DIR / name).rglob("*") if file.is_file())
    pages = (page.markdown for page in read_published_pages(folder))
    published = [path for path in (MANIFEST_PATH, LLMS_TXT, *pages) if (folder / path).is_file()]
    return sorted({*published, *(file.relative_to(folder).as_posix() for file in state)})


def _pack(folder: Path, paths: Sequence[str]) -> bytes:
    """Return a reproducible archive of files."""
    packed = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=_COMPRESSION, mtime=0) as file,
        tarfile.open(fileobj=file, mode="w") as tar,
    ):
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


def _list_published(folder: Path) -> Iterable[str]:
    for file in sorted(folder.rglob("*")):
        path = file.relative_to(folder)
        if path.parts[0] != STATE_DIR and file.is_file():
            yield path.as_posix()


def _read_upload(folder: Path) -> _Upload:
    try:
        return decode_json((folder / STATE_DIR / _UPLOADED).read_bytes(), _Upload)
    except (OSError, ValueError):
        return _Upload()


def _state_dir(key: str) -> str:
    return f"{FLEET_DIR}/state/{key}"


def _known_path(key: str) -> str:
    return f"{_state_dir(key)}/known.tar.gz"


_THREADS = 8
_COMPRESSION = 3
_UPLOADED = "uploaded.json"
_RESPONSES = ("state.json", "journal.jsonl")
_STATE_FOLDERS = ("bodies", "read", "cache")
