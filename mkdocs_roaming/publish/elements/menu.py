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

from mkdocs_roaming.errors import PublishError
from mkdocs_roaming.manifest.models import Site, markdown_path, relative_url
from mkdocs_roaming.publish.agents.mcp_clients import (
    CLIENTS,
    McpServer,
    format_client_config,
    make_command,
    make_install_link,
    make_server_name,
)
from mkdocs_roaming.publish.elements.html import (
    find_content_start,
    find_head_end,
    insert_pieces,
    load_icon,
    load_texts,
    read_asset,
)

Item = Literal["copy", "view", "claude", "chatgpt", "mcp", "community"]
ITEMS: tuple[Item, ...] = get_args(Item)

# Options


class PageMenuOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The options of the page menu; docs/reference/options.md describes them."""

    items: Annotated[tuple[Item, ...], Meta(min_length=1)] = ITEMS
    """The items, in order."""
    community: Annotated[str, Meta(pattern=r"^https?://[^/\s]+\S*$")] | None = None
    """URL of a chat or forum, for the item `community`."""


def parse_page_menu_options(config: object) -> PageMenuOptions | None:
    """Parse the option `page_menu`: true, false or a mapping.

    Returns:
        The options, or None if pages have no menu.

    Raises:
        PublishError: An option is invalid.
    """
    if config is None or config is False:
        return None
    if config is True:
        return PageMenuOptions()
    try:
        return msgspec.convert(config, PageMenuOptions)
    except msgspec.ValidationError as error:
        raise PublishError(
            f"page_menu: {error}. Set it to true, or to a mapping with `items` (a list of {', '.join(ITEMS)}) and "
            "`community` (the URL of a chat or forum)"
        ) from None


# Pages

_MATERIAL_ARTICLE = re.compile(r"<(?:article|div)\b(?=[^<>]*\bmd-content__inner\b)[^<>]*>")
"""The article of Material; lists of posts have a div."""
_MAIN = re.compile(r"""<(?:main|article)\b[^<>]*>|<[a-z]+\b(?=[^<>]*\brole=["']?main\b)[^<>]*>""", re.IGNORECASE)
_TITLE_TAG = re.compile(r"<(/?)h1\b", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]*>")
_BROWSER_APPLICATION = re.compile(r"""\bid=["']?(?:__docusaurus|__next|__nuxt|___gatsby|app)["'\s>]""")
"""The element of a page that a script renders again: `<div id="__docusaurus">`."""

_ASSISTANTS = {
    "claude": ("Claude", "https://claude.ai/new?q=", "https://claude.ai/settings/connectors"),
    "chatgpt": ("ChatGPT", "https://chatgpt.com/?hints=search&q=", "https://chatgpt.com/#settings/Connectors"),
}
"""Name, address of a new conversation, and address of the settings where an MCP server is added."""


class PageMenu:
    """The page menu of one site.

    Args:
        options: The options.
        site: The site.
        mcp: URL of the site's MCP server, which may be relative to the site; without one, clients start `roaming mcp`.

    Attributes:
        pages_without: Number of pages that had no place for the menu.
    """

    def __init__(self, options: PageMenuOptions, site: Site, mcp: str = "") -> None:
        self._options = options
        self._site = site
        self._words = load_texts(site.language)
        self.pages_without = 0
        name = make_server_name(site.name, site.url)
        self._server = McpServer(name, command=make_command(site.url))
        if mcp:
            self._server = McpServer(name, urljoin(site.url, mcp))
        self._clients = list(self._iter_clients()) if site.url else []

    def _iter_clients(self) -> Iterator[dict[str, str]]:
        """Yield the items of MCP clients. Web applications cannot start a command."""
        words = self._words
        server = self._server
        if server.url:
            for name, _, settings in _ASSISTANTS.values():
                yield _make_item("connect", name, words["copyAddress"], href=settings, copy=server.url)
        command = format_client_config("claude-code", server)
        yield _make_item("command", CLIENTS["claude-code"], words["copyCommand"], copy=command)
        for client in ("cursor", "vscode"):
            yield _make_item("connect", CLIENTS[client], words["install"], href=make_install_link(client, server))

    def add(self, html: str, path: str, title: str, root: str = "") -> str:
        """Add the menu to a page whose Markdown is published. Pages without a title stay without it.

        An application in the browser would remove the element from its HTML or report it: its pages have it hidden at
        their end, and the module moves it.

        Args:
            html: The page.
            path: The path of the page.
            title: The first heading of its article.
            root: See `relative_url`.
        """
        if _BROWSER_APPLICATION.search(html):
            start = html.rfind("</body")
            attributes = " hidden"
        else:
            start = _find_place(html, title)
            attributes = ' class="md-content__button"' if "md-content" in html else ""
        if start < 0:
            self.pages_without += 1
            return html
        element = self._format_element(path, attributes, root)
        sheet = f'<link rel="stylesheet" href="{escape(relative_url(path, _SHEET, root))}" data-roaming>'
        return insert_pieces(html, (start, element), (find_head_end(html), sheet))

    def _format_element(self, path: str, attributes: str, root: str) -> str:
        words = self._words
        markdown = relative_url(path, markdown_path(path), root)
        label = f"{load_icon('menu')}<span>{escape(words['copyPage'])}</span>"
        items: list[dict[str, Any]] = []
        for name in self._options.items:
            items += self._make_items(name, path, markdown)
        data = {
            "name": words["menu"],
            "file": markdown,
            "copied": words["copied"],
            "failed": words["notCopied"],
            "items": items,
        }
        encoded = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
        text = escape(encoded, quote=False).replace("'", "&#39;")
        script = escape(relative_url(path, _SCRIPT, root))
        return (
            f"<roaming-menu data-roaming data-pagefind-ignore{attributes} data-menu='{text}'>"
            f'<a href="{escape(markdown)}" type="text/markdown">{label}</a></roaming-menu>'
            f'<script type="module" src="{script}" data-roaming></script>'
        )

    def _make_items(self, item: Item, path: str, markdown: str) -> Iterator[dict[str, Any]]:
        words = self._words
        if item == "copy":
            yield _make_item("copy", words["copyPage"], words["copyNote"])
        elif item == "view":
            yield _make_item("page", words["viewPage"], words["viewNote"], href=markdown)
        elif item == "mcp" and self._clients:
            yield {"group": words["connect"], "items": self._clients}
        elif item == "community":
            if self._options.community:
                yield _make_item("people", words["talk"], words["talkNote"], href=self._options.community)
        elif item in _ASSISTANTS and self._site.url:
            name, address, _ = _ASSISTANTS[item]
            prompt = words["readPage"].replace("{url}", self._site.url + quote(markdown_path(path)))
            title = words["openIn"].replace("{name}", name)
            yield _make_item("open", title, words["openNote"], href=address + quote(prompt, safe=""))


def _make_item(icon: str, text: str, note: str, **action: str) -> dict[str, str]:
    """Return the data of an item: without `href` or `copy` it copies the page."""
    return {"icon": icon, "text": text, "note": note, **action}


def _find_place(html: str, title: str) -> int:
    """Return the offset for the element; a negative number if there is no place for it.

    In Material and Zensical it is among the buttons of the theme. Elsewhere it is before the heading with the page's
    title; a logo may be a heading, too, so a heading without that text counts only within the main content.
    """
    if article := _MATERIAL_ARTICLE.search(html):
        return article.end()
    body = find_content_start(html) or 0
    main = _MAIN.search(html, body)
    wanted = _letters(title)
    first = -1
    start = -1
    for tag in _TITLE_TAG.finditer(html, body):
        if not tag[1]:
            start = tag.start()
            if first < 0 and main and main.end() <= start:
                first = start
        elif start >= 0:
            if wanted and _letters(html[start : tag.start()]).startswith(wanted):
                return start
            start = -1
    return first


def _letters(text: str) -> str:
    """Return the letters and digits of HTML or Markdown, for comparisons."""
    plain = unescape(_TAG.sub("", text))
    return "".join(filter(str.isalnum, plain)).casefold()


# Files

_SCRIPT = "roaming/roaming-menu.js"
_SHEET = "roaming/roaming-menu.css"


def iter_page_menu_files() -> Iterator[tuple[str, bytes]]:
    """Return path and content of the menu's files."""
    return ((path, read_asset(path)) for path in (_SCRIPT, _SHEET))
