"""Include and exclude patterns: what they match, and messages about those that match nothing or have changed."""

from __future__ import annotations

import re

import pytest
from tables import read_tables

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.manifest.lookup import PageName
from mkdocs_roaming.publish.selection import Pattern, Selection

TABLES = read_tables(__file__)

SOURCES = TABLES["sources"]


def _address(source: str) -> str:
    return re.sub(r"(^|/)index/$", r"\1", f"{source.removesuffix('.md')}/")


BY_SOURCE = [PageName(_address(source), (source,)) for source in SOURCES]
BY_ADDRESS = [
    PageName(page.path, is_folder=page.path in ("guide/", "internal/", "team/"))
    for page in BY_SOURCE
    if page.sources != ("guide.md",)
]
INTERNAL = {"internal/index.md", "internal/costs.md", "internal/keep.md"}
DEEP = {"guide/internal/seals.md", "team/internal/rota.md"}


def excluded(*patterns: str, pages: list[PageName] = BY_SOURCE, roots: tuple[str, ...] = ()) -> set[str]:
    """Return the sources, or else the paths, of the pages that patterns exclude."""
    selection = Selection((), patterns, roots=roots)
    return {str(page) for page in pages if selection.find_reason(page)}


@pytest.mark.parametrize(("pattern", "sources"), TABLES["pattern matches sources and addresses as in gitignore"])
def test_pattern_matches_sources_and_addresses_as_in_gitignore(pattern: str, sources: list[str]) -> None:
    assert excluded(pattern) == set(sources)


@pytest.mark.parametrize(("pattern", "paths"), TABLES["pattern matches file names of an address without source"])
def test_pattern_matches_file_names_of_an_address_without_source(pattern: str, paths: list[str]) -> None:
    assert excluded(pattern, pages=BY_ADDRESS) == set(paths)


@pytest.mark.parametrize("pattern", ["api", "api/", "api.html", "api.md", "/api.html", "*.html"])
def test_pattern_matches_an_address_with_suffix(pattern: str) -> None:
    assert excluded(pattern, pages=[PageName("api.html")]) == {"api.html"}


@pytest.mark.parametrize("pattern", ["docs/internal/*", "/docs/internal/", "https://pumps.example/internal/"])
def test_pattern_may_start_with_docs_folder_or_url_of_the_site(pattern: str) -> None:
    assert excluded(pattern, roots=("https://pumps.example/", "docs/")) == INTERNAL


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("*a*a*a*a*b", "a" * 2000 + "/", False),
        ("**/a/**/b/**/c", "a/b/" * 500, False),
        ("internal/**", "internal/" + "a/" * 500, True),
        ("a/", "internal/" + "a/" * 500, True),
        ("/a/*", "internal/" + "a/" * 500, False),
    ],
)
def test_long_addresses_are_matched_quickly(pattern: str, path: str, matches: bool) -> None:
    assert Pattern(pattern).matches(PageName(path)) is matches


def test_last_matching_pattern_decides() -> None:
    assert "internal/keep.md" not in excluded("internal/", "!keep.md")
    assert "internal/keep.md" in excluded("!keep.md", "internal/")


def test_exclude_takes_precedence_over_include() -> None:
    selection = Selection(["guide/"], ["pumps.md"])
    published = {str(page) for page in BY_SOURCE if selection.find_reason(page) is None}
    assert published == {"guide.md", "guide/index.md", "guide/internal/seals.md"}
    assert selection.find_reason(PageName("guide/pumps/", ("guide/pumps.md",))) == "excluded by `pumps.md`"
    assert selection.find_reason(PageName("faq/", ("faq.md",))) == "not in include"


def test_include_that_starts_with_negation_includes_all_other_pages() -> None:
    selection = Selection(["!internal/"])
    assert {str(page) for page in BY_SOURCE if selection.find_reason(page)} == INTERNAL | DEEP


@pytest.mark.parametrize(("pattern", "hint"), TABLES["unmatched pattern is reported with nearest names"])
def test_unmatched_pattern_is_reported_with_nearest_names(pattern: str, hint: str) -> None:
    selection = Selection((), [pattern], option="--")
    assert not any(map(selection.find_reason, BY_SOURCE))
    (message,) = selection.unmatched()
    assert message.startswith(f"--exclude `{pattern}` matches no page; {hint}")


def test_matched_pattern_is_not_reported() -> None:
    selection = Selection(["guide/"], ["faq.md"])
    for page in BY_SOURCE:
        selection.find_reason(page)
    assert list(selection.unmatched()) == []  # `faq.md` only matches pages that `include` leaves out


@pytest.mark.parametrize(("pattern", "fix"), TABLES["pattern that can never match is an error"])
def test_pattern_that_can_never_match_is_an_error(pattern: str, fix: str) -> None:
    with pytest.raises(UsageError, match=r"^exclude: .* is not a pattern; ") as error:
        Selection((), [pattern])
    assert fix in str(error.value)
