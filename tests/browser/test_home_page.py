"""The home page of this documentation: the panel is a part of the page, and plays recorded answers."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page

SPHINX = "How do I add it to a Sphinx site?"
SIZES = [{"width": 1280, "height": 800}, {"width": 390, "height": 844}]


@pytest.fixture
def home(serve: Callable[[Path], str], documentation: Path) -> str:
    """The URL of the home page."""
    return serve(documentation)


def open_page(page: Page, url: str) -> Locator:
    """Open the home page, and return its panel."""
    page.goto(url)
    panel = page.locator("[data-roaming-panel] roaming-ask dialog")
    panel.wait_for()
    return panel


def ask(panel: Locator, question: str) -> Locator:
    panel.locator("textarea").fill(question)
    panel.locator("textarea").press("Enter")
    turn = panel.locator("article[aria-busy=false]").last
    turn.wait_for()
    return turn


@pytest.mark.parametrize("size", SIZES, ids=["wide", "phone"])
def test_panel_is_in_its_place_on_the_page_and_answers(page: Page, home: str, size: dict[str, int]) -> None:
    page.set_viewport_size(size)
    panel = open_page(page, home)
    place = page.locator("[data-roaming-panel]").bounding_box()
    box = panel.bounding_box()
    assert place
    assert box
    assert abs(box["width"] - place["width"]) <= 2
    assert abs(box["height"] - place["height"]) <= 2
    assert page.locator("body").evaluate("one => getComputedStyle(one).paddingInlineEnd") == "0px"
    assert page.locator("roaming-ask .opener, .md-header [data-roaming-open]").filter(visible=True).count() == 0
    panel.get_by_role("button", name=SPHINX).click()
    turn = panel.locator("article[aria-busy=false]")
    turn.wait_for(timeout=15_000)
    assert turn.locator(".cite[href]").count() >= 4
    assert "Recorded with replies that Claude wrote" in panel.inner_text()
    page.keyboard.press("Escape")
    assert panel.is_visible()


def test_citation_leads_to_its_passage_beside_the_conversation(page: Page, home: str) -> None:
    page.set_viewport_size({"width": 1440, "height": 900})
    panel = open_page(page, home)
    page.set_default_timeout(15_000)
    ask(panel, SPHINX).locator(".cite[href]").first.click()
    page.wait_for_url(re.compile("/guides/sphinx/"))
    docked = page.locator("body > roaming-ask dialog")
    docked.locator("article").wait_for()
    assert "roaming init" in docked.inner_text()
    page.wait_for_function("CSS.highlights.size > 0")


def test_other_question_gets_sections_and_a_way_back(page: Page, home: str) -> None:
    panel = open_page(page, home)
    panel.locator("textarea").fill("Which port does the endpoint use?")
    panel.locator("textarea").press("Enter")
    panel.locator(".hits .hit").first.wait_for()
    panel.get_by_role("button", name="Look in the recorded answers").click()
    panel.get_by_role("button", name=SPHINX).wait_for()


def test_first_question_plays_by_itself_once(page: Page, home: str) -> None:
    """Again, if it was interrupted."""
    page.emulate_media(reduced_motion="no-preference")
    panel = open_page(page, home)
    panel.locator("article[aria-busy=true]").wait_for()
    for _ in range(2):
        page.reload()
        panel.locator("article[aria-busy=false] .cite[href]").first.wait_for(timeout=15_000)
        assert panel.locator("article").count() == 1
