"""The questions that the widget suggests, by page."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html import unescape

import pytest

from mkdocs_roaming.manifest.descriptions import Descriptions, PageTexts, SectionTexts
from mkdocs_roaming.manifest.models import Page
from mkdocs_roaming.publish.cache import ConversionCache
from mkdocs_roaming.publish.elements.page import ElementOptions, PageElements
from mkdocs_roaming.publish.markdown_source import read_metadata
from mkdocs_roaming.publish.options import PublishOptions
from mkdocs_roaming.publish.pipeline import convert_pages

from .conftest import SITE

PAGE = Page(
    "a/", "A", "<h1>A</h1><p>Intro.</p>" + "".join(f"<h2 id={at}>{at}</h2><p>Text {at // 2}.</p>" for at in range(9))
)
HOME = Page("", "Home", "<h1>Home</h1><p>Welcome.</p>")


def suggest(
    path: str,
    *,
    home: tuple[str, ...] = (),
    own: tuple[str, ...] = (),
    listed: tuple[str, ...] = (),
    asks: dict[str, tuple[str, ...]] | None = None,
) -> list[str]:
    """Return the suggestions of a page; `asks` are the questions of a model by the titles of sections."""
    pages = (replace(PAGE, questions=own), replace(HOME, questions=home), Page("b/", "B", "<h1>B</h1><p>None.</p>"))
    batch = convert_pages(SITE, pages, cache=ConversionCache(None), warn=print)
    texts = {
        f"{path}#{section.title}": SectionTexts(section.title, section.body, "About it", asks[section.title])
        for path, page in batch.converted.items()
        for section in page.sections
        if asks and section.title in asks
    }
    options = ElementOptions.parse(PublishOptions(widget={"questions": list(listed)}))
    elements = PageElements(options, batch, Descriptions(pages={"": PageTexts(sections=texts)}))
    found = re.search(r'data-suggestions="([^"]*)"', elements.add("<body></body>", path))
    return json.loads(unescape(found[1])) if found else []


def test_front_matter_lists_questions() -> None:
    assert read_metadata({"questions": ["How  hot?", 3, {}, "", "3"]})["questions"] == ("How hot?", "3")
    assert read_metadata({"questions": True})["questions"] == ()
    assert len(read_metadata({"questions": list(range(20))})["questions"]) == 12


def test_page_without_questions_suggests_those_of_options_or_home_page() -> None:
    assert suggest("a/", own=("a?", "b?", "c?", "d?", "e?"), listed=("Why?",)) == ["a?", "b?", "c?", "d?"]
    assert suggest("a/", listed=("Why  now?",), home=("Home?",)) == ["Why now?"]
    assert suggest("a/", home=("Home?",)) == ["Home?"]
    assert suggest("a/") == []


ASKS = {"Home": ("What is it?", "Why?"), "B": (), "1": ("One?", "Or one?"), "2": ("Two?",), "4": ("One?",)}


def test_page_without_questions_of_people_suggests_first_asks_of_its_sections() -> None:
    assert suggest("a/", asks=ASKS) == ["One?", "Two?"]
    assert suggest("a/", asks={str(at): (f"{at}?",) for at in range(9)}) == ["0?", "1?", "2?", "3?"]
    assert suggest("a/", asks=ASKS, own=("Own?",)) == ["Own?"]
    assert suggest("a/", asks=ASKS, listed=("Listed?",)) == ["Listed?"]
    assert suggest("a/", asks=ASKS, home=("Home?",)) == ["Home?"]


def test_page_without_questions_suggests_its_headings_that_are_questions() -> None:
    titles = ("Why?", "Install", "なぜ？", "لماذا؟", "Why?")
    page = Page("faq/", "FAQ", "<h1>FAQ</h1>" + "".join(f"<h2>{title}</h2><p>So.</p>" for title in titles))
    batch = convert_pages(SITE, [page], cache=ConversionCache(None), warn=print)
    html = PageElements(ElementOptions.parse(PublishOptions(widget=True)), batch).add("<body></body>", "faq/")
    assert 'data-suggestions="[&quot;Why?&quot;, &quot;なぜ？&quot;, &quot;لماذا؟&quot;]"' in html


@pytest.mark.parametrize("path", ["", "b/", "unpublished/"])
def test_home_page_and_pages_without_asks_suggest_those_of_different_pages(path: str) -> None:
    assert suggest(path, asks=ASKS) == ["What is it?", "One?"]


def test_asks_of_another_text_are_not_suggested() -> None:
    batch = convert_pages(SITE, [PAGE], cache=ConversionCache(None), warn=print)
    elements = PageElements(
        ElementOptions.parse(PublishOptions(widget=True)),
        batch,
        Descriptions(pages={"a/": PageTexts(sections={"0" * 8: SectionTexts("A", "0" * 16, asks=("Old?",))})}),
    )
    assert "Old?" not in elements.add("<body></body>", "a/")
