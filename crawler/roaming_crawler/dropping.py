"""Sites taken out of a store: nobody finds them any more, then what was kept of them goes."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable

from mkdocs_roaming.buckets import Bucket, FolderBucket, open_bucket
from mkdocs_roaming.catalogue import HEAD, RECORDS, read_record, rebuild
from mkdocs_roaming.catalogue.records import FLEET
from mkdocs_roaming.errors import UsageError
from roaming_crawler.claims import claimed
from roaming_crawler.fleet import CATALOGUE
from roaming_crawler.listing import KEY


def drop(store: str, keys: Iterable[str], *, patience: float = 120.0) -> list[str]:
    """Take sites out of a store; give those that were there, in order.

    Raises UsageError where one of them is not in it (nothing is removed then), BucketError where the store cannot be
    used, and ClaimedError where a crawl goes on being at one.
    """
    bucket = open_bucket(store)
    bucket.get(HEAD)  # a store at all, before anything of it is removed
    wanted = list(dict.fromkeys(keys))
    for key in wanted:
        if not re.fullmatch(KEY, key) or read_record(bucket, key) is None:
            raise UsageError(f"{store}: no site {key}; `roaming sites {store}` lists them")
    for key in wanted:
        with claimed(bucket, key, patience=patience):
            _remove(bucket, key)
    with claimed(bucket, CATALOGUE, patience=patience):
        rebuild(bucket)
    return wanted


def _remove(bucket: Bucket, key: str) -> None:
    """The record goes last: a site of which something is left can still be named, and dropped."""
    for below in (key, f"{FLEET}/state/{key}"):
        bucket.delete([kept.path for kept in bucket.list(below)])
    if isinstance(bucket, FolderBucket):
        shutil.rmtree(bucket.root / key, ignore_errors=True)
    bucket.delete([f"{RECORDS}/{key}.json"])
