"""Libraries restricted to a scope: nothing outside of it is listed, found, opened or named."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from mkdocs_roaming import Scope
from mkdocs_roaming.answer.prepare import read_small_site
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.navigator import Navigator
from mkdocs_roaming.library.rules import apply_rules
from mkdocs_roaming.library.search import Search
from mkdocs_roaming.library.tools import render
from mkdocs_roaming.manifest.models import Alternate, NavItem, RuleCondition, RuleEntry, Site

TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))

PAGES = TABLES["pages"]
NAV = [
    NavItem("Home", path=""),
    NavItem("Guide", path="guide/", children=(NavItem("Pumps", path="guide/pumps/"),)),
    NavItem("More", children=(NavItem("Tides", path="guide/tides/"), NavItem("Changes", path="changes/"))),
]
TAGS = {"changes/": ("News", "other"), "guide/pumps/": ("hardware",)}


@pytest.fixture
def library(make_site: Callable) -> Library:
    return make_site(PAGES, NAV, tags=TAGS).library()


def paths(library: Library) -> list[str]:
    return [page.path for page in library.manifest.pages]


# Selection


@pytest.mark.parametrize(("pattern", "selected"), TABLES["restrict_selects_pages_by_pattern"])
def test_restrict_selects_pages_by_pattern(library: Library, pattern: str, selected: list[str]) -> None:
    assert paths(library.restrict(Scope(paths=(pattern,)))) == selected


def test_last_matching_pattern_decides(library: Library) -> None:
    assert paths(library.restrict(Scope(paths=("guide", "!pumps")))) == ["guide/", "guide/tides/"]
    assert paths(library.restrict(Scope(paths=("!guide",)))) == ["", "changes/"]


def test_restrict_selects_pages_with_one_of_the_tags_in_any_case(library: Library) -> None:
    assert paths(library.restrict(Scope(tags=("NEWS",)))) == ["changes/"]
    assert paths(library.restrict(Scope(tags=("news", "Hardware")))) == ["guide/pumps/", "changes/"]


def test_restrict_requires_tag_and_path(library: Library) -> None:
    assert paths(library.restrict(Scope(("hardware", "news"), ("guide",)))) == ["guide/pumps/"]
    with pytest.raises(UsageError, match="no page matches the tag news and the path guide"):
        library.restrict(Scope(("news",), ("guide",)))


@pytest.mark.parametrize(
    ("scope", "message"),
    [
        (Scope(paths=("guid/**",)), r"no page matches the path guid/\*\*; tags: .*; folders: guide/, changes/"),
        (Scope(tags=("zzz",)), "no page matches the tag zzz; tags: hardware, News, other; folders: guide/"),
    ],
)
def test_restrict_without_page_names_existing_tags_and_paths(library: Library, scope: Scope, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        library.restrict(scope)


@pytest.mark.parametrize(("own", "others", "scope", "message"), TABLES["other_versions"])
def test_restrict_to_other_version_names_its_manifest(
    make_site: Callable, own: str, others: list[str], scope: str, message: str
) -> None:
    alternates = tuple(Alternate("https://docs.example/1/manifest.json", version=version) for version in others)
    site = Site("Docs", "https://docs.example/p/", version=own, alternates=alternates)
    library = make_site([("a/", "# A\n\nText.\n")], site=site).library()
    assert paths(library.restrict(Scope(version=own or None))) == ["a/"]
    with pytest.raises(UsageError, match=message):
        library.restrict(Scope(version=scope))
    with pytest.raises(UsageError, match="no page matches the tag a; tags: none; folders: a/"):
        library.restrict(Scope(tags=("a",)))


def test_restrict_returns_same_library_for_equal_scopes_and_whole_site(library: Library) -> None:
    guide = library.restrict(Scope(("a", "hardware"), ("guide/**", "changes")))
    assert library.restrict(Scope(("hardware", "A"), ("changes/", "/guide/**"))) is guide
    assert library.restrict(Scope()) is library
    assert guide.whole is library.whole is library


def test_restrict_keeps_few_scopes(library: Library) -> None:
    first = library.restrict(Scope(paths=("guide",)))
    for number in range(20):
        library.restrict(Scope(paths=("guide", f"x{number}")))
    assert library.restrict(Scope(paths=("guide",))) is not first


def test_pattern_with_many_wildcards_is_matched_quickly(make_site: Callable) -> None:
    path = "/".join(["a" * 20] * 40) + "/"
    library = make_site([(path, "# A\n")]).library()
    with pytest.raises(UsageError):
        library.restrict(Scope(paths=("**/*a*a*a*a*b/" * 14, "*a" * 99 + "b")))


# Visibility


def test_restricted_library_knows_no_other_section(library: Library) -> None:
    guide = library.restrict(Scope(paths=("guide/**",)))
    outside = library.sections.resolve("changes/")
    assert outside is not None
    assert "Changes" not in guide.outline()
    assert [result.breadcrumb[-1] for result in guide.search("drain_window 1.2.3")] == []
    assert {result.id for result in guide.search("water")} <= {section.id for section in guide.sections}
    for address in (outside.id, "changes/", "https://docs.example/p/changes/#123"):
        with pytest.raises(UsageError, match="no section"):
            guide.expand(address)
    navigator = Navigator(guide)
    results = [
        navigator.expand_sections([outside.id, "drain window"]),
        navigator.prefetch("drain_window"),
        navigator.grep("drain"),
    ]
    for text in (*map(render, results), navigator.outline(), navigator.page_outline(outside.id)):
        assert not re.search("Changes|1.2.3|By release", text)
    assert set(navigator.opened) <= {section.id for section in guide.sections}


def test_page_above_visible_pages_is_not_in_outline(library: Library) -> None:
    assert "All of it" not in library.restrict(Scope(paths=("**/pumps",))).outline()


def test_neighbours_are_in_scope(library: Library) -> None:
    ends = library.restrict(Scope(paths=("guide/pumps", "changes")))
    pumps, changes = (ends.sections.resolve(path) for path in ("guide/pumps/", "changes/"))
    assert pumps is not None
    assert ends.sections.neighbours(pumps) == (None, changes)


def test_rules_open_only_sections_in_scope(make_site: Callable) -> None:
    made = make_site(PAGES, NAV)
    ids = tuple(page.id for page in made.manifest.pages)
    library = made.library()
    library.trusted = True
    library.manifest = replace(library.manifest, rules=(RuleEntry(RuleCondition(always=True), ids),))
    result = apply_rules(Navigator(library.restrict(Scope(paths=("changes",)))), "", None, 30_000)
    assert result.opens == ids[-1:]


def test_small_scope_is_read_whole(library: Library) -> None:
    site = read_small_site(Navigator(library.restrict(Scope(tags=("news",)))), 8_000)
    assert site is not None
    assert "drain_window" in site.text
    assert "Bilge" not in site.text


def test_search_of_restricted_library_shares_index_and_scores(library: Library) -> None:
    search, guide = Search(library, with_table=False), library.restrict(Scope(paths=("guide/tides",)))
    shared = search.restrict(guide)
    everywhere = {hit.section.id: hit.score for hit in search.find("water falls", limit=99)}
    found = {hit.section.id: hit.score for hit in shared.find("water falls", limit=99)}
    assert found
    assert found.items() <= everywhere.items()
    assert shared._get_ranker() is search._get_ranker()
    assert {hit.section.id for hit in Search(guide, with_table=False).find("water falls", limit=99)} == found.keys()
