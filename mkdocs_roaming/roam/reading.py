"""Where a library's bytes come from: a folder, a web site, or memory. No path of a manifest is believed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import quote, urljoin

from mkdocs_roaming.errors import LibraryError
from mkdocs_roaming.manifest import PATH
from mkdocs_roaming.roam.fetching import SECONDS, Fetching

MANIFEST_CAP = 256 * 2**20
MARKDOWN_CAP = 64 * 2**20
FULL = "llms-full.txt"


class Absent(LibraryError):  # noqa: N818 -- says what is the case, as NoManifest does
    """There is nothing at this place."""


class Reader(Protocol):
    """Gives a published site's files; `where` names the site in messages."""

    where: str
    distant: bool
    """Whether it is worth fetching much at once."""

    def manifest(self, again: str = "") -> bytes:
        """Give the manifest's JSON; `again` gets past caches on the way."""
        ...

    def file(self, path: str, again: str = "") -> bytes:
        """Give a Markdown file, its path below the site's root."""
        ...


class Folder:
    """A published site in a folder."""

    distant = False

    def __init__(self, root: Path, *, where: str = "") -> None:
        self.root = root.resolve()
        self.where = where or str(root)

    def manifest(self, again: str = "") -> bytes:
        """Give roaming/manifest.json."""
        return read_file(self.root / PATH, MANIFEST_CAP)

    def file(self, path: str, again: str = "") -> bytes:
        """Give a file that lies in the folder, symlinks resolved."""
        try:
            found = (self.root / safe_path(path, self.where)).resolve()
        except (OSError, RuntimeError, ValueError):
            raise LibraryError(f"{self.where}: the manifest names a path that cannot be: {path[:200]!r}") from None
        if not found.is_relative_to(self.root):
            raise LibraryError(f"{self.where}: {path} leads out of the folder; it is not read")
        return read_file(found, MARKDOWN_CAP)


class Memory:
    """Files that are already here."""

    distant = False

    def __init__(self, files: Mapping[str, bytes], manifest: bytes = b"", *, where: str) -> None:
        self.files, self._manifest, self.where = files, manifest, where

    def manifest(self, again: str = "") -> bytes:
        """Give the manifest that it was made with."""
        return self._manifest

    def file(self, path: str, again: str = "") -> bytes:
        """Give a file's bytes."""
        if path not in self.files:
            raise Absent(f"{self.where}: no {path}")
        return self.files[path]


@dataclass(frozen=True, slots=True)
class Answer:
    """What an address answered, and which one it was in the end."""

    body: bytes
    url: str
    kind: str


class Web:
    """A published site over HTTP. `root` is its address and ends in a slash."""

    distant = True

    def __init__(self, root: str, *, seconds: float = SECONDS) -> None:
        self.root = self.where = root
        self._fetching = Fetching(seconds=seconds)

    def manifest(self, again: str = "") -> bytes:
        """Give the manifest below the root."""
        return self.get(self.root + PATH + again, MANIFEST_CAP).body

    def file(self, path: str, again: str = "") -> bytes:
        """Give a file below the root."""
        path = safe_path(path, self.where)
        return self.get(self.root + quote(path, safe=_SAFE) + (f"?v={again}" if again else ""), MARKDOWN_CAP).body

    def get(self, url: str, cap: int) -> Answer:
        """Fetch an address, at most `cap` bytes as they unpack, redirects followed."""
        found = self._fetching.get(url, cap)
        if found.status in (404, 410):
            raise Absent(f"{url}: not found ({found.status})")
        if found.status != 200:
            raise LibraryError(f"{url}: answered {found.status}, not 200")
        return Answer(found.body, found.url, found.headers.get("content-type", ""))


def read_file(path: Path, cap: int) -> bytes:
    """Give a file's bytes, at most `cap` of them."""
    try:
        if not path.is_file():
            raise Absent(f"{path}: no such file")
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


def folder_of(url: str) -> str:
    """Give the address of the folder that a file's address lies in, with its slash."""
    return urljoin(url, ".")


_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[/\\]|[A-Za-z]:")
_SAFE = "/-._~!$&'()*+,;=:@"
