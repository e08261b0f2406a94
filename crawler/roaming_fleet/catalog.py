"""The catalog of a store: an index over its sites, updated from the records that have changed.

    .fleet/catalogue/sites-<generation>.jsonl         a line per site, without search terms
    .fleet/catalogue/terms-<generation>-<shard>.json  postings: the sites of each term
    .fleet/catalogue/head.json                        the keys of the sites and the generation; written last

Terms are distributed over shards by a hash, so a query reads one shard per term.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from pathlib import PurePosixPath
from typing import Any

from roaming_fleet.buckets import BlobNotFoundError, Bucket, BucketError
from roaming_fleet.records import FLEET_DIR, HEAD_PATH, RECORDS_DIR, SiteRecord, parse_record, read_record

VERSION = 1
NAME_PREFIX = "="
"""Prefix of the terms of site names."""

Postings = dict[str, "array[int]"]
"""Alternating site numbers and weights by term."""


@dataclass(frozen=True, slots=True)
class RebuildStats:
    """Result of an update: the number of sites, of records read, and of removed sites."""

    sites: int
    read: int
    gone: int


@dataclass(slots=True)
class CatalogHead:
    """The head of a catalog.

    Attributes:
        generation: Id of this catalog, part of its file names.
        before: Generation of the previous catalog.
        shards: Number of shards, a power of two.
        languages: Languages of the sites, most frequent first.
        keys: Keys of the sites; a site's number is its position.
        lengths: Sums of the weights of each site's terms.
    """

    generation: str = ""
    before: str = ""
    shards: int = 1
    languages: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)


def rebuild_catalog(bucket: Bucket, confirm: Callable[[], None] = lambda: None) -> RebuildStats:
    """Update the catalog of a store, or build it from scratch if it is damaged. The caller must hold its lock.

    Args:
        bucket: The store.
        confirm: Called before the catalog is published; raises an error if the lock was lost.
    """
    try:
        return _update(bucket, read_head(bucket) or CatalogHead(), confirm)
    except (BlobNotFoundError, ValueError, KeyError, TypeError):
        return _update(bucket, CatalogHead(), confirm)


def read_head(bucket: Bucket) -> CatalogHead | None:
    """Return the head of the catalog, or None if it is missing or damaged."""
    try:
        data = json.loads(bucket.get(HEAD_PATH))
        return CatalogHead(**data["head"]) if data["version"] == VERSION else None
    except (BlobNotFoundError, ValueError, KeyError, TypeError):
        return None


def load_head(bucket: Bucket) -> CatalogHead:
    """Return the head of the catalog.

    Raises:
        BucketError: It is missing or damaged.
    """
    head = read_head(bucket)
    if head is None:
        raise BucketError(f"{bucket.where}: no sites in it; crawl some: roaming crawl --many FILE -o …")
    return head


def read_records(bucket: Bucket) -> Iterator[SiteRecord]:
    """Yield the records in the catalog in the order of their keys, without search terms.

    Raises:
        BucketError: The catalog is missing or damaged.
    """
    head = load_head(bucket)
    try:
        yield from map(parse_record, _read_lines(bucket, head))
    except ValueError:
        raise BucketError(f"{bucket.where}: its catalog is damaged; crawl its sites again") from None


def read_shard(bucket: Bucket, head: CatalogHead, shard: int) -> dict[str, list[int]]:
    """Return a shard: alternating site numbers and weights by term."""
    found: dict[str, list[int]] = json.loads(bucket.get(_shard_path(head.generation, shard)))
    return found


def shard_number(term: str, shards: int) -> int:
    """Return the shard of a term. When the number of shards doubles, each shard is divided in two."""
    return zlib.crc32(term.encode("utf-8", "surrogatepass")) & (shards - 1)


def _update(bucket: Bucket, old: CatalogHead, confirm: Callable[[], None]) -> RebuildStats:
    lines = {line["key"]: line for line in _read_lines(bucket, old)}
    tags = {PurePosixPath(blob.path).stem: blob.tag for blob in bucket.list(RECORDS_DIR) if blob.path.endswith(".json")}
    keys = sorted(tags)
    stale = [key for key in keys if lines.get(key, {}).get("tag") != tags[key]]
    gone = len(old.keys) - len(set(old.keys) & set(keys))
    if old.generation and not stale and not gone:
        return RebuildStats(len(keys), 0, 0)
    numbers = {key: number for number, key in enumerate(keys)}
    shards = [Postings() for _ in range(_shard_count(len(keys)))]
    lengths = [0] * len(keys)
    for record in _read_records(bucket, stale):
        number = numbers[record.key]
        lengths[number] = _add_terms(shards, number, record)
        lines[record.key] = {"tag": tags[record.key], "length": lengths[number], **_without_terms(record)}
    changed = set(stale)
    new_numbers = [-1 if key in changed else numbers.get(key, -1) for key in old.keys]
    for key in keys:
        if key not in changed:
            lengths[numbers[key]] = lines[key]["length"]
    counts = Counter(entry["language"] for key in keys if (entry := lines.get(key, {}).get("entry")))
    languages = sorted(counts, key=lambda language: (-counts[language], language))
    head = CatalogHead("", old.generation, len(shards), languages, keys, lengths)
    _write(bucket, head, shards, old, new_numbers, [lines[key] for key in keys if key in lines], confirm)
    return RebuildStats(len(keys), len(stale), gone)


def _shard_count(sites: int) -> int:
    return min(_MAX_SHARDS, 1 << max(0, (sites - 1) // _SITES_PER_SHARD).bit_length())


def _add_terms(shards: list[Postings], number: int, record: SiteRecord) -> int:
    """Add a site's terms, and return the sum of their weights."""
    if record.entry is None:
        return 0
    entry = record.entry
    weights = [(term, round(10 * weight)) for term, weight in entry.terms.items()]
    weights += [(NAME_PREFIX + term, 100 // len(entry.names)) for term in entry.names]
    for term, weight in weights:
        shards[shard_number(term, len(shards))].setdefault(term, array("I")).extend((number, weight))
    return round(sum(entry.terms.values()))


def _write(
    bucket: Bucket,
    head: CatalogHead,
    shards: list[Postings],
    old: CatalogHead,
    new_numbers: list[int],
    lines: list[dict[str, Any]],
    confirm: Callable[[], None],
) -> None:
    """Write a catalog: the shards with the unchanged postings of the old one, the lines, and then the head."""
    data = b"".join(json.dumps(line, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n" for line in lines)
    tags = [[line["key"], line["tag"]] for line in lines]
    head.generation = hashlib.sha256(json.dumps([head.shards, head.keys, tags]).encode()).hexdigest()[:12]
    for number, shard in enumerate(shards):
        if old.generation:
            for other in range(number % old.shards, old.shards, head.shards):
                _copy_postings(read_shard(bucket, old, other), shard, new_numbers, number, head.shards)
        postings = {term: list(pairs) for term, pairs in sorted(shard.items())}
        shards[number] = Postings()
        bucket.put(
            _shard_path(head.generation, number),
            json.dumps(postings, ensure_ascii=False, separators=(",", ":")).encode(),
        )
    bucket.put(_list_path(head.generation), data)
    confirm()
    bucket.put(HEAD_PATH, json.dumps({"version": VERSION, "head": asdict(head)}, ensure_ascii=False).encode())
    keep = (head.generation, head.before, "")  # readers may still use the previous catalog
    blobs = bucket.list(f"{FLEET_DIR}/catalogue")
    bucket.delete([blob.path for blob in blobs if _generation(blob.path) not in keep])


def _copy_postings(
    source: dict[str, list[int]], shard: Postings, new_numbers: list[int], number: int, shards: int
) -> None:
    """Copy the postings of unchanged sites from an old shard, with their new numbers."""
    for term, pairs in source.items():
        if shard_number(term, shards) != number:
            continue
        copied = array("I")
        for site, weight in zip(pairs[0::2], pairs[1::2], strict=True):
            if new_numbers[site] >= 0:
                copied.extend((new_numbers[site], weight))
        if copied:
            shard[term] = _sort_pairs(copied + shard[term]) if term in shard else _sort_pairs(copied)


def _sort_pairs(flat: array[int]) -> array[int]:
    pairs = sorted(zip(flat[0::2], flat[1::2], strict=True))
    return array("I", [value for pair in pairs for value in pair])


def _read_lines(bucket: Bucket, head: CatalogHead) -> Iterator[dict[str, Any]]:
    if head.generation:
        yield from map(json.loads, bucket.get(_list_path(head.generation)).splitlines())


def _without_terms(record: SiteRecord) -> dict[str, Any]:
    return asdict(replace(record, entry=record.entry and replace(record.entry, terms={}, names=())))


def _read_records(bucket: Bucket, keys: Iterable[str]) -> Iterator[SiteRecord]:
    """Read records, concurrently if that waits for a network. Damaged ones are left out."""
    remaining = iter(keys)
    with ThreadPoolExecutor(16 if bucket.is_remote else 1) as threads:
        while batch := list(islice(remaining, 256)):
            for record in threads.map(lambda key: read_record(bucket, key), batch):
                if record is not None:
                    yield record


def _shard_path(generation: str, shard: int) -> str:
    return f"{FLEET_DIR}/catalogue/terms-{generation}-{shard:04}.json"


def _list_path(generation: str) -> str:
    return f"{FLEET_DIR}/catalogue/sites-{generation}.jsonl"


def _generation(path: str) -> str:
    name = PurePosixPath(path).stem
    return name.split("-")[1] if "-" in name else ""


_SITES_PER_SHARD = 64  # a shard is read in a few milliseconds then
_MAX_SHARDS = 4096
