"""Hybrid search, and its fallback to words."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from embeddings_api import SYNONYMS, EmbeddingsApi, ToyEmbedder, connect

from mkdocs_roaming.embeddings.client import QueryEmbedder
from mkdocs_roaming.embeddings.config import FindModel
from mkdocs_roaming.embeddings.store import QuantizedVector, encode_vectors
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.navigator import Navigator
from mkdocs_roaming.library.search import Search
from mkdocs_roaming.library.targets import open_library
from mkdocs_roaming.library.tools import SearchResults
from mkdocs_roaming.manifest.lookup import Scope
from mkdocs_roaming.search.ranking import fuse_scores

Serve = Callable[..., EmbeddingsApi]


class SearchedSite:
    """A published site with hybrid search, its warnings and its clock."""

    def __init__(self, site: Path, url: str, *, model: str = "toy", **options: Any) -> None:
        self.warnings: list[str] = []
        self.now = 0.0
        client = connect(url, model=model, retries=0, timeout=5.0)
        self.queries = QueryEmbedder(client, on_warning=self.warnings.append, clock=lambda: self.now, **options)
        self.words = Search(open_library(site), with_table=False)
        self.search = Search(self.words.library, queries=self.queries, with_table=False)

    def titles(self, query: str, **options: Any) -> list[str]:
        return [hit.section.section.title for hit in self.search.find(query, **options)]


@pytest.fixture
def site(build: Any, configured: FindModel) -> Path:
    """A published site with vectors."""
    build(configured)
    return build.site


def test_find_returns_section_with_synonyms_of_the_query(site: Path, api: EmbeddingsApi) -> None:
    """The query shares no word with the page. The snippet is the nearest window."""
    searched = SearchedSite(site, api.url)
    assert "Fleet" not in [hit.section.section.title for hit in searched.words.find("car?")]
    (best, *_) = searched.search.find("car?")
    assert (best.section.section.title, best.snippet) == ("Fleet", "Each automobile is washed on Fridays.")
    assert searched.warnings == []


def test_fuse_scores_is_independent_of_scale() -> None:
    words = {1: 8.0, 2: 6.0}
    expected = pytest.approx({1: 0.6, 2: 0.45 + 0.4})
    assert fuse_scores(words, {2: 0.5, 3: 0.3, 1: 0.1}, 0.4) == expected
    assert fuse_scores({1: 80.0, 2: 60.0}, {2: 0.95, 3: 0.93, 1: 0.91}, 0.4) == expected
    assert fuse_scores({}, {2: 0.5}, 0.4) == {2: 0.4}
    assert fuse_scores(words, {}, 0.4) == pytest.approx({1: 0.6, 2: 0.45})
    assert fuse_scores({}, {}, 0.4) == {}


def test_fuse_scores_keeps_rows_without_words_that_are_close_to_the_best() -> None:
    assert fuse_scores({}, {1: 0.5, 2: 0.4, 3: 0.1}, 0.4) == pytest.approx({1: 0.4, 2: 0.3})
    assert fuse_scores({1: 1.0}, {2: 0.9, 3: 0.8, 1: 0.0}, 0.7) == pytest.approx({1: 0.3, 2: 0.7, 3: 0.7 * 8 / 9})


def test_fuse_scores_keeps_clear_word_match_first() -> None:
    """Vectors decide only between close matches."""
    right, wrong, other = range(3)
    near = {wrong: 0.9, other: 0.5, right: 0.1}
    clear = fuse_scores({right: 10.0, wrong: 3.3, other: 3.3}, near, 0.4)
    assert max(clear, key=clear.__getitem__) == right
    close = fuse_scores({right: 10.0, wrong: 9.0, other: 5.0}, near, 0.4)
    assert max(close, key=close.__getitem__) == wrong


def test_equal_scores_keep_site_order(build: Any, configured: FindModel, api: EmbeddingsApi) -> None:
    build(configured, {f"p{at}/": "# Page\n\nAn automobile.\n" for at in range(6)})
    searched = SearchedSite(build.site, api.url)
    found = [hit.section.page.path for hit in searched.search.find("car")]
    assert found == [f"p{at}/" for at in range(6)]


def test_restricted_search_finds_only_sections_in_scope(site: Path, api: EmbeddingsApi) -> None:
    searched = SearchedSite(site, api.url)
    library = searched.words.library
    assert isinstance(library, Library)
    everything = searched.search.find("car")
    other = everything[0].section.page.path
    money = library.restrict(Scope(paths=("money",)))
    for search in (searched.search.restrict(money), Search(money, queries=searched.queries)):
        found = search.find("car", limit=99)
        assert {hit.section.page.path for hit in found} <= {"money/"}
        assert other == "money/" or len(found) < len(everything)
    assert searched.search.restrict(money).published is searched.search.published


def test_query_that_names_a_section_requests_no_vector(site: Path, api: EmbeddingsApi) -> None:
    searched = SearchedSite(site, api.url)
    section = searched.words.library.sections.resolve("money/#receipts")
    assert section is not None
    before = len(api.requests)
    for name in (section.id, "money/#receipts"):
        assert searched.titles(name)[0] == "Receipts"
    assert len(api.requests) == before


def test_vector_of_a_query_is_requested_once(site: Path, api: EmbeddingsApi) -> None:
    searched = SearchedSite(site, api.url)
    before = len(api.requests)
    for query in ("a car", " a  car ", "", "a car"):
        searched.search.find(query)
    assert len(api.requests) == before + 1


# Fallback to words


def test_unreachable_server_is_reported_once_and_retried_after_pause(site: Path, unreachable_url: str) -> None:
    searched = SearchedSite(site, unreachable_url)
    for _ in range(3):
        assert searched.titles("autumn") == ["Tyres"]
    assert searched.queries.requests == 1
    (line,) = searched.warnings
    assert line.startswith(f"search works without embeddings: toy: {unreachable_url}/embeddings: cannot be fetched (")
    found = Navigator(searched.words.library, search=searched.search).search_sections("autumn")
    assert isinstance(found, SearchResults)
    assert found.words_only
    searched.now = 61.0
    searched.titles("autumn")
    searched.titles("autumn")
    assert (searched.queries.requests, len(searched.warnings)) == (2, 1)


def test_recovered_server_is_used_and_next_failure_is_reported(site: Path, api: EmbeddingsApi) -> None:
    searched = SearchedSite(site, api.url)
    api.refusals = [(500, {}, "")]
    assert searched.titles("car") == []
    searched.now = 61.0
    assert searched.titles("car")[0] == "Fleet"
    found = Navigator(searched.words.library, search=searched.search).search_sections("car")
    assert isinstance(found, SearchResults)
    assert not found.words_only
    api.refusals = [(500, {}, "")]
    assert searched.titles("the outlay") == ["Money"]
    assert len(searched.warnings) == 2


def test_slow_server_delays_one_query_and_its_vector_is_cached_later(site: Path, serve: Serve) -> None:
    stall = threading.Event()
    searched = SearchedSite(site, serve(embedder=ToyEmbedder(256, SYNONYMS), stall=stall).url, timeout=0.2)
    assert searched.titles("autumn") == ["Tyres"]
    assert searched.titles("car") == []
    assert searched.queries.requests == 1
    assert "no vector within 0.2 seconds" in searched.warnings[0]
    stall.set()
    end = time.monotonic() + 20
    while searched.queries.cached("autumn") is None and time.monotonic() < end:
        time.sleep(0.01)
    assert searched.search.find("autumn")[0].score == 1


def test_query_vector_of_another_length_falls_back_to_words(site: Path, serve: Serve) -> None:
    searched = SearchedSite(site, serve(embedder=ToyEmbedder(255)).url)
    assert searched.titles("autumn") == searched.titles("autumn") == ["Tyres"]
    (line,) = searched.warnings
    assert "a vector of 255 dimensions, but those of the site have 256" in line


def test_other_model_falls_back_to_words_without_request(site: Path, api: EmbeddingsApi) -> None:
    searched = SearchedSite(site, api.url, model="other")
    before = len(api.requests)
    assert searched.titles("autumn") == ["Tyres"]
    assert len(api.requests) == before
    assert "the vectors are of the model 'toy', not of 'other'" in searched.warnings[0]


def test_site_without_vectors_falls_back_to_words_with_one_warning(build: Any, api: EmbeddingsApi) -> None:
    build(None)
    searched = SearchedSite(build.site, api.url)
    assert searched.titles("autumn") == searched.titles("autumn") == ["Tyres"]
    assert len(searched.warnings) == 1
    assert "publishes no vectors" in searched.warnings[0]
    assert api.requests == []


def test_broken_or_missing_file_falls_back_to_words_until_repaired(site: Path, api: EmbeddingsApi) -> None:
    file = site / "roaming/vectors.bin"
    good = file.read_bytes()
    for broken in (good[:-1] + bytes([good[-1] ^ 1]), good[: len(good) // 2], b"", None):
        file.unlink(missing_ok=True)
        if broken is not None:
            file.write_bytes(broken)
        searched = SearchedSite(site, api.url)
        assert searched.titles("autumn") == searched.titles("autumn") == ["Tyres"]
        assert len(searched.warnings) == 1
        assert "roaming/vectors.bin" in searched.warnings[0]
    file.write_bytes(good)
    searched.now = 61.0
    assert searched.titles("car")[0] == "Fleet"


@pytest.mark.parametrize(
    ("file", "message"),
    [
        (b"ROAMVEC\x01" + b"\xff" * 400, "broken or truncated"),
        (
            encode_vectors(
                "toy", [("00000000", [b"same" * 2] * 9_000)], {b"same" * 2: QuantizedVector(1.0, b"\x7f" * 4)}
            ),
            "has more windows than the site's sections",
        ),
    ],
)
def test_hostile_file_with_valid_digest_is_rejected(site: Path, api: EmbeddingsApi, file: bytes, message: str) -> None:
    publish_vectors(site, file)
    searched = SearchedSite(site, api.url)
    assert searched.titles("autumn") == ["Tyres"]
    assert message in searched.warnings[0]


def test_hostile_vectors_change_only_the_ranking(site: Path, api: EmbeddingsApi) -> None:
    """Duplicate and unknown sections, vectors longer than 1, escape sequences in the model name."""
    library = open_library(site)
    ids = [section.id for section in library.sections]
    long, own = QuantizedVector(1.0, b"\x7f\x81" * 128), [b"longlong"]
    publish_vectors(site, encode_vectors("toy", [(id_, own) for id_ in [*ids, *ids, "ffffffff"]], {own[0]: long}))
    searched = SearchedSite(site, api.url)
    hits = searched.search.find("autumn", limit=99)
    assert len({hit.section.id for hit in hits}) == len(hits)
    assert all(0 <= hit.score <= 1.000001 for hit in hits)
    publish_vectors(site, b"", model="toy\x1b[31m\nevil")
    searched = SearchedSite(site, api.url)
    assert searched.titles("autumn") == ["Tyres"]
    assert searched.warnings[0].isprintable()


def publish_vectors(site: Path, data: bytes, **entry: str) -> None:
    """Replace the file of vectors, and its digest in the manifest."""
    manifest = site / "roaming/manifest.json"
    (site / "roaming/vectors.bin").write_bytes(data)
    content = json.loads(manifest.read_bytes())
    content["vectors"] |= {"digest": "sha256:" + hashlib.sha256(data).hexdigest(), **entry}
    manifest.write_text(json.dumps(content), "utf-8")


def test_queries_are_sent_only_to_the_configured_server(site: Path, serve: Serve) -> None:
    """A manifest cannot redirect queries and keys."""
    other, own = serve(), serve(embedder=ToyEmbedder(256, SYNONYMS), key="mine")
    manifest = site / "roaming/manifest.json"
    data = json.loads(manifest.read_bytes())
    data["vectors"] |= {"base_url": other.url, "key_env": "MINE"}
    data["embeddings"] = {"base_url": other.url}
    manifest.write_text(json.dumps(data), "utf-8")
    from mkdocs_roaming.config import Settings
    from mkdocs_roaming.embeddings.config import EmbeddingsConfig

    warnings: list[str] = []
    settings = Settings(embeddings=EmbeddingsConfig("toy", own.url, "MINE"))
    find = settings.search_factory({"MINE": "mine", "OPENAI_API_KEY": "sk"}, warnings.append)(open_library(site))
    assert find.find("car")[0].section.section.title == "Fleet"
    assert (other.requests, own.keys, warnings) == ([], ["Bearer mine"], [])
