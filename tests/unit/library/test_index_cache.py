"""Index files: reuse, damaged and changed files, the size of the folder."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from mkdocs_roaming.library.index_cache import IndexCache, index_key
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.readers import MemoryReader
from mkdocs_roaming.library.search import Search as LibrarySearch
from mkdocs_roaming.manifest.lookup import Scope
from mkdocs_roaming.search.index import IndexData
from mkdocs_roaming.search.ranking import Weights

PAGES = [
    ("tides/", "# Tides\n\n## Gauge levels\n\nA gauge shows the level.\n\n## Alarms\n\nAn `AlarmLevel` rings.\n"),
    ("lamps/", "# Lamps\n\n## Signal lamp\n\nThe lamp warns of a gauge level; see version 1.2.\n"),
]
QUERIES = ("gauge level", "AlarmLevel", "alarm", "lmap", "version 1.2", "signal lamp", "of", "潮")


@pytest.fixture
def library(make_site: Callable) -> Library:
    return make_site(PAGES).library()


@pytest.fixture
def cache(tmp_path: Path) -> IndexCache:
    return IndexCache(tmp_path / "cache", min_sections=0)


Search = partial(LibrarySearch, with_table=False)


def find_all(search: LibrarySearch) -> list[list[tuple[str, float, str]]]:
    return [[(hit.section.id, hit.score, hit.snippet) for hit in search.find(query)] for query in QUERIES]


def stored_file(cache: IndexCache) -> Path:
    (file,) = cache.folder.iterdir()
    return file


def with_checksum(content: bytes) -> bytes:
    return zlib.crc32(content).to_bytes(4, "little") + content


class CountingReader(MemoryReader):
    """Counts the files that are read."""

    reads = 0

    def file(self, path: str, cache_key: str = "") -> bytes:
        self.reads += 1
        return super().file(path, cache_key)


def test_second_search_reads_no_texts(make_site: Callable, cache: IndexCache) -> None:
    site = make_site([(f"p{at}/", f"# Page {at}\n\nWord{at} text.\n") for at in range(30)])
    files = {path: text.encode() for path, text in site.files.items()}
    reads = []
    for _ in range(2):
        reader = CountingReader(files, where="memory")
        (hit, *_) = Search(Library(site.manifest, reader), cache=cache).find("word7")
        assert hit.section.section.title == "Page 7"
        reads.append(reader.reads)
    assert reads[0] >= 30
    assert reads[1] == 0  # the text is read for its snippet


def test_search_with_stored_index_finds_the_same(library: Library, cache: IndexCache) -> None:
    expected = find_all(Search(library))
    assert find_all(Search(library, cache=cache)) == expected
    stored = Search(library, cache=cache)
    assert find_all(stored) == expected
    assert stored.find_unknown_words("gauge kettle") == ("kettle",)
    assert stored.confidence("gauge level") == Search(library).confidence("gauge level")


def test_changed_site_gets_another_index(make_site: Callable, cache: IndexCache) -> None:
    for word in ("kettle", "teapot"):
        library = make_site([*PAGES, ("new/", f"# New\n\nA {word}.\n")]).library()
        assert [hit.section.section.title for hit in Search(library, cache=cache).find(word)] == ["New"]
    assert len(list(cache.folder.iterdir())) == 2


def test_site_that_states_the_digest_of_another_does_not_share_its_index(make_site: Callable) -> None:
    manifest = make_site(PAGES).manifest
    other = replace(make_site([("x/", "# X\n\nGauge.\n")]).manifest, digest=manifest.digest)
    assert index_key(manifest, (1.0,)) != index_key(other, (1.0,))
    assert index_key(manifest, (1.0,)) != index_key(manifest, (2.0,))


def test_index_is_not_stored_while_texts_cannot_be_read(make_site: Callable, cache: IndexCache) -> None:
    site = make_site(PAGES)
    files = {path: text.encode() for path, text in site.files.items()}
    broken = {path: data for path, data in files.items() if path != "tides/index.md"}
    assert Search(Library(site.manifest, MemoryReader(broken, where="memory")), cache=cache).find("lamp")
    assert not cache.folder.exists()
    whole = Library(site.manifest, MemoryReader(files, where="memory"))
    assert Search(whole, cache=cache).find("rings")


def test_changed_text_is_not_shown_from_a_stored_index(make_site: Callable, cache: IndexCache) -> None:
    """The index has no texts: they are read from the site and compared with their digests."""
    site = make_site(PAGES)
    Search(site.library(), cache=cache).load()
    files = {path: text.replace("gauge", "KETTLE").encode() for path, text in site.files.items()}
    search = Search(Library(site.manifest, MemoryReader(files, where="memory")), cache=cache)
    assert all("KETTLE" not in hit.snippet for hit in search.find("gauge level"))


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:3],
        lambda data: data[: len(data) // 2],
        lambda data: data[:40] + bytes(40) + data[80:],
        lambda data: with_checksum(b"not msgpack"),
        lambda data: with_checksum(msgspec.msgpack.encode([1, 2])),
        lambda data: with_checksum(b"\x91" * 100_000),
    ],
)
def test_damaged_file_is_ignored_and_replaced(
    library: Library, cache: IndexCache, damage: Callable[[bytes], bytes]
) -> None:
    expected = find_all(Search(library, cache=cache))
    file = stored_file(cache)
    good = file.read_bytes()
    file.write_bytes(damage(good))
    assert find_all(Search(library, cache=cache)) == expected
    assert file.read_bytes() == good


def test_oldest_files_are_deleted_when_folder_is_full(library: Library, cache: IndexCache) -> None:
    Search(library, cache=cache).load()
    data = cache.load(stored_file(cache).stem, IndexData)
    assert data is not None
    size = stored_file(cache).stat().st_size
    small = IndexCache(cache.folder / "small", max_bytes=4 * size)
    for at in range(4):
        small.store(f"key{at}", data)
        os.utime(small.folder / f"key{at}.index", (at, at))
    assert small.load("key0", IndexData) is not None  # it is now the newest
    small.store("key4", data)
    assert sorted(file.stem for file in small.folder.iterdir()) == ["key0", "key2", "key3", "key4"]
    IndexCache(cache.folder / "tiny", max_bytes=size).store("key", data)
    assert not (cache.folder / "tiny").exists()


def test_files_of_other_programs_stay(library: Library, cache: IndexCache) -> None:
    cache.folder.mkdir(parents=True)
    (cache.folder / "notes.txt").write_text("x" * 10_000, "utf-8")
    Search(library, cache=replace(cache, max_bytes=20_000)).load()
    assert (cache.folder / "notes.txt").exists()


def test_folder_that_cannot_be_created_disables_cache(library: Library, cache: IndexCache, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    expected = find_all(Search(library))
    assert find_all(Search(library, cache=replace(cache, folder=tmp_path / "file" / "cache"))) == expected


def test_index_of_small_site_is_not_stored(library: Library, cache: IndexCache) -> None:
    Search(library, cache=replace(cache, min_sections=100)).load()
    assert not cache.folder.exists()


def test_index_files_are_readable_by_their_user_only(library: Library, cache: IndexCache) -> None:
    """They contain the words of sites that may be private."""
    Search(library, cache=cache).load()
    assert stored_file(cache).parent.stat().st_mode & 0o077 == 0


def test_environment_names_or_disables_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert IndexCache.from_environment({"ROAMING_CACHE_DIR": ""}) is None
    assert IndexCache.from_environment({"ROAMING_CACHE_DIR": str(tmp_path)}) == IndexCache(tmp_path / "search")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    default = IndexCache.from_environment({})
    assert default is not None
    assert default.folder.is_relative_to(tmp_path / "user") or os.name == "nt" or os.uname().sysname == "Darwin"


def test_scores_of_unrelated_questions_are_read_from_the_cache(library: Library, cache: IndexCache) -> None:
    query = "Which gauge level rings the alarm?"
    computed = Search(library, cache=cache).confidence(query)
    (file,) = cache.folder.glob("*-scores.index")
    stored = cache.load(file.stem, list[float])
    assert Search(library, cache=cache).confidence(query) == computed > 0

    cache.store(file.stem, [float("inf")] * len(stored or ()))
    assert Search(library, cache=cache).confidence(query) == 0

    file.write_bytes(b"damaged")
    assert Search(library, cache=cache).confidence(query) == computed


def test_scores_of_unrelated_questions_are_not_shared_by_a_scope_or_by_other_weights(
    library: Library, cache: IndexCache
) -> None:
    whole = Search(library, cache=cache)
    whole.confidence("gauge")
    (file,) = cache.folder.glob("*-scores.index")
    cache.store(file.stem, [float("inf")])
    part = whole.restrict(library.restrict(Scope(paths=("tides/",))))
    for search in (part, Search(library, cache=cache, weights=Weights(fuzzy=0.5))):
        assert search.confidence("gauge level alarm") > 0


def test_vectors_of_the_table_are_stored_with_the_index(library: Library, cache: IndexCache) -> None:
    expected = [hit.section.id for hit in LibrarySearch(library).find("how loud is the warning")]
    for _ in range(2):
        assert [
            hit.section.id for hit in LibrarySearch(library, cache=cache).find("how loud is the warning")
        ] == expected
    assert len(list(cache.folder.iterdir())) == 2
