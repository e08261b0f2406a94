"""Leases: at most one process works on a site, on whatever machine. The lease of a process that dies expires."""

from __future__ import annotations

import json
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import PurePosixPath
from typing import Protocol

from roaming_crawler.state import CrawlFolderError, try_lock
from roaming_fleet.buckets import BlobNotFoundError, Bucket, BucketError, FolderBucket
from roaming_fleet.records import FLEET_DIR

LOCKS_DIR = f"{FLEET_DIR}/locks"
LEASE_SECONDS = 60.0
"""Duration of a lease in an object store; it is renewed four times as often."""


class LeaseHeldError(CrawlFolderError):
    """Another process holds a lease."""


class LeaseLostError(LeaseHeldError):
    """Another process took a lease over because this one did not renew it in time."""


class RunStoppedError(BaseException):
    """The run was stopped; not an `Exception`, so that no handler of a single site catches it."""


class StopSignal(Protocol):
    """Whether a run is to stop, such as a `threading.Event`."""

    def is_set(self) -> bool:
        """Return whether the run is to stop."""
        ...


class Lease(Protocol):
    """A held lease.

    Attributes:
        lost: Whether another process was seen to hold it.
    """

    lost: bool

    def check(self) -> None:
        """Raise LeaseLostError if the lease was lost. Does no request before its end time."""
        ...

    def confirm(self) -> None:
        """Raise LeaseLostError if the store says that another process holds the lease."""
        ...


@contextmanager
def hold_lease(
    bucket: Bucket,
    name: str,
    *,
    patience: float = 2 * LEASE_SECONDS,
    seconds: float = LEASE_SECONDS,
    wall: Callable[[], float] = time.time,
    stop: StopSignal | None = None,
) -> Iterator[Lease]:
    """Hold the lease of a name in a store.

    Args:
        bucket: The store.
        name: Key of a site, or another name.
        patience: Seconds to wait while another process holds it.
        seconds: Duration of the lease between renewals.
        wall: Unix time.
        stop: Ends the wait.

    Raises:
        LeaseHeldError: Another process still holds the lease.
        RunStoppedError: The run was stopped during the wait.
    """
    end = time.monotonic() + patience
    lease: _FileLease | _ObjectLease | None = None
    while lease is None:
        if isinstance(bucket, FolderBucket):
            lease = _FileLease.acquire(bucket, name)
        else:
            lease = _ObjectLease.acquire(bucket, name, seconds, wall)
        if lease is None:
            if time.monotonic() > end:
                raise LeaseHeldError(f"{bucket.where}/{name}: in use by another process; try again later")
            if stop and stop.is_set():
                raise RunStoppedError
            time.sleep(min(0.2 if not bucket.is_remote else seconds / 20, patience / 4))
    try:
        with lease.renewing():
            yield lease
    finally:
        lease.release()


class _FileLease:
    """A locked file; the operating system unlocks it when the process ends."""

    lost = False

    def __init__(self, handle: int) -> None:
        self._handle = handle

    @classmethod
    def acquire(cls, bucket: FolderBucket, name: str) -> _FileLease | None:
        path = bucket.root / LOCKS_DIR / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o644)
        except OSError as error:
            raise CrawlFolderError(f"{path}: cannot be written to ({error.strerror or error})") from None
        locked = False
        try:
            locked = try_lock(handle, path)
        finally:
            if not locked:
                os.close(handle)
        return cls(handle) if locked else None

    @contextmanager
    def renewing(self) -> Iterator[None]:
        yield

    def check(self) -> None: ...

    def confirm(self) -> None: ...

    def release(self) -> None:
        os.close(self._handle)


class _ObjectLease:
    """The object with the highest number of a name; it contains the end time of the lease.

    An object is created by one process alone, and only after the previous lease has expired: so the creator of the
    highest number holds the lease.
    """

    def __init__(self, bucket: Bucket, path: str, seconds: float, wall: Callable[[], float]) -> None:
        self._bucket, self._path, self._seconds, self._wall = bucket, path, seconds, wall
        self._owner = secrets.token_hex(8)
        self._until = wall() + seconds
        self.lost = False
        self._released = threading.Event()

    @classmethod
    def acquire(cls, bucket: Bucket, name: str, seconds: float, wall: Callable[[], float]) -> _ObjectLease | None:
        paths = _list_paths(bucket, name)
        if paths and _read_end_time(bucket, paths[-1]) > wall():
            return None
        number = int(PurePosixPath(paths[-1]).name) + 1 if paths else 1
        lease = cls(bucket, f"{LOCKS_DIR}/{name}/{number:08}", seconds, wall)
        if not bucket.create(lease._path, lease._dump()):
            return None
        if not lease._is_newest():  # the listing was old: others have come and gone since
            bucket.delete([lease._path])
            return None
        bucket.delete(paths)
        return lease

    @contextmanager
    def renewing(self) -> Iterator[None]:
        """Renew the lease in a thread."""
        thread = threading.Thread(target=self._renew, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._released.set()
            thread.join()

    def check(self) -> None:
        """Ask the store after the end time. The wall clock counts, because it runs on while a machine sleeps."""
        if self.lost or self._wall() >= self._until:
            self.confirm()

    def confirm(self) -> None:
        if self.lost or not self._is_newest():
            self.lost = True
            name = PurePosixPath(self._path).parent.name
            raise LeaseLostError(
                f"{self._bucket.where}/{name}: another process took the lease over because this one was suspended"
            )

    def release(self) -> None:
        """End the lease now; the object stays, so that numbers only grow."""
        with suppress(BucketError):  # the lease expires by itself
            if self._is_newest():
                self._until = 0.0
                self._bucket.put(self._path, self._dump())

    def _renew(self) -> None:
        while not self._released.wait(self._seconds / 4):
            with suppress(BucketError):  # retried; `check` knows when the lease has expired
                if not self._is_newest():
                    self.lost = True
                    return
                until = self._wall() + self._seconds
                self._bucket.put(self._path, self._dump(until))
                self._until = until

    def _is_newest(self) -> bool:
        paths = _list_paths(self._bucket, PurePosixPath(self._path).parent.name)
        return not paths or paths[-1] <= self._path

    def _dump(self, until: float | None = None) -> bytes:
        return json.dumps({"owner": self._owner, "until": self._until if until is None else until}).encode()


def _list_paths(bucket: Bucket, name: str) -> list[str]:
    return sorted(blob.path for blob in bucket.list(f"{LOCKS_DIR}/{name}"))


def _read_end_time(bucket: Bucket, path: str) -> float:
    try:
        return float(json.loads(bucket.get(path))["until"])
    except BlobNotFoundError:
        return float("inf")  # another process has just taken it over
    except (ValueError, KeyError, TypeError):
        return 0.0
