"""The catalogue of a store, brought up to date: only the records that changed since are read.

    .fleet/catalogue/sites-<of>.jsonl      a line a site, without the words it is found by
    .fleet/catalogue/terms-<of>-<at>.json  which sites hold a word: a part of all words each
    .fleet/catalogue/head.json             the keys of the sites, and what belongs together (<of>); written last

Words are spread over the parts by their hash, so a question reads one part for each of its words.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from pathlib import PurePosixPath
from typing import Any

from roaming_fleet.buckets.base import BlobNotFoundError, Bucket, BucketError
from roaming_fleet.records import FLEET_DIR, HEAD_PATH, RECORDS_DIR, SiteRecord, parse_record, read_record

VERSION = 1
NAME_PREFIX = "="
"""Stands before a term of a site's name."""

Postings = dict[str, "array[int]"]


@dataclass(frozen=True, slots=True)
class RebuildStats:
    """What bringing a catalogue up to date came to."""

    sites: int
    read: int
    gone: int


@dataclass(slots=True)
class CatalogHead:
    """What is read first of a catalogue; sites are numbered as their keys stand here."""

    generation: str = ""
    before: str = ""
    shards: int = 1
    languages: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)


def rebuild_catalog(bucket: Bucket) -> RebuildStats:
    """Bring the catalogue of a store up to date, or make it anew where it is broken. One at a time may do so."""
    try:
        return _rebuilt(bucket, read_head(bucket) or CatalogHead())
    except (BlobNotFoundError, ValueError, KeyError, TypeError):
        return _rebuilt(bucket, CatalogHead())


def read_head(bucket: Bucket) -> CatalogHead | None:
    """Give a catalogue's head; None where there is none that can be read."""
    try:
        data = json.loads(bucket.get(HEAD_PATH))
        return CatalogHead(**data["head"]) if data["version"] == VERSION else None
    except (BlobNotFoundError, ValueError, KeyError, TypeError):
        return None


def read_records(bucket: Bucket) -> Iterator[SiteRecord]:
    """Give what the catalogue tells of every site, in the order of their keys, without the words they are found by.

    Raises BucketError where there is no catalogue, or a broken one.
    """
    head = read_head(bucket)
    if head is None:
        raise BucketError(f"{bucket.where}: no sites in it; crawl some: roaming crawl --many FILE -o …")
    try:
        yield from map(parse_record, _lines(bucket, head))
    except ValueError:
        raise BucketError(f"{bucket.where}: its catalogue is broken; crawl its sites again") from None


def read_shard(bucket: Bucket, head: CatalogHead, at: int) -> dict[str, list[int]]:
    """Give a part of the words: of each, the sites that hold it, a number and a weight in turns."""
    found: dict[str, list[int]] = json.loads(bucket.get(_shard_path(head.generation, at)))
    return found


def shard_number(term: str, shards: int) -> int:
    """Give which part a term belongs to; twice as many parts part each of them in two."""
    return zlib.crc32(term.encode("utf-8", "surrogatepass")) & (shards - 1)


def _rebuilt(bucket: Bucket, head: CatalogHead) -> RebuildStats:
    lines = {line["key"]: line for line in _lines(bucket, head)}
    now = {PurePosixPath(kept.path).stem: kept.tag for kept in bucket.list(RECORDS_DIR) if kept.path.endswith(".json")}
    keys = sorted(now)
    stale = [key for key in keys if lines.get(key, {}).get("tag") != now[key]]
    gone = len(head.keys) - len(set(head.keys) & set(keys))
    if head.generation and not stale and not gone:
        return RebuildStats(len(keys), 0, 0)
    number = {key: at for at, key in enumerate(keys)}
    shards = [Postings() for _ in range(_shards(len(keys)))]
    lengths = [0] * len(keys)
    for record in _read(bucket, stale):
        at = number[record.key]
        lengths[at] = _add(shards, at, record)
        lines[record.key] = {"tag": now[record.key], "length": lengths[at], **_told(record)}
    changed = set(stale)
    moved = [-1 if key in changed else number.get(key, -1) for key in head.keys]
    for key in keys:
        if key not in changed:
            lengths[number[key]] = lines[key]["length"]
    spoken = Counter(entry["language"] for key in keys if (entry := lines.get(key, {}).get("entry")))
    languages = sorted(spoken, key=lambda language: (-spoken[language], language))
    made = CatalogHead("", head.generation, len(shards), languages, keys, lengths)
    _write(bucket, made, shards, head, moved, [lines[key] for key in keys if key in lines])
    return RebuildStats(len(keys), len(stale), gone)


def _shards(sites: int) -> int:
    return min(_MOST, 1 << max(0, (sites - 1) // _TOGETHER).bit_length())


def _add(shards: list[Postings], at: int, record: SiteRecord) -> int:
    """Add a site's words; give how long it is."""
    if record.entry is None:
        return 0
    entry = record.entry
    each = [(term, round(10 * weight)) for term, weight in entry.terms.items()]
    each += [(NAME_PREFIX + term, 100 // len(entry.names)) for term in entry.names]
    for term, weight in each:
        shards[shard_number(term, len(shards))].setdefault(term, array("I")).extend((at, weight))
    return round(sum(entry.terms.values()))


def _write(
    bucket: Bucket,
    made: CatalogHead,
    shards: list[Postings],
    old: CatalogHead,
    moved: list[int],
    lines: list[dict[str, Any]],
) -> None:
    told = b"".join(json.dumps(line, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n" for line in lines)
    tags = [[line["key"], line["tag"]] for line in lines]
    made.generation = hashlib.sha256(json.dumps([made.shards, made.keys, tags]).encode()).hexdigest()[:12]
    for at, shard in enumerate(shards):
        if old.generation:
            for other in range(at % old.shards, old.shards, made.shards):
                _carry_over(read_shard(bucket, old, other), shard, moved, at, made.shards)
        data = {term: list(held) for term, held in sorted(shard.items())}
        shards[at] = Postings()
        bucket.put(
            _shard_path(made.generation, at), json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode()
        )
    bucket.put(_list_path(made.generation), told)
    bucket.put(HEAD_PATH, json.dumps({"version": VERSION, "head": asdict(made)}, ensure_ascii=False).encode())
    keep = {made.generation, made.before}  # whoever reads the one before may go on with it
    stale = [kept.path for kept in bucket.list(f"{FLEET_DIR}/catalogue") if _generation(kept.path) not in (*keep, "")]
    bucket.delete(stale)


def _carry_over(source: dict[str, list[int]], shard: Postings, moved: list[int], at: int, shards: int) -> None:
    """Take what an older catalogue says of sites that did not change, by their numbers now."""
    for term, held in source.items():
        if shard_number(term, shards) != at:
            continue
        kept = array("I")
        for number, weight in zip(held[0::2], held[1::2], strict=True):
            if moved[number] >= 0:
                kept.extend((moved[number], weight))
        if kept:
            shard[term] = _in_order(kept + shard[term]) if term in shard else _in_order(kept)


def _in_order(held: array[int]) -> array[int]:
    pairs = sorted(zip(held[0::2], held[1::2], strict=True))
    return array("I", [each for pair in pairs for each in pair])


def _lines(bucket: Bucket, head: CatalogHead) -> Iterator[dict[str, Any]]:
    if head.generation:
        yield from map(json.loads, bucket.get(_list_path(head.generation)).splitlines())


def _told(record: SiteRecord) -> dict[str, Any]:
    return asdict(replace(record, entry=record.entry and replace(record.entry, terms={}, names=())))


def _read(bucket: Bucket, keys: Iterable[str]) -> Iterator[SiteRecord]:
    """Read records, several at once where each waits for a network; a broken one is left out."""
    todo = iter(keys)
    with ThreadPoolExecutor(16 if bucket.is_remote else 1) as several:
        while some := list(islice(todo, 256)):
            for record in several.map(lambda key: read_record(bucket, key), some):
                if record is not None:
                    yield record


def _shard_path(generation: str, at: int) -> str:
    return f"{FLEET_DIR}/catalogue/terms-{generation}-{at:04}.json"


def _list_path(generation: str) -> str:
    return f"{FLEET_DIR}/catalogue/sites-{generation}.jsonl"


def _generation(path: str) -> str:
    name = PurePosixPath(path).stem
    return name.split("-")[1] if "-" in name else ""


_TOGETHER = 64  # sites: so a part of the words is read in a few milliseconds
_MOST = 4096
