"""Index files in the user's cache folder: the indexes of sites that were searched before.

A file's name is a digest of the site's manifest, which contains the digests of all texts, and of everything else that
the index depends on. An index contributes row numbers and scores only; texts are read from the site and verified. Files
that are damaged, of another version or unreadable are ignored; all can be deleted at any time.
"""

from __future__ import annotations

import hashlib
import os
import sys
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import msgspec

from mkdocs_roaming._json import prepare
from mkdocs_roaming._version import __version__
from mkdocs_roaming.errors import LibraryError
from mkdocs_roaming.files import user_cache_folder, write_atomically
from mkdocs_roaming.library.readers import read_file
from mkdocs_roaming.manifest.models import Manifest

T = TypeVar("T")

INDEX_VERSION = "6"
"""Increased when a site gets another index or other scores: by the tokenizer, the fields or the format of the files."""

MAX_CACHE_BYTES = 256 * 2**20
"""Size of the folder; the files that were not used for the longest time are deleted."""

_SUFFIX = ".index"
_CHECKSUM_BYTES = 4
_PRIVATE = 0o700
"""The folder can only be read by its user: a site may be private."""

_MAX_SHARE = 4
"""A single file may have this part of the folder's size: a quarter."""


class IndexCache(msgspec.Struct, frozen=True):
    """Index files in a folder, which several processes may use, and files with other data of a site.

    Attributes:
        folder: The folder; it is created when it is needed.
        max_bytes: Size of the folder. A single file may have a quarter of it.
        min_sections: Indexes of smaller sites are built again each time, which takes little longer than reading a file.
    """

    folder: Path
    max_bytes: int = MAX_CACHE_BYTES
    min_sections: int = 100

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> IndexCache | None:
        """Return the cache in `ROAMING_CACHE_DIR`, or the user's; None if the variable is empty."""
        setting = environ.get("ROAMING_CACHE_DIR")
        if setting is None:
            folder = user_cache_folder()
            return cls(folder / "search") if folder else None
        return cls(Path(setting) / "search") if setting else None

    def load(self, key: str, kind: type[T]) -> T | None:
        """Return the data with a key, or None."""
        path = self.folder / (key + _SUFFIX)
        try:
            file = memoryview(read_file(path, self.max_bytes // _MAX_SHARE))
            content = file[_CHECKSUM_BYTES:]
            checksum = int.from_bytes(file[:_CHECKSUM_BYTES], "little")
            if zlib.crc32(content) != checksum:
                return None
            data = msgspec.msgpack.decode(content, type=prepare(kind))
        except (LibraryError, msgspec.MsgspecError, UnicodeDecodeError):
            return None
        with suppress(OSError):
            os.utime(path)
        return data

    def store(self, key: str, data: object) -> None:
        """Write data, unless they are too large or the folder cannot be written; then delete the oldest files."""
        content = msgspec.msgpack.encode(data)
        if len(content) > self.max_bytes // _MAX_SHARE:
            return
        checksum = zlib.crc32(content).to_bytes(_CHECKSUM_BYTES, "little")
        with suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True)
            self.folder.chmod(_PRIVATE)
            write_atomically(self.folder / (key + _SUFFIX), checksum + content)
            files = [(path.stat(), path) for path in self.folder.glob("*" + _SUFFIX)]
            files.sort(key=lambda file: file[0].st_mtime, reverse=True)
            size = 0
            for status, path in files:
                size += status.st_size
                if size > self.max_bytes:
                    path.unlink(missing_ok=True)


def index_key(manifest: Manifest, weights: Sequence[float]) -> str:
    """Return the key of a site's index: a digest of all that the index depends on.

    The manifest's own digest is not used: a site could state that of another one.
    """
    parts = (INDEX_VERSION, __version__, sys.byteorder, tuple(weights), manifest)
    digest = hashlib.sha256(msgspec.msgpack.encode(parts))
    return digest.hexdigest()[:40]
