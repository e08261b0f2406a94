"""Reads a published site from a bucket."""

from __future__ import annotations

from pathlib import Path

from mkdocs_roaming.errors import LibraryError, ManifestNotFoundError
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.readers import MAX_MANIFEST_BYTES, MAX_MARKDOWN_BYTES, MissingFileError, safe_path
from mkdocs_roaming.manifest.io import MANIFEST_PATH, load_manifest
from roaming_fleet.buckets import BlobNotFoundError, Bucket, BucketError, is_bucket_url, open_bucket


class BucketReader:
    """Reader of a published site below a bucket's prefix. There is no cache to bypass, so `cache_key` is ignored."""

    is_remote = True
    is_crawled = False

    def __init__(self, where: str) -> None:
        """Open the bucket.

        Raises:
            LibraryError: It cannot be opened.
        """
        self.where = where if where.endswith("://") else where.rstrip("/").removesuffix("/" + MANIFEST_PATH)
        try:
            self._bucket = open_bucket_for_reading(self.where)
        except BucketError as error:
            raise LibraryError(str(error)) from None

    def manifest(self, cache_key: str = "") -> bytes:
        """Return the manifest."""
        return self._get(MANIFEST_PATH, MAX_MANIFEST_BYTES)

    def file(self, path: str, cache_key: str = "") -> bytes:
        """Return a file below the prefix."""
        return self._get(safe_path(path, self.where), MAX_MARKDOWN_BYTES)

    def version(self) -> str:
        """Return the tag of the manifest, which changes with each upload; empty if there is no manifest."""
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
    """Return the bucket for a URL or a folder, with short time-outs for interactive use.

    Raises:
        BucketError: See `open_bucket`.
    """
    if not isinstance(where, str) or not is_bucket_url(where):
        return open_bucket(where)
    from roaming_fleet.buckets.objects import ObjectBucket  # needs obstore

    return ObjectBucket.from_url(where, silence=_SILENCE_SECONDS, patience=_RETRY_SECONDS)


_SILENCE_SECONDS = 20.0
_RETRY_SECONDS = 10.0
