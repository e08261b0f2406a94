"""Updates of the catalog."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from roaming_fleet.buckets.base import BucketError
from roaming_fleet.buckets.folder import FolderBucket
from roaming_fleet.catalog import read_records, rebuild_catalog
from roaming_fleet.ranking import Ranking
from roaming_fleet.records import HEAD_PATH, RECORDS_DIR, CatalogEntry, SiteRecord, write_record

WORDS = [first + rest for first in "bdfgklmnprst" for rest in ("alor", "edin", "igan", "omet", "uvil", "anok")]


def _record(key: str, rng: random.Random) -> SiteRecord:
    terms = {word: float(rng.randint(1, 9)) for word in rng.sample(WORDS, 20)}
    entry = CatalogEntry(key.title(), "", f"https://{key}.example/", "en", 1, 1, "", 1.0, (key,), {**terms, key: 8.0})
    return SiteRecord(key, entry.url, "done", "", "", 1.0, result="new", entry=entry)


def _answers(bucket: FolderBucket) -> list[list[tuple[str, float]]]:
    ranking = Ranking(bucket)
    return [[(key, round(score, 6)) for key, score in ranking.best(word, 10)] for word in WORDS]


def _catalogue(root: Path) -> Iterator[tuple[str, object]]:
    for file in sorted((root / ".fleet/catalogue").iterdir()):
        data = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
        if file.name.startswith("terms-"):
            yield file.name[-9:], data
        elif file.name == "head.json":
            yield file.name, {name: data[0]["head"][name] for name in ("shards", "languages", "keys", "lengths")}


@pytest.mark.parametrize("seed", range(3))
def test_updated_catalog_equals_rebuilt_one(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    kept, rebuilt = FolderBucket(tmp_path / "kept"), FolderBucket(tmp_path / "rebuilt")
    records: dict[str, SiteRecord] = {}
    for size in (3, 60, 200, 700, 150):
        changed = [f"site{at}" for at in range(size) if f"site{at}" not in records or rng.random() < 0.1]
        gone = [key for key in records if int(key[4:]) >= size]
        for key in changed:
            records[key] = _record(key, rng)
            write_record(kept, records[key])
        for key in gone:
            del records[key]
            kept.delete([f"{RECORDS_DIR}/{key}.json"])
        built = rebuild_catalog(kept)
        assert (built.sites, built.read, built.gone) == (size, len(changed), len(gone))
    for record in records.values():
        write_record(rebuilt, record)
    rebuild_catalog(rebuilt)
    assert _answers(kept) == _answers(rebuilt)
    old = dict(_catalogue(kept.root))
    assert all(old[name] == data for name, data in _catalogue(rebuilt.root) if name == "head.json")
    assert rebuild_catalog(kept).read == 0


def test_reader_survives_catalog_updates(tmp_path: Path) -> None:
    bucket, rng = FolderBucket(tmp_path), random.Random(1)
    for at in range(100):
        write_record(bucket, _record(f"site{at}", rng))
    rebuild_catalog(bucket)
    ranking = Ranking(bucket)
    for at in range(100, 104):
        write_record(bucket, _record(f"site{at}", rng))
        rebuild_catalog(bucket)
        assert ranking.best(f"site{at - 100}", 1)[0][0] == f"site{at - 100}"
    assert Ranking(bucket).best("site103", 1)[0][0] == "site103"


def test_uncrawled_site_is_not_found(tmp_path: Path) -> None:
    bucket, rng = FolderBucket(tmp_path), random.Random(1)
    with pytest.raises(BucketError, match="no sites in it"):
        Ranking(bucket)
    record = _record("one", rng)
    write_record(bucket, record)
    write_record(bucket, replace(_record("two", rng), state="failed", entry=None))
    bucket.put(f"{RECORDS_DIR}/three.json", b'{"key": ')
    rebuild_catalog(bucket)
    assert [key for key, _ in Ranking(bucket).best("one two three", 10)] == ["one"]
    bucket.put(HEAD_PATH, b"[]")
    with pytest.raises(BucketError, match="no sites in it"):
        Ranking(bucket)
    rebuild_catalog(bucket)
    assert [key for key, _ in Ranking(bucket).best("one", 10)] == ["one"]


@pytest.mark.parametrize("broken", ["head.json", "sites-", "terms-"])
def test_damaged_catalog_is_rebuilt(broken: str, tmp_path: Path) -> None:
    bucket, rng = FolderBucket(tmp_path), random.Random(5)
    for at in range(5):
        write_record(bucket, _record(f"site{at}", rng))
    rebuild_catalog(bucket)
    before = _answers(bucket)
    for file in (tmp_path / ".fleet/catalogue").glob(f"{broken}*"):
        file.write_text('{"key": ')
    with pytest.raises(BucketError):
        _answers(bucket) if broken == "terms-" else list(read_records(bucket))
    write_record(bucket, _record("site9", rng))
    rebuild_catalog(bucket)
    assert [record.key for record in read_records(bucket)] == ["site0", "site1", "site2", "site3", "site4", "site9"]
    bucket.delete([f"{RECORDS_DIR}/site9.json"])
    rebuild_catalog(bucket)
    assert _answers(bucket) == before
