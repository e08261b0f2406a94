"""Files on disk: written whole or not at all, and only inside the folder they belong to."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

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


def write_pieces(path: Path, pieces: Callable[[], Iterable[bytes]]) -> bool:
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


def inside(folder: Path, path: str) -> Path:
    """Give the file at a site path; raises PublishError where it would lie outside of the folder."""
    target = folder / path
    if "\0" in path or not Path(os.path.normpath(target)).is_relative_to(os.path.normpath(folder)):
        raise PublishError(f"{path!r}: would be written outside of {folder}; the page needs another address")
    return target


def homes_below(folder: Path) -> list[Path]:
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
