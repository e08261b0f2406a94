"""A published site in an object store, as a library's source of bytes."""

from __future__ import annotations

from pathlib import Path

from mkdocs_roaming.errors import LibraryError, ManifestNotFoundError
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.readers import MAX_MANIFEST_BYTES, MAX_MARKDOWN_BYTES, MissingFileError, safe_path
from mkdocs_roaming.manifest.io import MANIFEST_PATH, load_manifest
from roaming_fleet.buckets import open_bucket
from roaming_fleet.buckets.base import BlobNotFoundError, Bucket, BucketError, is_bucket_url


class BucketReader:
    """A published site below a bucket's prefix. An object is as it was written last: there are no caches to pass."""

    is_remote = True

    def __init__(self, where: str, bucket: Bucket | None = None) -> None:
        self.where = where if where.endswith("://") else where.rstrip("/").removesuffix("/" + MANIFEST_PATH)
        try:
            self._bucket = bucket or open_bucket_for_reading(self.where)
        except BucketError as error:
            raise LibraryError(str(error)) from None

    def manifest(self, cache_key: str = "") -> bytes:
        """Give roaming/manifest.json."""
        return self._get(MANIFEST_PATH, MAX_MANIFEST_BYTES)

    def file(self, path: str, cache_key: str = "") -> bytes:
        """Give a file below the prefix."""
        return self._get(safe_path(path, self.where), MAX_MARKDOWN_BYTES)

    def version(self) -> str:
        """Return the tag of the manifest, another one after every upload; empty where there is none."""
        try:
            blobs = self._bucket.list(MANIFEST_PATH.rpartition("/")[0])
            return next((blob.tag for blob in blobs if blob.path == MANIFEST_PATH), "")
        except BucketError as error:
            raise LibraryError(str(error)) from None

    def _get(self, path: str, cap: int) -> bytes:
        try:
            data = self._bucket.get(path)
        except BlobNotFoundError:
            raise MissingFileError(f"{self.where}: no {path}") from None
        except BucketError as error:
            raise LibraryError(str(error)) from None
        if len(data) > cap:
            raise LibraryError(f"{self.where}/{path}: more than {cap // 2**20} MB; refused")
        return data


def open_bucket_site(where: str) -> Library:
    """Open the site below a bucket's prefix.

    Raises:
        ManifestNotFoundError: There is no manifest below the prefix.
        LibraryError: The bucket cannot be read.
    """
    reader = BucketReader(where)
    try:
        data = reader.manifest()
    except MissingFileError:
        raise ManifestNotFoundError(
            f"{where}: publishes no {MANIFEST_PATH}; check the address, or crawl a site into it"
        ) from None
    return Library(load_manifest(data, where=f"{reader.where}/{MANIFEST_PATH}"), reader)


def open_bucket_for_reading(where: str | Path) -> Bucket:
    """Give the bucket that an address or a folder's path names, for those who wait for an answer.

    What fails is tried again for some seconds, not for the minutes that a crawl has. Raises BucketError as
    `open_bucket` does.
    """
    if not isinstance(where, str) or not is_bucket_url(where):
        return open_bucket(where)
    from roaming_fleet.buckets.objects import ObjectBucket  # the extra [fleet]

    return ObjectBucket.at(where, silence=_SILENCE, patience=_PATIENCE)


_SILENCE = 20.0
_PATIENCE = 10.0
