"""A folder as a bucket: on this machine, or on a disk that several share."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from roaming_fleet.buckets.base import BlobInfo, BlobNotFoundError, BucketError


class FolderBucket:
    """Files in a folder."""

    is_remote = False

    def __init__(self, root: Path) -> None:
        self.root = root
        self.where = str(root)

    def get(self, path: str) -> bytes:
        """Give a file's bytes."""
        try:
            return self._file(path).read_bytes()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            raise BlobNotFoundError(f"{self.where}: no {path}") from None
        except OSError as error:
            raise self._error(path, "read", error) from None

    def put(self, path: str, data: bytes) -> None:
        """Write a file by way of a temporary one."""
        with self._temporary(path, data) as temporary:
            temporary.replace(self._file(path))

    def create(self, path: str, data: bytes) -> bool:
        """Write a file that does not exist yet."""
        with self._temporary(path, data) as temporary:
            try:
                os.link(temporary, self._file(path))
            except FileExistsError:
                return False
            except OSError:
                return self._create_without_links(path, temporary)
        return True

    def list(self, below: str) -> Iterator[BlobInfo]:
        """Give the files in a folder, and in those below it."""
        for above, _, names in os.walk(self._file(below)):
            for name in names:
                file = Path(above, name)
                with suppress(OSError):  # it went meanwhile
                    found = file.stat()
                    tag = f"{found.st_mtime_ns:x}-{found.st_size:x}-{found.st_ino:x}"
                    if not name.startswith(_TEMPORARY):
                        yield BlobInfo(file.relative_to(self.root).as_posix(), found.st_size, tag)

    def delete(self, paths: Iterable[str]) -> None:
        """Remove files."""
        for path in paths:
            try:
                self._file(path).unlink(missing_ok=True)
            except OSError as error:
                raise self._error(path, "removed", error) from None

    def _create_without_links(self, path: str, temporary: Path) -> bool:
        """Make an empty file, which one alone can do, and put the whole one in its place: some disks know no links."""
        file = self._file(path)
        try:
            os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644))
        except FileExistsError:
            return False
        except OSError as error:
            raise self._error(path, "written", error) from None
        try:
            temporary.replace(file)
        except OSError as error:
            file.unlink(missing_ok=True)
            raise self._error(path, "written", error) from None
        return True

    def _file(self, path: str) -> Path:
        if ".." in path.split("/") or path.startswith("/") or "\0" in path:
            raise BucketError(f"{self.where}: {path!r} leads out of it")
        return self.root / path

    def _temporary(self, path: str, data: bytes) -> _Temporary:
        file = self._file(path)
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            temporary = file.with_name(_TEMPORARY + secrets.token_hex(6))
            temporary.write_bytes(data)
        except OSError as error:
            raise self._error(path, "written", error) from None
        return _Temporary(temporary)

    def _error(self, path: str, done: str, error: OSError) -> BucketError:
        return BucketError(f"{self._file(path)}: cannot be {done} ({error.strerror or error})", lasting=True)


class _Temporary:
    """A file that is gone afterwards, unless it was renamed."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> Path:
        return self._path

    def __exit__(self, *_: object) -> None:
        self._path.unlink(missing_ok=True)


_TEMPORARY = ".roaming-"
