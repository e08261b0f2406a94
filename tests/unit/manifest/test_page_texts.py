"""Descriptions of pages, the openings of their own sections, and the description of the site."""

from __future__ import annotations

import pytest
from manifests import build, load_cases
from tables import read_tables

from mkdocs_roaming.manifest.models import PageEntry

TABLES = read_tables(__file__)

PAGES = ["gate/", "tank/", "pump/"]


def describe(text: str, description: str = "", about: str = "") -> tuple[str, str]:
    (page,) = build({"a/": text}, descriptions={"a/": description}, about=about).pages
    return texts(page)


def texts(page: PageEntry) -> tuple[str, str]:
    return page.description, page.sections[0].opening


@pytest.mark.parametrize(
    ("written", "description"),
    load_cases("prose"),
)
def test_description_is_prose_about_the_page(written: str, description: str) -> None:
    text = "# Gate\n\nA gate.\n\n## Parts of it\n"
    assert describe(text, written, about="About tides.") == (description, "A gate.")


def test_cut_description_is_used_only_without_an_opening() -> None:
    assert describe("# Gate\n\nA gate of oak.\n", "A gate. It opens at…") == ("", "A gate of oak.")
    assert describe("# Gate\n\n## A\n\n## B\n", "A gate. It opens at…") == ("A gate.", "")


def test_sentence_of_three_pages_is_neither_description_nor_opening() -> None:
    about = {path: f"About the {path[:-1]}. Read the technical documentation." for path in PAGES}
    manifest = build(dict.fromkeys(PAGES, "# T\n\nText.\n"), descriptions=about)
    assert [page.description for page in manifest.pages] == ["About the gate.", "About the tank.", "About the pump."]
    tip = "> [!TIP]\n> Ask in the forum. It is free.\n"
    manifest = build({path: f"# T\n\n{tip}\n## The {path[:-1]}\n\n{tip}\nA {path[:-1]}.\n\n## Use\n" for path in PAGES})
    assert list(map(texts, manifest.pages)) == [("", "")] * 3
    assert [page.sections[1].opening for page in manifest.pages] == ["A gate.", "A tank.", "A pump."]


@pytest.mark.parametrize(
    "line",
    TABLES["line that differs in numbers names and titles describes no page"],
)
def test_line_that_differs_in_numbers_names_and_titles_describes_no_page(line: str) -> None:
    facts = {"North Gate": "Oak rots fast.", "East Tank": "Silt clogs it.", "Old Pump": "Belts slip."}
    pages, about = {}, {}
    for at, (name, fact) in enumerate(facts.items(), 2):
        written = line.format(at=at, letter="ABC"[at - 2], name=name)
        pages[f"{at}/"], pages[f"{at}/use/"] = f"# {name}\n\n{written}\n\n{fact}\n", f"# {name}\n\n{fact}\n"
        about[f"{at}/use/"] = written
    manifest = build(pages, descriptions=about)
    assert list(map(texts, manifest.pages)) == [("", fact) for fact in facts.values() for _ in range(2)]


def test_numbers_and_nouns_tell_pages_apart_that_have_no_other_words() -> None:
    openings = ["Öffnet das Tor.", "Öffnet das Wehr.", "Öffnet das Ventil."]
    manifest = build({f"{at}/": f"# Teil {at}\n\n{opening}\n" for at, opening in enumerate(openings)})
    assert [page.sections[0].opening for page in manifest.pages] == openings
    manifest = build({f"{at}/": f"# Gauge\n\nReads harbour {at}.\n" for at in range(3)})
    assert [page.sections[0].opening for page in manifest.pages] == [f"Reads harbour {at}." for at in range(3)]


def test_text_of_a_template_is_the_opening_of_sections_with_one_title() -> None:
    manifest = build({path: f"# The {path}\n\n## Limit\n\nIt limits results.\n" for path in PAGES})
    assert {page.sections[1].opening for page in manifest.pages} == {"It limits results."}


@pytest.mark.parametrize(
    ("text", "description", "opening"),
    load_cases("introductions"),
)
def test_page_without_text_is_described_by_the_subsection_that_introduces_it(
    text: str, description: str, opening: str
) -> None:
    assert describe(text) == (description, opening)


def test_front_matter_that_was_not_parsed_is_no_opening() -> None:
    text = "# Gate\n\n---\n\ntitle: Gate: north authors: - @tide\n\ndate: 2024-01-05\n\n---\n\nA gate of oak.\n"
    assert describe(text) == ("", "A gate of oak.")
    assert describe("# Gate\n\n---\n\nNote: A gate of oak.\n\n---\n") == ("", "Note: A gate of oak.")


@pytest.mark.parametrize(
    ("home", "about", "expected"),
    TABLES["site without description is described by its home page"],
)
def test_site_without_description_is_described_by_its_home_page(home: str, about: str, expected: str) -> None:
    assert build({"a/": "# A\n\nText.\n", "": home}, about=about).site.description == expected
    assert build({"a/": "# A\n\nText.\n"}, about=about if expected == about else "").site.description in ("", about)


def test_page_that_only_refers_elsewhere_keeps_its_sentence_if_it_has_no_other_section() -> None:
    text = "# Gates\n\nFor details on the hinges, see [the hinges](/b/).\n"
    assert describe(text) == ("", "For details on the hinges, see the hinges.")
    assert describe(f"{text}\n## Setup\n\n### Gate\n") == ("", "")


def test_pages_of_a_template_are_described_by_their_first_sentence_or_not_at_all() -> None:
    facts = {"gate": "Oak rots in nine winters.", "tank": "Silt clogs the drain.", "pump": "The belt slips in rain."}
    template = "# {name}\n\n## State\n\nDone\n\n## Reason\n\n{fact}\n\n## Next\n\nThe keepers learn it.\n"
    manifest = build({f"{name}/": template.format(name=name, fact=fact) for name, fact in facts.items()})
    assert [page.description for page in manifest.pages] == [*facts.values()]
    assert describe(template.format(name="gate", fact=facts["gate"])) == ("", "")
    manifest = build({f"{name}/": template.format(name=name, fact="It is so.") for name in facts})
    assert list(map(texts, manifest.pages)) == [("", "")] * 3
