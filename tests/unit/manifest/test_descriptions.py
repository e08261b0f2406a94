"""The file of descriptions: its format, and how its entries follow the sections of a site."""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest
from msgspec.structs import replace
from tables import read_tables

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.manifest.aliases import PreviousSite
from mkdocs_roaming.manifest.descriptions import (
    Descriptions,
    PageTexts,
    SectionTexts,
    describe_manifest,
    digest_texts,
    merge_texts,
    page_digest,
    read_descriptions,
    render_descriptions,
    text_digest,
)
from mkdocs_roaming.manifest.models import Manifest, PageEntry, SectionEntry
from tests.manifests import API, GUIDE, build, ids_by_title

TABLES = read_tables(__file__)

PAGES = {"guide/": GUIDE, "api/": API}
MANIFEST = build(PAGES)


def describe(manifest: Manifest, pages: dict[str, str]) -> Descriptions:
    """Return texts about all sections of a site."""
    described = {}
    for page in manifest.pages:
        data = pages[page.path].encode()
        sections = {
            one.id: write(one.title, data[one.start : one.end].decode(), f"What {one.title} is for", "How do I do it?")
            for one in page.sections
        }
        text = f"About {page.title}"
        described[page.path] = PageTexts(page.title, page_digest(page), text, digest_texts(text), sections)
    return Descriptions(pages=described)


def write(title: str, text: str, about: str, *asks: str) -> SectionTexts:
    return SectionTexts(title, text_digest(text), about, asks, digest_texts(about, *asks))


def read_text(page: PageEntry, section: SectionEntry) -> str:
    return PAGES[page.path].encode()[section.start : section.end].decode()


def asks(manifest: Manifest) -> dict[str, tuple[str, ...]]:
    return {section.title: section.asks for section in manifest.sections() if section.asks}


def test_digest_of_a_text_begins_with_the_digest_in_the_manifest() -> None:
    texts = {**PAGES, "setext/": "Title\n=====\n\nText.\n\nSub\n---\n\n\nMore.\n", "plain/": "No heading.\n"}
    for page in build(texts).pages:
        for section in page.sections:
            text = texts[page.path].encode()[section.start : section.end].decode()
            assert text_digest(text)[:8] == section.body
            assert len(text_digest(text)) == 16


def test_texts_are_published_with_their_sections() -> None:
    assert describe_manifest(MANIFEST, Descriptions())[0] == MANIFEST
    described, counts = describe_manifest(MANIFEST, describe(MANIFEST, PAGES))
    assert asks(described) == dict.fromkeys(("Guide", "Install", "Remove", "API", "Ports"), ("How do I do it?",))
    assert {page.title: page.summary for page in described.pages} == {"Guide": "About Guide", "API": "About API"}
    assert str(counts) == "5 sections described"


def test_texts_about_an_edited_section_and_about_a_page_with_other_sections_are_left_out() -> None:
    texts = describe(MANIFEST, PAGES)
    edited = build({**PAGES, "guide/": GUIDE.replace("--quiet", "--silent")})
    described, counts = describe_manifest(edited, texts)
    assert "Install" not in asks(described)
    assert counts.stale == [ids_by_title(edited)["Install"]]
    assert str(counts) == "4 sections described, 1 stale: run `roaming describe`"
    other = build({**PAGES, "guide/": f"{GUIDE}\n## Update\n\nRun it again.\n"})
    assert {page.title: page.summary for page in describe_manifest(other, texts)[0].pages}["Guide"] == ""


@pytest.mark.parametrize(
    ("pages", "previous"),
    [
        ({"guide/": GUIDE.replace("## Install", "## Set up"), "api/": API}, False),
        ({"guide/": GUIDE.replace("## Install", "## Set up"), "api/": API}, True),
        ({"start/": GUIDE, "api/": API}, False),
        ({"guide/": "# Guide\n\nHow to begin.\n", "api/": f"{API}\n{GUIDE.partition('How to begin.')[2]}"}, False),
    ],
    ids=["renamed", "renamed with the former id", "page moved", "moved to another page"],
)
def test_texts_follow_a_section_that_moves(pages: dict[str, str], previous: bool) -> None:
    texts = describe(MANIFEST, PAGES)
    before = PreviousSite(MANIFEST, read_text) if previous else None
    moved = build(pages, previous=before)
    described, counts = describe_manifest(moved, texts)
    assert len(asks(described)) == 5
    assert counts.stale == []
    assert describe_manifest(moved, merge_texts(texts, moved, {}, {}))[1].sections == 5


def test_section_that_is_renamed_and_edited_at_once_keeps_its_texts_as_stale() -> None:
    long = "Run the installer with administrator rights. It unpacks the archive, and registers the service.\n" * 4
    before = {"guide/": f"# Guide\n\nText.\n\n## Install\n\n{long}"}
    manifest = build(before)
    texts = describe(manifest, before)
    after = {"guide/": f"# Guide\n\nText.\n\n## Set up\n\n{long}Then restart.\n"}

    def read(page: PageEntry, section: SectionEntry) -> str:
        return before[page.path].encode()[section.start : section.end].decode()

    moved = build(after, previous=PreviousSite(manifest, read))
    id_ = ids_by_title(moved)["Set up"]
    assert describe_manifest(moved, texts)[1].stale == [id_]
    assert merge_texts(texts, moved, {}, {}).pages["guide/"].sections[id_].about == "What Install is for"


def test_file_is_ordered_by_path_and_id_with_one_text_per_line(tmp_path: Path) -> None:
    texts = describe(MANIFEST, PAGES)
    reverse = Descriptions(pages=dict(reversed(texts.pages.items())))
    data = render_descriptions(texts)
    assert data == render_descriptions(reverse)
    assert data.decode().index('"api/"') < data.decode().index('"guide/"')
    (tmp_path / "descriptions.json").write_bytes(data)
    assert render_descriptions(read_descriptions(tmp_path / "descriptions.json")) == data


def test_edited_section_changes_its_own_lines_only() -> None:
    texts = describe(MANIFEST, PAGES)
    before = render_descriptions(texts).decode().splitlines()
    id_ = ids_by_title(MANIFEST)["Ports"]
    after = render_descriptions(
        merge_texts(texts, MANIFEST, {id_: write("Ports", "Other.", "Which ports it uses", "Why is it in use?")}, {})
    )
    changed = [line for line in difflib.ndiff(before, after.decode().splitlines()) if line[0] in "+-"]
    assert len(changed) == 2 * 4  # digest, about, question, digest of what was written


def test_texts_of_a_person_are_recognized() -> None:
    texts = write("Ports", "Text.", "Which ports it uses", "Why is it in use?")
    assert not texts.is_edited
    assert replace(texts, about="The ports").is_edited
    assert SectionTexts("Ports", "0" * 16, "The ports").is_edited


@pytest.mark.parametrize(
    ("content", "problem"),
    TABLES["missing or invalid file is an error"],
)
def test_missing_or_invalid_file_is_an_error(tmp_path: Path, content: str | None, problem: str) -> None:
    path = tmp_path / "descriptions.json"
    if content is not None:
        path.write_text(content, "utf-8")
    with pytest.raises(UsageError, match=r"descriptions\.json") as caught:
        read_descriptions(path)
    assert problem in str(caught.value)


def test_texts_are_published_on_one_line() -> None:
    texts = describe(MANIFEST, PAGES)
    id_ = ids_by_title(MANIFEST)["Ports"]
    old = texts.pages["api/"].sections[id_]
    texts.pages["api/"].sections[id_] = replace(old, about="a\n# b\u202e")
    assert next(one.about for one in describe_manifest(MANIFEST, texts)[0].sections() if one.id == id_) == "a # b"
