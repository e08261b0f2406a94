"""Whether a published site has changed: a conditional request, or a look at the file."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from mkdocs_roaming.buckets import BucketError, in_bucket, open_bucket
from mkdocs_roaming.errors import LibraryError
from mkdocs_roaming.manifest import PATH
from mkdocs_roaming.roam.fetching import SECONDS, Fetching
from mkdocs_roaming.roam.library import Library
from mkdocs_roaming.roam.reading import MANIFEST_CAP, read_file


class Watch(Protocol):
    """Looks at one site again and again."""

    def news(self) -> str | None:
        """Give the digest that the site says it has, empty where it says none; None where it is as at the last look.

        Raises LibraryError where nobody knows.
        """
        ...


def watch(where: str | Path, library: Library, *, seconds: float = SECONDS) -> Watch:
    """Give the watch over the site that a library was opened from; `where` is what it was asked for by. A server has
    so many seconds to answer.
    """
    text = str(where)
    if text.lower().startswith(("http://", "https://")):
        direct = not library.published or urlsplit(text).path.endswith(".json")
        return _Address(text.partition("#")[0] if direct else library.where + PATH, seconds)
    if in_bucket(text):
        return _Object(library.where)
    path = Path(where)
    return _File(path if path.is_file() else Path(library.where) / PATH)


class _File:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[int, int, int] | None = None

    def news(self) -> str | None:
        try:
            found = self._path.stat()
        except OSError as error:
            raise LibraryError(f"{self._path}: cannot be read ({error.strerror})") from None
        now = (found.st_mtime_ns, found.st_size, found.st_ino)
        if now == self._seen:
            return None
        digest = _digest(read_file(self._path, MANIFEST_CAP))
        self._seen = now  # not before it was read: a file that could not be is news at the next look
        return digest


class _Object:
    def __init__(self, where: str) -> None:
        self._where, self._seen = where, ""

    def news(self) -> str | None:
        try:
            bucket = open_bucket(self._where)
            now = next((kept.tag for kept in bucket.list(PATH.rpartition("/")[0]) if kept.path == PATH), "")
            if now and now == self._seen:
                return None
            digest = _digest(bucket.get(PATH))
        except BucketError as error:
            raise LibraryError(str(error)) from None
        self._seen = now
        return digest


class _Address:
    def __init__(self, url: str, seconds: float) -> None:
        self._url = url
        self._known: dict[str, str] = {}
        self._body = b""
        self._fetching = Fetching(seconds=seconds)

    def news(self) -> str | None:
        found = self._fetching.get(self._url, MANIFEST_CAP, self._known)
        if found.status == 304:
            return None
        if found.status != 200:
            raise LibraryError(f"{self._url}: answered {found.status}, not 200")
        headers = found.headers
        self._known = {
            asked: headers[told]
            for told, asked in (("etag", "If-None-Match"), ("last-modified", "If-Modified-Since"))
            if told in headers
        }
        before, self._body = self._body, hashlib.sha256(found.body).digest()
        return None if before == self._body else _digest(found.body)


def _digest(body: bytes) -> str:
    """Give the digest that a manifest says it has."""
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    return str(data.get("digest", "")) if isinstance(data, dict) else ""
