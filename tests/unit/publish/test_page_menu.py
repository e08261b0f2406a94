"""The page menu: options, its place on pages, the published files."""

from __future__ import annotations

import gzip
import json
import re
from base64 import b64decode
from html import unescape
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from tables import read_tables

from mkdocs_roaming.errors import PublishError
from mkdocs_roaming.manifest.models import Site
from mkdocs_roaming.publish.agents.mcp_clients import (
    McpServer,
    format_client_config,
    make_command,
    make_install_link,
)
from mkdocs_roaming.publish.elements.html import remove_own_elements
from mkdocs_roaming.publish.elements.menu import (
    ITEMS,
    PageMenu,
    PageMenuOptions,
    iter_page_menu_files,
    parse_page_menu_options,
)
from mkdocs_roaming.publish.elements.widget import WidgetOptions, add_widget

TABLES = read_tables(__file__)

SITE = Site("The Kettle", "https://kettle.example/docs/")
PLAIN = "<html><head></head><body><main><p>Menu</p><h1>Boil water</h1></main></body></html>"


def make_menu(site: Site = SITE, mcp: str = "", **options: Any) -> PageMenu:
    return PageMenu(PageMenuOptions(**options), site, mcp)


def menu_data(html: str) -> dict[str, Any]:
    """Return the data that the build wrote for the module."""
    data: dict[str, Any] = json.loads(unescape(re.findall(r"data-menu='([^']*)'", html)[0]))
    return data


# Files


def test_page_menu_files_stay_below_4_kb_with_gzip() -> None:
    """Module and style sheet together; each page has the texts in its own language."""
    sizes = {path: len(gzip.compress(data, 9)) for path, data in iter_page_menu_files()}
    assert set(sizes) == {"roaming/roaming-menu.js", "roaming/roaming-menu.css"}
    assert sum(sizes.values()) <= 4 * 1024


# Options


def test_parse_page_menu_options_accepts_flags_and_mappings() -> None:
    assert parse_page_menu_options(True) == PageMenuOptions()
    assert parse_page_menu_options(False) is None
    config = {"items": ["copy", "mcp"], "community": "https://chat.example/"}
    assert parse_page_menu_options(config) == PageMenuOptions(("copy", "mcp"), "https://chat.example/")


@pytest.mark.parametrize(("config", "message"), TABLES["parse page menu options reports invalid value in one line"])
def test_parse_page_menu_options_reports_invalid_value_in_one_line(config: object, message: str) -> None:
    with pytest.raises(PublishError) as error:
        parse_page_menu_options(config)
    assert str(error.value).startswith(message)
    assert "`items` (a list of copy, view, claude, chatgpt, mcp, community)" in str(error.value)
    assert "\n" not in str(error.value)


# Pages


def test_add_can_be_repeated_and_undone_together_with_the_widget() -> None:
    menu, widget = make_menu(), WidgetOptions()
    once = menu.add(add_widget(PLAIN, widget, "a/", SITE), "a/", "Boil water")
    assert once.count("<roaming-menu ") == once.count("roaming-menu.js") == once.count("roaming-menu.css") == 1
    assert remove_own_elements(once) == PLAIN


@pytest.mark.parametrize(("html", "title", "before"), TABLES["add inserts element before the title"])
def test_add_inserts_element_before_the_title(html: str, title: str, before: str | None) -> None:
    menu = make_menu()
    added = menu.add(html, "a/", title)
    assert ("<roaming-menu " in added) == (before is not None) == (not menu.pages_without)
    if before:
        rest = added.partition("</roaming-menu>")[2].partition("</script>")[2]
        assert rest.startswith(before)


@pytest.mark.parametrize("root", ['id="__docusaurus"', 'id="app"', "id=__next"])
def test_add_leaves_the_html_of_browser_applications_as_it_is(root: str) -> None:
    html = f"<head></head><body><div {root}><main><h1>Boil</h1></main></div><script></script></body>"
    added = make_menu().add(html, "a/", "Boil")
    assert added.startswith('<head><link rel="stylesheet" href="../roaming/roaming-menu.css" data-roaming></head>')
    assert f"<body><div {root}><main><h1>Boil</h1></main></div><script></script><roaming-menu data-roaming " in added
    assert re.search(r"<roaming-menu [^>]*\shidden data-menu='", added)
    assert remove_own_elements(added) == html


def test_add_uses_the_place_for_buttons_of_material() -> None:
    html = "<head></head><body><article class='md-content__inner md-typeset'><h1>A</h1></article>"
    added = make_menu().add(html, "a/", "A")
    assert "md-content__inner md-typeset'><roaming-menu data-roaming " in added
    assert 'class="md-content__button"' in added
    assert '<link rel="stylesheet" href="../roaming/roaming-menu.css"' in added


def test_data_names_relative_file_and_absolute_prompt() -> None:
    data = menu_data(make_menu().add(PLAIN, "a b/c&d/", "Boil water"))
    assert data["file"] == "index.md"
    copy, view, claude, chatgpt, mcp = data["items"]
    assert copy == {"icon": "copy", "text": "Copy page", "note": "As Markdown, for language models"}
    assert (view["text"], view["href"]) == ("View as Markdown", "index.md")
    prompt = "Read https://kettle.example/docs/a%20b/c%26d/index.md so that I can ask questions about it."
    for link, start in ((claude, "https://claude.ai/new?q="), (chatgpt, "https://chatgpt.com/?hints=search&q=")):
        assert link["href"].startswith(start)
        assert parse_qs(urlsplit(link["href"]).query)["q"] == [prompt]
    assert [item["text"] for item in mcp["items"]] == ["Claude Code", "Cursor", "VS Code"]


def test_community_is_an_item_if_it_has_an_address() -> None:
    data = menu_data(make_menu(community="https://chat.example/").add(PLAIN, "a/", "Boil water"))
    expected = TABLES["item of the community"]
    assert data["items"][-1] == expected


def test_data_escapes_quotes_and_markup_of_names() -> None:
    site = Site("x", "https://kettle.example/o'brien/\"<b>/")
    added = make_menu(site).add(PLAIN, "a/", "Boil water")
    assert menu_data(added)["items"][4]["items"][0]["copy"].endswith("'https://kettle.example/o'\"'\"'brien/\"<b>/'")
    assert "<b>" not in added


@pytest.mark.parametrize(
    ("mcp", "url"),
    TABLES["configuration is that of the command"],
)
def test_configuration_is_that_of_the_command(mcp: str, url: str) -> None:
    data = menu_data(make_menu(mcp=mcp).add(PLAIN, "a/", "Boil water"))
    server = McpServer("the-kettle", url, () if url else make_command(SITE.url))
    items = {item["text"]: item for item in data["items"][4]["items"]}
    assert items["Claude Code"]["copy"] == format_client_config("claude-code", server)
    assert items["Cursor"]["href"] == make_install_link("cursor", server)
    assert items["VS Code"]["href"] == make_install_link("vscode", server)
    assert items.keys() == {*(["Claude", "ChatGPT"] if url else []), "Claude Code", "Cursor", "VS Code"}
    if url:
        assert (items["Claude"]["copy"], items["ChatGPT"]["copy"]) == (url, url)


@pytest.mark.parametrize(
    "server", [McpServer("kettle", "https://kettle.example/mcp"), McpServer("kettle", command=("a", "b c"))]
)
def test_install_links_contain_the_configuration(server: McpServer) -> None:
    own = {"url": server.url} if server.url else {"command": "a", "args": ["b c"]}
    cursor = urlsplit(make_install_link("cursor", server))
    assert (cursor.scheme, cursor.netloc, cursor.path) == ("cursor", "anysphere.cursor-deeplink", "/mcp/install")
    query = parse_qs(cursor.query)
    assert query["name"] == ["kettle"]
    assert json.loads(b64decode(query["config"][0])) == own
    address, _, config = make_install_link("vscode", server).partition("?")
    assert address == "vscode:mcp/install"
    assert json.loads(unquote(config)) == {"name": "kettle", "type": "http" if server.url else "stdio", **own}


@pytest.mark.parametrize(("language", "name"), [("de-AT", "Seitenmenü"), ("zh_CN", "页面菜单"), ("nl", "Page menu")])
def test_data_is_in_the_language_of_the_site(language: str, name: str) -> None:
    site = Site(SITE.name, SITE.url, language=language)
    assert menu_data(make_menu(site).add(PLAIN, "a/", "Boil water"))["name"] == name


def test_items_are_those_of_the_option() -> None:
    data = menu_data(make_menu(items=("claude", "copy")).add(PLAIN, "a/", "Boil water"))
    assert [item["text"] for item in data["items"]] == ["Open in Claude", "Copy page"]
    assert len(ITEMS) == 6


@pytest.mark.parametrize("part", ["<h1>", "</h1>", "<article ", "<roaming-menu data-roaming ", "<main x"])
def test_add_takes_linear_time_for_repeated_tags(part: str) -> None:
    """Quadratic time would be minutes."""
    make_menu().add("<body><main>" + part * 100_000, "a/", "Boil water")
