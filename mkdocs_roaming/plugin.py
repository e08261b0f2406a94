"""The MkDocs host: thin hooks that call plain functions.

Pages are converted when all plugins have had their say on the articles (`on_env`), checked against the final HTML
(`on_post_page`), and written when the site stands (`on_post_build`). Works under ProperDocs too, which redirects
`mkdocs.*` imports.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from fnmatch import fnmatchcase
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urljoin, urlsplit

from mkdocs.config import config_options as option
from mkdocs.config.base import Config
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.plugins import BasePlugin, event_priority, get_plugin_logger
from mkdocs.structure import StructureItem
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.nav import Link, Navigation
from mkdocs.structure.pages import Page as MkDocsPage

from mkdocs_roaming.errors import RoamingError
from mkdocs_roaming.manifest import PATH as MANIFEST
from mkdocs_roaming.outline import BUDGET, SMALLEST
from mkdocs_roaming.page import Alternate, NavItem, Page, Site, canonical_path, markdown_path
from mkdocs_roaming.publish.cache import Cache, cache_folder
from mkdocs_roaming.publish.discovery import decorate
from mkdocs_roaming.publish.final import final_article, left_out
from mkdocs_roaming.publish.previous import read_previous
from mkdocs_roaming.publish.publisher import Batch, Options, convert_again, convert_pages, publish

if TYPE_CHECKING:
    from mkdocs_roaming.publish.rules import RuleBook

log = get_plugin_logger("roaming")

LAST = -1000
"""The priority of what has to see the pages as all other plugins leave them."""


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
    rules = option.Type(object, default=[])  # read by publish.rules, which tells the line of what is wrong
    rules_mode = option.Choice(("each", "pool"), default="each")


class RoamingPlugin(BasePlugin[RoamingConfig]):  # type: ignore[no-untyped-call]  # as above
    """Publishes a MkDocs site so that it can be roamed.

    What it keeps is of one build. With mkdocs-static-i18n a build of each language stands inside that of the first.
    """

    def __init__(self) -> None:
        self._nav: Navigation | None = None
        self._batches: dict[str, Batch] = {}
        self._rules: dict[str, RuleBook | None] = {}
        self._seconds: dict[str, float] = {}
        self._dirty = False

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
        self._rules_of((), config)
        return config

    @event_priority(LAST)
    def on_nav(self, nav: Navigation, *, config: MkDocsConfig, files: Files) -> Navigation:
        """Keep the nav as the other plugins left it; titles are read later, when the pages are loaded."""
        self._nav = nav
        if not _inner_build(config):
            self._batches, self._seconds = {}, {}
        return nav

    @event_priority(LAST)  # autorefs resolves cross-references here, at -50
    def on_env(self, env: Any, *, config: MkDocsConfig, files: Files) -> None:
        """Convert every page."""
        if not self.config.enabled:
            return
        started = time.perf_counter()
        pages = [file.page for file in _published(files) if file.page is not None]
        self._dirty = any(page.content is None for page in pages)
        if self._dirty:
            log.info("a dirty build reads only what was edited: nothing is published; build without --dirty")
            return
        folder = _folder(config)
        nav = tuple(_items(self._nav.items, folder, config)) if self._nav else ()
        site = _site(config, self.config.description, nav)
        chosen = [page for page in _with_posts_in_order(pages) if self._chosen(page, folder)]
        cache = Cache(_cache_folder(config) / folder if self.config.cache else None)
        try:
            made = convert_pages(site, (_page(page, folder) for page in chosen), cache=cache, warn=log.warning)
        except RoamingError as error:
            raise PluginError(f"roaming: {error}") from error
        self._rules[folder] = self._rules_of(pages, config)
        self._batches[folder] = made
        self._seconds[folder] = time.perf_counter() - started

    @event_priority(LAST)  # encryption plugins replace articles here
    def on_post_page(self, output: str, *, page: MkDocsPage, config: MkDocsConfig) -> str:
        """Leave out what the final HTML hides; point from the others to their Markdown."""
        folder = _folder(config)
        path = _path(page, folder)
        batch = self._batches.get(folder)
        if path is None or batch is None:
            known = path is not None and self._dirty and (Path(config.site_dir) / folder / markdown_path(path)).exists()
            return decorate(output, path) if path is not None and known else output
        converted = batch.pages.get(path)
        if converted is None or converted.source != page.file.src_uri:
            return output
        if reason := left_out(output) if output.strip() else "another plugin leaves it out":
            log.info(f"{page.file.src_uri}: {reason}; not published")
            batch.drop(path)
            return output
        shown = final_article(converted.article, output)
        article = _with_template(shown, output, page)
        if article is None:
            # A template of its own tells why; anything else is a surprise.
            tell = log.info if page.meta.get("template") else log.warning
            tell(
                f"{page.file.src_uri}: the built page does not show the words of its article (encrypted, or left out "
                "by its template); nothing of it is published; `llms: false` in its front matter ends this message"
            )
            batch.drop(path)
            return output
        if shown not in (converted.article, None):
            log.info(f"{page.file.src_uri}: the built page hides a part of its article; only the rest is published")
        if article != converted.article:
            convert_again(batch, replace(converted, article=article, source_text=_source_text(page, article)))
        return decorate(output, path)

    @event_priority(LAST)  # mkdocs-static-i18n builds the other languages here, at -100
    def on_post_build(self, *, config: MkDocsConfig) -> None:
        """Write everything, the manifest last, and say what was done in one line."""
        inner = _inner_build(config)
        folders = [_folder(config)] if inner else list(self._batches)
        for folder in folders:
            if batch := self._batches.pop(folder, None):
                self._publish(batch, folder, config)
        if inner:
            return
        self._nav = None
        if self.config.cache and not self._dirty:
            _forget_languages(config)

    def _publish(self, batch: Batch, folder: str, config: MkDocsConfig) -> None:
        started = time.perf_counter()
        if not batch.pages:
            batch.cache.keep(())  # nor does the cache keep what is hidden now
        if folder and not batch.pages:
            log.warning(f"{folder}: no page to publish; other languages name its manifest all the same")
            return
        section_files: Any = self.config.section_files
        options = Options(self.config.llms_full, section_files, self.config.outline_tokens)
        previous = None
        if where := self.config.previous:
            base = Path(config.config_file_path or ".").parent
            previous = read_previous(_in_language(where, folder), base, log.warning)
        try:
            rules = self._rules.get(folder)
            report = publish(batch, Path(config.site_dir) / folder, options, previous=previous, rules=rules)
        except RoamingError as error:
            raise PluginError(f"roaming: {error}") from error
        for note in report.notes:
            log.info(note)
        seconds = self._seconds[folder] + time.perf_counter() - started
        log.info(f"{folder and folder + ': '}{report} ({seconds:.1f} s)")

    def _rules_of(self, pages: Iterable[MkDocsPage], config: MkDocsConfig) -> RuleBook | None:
        """Read the rules of mkdocs.yml and of the pages' front matter; most sites have none."""
        own = [page for page in pages if "roaming" in page.meta]
        if not self.config.rules and not own:
            return None
        from mkdocs_roaming.publish.rules import RuleBook, rules_of_config, rules_of_page

        file = config.config_file_path
        try:
            rules = rules_of_config(self.config.rules, Path(file) if file else None)
            for page in own:
                where = page.file.abs_src_path
                source, text = page.file.src_uri, page.file.content_string
                rules += rules_of_page(page.meta["roaming"], source, text, Path(where) if where else None)
        except RoamingError as error:
            raise PluginError(f"roaming: {error}") from error
        return RuleBook(rules, self.config.rules_mode, lenient=bool(_folder(config)))

    def _chosen(self, page: MkDocsPage, folder: str) -> bool:
        source, path = page.file.src_uri, _path(page, folder)
        if page.meta.get("llms") is False or path is None or path.strip("/") in ("404", "404.html"):
            return False
        if self.config.include and not _matches(source, self.config.include):
            return False
        return not _matches(source, self.config.exclude)


def _published(files: Files) -> Iterator[File]:
    return (file for file in files.documentation_pages() if file.inclusion.value >= InclusionLevel.NOT_IN_NAV.value)


def _with_posts_in_order(pages: Sequence[MkDocsPage]) -> list[MkDocsPage]:
    """Give the pages, a blog's posts last and in the blog's order."""
    posts: dict[int, int] = {}
    for page in pages:
        for post in _posts(page) or ():
            posts.setdefault(id(post), len(posts))
    return sorted(pages, key=lambda page: posts.get(id(page), -1))


def _posts(page: MkDocsPage) -> list[Any] | None:
    """Give the posts that a page lists, None where it is no list of a blog's."""
    posts = getattr(page, "posts", None)
    return posts if isinstance(posts, list) else None


def _matches(source: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(source, pattern) for pattern in patterns)


def _items(items: Iterable[StructureItem], folder: str, config: MkDocsConfig) -> Iterator[NavItem]:
    """Give the nav as it stands; mkdocs-section-index makes a section that is a page too."""
    for item in items:
        title, children = _plain(item.title), tuple(_items(getattr(item, "children", None) or (), folder, config))
        if isinstance(item, MkDocsPage):
            path = _path(item, folder)
            yield NavItem(title, path, None if path is not None else item.canonical_url, children)
            for at, further in enumerate(getattr(item, "pages", [])[1:], 2):  # of a blog's list that is a long one
                yield NavItem(f"{title} ({at})", _path(further, folder))
        else:
            url = urljoin(_url(config), item.url) if isinstance(item, Link) else None
            yield NavItem(title, url=url, children=children)


def _page(page: MkDocsPage, folder: str) -> Page:
    meta = page.meta
    tags = meta.get("tags")
    return Page(
        path=_path(page, folder) or "",
        title=_plain(page.title),
        article=page.content or "",
        source=page.file.src_uri,
        source_text=page.markdown,
        description=" ".join(str(meta.get("description") or "").split()),
        tags=tuple(str(tag) for tag in tags) if isinstance(tags, list) else (),
    )


def _source_text(page: MkDocsPage, article: str) -> str | None:
    """Give the Markdown that an article was rendered from: of a list also that of the posts it links to."""
    posts = [post for post in _posts(page) or () if post.url.rstrip("/").rpartition("/")[2] in article]
    return "\n\n".join([page.markdown or "", *(post.markdown or "" for post in posts)]) if posts else page.markdown


def _with_template(article: str | None, html: str, page: MkDocsPage) -> str | None:
    """Give the article with what the page's template adds."""
    if not _posts(page) and not page.meta.get("template"):
        return article
    from mkdocs_roaming.publish.shown import listed_article, templated_article  # a parser, which few sites need

    return listed_article(article, html) if _posts(page) else templated_article(article, html)


def _path(page: MkDocsPage, folder: str) -> str | None:
    """Give the page's path below its language's folder, None outside of it; `./` is MkDocs' URL of the home page."""
    path = canonical_path(unquote(urlsplit(page.url).path.removeprefix("./")))
    if not folder:
        return path
    return path.removeprefix(folder + "/") if path.startswith(folder + "/") else None


def _plain(title: object) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", "", str(title or ""))).split())


# The site that is built: its address, its language and version


def _site(config: MkDocsConfig, description: str | None, nav: tuple[NavItem, ...]) -> Site:
    folder, i18n = _folder(config), _i18n(config)
    language = config.theme.get("language") or config.theme.get("locale") or "en"
    return Site(
        name=config.site_name,
        url=_url(config) + (f"{folder}/" if folder else ""),
        description=description or config.site_description or "",
        language=str(i18n.current_language if i18n else language).replace("_", "-"),
        version=os.environ.get(_MIKE_VERSION) if "mike" in config.plugins else None,
        alternates=tuple(_alternates(config, i18n)) if i18n else (),
        nav=nav,
        nav_source="mkdocs",
    )


_MIKE_VERSION = "MIKE_DOCS_VERSION"


def _url(config: MkDocsConfig, given: str | None = None) -> str:
    """Give the address that is built for. With a canonical version, mike sets that one's on the pages of all."""
    url = (given or config.site_url or "").rstrip("/")
    canonical = config.plugins["mike"].config.get("canonical_version") if "mike" in config.plugins else None
    if canonical and os.environ.get(_MIKE_VERSION):
        url = url.removesuffix(f"/{canonical}") + "/" + os.environ[_MIKE_VERSION]
    return url + "/"


def _i18n(config: MkDocsConfig) -> Any:
    """Give mkdocs-static-i18n, None where there is only one language."""
    plugin: Any = config.plugins.get("i18n")
    return plugin if getattr(plugin, "current_language", None) else None


def _inner_build(config: MkDocsConfig) -> bool:
    """Tell whether this is a build inside the first language's."""
    return bool(getattr(config.plugins.get("i18n"), "building", False))


def _folder(config: MkDocsConfig) -> str:
    """Give the folder of the language that is built: its locale, or nothing for the default language."""
    i18n = _i18n(config)
    return "" if i18n is None or i18n.is_default_language_build else str(i18n.current_language)


def _alternates(config: MkDocsConfig, i18n: Any) -> Iterator[Alternate]:
    for locale in i18n.build_languages:
        if locale != i18n.current_language:
            own = i18n.get_language_config(locale).site_url or i18n.original_configs.get("site_url")
            folder = "" if locale == i18n.default_language else f"{locale}/"
            yield Alternate(f"{_url(config, own)}{folder}{MANIFEST}", language=locale.replace("_", "-"))


def _in_language(previous: str, folder: str) -> str:
    """Give where a language's previous manifest is, by where the default language's is."""
    if not folder:
        return previous
    site = previous.removesuffix(MANIFEST).rstrip("/")
    return f"{site}/{folder}" if site != previous or not previous.endswith(".json") else previous


def _cache_folder(config: MkDocsConfig) -> Path:
    return cache_folder(Path(config.config_file_path or ".").parent)


def _forget_languages(config: MkDocsConfig) -> None:
    """Remove what was kept of languages that are built no longer: nothing else would look at it again."""
    i18n = _i18n(config)
    living = i18n.build_languages if i18n else ()
    with suppress(OSError):
        for folder in _cache_folder(config).iterdir():
            if folder.is_dir() and folder.name not in living:
                for file in folder.glob("*.json"):
                    file.unlink(missing_ok=True)
                folder.rmdir()
