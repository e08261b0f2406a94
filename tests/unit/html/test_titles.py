"""The name of a site in the titles of its pages."""

from __future__ import annotations

import pytest
from tables import read_tables

from mkdocs_roaming.html.titles import find_common_part, title_from_path

TABLES = read_tables(__file__)


@pytest.mark.parametrize(("titles", "name", "first"), TABLES["name is the part that most titles have"])
def test_name_is_the_part_that_most_titles_have(titles: tuple[str, ...], name: str, first: str) -> None:
    part = find_common_part(titles)
    assert part.name == name
    assert part.remove_from(titles[0] if titles else "") == first


@pytest.mark.parametrize(("path", "title"), TABLES["page without title is named by its file"])
def test_page_without_title_is_named_by_its_file(path: str, title: str) -> None:
    assert title_from_path(path) == title
