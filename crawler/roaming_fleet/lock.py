"""The lock of a store: one run at a time crawls into it, or changes its catalog.

    .fleet/lock/<number>    holder and end time; the highest number counts

A lock is acquired, renewed and released by creating the object with the next number. Of concurrent processes one
succeeds, so a process that was suspended cannot renew a lock that was taken over. Stores only need exclusive creation.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path, PurePosixPath

import msgspec

from mkdocs_roaming._json import decode_json
from mkdocs_roaming.errors import RoamingError, UsageError
from roaming_fleet.buckets import BlobNotFoundError, BucketError
from roaming_fleet.objects import Bucket, open_bucket
from roaming_fleet.records import FLEET_DIR

LOCK_DIR = f"{FLEET_DIR}/lock"
LOCK_SECONDS = 60.0
"""Duration of a lock; it is renewed four times as often."""


class StoreLockedError(UsageError):
    """Another run holds the lock of a store."""


class LockLostError(RoamingError):
    """The run was stopped, or its lock expired or was taken over."""


class LockState(msgspec.Struct, frozen=True):
    """Content of the newest lock object.

    Attributes:
        run: Id of the run.
        holder: Host and process, for messages.
        process: Identity of the process, if the system has one that is never reused.
        until: End in Unix seconds.
        stopping: Whether the jobs of the run must stop.
    """

    run: str
    holder: str = ""
    process: str = ""
    until: float = 0.0
    stopping: bool = False


class StoreLock:
    """The held lock of a store; see `hold_lock`."""

    def __init__(
        self, bucket: Bucket, state: LockState, number: int, seconds: float, wall: Callable[[], float]
    ) -> None:
        """Use a lock whose object with this number has been created."""
        self._bucket = bucket
        self._state = state
        self._number = number
        self._seconds = seconds
        self._wall = wall
        self._writing = threading.Lock()
        self._released = threading.Event()

    def confirm(self) -> None:
        """Check in the store that this run holds the lock.

        Raises:
            LockLostError: Another run took it over.
        """
        _, state = _read_newest(self._bucket)
        if state is None or state.run != self._state.run:
            taker = f"the run {state.run} ({state.holder}) took its lock over" if state else "its lock was removed"
            raise LockLostError(f"{self._bucket.where}: {taker}; repeat the command when it has finished")

    def stop_jobs(self) -> None:
        """Make all jobs of the run stop: those in this process at once, others within seconds."""
        with suppress(BucketError):  # then the lock expires
            lock_watch(self._bucket.where, self._state.run).stop()
            self.renew(stopping=True)

    def renew_until_released(self) -> None:
        """Renew the lock at intervals."""
        while not self._released.wait(self._seconds / 4):
            with suppress(BucketError):  # tried again; jobs stop when the lock has expired
                if not self.renew():
                    return

    def release(self) -> None:
        """End the lock. The object stays, so that numbers only grow."""
        self._released.set()
        with suppress(BucketError):  # it expires by itself
            lock_watch(self._bucket.where, self._state.run).stop()
            self.renew(until=0.0, stopping=True)

    def renew(self, *, until: float | None = None, stopping: bool = False) -> bool:
        """Extend the lock, and return whether this run still holds it."""
        with self._writing:
            until = self._wall() + self._seconds if until is None else until
            state = msgspec.structs.replace(self._state, until=until, stopping=stopping or self._state.stopping)
            if not _create(self._bucket, self._number + 1, state):
                number, newest = _read_newest(self._bucket)
                if newest is None or newest.run != state.run:
                    return False
                self._number = number  # the response to an earlier attempt was lost
                if not _create(self._bucket, number + 1, state):
                    return False
            self._state = state
            self._number = self._number + 1
            self._bucket.delete([_path(self._number - 1)])
            return True


class LockWatch:
    """What a job knows of the lock of its run. Thread-safe; the jobs of a process share it."""

    def __init__(self, bucket: Bucket, run: str, wall: Callable[[], float] = time.time) -> None:
        """Watch the lock that a run holds."""
        self._bucket = bucket
        self._run = run
        self._wall = wall
        self._reading = threading.Lock()
        self._stopped = False
        self._until = float("inf")
        self._read_at = float("-inf")

    def stop(self) -> None:
        """Stop the jobs in this process."""
        self._stopped = True

    def is_set(self) -> bool:
        """Return whether the jobs must stop. It reads the store every few seconds, so it may block."""
        is_due = not self._stopped and time.monotonic() - self._read_at >= _CHECK_SECONDS
        if is_due and self._reading.acquire(blocking=False):
            try:
                with suppress(BucketError):  # the lock may still be valid
                    self._read()
            finally:
                self._reading.release()
        self._stopped = self._stopped or self._wall() >= self._until
        return self._stopped

    def check(self) -> None:
        """Raise LockLostError if the jobs must stop, as known a few seconds ago at most."""
        if self.is_set():
            raise LockLostError(f"{self._bucket.where}: the run {self._run} was stopped, or lost its lock")

    def confirm(self) -> None:
        """Ask the store now, and raise LockLostError if the jobs must stop."""
        self._read()
        self.check()

    def _read(self) -> None:
        _, state = _read_newest(self._bucket)
        self._read_at = time.monotonic()
        if state is None or state.run != self._run or state.stopping or _has_ended(state.process):
            self._stopped = True
        else:
            self._until = state.until


@lru_cache(16)
def lock_watch(store: str, run: str) -> LockWatch:
    """Return the watch of this process for the lock of a run."""
    return LockWatch(open_bucket(store), run)


@contextmanager
def hold_lock(
    bucket: Bucket, run: str, *, seconds: float = LOCK_SECONDS, wall: Callable[[], float] = time.time
) -> Iterator[StoreLock]:
    """Hold the lock of a store, and renew it in a thread.

    An expired lock is taken over, and so is that of a process that was killed on this machine.

    Args:
        bucket: The store.
        run: Id of the run.
        seconds: Duration of the lock between renewals.
        wall: Unix time.

    Raises:
        StoreLockedError: Another run holds the lock.
    """
    number, state = _read_newest(bucket)
    if state and state.until > wall() and not _has_ended(state.process):
        raise _make_locked_error(bucket, state)
    holder = f"{socket.gethostname()}, process {os.getpid()}"
    state = LockState(run, holder, _identify_process(str(os.getpid())), wall() + seconds)
    if not _create(bucket, number + 1, state) or _read_newest(bucket)[0] != number + 1:  # or the first listing was old
        raise _make_locked_error(bucket, _read_newest(bucket)[1])
    bucket.delete(sorted(blob.path for blob in bucket.list(LOCK_DIR) if blob.path < _path(number + 1)))
    lock = StoreLock(bucket, state, number + 1, seconds, wall)
    thread = threading.Thread(target=lock.renew_until_released, daemon=True)
    thread.start()
    try:
        yield lock
    finally:
        lock.release()
        thread.join()


def _make_locked_error(bucket: Bucket, state: LockState | None) -> StoreLockedError:
    if state is None:
        return StoreLockedError(f"{bucket.where}: another process has just locked it; repeat the command")
    until = time.strftime("%H:%M:%S UTC", time.gmtime(state.until))
    return StoreLockedError(
        f"{bucket.where}: in use by the run {state.run} ({state.holder}), whose lock is valid until {until} and is "
        "renewed while it runs; wait until it has finished"
    )


def _read_newest(bucket: Bucket) -> tuple[int, LockState | None]:
    """Return the number and content of the newest lock object; damaged content counts as expired."""
    for _ in range(_READ_ATTEMPTS):
        paths = sorted(blob.path for blob in bucket.list(LOCK_DIR))
        if not paths:
            return 0, None
        try:
            data = bucket.get(paths[-1])
        except BlobNotFoundError:
            continue  # renewed in the meantime
        with suppress(ValueError):
            return int(PurePosixPath(paths[-1]).name), decode_json(data, LockState)
        return int(PurePosixPath(paths[-1]).name), LockState("")
    raise BucketError(f"{bucket.where}: its lock cannot be read; {LOCK_DIR} changes all the time")


def _create(bucket: Bucket, number: int, state: LockState) -> bool:
    return bucket.create(_path(number), msgspec.json.encode(state))


def _path(number: int) -> str:
    return f"{LOCK_DIR}/{number:010}"


def _identify_process(pid: str) -> str:
    """Return an identity that no other process ever has: boot and PID namespace, PID, start; empty if unknown."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
        namespace = Path("/proc/self/ns/pid").readlink()
        status = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if status[0] == "Z" else f"{boot}/{namespace} {pid} {status[19]}"


def _has_ended(process: str) -> bool:
    """Return whether a process is known to have ended, because it ran on this machine, in this PID namespace."""
    ours = _identify_process(str(os.getpid())).split()
    theirs = process.split()
    return bool(ours and theirs) and ours[0] == theirs[0] and _identify_process(theirs[1]) != process


_CHECK_SECONDS = 2.0
_READ_ATTEMPTS = 20
