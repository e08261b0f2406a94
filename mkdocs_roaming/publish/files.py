"""Files on disk: atomic writes, checks before them, and paths that stay inside their folder."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterable
from pathlib import Path

from mkdocs_roaming.errors import PublishError, UsageError


def write_atomically(path: Path, data: bytes | Callable[[], Iterable[bytes]]) -> bool:
    """Write a file through a temporary file in the same folder.

    A file that already has this content is not touched, so its modification time stays.

    Args:
        path: The file to write.
        data: The content, or a function that returns it in chunks; it is called for the comparison and for writing.

    Returns:
        Whether the file was written.
    """
    chunks = (lambda: (data,)) if isinstance(data, bytes) else data
    try:
        with path.open("rb") as file:
            if all(file.read(len(chunk)) == chunk for chunk in chunks()) and not file.read(1):
                return False
    except OSError:
        pass
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".roaming-{secrets.token_hex(6)}")
    try:
        with temporary.open("wb") as file:
            file.writelines(chunks())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return True


def write_text_file(path: Path, text: str) -> None:
    """Write a text file that a user named, completely or not at all.

    A symbolic link is followed. If the path is a device or a pipe, the text is written into it.

    Raises:
        UsageError: The file cannot be written.
    """
    check_writable(path)
    data = text.encode("utf-8", "replace")
    try:
        if _is_special_file(path):
            path.write_bytes(data)
        else:
            write_atomically(path.resolve(), data)
    except OSError as error:
        raise _write_error(path, error) from None


def check_writable(path: Path) -> None:
    """Check that a file can be written, before money is spent on its content.

    Raises:
        UsageError: The file cannot be written.
    """
    try:
        folder = path.resolve().parent
        target = path if _is_special_file(path) else folder
        writable = os.access(target, os.W_OK) and folder.is_dir() and not path.is_dir()
    except (OSError, RuntimeError, ValueError) as error:
        raise _write_error(path, error) from None
    if not writable:
        raise UsageError(f"{path}: cannot be written; choose a file in an existing folder")


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


def _is_special_file(path: Path) -> bool:
    """Return whether the path is a device or a pipe, which a file must not replace."""
    return path.exists() and not path.is_file() and not path.is_dir()


def _write_error(path: Path, error: Exception) -> UsageError:
    return UsageError(f"{path}: cannot be written ({getattr(error, 'strerror', None) or error})")
