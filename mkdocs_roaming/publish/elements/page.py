"""The elements that some sites have on their pages: the widget with suggested questions, and the page menu."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from mkdocs_roaming.manifest.descriptions import Descriptions, index_first_asks
from mkdocs_roaming.manifest.models import NOT_FOUND_PAGE, root_path, sort_paths_by_nav
from mkdocs_roaming.publish.cache import ConvertedPage
from mkdocs_roaming.publish.elements.finder_index import MAX_SECTIONS
from mkdocs_roaming.publish.elements.html import add_similar_pages
from mkdocs_roaming.publish.elements.menu import (
    PageMenu,
    PageMenuOptions,
    iter_page_menu_files,
    parse_page_menu_options,
)
from mkdocs_roaming.publish.elements.widget import WidgetOptions, add_widget, iter_widget_files, parse_widget_options
from mkdocs_roaming.publish.options import PublishOptions
from mkdocs_roaming.publish.pipeline import Batch
from mkdocs_roaming.text.markdown import to_single_line

MAX_SUGGESTIONS = 4
"""Maximum number of questions that a page suggests."""
_QUESTION_MARKS = ("?", "？", "؟")


@dataclass(frozen=True, slots=True)
class ElementOptions:
    """The options of the widget and of the page menu; None for an element that pages do not have.

    `mcp` is the URL of the site's MCP server, which may be relative to the site; empty without one.
    """

    widget: WidgetOptions | None = None
    menu: PageMenuOptions | None = None
    mcp: str = ""

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
        return cls(widget, parse_page_menu_options(options.page_menu), options.find_mcp_url(endpoint=endpoint))


class PageElements:
    """The widget and the page menu of one site.

    Attributes:
        menu: The page menu, None if pages have none.
    """

    def __init__(self, options: ElementOptions, batch: Batch, descriptions: Descriptions | None = None) -> None:
        self._widget = options.widget
        self._batch = batch
        self._site = batch.site
        if options.widget:
            sections = sum(len(page.sections) for page in batch.converted.values())
            if sections > MAX_SECTIONS:
                self._widget = replace(options.widget, replace_search=False)
        self.menu = PageMenu(options.menu, batch.site, options.mcp) if options.menu else None
        self._asks = index_first_asks(descriptions) if descriptions else {}
        self._home_asks: list[str] | None = None  # the first question of each page

    def iter_files(self) -> Iterator[tuple[str, bytes]]:
        """Yield path and content of the files of the elements."""
        if self._widget:
            yield from iter_widget_files(self._site.language)
        if self.menu:
            yield from iter_page_menu_files()

    def add_to_not_found(self, html: str) -> str:
        """Add links to similar addresses and the widget to the 404 page."""
        html = add_similar_pages(html, self._site)
        return self.add(html, NOT_FOUND_PAGE, root=root_path(self._site.url))

    def add(self, html: str, path: str, *, has_widget: bool = True, root: str = "") -> str:
        """Add the elements to a page.

        Args:
            html: The page.
            path: The path of the page. A page that is not published has no menu.
            has_widget: Whether the page has the widget.
            root: See `relative_url`.
        """
        converted = self._batch.converted.get(path)
        if self._widget and has_widget:
            is_published = converted is not None
            suggestions = self._suggest_questions(path)
            html = add_widget(html, self._widget, path, self._site, suggestions, published=is_published, root=root)
        if self.menu and converted:
            html = self.menu.add(html, path, converted.sections[0].title, root)
        return html

    def _suggest_questions(self, path: str) -> tuple[str, ...]:
        """Return the questions of a page, of the options, of the home page, of a model, or in headings."""
        pages = self._batch.pages
        widget = self._widget
        questions: tuple[str, ...] = pages[path].questions if path in pages else ()
        if not questions and widget:
            questions = tuple(map(to_single_line, widget.questions))
        if not questions and "" in pages:
            questions = pages[""].questions
        questions = questions or self._suggest_asks(path) or _find_questions(self._batch.converted.get(path))
        return questions[:MAX_SUGGESTIONS]

    def _suggest_asks(self, path: str) -> tuple[str, ...]:
        """Return the first question of each section; for the home page and pages without any also of other pages."""
        asks = self._find_asks(path)
        if self._asks and (not asks or not path):
            if self._home_asks is None:
                self._home_asks = []
                for page_path in sort_paths_by_nav(self._site, self._batch.pages):
                    self._home_asks += self._find_asks(page_path)[:1]
            asks += self._home_asks
        return tuple(dict.fromkeys(asks))

    def _find_asks(self, path: str) -> list[str]:
        converted = self._batch.converted.get(path)
        if converted is None:
            return []
        keys = [(section.body, to_single_line(section.title)) for section in converted.sections]
        return [self._asks[key] for key in keys if key in self._asks]


def _find_questions(page: ConvertedPage | None) -> tuple[str, ...]:
    """Return the headings of a page that are questions, in any language."""
    if page is None:
        return ()
    titles = dict.fromkeys(to_single_line(section.title) for section in page.sections)
    return tuple(title for title in titles if title.endswith(_QUESTION_MARKS))
