"""The elements that a build adds to the pages of a site: links to the Markdown, the widget and the page menu."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mkdocs_roaming.manifest.models import Site
from mkdocs_roaming.publish.elements.menu import (
    PageMenu,
    PageMenuOptions,
    iter_page_menu_files,
    parse_page_menu_options,
    remove_page_menu,
)
from mkdocs_roaming.publish.elements.not_found import remove_similar_pages
from mkdocs_roaming.publish.elements.questions import SiteQuestions, load_site_questions
from mkdocs_roaming.publish.elements.search_dialog import remove_search_dialog_name
from mkdocs_roaming.publish.elements.widget import (
    WidgetOptions,
    add_widget,
    iter_widget_files,
    parse_widget_options,
    remove_widget,
)
from mkdocs_roaming.publish.options import PublishOptions
from mkdocs_roaming.publish.pipeline import Batch
from mkdocs_roaming.publish.pointers import remove_markdown_links


@dataclass(frozen=True, slots=True)
class ElementOptions:
    """The options of the widget and of the page menu; None for an element that pages do not have.

    `mcp_endpoint` is the answer endpoint if it offers MCP, too. `on_disk` is set for sites that are
    opened from a disk.
    """

    widget: WidgetOptions | None
    questions: SiteQuestions
    menu: PageMenuOptions | None
    mcp_endpoint: str
    on_disk: bool = False

    @classmethod
    def parse(
        cls, options: PublishOptions, folder: Path, *, own_endpoint: str = "", on_disk: bool = False
    ) -> ElementOptions:
        """Parse the options `widget` and `page_menu`.

        Args:
            options: The options of the site.
            folder: The folder of the configuration file.
            own_endpoint: The endpoint of `mkdocs serve`, which offers no MCP; see `parse_widget_options`.
            on_disk: Whether the site is opened from a disk.

        Raises:
            PublishError: An option is invalid, or the question file is.
        """
        widget = parse_widget_options(options.widget, own_endpoint=own_endpoint)
        endpoint = widget.endpoint if widget and not own_endpoint else ""
        questions = load_site_questions(widget.questions, folder) if widget else SiteQuestions()
        return cls(widget, questions, parse_page_menu_options(options.page_menu), endpoint, on_disk)


class PageElements:
    """The widget and the page menu of one site.

    Attributes:
        menu: The page menu, None if pages have none.
    """

    def __init__(self, options: ElementOptions, site: Site) -> None:
        self._widget, self._questions, self._site = options.widget, options.questions, site
        self._on_disk = options.on_disk
        self.menu = PageMenu(options.menu, site, options.mcp_endpoint) if options.menu else None

    def iter_files(self) -> Iterator[tuple[str, bytes]]:
        """Yield path and content of the files of the elements."""
        if self._widget:
            yield from iter_widget_files(self._site.language, on_disk=self._on_disk)
        if self.menu:
            yield from iter_page_menu_files()

    def assign_questions(self, batch: Batch, front_matter: Mapping[str, Mapping[str, Any]]) -> None:
        """Set the questions of all pages; `front_matter` is that of the pages by path."""
        if self._widget:
            self._questions.assign(batch.pages, front_matter, self._site.url)

    def add(self, html: str, path: str, batch: Batch, *, has_widget: bool = True, root: str = "") -> str:
        """Add the elements to a page; those of an earlier build are removed.

        Args:
            html: The page.
            path: The path of the page. A page that is not published has no menu.
            batch: The published pages.
            has_widget: Whether the page has the widget.
            root: See `relative_url`.
        """
        html = remove_page_menu(remove_widget(html))
        converted = batch.converted.get(path)
        if self._widget and has_widget:
            own, home = (batch.pages[one].questions if one in batch.pages else () for one in (path, ""))
            suggestions = self._questions.suggest(own, home)
            is_published, on_disk = converted is not None, self._on_disk
            html = add_widget(
                html, self._widget, path, self._site, suggestions, published=is_published, on_disk=on_disk, root=root
            )
        return self.menu.add(html, path, converted.sections[0].title, root) if self.menu and converted else html


def remove_page_elements(html: str) -> str:
    """Remove everything that an earlier build has added to a page."""
    html = remove_search_dialog_name(remove_similar_pages(html))
    return remove_page_menu(remove_widget(remove_markdown_links(html)))
