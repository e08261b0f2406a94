"""What MkDocs says of pages and nav, as this plugin publishes them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from html import unescape
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure import StructureItem
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.nav import Link
from mkdocs.structure.pages import Page as MkDocsPage

from mkdocs_roaming.mkdocs_site import url_of_site
from mkdocs_roaming.page import NavItem, Page, canonical_path


def published(files: Files) -> Iterator[File]:
    """Give the files that are to be published, those that the nav leaves out included."""
    return (file for file in files.documentation_pages() if file.inclusion.value >= InclusionLevel.NOT_IN_NAV.value)


def with_posts_in_order(pages: Sequence[MkDocsPage]) -> list[MkDocsPage]:
    """Give the pages, a blog's posts last and in the blog's order."""
    posts: dict[int, int] = {}
    for page in pages:
        for post in posts_of(page) or ():
            posts.setdefault(id(post), len(posts))
    return sorted(pages, key=lambda page: posts.get(id(page), -1))


def posts_of(page: MkDocsPage) -> list[Any] | None:
    """Give the posts that a page lists, None where it is no list of a blog's."""
    posts = getattr(page, "posts", None)
    return posts if isinstance(posts, list) else None


def matches(source: str, patterns: Iterable[str]) -> bool:
    """Tell whether a source path matches one of the patterns."""
    return any(fnmatchcase(source, pattern) for pattern in patterns)


def nav_items(items: Iterable[StructureItem], folder: str, config: MkDocsConfig) -> Iterator[NavItem]:
    """Give the nav as it stands; mkdocs-section-index makes a section that is a page too."""
    for item in items:
        title, children = _plain(item.title), tuple(nav_items(getattr(item, "children", None) or (), folder, config))
        if isinstance(item, MkDocsPage):
            path = path_of_page(item, folder)
            yield NavItem(title, path, None if path is not None else item.canonical_url, children)
            for at, further in enumerate(getattr(item, "pages", [])[1:], 2):  # of a blog's list that is a long one
                yield NavItem(f"{title} ({at})", path_of_page(further, folder))
        else:
            url = urljoin(url_of_site(config), item.url) if isinstance(item, Link) else None
            yield NavItem(title, url=url, children=children)


def page_of(page: MkDocsPage, folder: str) -> Page:
    """Give a page as all sources of pages yield it."""
    meta = page.meta
    tags = meta.get("tags")
    return Page(
        path=path_of_page(page, folder) or "",
        title=_plain(page.title),
        article=page.content or "",
        source=page.file.src_uri,
        source_text=page.markdown,
        description=" ".join(str(meta.get("description") or "").split()),
        tags=tuple(str(tag) for tag in tags) if isinstance(tags, list) else (),
    )


def source_text(page: MkDocsPage, article: str) -> str | None:
    """Give the Markdown that an article was rendered from: of a list also that of the posts it links to."""
    posts = [post for post in posts_of(page) or () if post.url.rstrip("/").rpartition("/")[2] in article]
    return "\n\n".join([page.markdown or "", *(post.markdown or "" for post in posts)]) if posts else page.markdown


def with_template(article: str | None, html: str, page: MkDocsPage) -> str | None:
    """Give the article with what the page's template adds."""
    if not posts_of(page) and not page.meta.get("template"):
        return article
    from mkdocs_roaming.publish.shown import listed_article, templated_article  # a parser, which few sites need

    return listed_article(article, html) if posts_of(page) else templated_article(article, html)


def path_of_page(page: MkDocsPage, folder: str) -> str | None:
    """Give the page's path below its language's folder, None outside of it; `./` is MkDocs' URL of the home page."""
    path = canonical_path(unquote(urlsplit(page.url).path.removeprefix("./")))
    if not folder:
        return path
    return path.removeprefix(folder + "/") if path.startswith(folder + "/") else None


def _plain(title: object) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", "", str(title or ""))).split())
