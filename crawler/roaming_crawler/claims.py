"""One crawl of a site at a time, on whatever machine: a lock that a process which dies does not keep."""

from __future__ import annotations

import json
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath

from mkdocs_roaming.buckets import Bucket, BucketError, FolderBucket, Nothing
from mkdocs_roaming.catalogue.records import FLEET
from roaming_crawler.store import StoreError, take_lock

LOCKS = f"{FLEET}/locks"
SECONDS = 60.0
"""How long a claim in an object store holds unless it is renewed, which happens four times as often."""


class ClaimedError(StoreError):
    """Somebody else has a site, and does not let go of it."""


class Claim:
    """A claim while it is held."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.lost = False

    def check(self) -> None:
        """Raise ClaimedError where somebody else took it meanwhile."""
        if self.lost:
            raise ClaimedError(f"{self.name}: somebody else took it over while this process stood still")


@contextmanager
def claimed(
    bucket: Bucket,
    name: str,
    *,
    patience: float = 2 * SECONDS,
    seconds: float = SECONDS,
    wall: Callable[[], float] = time.time,
) -> Iterator[Claim]:
    """Hold a name in a store alone. Raises ClaimedError where somebody else goes on holding it."""
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
                raise ClaimedError(f"{bucket.where}/{name}: another process is at it; try again later")
            time.sleep(min(0.2 if not bucket.distant else seconds / 20, patience / 4))
    claim = Claim(f"{bucket.where}/{name}")
    try:
        with taken.kept(claim):
            yield claim
    finally:
        taken.release()


class _File:
    """A locked file: the system lets go of it when a process dies, however that happens."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    @classmethod
    def taken(cls, bucket: FolderBucket, name: str) -> _File | None:
        path = bucket.root / LOCKS / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o644)
        except OSError as error:
            raise StoreError(f"{path}: cannot be written to ({error.strerror or error})") from None
        if take_lock(handle):
            return cls(handle)
        os.close(handle)
        return None

    @contextmanager
    def kept(self, claim: Claim) -> Iterator[None]:
        yield

    def release(self) -> None:
        os.close(self._handle)


class _Object:
    """The highest of the numbered objects of a name, until the time that it says.

    An object is made by one alone, and only where the one before has run out; so whoever makes it has the name.
    """

    def __init__(self, bucket: Bucket, path: str, seconds: float, wall: Callable[[], float]) -> None:
        self._bucket, self._path, self._seconds, self._wall = bucket, path, seconds, wall
        self._owner = secrets.token_hex(8)
        self._over = threading.Event()

    @classmethod
    def taken(cls, bucket: Bucket, name: str, seconds: float, wall: Callable[[], float]) -> _Object | None:
        there = _numbers(bucket, name)
        if there and _until(bucket, there[-1]) > wall():
            return None
        number = int(PurePosixPath(there[-1]).name) + 1 if there else 1
        lease = cls(bucket, f"{LOCKS}/{name}/{number:08}", seconds, wall)
        if not bucket.create(lease._path, lease._told(seconds)):
            return None
        bucket.delete(there)
        return lease

    @contextmanager
    def kept(self, claim: Claim) -> Iterator[None]:
        """Renew it while it is held."""
        thread = threading.Thread(target=self._renew, args=(claim,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._over.set()
            thread.join()

    def release(self) -> None:
        """Let go of it; the object stays, so that numbers only grow."""
        try:
            if self._newest():
                self._bucket.put(self._path, self._told(0))
        except BucketError:
            pass  # it runs out by itself

    def _renew(self, claim: Claim) -> None:
        until = self._wall() + self._seconds
        while not self._over.wait(self._seconds / 4):
            try:
                if not self._newest():
                    claim.lost = True
                    return
                self._bucket.put(self._path, self._told(self._seconds))
                until = self._wall() + self._seconds
            except BucketError:
                claim.lost = claim.lost or self._wall() > until

    def _newest(self) -> bool:
        there = _numbers(self._bucket, PurePosixPath(self._path).parent.name)
        return not there or there[-1] <= self._path

    def _told(self, seconds: float) -> bytes:
        return json.dumps({"owner": self._owner, "until": self._wall() + seconds if seconds else 0.0}).encode()


def _numbers(bucket: Bucket, name: str) -> list[str]:
    return sorted(kept.path for kept in bucket.list(f"{LOCKS}/{name}"))


def _until(bucket: Bucket, path: str) -> float:
    try:
        return float(json.loads(bucket.get(path))["until"])
    except Nothing:
        return float("inf")  # somebody took it over just now
    except (ValueError, KeyError, TypeError):
        return 0.0
