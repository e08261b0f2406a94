"""The folder of a store: its files, errors and lock."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG

from mkdocs_roaming.errors import LibraryError
from mkdocs_roaming.files import write_atomically
from mkdocs_roaming.locks import STATE_DIR, hold_folder

FLEET_DIR = ".fleet"
"""What a store knows of its sites."""


class StoreError(LibraryError):
    """A store cannot be read or written."""


class StoreFileNotFoundError(StoreError):
    """A store has no file at a path."""


@dataclass(frozen=True, slots=True)
class StoreFile:
    """A file of a store; its `tag` changes whenever it is written."""

    path: str
    size: int
    tag: str


class StoreFolder:
    """The files of a store by path, without a leading slash.

    Attributes:
        root: The folder.
        where: Its name in messages.
    """

    def __init__(self, root: str | Path) -> None:
        """Use a folder, which need not exist."""
        self.root = Path(root)
        self.where = str(root)

    def get(self, path: str) -> bytes:
        """Return a file.

        Raises:
            StoreFileNotFoundError: There is no such file.
            StoreError: It cannot be read.
        """
        with self._translated_errors(path, "read"):
            try:
                return self._file(path).read_bytes()
            except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
                raise StoreFileNotFoundError(f"{self.where}: no {path}") from None

    def put(self, path: str, data: bytes) -> None:
        """Write a file atomically."""
        with self._translated_errors(path, "written"):
            write_atomically(self._file(path), data)

    def list(self, below: str) -> Iterator[StoreFile]:
        """Yield the files in a folder and its subfolders, in any order."""
        for file in self._file(below).rglob("*"):
            with suppress(OSError):  # removed in the meantime
                stat = file.stat()
                if S_ISREG(stat.st_mode):
                    tag = f"{stat.st_mtime_ns:x}-{stat.st_size:x}-{stat.st_ino:x}"
                    yield StoreFile(file.relative_to(self.root).as_posix(), stat.st_size, tag)

    def delete(self, paths: Iterable[str]) -> None:
        """Remove files; missing ones are ignored."""
        for path in paths:
            with self._translated_errors(path, "removed"):
                self._file(path).unlink(missing_ok=True)

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Hold the lock of the store: one command at a time crawls into it, or removes sites.

        Raises:
            FolderBusyError: Another command holds it.
        """
        folder = self.root / FLEET_DIR
        (folder / STATE_DIR).mkdir(parents=True, exist_ok=True)  # the place of the lock, also for other machines
        with hold_folder(folder):
            yield

    def _file(self, path: str) -> Path:
        if ".." in path.split("/") or path.startswith("/") or "\0" in path:
            raise StoreError(f"{self.where}: the path {path!r} is outside of the folder")
        return self.root / path

    @contextmanager
    def _translated_errors(self, path: str, action: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            reason = error.strerror or error
            raise StoreError(f"{self._file(path)}: cannot be {action} ({reason})") from None
