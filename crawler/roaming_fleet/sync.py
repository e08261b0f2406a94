"""A crawled site's folder and its place in an object store: up after a crawl, down where another machine goes on.

Pages go up first, the manifest after them, and what is no more is removed last: a reader in between gets a right slice
or tries again. What the next crawl needs goes into archives beside the sites; what is in them already stays.

    .fleet/state/<key>/known.tar.gz                what was asked, and what was uploaded; written last
    .fleet/state/<key>/<of>-<at>-<digest>.tar.gz   what was answered, read and published: a part of these files each

An archive is named by what it holds: those that were known last stay whole until the new ones are known.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import shutil
import tarfile
import zlib
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from roaming_crawler.publish import read_published_pages
from roaming_crawler.state import STATE_DIR

from mkdocs_roaming.manifest.io import MANIFEST_PATH
from mkdocs_roaming.publish.files import write_atomically
from roaming_fleet.buckets.base import BlobNotFoundError, Bucket, BucketError
from roaming_fleet.leases import Lease, RunStoppedError, StopSignal
from roaming_fleet.records import FLEET_DIR, SiteRecord


@dataclass(frozen=True, slots=True)
class _Uploaded:
    """What a run left in the store: each file's digest and its tag there, and the digests of the archives."""

    run: str = ""
    files: dict[str, list[str]] = field(default_factory=dict)
    archives: dict[str, str] = field(default_factory=dict)


def download_site(bucket: Bucket, key: str, folder: Path, last: SiteRecord | None) -> None:
    """Make a folder what the last crawl left, whichever machine that ran on; one that is as far already stays.

    That may be the one that failed, too, where it came so far. What was uploaded before the site was dropped goes.
    """
    run = _uploaded(folder).run
    if run and last is not None and run in (last.published, last.run):
        return
    if last is None or not last.published:
        if run:
            _emptied(folder)
        return
    _emptied(folder)
    try:
        known = bucket.get(f"{_state(key)}/{_KNOWN}")
        for name in _named(known):
            _unpack(bucket.get(f"{_state(key)}/{name}"), folder)
        _unpack(known, folder)  # says that all of it is there: a process may be killed before
    except (BlobNotFoundError, tarfile.TarError, gzip.BadGzipFile, EOFError, zlib.error):
        _emptied(folder)  # what it remembers is lost: everything is asked for anew


def upload_site(bucket: Bucket, key: str, folder: Path, run: str, claim: Lease, stop: StopSignal | None = None) -> None:
    """Upload what changed since the last upload from this folder's state.

    Raises LostError once the claim is lost, and Stopped between files.
    """
    there = {kept.path.removeprefix(f"{key}/"): kept.tag for kept in bucket.list(key)}
    known = _uploaded(folder)
    digests = {path: hashlib.sha256((folder / path).read_bytes()).hexdigest() for path in _published(folder)}
    wanted = [path for path, digest in digests.items() if known.files.get(path) != [digest, there.get(path)]]

    if wanted:
        try:
            _send(bucket, key, folder, wanted, claim, stop)
        except BucketError:
            _put_back(bucket, key, known, wanted, claim)
            raise
    if gone := [f"{key}/{path}" for path in there if path not in digests]:
        claim.confirm()
        bucket.delete(gone)
    if wanted:
        there = {kept.path.removeprefix(f"{key}/"): kept.tag for kept in bucket.list(key)}
    archives, stale = _archived(bucket, key, folder, claim)
    files = {path: [digest, there.get(path, "")] for path, digest in digests.items()}
    told = json.dumps(asdict(_Uploaded(run, files, archives)), ensure_ascii=False)
    write_atomically(folder / STATE_DIR / _UPLOADED, told.encode("utf-8", "surrogatepass"))
    claim.confirm()
    paths = [path for name in (*_ASKED, _UPLOADED) if (folder / (path := f"{STATE_DIR}/{name}")).exists()]
    bucket.put(f"{_state(key)}/{_KNOWN}", gzip.compress(_packed(folder, paths), _LEVEL, mtime=0))
    claim.check()
    bucket.delete(stale)


def _send(bucket: Bucket, key: str, folder: Path, wanted: Sequence[str], claim: Lease, stop: StopSignal | None) -> None:
    """Upload files, the manifest last."""

    def send(path: str) -> None:
        claim.check()
        if stop and stop.is_set():
            raise RunStoppedError
        bucket.put(f"{key}/{path}", (folder / path).read_bytes())

    claim.confirm()
    with ThreadPoolExecutor(_AT_ONCE) as several:
        list(several.map(send, (path for path in wanted if path != MANIFEST_PATH)))
    claim.confirm()
    if MANIFEST_PATH in wanted:
        send(MANIFEST_PATH)


def _put_back(bucket: Bucket, key: str, known: _Uploaded, wanted: Iterable[str], claim: Lease) -> None:
    """Have the pages be once more what the manifest that is there says, as far as the store takes them."""
    with suppress(BucketError, tarfile.TarError, OSError, EOFError, zlib.error):
        claim.confirm()
        manifest = bucket.get(f"{key}/{MANIFEST_PATH}")
        if hashlib.sha256(manifest).hexdigest() != known.files.get(MANIFEST_PATH, [""])[0]:
            return  # it is the new one, and only the store's answer was lost
        lost: dict[str, list[str]] = {}  # a page may lie in two files
        for path in wanted:
            lost.setdefault(known.files.get(path, [""])[0], []).append(path)
        for name in known.archives:
            with tarfile.open(fileobj=io.BytesIO(bucket.get(f"{_state(key)}/{name}"))) as tar:
                for file in filter(None, map(tar.extractfile, tar)):
                    data = file.read()
                    for path in lost.get(hashlib.sha256(data).hexdigest(), ()):
                        claim.check()
                        bucket.put(f"{key}/{path}", data)


def _archived(bucket: Bucket, key: str, folder: Path, claim: Lease) -> tuple[dict[str, str], list[str]]:
    """Upload those archives that are not there yet; give the digest of each, and what there is of others."""
    there = {kept.path for kept in bucket.list(_state(key))}
    found = {}
    for name, paths in _parts(folder).items():
        data = _packed(folder, paths)
        digest = hashlib.sha256(data).hexdigest()
        found[named := f"{name}-{digest[:16]}.tar.gz"] = digest
        if (path := f"{_state(key)}/{named}") not in there:
            claim.check()
            bucket.put(path, gzip.compress(data, _LEVEL, mtime=0))
    return found, sorted(there - {f"{_state(key)}/{name}" for name in (*found, _KNOWN)})


def _parts(folder: Path) -> dict[str, list[str]]:
    """Give what goes into which archive: by the files' names, so that each holds the same ones next time."""
    remembered = (file for name in _REMEMBERED for file in (folder / STATE_DIR / name).rglob("*") if file.is_file())
    paths = {file.relative_to(folder).as_posix() for file in remembered}
    paths |= {
        path
        for path in (MANIFEST_PATH, *(page.markdown for page in read_published_pages(folder)))
        if (folder / path).is_file()
    }
    size = sum((folder / path).stat().st_size for path in paths)
    parts = 1 << max(0, (size - 1) // _TOGETHER).bit_length()
    found: dict[str, list[str]] = {f"{parts}-{at}": [] for at in range(parts)}
    for path in sorted(paths):
        at = zlib.crc32(path.encode("utf-8", "surrogatepass")) % parts
        found[f"{parts}-{at}"].append(path)
    return found


def _packed(folder: Path, paths: Sequence[str]) -> bytes:
    """Give files as an archive that is the same bytes where they are."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for path in paths:
            data = (folder / path).read_bytes()
            told = tarfile.TarInfo(path)
            told.size = len(data)
            tar.addfile(told, io.BytesIO(data))
    return packed.getvalue()


def _unpack(archive: bytes, folder: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(folder, filter="data")


def _named(known: bytes) -> list[str]:
    """Give the names of the archives that belong to what was asked."""
    with tarfile.open(fileobj=io.BytesIO(known)) as tar:
        names = tar.getnames()
        told = tar.extractfile(path) if (path := f"{STATE_DIR}/{_UPLOADED}") in names else None
        return list(_read(told.read()).archives) if told else []


def _emptied(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)


def _published(folder: Path) -> Iterable[str]:
    for file in sorted(folder.rglob("*")):
        path = file.relative_to(folder)
        if path.parts[0] != STATE_DIR and file.is_file():
            yield path.as_posix()


def _uploaded(folder: Path) -> _Uploaded:
    try:
        return _read((folder / STATE_DIR / _UPLOADED).read_bytes())
    except OSError:
        return _Uploaded()


def _read(told: bytes) -> _Uploaded:
    try:
        found: dict[str, Any] = json.loads(told)
        return _Uploaded(**found)
    except (ValueError, TypeError):
        return _Uploaded()


def _state(key: str) -> str:
    return f"{FLEET_DIR}/state/{key}"


_AT_ONCE = 8
_LEVEL = 3
_TOGETHER = 8 * 2**20
_KNOWN = "known.tar.gz"
_UPLOADED = "uploaded.json"
_ASKED = ("state.json", "journal.jsonl")
_REMEMBERED = ("bodies", "read", "cache")
