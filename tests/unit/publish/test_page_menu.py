"""The page menu: options, its place on pages, the published files."""

from __future__ import annotations

import gzip
import json
import re
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from mkdocs_roaming.errors import PublishError
from mkdocs_roaming.manifest.models import Site
from mkdocs_roaming.publish.agents.mcp_clients import McpServer, format_client_config, make_command
from mkdocs_roaming.publish.elements.html import remove_own_elements
from mkdocs_roaming.publish.elements.menu import (
    ITEMS,
    MENU_CLIENTS,
    PageMenu,
    PageMenuOptions,
    iter_page_menu_files,
    parse_page_menu_options,
)
from mkdocs_roaming.publish.elements.widget import WidgetOptions, add_widget

SITE = Site("The Kettle", "https://kettle.example/docs/")
PLAIN = "<html><head></head><body><main><p>Menu</p><h1>Boil water</h1></main></body></html>"


def make_menu(site: Site = SITE, endpoint: str = "", **options: Any) -> PageMenu:
    return PageMenu(PageMenuOptions(**options), site, endpoint)


def menu_data(html: str) -> dict[str, Any]:
    """Return the data that the build wrote for the module."""
    data: dict[str, Any] = json.loads(unescape(re.findall(r"data-menu='([^']*)'", html)[0]))
    return data


# Files


def test_page_menu_files_stay_below_3_kb_with_gzip() -> None:
    """Module and style sheet together; each page has the texts in its own language."""
    sizes = {path: len(gzip.compress(data, 9)) for path, data in iter_page_menu_files()}
    assert set(sizes) == {"roaming/roaming-menu.js", "roaming/roaming-menu.css"}
    assert sum(sizes.values()) <= 3 * 1024


# Options


def test_parse_page_menu_options_accepts_flags_and_mappings() -> None:
    assert parse_page_menu_options(True) == PageMenuOptions()
    assert parse_page_menu_options(False) is None
    config = {"items": ["copy", "mcp"], "mcp": "https://ask.example/mcp"}
    assert parse_page_menu_options(config) == PageMenuOptions(("copy", "mcp"), "https://ask.example/mcp")


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("yes", "page_menu: Expected `object`, got `str`. Set it to true, or"),
        ({"item": ["copy"]}, "page_menu: Object contains unknown field `item`. Set it to true, or"),
        ({"items": ["copy", "gemini"]}, "page_menu: Invalid enum value 'gemini' - at `$.items[1]`. Set it to true, or"),
        ({"items": []}, "page_menu: Expected `array` of length >= 1"),
        ({"mcp": "/mcp"}, "page_menu: Expected `str` matching regex"),
    ],
)
def test_parse_page_menu_options_reports_invalid_value_in_one_line(config: object, message: str) -> None:
    with pytest.raises(PublishError) as error:
        parse_page_menu_options(config)
    assert str(error.value).startswith(message)
    assert "`items` (a list of copy, view, claude, chatgpt, mcp)" in str(error.value)
    assert "\n" not in str(error.value)


# Pages


def test_add_can_be_repeated_and_undone_together_with_the_widget() -> None:
    menu, widget = make_menu(), WidgetOptions()
    once = menu.add(add_widget(PLAIN, widget, "a/", SITE), "a/", "Boil water")
    assert once.count("<roaming-menu ") == once.count("roaming-menu.js") == once.count("roaming-menu.css") == 1
    assert remove_own_elements(once) == PLAIN


@pytest.mark.parametrize(
    ("html", "title", "before"),
    [
        (PLAIN, "Boil water", "<h1>Boil"),
        ("<body><h1 class=logo>Kettle</h1><h1>`boil` <em>water</em></h1>", "`boil` *water*", "<h1>`boil`"),
        ("<body><h1>Logo</h1><div role=main><h1>Another</h1></div>", "Not there", "<h1>Another"),
        ("<body><h1>Logo</h1><article><H1 id=x>Äpfel &amp; Birnen<a>¶</a></H1></article>", "Äpfel & Birnen", "<H1"),
        ('<body><article class="md-content__inner x"><a>edit</a><h1>Other</h1></article>', "Boil", "<a>edit"),
        ('<body><div class="md-content"><div class="md-content__inner"><header><h1>Posts', "Posts", "<header>"),
        ("<body><h1>Logo</h1><p>Bare</p>", "Bare", None),
        ("<body><main><p>No title</p></main>", "No title", None),
        ('<body><div id="__docusaurus"><main><h1>Boil</h1></main></div>', "Boil", None),
        ("", "Boil", None),
    ],
)
def test_add_inserts_element_before_the_title(html: str, title: str, before: str | None) -> None:
    menu = make_menu()
    added = menu.add(html, "a/", title)
    assert ("<roaming-menu " in added) == (before is not None) == (not menu.pages_without)
    if before:
        rest = added.partition("</roaming-menu>")[2].partition("</script>")[2]
        assert rest.startswith(before)


def test_add_uses_the_buttons_of_material_without_style_sheet() -> None:
    html = "<head></head><body><article class='md-content__inner md-typeset'><h1>A</h1></article>"
    added = make_menu().add(html, "a/", "A")
    assert 'class="md-content__button md-icon"' in added
    assert ".css" not in added
    assert '<link rel="stylesheet" href="../roaming/roaming-menu.css"' in make_menu().add(PLAIN, "a/", "Boil water")


def test_data_names_relative_file_and_absolute_prompt() -> None:
    data = menu_data(make_menu().add(PLAIN, "a b/c&d/", "Boil water"))
    assert data["file"] == "index.md"
    copy, view, claude, chatgpt, mcp = data["items"]
    assert copy == {"text": "Copy page as Markdown"}
    assert view == {"text": "View page as Markdown", "href": "index.md"}
    prompt = "Read https://kettle.example/docs/a%20b/c%26d/index.md so that I can ask questions about it."
    for link, start in ((claude, "https://claude.ai/new?q="), (chatgpt, "https://chatgpt.com/?hints=search&q=")):
        assert link["href"].startswith(start)
        assert parse_qs(urlsplit(link["href"]).query)["q"] == [prompt]
    assert [item["text"] for item in mcp["items"]] == ["Claude Code", "Cursor", "VS Code"]


def test_data_escapes_quotes_and_markup_of_names() -> None:
    site = Site("x", "https://kettle.example/o'brien/\"<b>/")
    added = make_menu(site).add(PLAIN, "a/", "Boil water")
    assert menu_data(added)["items"][4]["items"][0]["copy"].endswith("'https://kettle.example/o'\"'\"'brien/\"<b>/'")
    assert "<b>" not in added


@pytest.mark.parametrize(
    ("endpoint", "mcp", "url"),
    [
        ("", True, ""),
        ("https://ask.example/", True, "https://ask.example/mcp"),
        ("/", True, "https://kettle.example/mcp"),
        ("https://ask.example/", False, ""),
        ("https://ask.example", "https://mcp.example/docs", "https://mcp.example/docs"),
    ],
)
def test_configuration_is_that_of_the_command(endpoint: str, mcp: str | bool, url: str) -> None:
    data = menu_data(make_menu(endpoint=endpoint, mcp=mcp).add(PLAIN, "a/", "Boil water"))
    server = McpServer("the-kettle", url, () if url else make_command(SITE.url))
    copied = [item["copy"] for item in data["items"][4]["items"]]
    assert copied == [format_client_config(client, server) for client in MENU_CLIENTS]


@pytest.mark.parametrize(("language", "name"), [("de-AT", "Seitenmenü"), ("zh_CN", "页面菜单"), ("nl", "Page menu")])
def test_data_is_in_the_language_of_the_site(language: str, name: str) -> None:
    site = Site(SITE.name, SITE.url, language=language)
    assert menu_data(make_menu(site).add(PLAIN, "a/", "Boil water"))["name"] == name


def test_items_are_those_of_the_option() -> None:
    data = menu_data(make_menu(items=("claude", "copy")).add(PLAIN, "a/", "Boil water"))
    assert [item["text"] for item in data["items"]] == ["Open in Claude", "Copy page as Markdown"]
    assert len(ITEMS) == 5


@pytest.mark.parametrize("part", ["<h1>", "</h1>", "<article ", "<roaming-menu data-roaming ", "<main x"])
def test_add_takes_linear_time_for_repeated_tags(part: str) -> None:
    """Quadratic time would be minutes."""
    make_menu().add("<body><main>" + part * 100_000, "a/", "Boil water")
