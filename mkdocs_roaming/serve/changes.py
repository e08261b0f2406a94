"""Whether a published site has changed: a conditional request, or a look at the file."""

from __future__ import annotations

import hashlib
import json
import weakref
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from mkdocs_roaming.buckets import BucketError, in_bucket, open_bucket
from mkdocs_roaming.errors import LibraryError
from mkdocs_roaming.manifest import PATH
from mkdocs_roaming.roam.library import Library
from mkdocs_roaming.roam.reading import MANIFEST_CAP, read_file

SECONDS = 30.0
"""The longest that a server may be silent."""


class Watch(Protocol):
    """Looks at one site again and again."""

    def news(self) -> str | None:
        """Give the digest that the site says it has, empty where it says none; None where it is as at the last look.

        Raises LibraryError where nobody knows.
        """
        ...


def watch(where: str | Path, library: Library) -> Watch:
    """Give the watch over the site that a library was opened from; `where` is what it was asked for by."""
    text = str(where)
    if text.lower().startswith(("http://", "https://")):
        direct = not library.published or urlsplit(text).path.endswith(".json")
        return _Address(text.partition("#")[0] if direct else library.where + PATH)
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
    def __init__(self, url: str) -> None:
        import httpx2  # only for those who read from the web

        from mkdocs_roaming import __version__

        self._url = url
        self._known: dict[str, str] = {}
        self._body = b""
        self._client = httpx2.Client(
            follow_redirects=True,
            timeout=httpx2.Timeout(SECONDS, connect=10.0),
            headers={"User-Agent": f"mkdocs-roaming/{__version__}"},
        )
        weakref.finalize(self, self._client.close)

    def news(self) -> str | None:
        import httpx2

        try:
            with self._client.stream("GET", self._url, headers=self._known) as response:
                if response.status_code == 304:
                    return None
                if response.status_code != 200:
                    raise LibraryError(f"{self._url}: answered {response.status_code}, not 200")
                body = bytearray()
                for piece in response.iter_bytes():
                    body += piece
                    if len(body) > MANIFEST_CAP:
                        raise LibraryError(f"{self._url}: more than {MANIFEST_CAP // 2**20} MB; refused")
                headers = response.headers
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
            why = " ".join(str(error).split())[:200] or type(error).__name__
            raise LibraryError(f"{self._url}: cannot be fetched ({why})") from None
        self._known = {
            asked: headers[told]
            for told, asked in (("etag", "If-None-Match"), ("last-modified", "If-Modified-Since"))
            if told in headers
        }
        before, self._body = self._body, hashlib.sha256(body).digest()
        return None if before == self._body else _digest(bytes(body))


def _digest(body: bytes) -> str:
    """Give the digest that a manifest says it has."""
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    return str(data.get("digest", "")) if isinstance(data, dict) else ""
