"""The page menu in Chromium: keyboard, clipboard, themes, navigation, layout, content security policy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page

from mkdocs_roaming.publish.options import PublishOptions
from mkdocs_roaming.sources.project import IndexOptions
from mkdocs_roaming.sources.publication import index_site

from ..conftest import Violations
from .conftest import SHIFTS, STRICT, Stage, box_of, hold, picture, served
from .themes import THEMES, built

LONG_TITLE = "Everything about the gauges of a harbour, how they are read, and what they say about the next tide"
SOURCES = {
    "index.md": "# Welcome\n\nWater & *salt*.\n\n[Gauges](guide/gauges.md), [Hidden](guide/hidden.md).\n",
    "guide/gauges.md": f"# {LONG_TITLE}\n\nEach has a name.\n\n" + "Water.\n\n" * 80,
    "guide/hidden.md": "---\nllms: false\n---\n# Hidden\n\n[Welcome](../index.md)\n",
}


class Menu:
    """The page menu of a page."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.host = page.locator("roaming-menu")
        self.button = self.host.locator("button[aria-haspopup]")
        self.menu = self.host.get_by_role("menu")
        self.items = self.host.get_by_role("menuitem")
        self.status = self.host.get_by_role("status")

    def item(self, name: str) -> Locator:
        return self.items.filter(has=self.page.get_by_text(name, exact=True))

    def focused(self) -> str:
        """Return the name of the focused item, or `button`."""
        script = "({ shadowRoot: root }) => root.activeElement?.querySelector('span')?.textContent || root.activeElement?.localName || ''"
        return str(self.host.evaluate(script))

    def copy(self) -> None:
        """Open the menu, and copy the page."""
        self.button.click()
        self.item("Copy page").click()
        self.status.get_by_text("Copied", exact=True).wait_for()

    def pasted(self) -> str:
        """Return the text of the clipboard, as the keyboard pastes it."""
        self.page.evaluate("document.body.append(Object.assign(document.createElement('textarea'), { id: 'paste' }))")
        self.page.locator("#paste").press("Control+v")
        text = self.page.locator("#paste").input_value()
        self.page.locator("#paste").evaluate("area => area.remove()")
        return text


@pytest.fixture
def menu(page: Page) -> Menu:
    return Menu(page)


TOLERATED = r"request to https://|fonts\.g|cdnjs|ERR_FAILED|setting 'disabled'"
"""Themes ask for fonts and scripts of other hosts."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Stage]]:
    """Function that builds the site in a theme, once."""
    with ExitStack() as stack:

        @cache
        def build(theme: str) -> Stage:
            stage = stack.enter_context(served(tmp_path_factory.mktemp("site") / "site"))
            search = "material/search" if THEMES[theme]["name"] == "material" else "search"
            return built(stage, theme, SOURCES, plugins=[search, {"roaming": {"page_menu": True}}])

        yield build


@pytest.fixture
def plain(tmp_path: Path) -> Iterator[Callable[..., Stage]]:
    """Function that publishes a plain HTML page, and serves it."""
    with ExitStack() as stack:

        def publish(lang: str = "en", attrs: str = "", server: str = "") -> Stage:
            folder = tmp_path / "plain"
            folder.mkdir()
            (folder / "index.html").write_text(
                f'<!doctype html><html lang="{lang}" {attrs}><head><meta charset=utf-8><title>Kettle</title>'
                '<meta name=viewport content="width=device-width"><link rel=icon href="data:,">'
                f"</head><body><main><h1>{LONG_TITLE}</h1><p>It boils.</p></main></body></html>",
                "utf-8",
            )
            publish_options = PublishOptions(page_menu=True, mcp=server or None)
            index_site(folder, IndexOptions(url="https://kettle.example/", publish=publish_options), warn=print)
            return stack.enter_context(served(folder))

        yield publish


def test_copy_works_without_clipboard_api_and_reports_a_missing_file(
    page: Page, menu: Menu, plain: Callable[..., Stage]
) -> None:
    """As on sites without https."""
    stage = plain()
    page.add_init_script("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    page.route("**/index.md", lambda route: route.abort())
    page.goto(stage.url)
    menu.button.click()
    menu.item("Copy page").click()
    menu.status.get_by_text("This could not be copied.").wait_for()
    page.unroute("**/index.md")
    menu.copy()
    assert menu.pasted() == (stage.folder / "index.md").read_text("utf-8")


def test_clients_are_connected_by_links_and_copied_texts(page: Page, menu: Menu, plain: Callable[..., Stage]) -> None:
    page.goto(plain(server="https://kettle.example/mcp").url)
    menu.button.click()
    assert menu.host.get_by_role("group", name="Connect through MCP").is_visible()
    assert str(menu.item("Cursor").get_attribute("href")).startswith("cursor://anysphere.cursor-deeplink/mcp/install?")
    assert str(menu.item("VS Code").get_attribute("href")).startswith("vscode:mcp/install?")
    menu.item("Claude Code").click()
    menu.status.get_by_text("Copied").wait_for()
    assert menu.pasted() == "claude mcp add --transport http kettle https://kettle.example/mcp"
    menu.button.click()
    with page.expect_popup() as popup:
        menu.item("Claude").last.click()
    assert popup.value.url.startswith("https://claude.ai/") or popup.value.url.startswith("chrome-error:")
    assert menu.pasted() == "https://kettle.example/mcp"


def test_clicks_outside_close_the_menu_and_only_keys_show_a_focus_ring(
    page: Page, menu: Menu, plain: Callable[..., Stage]
) -> None:
    stage = plain()
    page.goto(stage.url)
    ring = "({ shadowRoot: root }) => getComputedStyle(root.activeElement).outlineStyle"
    menu.button.click()
    assert menu.host.evaluate(ring) == "none"
    page.keyboard.press("ArrowDown")
    assert menu.focused() == "Copy page"
    assert menu.host.evaluate(ring) == "solid"
    page.keyboard.press("Space")
    menu.status.get_by_text("Copied").wait_for()
    assert menu.pasted() == (stage.folder / "index.md").read_text("utf-8")
    for close in (page.locator("p").last.click, menu.button.click):
        menu.button.click()
        assert menu.menu.is_visible()
        close()
        assert not menu.menu.is_visible()


# Keyboard and assistive technology


def test_menu_follows_the_keyboard(page: Page, menu: Menu, site: Callable[[str], Stage]) -> None:
    stage = site("material")
    page.goto(stage.url)
    names = [
        *("Copy page", "View as Markdown", "Open in Claude", "Open in ChatGPT"),
        *("Claude Code", "Cursor", "VS Code"),
    ]
    menu.button.focus()
    for key in ("Enter", "Space", "ArrowDown"):
        page.keyboard.press(key)
        assert menu.focused() == names[0]
        assert menu.button.get_attribute("aria-expanded") == "true"
        page.keyboard.press("Escape")
        assert not menu.menu.is_visible()
        assert menu.focused() == "button"
        assert menu.button.get_attribute("aria-expanded") == "false"
    page.keyboard.press("ArrowUp")
    assert menu.focused() == names[-1]
    walked = []
    for _ in names:
        page.keyboard.press("ArrowDown")
        walked.append(menu.focused())
    assert walked == names
    for key, name in (("Home", names[0]), ("ArrowUp", names[-1]), ("End", names[-1]), ("c", names[0]), ("o", names[2])):
        page.keyboard.press(key)
        assert menu.focused() == name
    for key in ("s", "f", "/", "n", "p"):  # shortcuts of Material
        page.keyboard.press(key)
    assert page.url == stage.url
    assert not page.locator("#__search").is_checked()
    page.keyboard.press("Tab")
    assert not menu.menu.is_visible()
    assert page.evaluate("document.activeElement.localName") == "a"


@pytest.mark.parametrize("theme", THEMES)
def test_axe_finds_no_violations(
    page: Page, menu: Menu, site: Callable[[str], Stage], violations: Violations, theme: str
) -> None:
    page.goto(f"{site(theme).url}guide/gauges/")
    menu.button.wait_for()
    assert violations(page, "roaming-menu") == []
    menu.button.click()
    assert violations(page, "roaming-menu") == []
    picture(page, f"menu-{theme}")
    menu.item("Claude Code").click()
    menu.status.get_by_text("Copied").wait_for()
    assert violations(page, "roaming-menu") == []


# Pages


def test_instant_navigation_shows_menu_and_links_of_the_new_page(
    page: Page, menu: Menu, site: Callable[[str], Stage]
) -> None:
    """Also after a page without one."""
    stage = site("material")
    page.goto(f"{stage.url}guide/hidden/")
    page.wait_for_load_state("networkidle")
    page.evaluate("window.loadedOnce = true")
    assert menu.host.count() == 0

    def arrive(title: str, path: str) -> None:
        page.wait_for_selector(f"h1:has-text('{title}')")
        assert menu.host.count() == 1
        assert not menu.menu.is_visible()
        menu.copy()
        assert menu.focused() == "button"
        assert not menu.menu.is_visible()
        assert menu.pasted() == (stage.folder / path / "index.md").read_text("utf-8")
        for links in ("head link[data-roaming]:not([rel=stylesheet])", "p[data-roaming] a"):
            addresses = sorted(page.locator(links).evaluate_all("all => all.map(one => one.href)"))
            assert addresses == [f"{stage.url}{path}index.md", f"{stage.url}llms.txt"]
        menu.button.click()
        assert menu.item("View as Markdown").evaluate("link => link.href") == f"{stage.url}{path}index.md"

    page.click("article >> text=Welcome")
    arrive("Welcome", "")
    page.click("article >> text=Gauges")
    arrive(LONG_TITLE, "guide/gauges/")
    page.go_back()
    arrive("Welcome", "")
    page.click("article >> text=Hidden")
    page.wait_for_selector("h1:has-text('Hidden')")
    assert menu.host.count() == 0
    assert page.evaluate("window.loadedOnce") is True


@pytest.mark.parametrize("width", [1280, 700, 390])
@pytest.mark.parametrize("theme", ["material", "mkdocs", "readthedocs", "plain"])
def test_nothing_moves_when_the_module_is_loaded(
    page: Page, menu: Menu, site: Callable[[str], Stage], plain: Callable[..., Stage], theme: str, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.add_init_script(SHIFTS)
    release = hold(page, "menu")
    page.goto(plain().url if theme == "plain" else f"{site(theme).url}guide/gauges/", wait_until="commit")
    link = menu.host.get_by_role("link", name="Copy page")
    link.wait_for()
    page.wait_for_timeout(300)
    boxes = "() => [...document.querySelectorAll('h1, p, roaming-menu')].map(one => Object.values(one.getBoundingClientRect().toJSON()))"
    before, shifts = page.evaluate(boxes), page.evaluate("shifts")
    release()
    menu.button.wait_for()
    page.wait_for_timeout(100)
    assert page.evaluate(boxes) == before
    assert page.evaluate("shifts") == shifts
    assert theme != "plain" or shifts == []
    icon, title = box_of(menu.button), box_of(page.locator("h1").last)
    assert icon["x"] + icon["width"] <= title["x"] + title["width"]
    assert abs(icon["y"] - title["y"]) < 40
    top = title["y"]
    menu.button.click()
    box = box_of(menu.menu)
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width
    menu.host.evaluate("host => (host.nextElementSibling.remove(), host.remove())")
    assert box_of(page.locator("h1").last)["y"] == top


def test_menu_works_with_strict_content_security_policy(page: Page, menu: Menu, plain: Callable[..., Stage]) -> None:
    stage = plain()
    stage.csp = f"{STRICT}; style-src 'self'"
    page.goto(stage.url)
    assert not page.locator("p[data-roaming]").is_visible()
    assert menu.host.evaluate("host => getComputedStyle(host).float") == "inline-end"
    menu.button.click()
    assert menu.menu.evaluate("menu => getComputedStyle(menu).position") == "absolute"
    menu.item("Copy page").click()
    menu.status.get_by_text("Copied").wait_for()


def test_menu_is_at_the_end_of_lines_from_right_to_left(page: Page, menu: Menu, plain: Callable[..., Stage]) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(plain(attrs="dir=rtl").url)
    menu.button.click()
    assert box_of(menu.button)["x"] == box_of(menu.menu)["x"] < 20


def test_print_hides_menu(page: Page, menu: Menu, plain: Callable[..., Stage], site: Callable[[str], Stage]) -> None:
    for url in (plain().url, site("material").url):
        page.goto(url)
        menu.button.wait_for()
        page.emulate_media(media="print")
        assert not menu.host.is_visible()
        page.emulate_media(media="screen")


def test_link_to_markdown_remains_without_javascript_and_modules(
    browser: Any, plain: Callable[..., Stage], site: Callable[[str], Stage]
) -> None:
    """Browsers load no modules from files."""
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    stages = plain(), site("readthedocs")
    for stage in stages:
        page.goto(stage.url)
        page.get_by_role("link", name="Copy page").click()
        page.wait_for_url(f"{stage.url}index.md")
    context.close()
    page = browser.new_context().new_page()
    page.goto((stages[0].folder / "index.html").as_uri())
    link = page.get_by_role("link", name="Copy page")
    assert link.evaluate("link => link.href") == (stages[0].folder / "index.md").as_uri()
    assert page.locator("roaming-menu button").count() == 0
    page.context.close()
