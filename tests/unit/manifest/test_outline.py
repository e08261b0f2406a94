"""The outline: budget, order of lines, branches."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.manifest.lookup import SectionIndex
from mkdocs_roaming.manifest.models import NavItem
from mkdocs_roaming.manifest.outline import OUTLINE_BUDGET, render_outline, render_page_outline
from mkdocs_roaming.text.tokenizer import estimate_tokens

BUDGETS = [200, 201, 300, 700, 1700, 4000, 12000, 200000]  # any next one is tried below
_MARK = re.compile(r" \+\d+ inside$")
_REST = re.compile(r"^\s*\[[0-9a-f]{8}\+\] \d+ more")


def visible_lines(text: str) -> list[str]:
    return [_MARK.sub("", line) for line in text.splitlines() if not _REST.match(line)]


def test_outline_fits_its_budget_and_larger_budgets_only_add_lines(shape) -> None:
    index = SectionIndex(shape.manifest)
    smaller: list[str] = []
    for budget in BUDGETS:
        text = render_outline(index, budget=budget)
        assert estimate_tokens(text) <= budget
        larger = visible_lines(text)
        rest = iter(larger)
        assert all(line in rest for line in smaller), f"{budget} dropped a line"
        smaller = larger
    assert text == render_outline(index, budget=BUDGETS[-1])
    assert set(re.findall(r"\[([0-9a-f]{8})\]", text)) >= {ref.id for ref in index}


@given(budget=st.integers(200, 9000), more=st.integers(0, 400), size=st.integers(1, 60), heads=st.integers(0, 70))
@settings(max_examples=60, deadline=None)
def test_outline_never_exceeds_any_budget(budget: int, more: int, size: int, heads: int) -> None:
    index = make_index(size, heads)
    smaller, larger = render_outline(index, budget=budget), render_outline(index, budget=budget + more)
    assert estimate_tokens(smaller) <= budget
    assert estimate_tokens(larger) <= budget + more
    rest = iter(visible_lines(larger))
    assert all(line in rest for line in visible_lines(smaller))


@given(title=st.text(min_size=1, max_size=300), opening=st.text(max_size=400), budget=st.integers(200, 600))
@settings(max_examples=80, deadline=None)
def test_long_titles_in_any_script_fit_the_budget_on_one_line(title: str, opening: str, budget: int) -> None:
    from msgspec.structs import replace

    base = make_index(3, 1).manifest
    page = base.pages[0]
    sections = tuple(replace(section, title=title, opening=opening) for section in page.sections)
    index = SectionIndex(replace(base, pages=(replace(page, sections=sections), *base.pages[1:])))
    text = render_outline(index, budget=budget)
    assert estimate_tokens(text) <= budget
    assert f"[{page.id}] " in text
    assert all(re.match(r"\s*\[[0-9a-f]{8}\+?\] |\[id\]", line) for line in text.split("\n")[:-1])


def test_outline_is_deterministic(shape) -> None:
    assert render_outline(SectionIndex(shape.manifest)) == render_outline(SectionIndex(shape.manifest))


def test_branch_shows_only_its_own_lines(make_site: Callable) -> None:
    nav = [NavItem("Guide", children=(NavItem("A", path="a/"), NavItem("B", path="b/"))), NavItem("C", path="c/")]
    text = "# {0}\n\nText.\n\n## {0} one\n\nText.\n\n### {0} deep\n\nText.\n\n## {0} two\n\nText.\n"
    site = make_site([(path, text.format(path[0].upper())) for path in ("a/", "b/", "c/")], nav)
    index = SectionIndex(site.manifest)

    def titles(branch: str) -> list[str]:
        return re.findall(r"^\s*\[[0-9a-f]{8}\] (.*?) —", render_outline(index, branch=branch), re.MULTILINE)

    group = site.manifest.nav[0].id
    page = index.get_page("b/")
    assert group is not None
    assert page is not None
    assert "Guide" in render_outline(index, branch=group)
    assert titles(group) == ["A", "A one", "A deep", "A two", "B", "B one", "B deep", "B two"]
    assert titles(page.id) == ["B", "B one", "B deep", "B two"]
    assert titles(page.sections[1].id) == ["B one", "B deep"]
    assert titles(page.sections[1].id + "+") == ["B one", "B deep", "B two"]
    assert titles(page.id + "+") == titles(page.id)
    assert titles(index.manifest.pages[0].id + "+") == titles(group)


def test_branch_of_siblings_is_opened_in_document_order() -> None:
    index = make_index(60, 30)
    text = render_outline(index, budget=400)
    rest = re.search(r"\[([0-9a-f]{8})\+\] (\d+) more", text)
    assert rest is not None
    opened = render_outline(index, budget=400, branch=rest[1] + "+")
    order = [ref.id for ref in index]
    shown = re.findall(r"\[([0-9a-f]{8})\] ", opened)
    at = order.index(rest[1])
    assert shown == order[at : at + len(shown)]


@pytest.mark.parametrize(
    ("budget", "branch"), [(199, None), (0, None), (-5, None), (8000, "ffffffff"), (8000, "+"), (8000, "")]
)
def test_small_budget_or_unknown_branch_raises_usage_error(budget: int, branch: str | None) -> None:
    with pytest.raises(UsageError, match=r"at least 200 tokens|take an id from the outline"):
        render_outline(make_index(2, 1), budget=budget, branch=branch)


def test_branch_accepts_an_alias(make_site: Callable) -> None:
    from msgspec.structs import replace

    manifest = make_site([("a/", "# A\n\n## B\n\nText.\n")]).manifest
    page = manifest.pages[0]
    aliased = replace(page.sections[1], aliases=("0000aaaa",))
    index = SectionIndex(replace(manifest, pages=(replace(page, sections=(page.sections[0], aliased)),)))
    assert render_outline(index, branch="0000aaaa") == render_outline(index, branch=aliased.id)


@pytest.mark.parametrize("budget", [60, 200, 700, 2500])
def test_page_outline_fits_its_budget(budget: int) -> None:
    page = make_index(10, 60).manifest.pages[0]
    text = render_page_outline(page, budget=budget)
    assert estimate_tokens(text) <= budget
    assert f"[{page.id}]" in text
    assert render_page_outline(page, budget=OUTLINE_BUDGET).count("\n") == 40


_sites: dict[tuple[int, int], SectionIndex] = {}


def make_index(pages: int, headings: int) -> SectionIndex:
    from mkdocs_roaming.manifest.builder import PublishedPage, build_manifest
    from mkdocs_roaming.manifest.models import Page, Site
    from mkdocs_roaming.manifest.sections import split_sections

    if (pages, headings) not in _sites:
        text = "".join(
            f"\n{'#' * (2 + at % 3)} Step {at} of many\n\nTurn the valve {at} times.\n" for at in range(headings)
        )
        published = [
            PublishedPage(Page(f"p{at}/", f"Page {at}"), page, split_sections(page))
            for at in range(pages)
            for page in [f"# Page {at}\n\nAbout part {at}.\n{text}"]
        ]
        _sites[pages, headings] = SectionIndex(build_manifest(Site("Docs", "https://docs.example/"), published))
    return _sites[pages, headings]
