"""Adapters from MkDocs' configuration, files, nav and pages to the data classes that are published.

Knows mike, mkdocs-static-i18n, mkdocs-section-index, Material's blog, and what highlights code.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from functools import cache, wraps
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure import StructureItem
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.nav import Link, Navigation
from mkdocs.structure.pages import Page as MkDocsPage
from msgspec import Struct, field

from mkdocs_roaming.html.final_page import reconcile_post_list, reconcile_template
from mkdocs_roaming.manifest.io import MANIFEST_PATH
from mkdocs_roaming.manifest.lookup import PageName
from mkdocs_roaming.manifest.models import Alternate, NavItem, Page, Site, canonicalize_path
from mkdocs_roaming.publish.markdown_source import read_metadata
from mkdocs_roaming.publish.options import PublishOptions

_MIKE_VERSION = "MIKE_DOCS_VERSION"
_TAG = re.compile(r"<[^>]+>")


# Site


def make_site(config: MkDocsConfig, files: Files, nav: Navigation | None, options: PublishOptions) -> Site:
    """Return the site of the current build: with mkdocs-static-i18n the site of one language."""
    folder = language_folder(config)
    i18n = i18n_plugin(config)
    language = config.theme.get("language") or config.theme.get("locale") or "en"
    alternates: tuple[Alternate, ...] = ()
    if i18n:
        language = i18n.current_language
        alternates = tuple(_iter_alternates(config, i18n))
    has_plugin = any("llms" in name for name in config.plugins)  # such as mkdocs-llmstxt, which writes it later
    return Site(
        name=config.site_name,
        url=site_url(config, folder),
        description=options.description or config.site_description or "",
        language=str(language).replace("_", "-"),
        version=os.environ.get(_MIKE_VERSION) if "mike" in config.plugins else None,
        alternates=alternates,
        nav=tuple(iter_nav_items(nav.items, folder, config)) if nav else (),
        nav_source="mkdocs",
        classes=options.classes,
        has_llms_txt=options.llms_txt is not False or has_plugin or find_llms_txt(config, files) is not None,
        redirects=find_redirects(config, files),
    )


def site_url(config: MkDocsConfig, folder: str = "", url: str | None = None) -> str:
    """Return the URL of the site, with mike that of the current version; empty if it is not known.

    With `canonical_version`, mike sets the URL of that version on the pages of all versions.

    Args:
        config: MkDocs' configuration.
        folder: The folder of a language.
        url: Replaces the configured `site_url`.
    """
    url = (url or config.site_url or "").rstrip("/")
    if not url:
        return ""
    version = os.environ.get(_MIKE_VERSION)
    canonical = config.plugins["mike"].config.get("canonical_version") if "mike" in config.plugins else None
    if canonical and version:
        url = url.removesuffix(f"/{canonical}") + f"/{version}"
    return f"{url}/{folder}/" if folder else f"{url}/"


def dev_server_path(config: MkDocsConfig) -> str:
    """Return the path of the site on the server of `mkdocs serve`, or an empty string in a build."""
    url = urlsplit(config.site_url or "")
    return url.path if url.netloc == str(config.dev_addr) else ""


def project_folder(config: MkDocsConfig) -> Path:
    """Return the folder of mkdocs.yml."""
    return Path(config.config_file_path or ".").parent


def find_llms_txt(config: MkDocsConfig, files: Files) -> File | None:
    """Return the llms.txt among the files that MkDocs copies, or None."""
    folder = language_folder(config)
    path = f"{folder}/llms.txt" if folder else "llms.txt"
    copied = (file for file in files if file.inclusion.value > InclusionLevel.DRAFT.value)
    return next((file for file in copied if file.dest_uri == path), None)


def find_redirects(config: MkDocsConfig, files: Files) -> dict[str, str]:
    """Return the URLs to which the pages of mkdocs-redirects lead, by path. They are written after the build."""
    plugin = config.plugins.get("redirects")
    redirects: dict[str, str] = {}
    if plugin is None:
        return redirects
    folder = language_folder(config)
    for old, new in (plugin.config.get("redirect_maps") or {}).items():
        source, hash_sign, fragment = str(new).partition("#")
        file = files.get_file_from_path(source)
        target = str(new)
        if file:
            target = urljoin(site_url(config), file.url) + hash_sign + fragment
        elif not target.startswith(("http:", "https:")):
            continue
        page = File(str(old), "", "", use_directory_urls=config.use_directory_urls)
        path = page_path(page, folder)
        if path is not None:
            redirects[path] = target
    return redirects


# Languages


def i18n_plugin(config: MkDocsConfig) -> Any:
    """Return the mkdocs-static-i18n plugin, or None if the site has one language."""
    plugin: Any = config.plugins.get("i18n")
    return plugin if getattr(plugin, "current_language", None) else None


def is_inner_build(config: MkDocsConfig) -> bool:
    """Return whether this build of a language runs inside the build of the default language."""
    return bool(getattr(config.plugins.get("i18n"), "building", False))


def language_folder(config: MkDocsConfig) -> str:
    """Return the folder of the current language: its locale, or an empty string for the default language."""
    i18n = i18n_plugin(config)
    if i18n is None or i18n.is_default_language_build:
        return ""
    return str(i18n.current_language)


def localize_previous(previous: str, folder: str) -> str:
    """Return the location of a language's previous manifest, derived from that of the default language."""
    if not folder:
        return previous
    site = previous.removesuffix(MANIFEST_PATH).rstrip("/")
    if site == previous and previous.endswith(".json"):
        return previous
    return f"{site}/{folder}"


def _iter_alternates(config: MkDocsConfig, i18n: Any) -> Iterator[Alternate]:
    for locale in i18n.build_languages:
        if locale != i18n.current_language:
            url = i18n.get_language_config(locale).site_url or i18n.original_configs.get("site_url")
            folder = "" if locale == i18n.default_language else f"{locale}/"
            root = "../../" if language_folder(config) else "../"
            base = site_url(config, url=url) or root
            yield Alternate(f"{base}{folder}{MANIFEST_PATH}", language=locale.replace("_", "-"))


# Nav and pages


def iter_nav_items(items: Iterable[StructureItem], folder: str, config: MkDocsConfig) -> Iterator[NavItem]:
    """Yield the nav of a language. With mkdocs-section-index a section can be a page, too."""
    for item in items:
        title = _plain_text(item.title)
        children = tuple(iter_nav_items(getattr(item, "children", None) or (), folder, config))
        if isinstance(item, MkDocsPage):
            path = page_path(item, folder) if item.file.is_documentation_page() else None
            url = item.canonical_url if path is None else None
            yield NavItem(title, path, url, children)
            for number, further in enumerate(getattr(item, "pages", [])[1:], 2):  # a paginated list of blog posts
                yield NavItem(f"{title} ({number})", page_path(further, folder))
        else:
            url = urljoin(site_url(config), item.url) if isinstance(item, Link) else None
            yield NavItem(title, url=url, children=children)


def published_pages(files: Files) -> list[MkDocsPage]:
    """Return the pages that are built, also those that are not in the nav; the posts of a blog last, in its order."""
    built = (file for file in files.documentation_pages() if file.inclusion.value >= InclusionLevel.NOT_IN_NAV.value)
    pages = [file.page for file in built if file.page is not None]
    positions: dict[int, int] = {}
    for page in pages:
        for post in blog_posts(page) or ():
            positions.setdefault(id(post), len(positions))
    return sorted(pages, key=lambda page: positions.get(id(page), -1))


def page_name(file: File, folder: str, config: MkDocsConfig) -> PageName:
    """Return the names by which patterns match a page. Its language in mkdocs-static-i18n is optional."""
    sources = [file.src_uri]
    i18n = i18n_plugin(config)
    if i18n:  # de/guide.md, guide.de.md
        stem, dot, suffix = file.src_uri.removeprefix(f"{i18n.current_language}/").rpartition(".")
        sources.append(stem.removesuffix(f".{i18n.current_language}") + dot + suffix)
    path = canonicalize_path(unquote(file.url.removeprefix("./")))
    if folder:
        path = path.removeprefix(f"{folder}/")
    return PageName(path, tuple(dict.fromkeys(sources)))


def make_page(page: MkDocsPage, folder: str, code_languages: tuple[tuple[str, str], ...]) -> Page:
    """Return a page for publication."""
    return Page(
        path=page_path(page, folder) or "",
        title=_plain_text(page.title),
        article=page.content or "",
        source=page.file.src_uri,
        code_languages=code_languages,
        **read_metadata(page.meta),
    )


def page_path(page: MkDocsPage | File, folder: str) -> str | None:
    """Return the path of a page below the folder of a language, or None if it is outside of it."""
    path = canonicalize_path(unquote(urlsplit(page.url).path.removeprefix("./")))  # the URL of the home page is `./`
    if not folder:
        return path
    if not path.startswith(f"{folder}/"):
        return None
    return path.removeprefix(f"{folder}/")


def blog_posts(page: MkDocsPage) -> list[Any] | None:
    """Return the posts that a page lists, or None if it is not a list of blog posts."""
    posts = getattr(page, "posts", None)
    return posts if isinstance(posts, list) else None


def add_template_content(
    article: str | None, html: str, page: MkDocsPage, is_published: Callable[[MkDocsPage], bool]
) -> str | None:
    """Return the article with the content that the template of the page adds to it.

    Lists of posts keep the excerpts of posts for which `is_published` returns true.
    """
    posts = blog_posts(page)
    if not posts:
        return reconcile_template(article, html) if page.meta.get("template") else article
    left_out = {post.url for post in posts if not is_published(post)}

    def is_left_out(href: str) -> bool:
        return urljoin(page.url, href).partition("#")[0] in left_out

    return reconcile_post_list(article, html, is_left_out)


def _plain_text(title: object) -> str:
    text = unescape(_TAG.sub("", str(title or "")))
    return " ".join(text.split())


# The languages of code, recorded while MkDocs renders the pages

_RecordedCode = list[tuple[str, str]]
_recorded: ContextVar[_RecordedCode | None] = ContextVar("recorded", default=None)
"""The list for the code of the page that is being rendered."""


class CodeLanguages(Struct):
    """The code on each page with the language that its author wrote, recorded by the highlighters.

    The HTML of many sites does not name it: `pygments_lang_class` is off by default, is not available where
    superfences are used without `pymdownx.highlight`, and names languages that Pygments does not know `text`.
    """

    pages: dict[str, _RecordedCode] = field(default_factory=dict)
    """The code of each page by its source."""

    def start(self, page: MkDocsPage, config: MkDocsConfig) -> None:
        """Record what is highlighted from now on as code of a page."""
        _wrap_codehilite()
        is_named = any(str(name).startswith("pymdownx") for name in config.markdown_extensions)
        if is_named or "pymdownx.highlight" in sys.modules:  # it may not be imported yet, or by mkdocstrings
            _wrap_pymdownx()
        self.pages[page.file.src_uri] = []
        _recorded.set(self.pages[page.file.src_uri])

    def stop(self) -> None:
        """Stop recording."""
        _recorded.set(None)

    def find(self, page: MkDocsPage, article: str) -> tuple[tuple[str, str], ...]:
        """Return the code of an article: of a page, or for a list of blog posts also of the posts that it links to."""
        sources = [page]
        for post in blog_posts(page) or ():
            slug = post.url.rstrip("/").rpartition("/")[2]
            if slug in article:
                sources.append(post)
        recorded: _RecordedCode = []
        for source in sources:
            recorded += self.pages.get(source.file.src_uri, ())
        return tuple(recorded)


def _record_code(code: str, language: str | None) -> None:
    recorded = _recorded.get()
    if recorded is not None:
        recorded.append((code, language or ""))


@cache
def _wrap_codehilite() -> None:
    from markdown.extensions.codehilite import CodeHilite

    hilite = CodeHilite.hilite

    @wraps(hilite)
    def record(self: CodeHilite, *args: Any, **kwargs: Any) -> str:
        code = self.src.strip("\n")
        language = self.lang
        html = hilite(self, *args, **kwargs)
        if language is None and (self.src != code or code.startswith("#!")):
            language = self.lang  # named by a first line such as `:::python`, which is removed; otherwise guessed
        _record_code(self.src, language)
        return html

    CodeHilite.hilite = record  # type: ignore[method-assign]  # it has no hook for the language


@cache
def _wrap_pymdownx() -> None:
    from pymdownx.highlight import Highlight
    from pymdownx.superfences import SuperFencesBlockPreprocessor as SuperFences

    highlight = Highlight.highlight
    process = getattr(SuperFences, "process_nested_block", None)

    @wraps(highlight)
    def record_code(self: Any, src: str, language: str | None = None, *args: Any, **kwargs: Any) -> Any:
        if not kwargs.get("inline"):
            _record_code(src, language or getattr(self, "default_lang", None))
        return highlight(self, src, language, *args, **kwargs)

    Highlight.highlight = record_code
    if process is None or not hasattr(SuperFences, "rebuild_block"):
        return  # a later version; custom fences then have no language

    @wraps(process)
    def record_fence(self: Any, *args: Any, **kwargs: Any) -> None:
        recorded = _recorded.get()
        code = self.rebuild_block(self.code)
        language = self.lang
        count = len(recorded or ())
        process(self, *args, **kwargs)
        if recorded is not None and len(recorded) == count:  # a custom fence, which has no highlighter
            _record_code(code, language)

    SuperFences.process_nested_block = record_fence
