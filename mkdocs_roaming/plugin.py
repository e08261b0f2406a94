"""The MkDocs host: thin hooks that call plain functions.

Pages are converted when all plugins have had their say on the articles (`on_env`), checked against the final HTML
(`on_post_page`), and written when the site stands (`on_post_build`). Works under ProperDocs too, which redirects
`mkdocs.*` imports.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from mkdocs.config import config_options as option
from mkdocs.config.base import Config
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.plugins import BasePlugin, event_priority, get_plugin_logger
from mkdocs.structure import StructureItem
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.nav import Navigation
from mkdocs.structure.pages import Page as MkDocsPage

from mkdocs_roaming.errors import RoamingError
from mkdocs_roaming.outline import BUDGET, SMALLEST
from mkdocs_roaming.page import NavItem, Page, Site, canonical_path
from mkdocs_roaming.publish.cache import Cache, cache_folder
from mkdocs_roaming.publish.discovery import decorate
from mkdocs_roaming.publish.previous import read_previous
from mkdocs_roaming.publish.publisher import Batch, Options, convert_pages, publish
from mkdocs_roaming.publish.whole import left_out, still_whole

log = get_plugin_logger("roaming")


class RoamingConfig(Config):  # type: ignore[no-untyped-call]  # mkdocs leaves it untyped
    """The plugin's options; none needs to be set."""

    enabled = option.Type(bool, default=True)
    include = option.ListOfItems(option.Type(str), default=[])
    exclude = option.ListOfItems(option.Type(str), default=[])
    description = option.Optional(option.Type(str))
    llms_full = option.Type(bool, default=True)
    section_files = option.Choice(("auto", True, False), default="auto")
    outline_tokens = option.Type(int, default=BUDGET)
    previous = option.Optional(option.Type(str))
    cache = option.Type(bool, default=True)


class RoamingPlugin(BasePlugin[RoamingConfig]):  # type: ignore[no-untyped-call]  # as above
    """Publishes a MkDocs site so that it can be roamed."""

    def __init__(self) -> None:
        self._nav: Navigation | None = None
        self._batch: Batch | None = None
        self._seconds = 0.0

    def on_config(self, config: MkDocsConfig) -> MkDocsConfig:
        """Check what can be checked before anything is built."""
        if not self.config.enabled:
            return config
        if not config.site_url:
            raise PluginError(
                "roaming: site_url is not set, but links in llms.txt and Markdown have to be absolute; "
                "add `site_url: https://…/` to mkdocs.yml"
            )
        if self.config.outline_tokens < SMALLEST:
            raise PluginError(f"roaming: outline_tokens is {self.config.outline_tokens}; set it to {SMALLEST} or more")
        return config

    @event_priority(-100)
    def on_nav(self, nav: Navigation, *, config: MkDocsConfig, files: Files) -> Navigation:
        """Keep the nav as the other plugins left it; titles are read later, when the pages are loaded."""
        self._nav = nav
        self._batch = None
        return nav

    @event_priority(-100)  # autorefs resolves cross-references here, at -50
    def on_env(self, env: Any, *, config: MkDocsConfig, files: Files) -> None:
        """Convert every page."""
        if not self.config.enabled:
            return
        started = time.perf_counter()
        pages = [file.page for file in _published(files) if file.page is not None and file.page.content is not None]
        if any(file.page is not None and file.page.content is None for file in _published(files)):
            log.info("a dirty build reads only what was edited: nothing is published; build without --dirty")
            return
        site = _site(config, self.config.description, self._nav)
        chosen = [page for page in pages if self._chosen(page)]
        cache = Cache(cache_folder(Path(config.config_file_path or ".").parent) if self.config.cache else None)
        try:
            self._batch = convert_pages(site, (_page(page) for page in chosen), cache=cache, warn=log.warning)
        except RoamingError as error:
            raise PluginError(f"roaming: {error}") from error
        self._seconds = time.perf_counter() - started

    @event_priority(-100)
    def on_post_page(self, output: str, *, page: MkDocsPage, config: MkDocsConfig) -> str:
        """Leave out what the final HTML hides; point from the others to their Markdown."""
        if self._batch is None:
            return output
        path = _path(page)
        converted = self._batch.pages.get(path)
        if converted is None or converted.source != page.file.src_uri:
            return output
        if reason := left_out(output):
            log.info(f"{page.file.src_uri}: {reason}; not published")
        elif not still_whole(converted.article, output):
            log.warning(
                f"{page.file.src_uri}: the built page does not show the words of its article (encrypted, or left out "
                "by its template); nothing of it is published; `llms: false` in its front matter ends this warning"
            )
        else:
            return decorate(output, path)
        self._batch.drop(path)
        return output

    @event_priority(-100)
    def on_post_build(self, *, config: MkDocsConfig) -> None:
        """Write everything, the manifest last, and say what was done in one line."""
        if self._batch is None:
            return
        started = time.perf_counter()
        section_files: Any = self.config.section_files
        options = Options(self.config.llms_full, section_files, self.config.outline_tokens)
        base = Path(config.config_file_path or ".").parent
        previous = read_previous(self.config.previous, base, log.warning) if self.config.previous else None
        try:
            report = publish(self._batch, Path(config.site_dir), options, previous=previous)
        except RoamingError as error:
            raise PluginError(f"roaming: {error}") from error
        for note in report.notes:
            log.info(note)
        log.info(f"{report} ({self._seconds + time.perf_counter() - started:.1f} s)")
        self._batch = None

    def _chosen(self, page: MkDocsPage) -> bool:
        source = page.file.src_uri
        if page.meta.get("llms") is False or _path(page).strip("/") in ("404", "404.html"):
            return False
        if self.config.include and not _matches(source, self.config.include):
            return False
        return not _matches(source, self.config.exclude)


def _published(files: Files) -> Iterator[File]:
    return (file for file in files.documentation_pages() if file.inclusion.value >= InclusionLevel.NOT_IN_NAV.value)


def _matches(source: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(source, pattern) for pattern in patterns)


def _site(config: MkDocsConfig, description: str | None, nav: Navigation | None) -> Site:
    language = config.theme.get("language") or config.theme.get("locale") or "en"
    return Site(
        name=config.site_name,
        url=(config.site_url or "").rstrip("/") + "/",
        description=description or config.site_description or "",
        language=str(language),
        nav=tuple(_items(nav.items)) if nav else (),
        nav_source="mkdocs",
    )


def _items(items: Iterable[StructureItem]) -> Iterator[NavItem]:
    """Give the nav as it stands; mkdocs-section-index makes a section that is a page too."""
    for item in items:
        children = tuple(_items(getattr(item, "children", None) or ()))
        if isinstance(item, MkDocsPage):
            yield NavItem(_plain(item.title), _path(item), children=children)
        elif item.is_link:
            yield NavItem(_plain(item.title), url=getattr(item, "url", None))
        else:
            yield NavItem(_plain(item.title), children=children)


def _page(page: MkDocsPage) -> Page:
    meta = page.meta
    tags = meta.get("tags")
    return Page(
        path=_path(page),
        title=_plain(page.title),
        article=page.content or "",
        source=page.file.src_uri,
        source_text=page.markdown,
        description=" ".join(str(meta.get("description") or "").split()),
        tags=tuple(str(tag) for tag in tags) if isinstance(tags, list) else (),
    )


def _path(page: MkDocsPage) -> str:
    """Give the page's path: `./` is how MkDocs writes the home page's URL."""
    return canonical_path(unquote(urlsplit(page.url).path.removeprefix("./")))


def _plain(title: object) -> str:
    return " ".join(re.sub(r"<[^>]+>", "", str(title or "")).split())
