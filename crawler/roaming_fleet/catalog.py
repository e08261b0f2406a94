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
from collections.abc import Iterable

import msgspec

from mkdocs_roaming._json import decode_json
from roaming_fleet.folder import FLEET_DIR, StoreError, StoreFileNotFoundError, StoreFolder
from roaming_fleet.records import HEAD_PATH, RECORDS_DIR, SiteRecord, read_record, without_terms

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


class CatalogError(StoreError):
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


def update_catalog(store: StoreFolder) -> None:
    """Write the catalog of a store if it is not current. The caller must hold the store's lock."""
    tags = sorted((file.path, file.tag) for file in store.list(RECORDS_DIR) if file.path.endswith(".json"))
    generation = hashlib.sha256(msgspec.json.encode([VERSION, tags])).hexdigest()[:12]
    files = list(store.list(CATALOG_DIR))
    try:
        old = load_head(store)
    except CatalogError:
        old = CatalogHead()
    if old.generation == generation and old.size == sum(file.size for file in files if generation in file.path):
        return
    keys = [path.removeprefix(f"{RECORDS_DIR}/").removesuffix(".json") for path, _ in tags]
    records = (read_record(store, key) for key in keys)
    head, contents = _build(generation, filter(None, records), len(keys))
    for path, data in contents.items():
        store.put(path, data)
    store.put(HEAD_PATH, msgspec.json.encode(head))
    used = (generation, old.generation or generation, HEAD_PATH)
    store.delete([file.path for file in files if not any(part in file.path for part in used)])


def load_head(store: StoreFolder) -> CatalogHead:
    """Return the head of the catalog.

    Raises:
        CatalogError: It is missing, damaged or of another version.
    """
    try:
        head = decode_json(store.get(HEAD_PATH), CatalogHead)
    except (StoreFileNotFoundError, ValueError):
        raise CatalogError(f"{store.where}: no sites in it; crawl some: roaming crawl --many FILE -o …") from None
    if head.version != VERSION:
        raise CatalogError(f"{store.where}: its catalog has another format; repeat the crawl, which converts it")
    return head


def read_records(store: StoreFolder) -> list[SiteRecord]:
    """Return the records in the catalog in the order of their keys, without search terms.

    Raises:
        CatalogError: The catalog is missing or damaged.
    """
    head = load_head(store)
    try:
        lines = store.get(_lines_path(head.generation)).splitlines()
        return [decode_json(line, SiteRecord) for line in lines]
    except ValueError:
        raise _damaged_error(store) from None


def read_shard(store: StoreFolder, generation: str, number: int) -> Shard:
    """Return a shard of the terms.

    Raises:
        CatalogError: It is damaged.
    """
    try:
        return decode_json(store.get(_shard_path(generation, number)), Shard)
    except ValueError:
        raise _damaged_error(store) from None


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


def _shard_path(generation: str, number: int) -> str:
    return f"{CATALOG_DIR}/terms-{generation}-{number:04}.json"


def _lines_path(generation: str) -> str:
    return f"{CATALOG_DIR}/sites-{generation}.jsonl"


def _damaged_error(store: StoreFolder) -> CatalogError:
    return CatalogError(f"{store.where}: its catalog is damaged; crawl its sites again")


_SITES_PER_SHARD = 64  # a shard is read in a few milliseconds then
_MAX_SHARDS = 4096
