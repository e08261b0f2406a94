"""Names and ids of sections without the previous build."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from manifests import load_cases
from tables import read_tables

from mkdocs_roaming.manifest.aliases import assign_ids
from mkdocs_roaming.manifest.models import Heading, Page, PublishedPage
from mkdocs_roaming.manifest.sections import (
    IdAllocator,
    Section,
    find_contexts,
    find_parents,
    hash_id,
    make_names,
    split_sections,
)

TABLES = read_tables(__file__)

TITLES = ("Pumps", "Valves", "Options", "Example", "C", "C++", "安装", "使用 pip 安装", "!", "Options 1")
HEADINGS = st.tuples(st.integers(2, 4), st.sampled_from(TITLES))
PAGE = st.lists(HEADINGS, max_size=12)


def number_anchors(titles: Sequence[str]) -> list[str]:
    """Return anchors as python-markdown generates them: in ASCII, numbered if they are taken."""
    anchors: list[str] = []
    for title in titles:
        slug = "-".join("".join(c for c in title.lower() if c.isascii() and (c.isalnum() or c == " ")).split())
        anchor, number = slug, 0
        while anchor in anchors or not anchor:
            number += 1
            anchor = f"{slug}_{number}"
        anchors.append(anchor)
    return anchors


def make_sections(page: Sequence[tuple[int, str]], *, anchors: bool) -> list[Section]:
    titles = ["Machines", *(title for _, title in page)]
    levels = [1, *(level for level, _ in page)]
    found: Sequence[str | None] = number_anchors(titles) if anchors else [None] * len(titles)
    return [Section(level, title, anchor, 0, 0) for level, title, anchor in zip(levels, titles, found, strict=True)]


def names_of(markdown: str) -> list[str]:
    return make_names(split_sections(markdown))


@given(PAGE, PAGE, st.booleans())
def test_sections_that_are_added_below_change_no_name(page: list, more: list, anchors: bool) -> None:
    before = make_names(make_sections(page, anchors=anchors))
    after = make_names(make_sections([*page, *more], anchors=anchors))
    assert after[: len(before)] == before


@given(PAGE, PAGE, st.booleans())
@example([(2, "Options")], [(2, "Options")], False)
def test_subsection_that_repeats_a_title_changes_no_other_name(page: list, more: list, anchors: bool) -> None:
    """A title that occurs above is repeated below a heading where neither its siblings nor later sections have it."""
    page, more = [*page, (2, "Example"), (2, "Storms")], [(2, "Ropes"), *more]
    before = make_names(make_sections([*page, *more], anchors=anchors))
    after = make_names(make_sections([*page, (3, "Example"), *more], anchors=anchors))
    assert [*after[: len(page) + 1], *after[len(page) + 2 :]] == before


@given(st.dictionaries(st.sampled_from("abcdef"), PAGE, min_size=1), st.randoms(use_true_random=False))
def test_ids_are_unique_and_do_not_depend_on_the_order_of_pages(pages: dict, random: Random) -> None:
    texts = {path: make_sections(page, anchors=True) for path, page in pages.items()}
    shuffled = list(texts)
    random.shuffle(shuffled)

    def ids(paths: Sequence[str]) -> dict[str, list[str]]:
        allocator = IdAllocator()
        keys = {path: [f"{path}#{name}" for name in make_names(texts[path])] for path in sorted(paths)}
        return {path: [allocator.allocate(key) for key in own] for path, own in keys.items()}

    with pytest.MonkeyPatch.context() as patch:  # most of such short ids are taken
        patch.setattr("mkdocs_roaming.manifest.sections.hash_id", lambda key: hash_id(key)[:3])
        found = ids(list(texts))
        assert found == ids(shuffled)
    assert len({id_ for own in found.values() for id_ in own}) == sum(map(len, found.values()))


def test_id_is_derived_from_path_and_anchor() -> None:
    headings = [Heading(1, "Install", "install"), Heading(2, "From source", "source")]
    sections = split_sections("# Install\n\n## From source\n", headings=headings)
    page = PublishedPage(Page("guide/install/", "Install"), "", tuple(sections))
    ids = assign_ids([page]).ids
    assert ids == [[hash_id("guide/install/#"), hash_id("guide/install/#source")]]


@pytest.mark.parametrize(
    ("markdown", "names"),
    TABLES["name contains the headings that the section belongs to"],
)
def test_name_contains_the_headings_that_the_section_belongs_to(markdown: str, names: list[str]) -> None:
    assert names_of(markdown) == names


@pytest.mark.parametrize(
    ("title", "anchor", "name"),
    load_cases("anchors"),
)
def test_anchor_that_a_generator_has_numbered_is_no_name(title: str, anchor: str, name: str) -> None:
    assert make_names([Section(1, "T", "t", 0, 0), Section(2, title, anchor, 0, 0)]) == ["", name]


def test_thousands_of_repeated_headings_have_unique_names() -> None:
    names = names_of("# T\n\n" + "## X\n\n" * 20_000)
    assert (names[1], names[2], names[-1]) == ("x", "/x~2", "/x~20000")
    assert len(set(names)) == 20_001


def test_context_is_the_parent_or_a_sibling_with_a_title_of_its_own() -> None:
    levels, titles = zip(
        (1, "CLI"), (2, "start"), (3, "Usage"), (2, "Options"), (2, "stop"), (3, "Usage"), (2, "Options"), strict=True
    )
    assert find_contexts(titles, find_parents(levels)) == [None, 0, 1, 1, 0, 4, 4]
