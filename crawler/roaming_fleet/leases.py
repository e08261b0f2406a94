"""One crawl of a site at a time, on whatever machine: a lock that a process which dies does not keep."""

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

from roaming_fleet.buckets.base import BlobNotFoundError, Bucket, BucketError
from roaming_fleet.buckets.folder import FolderBucket
from roaming_fleet.records import FLEET_DIR

LOCKS = f"{FLEET_DIR}/locks"
LEASE_SECONDS = 60.0
"""How long a claim in an object store holds unless it is renewed, which happens four times as often."""


class LeaseHeldError(CrawlFolderError):
    """Somebody else has a site, and does not let go of it."""


class LeaseLostError(LeaseHeldError):
    """Somebody else took a claim over while this process stood still."""


class RunStoppedError(BaseException):
    """The crawl of many sites is to end."""


class StopSignal(Protocol):
    """Tells whether a crawl of many sites is to end; an event of threading does."""

    def is_set(self) -> bool:
        """Tell whether it is."""
        ...


class Lease(Protocol):
    """A claim while it is held; it is `lost` once somebody else was seen to have it."""

    lost: bool

    def check(self) -> None:
        """Raise LostError where it may be somebody else's by now. Asks nobody while that cannot be."""
        ...

    def confirm(self) -> None:
        """Ask the store whether it is still held. Raises LostError where it is not."""
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
    """Hold a name in a store alone. Raises ClaimedError where somebody else goes on holding it.

    Raises Stopped where that is to end while it waits.
    """
    end = time.monotonic() + patience
    taken: _File | _Object | None = None
    while taken is None:
        taken = (
            _File.taken(bucket, name)
            if isinstance(bucket, FolderBucket)
            else _Object.taken(bucket, name, seconds, wall)
        )
        if taken is None:
            if time.monotonic() > end:
                raise LeaseHeldError(f"{bucket.where}/{name}: another process is at it; try again later")
            if stop and stop.is_set():
                raise RunStoppedError
            time.sleep(min(0.2 if not bucket.is_remote else seconds / 20, patience / 4))
    try:
        with taken.kept():
            yield taken
    finally:
        taken.release()


class _File:
    """A locked file: the system lets go of it when a process dies, however that happens."""

    lost = False

    def __init__(self, handle: int) -> None:
        self._handle = handle

    @classmethod
    def taken(cls, bucket: FolderBucket, name: str) -> _File | None:
        path = bucket.root / LOCKS / name
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
    def kept(self) -> Iterator[None]:
        yield

    def check(self) -> None: ...

    def confirm(self) -> None: ...

    def release(self) -> None:
        os.close(self._handle)


class _Object:
    """The highest of the numbered objects of a name, until the time that it says.

    An object is made by one alone, and only where the one before has run out; so whoever made the highest has the name.
    """

    def __init__(self, bucket: Bucket, path: str, seconds: float, wall: Callable[[], float]) -> None:
        self._bucket, self._path, self._seconds, self._wall = bucket, path, seconds, wall
        self._owner = secrets.token_hex(8)
        self._until = wall() + seconds
        self.lost = False
        self._over = threading.Event()

    @classmethod
    def taken(cls, bucket: Bucket, name: str, seconds: float, wall: Callable[[], float]) -> _Object | None:
        there = _numbers(bucket, name)
        if there and _until(bucket, there[-1]) > wall():
            return None
        number = int(PurePosixPath(there[-1]).name) + 1 if there else 1
        lease = cls(bucket, f"{LOCKS}/{name}/{number:08}", seconds, wall)
        if not bucket.create(lease._path, lease._told()):
            return None
        if not lease._newest():  # it was looked at long ago: others have come, and gone, since
            bucket.delete([lease._path])
            return None
        bucket.delete(there)
        return lease

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Renew it while it is held."""
        thread = threading.Thread(target=self._renewing, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._over.set()
            thread.join()

    def check(self) -> None:
        """Nobody takes it before the time that was written last; by the wall's clock, which goes on in sleep."""
        if self.lost or self._wall() >= self._until:
            self.confirm()

    def confirm(self) -> None:
        if self.lost or not self._newest():
            self.lost = True
            name = PurePosixPath(self._path).parent.name
            raise LeaseLostError(
                f"{self._bucket.where}/{name}: another process took it over while this one stood still"
            )

    def release(self) -> None:
        """Let go of it; the object stays, so that numbers only grow."""
        with suppress(BucketError):  # it runs out by itself
            if self._newest():
                self._until = 0.0
                self._bucket.put(self._path, self._told())

    def _renewing(self) -> None:
        while not self._over.wait(self._seconds / 4):
            with suppress(BucketError):  # tried again; `check` knows when it has run out
                if not self._newest():
                    self.lost = True
                    return
                until = self._wall() + self._seconds
                self._bucket.put(self._path, self._told(until))
                self._until = until

    def _newest(self) -> bool:
        there = _numbers(self._bucket, PurePosixPath(self._path).parent.name)
        return not there or there[-1] <= self._path

    def _told(self, until: float | None = None) -> bytes:
        return json.dumps({"owner": self._owner, "until": self._until if until is None else until}).encode()


def _numbers(bucket: Bucket, name: str) -> list[str]:
    return sorted(kept.path for kept in bucket.list(f"{LOCKS}/{name}"))


def _until(bucket: Bucket, path: str) -> float:
    try:
        return float(json.loads(bucket.get(path))["until"])
    except BlobNotFoundError:
        return float("inf")  # somebody took it over just now
    except (ValueError, KeyError, TypeError):
        return 0.0
