"""Pointers to Markdown and llms.txt: in the HTML of each page, and in the first line of its Markdown."""

from __future__ import annotations

import re
from html import escape, unescape
from urllib.parse import quote, unquote, urljoin, urlsplit

from mkdocs_roaming.manifest.models import (
    LLMS_TXT,
    Page,
    Site,
    canonicalize_path,
    markdown_path,
    path_to_url,
    relative_url,
    root_path,
)
from mkdocs_roaming.text.markdown import to_single_line

MISSING_SCRIPT = "roaming/roaming-missing.js"


def format_pointer(site: Site, page: Page) -> str:
    """Return the first line of a page's Markdown: a quote with a link to llms.txt; nothing without one.

    In a copy it also names the original page, and links to the llms.txt of the copy.
    """
    if not site.has_llms_txt:
        return ""
    name = re.sub(r"([\\`*_\[\]<>])", r"\\\1", to_single_line(site.name))
    if site.crawled_from:
        return (
            f"> This is a copy of [a page of {name}]({page.url or path_to_url(site.url, page.path)}). All pages of the "
            f"copy, as Markdown, are listed in [{LLMS_TXT}]({relative_url(markdown_path(page.path), LLMS_TXT)}).\n"
        )
    return (
        f"> This page belongs to the documentation of {name}. "
        f"All its pages, as Markdown, are listed in [{LLMS_TXT}]({site.url}{LLMS_TXT}).\n"
    )


def add_markdown_links(html: str, path: str, *, has_llms_txt: bool = True, root: str = "") -> str:
    """Add links to a page's Markdown and to llms.txt: two `<link>`s in its head and a sentence in its body.

    Links of an earlier build are replaced. Where the page has no head or no body, that part is left out. A page that
    links to the same Markdown already gets no second link.

    Args:
        html: The page.
        path: Its path.
        has_llms_txt: Whether the site has an llms.txt.
        root: See `relative_url`.
    """
    html = remove_markdown_links(html)
    markdown = escape(relative_url(path, markdown_path(path), root), quote=True)
    llms_txt = escape(relative_url(path, LLMS_TXT, root), quote=True)
    # Material requests a sitemap next to each target of `[rel=alternate]`: one 404 per page (zensical/zensical#908).
    # The trailing space avoids that selector; readers that split `rel` into tokens ignore it.
    rel = "alternate " if "data-md-component" in html else "alternate"
    end = _HEAD_END.search(html)
    head = ""
    if not _links_to_markdown(html[: end.start()] if end else "", path):
        head = f'<link rel="{rel}" type="text/markdown" href="{markdown}" data-roaming>'
    if has_llms_txt:
        head += f'<link rel="describedby" type="text/markdown" href="{llms_txt}" data-roaming>'
    if end:
        html = html[: end.start()] + head + html[end.start() :]
    start = find_content_start(html, end.end() if end else 0)
    if start is None:
        return html
    # Agent-readiness checkers look for a URL that ends in `/llms.txt`, also on the home page.
    llms_txt = llms_txt if "/" in llms_txt else f"./{llms_txt}"
    return html[:start] + _sentence(markdown, llms_txt if has_llms_txt else "") + html[start:]


def _links_to_markdown(head: str, path: str) -> bool:
    """Return whether a page links to the address of its Markdown as an alternate."""
    for link in _LINK.findall(head) if "text/markdown" in head else ():
        attributes = {name.lower(): value.strip("\"'") for name, value in _ATTRIBUTE.findall(link)}
        if "alternate" in attributes.get("rel", "").lower().split() and attributes.get("type") == "text/markdown":
            target = urljoin("/" + quote(path), unescape(attributes.get("href", "")))
            if unquote(urlsplit(target).path).endswith("/" + markdown_path(path)):
                return True
    return False


def remove_markdown_links(html: str) -> str:
    """Remove the links of an earlier build."""
    return _OWN_LINKS.sub("", html) if "data-roaming" in html else html


def find_root(site_url: str, path: str, file: str) -> str:
    """Return the root of a page's URLs: the path of the site's URL, or nothing for URLs relative to the page.

    Hosts serve `guide/index.html` as `guide/`, and some as `guide`, too. A page that names `guide` as its address is
    served at both, and no relative URL fits both.

    Args:
        site_url: URL of the site.
        path: The path of the page.
        file: The path of its HTML file.
    """
    return "" if path.rpartition("/")[0] == canonicalize_path(file).rpartition("/")[0] else root_path(site_url)


def find_content_start(html: str, begin: int = 0) -> int | None:
    """Return the offset where an element that belongs to the page can be inserted, or None without a body.

    Material and Zensical replace only a container inside the body when they navigate without a page load. An element
    outside of it would keep the data of the previous page.

    Args:
        html: The page.
        begin: The offset from which the body is searched.
    """
    found = _INSTANT_CONTAINER.search(html, begin) if "data-md-component" in html else None
    found = found or _BODY.search(html, begin)
    return found.end() if found else None


def _sentence(markdown: str, llms_txt: str) -> str:
    # Text extractors keep an element with `hidden`; screen readers, the tab key and Material's search skip it. A style
    # attribute would violate a strict content security policy, and a class needs a style sheet on every page.
    listed = f', and all of them are listed in <a href="{llms_txt}">llms.txt</a>' if llms_txt else ""
    return (
        "<p data-roaming data-pagefind-ignore hidden>"
        "For agents and language models, every page of this documentation is also there as Markdown, "
        f'this one at <a href="{markdown}">{markdown.rpartition("/")[2]}</a>{listed}.</p>'
    )


# No pattern scans beyond the start of the next element of its kind: pages may be hostile, and time is linear.
_OWN_LINKS = re.compile(r"<link\b[^<>]*\bdata-roaming>|<p data-roaming\b[^<]*(?:<(?!/?p\b)[^<]*)*</p>")
_LINK = re.compile(r"<link\b[^<>]*>", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""([a-zA-Z-]+)=("[^"]*"|'[^']*'|[^\s"'>]+)""")
_HEAD_END = re.compile(r"</head\s*>", re.IGNORECASE)
_BODY = re.compile(r"<body\b[^<>]*>", re.IGNORECASE)
_INSTANT_CONTAINER = re.compile(r"""<div\b(?=[^<>]*\bdata-md-component=["']?container\b)[^<>]*>""")
