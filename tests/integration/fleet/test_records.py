"""Catalog entries from untrusted manifests."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from mkdocs_roaming.manifest.models import Manifest, NavEntry, PageEntry, SectionEntry, SiteEntry
from roaming_fleet.catalog import load_head, update_catalog
from roaming_fleet.folder import StoreFolder
from roaming_fleet.ranking import Ranking
from roaming_fleet.records import RECORDS_DIR, CatalogEntry, SiteRecord, make_catalog_entry, write_record

STEERING = "\x1b]0;owned\x07\u202e\u2066\x9b31m\n\r\ud800\x00"


def _manifest(name: str, description: str = "", language: str = "en", sections: int = 1) -> Manifest:
    found = tuple(SectionEntry(f"{at:08x}", 2, f"{name[:50]} {at}", 0, 0, "") for at in range(sections))
    page = PageEntry("0" * 8, name, "", "index.md", "", 0, found, description=description)
    site = SiteEntry(name, f"https://a.example/{STEERING}", description, language)
    return Manifest(site, (page,), (NavEntry(name, page=""),), digest=description)


def _record(key: str, entry: CatalogEntry) -> SiteRecord:
    return SiteRecord(key, f"https://{key}.example/", "done", "1.1-0", "run", time.time(), result="new", entry=entry)


def test_entry_contains_no_control_characters(tmp_path: Path, roaming: Callable[..., Result]) -> None:
    bucket = StoreFolder(tmp_path)
    entry = make_catalog_entry("odd", _manifest(f"Lock{STEERING}keeping", f"All of {STEERING} it", STEERING), 1.0)
    assert (entry.title, entry.language) == ("Lock]0;owned31m keeping", "en")
    write_record(bucket, _record("odd", entry))
    write_record(bucket, _record("fine", make_catalog_entry("fine", _manifest("Harbours", language="de"), 1.0)))
    update_catalog(bucket)
    assert len(load_head(bucket).keys) == 2
    assert Ranking(bucket).best("harbours", 2)[0][0] == "fine"
    shown = roaming("sites", tmp_path)
    assert "fine" in shown.stdout
    kept = b"".join(file.read_bytes() for file in (tmp_path / ".fleet").rglob("*") if file.is_file()).decode()
    for sign in "\x1b\x07\u202e\u2066\x9b\r\ud800\x00":
        assert sign not in shown.stdout + kept
        assert f"\\u{ord(sign):04x}" not in kept


def test_entry_size_is_bounded(tmp_path: Path) -> None:
    many = " ".join(f"word{at}" for at in range(100_000))
    entries = [
        make_catalog_entry("many", _manifest(many, many, sections=10_000), 1.0),
        make_catalog_entry("long", _manifest("x" * 5_000_000, "y" * 5_000_000), 1.0),
        make_catalog_entry("same", _manifest("again " * 500_000, "again " * 500_000), 1.0),
    ]
    bucket = StoreFolder(tmp_path)
    for entry, key in zip(entries, ("many", "long", "same"), strict=True):
        write_record(bucket, _record(key, entry))
        assert (tmp_path / RECORDS_DIR / f"{key}.json").stat().st_size < 40_000
    assert entries[0].sections == 10_000
    update_catalog(bucket)
    assert len(load_head(bucket).keys) == 3
    assert [key for key, _ in Ranking(bucket).best("again", 3)] == ["same"]


def test_languages_are_sorted_by_frequency(tmp_path: Path) -> None:
    bucket = StoreFolder(tmp_path)
    for at, language in enumerate(["zz", "en", "en", "de", "de", "de", *(f"a{sign}" for sign in "abcdefghij")]):
        write_record(
            bucket, _record(f"k{at:02}", make_catalog_entry(f"k{at:02}", _manifest("Weirs", language=language), 1.0))
        )
    update_catalog(bucket)
    assert load_head(bucket).languages[:3] == ["de", "en", "aa"]


@pytest.mark.parametrize("name", ["moved", "longer-name"])
def test_record_key_comes_from_file_name(name: str, tmp_path: Path) -> None:
    bucket = StoreFolder(tmp_path)
    write_record(bucket, _record("old", make_catalog_entry("old", _manifest("Weirs"), 1.0)))
    update_catalog(bucket)
    (tmp_path / RECORDS_DIR / "old.json").rename(tmp_path / RECORDS_DIR / f"{name}.json")
    update_catalog(bucket)
    assert [key for key, _ in Ranking(bucket).best("weirs", 3)] == [name]
