"""What every bucket can do, and how it fails."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from mkdocs_roaming.errors import RoamingError


class BucketError(RoamingError):
    """A bucket cannot be read or written. Where it is `lasting`, the next file will fare no better."""

    def __init__(self, message: str, *, lasting: bool = False) -> None:
        super().__init__(message)
        self.lasting = lasting

    def __reduce__(self) -> tuple[type[BucketError], tuple[str], dict[str, bool]]:
        return type(self), (str(self),), {"lasting": self.lasting}


class BlobNotFoundError(BucketError):
    """There is no such file."""


@dataclass(frozen=True, slots=True)
class BlobInfo:
    """A file of a bucket; its `tag` is another one when it was written anew."""

    path: str
    size: int
    tag: str


class Bucket(Protocol):
    """Files by their paths, which have no leading slash; `where` names it in messages."""

    where: str
    is_remote: bool
    """Whether reading waits for a network."""

    def get(self, path: str) -> bytes:
        """Give a file's bytes. Raises Nothing where there is none, else BucketError."""
        ...

    def put(self, path: str, data: bytes) -> None:
        """Write a file, whole or not at all."""
        ...

    def create(self, path: str, data: bytes) -> bool:
        """Write a file that does not exist yet; tell whether it was written. Of several that try, one succeeds."""
        ...

    def list(self, below: str) -> Iterator[BlobInfo]:
        """Give the files in a folder, and in those below it, in any order."""
        ...

    def delete(self, paths: Iterable[str]) -> None:
        """Remove files; one that is not there is no error."""
        ...


def is_bucket_url(where: str) -> bool:
    """Tell whether an address names an object store's bucket."""
    return re.match(r"(s3|gs|az)://", where, re.IGNORECASE) is not None


# MERGED mkdocs_roaming.buckets.address:
# The address of a place in an object store: `s3://BUCKET/PREFIX`, taken as it is written, letter by letter.


@dataclass(frozen=True, slots=True)
class BucketAddress:
    """A bucket, and where in it. `where` is how messages call it."""

    scheme: str
    bucket: str
    prefix: str

    @property
    def where(self) -> str:
        """The address, in one way of writing."""
        return f"{self.scheme}://{self.bucket}" + (f"/{self.prefix}" if self.prefix else "")


def parse_bucket_url(where: str) -> BucketAddress:
    """Read an address. Raises BucketError, without what may be a secret in it, for what names no place."""
    scheme, _, rest = where.partition("://")
    scheme = scheme.lower()
    bucket, _, prefix = rest.partition("/")
    if mark := re.search(r"[?#]", rest):
        cleared = _without_login(f"{scheme}://{rest[: mark.start()]}")
        raise BucketError(
            f"{cleared}: has something after {mark[0]} in its address; leave that out, settings are the environment's",
            lasting=True,
        )
    if "@" in bucket:
        raise BucketError(
            f"{_without_login(f'{scheme}://{rest}')}: has a name or a key before @; "
            "leave it out, credentials are the environment's",
            lasting=True,
        )
    if not bucket:
        raise BucketError(f"{where}: names no bucket; give {scheme}://BUCKET/PREFIX", lasting=True)
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", bucket):
        raise BucketError(f"{scheme}://{bucket}: is no bucket's name; give {scheme}://BUCKET/PREFIX", lasting=True)
    prefix = prefix.strip("/")
    for part in prefix.split("/") if prefix else ():
        if part in ("", ".", "..") or not part.isprintable():
            raise BucketError(
                f"{scheme}://{rest}: has the part {part!r}, which no path has; leave it out", lasting=True
            )
    return BucketAddress(scheme, bucket, prefix)


def _without_login(where: str) -> str:
    return re.sub(r"(?<=://)[^/]*@", "", where)
