"""Sections that a text cites by their numbers."""

from __future__ import annotations

from time import process_time

import pytest
from manifests import build, ids_by_title
from msgspec.structs import replace

from mkdocs_roaming.manifest.lookup import SectionIndex
from mkdocs_roaming.manifest.models import Manifest
from mkdocs_roaming.manifest.numbers import NumberIndex

HARBOUR = """\
# New Harbour Act (HafG)

## § 1 Scope

All ships.

## § 2 Berths

As in § 1 para. 3, and in §§ 3 to 4. Section 3 of the Pilot Act (LotsG) applies; § 1 LotsG, too.

## § 3 Fees

Not as in § 4 of the Customs Act, and not as in § 9 or § 1 ZollG.

## § 4 Fines

See rule 7.
"""
PILOTS = """\
# Pilot Act (LotsG)

## § 1 Pilots

A pilot knows the harbour.

## § 3 Exams

Every year.

## § 5a Ranks

See § 3.
"""
STYLE = """\
# Style

## F.1: Name things

Avoid `f2`, see F.2.

## F.2: Keep it short

As section 4.2 says.

## F.16: Pass by value

Nothing.

## 4.1 Spaces

Two.

## 4.2 Tabs

About 4.1 of them.

## 4.3 Lines

Short.
"""


@pytest.fixture(scope="module")
def manifest() -> Manifest:
    return build({"harbour/": HARBOUR, "pilots/": PILOTS, "style/": STYLE})


def find_titles(manifest: Manifest, query: str) -> list[list[str]]:
    numbers = NumberIndex(SectionIndex(manifest))
    return [[section.section.title for section in sections] for sections in numbers.find(query)]


@pytest.mark.parametrize(
    ("query", "cited"),
    [
        ("§ 2", [["§ 2 Berths"]]),
        ("What may a pilot do after §3 (2)(a) LotsG?", [["§ 3 Exams"]]),
        ("§ 3 para. 1 of the pilot act", [["§ 3 Exams"]]),
        ("LotsG § 1, § 5a", [["§ 1 Pilots"], ["§ 5a Ranks"]]),
        ("Paragraph 3 HafG", [["§ 3 Fees"]]),
        ("HafG 4", [["§ 4 Fines"]]),
        ("§§ 3 and 4 NHA", [["§ 3 Fees"], ["§ 4 Fines"]]),
        ("§ 1", [["§ 1 Scope", "§ 1 Pilots"]]),
        ("does f.16 apply?", [["F.16: Pass by value"]]),
        ("section 4.2", [["4.2 Tabs"]]),
        ("style, 4.3", [["4.3 Lines"]]),
    ],
)
def test_find_returns_sections_with_cited_number_in_named_document(
    manifest: Manifest, query: str, cited: list[list[str]]
) -> None:
    assert find_titles(manifest, query) == cited


@pytest.mark.parametrize(
    "query",
    [
        "§ 99",
        "§ 1 ZollG",
        "4 berths in 2 ports",
        "can I moor 3 ships",
        "a 4.25 m boat",
        "F 16",
        "version-4.2",
        "IIIII",
        "",
    ],
)
def test_find_returns_nothing_for_other_numbers(manifest: Manifest, query: str) -> None:
    assert find_titles(manifest, query) == []


@pytest.mark.parametrize(
    ("query", "path", "title"),
    [
        ("RFC 9110, 15.5", "semantics/", "15.5. Errors"),
        ("what does 15.5 in rfc 9111 say?", "caching/", "15.5. Errors"),
        ("§ 15.4 RFC 9111", "caching/", "15.4. Age"),
    ],
)
def test_find_tells_documents_with_numbers_apart(query: str, path: str, title: str) -> None:
    text = (
        "# RFC {}\n\n## 15.4. Age\n\nOld.\n\n## 15.5. Errors\n\nSee Section 15.4 of RFC 9111.\n\n## 15.6. End\n\nEnd.\n"
    )
    manifest = build({"semantics/": text.format(9110), "caching/": text.format(9111), "form/": text.format(9112)})
    cited = [section for sections in NumberIndex(SectionIndex(manifest)).find(query) for section in sections]
    assert (path, title) in [(section.page.path, section.section.title) for section in cited]
    assert len([section for section in cited if section.section.title == title]) == 1
    semantics, caching, _ = manifest.pages
    assert semantics.sections[2].cites == (caching.sections[1].id, caching.id)


def test_find_needs_several_numbers_behind_a_word() -> None:
    manifest = build({"guide/": "# Guide\n\n## Step 1\n\nPull.\n\n## Step 2\n\nPush.\n\n## Python 3\n\nRun.\n"})
    assert find_titles(manifest, "step 2 with python 3") == []


@pytest.mark.parametrize(("query", "title"), [("art. 2", "Artículo 2º. Puertos"), ("artículos 2-A", "Artículo 2-A")])
def test_find_accepts_short_labels_plurals_and_accents(query: str, title: str) -> None:
    manifest = build(
        {"ley/": "# Ley\n\n## Artículo I\n\nA.\n\n## Artículo 2º. Puertos\n\nB.\n\n## Artículo 2-A\n\nC.\n"}
    )
    manifest = replace(manifest, site=replace(manifest.site, language="es"))
    assert find_titles(manifest, query) == [[title]]


@pytest.mark.parametrize(
    ("title", "cited"),
    [
        ("§ 2 Berths", ["§ 1 Scope", "§ 3 Fees", "§ 4 Fines", "§ 3 Exams", "§ 1 Pilots"]),
        ("§ 3 Fees", []),
        ("§ 4 Fines", []),
        ("§ 5a Ranks", ["§ 3 Exams"]),
        ("F.1: Name things", ["F.2: Keep it short"]),
        ("F.2: Keep it short", ["4.2 Tabs"]),
        ("4.2 Tabs", []),
    ],
)
def test_manifest_contains_citations_of_own_and_named_documents(
    manifest: Manifest, title: str, cited: list[str]
) -> None:
    ids = ids_by_title(manifest)
    (section,) = (section for section in manifest.sections() if section.title == title)
    assert section.cites == tuple(ids[title] for title in cited)


def test_manifest_contains_no_citation_that_is_a_link() -> None:
    text = STYLE.replace("see F.2", "see [F.2](https://docs.example/p/style/#f2-keep-it-short)")
    sections = build({"style/": text}).pages[0].sections
    assert sections[1].links == (sections[2].id,)
    assert sections[1].cites == ()


@pytest.mark.parametrize(
    "text", ["§ 5 " * 20_000, "§§ 5" + ", 5" * 20_000, "I" * 99_999, "a." * 50_000, "§ 5" + " a 1" * 20_000]
)
def test_find_takes_linear_time(manifest: Manifest, text: str) -> None:
    numbers = NumberIndex(SectionIndex(manifest))
    start = process_time()
    list(numbers.find(text, manifest.pages[0]))
    assert process_time() - start < 5


FEES = """\
# Harbour Fees Act 2014

## 1. Title

As in section 2.

## 2. Fees

Under section 3, read with section 2 of the Act of 2009.

## 3. Appeals

An appeal within 2 days, as in section 1 of the Pilotage of Ships Act 2014.
"""
SHIPS = """\
# Pilotage of Ships Act 2014

## 1. Pilots

This is the title.

## 2. Duties

As section 3 says.

## 3A. Ranks

See section 1.
"""
CODE = """\
# Code of ports

## Article L312-1

Ports.

## Article L312-14

Piers.

## Article L312-15

Quays.

## Article L312-16

Tides, as in article L. 312-14.
"""


@pytest.fixture(scope="module")
def acts() -> Manifest:
    return build({"fees/": FEES, "ships/": SHIPS, "code/": CODE})


@pytest.mark.parametrize(
    ("query", "cited"),
    [
        ("section 2 of the Harbour Fees Act 2014", [["2. Fees"]]),
        ("What does s.2 of the Pilotage of Ships Act provide?", [["2. Duties"]]),
        ("s. 3A POSA 2014", [["3A. Ranks"]]),
        ("Harbour Fees Act, sections 2 and 3", [["2. Fees"], ["3. Appeals"]]),
        ("Harbour Fees Act, ss. 2-3", [["2. Fees"], ["3. Appeals"]]),
        ("article L. 312-14 of the code", [["Article L312-14"]]),
        ("L312-14", [["Article L312-14"]]),
        ("What does the Harbour Fees Act 2014 say on appeals?", []),
        ("2 days after the title", []),
    ],
)
def test_find_reads_numbers_without_labels_and_with_hyphens(acts: Manifest, query: str, cited: list[list[str]]) -> None:
    assert find_titles(acts, query) == cited


@pytest.mark.parametrize(
    ("title", "cited"),
    [("2. Fees", ["3. Appeals"]), ("3. Appeals", ["1. Pilots"]), ("Article L312-16", ["Article L312-14"])],
)
def test_manifest_contains_citations_of_numbers_without_labels(acts: Manifest, title: str, cited: list[str]) -> None:
    ids = ids_by_title(acts)
    (section,) = (section for section in acts.sections() if section.title == title)
    assert section.cites == tuple(ids[title] for title in cited)
