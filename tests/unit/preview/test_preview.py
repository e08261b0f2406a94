"""The preview of published and of built sites."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import lxml.html
import msgspec
import pytest

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.lint.runner import LintConfig
from mkdocs_roaming.manifest.io import MANIFEST_PATH
from mkdocs_roaming.preview.page import render_preview
from mkdocs_roaming.preview.source import PreviewedSite, convert_built, find_html, open_published
from mkdocs_roaming.publish.options import PublishOptions
from mkdocs_roaming.sources.project import IndexOptions
from mkdocs_roaming.sources.publication import index_site

URL = "https://kettle.example/docs/"
HOSTILE = "</title></style></pre><script>alert(1)</script><img src=x onerror=alert(2)>\"'{{ 7*7 }}"
ESCAPED = HOSTILE.replace("<", "&lt;")
PAGES = {
    "index.html": "<h1>Kettle</h1><p>Boils water.</p>",
    "guide/index.html": (
        '<h1 id="guide">Guide</h1><p>Use the kettle.</p><h2 id="descale">Descale</h2><p>Vinegar dissolves lime.</p>'
    ),
    "hostile.html": f"<h1>{ESCAPED}</h1><p>Harmless {ESCAPED}.</p>",
    "internal/plan.html": "<h1>Plan</h1><p>The zebra launches in May.</p><h2>Overview</h2><p>None.</p>",
    "404.html": "<h1>Not found</h1>",
    "old/index.html": "",
}
HEADS = {"old/index.html": '<meta http-equiv="refresh" content="0; url=../guide/">'}


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A built site that is not published."""
    folder = tmp_path / "site"
    for path, body in PAGES.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        head = f'<title>{path}</title><link rel="canonical" href="{URL}{path.removesuffix("index.html")}">'
        head += HEADS.get(path, "")
        file.write_text(f"<html lang=en><head>{head}</head><body><main>{body}</main></body></html>", "utf-8")
    return folder


@pytest.fixture
def published(site: Path) -> PreviewedSite:
    index_site(site, IndexOptions(), warn=print)
    return open_published(site, LintConfig(), None)


def convert(site: Path, **publish: Any) -> PreviewedSite:
    target = site.parent / "target"
    target.mkdir()
    return convert_built(site, IndexOptions(publish=PublishOptions(**publish)), LintConfig(), target, warn=print)


def render(site: PreviewedSite, *questions: str, addresses: tuple[str, ...] = ()) -> Any:
    """Return the parsed page."""
    return lxml.html.document_fromstring(render_preview(site, questions=questions, addresses=addresses))


def read_boxes(page: Any) -> dict[str, str]:
    """Return the text of each scrollable part by its label."""
    return {box.get("aria-label"): box.text_content() for box in page.xpath("//*[@role='region']")}


def test_built_site_is_converted_outside_of_its_folder(site: Path) -> None:
    before = {file: file.read_bytes() for file in site.rglob("*") if file.is_file()}
    shown = convert(site, exclude=("internal/*",))
    page = render(shown)
    assert {file: file.read_bytes() for file in site.rglob("*") if file.is_file()} == before
    text = page.text_content()
    assert "this is what roaming index would write" in text
    assert "zebra" not in text
    reasons = {row[0].text: row[1].text for row in page.xpath("//details[last()]//tr")}
    assert set(reasons) == {"404.html", "internal/plan.html", "old/"}
    assert "internal/*" in reasons["internal/plan.html"]
    index_site(site, IndexOptions(publish=PublishOptions(exclude=("internal/*",))), warn=print)
    assert read_boxes(page)["llms.txt"] == (site / "llms.txt").read_text("utf-8")


def test_pages_are_home_page_longest_and_that_with_most_findings(published: PreviewedSite) -> None:
    page = render(published)
    titles = [title.text_content() for title in page.xpath("//h2[@id='pages']/following-sibling::h3")][:3]
    assert [title.partition(" ")[2] for title in titles[::2]] == ["home page", "page with most findings"]
    assert titles[1].endswith("longest page")
    boxes = read_boxes(page)
    assert "<h1>Kettle</h1>" in boxes["HTML of Kettle"]
    assert "# Kettle\n\nBoils water." in boxes["Markdown of Kettle"]
    assert "Name the subject" in boxes["Markdown of Plan"]


def test_given_pages_are_shown(published: PreviewedSite) -> None:
    boxes = read_boxes(render(published, addresses=("guide/#descale", f"{URL}guide/")))
    assert list(boxes) == ["llms.txt", "HTML of Guide", "Markdown of Guide"]
    with pytest.raises(UsageError, match="no page 'nowhere/'; give"):
        render(published, addresses=("nowhere/",))


def test_texts_of_the_site_stay_texts(published: PreviewedSite) -> None:
    file = published.folder / "llms.txt"
    file.write_text(f"# {HOSTILE}\n")
    page = render(published, f"Harmless {HOSTILE}?", addresses=("hostile.html",))
    assert not page.xpath("//script | //img | //iframe | //link | //*[@src] | //@*[starts-with(name(), 'on')]")
    assert all(href.startswith("#") for href in page.xpath("//@href"))
    assert page.xpath("//head/*")[1].get("content").startswith("default-src 'none'; style-src 'unsafe-inline'; ")
    boxes = read_boxes(page)
    assert HOSTILE in boxes["llms.txt"]
    assert ESCAPED in boxes[f"HTML of {HOSTILE}"]
    assert page.xpath("//h3")[-1].text == f"Harmless {HOSTILE}?"


def test_missing_files_are_shown_as_missing(published: PreviewedSite) -> None:
    for name in ("guide/index.md", "guide/index.html", "llms.txt"):
        (published.folder / name).unlink()
    page = render(published, addresses=("guide/",))
    assert "no such file" in read_boxes(page)["Markdown of Guide"]
    assert "There is no HTML" in read_boxes(page)["HTML of Guide"]
    assert "The site has no llms.txt." in page.text_content()


def test_questions_show_the_sections_that_search_finds(published: PreviewedSite) -> None:
    page = render(published, "How does vinegar help?", "Who was Napoleon Bonaparte?")
    first, *_ = page.xpath("//ol/li")
    assert first.text_content().split() == ["Guide", "›", "Descale", first[0].text, "Vinegar", "dissolves", "lime."]
    assert "Nothing found." in page.text_content()
    assert "The site suggests no questions" in render(published).text_content()


@pytest.mark.parametrize(
    ("own", "described", "shown"), [(["Own?", "Own?"], ["Written?"], ["Own?"]), ([], ["Written?", "No."], ["Written?"])]
)
def test_questions_of_authors_come_before_those_of_a_model(
    published: PreviewedSite, own: list[str], described: list[str], shown: list[str]
) -> None:
    file = published.folder / MANIFEST_PATH
    manifest = msgspec.json.decode(file.read_bytes())
    manifest["pages"][0]["questions"] = own
    manifest["pages"][0]["sections"][0]["asks"] = described
    file.write_bytes(msgspec.json.encode(manifest))
    page = render(published)
    assert [title.text for title in page.xpath("//h2[@id='questions']/following-sibling::h3")] == shown


def test_files_are_listed_with_their_sizes(published: PreviewedSite) -> None:
    rows = {row[0].text: row[1].text for row in render(published).xpath("//h2[@id='files']/following::tr")}
    size = (published.folder / "llms-full.txt").stat().st_size
    assert rows["llms-full.txt"] == f"{size / 1000:.1f} kB"
    assert {"llms.txt", "roaming/manifest.json", "roaming/sections/ "} <= rows.keys()
    assert "guide/index.md" in rows


def test_site_without_a_url_is_shown_as_it_would_be_published(site: Path) -> None:
    for file in site.rglob("*.html"):
        file.write_text(re.sub("<link[^>]*>", "", file.read_text("utf-8")), "utf-8")
    page = render(convert(site))
    assert "](guide/index.md)" in read_boxes(page)["llms.txt"]
    assert page.find_class("quiet")[0].text.startswith("4 pages · ")


@pytest.mark.parametrize(
    ("option", "has_pages", "stops"), [("preamble", True, False), (False, False, False), (True, True, True)]
)
def test_llms_txt_of_an_author_is_shown_as_it_would_be_published(
    site: Path, option: Any, has_pages: bool, stops: bool
) -> None:
    (site / "llms.txt").write_text("# My own list\n")
    page = render(convert(site, llms_txt=option))
    text = read_boxes(page)["llms.txt"]
    assert text.startswith("# My own list") is not stops
    assert ("zebra" in text) is has_pages
    assert ("It would stop first" in page.text_content()) is stops
    assert (site / "llms.txt").read_text() == "# My own list\n"


@pytest.mark.parametrize("path", ["../outside", "guide/../../outside", "/etc/hosts"])
def test_html_outside_of_the_site_is_not_found(site: Path, path: str) -> None:
    (site.parent / "outside.html").write_text("outside")
    assert find_html(site, path, "") == ""
