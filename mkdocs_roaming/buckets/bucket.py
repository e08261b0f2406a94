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


class Nothing(BucketError):  # noqa: N818 -- says what is the case, as NoManifest does
    """There is no such file."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A file of a bucket; its `tag` is another one when it was written anew."""

    path: str
    size: int
    tag: str


class Bucket(Protocol):
    """Files by their paths, which have no leading slash; `where` names it in messages."""

    where: str
    distant: bool
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

    def list(self, below: str) -> Iterator[Kept]:
        """Give the files in a folder, and in those below it, in any order."""
        ...

    def delete(self, paths: Iterable[str]) -> None:
        """Remove files; one that is not there is no error."""
        ...


def in_bucket(where: str) -> bool:
    """Tell whether an address names an object store's bucket."""
    return re.match(r"(s3|gs|az)://", where, re.IGNORECASE) is not None
