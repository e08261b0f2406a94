"""The lock of a folder: one process at a time writes the files of a site.

Generators empty the folders of sites, so the lock is outside of them: in the cache of the user. A crawl has a folder of
its own, perhaps on a disk that several machines share; there the lock is in the state of the crawl. The system releases
a lock when its process ends, however that happens.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs_roaming.errors import RoamingError
from mkdocs_roaming.files import user_cache_folder, write_atomically

if TYPE_CHECKING:
    from filelock import FileLock

STATE_DIR = ".roaming"
"""The state of a crawl in its output folder."""

_COMMAND_CHARS = 200
_PROCESSES = "ROAMING_PROCESSES"
"""Variable with the ids of processes that hold locks, and start others: these may write into the same folders."""


class FolderBusyError(RoamingError):
    """Another command writes into a folder."""


def share_locks() -> None:
    """Allow processes that this one starts to write into the folders that it locks.

    It changes the environment, so it is called before threads start: `getenv` in the C library may crash otherwise.
    """
    os.environ[_PROCESSES] = f"{os.environ.get(_PROCESSES, '')} {os.getpid()}"


@contextmanager
def hold_folder(folder: Path, on_wait: Callable[[str], None] | None = None) -> Iterator[None]:
    """Hold the lock of a folder. A thread that holds it may take it again.

    Args:
        folder: The folder; it need not exist.
        on_wait: Called with a message before another command is waited for. None: do not wait, nor take it again.

    Raises:
        FolderBusyError: The lock is held, and `on_wait` is None.
        OSError: No file can be locked.
    """
    lock, is_held = _try_lock(folder)
    note = Path(f"{lock.lock_file}.txt")
    if is_held and on_wait is None and lock.lock_counter > 1:
        lock.release()
        is_held = False
    if not is_held:
        process, holder = _read_note(note)
        if process != str(os.getpid()) and process in os.environ.get(_PROCESSES, "").split():
            yield
            return
        message = f"{folder}: another command is in progress there: {holder}"
        if on_wait is None:
            raise FolderBusyError(f"{message}; repeat the command when it has finished, or name another folder")
        on_wait(f"{message}; waiting for it")
        lock.acquire()
    try:
        if lock.lock_counter == 1:
            number = os.getpid()
            command = shlex.join(sys.orig_argv[1:])[:_COMMAND_CHARS]
            since = time.strftime("%Y-%m-%d %H:%M:%S")
            text = f"{number}\nprocess {number} on {socket.gethostname()} ({command}), since {since}"
            with suppress(OSError):
                write_atomically(note, text.encode("utf-8", "replace"))
        yield
    finally:
        if lock.lock_counter == 1:
            with suppress(OSError):
                note.unlink()
        lock.release()


def _try_lock(folder: Path) -> tuple[FileLock, bool]:
    """Return the lock of a folder, and whether it is held now; another process may hold it.

    There may be several places for the lock: the first that can be locked is used.
    """
    from filelock import FileLock, Timeout  # its import takes a while

    places = [folder / STATE_DIR / "lock"]
    if not places[0].parent.is_dir():  # not the folder of a crawl
        name = hashlib.sha256(os.fsencode(os.path.realpath(folder))).hexdigest()[:32] + ".lock"
        temporary = Path(tempfile.gettempdir(), f"mkdocs-roaming-{getattr(os, 'getuid', int)()}")
        cache = os.environ.get("ROAMING_CACHE_DIR") or user_cache_folder() or temporary
        places = [Path(cache, "locks", name), temporary / name]
    failure = OSError()
    for place in places:
        lock = FileLock(place, is_singleton=True)
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            lock.acquire(timeout=0)
        except Timeout:
            return lock, False
        except OSError as error:
            error.filename = str(place)
            failure = error
        else:
            return lock, True
    raise failure


def _read_note(note: Path) -> tuple[str, str]:
    """Return the process that holds a lock, and its description."""
    try:
        process, _, description = note.read_text("utf-8", "replace").partition("\n")
    except OSError:  # acquired or released in this moment
        return "", "a process that just began"
    return process, description
