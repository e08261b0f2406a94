"""Where files are kept that several machines share: a folder, or a prefix of a bucket at S3, GCS or Azure."""

from __future__ import annotations

import re
from pathlib import Path

from roaming_fleet.buckets.base import BlobInfo, BlobNotFoundError, Bucket, BucketError, is_bucket_url
from roaming_fleet.buckets.folder import FolderBucket

__all__ = ["BlobInfo", "BlobNotFoundError", "Bucket", "BucketError", "FolderBucket", "is_bucket_url", "open_bucket"]


def open_bucket(where: str | Path) -> Bucket:
    """Give the bucket that an address (`s3://bucket/prefix`, `gs://`, `az://`) or a folder's path names.

    Raises BucketError where it cannot be used: a package or the credentials are missing.
    """
    if isinstance(where, str) and is_bucket_url(where):
        from roaming_fleet.buckets.objects import ObjectBucket  # the extra [fleet]

        return ObjectBucket.at(where)
    if isinstance(where, str) and (match := re.match(r"([A-Za-z][A-Za-z0-9+.-]+)://", where)):
        told = re.sub(r"[?#].*|(?<=://)[^/]*@", "", where)
        raise BucketError(
            f"{told}: {match[1]}:// is no kind of store; give s3://, gs:// or az://BUCKET/PREFIX, or a folder",
            lasting=True,
        )
    return FolderBucket(Path(where))
