"""File storage for several machines: a folder here, a prefix of a bucket at S3, GCS or Azure in `objects`."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG

from mkdocs_roaming.errors import LibraryError
from mkdocs_roaming.files import write_atomically
from mkdocs_roaming.library.readers import MissingFileError


class BucketError(LibraryError):
    """A bucket cannot be read or written. If it is `lasting`, other files will fail as well."""

    def __init__(self, message: str, *, lasting: bool = False) -> None:
        """Create the error."""
        super().__init__(message)
        self.lasting = lasting

    def __reduce__(self) -> tuple[type[BucketError], tuple[str], dict[str, bool]]:
        """Keep `lasting` when the error is pickled."""
        return type(self), (str(self),), {"lasting": self.lasting}


class BlobNotFoundError(BucketError, MissingFileError):
    """There is no file at a path."""


@dataclass(frozen=True, slots=True)
class BlobInfo:
    """A file of a bucket; its `tag` changes whenever it is written."""

    path: str
    size: int
    tag: str


def is_bucket_url(where: str) -> bool:
    """Return whether a URL names a bucket of an object store."""
    scheme, separator, _ = where.partition("://")
    return bool(separator) and scheme.lower() in _SCHEMES


def parse_bucket_url(where: str) -> tuple[str, str, str]:
    """Return scheme, bucket and prefix of a URL. Prefixes are taken literally.

    Raises:
        BucketError: The URL is invalid; the message contains no part that may be secret.
    """
    scheme, _, address = where.partition("://")
    bucket, _, path = address.partition("/")
    prefix = path.strip("/")
    is_name = bucket[:1].isalnum() and not bucket.lower().strip(_NAME_CHARS)
    is_path = not prefix or {"", ".", ".."}.isdisjoint(prefix.split("/"))
    if not (is_bucket_url(where) and is_name and is_path and where.isprintable()) or "?" in path or "#" in path:
        shown = address.partition("?")[0].partition("#")[0]
        host, slash, rest = shown.partition("/")
        shown = host.rpartition("@")[2] + slash + rest
        raise BucketError(
            f"{scheme}://{shown}: not the address of a bucket; give s3://, gs:// or az://BUCKET/PREFIX; "
            "credentials and settings come from the environment",
            lasting=True,
        )
    return scheme.lower(), bucket, prefix


class FolderBucket:
    """Files in a folder by path, without a leading slash. `objects.ObjectBucket` has the same methods.

    Attributes:
        where: Name of the bucket in messages.
        is_remote: Whether access goes over a network.
    """

    is_remote = False

    def __init__(self, root: Path) -> None:
        """Use a folder, which need not exist."""
        self.root = root
        self.where = str(root)

    def get(self, path: str) -> bytes:
        """Return a file.

        Raises:
            BlobNotFoundError: There is no such file.
            BucketError: It cannot be read.
        """
        with self._translated_errors(path, "read"):
            try:
                return self._file(path).read_bytes()
            except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
                raise BlobNotFoundError(f"{self.where}: no {path}") from None

    def put(self, path: str, data: bytes) -> None:
        """Write a file atomically."""
        with self._translated_errors(path, "written"):
            write_atomically(self._file(path), data)

    def create(self, path: str, data: bytes) -> bool:
        """Write a file unless it exists, and return whether it was written. Of concurrent calls, one succeeds."""
        file = self._file(path)
        temporary = file.with_name(_TEMPORARY + secrets.token_hex(6))
        with self._translated_errors(path, "written"):
            try:
                write_atomically(temporary, data)
                _rename_exclusively(temporary, file)
            except FileExistsError:
                return False
            finally:
                temporary.unlink(missing_ok=True)
        return True

    def list(self, below: str) -> Iterator[BlobInfo]:
        """Yield the files in a folder and its subfolders, in any order."""
        for file in self._file(below).rglob("*"):
            with suppress(OSError):  # removed in the meantime
                stat = file.stat()
                if S_ISREG(stat.st_mode) and not file.name.startswith(_TEMPORARY):
                    tag = f"{stat.st_mtime_ns:x}-{stat.st_size:x}-{stat.st_ino:x}"
                    yield BlobInfo(file.relative_to(self.root).as_posix(), stat.st_size, tag)

    def delete(self, paths: Iterable[str]) -> None:
        """Remove files; missing ones are ignored."""
        for path in paths:
            with self._translated_errors(path, "removed"):
                self._file(path).unlink(missing_ok=True)

    def _file(self, path: str) -> Path:
        if ".." in path.split("/") or path.startswith("/") or "\0" in path:
            raise BucketError(f"{self.where}: the path {path!r} is outside of the folder")
        return self.root / path

    @contextmanager
    def _translated_errors(self, path: str, action: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            reason = error.strerror or error
            raise BucketError(f"{self._file(path)}: cannot be {action} ({reason})", lasting=True) from None


def _rename_exclusively(temporary: Path, file: Path) -> None:
    """Rename a temporary file, or raise FileExistsError."""
    try:
        os.link(temporary, file)
    except FileExistsError:
        raise
    except OSError:  # some file systems have no hard links: an empty file reserves the name
        file.touch(exist_ok=False)
        temporary.replace(file)


_TEMPORARY = ".roaming-"
_SCHEMES = ("s3", "gs", "az")
_NAME_CHARS = "abcdefghijklmnopqrstuvwxyz0123456789._-"
