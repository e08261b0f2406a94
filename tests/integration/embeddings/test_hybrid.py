"""Search by meaning finds what is said in other words, and goes on by words where meaning cannot be had."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from embeddings_api import SYNONYMS, EmbeddingsApi, ToyEmbedder

from mkdocs_roaming.embeddings.client import EmbeddingsClient, QueryEmbedder
from mkdocs_roaming.embeddings.store import EmbeddingsOptions, QuantizedVector, encode_vectors
from mkdocs_roaming.library.hybrid import HybridSearch, fuse_scores
from mkdocs_roaming.library.library import open_library
from mkdocs_roaming.library.navigator import Navigator
from mkdocs_roaming.library.search import Search
from mkdocs_roaming.library.tools import SearchResults

Serve = Callable[..., EmbeddingsApi]


class Asking:
    """A published site, searched with the help of a server; `said` is what was told, `now` what the clock shows."""

    def __init__(self, site: Path, url: str, *, model: str = "toy", **how: Any) -> None:
        self.said: list[str] = []
        self.now = 0.0
        endpoint = EmbeddingsClient(model, base_url=url, retries=0, timeout=5.0)
        self.queries = QueryEmbedder(endpoint, on_warning=self.said.append, clock=lambda: self.now, **how)
        self.words = Search(open_library(site))
        self.search = HybridSearch(self.words, self.queries)

    def titles(self, query: str, **how: Any) -> list[str]:
        return [hit.place.section.title for hit in self.search.find(query, **how)]


@pytest.fixture
def site(build: Any, configured: EmbeddingsOptions) -> Path:
    """A published site with vectors."""
    build(configured)
    return build.site


def test_it_finds_what_is_said_in_other_words(site: Path, api: EmbeddingsApi) -> None:
    """The question shares no word with the page that answers it; its snippet is the window that lies nearest."""
    asking = Asking(site, api.url)
    assert "Fleet" not in [hit.place.section.title for hit in Search(asking.words.library).find("car?")]
    (best, *_) = asking.search.find("car?")
    assert (best.place.section.title, best.snippet) == ("Fleet", "Each automobile is washed on Fridays.")
    assert [page.path for page in asking.search.pages("car?", limit=1)] == ["fleet/"]
    assert asking.said == []


def test_both_rankings_are_fused(site: Path, api: EmbeddingsApi) -> None:
    """What words and what meaning say of a section is added up."""
    asking = Asking(site, api.url)
    hits = asking.search.find("price of tyres", limit=10)
    assert "Money" in [hit.place.section.title for hit in hits]
    by_words = {place.id: score for place, score in asking.words.rank(_words("price of tyres"))}
    near = asking.search.vectors.nearest("price of tyres")
    assert near is not None
    scores = fuse_scores(by_words, {one.place.id: one.cosine for one in near})
    assert {hit.place.id: hit.score for hit in hits} == scores
    assert [hit.score for hit in hits] == sorted(scores.values(), reverse=True)


def _words(query: str) -> Any:
    from mkdocs_roaming.library.search import parse_query

    return parse_query(query, "en")


def test_scores_are_fused_whatever_their_scale() -> None:
    """Six tenths by words, four by meaning: the best of each has all, however near to 1 cosines lie."""
    words = {"a": 8.0, "b": 6.0}
    expected = pytest.approx({"a": 0.6, "b": 0.45 + 0.4, "c": 0.2})
    assert fuse_scores(words, {"b": 0.5, "c": 0.3, "a": 0.1}) == expected
    assert fuse_scores({"a": 80.0, "b": 60.0}, {"b": 0.95, "c": 0.93, "a": 0.91}) == expected
    assert fuse_scores({}, {"b": 0.5, "c": 0.1}) == {"b": 0.4, "c": 0.0}
    assert fuse_scores({}, {"b": 0.5}) == {"b": 0.4}
    assert fuse_scores(words, {}) == pytest.approx({"a": 0.6, "b": 0.45})
    assert fuse_scores({}, {}) == {}


def test_a_weak_model_puts_nothing_before_what_words_find_clearly() -> None:
    """A section with three times what others have by words stays first, wherever meaning has it; where words waver,
    meaning decides.
    """
    near = {"wrong": 0.9, "other": 0.5, "right": 0.1}
    clear = fuse_scores({"right": 10.0, "wrong": 3.3, "other": 3.3}, near)
    assert max(clear, key=clear.__getitem__) == "right"
    close = fuse_scores({"right": 10.0, "wrong": 9.0, "other": 5.0}, near)
    assert max(close, key=close.__getitem__) == "wrong"


def test_equals_stand_as_on_the_site(build: Any, configured: EmbeddingsOptions, api: EmbeddingsApi) -> None:
    """The same words give the same order, each time."""
    build(configured, {f"p{at}/": "# Page\n\nAn automobile.\n" for at in range(6)})
    asking = Asking(build.site, api.url)
    found = [hit.place.page.path for hit in asking.search.find("car")]
    assert found == [f"p{at}/" for at in range(6)]


def test_who_names_a_section_gets_it(site: Path, api: EmbeddingsApi) -> None:
    """An id, a path: nothing is asked for them."""
    asking = Asking(site, api.url)
    place = asking.words.library.sections.resolve("money/#receipts")
    assert place is not None
    before = len(api.requests)
    for name in (place.id, "money/#receipts"):
        assert asking.titles(name)[0] == "Receipts"
    assert len(api.requests) == before


def test_a_question_is_asked_for_once(site: Path, api: EmbeddingsApi) -> None:
    """Its vector is kept, whatever white space it has; an empty one is not asked for."""
    asking = Asking(site, api.url)
    before = len(api.requests)
    for query in ("a car", " a  car ", "", "a car"):
        asking.search.find(query)
        asking.search.pages(query)
    assert len(api.requests) == before + 1


def test_scope_holds(site: Path, api: EmbeddingsApi) -> None:
    """What may not be seen is not found by its meaning either."""
    asking = Asking(site, api.url)
    assert asking.titles("car", within=lambda place: place.page.path == "money/") == []


# Where meaning cannot be had


def test_an_endpoint_that_is_away_is_told_of_once(site: Path, away: str) -> None:
    """Words are gone by; the endpoint is left alone for a minute, then tried again; the trail says so."""
    asking = Asking(site, away)
    for _ in range(3):
        assert asking.titles("autumn") == ["Tyres"]
    assert asking.queries.requests == 1
    (line,) = asking.said
    assert line.startswith(f"search uses words only: toy: cannot connect to {away} (")
    found = Navigator(asking.words.library, search=asking.search).search_sections("autumn")
    assert isinstance(found, SearchResults)
    assert found.words_only
    asking.now = 61.0
    asking.titles("autumn")
    asking.titles("autumn")
    assert (asking.queries.requests, len(asking.said)) == (2, 1)


def test_an_endpoint_that_comes_back_is_used_again(site: Path, api: EmbeddingsApi) -> None:
    """And told of anew when it fails again."""
    asking = Asking(site, api.url)
    api.refusals = [(500, {}, "")]
    assert asking.titles("car") == []
    asking.now = 61.0
    assert asking.titles("car")[0] == "Fleet"
    found = Navigator(asking.words.library, search=asking.search).search_sections("car")
    assert isinstance(found, SearchResults)
    assert not found.words_only
    api.refusals = [(500, {}, "")]
    assert asking.titles("the outlay") == ["Money"]
    assert len(asking.said) == 2


def test_a_slow_endpoint_keeps_nobody_waiting(site: Path, serve: Serve) -> None:
    """A question waits for so long, the next ones do not; what comes late is there the next time."""
    stall = threading.Event()
    api = serve(embedder=ToyEmbedder(256, SYNONYMS), stall=stall)
    asking = Asking(site, api.url, timeout=1.5)
    began = time.monotonic()
    assert asking.titles("autumn") == ["Tyres"]
    first = time.monotonic() - began
    assert 1.5 <= first < 10.0
    began = time.monotonic()
    assert asking.titles("car") == []
    assert time.monotonic() - began < 1.5
    assert "no vector within 1.5 seconds" in asking.said[0]
    stall.set()
    end = time.monotonic() + 10
    while asking.queries.cached("autumn") is None and time.monotonic() < end:
        time.sleep(0.01)
    assert asking.search.find("autumn")[0].score == 1


@pytest.mark.parametrize(
    ("spoilt", "says"),
    [
        (
            lambda vectors: [vector[:-1] for vector in vectors],
            "a vector of 255 dimensions, but those of the site have 256",
        ),
        (lambda vectors: [[float("nan"), *vector[1:]] for vector in vectors], "contains NaN or infinity"),
        (lambda vectors: [], "0 vectors for 1 texts"),
    ],
)
def test_a_wrong_vector_is_not_gone_by(site: Path, serve: Serve, spoilt: Any, says: str) -> None:
    """Of another length, without numbers, none."""
    asking = Asking(site, serve(embedder=ToyEmbedder(256), transform={"vectors": spoilt}).url)
    assert asking.titles("autumn") == asking.titles("autumn") == ["Tyres"]
    (line,) = asking.said
    assert says in line


def test_another_model_is_not_compared(site: Path, api: EmbeddingsApi) -> None:
    """Its vectors say other things; nothing is asked of it."""
    asking = Asking(site, api.url, model="other")
    before = len(api.requests)
    assert asking.titles("autumn") == ["Tyres"]
    assert len(api.requests) == before
    assert "the vectors are of the model 'toy', not of 'other'" in asking.said[0]


def test_a_site_without_vectors_goes_by_words(build: Any, api: EmbeddingsApi) -> None:
    """And says so once."""
    build(None)
    asking = Asking(build.site, api.url)
    assert asking.titles("autumn") == asking.titles("autumn") == ["Tyres"]
    assert len(asking.said) == 1
    assert "publishes no vectors" in asking.said[0]
    assert api.requests == []


def test_vectors_that_do_not_fit_are_not_gone_by(site: Path, api: EmbeddingsApi) -> None:
    """Of an earlier build, cut short, or gone; once they fit they are read."""
    file = site / "roaming/vectors.bin"
    good = file.read_bytes()
    for broken in (good[:-1] + bytes([good[-1] ^ 1]), good[: len(good) // 2], b"", None):
        file.unlink(missing_ok=True)
        if broken is not None:
            file.write_bytes(broken)
        asking = Asking(site, api.url)
        assert asking.titles("autumn") == asking.titles("autumn") == ["Tyres"]
        assert len(asking.said) == 1
        assert "roaming/vectors.bin" in asking.said[0]
    file.write_bytes(good)
    asking.now = 61.0
    assert asking.titles("car")[0] == "Fleet"


@pytest.mark.parametrize(
    ("file", "says"),
    [
        (b"ROAMVEC\x01" + b"\xff" * 400, "broken or truncated"),
        (
            encode_vectors(
                "toy", [("00000000", [b"same" * 2] * 9_000)], {b"same" * 2: QuantizedVector(1.0, b"\x7f" * 4)}, 4
            ),
            "has more windows than the site's sections",
        ),
    ],
)
def test_hostile_vectors_are_refused(site: Path, api: EmbeddingsApi, file: bytes, says: str) -> None:
    """A file that fits its digest and is no file of vectors, or one of which each search would take minutes."""
    publish_vectors(site, file)
    asking = Asking(site, api.url)
    assert asking.titles("autumn") == ["Tyres"]
    assert says in asking.said[0]


def test_vectors_that_boast_harm_no_more_than_their_ranking(site: Path, api: EmbeddingsApi) -> None:
    """Sections named twice or that are none, vectors longer than 1, a model's name that would steer a terminal."""
    library = open_library(site)
    ids = [place.id for place in library.sections]
    long, own = QuantizedVector(1.0, b"\x7f\x81" * 128), [b"longlong"]
    publish_vectors(site, encode_vectors("toy", [(id_, own) for id_ in [*ids, *ids, "ffffffff"]], {own[0]: long}, 256))
    asking = Asking(site, api.url)
    hits = asking.search.find("autumn", limit=99)
    assert len({hit.place.id for hit in hits}) == len(hits)
    assert all(0 <= hit.score <= 1.000001 for hit in hits)
    publish_vectors(site, b"", model="toy\x1b[31m\nevil")
    asking = Asking(site, api.url)
    assert asking.titles("autumn") == ["Tyres"]
    assert asking.said[0].isprintable()


def publish_vectors(site: Path, data: bytes, **entry: str) -> None:
    """Put a file of vectors there, and have the manifest say that it belongs to it."""
    manifest = site / "roaming/manifest.json"
    (site / "roaming/vectors.bin").write_bytes(data)
    told = json.loads(manifest.read_bytes())
    told["vectors"] |= {"digest": "sha256:" + hashlib.sha256(data).hexdigest(), **entry}
    manifest.write_text(json.dumps(told), "utf-8")


def test_no_manifest_says_where_questions_go(site: Path, serve: Serve) -> None:
    """Whatever a foreign site's manifest names beside its vectors, question and key go to the reader's own server."""
    thief, own = serve(), serve(embedder=ToyEmbedder(256, SYNONYMS), key="mine")
    manifest = site / "roaming/manifest.json"
    data = json.loads(manifest.read_bytes())
    data["vectors"] |= {"base_url": thief.url, "key_env": "MINE"}
    data["embeddings"] = {"base_url": thief.url}
    manifest.write_text(json.dumps(data), "utf-8")
    from mkdocs_roaming.config import Settings
    from mkdocs_roaming.embeddings.client import EmbeddingsConfig

    said: list[str] = []
    settings = Settings(embeddings=EmbeddingsConfig("toy", own.url, "MINE"))
    find = settings.finding({"MINE": "mine", "OPENAI_API_KEY": "sk"}, said.append)(open_library(site))
    assert find.find("car")[0].place.section.title == "Fleet"
    assert (thief.requests, own.keys, said) == ([], ["Bearer mine"], [])
