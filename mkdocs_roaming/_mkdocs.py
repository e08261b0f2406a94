"""What MkDocs says of the site that it builds: its address, its languages and versions."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure import StructureItem
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.nav import Link
from mkdocs.structure.pages import Page as MkDocsPage

from mkdocs_roaming.manifest.io import MANIFEST_PATH as MANIFEST
from mkdocs_roaming.manifest.models import Alternate, NavItem, Page, Site, canonicalize_path
from mkdocs_roaming.publish.cache import project_cache_folder


def make_site(config: MkDocsConfig, description: str | None, nav: tuple[NavItem, ...]) -> Site:
    """Give the site, or the language of it, that is built."""
    folder, i18n = language_folder(config), i18n_plugin(config)
    language = config.theme.get("language") or config.theme.get("locale") or "en"
    return Site(
        name=config.site_name,
        url=site_url(config) + (f"{folder}/" if folder else ""),
        description=description or config.site_description or "",
        language=str(i18n.current_language if i18n else language).replace("_", "-"),
        version=os.environ.get(_MIKE_VERSION) if "mike" in config.plugins else None,
        alternates=tuple(_alternates(config, i18n)) if i18n else (),
        nav=nav,
        nav_source="mkdocs",
    )


_MIKE_VERSION = "MIKE_DOCS_VERSION"


def site_url(config: MkDocsConfig, given: str | None = None) -> str:
    """Give the address that is built for. With a canonical version, mike sets that one's on the pages of all."""
    url = (given or config.site_url or "").rstrip("/")
    canonical = config.plugins["mike"].config.get("canonical_version") if "mike" in config.plugins else None
    if canonical and os.environ.get(_MIKE_VERSION):
        url = url.removesuffix(f"/{canonical}") + "/" + os.environ[_MIKE_VERSION]
    return url + "/"


def dev_server_path(config: MkDocsConfig) -> str:
    """Give the path that `mkdocs serve` serves the site at, nothing in a build: it sets the address to its own."""
    url = urlsplit(config.site_url or "")
    return url.path if url.netloc == str(config.dev_addr) else ""


def i18n_plugin(config: MkDocsConfig) -> Any:
    """Give mkdocs-static-i18n, None where there is only one language."""
    plugin: Any = config.plugins.get("i18n")
    return plugin if getattr(plugin, "current_language", None) else None


def is_inner_build(config: MkDocsConfig) -> bool:
    """Tell whether this is a build inside the first language's."""
    return bool(getattr(config.plugins.get("i18n"), "building", False))


def language_folder(config: MkDocsConfig) -> str:
    """Give the folder of the language that is built: its locale, or nothing for the default language."""
    i18n = i18n_plugin(config)
    return "" if i18n is None or i18n.is_default_language_build else str(i18n.current_language)


def _alternates(config: MkDocsConfig, i18n: Any) -> Iterator[Alternate]:
    for locale in i18n.build_languages:
        if locale != i18n.current_language:
            own = i18n.get_language_config(locale).site_url or i18n.original_configs.get("site_url")
            folder = "" if locale == i18n.default_language else f"{locale}/"
            yield Alternate(f"{site_url(config, own)}{folder}{MANIFEST}", language=locale.replace("_", "-"))


def localize_previous(previous: str, folder: str) -> str:
    """Give where a language's previous manifest is, by where the default language's is."""
    if not folder:
        return previous
    site = previous.removesuffix(MANIFEST).rstrip("/")
    return f"{site}/{folder}" if site != previous or not previous.endswith(".json") else previous


def cache_folder(config: MkDocsConfig) -> Path:
    """Give the folder that the project's conversions are kept in."""
    return project_cache_folder(Path(config.config_file_path or ".").parent)


def remove_stale_caches(config: MkDocsConfig) -> None:
    """Remove what was kept of languages that are built no longer: nothing else would look at it again."""
    i18n = i18n_plugin(config)
    living = i18n.build_languages if i18n else ()
    with suppress(OSError):
        for folder in cache_folder(config).iterdir():
            if folder.is_dir() and folder.name not in living:
                for file in folder.glob("*.json"):
                    file.unlink(missing_ok=True)
                folder.rmdir()


# MERGED mkdocs_roaming.mkdocs_pages:
# What MkDocs says of pages and nav, as this plugin publishes them.


def published_files(files: Files) -> Iterator[File]:
    """Give the files that are to be published, those that the nav leaves out included."""
    return (file for file in files.documentation_pages() if file.inclusion.value >= InclusionLevel.NOT_IN_NAV.value)


def order_posts(pages: Sequence[MkDocsPage]) -> list[MkDocsPage]:
    """Give the pages, a blog's posts last and in the blog's order."""
    posts: dict[int, int] = {}
    for page in pages:
        for post in blog_posts(page) or ():
            posts.setdefault(id(post), len(posts))
    return sorted(pages, key=lambda page: posts.get(id(page), -1))


def blog_posts(page: MkDocsPage) -> list[Any] | None:
    """Give the posts that a page lists, None where it is no list of a blog's."""
    posts = getattr(page, "posts", None)
    return posts if isinstance(posts, list) else None


def matches_any(source: str, patterns: Iterable[str]) -> bool:
    """Tell whether a source path matches one of the patterns."""
    return any(fnmatchcase(source, pattern) for pattern in patterns)


def iter_nav_items(items: Iterable[StructureItem], folder: str, config: MkDocsConfig) -> Iterator[NavItem]:
    """Give the nav as it stands; mkdocs-section-index makes a section that is a page too."""
    for item in items:
        title, children = (
            _plain(item.title),
            tuple(iter_nav_items(getattr(item, "children", None) or (), folder, config)),
        )
        if isinstance(item, MkDocsPage):
            path = page_path(item, folder)
            yield NavItem(title, path, None if path is not None else item.canonical_url, children)
            for at, further in enumerate(getattr(item, "pages", [])[1:], 2):  # of a blog's list that is a long one
                yield NavItem(f"{title} ({at})", page_path(further, folder))
        else:
            url = urljoin(site_url(config), item.url) if isinstance(item, Link) else None
            yield NavItem(title, url=url, children=children)


def make_page(page: MkDocsPage, folder: str) -> Page:
    """Give a page as all sources of pages yield it."""
    meta = page.meta
    tags = meta.get("tags")
    return Page(
        path=page_path(page, folder) or "",
        title=_plain(page.title),
        article=page.content or "",
        source=page.file.src_uri,
        source_text=page.markdown,
        description=" ".join(str(meta.get("description") or "").split()),
        tags=tuple(str(tag) for tag in tags) if isinstance(tags, list) else (),
    )


def read_source_text(page: MkDocsPage, article: str) -> str | None:
    """Give the Markdown that an article was rendered from: of a list also that of the posts it links to."""
    posts = [post for post in blog_posts(page) or () if post.url.rstrip("/").rpartition("/")[2] in article]
    return "\n\n".join([page.markdown or "", *(post.markdown or "" for post in posts)]) if posts else page.markdown


def add_template_content(article: str | None, html: str, page: MkDocsPage) -> str | None:
    """Give the article with what the page's template adds."""
    if not blog_posts(page) and not page.meta.get("template"):
        return article
    from mkdocs_roaming.html.final_page import reconcile_post_list, reconcile_template  # a parser, which few sites need

    return reconcile_post_list(article, html) if blog_posts(page) else reconcile_template(article, html)


def page_path(page: MkDocsPage, folder: str) -> str | None:
    """Give the page's path below its language's folder, None outside of it; `./` is MkDocs' URL of the home page."""
    path = canonicalize_path(unquote(urlsplit(page.url).path.removeprefix("./")))
    if not folder:
        return path
    return path.removeprefix(folder + "/") if path.startswith(folder + "/") else None


def _plain(title: object) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", "", str(title or ""))).split())
