"""Read access to a store: its sites, refreshed at intervals, and the published files of each.

The last known state is used if a refresh fails.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from mkdocs_roaming.errors import LibraryError, ManifestNotFoundError
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.readers import MAX_MANIFEST_BYTES, MAX_MARKDOWN_BYTES, MissingFileError, safe_path
from mkdocs_roaming.manifest.io import MANIFEST_PATH, load_manifest
from roaming_fleet.buckets import BlobNotFoundError, Bucket, BucketError
from roaming_fleet.catalog import read_records
from roaming_fleet.objects import open_bucket
from roaming_fleet.ranking import Ranking
from roaming_fleet.records import SiteRecord, read_record, without_terms


@dataclass(frozen=True, slots=True)
class _Listing:
    """The records of one catalog, and the sites by the URL of their home page."""

    generation: str = ""
    records: tuple[SiteRecord, ...] = ()
    homes: dict[str, list[tuple[str, str]]] = field(default_factory=dict)


class SiteRegistry:
    """The sites of a store. Thread-safe.

    Attributes:
        last_ranking: The catalog as it was last read, without waiting for a refresh.
        is_stale: Whether the last refresh failed.

    Raises:
        LibraryError: The store cannot be read, and never could be.
    """

    def __init__(self, bucket: Bucket, *, interval: float, clock: Callable[[], float]) -> None:
        """Read the catalog; it is refreshed after `interval` seconds."""
        self._bucket, self._interval, self._clock = bucket, interval, clock
        self._lock, self._refreshing, self._listing_lock = threading.Lock(), threading.Lock(), threading.Lock()
        self._records: OrderedDict[str, tuple[float, SiteRecord | None]] = OrderedDict()
        self._listing = _Listing()
        self._refreshed_at = clock()
        self._listing_failed_at = float("-inf")
        self.is_stale = False
        try:
            self.last_ranking = Ranking(bucket)
        except BucketError as error:
            raise LibraryError(str(error)) from None

    def ranking(self) -> Ranking:
        """Return the catalog, refreshed if it is due."""
        if self._clock() - self._refreshed_at >= self._interval:
            self.refresh()
        return self.last_ranking

    def refresh(self) -> None:
        """Refresh the catalog now, unless another thread does. Errors set `is_stale`."""
        if not self._refreshing.acquire(blocking=False):
            return
        try:
            self.last_ranking.refresh()
            self.is_stale = False
        except BucketError:
            self.is_stale = True  # the next read raises the error
        finally:
            self._refreshed_at = self._clock()
            self._refreshing.release()

    def records(self) -> Sequence[SiteRecord]:
        """Return the records in the catalog in the order of their keys."""
        return self._current_listing().records

    def record(self, key: str) -> SiteRecord | None:
        """Return the record of a site without search terms, or None if there is no such site."""
        with self._lock:
            read_at, cached = self._records.get(key, (None, None))
        if read_at is not None and self._clock() - read_at < self._interval:
            return cached
        try:
            record = read_record(self._bucket, key)
        except BucketError as error:
            if cached is None:
                raise LibraryError(str(error)) from None
            record = cached
        record = record and without_terms(record)
        with self._lock:
            self._records[key] = (self._clock(), record)
            self._records.move_to_end(key)
            if len(self._records) > _MAX_CACHED_RECORDS:
                self._records.popitem(last=False)
        return record

    def find_by_url(self, url: str) -> list[tuple[str, str]]:
        """Return the sites that a URL may be on, the deepest first, each with the URL in the site's spelling."""
        homes = self._current_listing().homes
        address, sign, anchor = url.strip().partition("#")
        key = _url_key(address.partition("?")[0])
        found: list[tuple[str, str]] = []
        prefix = key.rstrip("/")
        while "/" in prefix:
            rest = key[len(prefix) + 1 :]
            found += [(site, f"{home}{rest}{sign}{anchor}") for site, home in homes.get(prefix, ())]
            prefix = prefix.rpartition("/")[0]
        return found

    def _current_listing(self) -> _Listing:
        generation = self.ranking().generation
        if self._needs_listing(generation):
            with self._listing_lock:
                if self._needs_listing(generation):
                    self._listing = self._read_listing(generation)
        return self._listing

    def _needs_listing(self, generation: str) -> bool:
        """Return whether the listing is to be read; after a failure, not before the interval has passed."""
        if self._listing.generation in ("", generation):
            return not self._listing.generation
        return self._clock() - self._listing_failed_at >= self._interval

    def _read_listing(self, generation: str) -> _Listing:
        try:
            records = tuple(read_records(self._bucket))
        except BucketError as error:
            if self._listing.generation:
                self._listing_failed_at = self._clock()
                return self._listing
            raise LibraryError(str(error)) from None
        homes: dict[str, list[tuple[str, str]]] = {}
        for record in records:
            if record.entry and "://" in record.entry.url:
                home = record.entry.url.rstrip("/") + "/"
                homes.setdefault(_url_key(home).rstrip("/"), []).append((record.key, home))
        return _Listing(generation, records, homes)


def _url_key(url: str) -> str:
    """Return a URL without its scheme, its host in lower case."""
    host, slash, path = re.sub(r"^[A-Za-z]+:/+", "/", url).removeprefix("/").partition("/")
    return f"/{host.lower()}{slash}{path}"


_MAX_CACHED_RECORDS = 1_024


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
            self._bucket = open_bucket(self.where, is_interactive=True)
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
