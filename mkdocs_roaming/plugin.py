"""The MkDocs host: thin hooks that call plain functions.

Pages are converted when all plugins have had their say on the articles (`on_env`), checked against the final HTML
(`on_post_page`), and written when the site stands (`on_post_build`). Works under ProperDocs too, which redirects
`mkdocs.*` imports.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from mkdocs.config import config_options as option
from mkdocs.config.base import Config
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.plugins import BasePlugin, event_priority, get_plugin_logger
from mkdocs.structure.files import Files
from mkdocs.structure.nav import Navigation
from mkdocs.structure.pages import Page as MkDocsPage

from mkdocs_roaming._mkdocs import (
    add_template_content,
    cache_folder,
    dev_server_path,
    is_inner_build,
    iter_nav_items,
    language_folder,
    localize_previous,
    make_page,
    make_site,
    matches_any,
    order_posts,
    page_path,
    published_files,
    read_source_text,
    remove_stale_caches,
    site_url,
)
from mkdocs_roaming.errors import RoamingError
from mkdocs_roaming.html.final_page import exclusion_reason, reconcile_article
from mkdocs_roaming.manifest.models import markdown_path
from mkdocs_roaming.manifest.outline import MIN_OUTLINE_BUDGET, OUTLINE_BUDGET
from mkdocs_roaming.publish.cache import ConversionCache
from mkdocs_roaming.publish.llms_txt import add_markdown_links
from mkdocs_roaming.publish.pipeline import Batch, convert_pages, reconvert_page
from mkdocs_roaming.publish.writer import PublishOptions, publish_batch

if TYPE_CHECKING:
    from mkdocs_roaming.embeddings.store import EmbeddingsOptions
    from mkdocs_roaming.lint.config import Config as Lint
    from mkdocs_roaming.publish.rules import RuleSet
    from mkdocs_roaming.publish.widget import WidgetOptions

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
    outline_tokens = option.Type(int, default=OUTLINE_BUDGET)
    previous = option.Optional(option.Type(str))
    lint = option.Type(object, default="off")  # read by lint.config
    cache = option.Type(bool, default=True)
    rules = option.Type(object, default=[])  # read by publish.rules, which tells the line of what is wrong
    rules_mode = option.Choice(("each", "pool"), default="each")
    widget = option.Type(object, default=False)  # read by publish.widget
    search = option.Choice(("lexical", "hybrid"), default="lexical")
    embeddings = option.Type(dict, default={})  # read by publish.meaning
    serve_model = option.Optional(option.Type(str))
    classes = option.Type(dict, default={})  # checked by html.themes


class RoamingPlugin(BasePlugin[RoamingConfig]):  # type: ignore[no-untyped-call]  # as above
    """Publishes a MkDocs site so that it can be roamed.

    What it keeps is of one build. With mkdocs-static-i18n a build of each language stands inside that of the first.
    """

    def __init__(self) -> None:
        self._nav: Navigation | None = None
        self._batches: dict[str, Batch] = {}
        self._rules: dict[str, RuleSet | None] = {}
        self._seconds: dict[str, float] = {}
        self._dirty = False
        self._lint: Lint | None = None
        self._widget: WidgetOptions | None = None
        self._meaning: EmbeddingsOptions | None = None

    def on_config(self, config: MkDocsConfig) -> MkDocsConfig:
        """Check what can be checked before anything is built."""
        if not self.config.enabled:
            return config
        if not config.site_url:
            raise PluginError(
                "roaming: site_url is not set, but links in llms.txt and Markdown have to be absolute; "
                "add `site_url: https://…/` to mkdocs.yml"
            )
        if self.config.outline_tokens < MIN_OUTLINE_BUDGET:
            raise PluginError(
                f"roaming: outline_tokens is {self.config.outline_tokens}; set it to {MIN_OUTLINE_BUDGET} or more"
            )
        self._rules_of((), config)
        self._lint = self._lint_of()
        self._widget = self._widget_of(config)
        self._meaning = self._meaning_of()
        self._check_classes()
        return config

    @event_priority(LAST)
    def on_nav(self, nav: Navigation, *, config: MkDocsConfig, files: Files) -> Navigation:
        """Keep the nav as the other plugins left it; titles are read later, when the pages are loaded."""
        self._nav = nav
        if not is_inner_build(config):
            self._batches, self._seconds = {}, {}
        return nav

    @event_priority(LAST)  # autorefs resolves cross-references here, at -50
    def on_env(self, env: Any, *, config: MkDocsConfig, files: Files) -> None:
        """Convert every page."""
        if not self.config.enabled:
            return
        started = time.perf_counter()
        pages = [file.page for file in published_files(files) if file.page is not None]
        self._dirty = any(page.content is None for page in pages)
        if self._dirty:
            log.info("a dirty build reads only what was edited: nothing is published; build without --dirty")
            return
        folder = language_folder(config)
        nav = tuple(iter_nav_items(self._nav.items, folder, config)) if self._nav else ()
        site = replace(make_site(config, self.config.description, nav), classes=self.config.classes)
        chosen = [page for page in order_posts(pages) if self._chosen(page, folder)]
        cache = ConversionCache(cache_folder(config) / folder if self.config.cache else None)
        try:
            made = convert_pages(site, (make_page(page, folder) for page in chosen), cache=cache, warn=log.warning)
        except RoamingError as error:
            raise PluginError(f"roaming: {error}") from error
        self._rules[folder] = self._rules_of(pages, config)
        self._batches[folder] = made
        self._seconds[folder] = time.perf_counter() - started

    @event_priority(LAST)  # encryption plugins replace articles here
    def on_post_page(self, output: str, *, page: MkDocsPage, config: MkDocsConfig) -> str:
        """Leave out what the final HTML hides; point from the others to their Markdown; add the widget."""
        html = self._checked(output, page, config)
        return self._with_widget(html, page, config) if self._widget and html.strip() else html

    def _checked(self, output: str, page: MkDocsPage, config: MkDocsConfig) -> str:
        folder = language_folder(config)
        path = page_path(page, folder)
        batch = self._batches.get(folder)
        if path is None or batch is None:
            known = path is not None and self._dirty and (Path(config.site_dir) / folder / markdown_path(path)).exists()
            return add_markdown_links(output, path) if path is not None and known else output
        converted = batch.pages.get(path)
        if converted is None or converted.source != page.file.src_uri:
            return output
        if reason := exclusion_reason(output) if output.strip() else "another plugin leaves it out":
            log.info(f"{page.file.src_uri}: {reason}; not published")
            batch.drop(path)
            return output
        shown = reconcile_article(converted.article, output)
        article = add_template_content(shown, output, page)
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
            reconvert_page(batch, replace(converted, article=article, source_text=read_source_text(page, article)))
        return add_markdown_links(output, path)

    @event_priority(LAST)  # mkdocs-static-i18n builds the other languages here, at -100
    def on_post_build(self, *, config: MkDocsConfig) -> None:
        """Write everything, the manifest last, and say what was done in one line."""
        inner = is_inner_build(config)
        folders = [language_folder(config)] if inner else list(self._batches)
        for folder in folders:
            if batch := self._batches.pop(folder, None):
                self._publish(batch, folder, config)
        if inner:
            return
        self._nav = None
        if self.config.cache and not self._dirty:
            remove_stale_caches(config)

    def on_serve(self, server: Any, *, config: MkDocsConfig, builder: Any) -> Any:
        """Answer questions on the dev server's own port. Whatever goes wrong with that, the docs are served."""
        if self.config.enabled:
            try:
                self._answer_on(server, config)
            except Exception as error:
                log.warning(f"questions are not answered here: {' '.join(str(error).split()) or type(error).__name__}")
        return server

    def _answer_on(self, server: Any, config: MkDocsConfig) -> None:
        from mkdocs_roaming.serve.devserver import (  # a build has no use for it
            OFFLINE_CONFIG,
            DevServerEndpoint,
            load_answer_config,
        )

        base = Path(config.config_file_path or ".").parent
        try:
            way = load_answer_config(self.config.serve_model, base, os.environ)
        except RoamingError as error:
            log.warning(f"questions are answered offline: {error}")
            way = OFFLINE_CONFIG
        url = site_url(config)
        server.set_app(DevServerEndpoint(server.get_app(), urlsplit(url).path, Path(config.site_dir), way))
        log.info(f"questions are answered at {url}v1/ask ({way.model.name})")

    def _publish(self, batch: Batch, folder: str, config: MkDocsConfig) -> None:
        started = time.perf_counter()
        if not batch.pages:
            batch.cache.commit(())  # nor does the cache keep what is hidden now
        if folder and not batch.pages:
            log.warning(f"{folder}: no page to publish; other languages name its manifest all the same")
            return
        section_files: Any = self.config.section_files
        options = PublishOptions(self.config.llms_full, section_files, self.config.outline_tokens, self._meaning)
        if self._widget:
            from mkdocs_roaming.publish.widget import write_widget_files  # not every site has it

            write_widget_files(Path(config.site_dir) / folder, batch.site.language)
        previous = None
        if where := self.config.previous:
            from mkdocs_roaming.publish.previous import read_previous  # loads urllib

            base = Path(config.config_file_path or ".").parent
            previous = read_previous(localize_previous(where, folder), base, log.warning)
        try:
            rules = self._rules.get(folder)
            report = publish_batch(batch, Path(config.site_dir) / folder, options, previous=previous, rules=rules)
        except RoamingError as error:
            raise PluginError(f"roaming: {error}") from error
        for note in report.notes:
            log.info(note)
        seconds = self._seconds[folder] + time.perf_counter() - started
        log.info(f"{folder and folder + ': '}{report} ({seconds:.1f} s)")
        if self._lint:
            self._look(self._lint, folder, config)

    def _lint_of(self) -> Lint | None:
        """Read what is to be looked for; most builds look for nothing."""
        if self.config.lint in ("off", False, None):
            return None
        from mkdocs_roaming.lint.config import config_of

        try:
            lint = config_of(self.config.lint, "lint")
        except RoamingError as error:
            raise PluginError(f"roaming: {error}") from error
        return lint if lint.level != "off" else None

    def _look(self, lint: Lint, folder: str, config: MkDocsConfig) -> None:
        """Say what is hard to roam, the worst first; `strict` fails a build, and only warns in `mkdocs serve`."""
        from mkdocs_roaming.lint.formats import format_log
        from mkdocs_roaming.lint.runner import lint_folder

        try:
            report = lint_folder(Path(config.site_dir) / folder, lint, Path(config.docs_dir))
        except RoamingError as error:
            raise PluginError(f"roaming: {error}") from error
        strict = lint.level == "strict"
        for severity, line in format_log(report):
            (log.warning if strict and severity in ("error", "warning") else log.info)(line)
        if strict and report.faulty and not dev_server_path(config):
            raise PluginError(f"roaming: lint: {report}; mend what is told above, or set `lint: warn`")

    def _meaning_of(self) -> EmbeddingsOptions | None:
        if self.config.search == "lexical":
            return None
        from mkdocs_roaming.embeddings.store import parse_embeddings_options  # most sites are searched by words

        try:
            return parse_embeddings_options(self.config.embeddings, os.environ, "embeddings", log.info)
        except RoamingError as error:
            raise PluginError(f"roaming: {error}") from error

    def _check_classes(self) -> None:
        if self.config.classes:
            from mkdocs_roaming.html.themes import parse_classes

            try:
                parse_classes(self.config.classes)
            except RoamingError as error:
                raise PluginError(f"roaming: {error}") from error

    def _widget_of(self, config: MkDocsConfig) -> WidgetOptions | None:
        if not self.config.widget:
            return None
        from mkdocs_roaming.publish.widget import parse_widget_options

        try:
            return parse_widget_options(self.config.widget, own_endpoint=dev_server_path(config))
        except RoamingError as error:
            raise PluginError(f"roaming: {error}") from error

    def _with_widget(self, html: str, page: MkDocsPage, config: MkDocsConfig) -> str:
        """Put the widget on a page; `ask: false` in its front matter keeps it away."""
        folder, given = language_folder(config), page.meta.get("ask")
        batch, path = self._batches.get(folder), page_path(page, folder)
        if self._widget is None or batch is None or path is None or given is False:
            return html
        from mkdocs_roaming.publish.widget import add_widget, suggest_questions

        converted = batch.converted.get(path)
        suggestions = suggest_questions(given, converted.sections if converted else ())
        return add_widget(html, self._widget, path, batch.site.url, suggestions, published=converted is not None)

    def _rules_of(self, pages: Iterable[MkDocsPage], config: MkDocsConfig) -> RuleSet | None:
        """Read the rules of mkdocs.yml and of the pages' front matter; most sites have none."""
        own = [page for page in pages if "roaming" in page.meta]
        if not self.config.rules and not own:
            return None
        from mkdocs_roaming.publish.rules import RuleSet, read_config_rules, read_page_rules

        file = config.config_file_path
        try:
            rules = read_config_rules(self.config.rules, Path(file) if file else None)
            for page in own:
                where = page.file.abs_src_path
                source, text = page.file.src_uri, page.file.content_string
                rules += read_page_rules(page.meta["roaming"], source, text, Path(where) if where else None)
        except RoamingError as error:
            raise PluginError(f"roaming: {error}") from error
        return RuleSet(rules, self.config.rules_mode, lenient=bool(language_folder(config)))

    def _chosen(self, page: MkDocsPage, folder: str) -> bool:
        source, path = page.file.src_uri, page_path(page, folder)
        if page.meta.get("llms") is False or path is None or path.strip("/") in ("404", "404.html"):
            return False
        if self.config.include and not matches_any(source, self.config.include):
            return False
        return not matches_any(source, self.config.exclude)
