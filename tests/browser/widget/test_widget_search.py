"""The widget in the header and in the search of Material for MkDocs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from mkdocs_roaming.publish.elements.widget import MODULES

from .conftest import SHIFTS, Stage, Widget, answer, served
from .states import sources
from .themes import built


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Stage]:
    """The Kettle site in Material, with an endpoint."""
    with served(tmp_path / "themed" / "site") as stage:
        yield built(stage, "material", sources())


TOLERATED = r"asked for https://|fonts\.g|ERR_FAILED"
"""Material asks for fonts of other hosts."""


def search(page: Page, query: str) -> Locator:
    """Type a query into the search of the theme, and return the first row of its results."""
    page.locator("[data-md-component=search-query]").click()
    row = page.locator(".roaming-search-row")
    row.wait_for(state="attached")
    page.keyboard.type(query)
    return row


@pytest.mark.parametrize("width", [390, 1280, 1600])
def test_header_button_opens_and_closes_panel_and_moves_nothing(
    page: Page, site: Stage, widget: Widget, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.add_init_script(SHIFTS)
    page.goto(site.url)
    button = page.get_by_role("banner").get_by_role("button", name="Ask")
    floating = page.locator("roaming-ask [part=button]")
    floating.wait_for(state="hidden")
    page.wait_for_timeout(300)
    assert page.evaluate("shifts") == []
    assert button.get_attribute("aria-expanded") == "false"
    assert button.inner_text().split() == ([] if width == 390 else ["Ask", "Ctrl", "I"])
    button.click()
    widget.input.wait_for()
    assert button.get_attribute("aria-expanded") == "true"
    if width > 1100:
        button.click()
        assert button.get_attribute("aria-expanded") == "false"
        assert not widget.panel.is_visible()
    else:  # a phone whose header has no room for the button
        page.keyboard.press("Escape")
        page.locator("[data-roaming-open]").evaluate("one => { one.style.display = 'none' }")
        page.set_viewport_size({"width": 800, "height": 800})
        page.set_viewport_size({"width": 390, "height": 800})
        floating.wait_for()


def test_search_loads_its_module_on_focus_only(page: Page, site: Stage) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.rpartition("/")[2]))
    page.goto(site.url)
    page.wait_for_timeout(500)
    with_page = ["roaming-early.js", "roaming-ask.js", "roaming-panel.js"]
    assert [name for name in asked if name in MODULES] == with_page
    search(page, "port")
    assert [name for name in asked if name in MODULES] == [*with_page, "roaming-search.js"]


def test_first_row_of_search_asks(page: Page, site: Stage, widget: Widget) -> None:
    site.plays(answer("In the settings."))
    page.goto(site.url)
    row = search(page, "k")
    row.wait_for()
    page.keyboard.press("Backspace")
    row.wait_for(state="hidden")
    page.keyboard.type("kettle port")
    page.locator(".md-search-result__item").first.wait_for()
    assert row.inner_text().split("\n")[0] == "Ask: kettle port"
    row.click()
    widget.ended()
    assert [asked["question"] for asked in site.asked] == ["kettle port"]
    assert not page.locator("#__search").is_checked()


@pytest.mark.parametrize(("query", "keys"), [("zzzz", ("ArrowDown", "Enter")), ("port", ("Control+Enter",))])
def test_keys_in_search_ask(page: Page, site: Stage, widget: Widget, query: str, keys: tuple[str, ...]) -> None:
    """Also where nothing is found."""
    site.plays(answer("No."))
    page.goto(site.url)
    expect(search(page, query)).to_be_visible()
    if query == "zzzz":
        page.locator("text=No matching documents").wait_for()
    for key in keys:
        page.keyboard.press(key)
    widget.ended()
    assert [asked["question"] for asked in site.asked] == [query]


def test_enter_opens_best_result_of_theme(page: Page, site: Stage, widget: Widget) -> None:
    page.goto(site.url)
    search(page, "whistle")
    page.locator(".md-search-result__item").first.wait_for()
    page.keyboard.press("Enter")
    page.wait_for_url("**/trouble/**")
    assert not widget.panel.is_visible()


def test_theme_keeps_its_keys_by_default(page: Page, site: Stage, widget: Widget) -> None:
    page.goto(site.url)
    page.locator("roaming-ask .opener").wait_for(state="attached")
    page.keyboard.press("Control+k")
    assert not widget.panel.is_visible()
    page.keyboard.press("s")
    page.locator(".md-search__output").wait_for()
    assert not widget.panel.is_visible()


def test_search_of_site_without_endpoint_leads_to_finder(page: Page, site: Stage, widget: Widget) -> None:
    page.goto(site.url)
    page.evaluate("document.querySelector('roaming-ask').setAttribute('mode', 'finder')")
    row = search(page, "port taken")
    assert row.inner_text().split("\n")[0] == "Find in all sections: port taken"
    row.click()
    widget.hits.first.wait_for()
    assert widget.input.input_value() == "port taken"
