"""Files on disk: written whole or not at all, and only inside the folder they belong to."""

from __future__ import annotations

import os
import pickle
import secrets
import tempfile
from collections.abc import Callable, Iterable, Iterator, MutableMapping
from contextlib import contextmanager
from pathlib import Path
from typing import Generic, Self, TypeVar

from mkdocs_roaming.errors import PublishError


def write_atomically(path: Path, data: bytes) -> bool:
    """Write a file by way of a temporary one beside it; tell whether its content is new.

    A file that holds these bytes already is left alone, its time included.
    """
    try:
        if path.stat().st_size == len(data) and path.read_bytes() == data:
            return False
    except OSError:
        pass
    with _instead_of(path) as temporary:
        temporary.write_bytes(data)
    return True


def write_chunks_atomically(path: Path, pieces: Callable[[], Iterable[bytes]]) -> bool:
    """Write a large file as `write_atomically` does; `pieces` gives its content piece by piece, anew each time."""
    try:
        with path.open("rb") as file:
            if all(file.read(len(piece)) == piece for piece in pieces()) and not file.read(1):
                return False
    except OSError:
        pass
    with _instead_of(path) as temporary, temporary.open("wb") as file:
        file.writelines(pieces())
    return True


def resolve_inside(folder: Path, path: str) -> Path:
    """Give the file at a site path; raises PublishError where it would lie outside of the folder."""
    target = folder / path
    if "\0" in path or not Path(os.path.normpath(target)).is_relative_to(os.path.normpath(folder)):
        raise PublishError(f"{path!r}: would be written outside of {folder}; the page needs another address")
    return target


def find_site_folders(folder: Path) -> list[Path]:
    """Give the folders in a folder, at most two levels below, that hold a home page; those nearest first."""
    return [home.parent for pattern in ("*", "*/*") for home in sorted(folder.glob(f"{pattern}/index.html"))]


@contextmanager
def _instead_of(path: Path) -> Iterator[Path]:
    """Give a file beside `path`, which takes its place once it is written, or is gone."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".roaming-{secrets.token_hex(6)}")
    try:
        yield temporary
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


# MERGED mkdocs_roaming.publish.shelf:
# Values kept on disk: what a dict of pages would hold in memory, for sites of any size.


V = TypeVar("V")


class DiskDict(MutableMapping[str, V], Generic[V]):
    """A dict whose values lie in a temporary file without a name, so that nothing of it outlives the process.

    What is got is a copy: a value that was changed has to be set again.
    """

    def __init__(self, folder: Path) -> None:
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 -- lives as long as this does
        self._places: dict[str, tuple[int, int]] = {}
        self._end = 0

    def __getitem__(self, key: str) -> V:
        start, size = self._places[key]
        self._file.seek(start)
        value: V = pickle.loads(self._file.read(size))  # our own: nobody else can open a file without a name
        return value

    def __setitem__(self, key: str, value: V) -> None:
        data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        self._file.seek(self._end)
        self._file.write(data)
        self._places[key] = (self._end, len(data))
        self._end += len(data)

    def __delitem__(self, key: str) -> None:
        del self._places[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, key: object) -> bool:
        return key in self._places

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give its room on the disk back."""
        self._file.close()
        self._places.clear()
