"""The page menu, a button beside the title of each page: its options, its element on each page, and its files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import escape, unescape
from typing import Annotated, Any, Literal, get_args
from urllib.parse import quote, urljoin

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from mkdocs_roaming.errors import PublishError
from mkdocs_roaming.manifest.models import Site, markdown_path, relative_url
from mkdocs_roaming.publish.agents.mcp_clients import (
    CLIENTS,
    McpServer,
    format_client_config,
    make_command,
    make_server_name,
)
from mkdocs_roaming.publish.elements.html import find_content_start, insert_in_head, load_icon, load_texts, read_asset

Item = Literal["copy", "view", "claude", "chatgpt", "mcp"]
ITEMS: tuple[Item, ...] = get_args(Item)

MENU_CLIENTS = ("claude-code", "cursor", "vscode")
"""The MCP clients in the menu."""


# Options


class PageMenuOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The options of the page menu; docs/reference/options.md describes them."""

    items: Annotated[tuple[Item, ...], Meta(min_length=1)] = ITEMS
    """The items, in order."""
    mcp: Annotated[str, Meta(pattern=r"^https?://[^/\s]+\S*$")] | bool = True
    """URL of the site's MCP server; true: that of the widget's endpoint, if there is one. Without a server, or with
    false, the configuration starts `roaming mcp`."""


def parse_page_menu_options(config: object, mcp: str = "") -> PageMenuOptions | None:
    """Parse the option `page_menu`: true, false or a mapping.

    Args:
        config: The option.
        mcp: The site's MCP server, unless the option names another; may be relative to the site.

    Returns:
        The options, or None if pages have no menu.

    Raises:
        PublishError: An option is invalid.
    """
    if config is None or config is False:
        return None
    try:
        options = PageMenuOptions() if config is True else msgspec.convert(config, PageMenuOptions)
        return replace(options, mcp=mcp) if mcp and options.mcp is True else options
    except msgspec.ValidationError as error:
        raise PublishError(
            f"page_menu: {error}. Set it to true, or to a mapping with `items` (a list of {', '.join(ITEMS)}) and "
            "`mcp` (the URL of an MCP server, or false)"
        ) from None


def find_mcp_url(options: PageMenuOptions, site_url: str, endpoint: str) -> str:
    """Return the URL of the site's MCP server; an empty text if there is none.

    Args:
        options: The options.
        site_url: URL of the site.
        endpoint: URL of the site's answer endpoint, which offers MCP, too; may be relative to the site.
    """
    if isinstance(options.mcp, str):
        return urljoin(site_url, options.mcp)
    return urljoin(site_url, endpoint).rstrip("/") + "/mcp" if options.mcp and endpoint else ""


# Pages

_ASSISTANTS = {
    "claude": ("Claude", "https://claude.ai/new?q="),
    "chatgpt": ("ChatGPT", "https://chatgpt.com/?hints=search&q="),
}


class PageMenu:
    """The page menu of one site.

    Args:
        options: The options.
        site: The site.
        endpoint: URL of the site's answer endpoint, which offers MCP, too; may be relative to the site.

    Attributes:
        pages_without: Number of pages that had no place for the menu.
    """

    def __init__(self, options: PageMenuOptions, site: Site, endpoint: str = "") -> None:
        self._options, self._site, self._words = options, site, load_texts(site.language)
        self.pages_without = 0
        name = make_server_name(site.name, site.url)
        url = find_mcp_url(options, site.url, endpoint)
        self._server = McpServer(name, url) if url else McpServer(name, command=make_command(site.url))
        self._configs = [
            {"text": CLIENTS[client], "copy": format_client_config(client, self._server)} for client in MENU_CLIENTS
        ]

    def add(self, html: str, path: str, title: str, root: str = "") -> str:
        """Add the menu to a page whose Markdown is published.

        Pages stay without it if they have no title, and if their HTML belongs to an application in the browser, which
        would remove the element or report it.

        Args:
            html: The page.
            path: The path of the page.
            title: The first heading of its article.
            root: See `relative_url`.
        """
        place = None if _BROWSER_APPLICATION.search(html) else _find_place(html, title)
        if place is None:
            self.pages_without += 1
            return html
        start, classes = place
        html = html[:start] + self._format_element(path, classes, root) + html[start:]
        sheet = f'<link rel="stylesheet" href="{escape(relative_url(path, _SHEET, root))}" data-roaming>'
        return html if classes else insert_in_head(html, sheet)

    def _format_element(self, path: str, classes: str, root: str) -> str:
        words, markdown = self._words, relative_url(path, markdown_path(path), root)
        data = {
            "name": words["menu"],
            "file": markdown,
            "copied": words["copied"],
            "failed": words["notCopied"],
            "items": [self._make_item(item, path, markdown) for item in self._options.items],
        }
        text = escape(json.dumps(data, ensure_ascii=False, separators=(",", ":")), quote=False).replace("'", "&#39;")
        icon = load_icon("menu")
        name, script = escape(words["viewPage"]), escape(relative_url(path, _SCRIPT, root))
        return (
            f"<roaming-menu data-roaming data-pagefind-ignore{classes} data-menu='{text}'>"
            f'<a href="{escape(markdown)}" type="text/markdown" title="{name}" aria-label="{name}">{icon}</a>'
            f'</roaming-menu><script type="module" src="{script}" data-roaming></script>'
        )

    def _make_item(self, item: Item, path: str, markdown: str) -> dict[str, Any]:
        words = self._words
        if item == "copy":
            return {"text": words["copyPage"]}
        if item == "view":
            return {"text": words["viewPage"], "href": markdown}
        if item == "mcp":
            return {"group": words["copyConfig"], "items": self._configs}
        name, address = _ASSISTANTS[item]
        prompt = words["readPage"].replace("{url}", self._site.url + quote(markdown_path(path)))
        return {"text": words["openIn"].replace("{name}", name), "href": address + quote(prompt, safe="")}


def _find_place(html: str, title: str) -> tuple[int, str] | None:
    """Return the offset for the element and its `class` attribute, or None if there is no place for it.

    In Material and Zensical it is among the buttons of the theme. Elsewhere it is before the heading with the page's
    title; a logo may be a heading, too, so a heading without that text counts only within the main content.
    """
    classes = ' class="md-content__button md-icon"' if "md-content" in html else ""
    if found := _MATERIAL_ARTICLE.search(html):
        return found.end(), classes
    body = find_content_start(html) or 0
    main = _MAIN.search(html, body)
    wanted, first, start = _letters(title), None, -1
    for tag in _TITLE_TAG.finditer(html, body):
        if not tag[1]:
            start = tag.start()
            first = start if first is None and main and main.end() <= start else first
        elif start >= 0:
            if wanted and _letters(html[start : tag.start()]).startswith(wanted):
                return start, classes
            start = -1
    return None if first is None else (first, classes)


def _letters(text: str) -> str:
    """Return the letters and digits of HTML or Markdown, for comparisons."""
    return "".join(filter(str.isalnum, unescape(re.sub(r"<[^<>]*>", "", text)))).casefold()


_MATERIAL_ARTICLE = re.compile(r"<(?:article|div)\b(?=[^<>]*\bmd-content__inner\b)[^<>]*>")  # lists of posts have a div
_MAIN = re.compile(r"""<(?:main|article)\b[^<>]*>|<[a-z]+\b(?=[^<>]*\brole=["']?main\b)[^<>]*>""", re.IGNORECASE)
_TITLE_TAG = re.compile(r"<(/?)h1\b", re.IGNORECASE)
_BROWSER_APPLICATION = re.compile(r"""\bid=["']?(?:__docusaurus|__next|__nuxt|___gatsby|app)["'\s>]""")

# Files

_SCRIPT = "roaming/roaming-menu.js"
_SHEET = "roaming/roaming-menu.css"


def iter_page_menu_files() -> Iterator[tuple[str, bytes]]:
    """Return path and content of the menu's files."""
    return ((path, read_asset(path)) for path in (_SCRIPT, _SHEET))
