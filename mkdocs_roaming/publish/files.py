"""Files on disk: atomic writes, paths that stay inside their folder, and a dict backed by a file."""

from __future__ import annotations

import os
import pickle
import secrets
import tempfile
from collections.abc import Callable, Iterable, Iterator, MutableMapping
from contextlib import contextmanager
from pathlib import Path
from typing import Self, TypeVar

from mkdocs_roaming.errors import PublishError


def write_atomically(path: Path, data: bytes) -> bool:
    """Write a file through a temporary file in the same folder.

    A file that already has this content is not touched, so its modification time stays.

    Returns:
        Whether the file was written.
    """
    try:
        if path.stat().st_size == len(data) and path.read_bytes() == data:
            return False
    except OSError:
        pass
    with _replacing(path) as temporary:
        temporary.write_bytes(data)
    return True


def write_chunks_atomically(path: Path, chunks: Callable[[], Iterable[bytes]]) -> bool:
    """Write a large file as `write_atomically` does, without holding its content in memory.

    Args:
        path: The file to write.
        chunks: Returns the content. It is called twice: for the comparison and for writing.

    Returns:
        Whether the file was written.
    """
    try:
        with path.open("rb") as file:
            if all(file.read(len(chunk)) == chunk for chunk in chunks()) and not file.read(1):
                return False
    except OSError:
        pass
    with _replacing(path) as temporary, temporary.open("wb") as file:
        file.writelines(chunks())
    return True


def resolve_inside(folder: Path, path: str) -> Path:
    """Return the file at a path of the site.

    Raises:
        PublishError: The file would lie outside of the folder.
    """
    target = folder / path
    if "\0" in path or not Path(os.path.normpath(target)).is_relative_to(os.path.normpath(folder)):
        raise PublishError(f"{path!r}: this page would be written outside of {folder}. Change its URL")
    return target


def find_site_folders(folder: Path) -> list[Path]:
    """Return the folders that have a home page, at most two levels below a folder, nearest first."""
    return [home.parent for pattern in ("*", "*/*") for home in sorted(folder.glob(f"{pattern}/index.html"))]


@contextmanager
def _replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary file that replaces `path` at the end, or is deleted after an error."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".roaming-{secrets.token_hex(6)}")
    try:
        yield temporary
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


V = TypeVar("V")


class DiskDict(MutableMapping[str, V]):
    """A dict that stores its values in an anonymous temporary file, for sites that do not fit into memory.

    Reading a key returns a copy: assign a changed value to store it.
    """

    def __init__(self, folder: Path) -> None:
        """Create an empty dict with its file in `folder`."""
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 -- closed by close()
        self._spans: dict[str, tuple[int, int]] = {}
        self._end = 0

    def __getitem__(self, key: str) -> V:
        start, size = self._spans[key]
        self._file.seek(start)
        value: V = pickle.loads(self._file.read(size))  # trusted: no other process can open an anonymous file
        return value

    def __setitem__(self, key: str, value: V) -> None:
        data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        self._file.seek(self._end)
        self._file.write(data)
        self._spans[key] = (self._end, len(data))
        self._end += len(data)

    def __delitem__(self, key: str) -> None:
        del self._spans[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._spans)

    def __len__(self) -> int:
        return len(self._spans)

    def __contains__(self, key: object) -> bool:
        return key in self._spans

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Delete the file."""
        self._file.close()
        self._spans.clear()
