"""The questions that the widget suggests, by page."""

from __future__ import annotations

import re
from html import unescape

from mkdocs_roaming.manifest.models import Page
from mkdocs_roaming.publish.cache import ConversionCache
from mkdocs_roaming.publish.elements.page import ElementOptions, PageElements, read_page_questions
from mkdocs_roaming.publish.options import PublishOptions
from mkdocs_roaming.publish.pipeline import Batch

from .conftest import SITE


def suggest(path: str, *, home: tuple[str, ...] = (), own: tuple[str, ...] = (), listed: tuple[str, ...] = ()) -> str:
    """Return the suggestions of a page as they are in its HTML."""
    pages = {"": Page("", "Home"), "a/": Page("a/", "A")}
    batch = Batch(SITE, ConversionCache(None), print, pages)
    elements = PageElements(ElementOptions.parse(PublishOptions(widget={"questions": list(listed)})), SITE)
    elements.assign_questions(batch, {"": {"questions": list(home)}, "a/": {"questions": list(own)}, "b/": {}})
    found = re.search(r'data-suggestions="([^"]*)"', elements.add("<body></body>", path, batch))
    return unescape(found[1]) if found else ""


def test_front_matter_lists_questions() -> None:
    assert read_page_questions({"questions": ["How  hot?", 3, {}, "", "3"]}) == ("How hot?", "3")
    assert read_page_questions({"questions": True}) == ()
    assert len(read_page_questions({"questions": list(range(20))})) == 12


def test_page_without_questions_suggests_those_of_options_or_home_page() -> None:
    assert suggest("a/", own=("a?", "b?", "c?", "d?", "e?"), listed=("Why?",)) == '["a?", "b?", "c?", "d?"]'
    assert suggest("a/", listed=("Why  now?",), home=("Home?",)) == '["Why now?"]'
    assert suggest("a/", home=("Home?",)) == '["Home?"]'
    assert suggest("a/") == ""
