"""The name of a site in the titles of its pages."""

from __future__ import annotations

import pytest

from mkdocs_roaming.html.titles import find_common_part, title_from_path


@pytest.mark.parametrize(
    ("titles", "name", "first"),
    [
        (("Rope - Ebb", "Mast - Ebb", "Keel - Ebb"), "Ebb", "Rope"),
        (("Ebb: Rope", "Ebb: Mast", "Ebb: Main Page"), "Ebb", "Rope"),
        (("Rope (Ebb API)", "Mast (Ebb API)", "Overview (Ebb API)"), "Ebb API", "Rope"),
        (("Top (Ebb (version 7.3))", "Mast (Ebb (version 7.3))", "A (Ebb (version 7.3))"), "Ebb (version 7.3)", "Top"),
        (("Rope: Ebb: A Library", "Mast: Ebb: A Library", "Ebb: A Library"), "Ebb: A Library", "Rope"),
        (("Rope — Ebb 1.2 documentation", "Mast — Ebb 1.2 documentation"), "Ebb", "Rope"),
        (("Ebb Docs", "Ebb Docs", "Ebb Docs"), "Ebb Docs", ""),
        (("<no title> — Ebb 1.2 documentation", "Mast — Ebb 1.2 documentation"), "Ebb", ""),
        (("1 - First | part — Ebb",), "Ebb", "1 - First | part"),
        (("Tides :: Ebb",), "Ebb", "Tides"),
        (("Read Me · Ebb",), "Ebb", "Read Me"),
        (("Rope - Ebb", "Mast - Ebb", "Keel"), "Ebb", "Rope"),
        (("Rope", "Mast", "Keel"), "", "Rope"),
        (("One: two", "Three: four", "Five"), "", "One: two"),
        (("Rope - Ebb", "Mast - Tide"), "", "Rope - Ebb"),
        (("Ebb",), "", "Ebb"),
        ((), "", ""),
    ],
)
def test_name_is_the_part_that_most_titles_have(titles: tuple[str, ...], name: str, first: str) -> None:
    part = find_common_part(titles)
    assert part.name == name
    assert part.remove_from(titles[0] if titles else "") == first


@pytest.mark.parametrize(
    ("path", "title"),
    [
        ("guide/first-steps.html", "First steps"),
        ("guide/first_steps/", "First steps"),
        ("guide/v1.2/", "V1.2"),
        ("API-keys.php", "API keys"),
        ("", "Home"),
    ],
)
def test_page_without_title_is_named_by_its_file(path: str, title: str) -> None:
    assert title_from_path(path) == title
