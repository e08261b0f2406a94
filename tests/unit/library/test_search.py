"""Search by words: matching, ranking, snippets, unusual queries."""

from __future__ import annotations

import random
import threading
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.readers import MemoryReader
from mkdocs_roaming.library.search import Search
from mkdocs_roaming.library.snippets import make_snippet
from mkdocs_roaming.library.targets import library_from_markdown
from mkdocs_roaming.manifest.lookup import Scope
from mkdocs_roaming.manifest.models import Site
from mkdocs_roaming.search.ranking import Weights
from mkdocs_roaming.text.tokenizer import parse_query

TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))

SERVER = """\
# Server

It listens on port 8124.

## Drain it

Call `harbour.server.drain_window()` or pass `--drain-window 30s`.

## Timeouts

An `HTTPServerTimeout` is raised after ten seconds.

## Versions

Since v1.12.3 it speaks TLS 1.3.
"""
GAUGES = """\
# Gauges

A gauge measures the tide.

## Calibrate

Calibration takes an hour; see [how to drain it](https://docs.example/p/server/index.md#x).

## Remove a gauge

Press the red button.
"""
SPEECH = """\
# Sprachen

## Überlauf

Der Überlauf läuft über die Straße.

## 潮位

潮位計を設定する。

## Ελληνικά

Η στάθμη της θάλασσας.
"""
PAGES = [("server/", SERVER), ("gauges/", GAUGES), ("langs/", SPEECH)]


@pytest.fixture
def library(make_site: Callable) -> Library:
    return make_site(PAGES).library()


def titles(library: Library, text: str, **options: object) -> list[str]:
    return [hit.section.section.title for hit in Search(library).find(text, **options)]


@pytest.mark.parametrize(("text", "title"), TABLES["find_matches_words_identifiers_versions_and_synonyms"])
def test_find_matches_words_identifiers_versions_and_synonyms(library: Library, text: str, title: str) -> None:
    """Words in any form and script, identifiers and versions as a whole and in part, typos, synonyms."""
    assert titles(library, text, limit=1) == ([title] if title else [])


@pytest.mark.parametrize("text", ["", " ", "\0", "🛟", "...", "-", '"', "***", "()", "\ud800", "\n\t"])
def test_find_without_words_returns_nothing(library: Library, text: str) -> None:
    assert titles(library, text) == []


UNUSUAL_QUERIES = [
    *(
        'gauge" OR "tide',
        "gauge AND (tide",
        "NEAR(gauge tide)",
        "title:gauge*",
        "^gauge -tide + {a b}: x",
        "' gauge --",
    ),
    *("gauge\0tide", "gauge; DROP TABLE sections", "gauge 🌊" * 10, "gauge\ud800", "𝔤𝔞𝔲𝔤𝔢 " * 99),
    *("gauge tide " * 10_000, "a" * 100_000 + " gauge", "gauge " + "x_y." * 30_000),
]


@pytest.mark.parametrize("text", UNUSUAL_QUERIES, ids=range(len(UNUSUAL_QUERIES)))
def test_find_accepts_any_text(library: Library, text: str) -> None:
    """Search syntax, SQL, control characters, 100 kB of text."""
    hits = Search(library).find(text)
    assert all(hit.section.section.title for hit in hits)
    if "gauge" in text[:100]:
        assert "Gauges" in [hit.section.section.title for hit in hits]


@given(text=st.text(max_size=300))
def test_find_with_generated_text_returns_sorted_unique_hits(text: str) -> None:
    hits = _search().find(text, limit=50)
    assert len({hit.section.id for hit in hits}) == len(hits)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert all(hit.score > 0 and "\n" not in hit.snippet and len(hit.snippet) <= 200 for hit in hits)


def test_find_with_address_or_id_returns_section_first(library: Library) -> None:
    section = library.sections.resolve("gauges/#") or next(iter(library.sections))
    for text in (section.id, "gauges.md", f" {library.sections.url(section)} "):
        assert Search(library).find(text)[0].section.id == section.id


def test_find_returns_equal_sections_in_site_order(make_site: Callable) -> None:
    library = make_site([(f"p{at}/", "# Tide\n\nThe same text.\n") for at in range(9)]).library()
    order = [hit.section.page.path for hit in Search(library).find("tide text")]
    assert order == [f"p{at}/" for at in range(9)]


def test_find_with_limit_0_returns_no_hits(library: Library) -> None:
    assert titles(library, "gauge", limit=0) == []


@pytest.mark.parametrize(
    ("language", "ask", "query"), [("en", "How do I zap it?", "zap"), ("ja", "動きを終わらせるには？", "動き")]
)
def test_find_matches_short_words_that_only_questions_of_a_section_contain(
    make_site: Callable, language: str, ask: str, query: str
) -> None:
    site = make_site(
        [("p/", "# P\n\n## Stop\n\nText.\n\n## Other\n\nText.\n")],
        site=Site("Docs", "https://d.example/", language=language),
    )
    (page,) = site.manifest.pages
    sections = tuple(replace(one, asks=(ask,) if one.title == "Stop" else ()) for one in page.sections)
    manifest = replace(site.manifest, pages=(replace(page, sections=sections),))
    files = {path: text.encode() for path, text in site.files.items()}
    hits = Search(Library(manifest, MemoryReader(files, where="memory"))).find(query)
    assert [hit.section.section.title for hit in hits] == ["Stop"]


def test_find_matches_words_of_links_to_section(make_site: Callable) -> None:
    """The section itself does not contain the word."""
    library = make_site(
        [
            ("a/", "# Start\n\nFirst [moor a buoy](https://docs.example/p/b/index.md#fasten).\n"),
            ("b/", "# Ropes\n\nAll of them.\n\n## Fasten\n\nTie a knot.\n"),
            ("c/", "# Log\n\nA buoy was seen.\n"),
        ]
    ).library()
    assert set(titles(library, "moor")) == {"Fasten", "Start"}


@pytest.mark.parametrize("title", ["Release notes", "Changelog", "What's new", "Änderungen", "変更履歴"])
def test_find_ranks_changelog_lower_unless_query_is_about_changes(make_site: Callable, title: str) -> None:
    """A question about versions leads to the change log, any other to the guide."""
    log = f"# {title}\n\n## Middleware\n\nVersion 2.1 has middleware.\n"
    guide = "# Guide\n\n## Middleware in use\n\nPut your middleware into the list; each middleware wraps the next.\n"
    search = Search(make_site([("log/", log), ("guide/", guide)]).library())
    assert search.find("how does middleware work")[0].section.page.path == "guide/"
    assert search.find("middleware in which version")[0].section.page.path == "log/"
    assert search.find("middleware in 2.1")[0].section.page.path == "log/"


def test_weights_change_ranking(make_site: Callable) -> None:
    """Without title weights, the section with most occurrences is first."""
    library = make_site([("a/", "# Tide\n\nNothing.\n"), ("b/", "# Other\n\nTide, tide, tide, tide.\n")]).library()
    assert titles(library, "tide") == ["Tide", "Other"]
    text = Weights(title=0.0, page=0.0, full_title_bonus=0.0)
    assert [hit.section.section.title for hit in Search(library, weights=text).find("tide")] == ["Other", "Tide"]


def test_find_ranks_section_with_words_side_by_side_first(make_site: Callable) -> None:
    """Words that are neighbours in the query are neighbours in the first section; the weight 0 ignores that."""
    pages = [
        ("a/", "# Night\n\nThe chain of the pump is greased. With care it runs for years. A prompt reply follows.\n"),
        ("b/", "# Day\n\nThe chain prompt is a text that comes before all others in the log of the pump.\n"),
        *((f"p{at}/", f"# Page {at}\n\nWords about the tap.\n") for at in range(9)),
    ]
    library = make_site(pages).library()
    assert titles(library, "what is a chain prompt?", limit=2) == ["Day", "Night"]
    apart = Search(library, weights=Weights(pairs=0.0)).find("what is a chain prompt?", limit=2)
    assert [hit.section.section.title for hit in apart] == ["Night", "Day"]


def test_find_ranks_section_with_all_words_first(make_site: Callable) -> None:
    """A matching title of one word does not outweigh the other words."""
    pages = [
        ("a/", "# Gauge\n\nIt measures.\n"),
        ("b/", "# Care\n\nRinse it under the tap and dry it, so that the gauge stays clean.\n"),
        *((f"p{at}/", f"# Page {at}\n\nWords about the tap.\n") for at in range(9)),
    ]
    library = make_site(pages).library()
    query = "how often should I rinse and dry a gauge"
    assert titles(library, query, limit=2) == ["Care", "Gauge"]
    lenient = Search(library, weights=Weights(coverage_penalty=0.0, pairs=0.0)).find(query, limit=2)
    assert [hit.section.section.title for hit in lenient] == ["Gauge", "Care"]


@pytest.mark.parametrize(
    "query", ["Usage of drain_window", "drain_window usage", "--drain-window usage", "use DrainWindow"]
)
def test_find_ranks_section_with_rare_name_before_generic_title(make_site: Callable, query: str) -> None:
    """*Usage* is the complete title of other sections."""
    prose = "Levels are written to the log once a minute and are kept for a year. "
    valves = (
        f"# Valves\n\n## Closing\n\n{prose * 2}Call `drain_window` (the flag is `--drain-window`) before. {prose * 2}\n"
    )
    pages = [(f"p{at}/", f"# Part {at}\n\n{prose * 2}\n\n## Usage\n\nUse it. {prose * 2}\n") for at in range(8)]
    others = [(f"o{at}/", f"# Other {at}\n\n{prose}\n\n## Notes\n\n{prose * 3}\n") for at in range(60)]
    library = make_site([*pages, *others, ("valves/", valves)]).library()
    assert titles(library, query)[0] == "Closing"
    assert titles(library, "usage")[0] == "Usage"


def test_find_alternates_pages_with_equally_good_sections(make_site: Callable) -> None:
    """A reference page with many short entries does not crowd out the guide."""
    entries = "\n".join(f"## setting_{name}\n\nA timeout in seconds.\n" for name in "abcdefghij")
    guide = "# Slow stations\n\nRaise the timeout of a station that answers late.\n"
    filler = [(f"p{at}/", f"# Page {at}\n\nOther words.\n") for at in range(30)]
    library = make_site([("reference/", f"# Settings\n\n{entries}"), ("guide/", guide), *filler]).library()
    assert "Slow stations" in titles(library, "timeout", limit=8)
    crowded = Search(library, weights=Weights(repeated_page=1.0)).find("timeout", limit=8)
    assert "Slow stations" not in [hit.section.section.title for hit in crowded]


def test_find_does_not_match_words_of_addresses(make_site: Callable) -> None:
    """Targets of links and images are not text; addresses in code are."""
    page = (
        "# Page\n\nSee [this](https://kettle.example/teapot) and ![a drawing](https://docs.example/p/saucer.svg),\n"
        '<https://spoon.example/>, or <img src="https://docs.example/p/plate.svg">.\n\n'
        "```sh\ncurl http://tray.example/\n```\n\n`handlers[0](napkin)`\n"
    )
    library = make_site([("a/", page)]).library()
    for word in ("kettle", "teapot", "saucer", "spoon", "plate"):
        assert titles(library, word) == []
    for word in ("drawing", "tray", "napkin"):
        assert titles(library, word) == ["Page"]


def test_find_with_unreadable_page_uses_title_and_opening(make_site: Callable) -> None:
    site = make_site(PAGES)
    files = {path: text.encode() for path, text in site.files.items() if not path.startswith("gauges")}
    library = Library(site.manifest, MemoryReader(files, where="memory"))
    hit = Search(library).find("calibrate")[0]
    assert hit.section.section.title == "Calibrate"
    assert "Calibration takes an hour" in hit.snippet
    assert titles(library, "8124") == ["Server"]


def test_find_stems_words_in_site_language(make_site: Callable) -> None:
    """Inflected German words match on a German site."""
    pages = [("a/", "# Häfen\n\nDie Pegel werden jährlich geprüft.\n"), ("b/", "# Prüfer\n\nNichts.\n")]
    library = make_site(pages, site=Site("Hafen", "https://docs.example/p/", language="de")).library()
    assert titles(library, "jährliche")[0] == "Häfen"


def test_search_is_thread_safe(library: Library) -> None:
    """All threads get the results of a single one."""
    search = Search(library)
    texts = ["drain window", "gauge tide", "timeout", "潮位", "version 1.12"]
    expected_ids = {text: [hit.section.id for hit in Search(library).find(text)] for text in texts}
    failures: list[object] = []

    def ask(seed: int) -> None:
        draw = random.Random(seed)
        for _ in range(30):
            text = draw.choice(texts)
            try:
                if [hit.section.id for hit in search.find(text)] != expected_ids[text]:
                    failures.append(text)
            except BaseException as error:
                failures.append(error)

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


@pytest.mark.parametrize(("markdown", "query", "expected"), TABLES["snippet_removes_markup_and_heading"])
def test_snippet_removes_markup_and_heading(markdown: str, query: str, expected: str) -> None:
    """Results show the heading already."""
    assert make_snippet(markdown, parse_query(query)) == expected


def test_snippet_shows_window_with_most_words() -> None:
    """The window begins at a sentence or a word, within the maximum length."""
    filler = "Nothing of interest is in this place. " * 30
    text = f"# T\n\n{filler}The tide is named once. {filler}The tide turns the gauge. {filler}"
    shown = make_snippet(text, parse_query("gauge tide"))
    assert "…The tide turns the gauge." in shown
    assert len(shown) <= 200
    assert shown.endswith("…")
    assert make_snippet("潮位計を設定する。" * 200, parse_query("設定"))[:1]


_searches: list[Search] = []


def _search() -> Search:
    if not _searches:
        _searches.append(Search(library_from_markdown("".join(text for _, text in PAGES), name="Docs")))
    return _searches[0]


def test_find_ranks_word_before_its_synonym() -> None:
    """The word is in most sections, so it scores little; a rare synonym would decide the ranking."""
    texts = [
        "# Valves\n\n## Check the weather\n\nTests of the weather: check it.\n",
        "## Validators\n\nA validator guards a valve.\n",
        *(f"## Part {at}\n\nHere a validator is set, too.\n" for at in range(20)),
    ]
    found = Search(library_from_markdown("\n".join(texts), name="Site", url="https://docs.example/")).find("validators")
    assert found[0].section.section.title == "Validators"


def test_find_specific_returns_sections_with_rare_words_only(make_site: Callable) -> None:
    pages = [(f"p{at}/", f"# Page {at}\n\nThe server listens to number {at}.\n") for at in range(40)]
    site = make_site([*pages, ("tide/", "# Tide\n\nThe server measures the tide.\n")])
    search = Search(site.library())
    assert search.find("Does the server listen?")
    assert search.find_specific("Does the server listen?") == []
    assert search.find_specific("Kubernetes on a server") == []
    assert [hit.section.section.title for hit in search.find_specific("Does the server measure tides?")] == ["Tide"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("Tabellenkalkulation", "Tabellenkalkulationsdatei öffnen"),
        ("Kodierung der Zeichen", "Zeichenkodierung"),
        ("Dateiformat", "Format einer Datei"),
    ],
)
def test_find_matches_parts_of_compounds(make_site: Callable, query: str, expected: str) -> None:
    text = "# Hilfe\n\n" + "".join(
        f"## {title}\n\nSo geht das.\n\n"
        for title in ("Tabellenkalkulationsdatei öffnen", "Zeichenkodierung", "Format einer Datei", "Drucken")
    )
    site = Site("Hilfe", "https://docs.example/p/", language="de")
    library = make_site([("hilfe/", text)], site=site).library()

    assert titles(library, query, limit=1) == [expected]


POST = "We rewrote the kettle so that it whistles in B minor, and nobody has complained about the noise since then.\n"


def test_find_shows_sections_with_the_same_beginning(make_site: Callable) -> None:
    texts = ("Options inherited by the command: a name and a colour.", "Options inherited by the command: a lid.")
    pages = [(f"{name}/", f"# {name}\n\n## Options\n\n{text}\n") for name, text in zip("ab", texts, strict=True)]
    library = make_site(pages).library()

    assert titles(library, "options inherited", limit=2) == ["Options", "Options"]


def test_find_shows_best_of_equal_texts(make_site: Callable) -> None:
    text = "## Options\n\nThe command has a name, a colour, a lid and a whistle that is loud.\n"
    search = Search(make_site([(f"{name}/", f"# {name}\n\n{text}") for name in ("kettle", "toaster")]).library())

    hits = [hit.section for hit in search.find("options of the toaster") if hit.section.section.title == "Options"]

    assert [hit.page.path for hit in hits] == ["toaster/"]


def test_find_shows_long_text_once_below_different_titles(make_site: Callable) -> None:
    text = "The command has a name, a colour, a lid and a whistle that is loud.\n"
    once = make_site([(f"{name}/", f"# {name}\n\n## The {name}\n\n{text * 2}") for name in ("kettle", "toaster")])
    twice = make_site([(f"{name}/", f"# {name}\n\n## The {name}\n\n{text}") for name in ("kettle", "toaster")])

    assert [one for one in titles(once.library(), "loud whistle") if one.startswith("The")] == ["The kettle"]
    assert len([one for one in titles(twice.library(), "loud whistle") if one.startswith("The")]) == 2


def test_find_shows_inherited_member_once(make_site: Callable) -> None:
    text = "Set of the users that may open the lid of the kettle. " * 2 + "See [the lid](https://docs.example/p/a/).\n"
    members = [
        f"## {name}\n\n### lid_users\n\n```python\nlid_users {name}.lid_users = Set()\n```\n\n{text}" for name in "AB"
    ]
    library = make_site([("a/", "# Kettle\n\n" + "\n".join(members))]).library()

    assert titles(library, "users of the lid").count("lid_users") == 1


def test_find_shows_equal_text_if_the_first_is_not_in_the_scope(make_site: Callable) -> None:
    site = make_site([("a/", f"# Kettle 2\n\n{POST}"), ("b/", f"# Kettle 2\n\n{POST}")])
    library = site.library()
    search = Search(library)

    part = search.restrict(library.restrict(Scope(paths=("b/**",))))

    assert [hit.section.page.path for hit in search.find("kettle")] == ["a/"]
    assert [hit.section.page.path for hit in part.find("kettle")] == ["b/"]


def test_find_ranks_pages_for_contributors_lower_unless_query_names_them(make_site: Callable) -> None:
    text = "Run the tests with nox, and the linter with nox.\n"
    library = make_site([("contributing/", f"# Contributing\n\n{text}"), ("use/", f"# Use\n\nYes. {text}")]).library()

    assert titles(library, "run the tests", limit=1) == ["Use"]
    assert titles(library, "run the tests when contributing", limit=1) == ["Contributing"]


@pytest.mark.parametrize(("query", "missing"), TABLES["missing_words_are_names_and_words_of_meaning"])
def test_missing_words_are_names_and_words_of_meaning(make_site: Callable, query: str, missing: list[str]) -> None:
    text = f"# Kettle\n\nThe powerful kettle whistle runs on steam. {'See it boil. ' * 90}\n\nIt has a red pipe.\n"
    assert Search(make_site([("a/", text)]).library()).find_missing(query) == tuple(missing)
