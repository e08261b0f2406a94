"""Updates of the catalog."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from mkdocs_roaming.library.search import Search
from mkdocs_roaming.library.targets import library_from_markdown
from mkdocs_roaming.manifest.models import Manifest
from roaming_fleet.catalog import read_records, update_catalog
from roaming_fleet.folder import StoreError, StoreFolder
from roaming_fleet.ranking import Ranking, coverage_factor
from roaming_fleet.records import (
    HEAD_PATH,
    RECORDS_DIR,
    CatalogEntry,
    SiteRecord,
    make_catalog_entry,
    write_record,
)

WORDS = [first + rest for first in "bdfgklmnprst" for rest in ("alor", "edin", "igan", "omet", "uvil", "anok")]


def _record(key: str, rng: random.Random) -> SiteRecord:
    terms = {word: float(rng.randint(1, 9)) for word in rng.sample(WORDS, 20)}
    entry = CatalogEntry(key.title(), "", f"https://{key}.example/", "en", 1, 1, "", 1.0, (key,), {**terms, key: 8.0})
    return SiteRecord(key, entry.url, "done", "", "", 1.0, result="new", entry=entry)


def _answers(bucket: StoreFolder) -> list[list[tuple[str, float]]]:
    ranking = Ranking(bucket)
    return [[(key, round(score, 6)) for key, score in ranking.best(word, 10)] for word in WORDS]


def test_reader_survives_catalog_updates(tmp_path: Path) -> None:
    bucket, rng = StoreFolder(tmp_path), random.Random(1)
    for at in range(100):
        write_record(bucket, _record(f"site{at}", rng))
    update_catalog(bucket)
    ranking = Ranking(bucket)
    for at in range(100, 104):
        write_record(bucket, _record(f"site{at}", rng))
        update_catalog(bucket)
        assert ranking.best(f"site{at - 100}", 1)[0][0] == f"site{at - 100}"
    assert Ranking(bucket).best("site103", 1)[0][0] == "site103"


def test_uncrawled_site_is_not_found(tmp_path: Path) -> None:
    bucket, rng = StoreFolder(tmp_path), random.Random(1)
    with pytest.raises(StoreError, match="no sites in it"):
        Ranking(bucket)
    record = _record("one", rng)
    write_record(bucket, record)
    write_record(bucket, replace(_record("two", rng), state="failed", entry=None))
    bucket.put(f"{RECORDS_DIR}/three.json", b'{"key": ')
    update_catalog(bucket)
    assert [key for key, _ in Ranking(bucket).best("one two three", 10)] == ["one"]
    bucket.put(HEAD_PATH, b"[]")
    with pytest.raises(StoreError, match="no sites in it"):
        Ranking(bucket)
    update_catalog(bucket)
    assert [key for key, _ in Ranking(bucket).best("one", 10)] == ["one"]


@pytest.mark.parametrize("broken", ["head.json", "sites-", "terms-"])
def test_damaged_catalog_is_rebuilt(broken: str, tmp_path: Path) -> None:
    bucket, rng = StoreFolder(tmp_path), random.Random(5)
    for at in range(5):
        write_record(bucket, _record(f"site{at}", rng))
    update_catalog(bucket)
    before = _answers(bucket)
    for file in (tmp_path / ".fleet/catalogue").glob(f"{broken}*"):
        file.write_text('{"key": ')
    with pytest.raises(StoreError, match=r"no sites in it|is damaged; crawl its sites again"):
        _answers(bucket) if broken == "terms-" else list(read_records(bucket))
    write_record(bucket, _record("site9", rng))
    update_catalog(bucket)
    assert [record.key for record in read_records(bucket)] == ["site0", "site1", "site2", "site3", "site4", "site9"]
    bucket.delete([f"{RECORDS_DIR}/site9.json"])
    update_catalog(bucket)
    assert _answers(bucket) == before


class _InterruptedBucket:
    """A bucket of a process that is killed after a number of writes and deletions."""

    def __init__(self, bucket: StoreFolder, steps: int) -> None:
        self._bucket, self._steps, self.where, self.is_remote = bucket, steps, bucket.where, False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._bucket, name)

    def put(self, path: str, data: bytes) -> None:
        self._count()
        self._bucket.put(path, data)

    def delete(self, paths: Iterable[str]) -> None:
        for path in paths:
            self._count()
            self._bucket.delete([path])

    def _count(self) -> None:
        self._steps -= 1
        if self._steps < 0:
            raise InterruptedError


def test_interrupted_update_leaves_readable_catalog(tmp_path: Path) -> None:
    bucket, rng = StoreFolder(tmp_path), random.Random(3)
    for at in range(80):
        write_record(bucket, _record(f"site{at}", rng))
    update_catalog(bucket)
    seen = set()
    for steps in itertools.count():
        write_record(bucket, _record(f"site{rng.randrange(80)}", rng))
        reader, before = Ranking(bucket), _answers(bucket)
        try:
            update_catalog(_InterruptedBucket(bucket, steps))
        except InterruptedError:
            seen.add(_answers(bucket) == before)
        else:
            break
        assert [[(key, round(score, 6)) for key, score in reader.best(word, 10)] for word in WORDS] == before
        assert len(read_records(bucket)) == 80
        update_catalog(bucket)
    assert seen == {True, False}  # before and after the head was written
    assert len(list(tmp_path.glob(".fleet/catalogue/sites-*"))) == 2


def test_catalog_of_other_version_is_replaced(tmp_path: Path) -> None:
    bucket = StoreFolder(tmp_path)
    bucket.put(HEAD_PATH, b'{"version": 1, "head": {"generation": "abc", "shards": 1, "keys": ["one"]}}')
    bucket.put(".fleet/catalogue/sites-abc.jsonl", b"{}\n")
    write_record(bucket, _record("one", random.Random(1)))
    with pytest.raises(StoreError, match="its catalog has another format; repeat the crawl"):
        Ranking(bucket)
    update_catalog(bucket)
    assert Ranking(bucket).head.keys == ["one"]
    assert not (tmp_path / ".fleet/catalogue/sites-abc.jsonl").exists()


def test_site_is_found_by_words_that_only_a_model_wrote(tmp_path: Path) -> None:
    texts = {"gauge": "Each minute the level is read.", "pump": "Fill the housing with water."}
    libraries = {
        key: library_from_markdown(f"# {key}\n\n{text}\n", name=key, url=f"https://{key}.example/")
        for key, text in texts.items()
    }
    libraries["pump"] = libraries["pump"].rename_ids(_describe)
    bucket = StoreFolder(tmp_path)
    for key, library in libraries.items():
        entry = make_catalog_entry(key, library.manifest, 1.0)
        write_record(bucket, SiteRecord(key, entry.url, "done", "", "", 1.0, result="new", entry=entry))
    update_catalog(bucket)
    ranking = Ranking(bucket)
    for question in ("cellar", "motor", "flood"):
        assert [key for key, _ in ranking.best(question, 10)] == ["pump"]
    question = "wet cellar"
    found = Search(libraries["pump"]).find(question)
    assert coverage_factor(libraries["pump"], found, ranking.query_terms(question)) == 1.0


def _describe(manifest: Manifest) -> Manifest:
    page = manifest.pages[0]
    section = replace(page.sections[0], about="Priming of the motor", asks=("Why is my cellar wet?",))
    return replace(manifest, pages=(replace(page, summary="Against floods.", sections=(section, *page.sections[1:])),))
