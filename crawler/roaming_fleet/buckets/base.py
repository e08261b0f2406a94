"""The interface of buckets, their errors and their URLs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from mkdocs_roaming.errors import RoamingError


class BucketError(RoamingError):
    """A bucket cannot be read or written. If it is `lasting`, other files will fail as well."""

    def __init__(self, message: str, *, lasting: bool = False) -> None:
        """Create the error."""
        super().__init__(message)
        self.lasting = lasting

    def __reduce__(self) -> tuple[type[BucketError], tuple[str], dict[str, bool]]:
        """Keep `lasting` when the error is pickled."""
        return type(self), (str(self),), {"lasting": self.lasting}


class BlobNotFoundError(BucketError):
    """There is no file at a path."""


@dataclass(frozen=True, slots=True)
class BlobInfo:
    """A file of a bucket; its `tag` changes whenever it is written."""

    path: str
    size: int
    tag: str


class Bucket(Protocol):
    """Files by path, without a leading slash.

    Attributes:
        where: Name of the bucket in messages.
        is_remote: Whether access goes over a network.
    """

    where: str
    is_remote: bool

    def get(self, path: str) -> bytes:
        """Return a file.

        Raises:
            BlobNotFoundError: There is no such file.
            BucketError: It cannot be read.
        """
        ...

    def put(self, path: str, data: bytes) -> None:
        """Write a file atomically."""
        ...

    def create(self, path: str, data: bytes) -> bool:
        """Write a file unless it exists, and return whether it was written. Of concurrent calls, one succeeds."""
        ...

    def list(self, below: str) -> Iterator[BlobInfo]:
        """Yield the files in a folder and its subfolders, in any order."""
        ...

    def delete(self, paths: Iterable[str]) -> None:
        """Remove files; missing ones are ignored."""
        ...


@dataclass(frozen=True, slots=True)
class BucketAddress:
    """The parsed URL of a prefix in a bucket."""

    scheme: str
    bucket: str
    prefix: str

    @property
    def where(self) -> str:
        """The normalized URL."""
        return f"{self.scheme}://{self.bucket}" + (f"/{self.prefix}" if self.prefix else "")


def is_bucket_url(where: str) -> bool:
    """Return whether a URL names a bucket of an object store."""
    return re.match(r"(s3|gs|az)://", where, re.IGNORECASE) is not None


def parse_bucket_url(where: str) -> BucketAddress:
    """Parse a bucket's URL. Prefixes are taken literally.

    Raises:
        BucketError: The URL is invalid; the message contains no part that may be secret.
    """
    scheme, _, rest = where.partition("://")
    scheme = scheme.lower()
    bucket, _, prefix = rest.partition("/")
    if mark := re.search(r"[?#]", rest):
        shown = _strip_login(f"{scheme}://{rest[: mark.start()]}")
        raise BucketError(
            f"{shown}: contains text after {mark[0]}; leave it out, settings come from the environment",
            lasting=True,
        )
    if "@" in bucket:
        raise BucketError(
            f"{_strip_login(f'{scheme}://{rest}')}: contains a name or a key before @; "
            "leave it out, credentials come from the environment",
            lasting=True,
        )
    if not bucket:
        raise BucketError(f"{where}: the bucket is missing; give {scheme}://BUCKET/PREFIX", lasting=True)
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", bucket):
        raise BucketError(f"{scheme}://{bucket}: invalid bucket name; give {scheme}://BUCKET/PREFIX", lasting=True)
    prefix = prefix.strip("/")
    for part in prefix.split("/") if prefix else ():
        if part in ("", ".", "..") or not part.isprintable():
            raise BucketError(f"{scheme}://{rest}: invalid part {part!r} in the path; leave it out", lasting=True)
    return BucketAddress(scheme, bucket, prefix)


def _strip_login(where: str) -> str:
    return re.sub(r"(?<=://)[^/]*@", "", where)
