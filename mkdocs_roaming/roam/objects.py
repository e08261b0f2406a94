"""A published site in an object store, as a library's source of bytes."""

from __future__ import annotations

from pathlib import Path

from mkdocs_roaming.buckets import Bucket, BucketError, Nothing, in_bucket, open_bucket
from mkdocs_roaming.errors import LibraryError
from mkdocs_roaming.manifest import PATH
from mkdocs_roaming.roam.reading import MANIFEST_CAP, MARKDOWN_CAP, Absent, safe_path


class Objects:
    """A published site below a bucket's prefix. An object is as it was written last: there are no caches to pass."""

    distant = True

    def __init__(self, where: str, bucket: Bucket | None = None) -> None:
        self.where = where if where.endswith("://") else where.rstrip("/").removesuffix("/" + PATH)
        try:
            self._bucket = bucket or bucket_to_read(self.where)
        except BucketError as error:
            raise LibraryError(str(error)) from None

    def manifest(self, again: str = "") -> bytes:
        """Give roaming/manifest.json."""
        return self._get(PATH, MANIFEST_CAP)

    def file(self, path: str, again: str = "") -> bytes:
        """Give a file below the prefix."""
        return self._get(safe_path(path, self.where), MARKDOWN_CAP)

    def _get(self, path: str, cap: int) -> bytes:
        try:
            data = self._bucket.get(path)
        except Nothing:
            raise Absent(f"{self.where}: no {path}") from None
        except BucketError as error:
            raise LibraryError(str(error)) from None
        if len(data) > cap:
            raise LibraryError(f"{self.where}/{path}: more than {cap // 2**20} MB; refused")
        return data


def bucket_to_read(where: str | Path) -> Bucket:
    """Give the bucket that an address or a folder's path names, for those who wait for an answer.

    What fails is tried again for some seconds, not for the minutes that a crawl has. Raises BucketError as
    `open_bucket` does.
    """
    if not isinstance(where, str) or not in_bucket(where):
        return open_bucket(where)
    from mkdocs_roaming.buckets.objects import ObjectBucket  # the extra [fleet]

    return ObjectBucket.at(where, silence=_SILENCE, patience=_PATIENCE)


_SILENCE = 20.0
_PATIENCE = 10.0
