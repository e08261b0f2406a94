"""What a fetched page says: its article, its links, its nav. Runs in worker processes, so nothing here waits."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from urllib.parse import urljoin

from lxml import etree
from lxml import html as lxml_html

from mkdocs_roaming.errors import RoamingError
from mkdocs_roaming.html.converter import convert
from mkdocs_roaming.html.document import (
    extract_canonical_url,
    extract_meta,
    extract_site_name,
    extract_title,
    find_article,
    find_own_elements,
    has_site_description,
    parse_document,
    remove_element,
)
from mkdocs_roaming.html.final_page import exclusion_reason
from mkdocs_roaming.manifest.models import Heading, NavItem, url_to_path
from mkdocs_roaming.sources import site_nav
from roaming_crawler.scope import canonical_url
from roaming_crawler.sniff import decode_text

LinkResolver = Callable[[str], str | None]
"""Gives the one spelling of a page's link."""


@dataclass(frozen=True, slots=True)
class ParsedPage:
    """What one HTML page holds. `links` are those of the article, `nav_links` all others, in their one spelling."""

    title: str = ""
    description: str = ""
    article: str = ""
    language: str = ""
    site_name: str = ""
    site_description: str = ""
    canonical: str = ""
    markdown: str = ""
    """The address of the page's Markdown, as its `<link>` says."""
    links: tuple[str, ...] = ()
    nav_links: tuple[str, ...] = ()
    nav: tuple[NavItem, ...] = ()
    words: frozenset[str] = frozenset()
    left_out: str = ""
    """Why it is no page to publish: a redirect, `noindex`, a JavaScript shell, a form to log in."""


def parse_page(data: bytes, charset: str, url: str, site_url: str) -> ParsedPage:
    """Read a page that was found at `url`."""
    text = decode_text(data, charset)
    try:
        tree = parse_document(text)
    except (etree.ParserError, etree.XMLSyntaxError, ValueError):
        return ParsedPage(left_out="nothing in it")
    for ours in find_own_elements(tree):
        if ours.tag != "link":
            remove_element(ours)
    base = _base(tree, url)
    article = find_article(tree)
    if tree.find(".//base[@href]") is not None:
        _make_absolute(article, base)
    words = frozenset(re.findall(r"\w+", "".join(str(part) for part in article.itertext()).casefold()))
    title = extract_title(tree) if tree.xpath("boolean(//head/title[normalize-space()])") else _heading(article)
    about = extract_meta(tree, "description")
    spelt = cache(lambda href: canonical_url(href, base))  # an article's link stands in the tree and in the nav, too
    links = _links(article, spelt)
    if to := _refresh(tree, base):
        links[to] = None
    return ParsedPage(
        title=title,
        description="" if has_site_description(tree) else about,
        article=lxml_html.tostring(article, encoding="unicode", with_tail=False),
        language=str(tree.get("lang") or ""),
        site_name=extract_site_name(tree),
        site_description=about,
        canonical=canonical_url(extract_canonical_url(tree), base) or "" if extract_canonical_url(tree) else "",
        markdown=_alternate(tree, base),
        links=tuple(links),
        nav_links=tuple(link for link in _links(tree, spelt) if link not in links),
        nav=_nav(tree, spelt, site_url),
        words=words,
        left_out=exclusion_reason(text) or _shell(tree, article, words),
    )


def find_refresh_target(data: bytes, charset: str, url: str) -> str:
    """Give where a page sends its readers by itself (`<meta http-equiv="refresh">`), `""` where it does not."""
    text = decode_text(data, charset)
    if not re.search(r"http-equiv\s*=\s*[\"']?refresh", text, re.IGNORECASE):
        return ""
    try:
        tree = parse_document(text)
    except (etree.ParserError, etree.XMLSyntaxError, ValueError):
        return ""
    return _refresh(tree, _base(tree, url))


def extract_headings(article: str, title: str) -> tuple[Heading, ...]:
    """Give the headings that an article would have as Markdown, with their anchors."""
    try:
        return convert(article, title=title).headings
    except RoamingError:
        return ()


def _base(tree: etree._Element, url: str) -> str:
    """Give what links are relative to.

    A host may give a page with its slash or without, and not redirect: the page was written for its canonical address.
    """
    own = canonical_url(extract_canonical_url(tree), url) if extract_canonical_url(tree) else None
    if own and own.rstrip("/") == url.rstrip("/"):
        url = own
    href = str(tree.xpath("string(//base[@href][1]/@href)")).strip()
    return urljoin(url, href) if href else url


def _heading(article: etree._Element) -> str:
    """Give the first heading of a page that has no title, without the sign that links to it."""
    heading = article.find(".//h1")
    return " ".join("".join(map(str, heading.itertext())).split()).strip("¶# ") if heading is not None else ""


def _make_absolute(article: etree._Element, base: str) -> None:
    """Write out links that are relative to a `<base>`: whoever converts the article sees no more than the article."""
    for name in ("href", "src"):
        for element in article.iterfind(f".//*[@{name}]"):
            value = element.get(name) or ""
            if not value.startswith("#"):  # meant for the page itself, whatever a browser makes of it
                with suppress(ValueError):
                    element.set(name, urljoin(base, value))


def _refresh(tree: etree._Element, base: str) -> str:
    for meta in tree.iter("meta"):
        if (meta.get("http-equiv") or "").strip().lower() == "refresh":
            to = _REFRESH.match(meta.get("content") or "")
            return (canonical_url(to[2], base) or "") if to else ""
    return ""


def _links(tree: etree._Element, spelt: LinkResolver) -> dict[str, None]:
    """Give where a tree's links lead; those that ask not to be followed aside."""
    found: dict[str, None] = {}
    for link in tree.iter("a", "iframe", "frame"):  # mdBook's nav stands in a frame
        href = link.get("href" if link.tag == "a" else "src") or ""
        if href and not href.startswith("#") and "nofollow" not in (link.get("rel") or "").lower().split():
            url = spelt(href)
            if url:
                found[url] = None
    return found


def _alternate(tree: etree._Element, base: str) -> str:
    for link in tree.iter("link"):
        words = (link.get("rel") or "").lower().split()  # a list of words, in any order, with spaces around
        kind = (link.get("type") or "").partition(";")[0].strip().lower()
        if "alternate" in words and kind in ("text/markdown", "text/x-markdown") and link.get("href"):
            return canonical_url(link.get("href") or "", base) or ""
    return ""


def _nav(tree: etree._Element, spelt: LinkResolver, site_url: str) -> tuple[NavItem, ...]:
    def resolve(href: str) -> str | None:
        url = spelt(href)
        return url_to_path(site_url, url) if url else None

    return site_nav.from_sidebar(tree, resolve)


def _shell(tree: etree._Element, article: etree._Element, words: frozenset[str]) -> str:
    if len(words) < 40 and article.xpath(".//input[@type='password']"):
        return "asks for a password"
    if len(words) < 20 and tree.xpath("//script") and (tree.xpath(_ROOTS) or not article.xpath(_SHOWN)):
        return "a JavaScript shell: its text is not in its HTML"
    return ""


_REFRESH = re.compile(r"""\s*[\d.]+\s*[;,\s]\s*(?:url\s*=\s*)?(["']?)([^\s"'].*?)\1\s*$""", re.IGNORECASE | re.DOTALL)
_SHOWN = (
    ".//text()[normalize-space() and not(ancestor::head or ancestor::script or ancestor::style or ancestor::noscript)]"
    " | .//img | .//svg | .//picture | .//video | .//audio | .//iframe | .//frame | .//object | .//math"
)


_ROOTS = (
    "//*[@id='root' or @id='app' or @id='__next' or @id='__nuxt' or @id='___gatsby' or @id='svelte']"
    "[not(normalize-space()) or string-length(normalize-space()) < 200]"
)
