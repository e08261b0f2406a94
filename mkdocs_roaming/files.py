"""Files on disk: writes, checks before them, and paths that stay inside their folder."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path

from mkdocs_roaming.errors import PublishError, UsageError

Content = bytes | Callable[[], Iterable[bytes]]
"""The content of a file, or a function that returns it in chunks; it is called for a comparison and for writing."""

_MODE = 0o666  # permissions of new files, which the umask of the process restricts
_TEMPORARY_PREFIX = ".roaming-"
_TEMPORARY_BYTES = 6
_PLAIN_PATH = re.compile(r"(?:[\w-][\w.-]*/)*[\w-][\w.-]*")
"""A path that needs no check, such as `guide/pumps.md`: no part of it starts with a dot or is empty."""


def write_site_file(folder: Path, path: str, data: Content) -> bool:
    """Write a file of a site.

    A new file is written directly, which costs half as much as a temporary file and its renaming: readers do not know
    it before the manifest, which is written last. A file that exists is replaced by `write_atomically`.

    Args:
        folder: The folder of the site.
        path: The path of the file in it.
        data: The content.

    Returns:
        Whether the file was written.

    Raises:
        PublishError: The file would lie outside of the folder.
    """
    target = site_path(folder, path)
    try:
        _write_directly(target, (data,) if isinstance(data, bytes) else data(), os.O_EXCL)
    except FileExistsError:
        return write_atomically(Path(target), data)
    return True


def overwrite_file(path: Path, data: bytes) -> None:
    """Write a file whose readers recognize a part of the content, in place."""
    _write_directly(str(path), (data,), os.O_TRUNC)


def site_path(folder: Path, path: str) -> str:
    """Return the file at a path of a site. This is `resolve_inside` without its cost for most paths."""
    return f"{folder}/{path}" if _PLAIN_PATH.fullmatch(path) else str(resolve_inside(folder, path))


def check_links(folder: Path, paths: Iterable[str]) -> None:
    """Check that no folder on the way to some files of a site is a link that leads out of the site.

    A file that is a link itself is no problem: writing replaces it.

    Raises:
        PublishError: A folder leads out of the site.
    """
    root = os.path.realpath(folder)
    for parent in {path.rpartition("/")[0] for path in paths}:
        target = os.path.realpath(site_path(folder, parent))
        if not Path(target).is_relative_to(root):
            raise PublishError(f"{folder}/{parent}: leads out of the site, to {target}; remove the symbolic link")


def _write_directly(path: str, chunks: Iterable[bytes], mode: int) -> None:
    """Create a file and its folder if necessary, and write it. `open` takes twice as long as `os.open`."""
    flags = os.O_WRONLY | os.O_CREAT | mode | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
    try:
        file = os.open(path, flags, _MODE)
    except FileNotFoundError:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        file = os.open(path, flags, _MODE)
    try:
        for chunk in chunks:
            written = os.write(file, chunk)
            while written < len(chunk):
                written += os.write(file, chunk[written:])
    except BaseException as error:
        Path(path).unlink()
        name_file(error, path, path)
        raise
    finally:
        os.close(file)


def write_atomically(path: Path, data: Content) -> bool:
    """Write a file through a temporary file in the same folder.

    A file that already has this content is not touched, so its modification time stays.

    Args:
        path: The file to write.
        data: The content.

    Returns:
        Whether the file was written.
    """
    if has_content(path, data):
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{_TEMPORARY_PREFIX}{os.urandom(_TEMPORARY_BYTES).hex()}")
    try:
        with temporary.open("wb") as file:
            file.writelines((data,) if isinstance(data, bytes) else data())
        temporary.replace(path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        name_file(error, temporary, path)
        raise
    return True


def name_file(error: BaseException, temporary: Path | str, path: Path | str) -> None:
    """Name the file in the error of a write: it has no name on a full disk, or that of a temporary file."""
    if isinstance(error, OSError) and error.errno and error.filename in (None, str(temporary)):
        error.filename = str(path)


def is_temporary(path: str) -> bool:
    """Return whether `write_atomically` uses the name of a file for a temporary one."""
    name = path.rpartition("/")[2]
    return name.startswith(_TEMPORARY_PREFIX) and len(name) == len(_TEMPORARY_PREFIX) + 2 * _TEMPORARY_BYTES


def has_content(path: Path, data: Content) -> bool:
    """Return whether there is a file with this content."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            chunks = (data,) if isinstance(data, bytes) else data()
            return all(file.read(len(chunk)) == chunk for chunk in chunks) and not file.read(1)
    except OSError:
        return False


def write_text_file(path: Path, text: str) -> None:
    """Write a text file that a user named, completely or not at all.

    A symbolic link is followed. If the path is a device or a pipe, the text is written into it.

    Raises:
        UsageError: The file cannot be written.
        OSError: The disk is full, for example.
    """
    check_writable(path)
    data = text.encode("utf-8", "replace")
    if _is_special_file(path):
        path.write_bytes(data)
    else:
        write_atomically(path.resolve(), data)


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
        raise UsageError(f"{path}: cannot be written ({getattr(error, 'strerror', None) or error})") from None
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


def read_regular_file(path: Path) -> bytes:
    """Read a file at a place where something else may be: reading a pipe blocks, and that of a device may never end.

    Raises:
        OSError: There is no such file, or it cannot be read.
    """
    if not path.is_file():
        raise FileNotFoundError(errno.ENOENT, "no such file", str(path))
    return path.read_bytes()


def read_inside(folder: Path, path: str) -> bytes | None:
    """Return the file at a path of the site; None if there is none, or the path leads out of the folder."""
    try:
        return read_regular_file(resolve_inside(folder, path))
    except (OSError, ValueError, PublishError):
        return None


def user_cache_folder() -> Path | None:
    """Return the cache of the user; None for one without a home, such as that of a container."""
    from platformdirs import user_cache_path  # few commands need it

    try:
        folder = user_cache_path("mkdocs-roaming", appauthor=False)
    except RuntimeError:
        return None
    return folder if folder.is_absolute() else None


def find_site_folders(folder: Path) -> list[Path]:
    """Return the folders that have a home page, at most two levels below a folder, nearest first."""
    return [home.parent for pattern in ("*", "*/*") for home in sorted(folder.glob(f"{pattern}/index.html"))]


def _is_special_file(path: Path) -> bool:
    """Return whether the path is a device or a pipe, which a file must not replace."""
    return path.exists() and not path.is_file() and not path.is_dir()
