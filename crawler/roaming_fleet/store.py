"""Sites taken out of a store: nobody finds them any more, then what was kept of them goes."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable

from mkdocs_roaming.errors import UsageError
from roaming_fleet.buckets import open_bucket
from roaming_fleet.buckets.base import Bucket
from roaming_fleet.buckets.folder import FolderBucket
from roaming_fleet.catalog import rebuild_catalog
from roaming_fleet.leases import hold_lease
from roaming_fleet.records import FLEET_DIR, HEAD_PATH, RECORDS_DIR, read_record
from roaming_fleet.runner import CATALOG_LEASE
from roaming_fleet.sites_file import SITE_KEY


def drop_sites(store: str, keys: Iterable[str], *, patience: float = 120.0) -> list[str]:
    """Take sites out of a store; give those that were there, in order.

    Raises UsageError where one of them is not in it (nothing is removed then), BucketError where the store cannot be
    used, and ClaimedError where a crawl goes on being at one.
    """
    bucket = open_bucket(store)
    bucket.get(HEAD_PATH)  # a store at all, before anything of it is removed
    wanted = list(dict.fromkeys(keys))
    for key in wanted:
        if not re.fullmatch(SITE_KEY, key) or read_record(bucket, key) is None:
            raise UsageError(f"{store}: no site {key}; `roaming sites {store}` lists them")
    for key in wanted:
        with hold_lease(bucket, key, patience=patience):
            _remove(bucket, key)
    with hold_lease(bucket, CATALOG_LEASE, patience=patience):
        rebuild_catalog(bucket)
    return wanted


def _remove(bucket: Bucket, key: str) -> None:
    """The record goes last: a site of which something is left can still be named, and dropped."""
    for below in (key, f"{FLEET_DIR}/state/{key}"):
        bucket.delete([kept.path for kept in bucket.list(below)])
    if isinstance(bucket, FolderBucket):
        shutil.rmtree(bucket.root / key, ignore_errors=True)
    bucket.delete([f"{RECORDS_DIR}/{key}.json"])
