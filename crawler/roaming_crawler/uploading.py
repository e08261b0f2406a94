"""A crawled site's folder and its place in an object store: up after a crawl, down where another machine goes on.

Pages go up first, the manifest after them, and what is no more is removed last: a reader in between gets a right slice
or tries again. What the crawl remembers goes into one archive beside the sites.
"""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import tarfile
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from mkdocs_roaming.buckets import Bucket, Nothing
from mkdocs_roaming.catalogue.records import FLEET, Record
from mkdocs_roaming.manifest import PATH
from mkdocs_roaming.publish.files import inside, write_atomically
from roaming_crawler.claims import Claim
from roaming_crawler.store import STATE

_AT_ONCE = 8
_UPLOADED = "uploaded.json"
_REMEMBERED = ("state.json", "journal.jsonl", "bodies", _UPLOADED)


def bring_down(bucket: Bucket, key: str, folder: Path, last: Record | None) -> None:
    """Make a folder what the last crawl left, whichever machine that ran on; one that is as far already stays."""
    if last is None or not last.published or _known(folder).get("run") == last.published:
        return
    shutil.rmtree(folder, ignore_errors=True)
    try:
        archive = bucket.get(_archive(key))
    except Nothing:
        return  # what it remembers is lost: everything is asked for anew
    (folder / STATE).mkdir(parents=True)
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(folder / STATE, filter="data")
    paths = [kept.path for kept in bucket.list(key)]
    with ThreadPoolExecutor(_AT_ONCE) as several:
        list(several.map(lambda path: _fetch(bucket, path, inside(folder, path.removeprefix(f"{key}/"))), paths))


def bring_up(bucket: Bucket, key: str, folder: Path, run: str, claim: Claim) -> None:
    """Upload what changed since the last upload from this folder's state."""
    there = {kept.path.removeprefix(f"{key}/"): kept.size for kept in bucket.list(key)}
    known = _known(folder).get("files", {})
    digests = {path: hashlib.sha256((folder / path).read_bytes()).hexdigest() for path in _files(folder)}
    wanted = [
        path
        for path, digest in digests.items()
        if path not in there or known.get(path) != digest or there[path] != (folder / path).stat().st_size
    ]
    with ThreadPoolExecutor(_AT_ONCE) as several:
        list(several.map(lambda path: _send(bucket, key, folder, path), (path for path in wanted if path != PATH)))
    claim.check()
    if PATH in wanted:
        _send(bucket, key, folder, PATH)
    bucket.delete(f"{key}/{path}" for path in there if path not in digests)
    told = json.dumps({"run": run, "files": digests}).encode("utf-8", "surrogatepass")
    write_atomically(folder / STATE / _UPLOADED, told)
    with tempfile.TemporaryFile() as file:
        with tarfile.open(fileobj=file, mode="w:gz", compresslevel=3) as tar:
            for name in _REMEMBERED:
                if (folder / STATE / name).exists():
                    tar.add(folder / STATE / name, name)
        file.seek(0)
        bucket.put(_archive(key), file.read())


def _files(folder: Path) -> Iterable[str]:
    for file in sorted(folder.rglob("*")):
        path = file.relative_to(folder)
        if path.parts[0] != STATE and file.is_file():
            yield path.as_posix()


def _send(bucket: Bucket, key: str, folder: Path, path: str) -> None:
    bucket.put(f"{key}/{path}", (folder / path).read_bytes())


def _fetch(bucket: Bucket, path: str, file: Path) -> None:
    write_atomically(file, bucket.get(path))


def _known(folder: Path) -> dict[str, Any]:
    try:
        found = json.loads((folder / STATE / _UPLOADED).read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _archive(key: str) -> str:
    return f"{FLEET}/state/{key}.tar.gz"
