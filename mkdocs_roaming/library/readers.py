"""Where a library's bytes come from: a folder, a web site, or memory. No path of a manifest is believed."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import quote, urljoin

from mkdocs_roaming._http import FETCH_TIMEOUT, HttpClient
from mkdocs_roaming.errors import LibraryError
from mkdocs_roaming.manifest.io import MANIFEST_PATH

MAX_MANIFEST_BYTES = 256 * 2**20
MAX_MARKDOWN_BYTES = 64 * 2**20
LLMS_FULL = "llms-full.txt"


class MissingFileError(LibraryError):
    """There is nothing at this place."""


class Reader(Protocol):
    """Gives a published site's files; `where` names the site in messages."""

    where: str
    is_remote: bool
    """Whether it is worth fetching much at once."""

    def manifest(self, cache_key: str = "") -> bytes:
        """Give the manifest's JSON; `again` gets past caches on the way."""
        ...

    def file(self, path: str, cache_key: str = "") -> bytes:
        """Give a Markdown file, its path below the site's root."""
        ...

    def version(self) -> str:
        """Return a text that changes with the manifest."""
        ...


class FolderReader:
    """A published site in a folder."""

    is_remote = False

    def __init__(self, root: Path, *, where: str = "") -> None:
        self.root = root.resolve()
        self.where = where or str(root)

    def manifest(self, cache_key: str = "") -> bytes:
        """Give roaming/manifest.json."""
        return read_file(self.root / MANIFEST_PATH, MAX_MANIFEST_BYTES)

    def file(self, path: str, cache_key: str = "") -> bytes:
        """Give a file that lies in the folder, symlinks resolved."""
        try:
            found = (self.root / safe_path(path, self.where)).resolve()
        except (OSError, RuntimeError, ValueError):
            raise LibraryError(f"{self.where}: the manifest names a path that cannot be: {path[:200]!r}") from None
        if not found.is_relative_to(self.root):
            raise LibraryError(f"{self.where}: {path} leads out of the folder; it is not read")
        return read_file(found, MAX_MARKDOWN_BYTES)

    def version(self) -> str:
        """Return the digest of the manifest's bytes."""
        return hashlib.sha256(self.manifest()).hexdigest()


class MemoryReader:
    """Files that are already here."""

    is_remote = False

    def __init__(self, files: Mapping[str, bytes], manifest: bytes = b"", *, where: str) -> None:
        self.files, self._manifest, self.where = files, manifest, where

    def manifest(self, cache_key: str = "") -> bytes:
        """Give the manifest that it was made with."""
        return self._manifest

    def file(self, path: str, cache_key: str = "") -> bytes:
        """Give a file's bytes."""
        if path not in self.files:
            raise MissingFileError(f"{self.where}: no {path}")
        return self.files[path]

    def version(self) -> str:
        """Return the digest of the manifest's bytes."""
        return hashlib.sha256(self._manifest).hexdigest()


@dataclass(frozen=True, slots=True)
class WebResponse:
    """What an address answered, and which one it was in the end."""

    body: bytes
    url: str
    kind: str


class WebReader:
    """A published site over HTTP. `root` is its address and ends in a slash."""

    is_remote = True

    def __init__(self, root: str, *, seconds: float = FETCH_TIMEOUT) -> None:
        self.root = self.where = root
        self._fetching = HttpClient(seconds=seconds)

    def manifest(self, cache_key: str = "") -> bytes:
        """Give the manifest below the root."""
        return self.get(self.root + MANIFEST_PATH + cache_key, MAX_MANIFEST_BYTES).body

    def file(self, path: str, cache_key: str = "") -> bytes:
        """Give a file below the root."""
        path = safe_path(path, self.where)
        return self.get(
            self.root + quote(path, safe=_SAFE) + (f"?v={cache_key}" if cache_key else ""), MAX_MARKDOWN_BYTES
        ).body

    def version(self) -> str:
        """Return the digest of the manifest's bytes."""
        return hashlib.sha256(self.manifest()).hexdigest()

    def get(self, url: str, cap: int) -> WebResponse:
        """Fetch an address, at most `cap` bytes as they unpack, redirects followed."""
        found = self._fetching.get(url, cap)
        if found.status in (404, 410):
            raise MissingFileError(f"{url}: not found ({found.status})")
        if found.status != 200:
            raise LibraryError(f"{url}: answered {found.status}, not 200")
        return WebResponse(found.body, found.url, found.headers.get("content-type", ""))


def read_file(path: Path, cap: int) -> bytes:
    """Give a file's bytes, at most `cap` of them."""
    try:
        if not path.is_file():
            raise MissingFileError(f"{path}: no such file")
        with path.open("rb") as file:
            data = file.read(cap + 1)
    except (OSError, ValueError) as error:
        raise LibraryError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})") from None
    if len(data) > cap:
        raise LibraryError(f"{path}: more than {cap // 2**20} MB; refused")
    return data


def safe_path(path: str, where: str) -> str:
    """Give a path that stays below the root it is joined to; refuse any other."""
    parts = re.split(r"[/\\]", path)
    # `Help:Contents.md` is a file's name; `http:/…` and `C:…` are not.
    if not path or ".." in parts or not parts[0] or "\0" in path or _SCHEME.match(path):
        raise LibraryError(f"{where}: the manifest names a path outside of the site: {path[:200]!r}; it is not read")
    return path


def parent_url(url: str) -> str:
    """Give the address of the folder that a file's address lies in, with its slash."""
    return urljoin(url, ".")


_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[/\\]|[A-Za-z]:")
_SAFE = "/-._~!$&'()*+,;=:@"
