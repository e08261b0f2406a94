"""The MkDocs plugin: hooks that call plain functions.

Pages are converted when all plugins have changed the articles (`on_env`), compared with the final HTML
(`on_post_page`), and written after the build (`on_post_build`). ProperDocs is supported, too: it redirects imports of
`mkdocs.*`.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from mkdocs.config.base import BaseConfigOption, Config, ConfigErrors, ConfigWarnings, ValidationError
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.plugins import BasePlugin, event_priority, get_plugin_logger
from mkdocs.structure.files import Files, InclusionLevel
from mkdocs.structure.nav import Navigation
from mkdocs.structure.pages import Page as MkDocsPage

from mkdocs_roaming._mkdocs import (
    CodeLanguages,
    add_template_content,
    blog_posts,
    dev_server_path,
    find_llms_txt,
    is_inner_build,
    language_folder,
    localize_previous,
    make_page,
    make_site,
    page_name,
    page_path,
    project_folder,
    published_pages,
    site_url,
)
from mkdocs_roaming.errors import RoamingError, explain_os_error
from mkdocs_roaming.html.final_page import reconcile_article, reconcile_formulas
from mkdocs_roaming.html.formulas import read_site_script
from mkdocs_roaming.html.themes import parse_classes
from mkdocs_roaming.locks import hold_folder, share_locks
from mkdocs_roaming.manifest.descriptions import Descriptions, read_configured_descriptions
from mkdocs_roaming.manifest.models import LLMS_TXT, Page
from mkdocs_roaming.publish.cache import ConversionCache, project_cache_folder
from mkdocs_roaming.publish.elements.html import add_markdown_links
from mkdocs_roaming.publish.elements.page import ElementOptions, PageElements
from mkdocs_roaming.publish.markdown_source import split_front_matter
from mkdocs_roaming.publish.options import PublishOptions, parse_options
from mkdocs_roaming.publish.ownership import check_llms_txt
from mkdocs_roaming.publish.pipeline import Batch, LeftOut, convert_pages, reconvert_page
from mkdocs_roaming.publish.rules import RuleSet, load_rules
from mkdocs_roaming.publish.selection import Selection
from mkdocs_roaming.publish.writer import WITHOUT_URL, publish_batch
from mkdocs_roaming.settings import SettingError
from mkdocs_roaming.text.meta_tags import exclusion_reason

# These are imported where they are used: for features that many sites do not use.
if TYPE_CHECKING:
    from mkdocs_roaming.embeddings.config import FindModel
    from mkdocs_roaming.lint.runner import LintConfig

log = get_plugin_logger("roaming")

LAST = -1000
"""Priority of hooks that run after those of all other plugins."""


class RoamingConfig(Config):  # type: ignore[no-untyped-call]  # MkDocs leaves it untyped
    """The options as MkDocs stores them, where hook scripts may change them; `PublishOptions` declares them."""

    vars().update({name: BaseConfigOption() for name in PublishOptions.__struct_fields__})


@dataclass(slots=True)
class _LanguageBuild:
    """The pages of one language between conversion and writing."""

    batch: Batch
    rules: RuleSet
    elements: PageElements
    seconds: float
    """Time of the conversion."""


class RoamingPlugin(BasePlugin[RoamingConfig]):  # type: ignore[no-untyped-call]  # as above
    """Publishes Markdown, llms.txt and the manifest of a MkDocs site.

    The state belongs to one build. With mkdocs-static-i18n, the builds of the other languages run inside the build of
    the default language; each has its own entry by the folder of the language.
    """

    def __init__(self) -> None:
        self._options = PublishOptions()
        self._selection = Selection()
        self._nav: Navigation | None = None
        self._code_languages = CodeLanguages()
        self._builds: dict[str, _LanguageBuild] = {}
        self._lint: LintConfig | None = None
        self._elements = ElementOptions()
        self._descriptions: Descriptions | None = None
        self._embeddings: FindModel | None = None
        self._lock = ExitStack()

    def load_config(
        self, options: dict[str, Any], config_file_path: str | None = None
    ) -> tuple[ConfigErrors, ConfigWarnings]:
        """Check names and types of the options; MkDocs reports the error."""
        super().load_config(options, config_file_path)
        try:
            parse_options(self.config)
        except SettingError as error:
            return [(error.name, ValidationError(error.problem))], []
        return [], []

    # Hooks

    def on_config(self, config: MkDocsConfig) -> MkDocsConfig:
        """Validate the options before anything is built."""
        with _plugin_errors():
            self._options = parse_options(self.config)
        if not self._options.enabled:
            return config
        if not config.site_url and not is_inner_build(config):
            log.warning(f"site_url is not set: {WITHOUT_URL}; add `site_url: https://…/` to mkdocs.yml")
        with _plugin_errors():
            parse_classes(self._options.classes)
            Selection(self._options.include, self._options.exclude)  # the roots are known later
            self._load_rules((), config)
            self._elements = ElementOptions.parse(self._options, own_endpoint=dev_server_path(config))
            if self._options.lint not in ("off", False, None):
                from mkdocs_roaming.lint.runner import parse_config

                lint = parse_config(self._options.lint, "lint")
                self._lint = lint if lint.level != "off" else None
            if self._options.descriptions:
                file = project_folder(config) / self._options.descriptions
                self._descriptions = read_configured_descriptions(file, log.warning)
            if self._options.search != "lexical":
                from mkdocs_roaming.embeddings.config import ModelFinder, parse_embeddings_config

                folder = project_folder(config)
                embeddings = parse_embeddings_config(self._options.embeddings, "embeddings", folder)
                self._embeddings = ModelFinder(embeddings, os.environ)
        return config

    def on_pre_build(self, *, config: MkDocsConfig) -> None:
        """Lock the folder of the site before MkDocs empties it. That of `mkdocs serve` is its own."""
        if self._options.enabled and not is_inner_build(config) and not dev_server_path(config):
            share_locks()  # with the commands that hooks of the project start
            with _plugin_errors():
                self._lock.enter_context(hold_folder(Path(config.site_dir), log.info))  # strict builds stop at warnings

    def on_build_error(self, *, error: Exception) -> None:
        """Release the lock."""
        self._lock.close()

    @event_priority(LAST)
    def on_nav(self, nav: Navigation, *, config: MkDocsConfig, files: Files) -> Navigation:
        """Store the nav, whose titles are read later, when the pages are loaded; check the files before rendering."""
        self._nav = nav
        llms_txt = find_llms_txt(config, files) if self._options.enabled else None
        if llms_txt:
            with _plugin_errors():
                check_llms_txt(llms_txt.content_bytes, Path(config.docs_dir), self._options)
        if not is_inner_build(config):
            self._builds = {}
            docs = os.path.relpath(config.docs_dir, project_folder(config)).replace(os.sep, "/") + "/"
            is_folder_of_pages = any(file.src_uri.startswith(docs) for file in files.documentation_pages())
            roots = [] if is_folder_of_pages else [docs]  # patterns may start with it
            self._selection = Selection(self._options.include, self._options.exclude, roots=roots)
        return nav

    @event_priority(LAST)
    def on_page_markdown(self, markdown: str, *, page: MkDocsPage, config: MkDocsConfig, files: Files) -> None:
        """Record the languages of code, which the HTML may not name, while the page is rendered."""
        if self._options.enabled:
            self._code_languages.start(page, config)
            if markdown.startswith("---") and split_front_matter(markdown)[1]:  # MkDocs removes what it can parse
                log.warning(f"{page.file.src_uri}: its front matter is not valid YAML, so it is published as text")

    def on_page_content(self, html: str, *, page: MkDocsPage, config: MkDocsConfig, files: Files) -> None:
        """Stop recording: the page is rendered."""
        self._code_languages.stop()

    @event_priority(LAST)  # autorefs resolves cross-references in this hook, with priority -50
    def on_env(self, env: Any, *, config: MkDocsConfig, files: Files) -> None:
        """Convert all pages."""
        if not self._options.enabled:
            return
        gc.freeze()  # the rendered pages live until the end of the build; the collector need not visit them
        started = time.perf_counter()
        pages = published_pages(files)
        if any(page.content is None for page in pages):
            log.info("nothing is published, because a dirty build reads only edited pages; build without --dirty")
            return
        folder = language_folder(config)
        site = make_site(config, files, self._nav, self._options)
        cache_folder = project_cache_folder(project_folder(config)) / folder
        cache = ConversionCache(cache_folder if self._options.cache else None)
        with _plugin_errors():
            included, left_out = self._select_pages(pages, folder, config, files)
            batch = convert_pages(site, included, cache=cache, warn=log.warning)
            batch.left_out += left_out
            rules = self._load_rules(pages, config)
        options = self._elements
        if options.widget and folder:  # the questions of the options are in the default language
            options = replace(options, widget=replace(options.widget, questions=()))
        elements = PageElements(options, batch, self._descriptions)
        self._builds[folder] = _LanguageBuild(batch, rules, elements, time.perf_counter() - started)

    @event_priority(LAST)  # encryption plugins replace articles in this hook
    def on_post_page(self, output: str, *, page: MkDocsPage, config: MkDocsConfig) -> str:
        """Drop pages whose final HTML hides the article; add the links and the elements to the others.

        A page with `ask: false` in its front matter has no widget, and one that is not published has no page menu.
        """
        folder = language_folder(config)
        build = self._builds.get(folder)
        path = page_path(page, folder)
        if build is None or path is None:
            return output
        html = self._check_page(build.batch, path, output, page, config)
        if _is_blank(html):
            return html
        return build.elements.add(html, path, has_widget=page.meta.get("ask") is not False)

    @event_priority(LAST)
    def on_post_template(self, output_content: str, *, template_name: str, config: MkDocsConfig) -> str:
        """Add links to similar addresses and the widget to the 404 page."""
        build = self._builds.get(language_folder(config))
        if template_name != "404.html" or build is None or not self._options.similar_pages:
            return output_content
        return build.elements.add_to_not_found(output_content)

    @event_priority(LAST)  # mkdocs-static-i18n builds the other languages in this hook, with priority -100
    def on_post_build(self, *, config: MkDocsConfig) -> None:
        """Write all files, and log one line for each language."""
        is_inner = is_inner_build(config)
        if not is_inner and self._builds:
            for message in self._selection.unmatched():
                log.warning(message)
        folders = [language_folder(config)] if is_inner else list(self._builds)
        for folder in folders:
            build = self._builds.pop(folder, None)
            if build:
                self._publish(build, folder, config)
        if not is_inner:
            self._lock.close()
        gc.unfreeze()

    def on_serve(self, server: Any, *, config: MkDocsConfig, builder: Any) -> Any:
        """Add the answer endpoint to the server of `mkdocs serve`; after any error it runs without it."""
        if self._options.enabled:
            try:
                self._add_endpoint(server, config)
            except Exception as error:
                reason = " ".join(str(error).split()) or type(error).__name__
                log.warning(f"the answer endpoint is not available: {reason}")
        return server

    # Options

    def _load_rules(self, pages: Iterable[MkDocsPage], config: MkDocsConfig) -> RuleSet:
        """Return the rules of mkdocs.yml and of the pages' front matter."""
        front_matter = {page.file.src_uri: page.meta["roaming"] for page in pages if "roaming" in page.meta}
        config_file = Path(config.config_file_path or "mkdocs.yml")
        return load_rules(self._options, config_file, front_matter, lenient=bool(language_folder(config)))

    # Pages

    def _select_pages(
        self, pages: Sequence[MkDocsPage], folder: str, config: MkDocsConfig, files: Files
    ) -> tuple[list[Page], list[LeftOut]]:
        """Return the pages to publish, and those that are left out."""
        included = []
        left_out = []
        for page in pages:
            path = page_path(page, folder)
            if path is None:
                continue
            name = page_name(page.file, folder, config)
            reason = self._selection.find_reason(name)
            if page.meta.get("llms") is False:
                reason = "`llms: false` in its front matter"
            elif path.strip("/") in ("404", "404.html"):
                reason = "the page for missing addresses"
            if reason:
                left_out.append(LeftOut(path, reason, page.file.src_uri))
            else:
                included.append(make_page(page, folder, self._code_languages.find(page, page.content or "")))
        if self._selection:
            for file in files.documentation_pages(inclusion=InclusionLevel.is_excluded):
                self._selection.find_reason(page_name(file, folder, config))  # a pattern of an excluded draft is used
        return included, left_out

    def _check_page(self, batch: Batch, path: str, output: str, page: MkDocsPage, config: MkDocsConfig) -> str:
        """Compare a page with its final HTML: drop it, convert it again or leave it; return the HTML with links."""
        folder = language_folder(config)
        source = page.file.src_uri
        original = batch.pages.get(path)
        if original is None or original.source != source:
            return output
        reason = "another plugin leaves it out" if _is_blank(output) else exclusion_reason(output)
        if reason:
            batch.drop(path, reason)
            return output

        def is_published(post: MkDocsPage) -> bool:
            return page_path(post, folder) in batch.pages

        posts = blog_posts(page)
        is_empty = posts and not any(map(is_published, posts))
        if is_empty and not Path(config.docs_dir, source).exists():  # posts of a category or a year
            batch.drop(path, "all its posts are left out")
            return output
        visible = reconcile_article(original.article, output)
        article = add_template_content(visible, output, page, is_published)
        if article is None:
            # With a template of its own that is intended.
            write = log.info if page.meta.get("template") else log.warning
            write(
                f"{source}: not published, because the built page does not show the words of its article (encrypted, "
                "or left out by its template). To silence this message, add `llms: false` to its front matter"
            )
            batch.drop(path, "the built page does not show its article")
            return output
        read_script = partial(read_site_script, Path(config.site_dir), site_url(config), page.url)
        article = reconcile_formulas(article, output, read_script)
        if visible not in (original.article, None):
            log.info(f"{source}: the built page hides a part of its article; only the rest is published")
        if article != original.article:
            languages = self._code_languages.find(page, article)
            reconvert_page(batch, replace(original, article=article, code_languages=languages))
        return add_markdown_links(output, path, has_llms_txt=batch.site.has_llms_txt)

    # Writing

    def _publish(self, build: _LanguageBuild, folder: str, config: MkDocsConfig) -> None:
        started = time.perf_counter()
        batch = build.batch
        site_folder = Path(config.site_dir) / folder
        if not batch.pages:
            batch.cache.commit(())  # hidden pages must not stay in the cache either
        if folder and not batch.pages:
            log.warning(f"{folder}: no page to publish, although other languages link to its manifest")
            return
        previous = None
        if where := self._options.previous:
            from mkdocs_roaming.publish.previous import read_previous

            base = project_folder(config)
            previous = read_previous(localize_previous(where, folder), base, log.warning, inform=log.info)
        with _plugin_errors():
            report = publish_batch(
                batch,
                site_folder,
                self._options,
                embeddings=self._embeddings,
                previous=previous,
                rules=build.rules,
                descriptions=self._descriptions,
                extra=build.elements.iter_files(),
            )
        if batch.site.has_llms_txt and not (site_folder / LLMS_TXT).exists():
            log.warning("pages link to llms.txt, which no plugin has written, and `llms_txt` is false")
        for note in report.notes:
            log.info(note)
        seconds = build.seconds + time.perf_counter() - started
        prefix = f"{folder}: " if folder else ""
        log.info(f"{prefix}{report} ({seconds:.1f} s)")
        for left_out in report.left_out:
            log.debug(f"left out: {left_out}")
        if self._lint:
            self._run_lint(self._lint, site_folder, config)

    def _run_lint(self, lint: LintConfig, site_folder: Path, config: MkDocsConfig) -> None:
        """Log the findings; the level `strict` makes errors fail a build, but not `mkdocs serve`."""
        from mkdocs_roaming.lint.runner import format_log, lint_folder

        with _plugin_errors():
            report = lint_folder(site_folder, lint, Path(config.docs_dir))
        strict = lint.level == "strict"
        for severity, line in format_log(report):
            write = log.warning if strict and severity in ("error", "warning") else log.info
            write(line)
        if strict and report.has_faults and not dev_server_path(config):
            raise PluginError(f"roaming: lint: {report}; fix the findings above, or set `lint: warn`")

    def _add_endpoint(self, server: Any, config: MkDocsConfig) -> None:
        from mkdocs_roaming.serve.devserver import OFFLINE_CONFIG, DevServerEndpoint, load_answer_config

        try:
            answers = load_answer_config(self._options.serve_model, project_folder(config), os.environ)
        except RoamingError as error:
            log.warning(f"questions are answered offline: {error}")
            answers = OFFLINE_CONFIG
        url = site_url(config)
        endpoint = DevServerEndpoint(server.get_app(), urlsplit(url).path, Path(config.site_dir), answers)
        server.set_app(endpoint)
        log.info(f"questions are answered at {url}v1/ask ({answers.model.name})")


@contextmanager
def _plugin_errors() -> Iterator[None]:
    """Convert errors to PluginError, which MkDocs reports in one line and without a traceback."""
    try:
        yield
    except RoamingError as error:
        raise PluginError(f"roaming: {error}") from error
    except OSError as error:
        raise PluginError(f"roaming: {explain_os_error(error)}") from error


def _is_blank(text: str) -> bool:
    """Return whether a text has nothing but white space; `strip` would copy it."""
    return not text or text.isspace()
