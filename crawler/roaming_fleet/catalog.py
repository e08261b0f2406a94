"""The catalog of a store: an index over its sites in segments, which are never changed.

    .fleet/catalogue/sites-<segment>.jsonl         a line per site, without search terms
    .fleet/catalogue/terms-<segment>-<shard>.json  postings: the sites of each term
    .fleet/catalogue/head.json                     the segments and the sites in them; written last

An update writes the changed sites as a new segment, merged with previous segments that are at most four times as large:
so there are few segments, and large ones are rarely written. Terms are distributed over the shards of a segment by a
hash, so a query reads one shard per term and segment.
"""

from __future__ import annotations

import hashlib
import zlib
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice
from pathlib import PurePosixPath
from typing import TypeVar

import msgspec

from mkdocs_roaming._json import decode_json
from roaming_fleet.buckets import BlobInfo, BlobNotFoundError, Bucket, BucketError
from roaming_fleet.records import FLEET_DIR, HEAD_PATH, RECORDS_DIR, SiteRecord, read_record, without_terms

T = TypeVar("T")

VERSION = 2
CATALOG_DIR = f"{FLEET_DIR}/catalogue"
NAME_PREFIX = "="
"""Prefix of the terms of site names."""

Postings = dict[str, "array[int]"]
"""Alternating site numbers and weights by term."""


class CatalogError(BucketError):
    """The catalog is missing, damaged or of another version."""


class Segment(msgspec.Struct, frozen=True):
    """A segment of the catalog.

    Attributes:
        id: Digest of its contents, part of its file names.
        shards: Number of shards, a power of two.
        keys: Keys of the sites; a site's number is its position.
        lengths: Sums of the weights of each site's terms; 0 for sites that have not been crawled.
        size: Number of bytes in its files.
        dead: Numbers of the sites that were removed, or are in a later segment.
    """

    id: str
    shards: int
    keys: list[str]
    lengths: list[int]
    size: int
    dead: list[int]

    @property
    def live(self) -> int:
        """The number of sites that are not dead."""
        return len(self.keys) - len(self.dead)


class CatalogHead(msgspec.Struct, frozen=True):
    """The head of a catalog.

    Attributes:
        version: Version of the format.
        generation: Digest of the catalog.
        languages: Languages of the sites, most frequent first.
        segments: The segments, largest first.
    """

    version: int = VERSION
    generation: str = ""
    languages: list[str] = []
    segments: list[Segment] = []


class _EntryLanguage(msgspec.Struct):
    language: str


class _Line(msgspec.Struct):
    """What an update needs of a site's line."""

    key: str
    tag: str
    entry: _EntryLanguage | None = None


def update_catalog(bucket: Bucket, confirm: Callable[[], None] = lambda: None) -> None:
    """Update the catalog of a store, or build it from scratch if it is damaged. The caller must hold the store's lock.

    Args:
        bucket: The store.
        confirm: Called before the catalog is published; raises an error if the lock was lost.
    """
    try:
        _update(bucket, load_head(bucket), confirm)
    except (CatalogError, BlobNotFoundError, IndexError):
        _update(bucket, CatalogHead(), confirm)


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
    segments = load_head(bucket).segments
    found = [record for segment in segments for _, record in _read_lines(bucket, segment, SiteRecord)]
    return sorted(found, key=lambda record: record.key)


def read_shard(bucket: Bucket, segment: str, shard: int) -> dict[str, list[int]]:
    """Return a shard of a segment: alternating site numbers and weights by term.

    Raises:
        CatalogError: It is damaged.
    """
    try:
        return decode_json(bucket.get(_shard_path(segment, shard)), dict[str, list[int]])
    except ValueError:
        raise _damaged_error(bucket) from None


def shard_number(term: str, shards: int) -> int:
    """Return the shard of a term, for a power of two of shards."""
    return zlib.crc32(term.encode("utf-8", "surrogatepass")) & (shards - 1)


def _update(bucket: Bucket, old: CatalogHead, confirm: Callable[[], None]) -> None:
    files = list(bucket.list(CATALOG_DIR))
    _check_sizes(bucket, files, old.segments)
    lines = {line.key: line for segment in old.segments for _, line in _read_lines(bucket, segment, _Line)}
    tags = _list_tags(bucket)
    stale = sorted(key for key, tag in tags.items() if key not in lines or lines[key].tag != tag)
    gone = lines.keys() - tags.keys()
    if old.generation and not stale and not gone:
        return
    marked = [_mark_dead(segment, gone.union(stale)) for segment in old.segments]
    segments, written = _write_stale(bucket, marked, stale, tags)
    lines |= written
    languages = _sort_languages(line for key, line in lines.items() if key in tags)
    confirm()
    bucket.put(HEAD_PATH, msgspec.json.encode(CatalogHead(VERSION, _digest(segments), languages, segments)))
    used = {segment.id for segment in (*segments, *old.segments)}  # readers may still use the previous catalog
    _remove_unused(bucket, files, used)


def _remove_unused(bucket: Bucket, files: Iterable[BlobInfo], used: set[str]) -> None:
    bucket.delete([blob.path for blob in files if blob.path != HEAD_PATH and _segment_id(blob.path) not in used])


def _digest(segments: Iterable[Segment]) -> str:
    parts = [[segment.id, segment.dead] for segment in segments]
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:12]


def _write_stale(
    bucket: Bucket, segments: list[Segment], stale: list[str], tags: dict[str, str]
) -> tuple[list[Segment], dict[str, _Line]]:
    """Write the changed sites as a new segment, merged with small ones.

    Returns:
        The segments of the catalog, and the lines of the changed sites by key.
    """
    kept, merged = _select_merged(segments, len(stale))
    writer = _SegmentWriter(bucket, len(stale) + sum(segment.live for segment in merged))
    for segment in merged:
        writer.copy(segment)
    written = {record.key: writer.add(record, tags[record.key]) for record in _read_stale(bucket, stale)}
    return [*kept, writer.write()] if writer.keys else kept, written


def _check_sizes(bucket: Bucket, files: Iterable[BlobInfo], segments: Iterable[Segment]) -> None:
    """Raise CatalogError if files of segments are missing or truncated."""
    sizes: Counter[str] = Counter()
    for blob in files:
        sizes[_segment_id(blob.path)] += blob.size
    if any(sizes[segment.id] != segment.size for segment in segments):
        raise _damaged_error(bucket)


def _list_tags(bucket: Bucket) -> dict[str, str]:
    """Return the tags of all records by key."""
    records = (blob for blob in bucket.list(RECORDS_DIR) if blob.path.endswith(".json"))
    return {blob.path[len(RECORDS_DIR) + 1 : -len(".json")]: blob.tag for blob in records}


def _sort_languages(lines: Iterable[_Line]) -> list[str]:
    """Return the languages of sites, most frequent first."""
    counts = Counter(line.entry.language for line in lines if line.entry)
    return sorted(counts, key=lambda language: (-counts[language], language))


def _select_merged(segments: Iterable[Segment], size: int) -> tuple[list[Segment], list[Segment]]:
    """Return the segments that stay, and those that are merged into a new one with `size` changed sites."""
    kept: list[Segment] = []
    merged: list[Segment] = []
    for segment in sorted(segments, key=lambda segment: segment.live):
        if segment.live <= max(_MERGE_RATIO * size, len(segment.dead)):
            merged.append(segment)
            size += segment.live
        else:
            kept.insert(0, segment)
    return kept, merged


def _mark_dead(segment: Segment, keys: set[str]) -> Segment:
    """Return a segment in which the sites with these keys are dead."""
    dead = [number for number, key in enumerate(segment.keys) if key in keys]
    return msgspec.structs.replace(segment, dead=sorted({*segment.dead, *dead})) if dead else segment


class _SegmentWriter:
    """A new segment: the live sites of the segments that it replaces, and changed sites."""

    def __init__(self, bucket: Bucket, sites: int) -> None:
        """Start a segment with a maximum number of sites."""
        self._bucket = bucket
        self.keys: list[str] = []
        self._lengths: list[int] = []
        self._lines: list[bytes] = []
        shards = min(_MAX_SHARDS, 1 << max(0, (sites - 1) // _SITES_PER_SHARD).bit_length())
        self._shards = [Postings() for _ in range(shards)]

    def add(self, record: SiteRecord, tag: str) -> _Line:
        """Add a changed site."""
        number, entry = len(self.keys), record.entry
        if entry is not None:
            for term, weight in entry.terms.items():
                self._postings(term).extend((number, round(10 * weight)))
            for term in entry.names:
                self._postings(NAME_PREFIX + term).extend((number, 100 // len(entry.names)))
        self.keys.append(record.key)
        self._lengths.append(max(1, round(sum(entry.terms.values()))) if entry else 0)
        self._lines.append(msgspec.json.encode({"tag": tag, **msgspec.structs.asdict(without_terms(record))}))
        return _Line(record.key, tag, _EntryLanguage(entry.language) if entry else None)

    def copy(self, segment: Segment) -> None:
        """Add the live sites of a segment, with new numbers."""
        new_numbers = [-1] * len(segment.keys)
        for number, key, length in _live_sites(segment):
            new_numbers[number] = len(self.keys)
            self.keys.append(key)
            self._lengths.append(length)
        self._lines += [raw for raw, _ in _read_lines(self._bucket, segment, _Line)]
        for number in range(segment.shards):
            for term, pairs in read_shard(self._bucket, segment.id, number).items():
                copied = array("I")
                for site, weight in zip(pairs[0::2], pairs[1::2], strict=True):
                    if new_numbers[site] >= 0:
                        copied.extend((new_numbers[site], weight))
                if copied:
                    self._postings(term).extend(copied)

    def write(self) -> Segment:
        """Write the files of the segment."""
        lines = b"\n".join(self._lines) + b"\n"
        id_ = hashlib.sha256(b"%d %d " % (VERSION, len(self._shards)) + lines).hexdigest()[:12]
        size = len(lines)
        for number, shard in enumerate(self._shards):
            data = msgspec.json.encode({term: list(pairs) for term, pairs in sorted(shard.items())})
            self._bucket.put(_shard_path(id_, number), data)
            size += len(data)
        self._bucket.put(_lines_path(id_), lines)
        return Segment(id_, len(self._shards), self.keys, self._lengths, size, [])

    def _postings(self, term: str) -> array[int]:
        return self._shards[shard_number(term, len(self._shards))].setdefault(term, array("I"))


def _live_sites(segment: Segment) -> Iterator[tuple[int, str, int]]:
    """Yield number, key and length of the live sites of a segment."""
    dead = set(segment.dead)
    for number, (key, length) in enumerate(zip(segment.keys, segment.lengths, strict=True)):
        if number not in dead:
            yield number, key, length


def _read_lines(bucket: Bucket, segment: Segment, kind: type[T]) -> Iterator[tuple[bytes, T]]:
    """Yield the lines of the live sites of a segment, raw and decoded.

    Raises:
        CatalogError: The file is damaged.
    """
    lines, decoder = bucket.get(_lines_path(segment.id)).splitlines(), msgspec.json.Decoder(kind)
    if len(lines) != len(segment.keys):
        raise _damaged_error(bucket)
    for number, _, _ in _live_sites(segment):
        try:
            yield lines[number], decoder.decode(lines[number])
        except ValueError:
            raise _damaged_error(bucket) from None


def _damaged_error(bucket: Bucket) -> CatalogError:
    return CatalogError(f"{bucket.where}: its catalog is damaged; crawl its sites again")


def _read_stale(bucket: Bucket, keys: Iterable[str]) -> Iterator[SiteRecord]:
    """Read records, concurrently if that waits for a network. Damaged ones are left out."""
    remaining = iter(keys)
    with ThreadPoolExecutor(16 if bucket.is_remote else 1) as threads:
        while batch := list(islice(remaining, 256)):
            yield from filter(None, threads.map(partial(read_record, bucket), batch))


def _shard_path(segment: str, shard: int) -> str:
    return f"{CATALOG_DIR}/terms-{segment}-{shard:04}.json"


def _lines_path(segment: str) -> str:
    return f"{CATALOG_DIR}/sites-{segment}.jsonl"


def _segment_id(path: str) -> str:
    name = PurePosixPath(path).stem
    return name.split("-")[1] if "-" in name else ""


_MERGE_RATIO = 4
_SITES_PER_SHARD = 64  # a shard is read in a few milliseconds then
_MAX_SHARDS = 4096
