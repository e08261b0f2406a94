"""The address of a place in an object store: `s3://BUCKET/PREFIX`, taken as it is written, letter by letter."""

from __future__ import annotations

import re
from dataclasses import dataclass

from mkdocs_roaming.buckets.bucket import BucketError


@dataclass(frozen=True, slots=True)
class Address:
    """A bucket, and where in it. `where` is how messages call it."""

    scheme: str
    bucket: str
    prefix: str

    @property
    def where(self) -> str:
        """The address, in one way of writing."""
        return f"{self.scheme}://{self.bucket}" + (f"/{self.prefix}" if self.prefix else "")


def address_of(where: str) -> Address:
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
    return Address(scheme, bucket, prefix)


def _without_login(where: str) -> str:
    return re.sub(r"(?<=://)[^/]*@", "", where)
