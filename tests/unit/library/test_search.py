"""Search by words: matching, ranking, snippets, unusual queries."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
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

DATA = yaml.safe_load(Path(__file__).with_suffix(".yml").read_text("utf-8"))
TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))

PAGES = [(f"{path}/", text) for path, text in DATA["pages"].items()]


@pytest.fixture
def library(make_site: Callable) -> Library:
    return make_site(PAGES).library()


def titles(library: Library, text: str, **options: object) -> list[str]:
    return [hit.section.section.title for hit in Search(library, with_table=False).find(text, **options)]


@pytest.mark.parametrize(("text", "title"), TABLES["find_matches_words_identifiers_and_versions"])
def test_find_matches_words_identifiers_and_versions(library: Library, text: str, title: str) -> None:
    """Words in any form and script, identifiers and versions as a whole and in part, typos."""
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


@cache
def _search() -> Search:
    return Search(library_from_markdown("".join(text for _, text in PAGES), name="Docs"))


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


def test_find_with_citation_in_question_returns_cited_section_first(make_site: Callable) -> None:
    rules = "".join(f"## Rule {number}\n\nShips moor at berth {number}.\n\n" for number in range(1, 30))
    search = Search(make_site([("rules/", f"# Rules\n\nMoor well.\n\n{rules}"), *PAGES]).library())
    question = "May a ship moor at berth 12 and 13, or does rule 7 forbid it?"
    hits = search.find(question)
    assert hits[0].section.section.title == "Rule 7"
    assert len({hit.section.id for hit in hits}) == len(hits)
    assert search.judge("Who won the football cup after rule 7?") == ""
    assert search.judge("Who won the football cup after rule 70?") != ""


def test_find_with_citation_of_part_and_section_returns_section_first(make_site: Callable) -> None:
    text = "".join(f"## Part {part}\n\n### Rule {part}\n\nMoor.\n\n" for part in range(1, 5))
    hits = Search(make_site([("rules/", f"# Rules\n\n{text}")]).library()).find("part 3, rule 3")
    assert hits[0].section.section.title == "Rule 3"


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


PROSE = "Levels are written to the log once a minute and are kept for a year. "
MEMBER = "Set of the users that may open the lid of the kettle. " * 2 + "See [the lid](https://docs.example/p/a/)."
FILLERS = {
    "{prose}": PROSE * 2,
    "{loud}": "The command has a name, a colour, a lid and a whistle that is loud.\n",
    **{
        f"{{member_{name.lower()}}}": f"## {name}\n\n### lid_users\n\n```py\nlid_users {name}.lid_users = Set()\n```\n\n{MEMBER}\n"
        for name in "AB"
    },
}
PARTS = [
    *((f"part{at}/", f"# Part {at}\n\n{PROSE * 2}\n\n## Usage\n\nUse it. {PROSE * 2}\n") for at in range(8)),
    *((f"other{at}/", f"# Other {at}\n\n{PROSE}\n\n## Notes\n\n{PROSE * 3}\n") for at in range(60)),
]


@pytest.mark.parametrize("case", DATA["ranking"], ids=lambda case: case["name"])
def test_find_ranks_sections(make_site: Callable, case: dict[str, Any]) -> None:
    pages = [*PARTS] if "{parts}" in case["pages"] else []
    for path, text in case["pages"].items():
        for name, filler in FILLERS.items():
            text = text.replace(name, filler)
        pages += [(f"{path}/", text)] if text else []
    pages += [(f"p{at}/", f"# Page {at}\n\nWords about the tap.\n") for at in range(case.get("others", 0))]
    library = make_site(
        pages, site=Site("Docs", "https://docs.example/p/", language=case.get("language", "en"))
    ).library()
    for query, expected in case.get("first", {}).items():
        assert titles(library, query, limit=len(expected)) == expected
    for query, title in case.get("among", {}).items():
        assert title in titles(library, query, limit=8)
    for query, expected in case.get("found", {}).items():
        assert sorted(titles(library, query)) == expected
    weighted = Search(library, with_table=False, weights=Weights(**case.get("weights", {})))
    for query, expected in case.get("otherwise", {}).items():
        assert [hit.section.section.title for hit in weighted.find(query, limit=len(expected))] == expected


@pytest.mark.parametrize("title", ["Release notes", "Changelog", "What's new", "Änderungen", "変更履歴"])
def test_find_ranks_changelog_lower_unless_query_is_about_changes(make_site: Callable, title: str) -> None:
    """A question about versions leads to the change log, any other to the guide."""
    log = f"# {title}\n\n## Middleware\n\nVersion 2.1 has middleware.\n"
    guide = "# Guide\n\n## Middleware in use\n\nPut your middleware into the list; each middleware wraps the next.\n"
    search = Search(make_site([("log/", log), ("guide/", guide)]).library())
    assert search.find("how does middleware work")[0].section.page.path == "guide/"
    assert search.find("middleware in which version")[0].section.page.path == "log/"
    assert search.find("middleware in 2.1")[0].section.page.path == "log/"


def test_find_with_unreadable_page_uses_title_and_opening(make_site: Callable) -> None:
    site = make_site(PAGES)
    files = {path: text.encode() for path, text in site.files.items() if not path.startswith("gauges")}
    library = Library(site.manifest, MemoryReader(files, where="memory"))
    hit = Search(library).find("calibrate")[0]
    assert hit.section.section.title == "Calibrate"
    assert "Calibration takes an hour" in hit.snippet
    assert titles(library, "8124") == ["Server"]


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


POST = "We rewrote the kettle so that it whistles in B minor, and nobody has complained about the noise since then.\n"


def test_find_shows_best_of_equal_texts(make_site: Callable) -> None:
    text = "## Options\n\nThe command has a name, a colour, a lid and a whistle that is loud.\n"
    search = Search(make_site([(f"{name}/", f"# {name}\n\n{text}") for name in ("kettle", "toaster")]).library())

    hits = [hit.section for hit in search.find("options of the toaster") if hit.section.section.title == "Options"]

    assert [hit.page.path for hit in hits] == ["toaster/"]


def test_find_shows_equal_text_if_the_first_is_not_in_the_scope(make_site: Callable) -> None:
    site = make_site([("a/", f"# Kettle 2\n\n{POST}"), ("b/", f"# Kettle 2\n\n{POST}")])
    library = site.library()
    search = Search(library)

    part = search.restrict(library.restrict(Scope(paths=("b/**",))))

    assert [hit.section.page.path for hit in search.find("kettle")] == ["a/"]
    assert [hit.section.page.path for hit in part.find("kettle")] == ["b/"]


@pytest.mark.parametrize(("query", "missing"), TABLES["unknown_words_are_words_of_meaning"])
def test_unknown_words_are_words_of_meaning(make_site: Callable, query: str, missing: list[str]) -> None:
    text = f"# Kettle\n\nThe powerful kettle whistle runs on steam. {'See it boil. ' * 90}\n\nIt has a red pipe.\n"
    assert Search(make_site([("a/", text)]).library()).find_unknown_words(query) == tuple(missing)
