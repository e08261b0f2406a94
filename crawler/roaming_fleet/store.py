"""Operations on a whole store: creation, catalog updates, checks of names, removal of sites."""

from __future__ import annotations

import json
import re
import secrets
import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.manifest.io import MANIFEST_PATH
from roaming_fleet.buckets import BlobNotFoundError, Bucket, FolderBucket, open_bucket
from roaming_fleet.catalog import read_records, update_catalog
from roaming_fleet.errors import SiteNotFoundError
from roaming_fleet.lock import StoreLock, hold_lock
from roaming_fleet.namespaces import SITE_KEY
from roaming_fleet.records import FLEET_DIR, HEAD_PATH, RECORDS_DIR, SiteRecord, read_record
from roaming_fleet.sites_file import SiteSpec

STORE_MARKER = f"{FLEET_DIR}/store.json"


def prepare_store(bucket: Bucket) -> None:
    """Make a bucket or folder a store unless it is one.

    Raises:
        UsageError: It contains something else.
    """
    with suppress(BlobNotFoundError):
        bucket.get(STORE_MARKER)
        return
    for path, content in ((MANIFEST_PATH, "a published site"), (".roaming/state.json", "a crawl of one site")):
        with suppress(BlobNotFoundError):
            bucket.get(path)
            raise UsageError(f"{bucket.where}: contains {content}; give another place for many sites")
    if isinstance(bucket, FolderBucket) and bucket.root.is_dir() and any(bucket.root.iterdir()):
        raise UsageError(f"{bucket.where}: neither empty nor a store of sites; give another folder")
    bucket.create(STORE_MARKER, json.dumps({"version": 1}).encode())


def load_records(bucket: Bucket, lock: StoreLock) -> dict[str, SiteRecord]:
    """Update the catalog, and return the records of all sites by key."""
    update_catalog(bucket, lock.confirm)
    return {record.key: record for record in read_records(bucket)}


def check_names(bucket: Bucket, sites: Sequence[SiteSpec], records: Mapping[str, SiteRecord]) -> None:
    """Check that each listed site has the same name in the store.

    Raises:
        UsageError: A name belongs to another site in the store, or a site has another name there.
    """
    names = {record.url: record.key for record in records.values()}
    for site in sites:
        record, name = records.get(site.key), names.get(site.url, site.key)
        if record and record.url != site.url:
            key = site.key
            problem = f"{key} is {record.url} there, not {site.url}; give that another name in the list"
        elif record is None and name != site.key:
            key = name
            problem = f"{site.url} has the name {name} there; list it with that name"
        else:
            continue
        raise UsageError(f"{bucket.where}: {problem}, or drop it first: roaming sites {bucket.where} --drop {key}")


def drop_sites(store: str, keys: Iterable[str]) -> list[str]:
    """Remove sites from a store, and return their keys in order.

    Args:
        store: URL or folder of the store.
        keys: Keys of the sites.

    Raises:
        SiteNotFoundError: One of the sites is not in the store; none is removed then.
        BucketError: The store cannot be accessed.
        StoreLockedError: A run uses the store.
    """
    bucket = open_bucket(store)
    bucket.get(HEAD_PATH)  # fails unless this is a store
    wanted = list(dict.fromkeys(keys))
    for key in wanted:
        if not re.fullmatch(SITE_KEY, key) or read_record(bucket, key) is None:
            raise SiteNotFoundError(store, key)
    with hold_lock(bucket, f"drop-{secrets.token_hex(3)}") as lock:
        for key in wanted:
            lock.confirm()
            _remove(bucket, key)
        update_catalog(bucket, lock.confirm)
    return wanted


def _remove(bucket: Bucket, key: str) -> None:
    """Remove a site. Its record is last, so that a partly removed site can still be named."""
    for folder in (key, f"{FLEET_DIR}/state/{key}"):
        bucket.delete([blob.path for blob in bucket.list(folder)])
    if isinstance(bucket, FolderBucket):
        shutil.rmtree(bucket.root / key, ignore_errors=True)
    bucket.delete([f"{RECORDS_DIR}/{key}.json"])
