"""The panel as the search of the site, on each theme that has one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page

from .conftest import TESTS, Stage, Widget, answer, served
from .states import sources
from .themes import built

MATERIAL = "[data-md-component=search-query]"
# Theme, what is clicked, the keys that open the theme's search, and what is visible while that is open.
SEARCHES = {
    "material": (MATERIAL, ("s", "f", "/"), ".md-search__output"),
    "mkdocs": ("a.nav-link:has-text('Search')", ("s",), "#mkdocs_search_modal"),
    "readthedocs": ("#rtd-search-form input", (), None),
    "zensical": (".md-search__button", ("/",), "dialog.theme"),
}
ZENSICAL = (TESTS / "golden/widget/shapes/zensical-search.html").read_text("utf-8")


@pytest.fixture(params=list(SEARCHES))
def theme(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def site(theme: str, stage: Stage, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A site whose search the panel replaces, without an endpoint."""
    if theme == "zensical":
        stage.page('replace-search="on"', ZENSICAL)
        yield stage
        return
    with served(tmp_path_factory.mktemp(theme) / "site") as themed:
        yield make(themed, theme)


@pytest.fixture
def material(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A site in Material whose search the panel replaces, with an endpoint."""
    with served(tmp_path_factory.mktemp("asking") / "site") as stage:
        yield make(stage, "material", endpoint=stage.url)


def make(stage: Stage, theme: str, **options: object) -> Stage:
    search = "material/search" if theme == "material" else "search"
    widget = {"replace_search": True, **options}
    return built(stage, theme, sources(), plugins=[search, {"roaming": {"widget": widget}}])


TOLERATED = r"asked for https://|fonts\.g|cdnjs|ERR_FAILED|404"
"""Themes ask for fonts and scripts of other hosts; the stage has only the page with the widget."""


def visit(page: Page, url: str) -> None:
    """Open a page, and wait until the panel has replaced its search."""
    with page.expect_response("**/roaming-search.js") as response:
        page.goto(url)
    page.locator("roaming-ask .opener").wait_for(state="attached")
    page.evaluate("url => import(url)", response.value.url)
    page.wait_for_timeout(50)


def is_theme_closed(page: Page, theme: str) -> bool:
    page.wait_for_timeout(100)  # Material waits before it opens
    shown = SEARCHES[theme][2]
    return not shown or not page.locator(shown).first.is_visible()


def test_search_opens_the_panel_and_escape_returns_the_focus(
    page: Page, site: Stage, theme: str, widget: Widget
) -> None:
    target, keys, _ = SEARCHES[theme]
    visit(page, site.url)
    link = page.locator("main a, [role=main] a, article a").last
    for key in ("Control+k", *keys):
        link.focus()
        page.keyboard.press(key)
        widget.panel.locator(".start").wait_for()
        assert widget.focused() == "textarea"
        assert is_theme_closed(page, theme)
        page.keyboard.press("Escape")
        assert not widget.panel.is_visible()
        assert link.evaluate("link => link === document.activeElement")
        assert is_theme_closed(page, theme)
    page.locator(target).first.click()
    widget.panel.locator(".start").wait_for()
    page.keyboard.type("taken")
    assert "The port is taken" in widget.hits.first.inner_text()
    assert widget.panel.locator(".asks").count() == 0
    page.keyboard.press("Escape")
    assert not widget.panel.is_visible()
    assert is_theme_closed(page, theme)


def test_search_is_opened_again_with_its_words_selected_and_stays_open_on_the_next_page(
    page: Page, material: Stage, widget: Widget
) -> None:
    visit(page, material.url)
    page.keyboard.press("Control+k")
    page.keyboard.type("whistle")
    widget.hits.first.wait_for()
    page.keyboard.press("Control+k")
    assert not widget.panel.is_visible()
    page.keyboard.press("Control+k")
    page.keyboard.type("port is taken")
    assert widget.input.input_value() == "port is taken"
    widget.hits.first.wait_for()
    page.goto(f"{material.url}trouble/")
    widget.hits.first.wait_for()
    assert widget.panel.locator("h2").inner_text() == "Find in Ebb"


def test_icon_of_material_opens_the_panel_on_phones(page: Page, material: Stage, widget: Widget) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    visit(page, material.url)
    page.locator("label.md-header__button[for=__search]").click()
    widget.panel.locator(".start").wait_for()
    assert widget.focused() == "textarea"
    assert not page.locator("#__search").is_checked()


@pytest.mark.parametrize("theme", ["material", "readthedocs"])
def test_field_that_is_reached_by_tab_opens_the_panel_when_words_are_typed(
    page: Page, site: Stage, theme: str, widget: Widget
) -> None:
    target = SEARCHES[theme][0]
    visit(page, site.url)
    for _ in range(30):
        page.keyboard.press("Tab")
        page.evaluate("() => new Promise((done) => setTimeout(done, 9))")  # Material reads the focus after a pause
        if page.locator(target).evaluate("field => field === document.activeElement"):
            break
    assert page.locator(target).evaluate("field => field === document.activeElement")
    assert is_theme_closed(page, theme)
    assert not widget.panel.is_visible()
    page.keyboard.type("port")
    widget.hits.first.wait_for()
    assert (widget.input.input_value(), page.locator(target).input_value()) == ("port", "")
    page.keyboard.press("Escape")
    assert page.locator(target).evaluate("field => field === document.activeElement")
    assert is_theme_closed(page, theme)
    assert not widget.panel.is_visible()


@pytest.mark.parametrize("keys", [("ArrowDown", "Enter"), ("Control+Enter",)])
def test_first_row_asks(page: Page, material: Stage, widget: Widget, keys: tuple[str, ...]) -> None:
    material.plays(answer("In the settings."))
    visit(page, material.url)
    page.keyboard.press("/")
    page.keyboard.type("kettle port")
    widget.hits.first.wait_for()
    assert widget.panel.locator(".asks .pick").all_inner_texts() == ["Ask: kettle port\nCtrl ↵"]
    for key in keys:
        page.keyboard.press(key)
    widget.ended()
    assert [asked["question"] for asked in material.asked] == ["kettle port"]
    assert widget.panel.locator("h2").inner_text() == "Ask Ebb"
    assert widget.input.input_value() == ""


def test_enter_opens_best_result_or_asks_without_any(page: Page, material: Stage, widget: Widget) -> None:
    material.plays(answer("No."))
    visit(page, material.url)
    page.keyboard.press("/")
    page.keyboard.type("zzzz")
    widget.panel.locator("text=Nothing found").wait_for()
    page.keyboard.press("Enter")
    widget.ended()
    page.keyboard.press("Control+k")
    page.keyboard.type("port is taken")
    page.keyboard.press("Enter")
    page.wait_for_url("**/trouble/**")
    assert len(material.asked) == 1


def test_panel_changes_between_search_and_conversation(page: Page, material: Stage, widget: Widget) -> None:
    material.plays(answer("In the settings."))
    visit(page, material.url)
    turn = widget.open().ask("Which port?")
    assert widget.panel.locator("[part=reset]").is_visible()
    page.keyboard.press("Control+k")
    widget.panel.locator(".start").wait_for()
    assert not turn.is_visible()
    assert not widget.panel.locator("[part=reset]").is_visible()
    page.keyboard.press("Control+i")
    assert turn.is_visible()
    page.keyboard.press("Control+k")
    widget.panel.get_by_role("button", name="Ask the docs").click()
    assert turn.is_visible()
    assert widget.focused() == "textarea"
    header = page.get_by_role("banner").get_by_role("button", name="Ask")
    header.click()
    assert not widget.panel.is_visible()


def test_unreachable_endpoint_is_not_offered(page: Page, material: Stage, widget: Widget) -> None:
    page.route("**/v1/ask", lambda route: route.abort())
    visit(page, material.url)
    page.keyboard.press("Control+k")
    page.keyboard.type("port")
    widget.panel.locator(".asks .pick").click()
    widget.panel.locator("[part=error]").wait_for()
    page.keyboard.press("Control+k")
    widget.hits.first.wait_for()
    assert widget.panel.locator(".asks .pick").count() == 0


def test_start_follows_instant_navigation(page: Page, material: Stage, widget: Widget) -> None:
    visit(page, material.url)
    page.evaluate("window.loadedOnce = true")
    page.keyboard.press("Control+k")
    start = widget.panel.locator(".start h3")
    start.first.wait_for()
    assert start.all_inner_texts() == ["Install", "Settings", "Troubleshooting"]
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    widget.panel.locator(".start h3:has-text('Server')").wait_for()
    assert page.evaluate("loadedOnce")
    assert widget.focused() == "textarea"


def test_page_without_sections_starts_with_a_page_of_each_part(tmp_path: Path, widget: Widget) -> None:
    pages = {"index.md": "# Home\n\n## News\n", "install.md": "# Install\n", "reference/cli.md": "# Commands\n"}
    pages |= {f"guide/{at}.md": f"# Guide {at}\n" for at in range(9)}
    with served(tmp_path / "site") as stage:
        built(stage, "mkdocs", pages, plugins=["search", {"roaming": {"widget": True}}])
        widget.visit(stage.url)
        start = widget.panel.locator(".start h3")
        start.first.wait_for()
        assert start.all_inner_texts() == ["Install", *(f"Guide {at}" for at in range(6)), "Commands"]
        assert widget.panel.locator(".start .crumb").last.inner_text() == "Reference"
