"""File storage for several machines: a folder, or a prefix of a bucket at S3, GCS or Azure."""

from __future__ import annotations

import re
from pathlib import Path

from roaming_fleet.buckets.base import BlobInfo, BlobNotFoundError, Bucket, BucketError, is_bucket_url
from roaming_fleet.buckets.folder import FolderBucket

__all__ = ["BlobInfo", "BlobNotFoundError", "Bucket", "BucketError", "FolderBucket", "is_bucket_url", "open_bucket"]


def open_bucket(where: str | Path) -> Bucket:
    """Return the bucket for a URL (`s3://bucket/prefix`, `gs://`, `az://`) or a folder.

    Raises:
        BucketError: A package or the credentials are missing, or the URL has another scheme.
    """
    if isinstance(where, str) and is_bucket_url(where):
        from roaming_fleet.buckets.objects import ObjectBucket  # needs obstore

        return ObjectBucket.from_url(where)
    if isinstance(where, str) and (match := re.match(r"([A-Za-z][A-Za-z0-9+.-]+)://", where)):
        shown = re.sub(r"[?#].*|(?<=://)[^/]*@", "", where)
        raise BucketError(
            f"{shown}: {match[1]}:// is not supported; give s3://, gs:// or az://BUCKET/PREFIX, or a folder",
            lasting=True,
        )
    return FolderBucket(Path(where))
