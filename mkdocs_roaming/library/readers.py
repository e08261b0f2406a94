"""Sources of a library's files: a folder, a web site, memory.

Paths come from the manifest, which may be somebody else's: each is validated before it is read.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol
from urllib.parse import quote, urljoin

from mkdocs_roaming._http import FETCH_TIMEOUT, HttpClient, HttpResponse
from mkdocs_roaming.errors import LibraryError
from mkdocs_roaming.manifest.io import MANIFEST_PATH

MAX_MANIFEST_BYTES = 256 * 2**20
MAX_MARKDOWN_BYTES = 64 * 2**20
LLMS_FULL = "llms-full.txt"

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[/\\]|[A-Za-z]:")
_SAFE = "/-._~!$&'()*+,;=:@"


class MissingFileError(LibraryError):
    """The file does not exist, where other files may."""


class Reader(Protocol):
    """A source of the files of one published site. All methods raise LibraryError if they cannot read."""

    where: str
    """The folder or address, for messages."""
    is_remote: bool
    """Whether reads wait for a network."""

    def manifest(self, cache_key: str = "") -> bytes:
        """Return the manifest's JSON; `cache_key` is a query (`?v=…`) that bypasses HTTP caches."""
        ...

    def file(self, path: str, cache_key: str = "") -> bytes:
        """Return a file by its path below the site's root; `cache_key` bypasses HTTP caches."""
        ...

    def version(self) -> str:
        """Return a text that changes when the manifest changes."""
        ...


class FolderReader:
    """A published site in a folder."""

    is_remote = False

    def __init__(self, root: Path) -> None:
        self.root, self.where = root.resolve(), str(root)

    def manifest(self, cache_key: str = "") -> bytes:
        """Return the manifest's JSON."""
        return read_file(self.root / MANIFEST_PATH, MAX_MANIFEST_BYTES)

    def file(self, path: str, cache_key: str = "") -> bytes:
        """Return a file in the folder; a symbolic link may not lead out of it."""
        try:
            resolved = (self.root / safe_path(path, self.where)).resolve()
        except (OSError, RuntimeError, ValueError):
            raise LibraryError(f"{self.where}: the manifest contains an invalid path: {path[:200]!r}") from None
        if not resolved.is_relative_to(self.root):
            raise LibraryError(f"{self.where}: {path} leads out of the folder; it is not read")
        return read_file(resolved, MAX_MARKDOWN_BYTES)

    def version(self) -> str:
        """Return the digest of the manifest's bytes."""
        return hashlib.sha256(self.manifest()).hexdigest()


class MemoryReader:
    """Files in memory."""

    is_remote = False

    def __init__(self, files: Mapping[str, bytes], manifest: bytes = b"", *, where: str) -> None:
        self.files, self._manifest, self.where = files, manifest, where

    def manifest(self, cache_key: str = "") -> bytes:
        """Return the manifest's JSON; empty if none was given."""
        return self._manifest

    def file(self, path: str, cache_key: str = "") -> bytes:
        """Return a file."""
        if path not in self.files:
            raise MissingFileError(f"{self.where}: no {path}")
        return self.files[path]

    def version(self) -> str:
        """Return the digest of the manifest's bytes."""
        return hashlib.sha256(self._manifest).hexdigest()


class WebReader:
    """A published site over HTTP. `root` is its URL and ends in a slash."""

    is_remote = True

    def __init__(self, root: str, *, seconds: float = FETCH_TIMEOUT) -> None:
        self.root = self.where = root
        self._client = HttpClient(seconds=seconds)

    def manifest(self, cache_key: str = "") -> bytes:
        """Return the manifest's JSON."""
        return self.get(self.root + MANIFEST_PATH + cache_key, MAX_MANIFEST_BYTES).body

    def file(self, path: str, cache_key: str = "") -> bytes:
        """Return a file below the root."""
        url = self.root + quote(safe_path(path, self.where), safe=_SAFE)
        return self.get(f"{url}?v={cache_key}" if cache_key else url, MAX_MARKDOWN_BYTES).body

    def version(self) -> str:
        """Return the digest of the manifest's bytes."""
        return hashlib.sha256(self.manifest()).hexdigest()

    def get(self, url: str, max_bytes: int) -> HttpResponse:
        """Fetch a URL, following redirects.

        Args:
            url: Any http(s) URL.
            max_bytes: Maximum size of the decompressed body.

        Raises:
            MissingFileError: The status is 404 or 410.
            LibraryError: There is no response, a larger one, or one with another status than 200.
        """
        response = self._client.get(url, max_bytes)
        if response.status in (404, 410):
            raise MissingFileError(f"{url}: not found ({response.status})")
        if response.status != 200:
            raise LibraryError(f"{url}: the server answered {response.status}, not 200")
        return response


def read_file(path: Path, max_bytes: int) -> bytes:
    """Return the bytes of a regular file.

    Raises:
        MissingFileError: There is no such file.
        LibraryError: The file cannot be read, or is larger than `max_bytes`.
    """
    try:
        if not path.is_file():
            raise MissingFileError(f"{path}: no such file")
        with path.open("rb") as file:
            data = file.read(max_bytes + 1)
    except (OSError, ValueError) as error:
        raise LibraryError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})") from None
    if len(data) > max_bytes:
        raise LibraryError(f"{path}: larger than {max_bytes // 2**20} MB")
    return data


def safe_path(path: str, where: str) -> str:
    """Return a path that stays below the root it is joined to.

    Raises:
        LibraryError: The path is absolute, climbs up, or is no path.
    """
    parts = re.split(r"[/\\]", path)
    # `Help:Contents.md` is a valid file name; `http:/…` and `C:…` are not.
    if not path or ".." in parts or not parts[0] or "\0" in path or _SCHEME.match(path):
        raise LibraryError(f"{where}: the manifest contains a path outside of the site: {path[:200]!r}")
    return path


def parent_url(url: str) -> str:
    """Return the URL of the folder that contains a file, with a trailing slash."""
    return urljoin(url, ".")
