"""The outline: budget, order of lines, texts, branches."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.manifest.lookup import SectionIndex
from mkdocs_roaming.manifest.models import NavItem
from mkdocs_roaming.manifest.outline import render_outline, render_page_outline
from mkdocs_roaming.text.tokenizer import estimate_tokens
from tests.conftest import make

LINE = re.compile(r"^ *\[([0-9a-f]{8})\] (.*)$", re.MULTILINE)
CLOSED = re.compile(r"^ *\[([0-9a-f]{8})\] .* \+\d+$", re.MULTILINE)
CONTINUED = re.compile(r"^ *\[([0-9a-f]{8}\+)\] \d+ more: ", re.MULTILINE)


def listed(text: str) -> list[str]:
    return [id_ for id_, _ in LINE.findall(text)]


def titles(text: str) -> list[str]:
    return [re.split(r" — | · | \+\d+$", rest)[0] for _, rest in LINE.findall(text)]


def read_all(index: SectionIndex, budget: int) -> set[str]:
    """Return the ids that a reader finds who follows every closed line and every continued list."""
    found: set[str] = set()
    read: set[str] = set()
    remaining = [""]
    while remaining:
        branch = remaining.pop()
        text = render_outline(index, budget=budget, branch=branch or None)
        assert estimate_tokens(text) <= budget
        assert listed(text)
        found.update(listed(text))
        new = {*CLOSED.findall(text), *CONTINUED.findall(text)} - read
        read |= new
        remaining += sorted(new)
    return found


# Budgets


def test_outline_fits_every_budget_and_a_large_one_lists_every_section(shape) -> None:
    index = SectionIndex(shape.manifest)
    for budget in (200, 201, 300, 700, 1700, 4000, 12000):
        assert estimate_tokens(render_outline(index, budget=budget)) <= budget
    text = render_outline(index, budget=200_000)
    assert text == render_outline(index, budget=200_000)
    assert {*listed(text)} >= {ref.id for ref in index}
    assert len(listed(text)) == len(set(listed(text)))
    assert not CLOSED.findall(text)


@pytest.mark.parametrize(("size", "heads", "budget"), [(12, 40, 200), (3, 70, 400), (90, 0, 300), (30, 5, 900)])
def test_every_section_is_found_by_a_chain_of_calls(size: int, heads: int, budget: int) -> None:
    index = make_index(size, heads)
    assert read_all(index, budget) >= {ref.id for ref in index}


def test_every_section_of_nested_groups_is_found_by_a_chain_of_calls(make_site: Callable) -> None:
    paths = [f"p{at}/" for at in range(27)]
    parts = [NavItem(path, path=path) for path in paths]
    groups = [NavItem(f"Part {at}", children=tuple(parts[at : at + 3])) for at in range(0, 27, 3)]
    nav = [NavItem(f"Volume {at}", children=tuple(groups[at : at + 3])) for at in range(0, 9, 3)]
    index = SectionIndex(make_site([(path, page_text(path, "## One", "### Two")) for path in paths], nav).manifest)
    assert read_all(index, 200) >= {ref.id for ref in index}


@given(budget=st.integers(200, 9000), size=st.integers(1, 60), heads=st.integers(0, 70))
@settings(max_examples=40)
def test_every_page_has_a_line_if_bare_lines_fit(budget: int, size: int, heads: int) -> None:
    index = make_index(size, heads)
    text = render_outline(index, budget=budget)
    assert estimate_tokens(text) <= budget
    if budget >= 100 + 12 * size:
        assert {*listed(text)} >= {page.id for page in index.manifest.pages}


@given(title=st.text(min_size=1, max_size=300), opening=st.text(max_size=400), budget=st.integers(200, 600))
@settings(max_examples=40)
def test_texts_in_any_script_fit_the_budget_and_stay_on_their_lines(title: str, opening: str, budget: int) -> None:
    base = make_index(3, 4).manifest
    pages = tuple(
        replace(page, sections=tuple(replace(section, title=title, opening=opening) for section in page.sections))
        for page in base.pages
    )
    index = SectionIndex(replace(base, pages=pages))
    text = render_outline(index, budget=budget)
    assert estimate_tokens(text) <= budget
    assert all(re.match(r" *\[[0-9a-f]{8}\+?\] |\[id\]", line) for line in text.split("\n")[:-1])
    assert read_all(index, budget) >= {ref.id for ref in index}


@pytest.mark.parametrize(
    ("budget", "branch"), [(199, None), (0, None), (-5, None), (8000, "ffffffff"), (8000, "+"), (8000, "")]
)
def test_small_budget_or_unknown_branch_raises_usage_error(budget: int, branch: str | None) -> None:
    with pytest.raises(UsageError, match=r"at least 200 tokens|take an id from the outline"):
        render_outline(make_index(2, 1), budget=budget, branch=branch)


# Lines


def page_text(title: str, *headings: str, opening: str = "It measures the level of the water.") -> str:
    return f"# {title}\n\n{opening}\n" + "".join(f"\n{heading}\n\nText.\n" for heading in headings)


def test_line_has_opening_and_titles_inside_without_generic_and_repeated_ones(make_site: Callable) -> None:
    headings = [
        "## Usage",
        "## Tides",
        "### Spring tide",
        "## Notes",
        "## tides",
        "## Gauge",
        "## Messages",
        "## Storms",
    ]
    parts = [["## Messages", *(f"## Part {at}.{n}" for n in range(97))] for at in range(20)]
    pages = [(f"p{at}/", page_text("Gauge", *parts[at], opening=f"Gauge {at} is in use.")) for at in range(20)]
    pages.append(("last/", page_text("Gauge", *headings, *(f"## Part {n} of all" for n in range(90)))))
    line = render_outline(SectionIndex(make_site(pages).manifest), budget=1800).splitlines()[21]
    assert "Gauge — It measures the level of the water. · Tides, Storms, Part 0 of all, Part 1 of all," in line
    assert line.endswith(" +98")


def test_sentences_are_shortened_before_titles_inside(make_site: Callable) -> None:
    opening = "The gauge measures the level of the water in harbour {}, once each minute of the day."
    headings = [[f"## Heading {at}/{n}" for n in range(60)] for at in range(40)]
    pages = [(f"p{at}/", page_text("Gauge", *headings[at], opening=opening.format(at))) for at in range(40)]
    index = SectionIndex(make_site(pages).manifest)
    rich, some, bare = (render_outline(index, budget=budget).splitlines()[-1] for budget in (2800, 2150, 600))
    assert " — The gauge" in rich
    assert rich.count("Heading") == some.count("Heading") > 3
    assert " — " not in some
    assert "Heading" not in bare


def test_group_and_its_index_page_are_one_line(make_site: Callable) -> None:
    nav = [
        NavItem("Guide", children=(NavItem("About the guide", path="guide/"), NavItem("Steps", path="guide/steps/"))),
        NavItem("Tools", children=(NavItem("Tools", path="t/"), NavItem("Lamp", path="lamp/"))),
        NavItem("Rest", children=(NavItem("First", path="a/"), NavItem("Second", path="b/"))),
    ]
    paths = ["guide/", "guide/steps/", "t/", "lamp/", "a/", "b/"]
    manifest = make_site([(path, page_text(path.strip("/"))) for path in paths], nav).manifest
    index = SectionIndex(manifest)
    text = render_outline(index)
    assert titles(text) == ["Guide", "guide/steps", "Tools", "lamp", "Rest", "a", "b"]
    guide = manifest.nav[0]
    assert listed(text)[0] == guide.children[0].id
    assert guide.id is not None
    assert render_outline(index, branch=guide.id) == render_outline(index, branch=guide.children[0].id)


def test_guides_come_first_and_archives_last_and_closed(make_site: Callable) -> None:
    posts = tuple(NavItem(f"Post {at}", path=f"blog/{at}/") for at in range(9))
    notes = tuple(NavItem(f"1.{at} announcement", path=f"n/{at}/") for at in range(9))
    nav = [
        NavItem("Blog", children=posts),
        NavItem("API", path="api/"),
        NavItem("Community", children=(*notes, NavItem("Help", path="help/"))),
        NavItem("Start", path="start/"),
    ]
    paths = [item.path or "" for item in (*posts, *notes)] + ["api/", "help/", "start/"]
    texts = [page_text(path, *(f"## Part {path}{at}" for at in range(30))) for path in paths]
    manifest = make_site(list(zip(paths, texts, strict=True)), nav).manifest
    text = render_outline(SectionIndex(manifest), budget=250)
    assert titles(text)[:5] == ["Community", "help/", "start/", "api/", "Blog"]
    assert len(CONTINUED.findall(text)) == 1
    assert re.search(r"\] Blog .*\+279$", text, re.MULTILINE)


def test_remaining_room_lists_sections_and_skips_what_does_not_fit(make_site: Callable) -> None:
    sizes = {"long/": 300, "medium/": 20, "short/": 3}
    pages = [(path, page_text(path, *(f"## {path} {n}" for n in range(size)))) for path, size in sizes.items()]
    index = SectionIndex(make_site(pages).manifest)
    found = titles(render_outline(index, budget=700))
    assert {"medium/ 19", "short/ 2"} <= set(found)
    assert "long/ 0" not in found


def test_title_that_is_a_number_has_its_opening(make_site: Callable) -> None:
    rules = "".join(
        f"## {title}\n\nMoor at berth {title}.\n\n" for title in ("Rule 1", "§ 2", "4.2", "Rule 3 of ships")
    )
    index = SectionIndex(make_site([("rules/", f"# Rules\n\n{rules}")]).manifest)
    text = render_outline(index, budget=200)
    assert [line.partition("] ")[2] for line in text.splitlines()[2:]] == [
        "Rule 1 — Moor at berth Rule 1.",
        "§ 2 — Moor at berth § 2.",
        "4.2 — Moor at berth 4.2.",
        "Rule 3 of ships — Moor at berth Rule 3 of ships.",
    ]
    pages = [
        (f"p{number}/", page_text(f"Page {number}", *(f"## Rule {rule}" for rule in range(40)))) for number in range(9)
    ]
    text = render_outline(SectionIndex(make_site(pages).manifest), budget=900)
    assert "] Rule 39 — Text.\n" in text
    assert "] Rule 39\n" not in text


def test_sections_with_more_text_are_listed_first(make_site: Callable) -> None:
    long_text = "The gauge measures the level. " * 99
    pages = [(f"p{at}/", page_text(f"Page {at}", *(f"## P{at} part {n} here" for n in range(20)))) for at in range(9)]
    path, text = pages[7]
    pages[7] = path, text.replace("P7 part 5 here\n", f"P7 part 5 here\n\n{long_text}\n")
    found = titles(render_outline(SectionIndex(make_site(pages).manifest), budget=600))
    assert "P7 part 19 here" in found
    assert "P0 part 0 here" not in found


# Branches


def test_branch_lists_only_what_is_below_it(make_site: Callable) -> None:
    nav = [NavItem("Guide", children=(NavItem("A", path="a/"), NavItem("B", path="b/"))), NavItem("C", path="c/")]
    text = "# {0}\n\nText.\n\n## {0} one\n\nText.\n\n### {0} deep\n\nText.\n\n## {0} two\n\nText.\n"
    site = make_site([(path, text.format(path[0].upper())) for path in ("a/", "b/", "c/")], nav)
    index = SectionIndex(site.manifest)

    def below(branch: str) -> list[str]:
        return titles(render_outline(index, branch=branch))

    group = site.manifest.nav[0].id
    page = index.get_page("b/")
    assert group is not None
    assert page is not None
    assert below(group) == ["Guide", "A", "A one", "A deep", "A two", "B", "B one", "B deep", "B two"]
    assert below(page.id) == ["B", "B one", "B deep", "B two"]
    assert below(page.sections[1].id) == ["B one", "B deep"]
    assert below(page.sections[1].id + "+") == ["B one", "B deep", "B two"]
    assert below(page.id + "+") == below(page.id)
    assert below(site.manifest.pages[0].id + "+") == below(group)[1:]


def test_list_that_is_too_long_is_continued_in_order() -> None:
    index = make_index(90, 0)
    found: list[str] = []
    branch: str | None = None
    for _ in range(90):
        text = render_outline(index, budget=300, branch=branch)
        found += listed(text)
        continued = CONTINUED.findall(text)
        if not continued:
            break
        branch = continued[0]
    assert found == [page.id for page in index.manifest.pages]


@pytest.mark.parametrize(("headings", "is_cut"), [(60, False), (400, True)])
def test_page_outline_fits_its_budget(headings: int, is_cut: bool) -> None:
    index = make_index(10, headings)
    page = index.manifest.pages[0]
    text = render_page_outline(index, page)
    assert estimate_tokens(text) <= 1_000
    assert listed(text)[0] == page.id
    assert set(listed(text)) <= {section.id for section in page.sections}
    assert bool(CONTINUED.findall(text)) == is_cut


@cache
def make_index(pages: int, headings: int) -> SectionIndex:
    steps = (f"\n{'#' * (2 + at % 3)} Step {at} of many\n\nTurn the valve {at} times.\n" for at in range(headings))
    text = "".join(steps)
    site = make([(f"p{at}/", f"# Page {at}\n\nAbout part {at}.\n{text}") for at in range(pages)])
    return SectionIndex(site.manifest)
