"""The questions that the widget suggests, by page."""

from __future__ import annotations

import re
from html import unescape

from mkdocs_roaming.manifest.models import Page
from mkdocs_roaming.publish.cache import ConversionCache
from mkdocs_roaming.publish.elements.page import ElementOptions, PageElements
from mkdocs_roaming.publish.markdown_source import read_metadata
from mkdocs_roaming.publish.options import PublishOptions
from mkdocs_roaming.publish.pipeline import Batch

from .conftest import SITE


def suggest(path: str, *, home: tuple[str, ...] = (), own: tuple[str, ...] = (), listed: tuple[str, ...] = ()) -> str:
    """Return the suggestions of a page as they are in its HTML."""
    pages = {"": Page("", "Home", questions=home), "a/": Page("a/", "A", questions=own)}
    batch = Batch(SITE, ConversionCache(None), print, pages)
    elements = PageElements(ElementOptions.parse(PublishOptions(widget={"questions": list(listed)})), SITE)
    found = re.search(r'data-suggestions="([^"]*)"', elements.add("<body></body>", path, batch))
    return unescape(found[1]) if found else ""


def test_front_matter_lists_questions() -> None:
    assert read_metadata({"questions": ["How  hot?", 3, {}, "", "3"]})["questions"] == ("How hot?", "3")
    assert read_metadata({"questions": True})["questions"] == ()
    assert len(read_metadata({"questions": list(range(20))})["questions"]) == 12


def test_page_without_questions_suggests_those_of_options_or_home_page() -> None:
    assert suggest("a/", own=("a?", "b?", "c?", "d?", "e?"), listed=("Why?",)) == '["a?", "b?", "c?", "d?"]'
    assert suggest("a/", listed=("Why  now?",), home=("Home?",)) == '["Why now?"]'
    assert suggest("a/", home=("Home?",)) == '["Home?"]'
    assert suggest("a/") == ""
