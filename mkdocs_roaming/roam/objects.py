"""A published site in an object store, as a library's source of bytes."""

from __future__ import annotations

from mkdocs_roaming.buckets import Bucket, BucketError, Nothing, open_bucket
from mkdocs_roaming.errors import LibraryError
from mkdocs_roaming.manifest import PATH
from mkdocs_roaming.roam.reading import MANIFEST_CAP, MARKDOWN_CAP, Absent, safe_path


class Objects:
    """A published site below a bucket's prefix. An object is as it was written last: there are no caches to pass."""

    distant = True

    def __init__(self, where: str, bucket: Bucket | None = None) -> None:
        self.where = where if where.endswith("://") else where.rstrip("/").removesuffix("/" + PATH)
        try:
            self._bucket = bucket or open_bucket(self.where)
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
