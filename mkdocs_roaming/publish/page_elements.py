"""The elements that a build adds to the pages of a site: links to the Markdown, the widget and the page menu."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mkdocs_roaming.manifest.models import Site
from mkdocs_roaming.publish.cache import ConvertedPage
from mkdocs_roaming.publish.options import PublishOptions
from mkdocs_roaming.publish.page_menu import (
    PageMenu,
    PageMenuOptions,
    iter_page_menu_files,
    parse_page_menu_options,
    remove_page_menu,
)
from mkdocs_roaming.publish.pointers import remove_markdown_links
from mkdocs_roaming.publish.widget import (
    WidgetOptions,
    add_widget,
    iter_widget_files,
    parse_widget_options,
    remove_widget,
    suggest_questions,
)


@dataclass(frozen=True, slots=True)
class ElementOptions:
    """The options of the widget and of the page menu; None for an element that pages do not have.

    `mcp_endpoint` is the answer endpoint if it offers MCP, too.
    """

    widget: WidgetOptions | None
    menu: PageMenuOptions | None
    mcp_endpoint: str

    @classmethod
    def parse(cls, options: PublishOptions, *, own_endpoint: str = "") -> ElementOptions:
        """Parse the options `widget` and `page_menu`.

        Args:
            options: The options of the site.
            own_endpoint: The endpoint of `mkdocs serve`, which offers no MCP; see `parse_widget_options`.

        Raises:
            PublishError: An option is invalid.
        """
        widget = parse_widget_options(options.widget, own_endpoint=own_endpoint)
        endpoint = widget.endpoint if widget and not own_endpoint else ""
        return cls(widget, parse_page_menu_options(options.page_menu), endpoint)


class PageElements:
    """The widget and the page menu of one site.

    Attributes:
        menu: The page menu, None if pages have none.
    """

    def __init__(self, options: ElementOptions, site: Site) -> None:
        self._widget, self._site = options.widget, site
        self.menu = PageMenu(options.menu, site, options.mcp_endpoint) if options.menu else None

    def iter_files(self) -> Iterator[tuple[str, bytes]]:
        """Yield path and content of the files of the elements."""
        if self._widget:
            yield from iter_widget_files(self._site.language)
        if self.menu:
            yield from iter_page_menu_files()

    def add(self, html: str, path: str, converted: ConvertedPage | None, ask: object) -> str:
        """Add the elements to a page; those of an earlier build are removed.

        Args:
            html: The page.
            path: The path of the page.
            converted: Its conversion; None for a page that is not published, which has no menu.
            ask: The key of its front matter: suggestions, or false for a page without the widget.
        """
        html = remove_page_menu(remove_widget(html))
        if self._widget and ask is not False:
            suggestions = suggest_questions(ask, converted.sections) if converted else ()
            html = add_widget(html, self._widget, path, self._site.url, suggestions, published=converted is not None)
        return self.menu.add(html, path, converted.sections[0].title) if self.menu and converted else html


def remove_page_elements(html: str) -> str:
    """Remove everything that an earlier build has added to a page."""
    return remove_page_menu(remove_widget(remove_markdown_links(html)))
