"""The catalog of a store: an index over the records of its sites.

    .fleet/catalogue/sites-<generation>.jsonl          the record of each site, without search terms
    .fleet/catalogue/terms-<generation>-<shard>.json   postings: the sites of each term
    .fleet/catalogue/head.json                         the keys of the sites; written last

Terms are distributed over shards by a hash, so a query reads one shard per term. Files of a generation are never
changed, and those of the previous one stay for readers that have just read its head.
"""

from __future__ import annotations

import hashlib
import zlib
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import msgspec

from mkdocs_roaming._json import decode_json
from roaming_fleet.buckets import BlobNotFoundError, BucketError
from roaming_fleet.objects import Bucket
from roaming_fleet.records import FLEET_DIR, HEAD_PATH, RECORDS_DIR, SiteRecord, read_record, without_terms

VERSION = 3
CATALOG_DIR = f"{FLEET_DIR}/catalogue"
NAME_PREFIX = "="
"""Prefix of the terms of site names."""
WEIGHT_SCALE = 10
"""Factor of weights in the files, which are whole numbers."""
WHOLE_NAME = 100
"""Sum of the weights of all words of a site's name."""

Shard = dict[str, list[int]]
"""Alternating site numbers and weights by term."""


class CatalogError(BucketError):
    """The catalog is missing, damaged or of another version."""


class CatalogHead(msgspec.Struct, frozen=True):
    """The head of a catalog.

    Attributes:
        version: Version of the format.
        generation: Digest of the records, part of the names of the files.
        languages: Languages of the sites, most frequent first.
        shards: Number of shards, a power of two.
        size: Number of bytes in the other files.
        keys: Keys of the sites in alphabetical order; a site's number is its position.
        lengths: Sums of the weights of each site's terms; 0 for sites that have not been crawled.
    """

    version: int = VERSION
    generation: str = ""
    languages: list[str] = []
    shards: int = 1
    size: int = 0
    keys: list[str] = []
    lengths: list[int] = []

    @property
    def crawled(self) -> int:
        """The number of sites that have been crawled; the others have no terms."""
        return sum(1 for length in self.lengths if length)


def update_catalog(bucket: Bucket, confirm: Callable[[], None] = lambda: None) -> None:
    """Write the catalog of a store if it is not current. The caller must hold the store's lock.

    Args:
        bucket: The store.
        confirm: Called before the catalog is published; raises an error if the lock was lost.
    """
    tags = sorted((blob.path, blob.tag) for blob in bucket.list(RECORDS_DIR) if blob.path.endswith(".json"))
    generation = hashlib.sha256(msgspec.json.encode([VERSION, tags])).hexdigest()[:12]
    files = list(bucket.list(CATALOG_DIR))
    try:
        old = load_head(bucket)
    except CatalogError:
        old = CatalogHead()
    if old.generation == generation and old.size == sum(blob.size for blob in files if generation in blob.path):
        return
    keys = [path.removeprefix(f"{RECORDS_DIR}/").removesuffix(".json") for path, _ in tags]
    head, contents = _build(generation, _read_all(bucket, keys), len(keys))
    for path, data in contents.items():
        bucket.put(path, data)
    confirm()
    bucket.put(HEAD_PATH, msgspec.json.encode(head))
    used = (generation, old.generation or generation, HEAD_PATH)
    bucket.delete([blob.path for blob in files if not any(part in blob.path for part in used)])


def load_head(bucket: Bucket) -> CatalogHead:
    """Return the head of the catalog.

    Raises:
        CatalogError: It is missing, damaged or of another version.
    """
    try:
        head = decode_json(bucket.get(HEAD_PATH), CatalogHead)
    except (BlobNotFoundError, ValueError):
        raise CatalogError(f"{bucket.where}: no sites in it; crawl some: roaming crawl --many FILE -o …") from None
    if head.version != VERSION:
        raise CatalogError(f"{bucket.where}: its catalog has another format; repeat the crawl, which converts it")
    return head


def read_records(bucket: Bucket) -> list[SiteRecord]:
    """Return the records in the catalog in the order of their keys, without search terms.

    Raises:
        CatalogError: The catalog is missing or damaged.
    """
    head = load_head(bucket)
    try:
        lines = bucket.get(_lines_path(head.generation)).splitlines()
        return [decode_json(line, SiteRecord) for line in lines]
    except ValueError:
        raise _damaged_error(bucket) from None


def read_shard(bucket: Bucket, generation: str, number: int) -> Shard:
    """Return a shard of the terms.

    Raises:
        CatalogError: It is damaged.
    """
    try:
        return decode_json(bucket.get(_shard_path(generation, number)), Shard)
    except ValueError:
        raise _damaged_error(bucket) from None


def shard_number(term: str, shards: int) -> int:
    """Return the shard of a term, for a power of two of shards."""
    return zlib.crc32(term.encode("utf-8", "surrogatepass")) & (shards - 1)


def _build(generation: str, records: Iterable[SiteRecord], count: int) -> tuple[CatalogHead, dict[str, bytes]]:
    """Return the head of a catalog, and its other files by path.

    Args:
        generation: Digest of the records.
        records: The records in the order of their keys.
        count: Maximum number of records.
    """
    keys = list[str]()
    lengths = list[int]()
    lines = list[bytes]()
    languages: Counter[str] = Counter()
    needed = 1 << max(0, (count - 1) // _SITES_PER_SHARD).bit_length()
    shards: list[dict[str, array[int]]] = [{} for _ in range(min(_MAX_SHARDS, needed))]
    for number, record in enumerate(records):
        keys.append(record.key)
        lines.append(msgspec.json.encode(without_terms(record)) + b"\n")
        entry = record.entry
        lengths.append(max(1, round(sum(entry.terms.values()))) if entry else 0)
        if entry is None:
            continue
        languages[entry.language] += 1
        weights = {term: round(WEIGHT_SCALE * weight) for term, weight in entry.terms.items()}
        weights |= {NAME_PREFIX + term: WHOLE_NAME // len(entry.names) for term in entry.names}
        for term, weight in weights.items():
            shards[shard_number(term, len(shards))].setdefault(term, array("I")).extend((number, weight))
    contents = {
        _shard_path(generation, number): msgspec.json.encode({term: list(pairs) for term, pairs in shard.items()})
        for number, shard in enumerate(shards)
    }
    contents[_lines_path(generation)] = b"".join(lines)
    size = sum(map(len, contents.values()))
    ordered = sorted(languages, key=lambda name: (-languages[name], name))
    return CatalogHead(VERSION, generation, ordered, len(shards), size, keys, lengths), contents


def _read_all(bucket: Bucket, keys: Sequence[str]) -> Iterator[SiteRecord]:
    """Yield records, read concurrently if that waits for a network. Damaged ones are left out."""
    with ThreadPoolExecutor(16 if bucket.is_remote else 1) as threads:
        for start in range(0, len(keys), _BATCH):
            yield from filter(None, threads.map(partial(read_record, bucket), keys[start : start + _BATCH]))


def _shard_path(generation: str, number: int) -> str:
    return f"{CATALOG_DIR}/terms-{generation}-{number:04}.json"


def _lines_path(generation: str) -> str:
    return f"{CATALOG_DIR}/sites-{generation}.jsonl"


def _damaged_error(bucket: Bucket) -> CatalogError:
    return CatalogError(f"{bucket.where}: its catalog is damaged; crawl its sites again")


_SITES_PER_SHARD = 64  # a shard is read in a few milliseconds then
_MAX_SHARDS = 4096
_BATCH = 256
