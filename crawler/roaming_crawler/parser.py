"""HTML parser: a page's article, links, navigation and metadata. Runs in worker processes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain
from typing import cast
from urllib.parse import urljoin
from zlib import crc32

from lxml import etree
from lxml import html as lxml_html

from mkdocs_roaming.errors import RoamingError
from mkdocs_roaming.html.document import (
    copy_metadata,
    extract_canonical_url,
    extract_description,
    extract_site_name,
    extract_title,
    find_article,
    find_hidden_texts,
    parse_document,
    remove_own_elements,
)
from mkdocs_roaming.html.formulas import mark_formulas
from mkdocs_roaming.manifest.models import NavItem, url_to_path
from mkdocs_roaming.sources import site_nav
from mkdocs_roaming.text.injection import InjectedText, scan_hidden_texts
from mkdocs_roaming.text.meta_tags import find_page_ban
from roaming_crawler.contents import find_target
from roaming_crawler.fetch import Response
from roaming_crawler.scope import canonical_url

PARSER_VERSION = "12"
"""Incremented when the parser's code returns another result for the same HTML; themes need no new version."""

_NAVS = site_nav.NavCache()
_MAX_HIDDEN = 20
_MAX_MESSAGE_CHARS = 200
_MAX_LOGIN_WORDS = 40
_MAX_SHELL_WORDS = 20
"""A page with more words has its text in its HTML."""
_MIN_TEXT_WORDS = 3
_SERIES = frozenset(("next", "prev", "previous", "first", "last", "contents", "index", "up"))
"""Relations of a page to others of a series."""
_FEEDS = ("application/rss+xml", "application/atom+xml")
_LLMS = frozenset(("llms", "llms-txt", "llms.txt"))
_WORD = re.compile(r"\w+")
"""A word of any language, such as `café`."""
SHELL = "a JavaScript shell: its text is not in its HTML"
_find_links = cast(
    "Callable[[etree._Element], list[str]]",
    etree.XPath(  # mdBook's navigation is a frame
        ".//a[not(@rel) or not(contains(translate(@rel, 'NOFLW', 'noflw'), 'nofollow'))]/@href"
        " | .//iframe/@src | .//frame/@src",
        smart_strings=False,
    ),
)
_find_texts = cast(
    "Callable[[etree._Element], list[etree._ElementUnicodeResult]]",
    etree.XPath(
        ".//text()[string-length() > 12]"
        "[not(parent::a or parent::script or parent::style or parent::template or parent::title)]"
    ),
)
_VISIBLE_CONTENT = (
    ".//text()[normalize-space() and not(ancestor::head or ancestor::script or ancestor::style or ancestor::noscript)]"
    " | .//img | .//svg | .//picture | .//video | .//audio | .//iframe | .//frame | .//object | .//math"
)
_APP_ROOTS = (
    "//*[@id='root' or @id='app' or @id='__next' or @id='__nuxt' or @id='___gatsby' or @id='svelte']"
    "[not(normalize-space()) or string-length(normalize-space()) < 200]"
)
_LATE_PARTS = ".//template[@data-dgst]"
"""Parts of a page that React writes in the browser alone."""


@dataclass(frozen=True, slots=True)
class ParsedPage:
    """Contents and metadata of an HTML page; all links are canonical URLs."""

    title: str = ""
    """The whole title, with the name of the site if it has that."""
    heading: str = ""
    """The first heading of the article."""
    description: str = ""
    article: str = ""
    language: str = ""
    site_name: str = ""
    canonical: str = ""
    markdown: str = ""
    """URL of the page's Markdown, from its `<link>` element."""
    links: tuple[str, ...] = ()
    """Links in the article."""
    nav_links: tuple[str, ...] = ()
    """All other links."""
    nav: tuple[NavItem, ...] = ()
    words: frozenset[str] = frozenset()
    outside: tuple[tuple[int, int], ...] = ()
    """Checksum and number of words of each text of the page that is neither in the article nor a link."""
    alternates: tuple[tuple[str, str], ...] = ()
    """Languages and URLs of translations, from `hreflang`."""
    sitemaps: tuple[str, ...] = ()
    llms: tuple[str, ...] = ()
    """URLs of llms.txt files."""
    hidden: tuple[InjectedText, ...] = ()
    """Texts in the article that readers do not see, and that seem to be written for language models."""
    skip_reason: str = ""
    """Why the page is not published: a redirect, `noindex`, a JavaScript shell, a login form."""

    @property
    def all_links(self) -> tuple[str, ...]:
        """The links in the article and around it."""
        return (*self.links, *self.nav_links)


def parse_page(response: Response, site_url: str) -> ParsedPage:
    """Parse the HTML of a page. If it cannot be parsed, the result has a `skip_reason` alone."""
    try:
        return _parse_page(response, site_url)
    except RoamingError:  # of the setup, such as a theme that cannot be loaded
        raise
    except Exception as error:  # a page of others may break any of our assumptions, and must not end the crawl
        return ParsedPage(skip_reason=describe_failure("parsed", error))


def describe_failure(verb: str, error: Exception) -> str:
    """Return why a page is skipped that our own code cannot process."""
    message = " ".join(str(error).split())
    return f"cannot be {verb} ({type(error).__name__}: {message[:_MAX_MESSAGE_CHARS]}); please report this page"


def _parse_page(response: Response, site_url: str) -> ParsedPage:
    text = response.text
    try:
        tree = parse_document(text or "<p>")
    except (etree.ParserError, etree.XMLSyntaxError, ValueError):
        return ParsedPage(skip_reason="an empty page")
    if "data-roaming" in text:
        remove_own_elements(tree)
    metadata = copy_metadata(tree)
    base = _base_url(metadata, response.url)
    article = find_article(tree)
    mark_formulas(article, tree)
    if metadata.find(".//base[@href]") is not None:
        _make_links_absolute(article, base)
    article_texts = [str(part) for part in article.itertext()]
    words = split_words("".join(article_texts))
    heading = next(article.iter("h1", "h2", "h3"), None)
    heading_text = "".join(map(str, heading.itertext())) if heading is not None else ""
    resolve = cache(partial(canonical_url, base=base))  # links of the article occur in the navigation, too
    links = _extract_links(article, resolve)
    target = _resolve(find_target(response, text), base)
    if target in ("", response.url):  # the page loads itself again
        reason = find_page_ban(text) or _login_or_shell(tree, article, words)
    else:
        reason = "a redirect"
        links[target] = None
    nav_links = [link for link in _extract_links(tree, resolve) if link not in links]
    canonical = ""
    markdown = ""
    sitemaps: list[str] = []
    llms: list[str] = []
    alternates: list[tuple[str, str]] = []
    elements = (dict(link.attrib) for link in metadata.iter("link"))
    for link in (*elements, *response.links):
        address = _resolve(link.get("href"), base)
        relations = (link.get("rel") or "").lower().split()
        if not address:
            continue
        if not _SERIES.isdisjoint(relations):
            links.setdefault(address)
        if "canonical" in relations:
            canonical = canonical or address
        elif "sitemap" in relations:
            sitemaps.append(address)
        elif address.endswith("/llms.txt") or not _LLMS.isdisjoint(relations):
            llms.append(address)
        if "alternate" not in relations:
            continue
        kind = (link.get("type") or "").partition(";")[0].strip().lower()
        if kind in ("text/markdown", "text/x-markdown"):
            markdown = markdown or address
        elif kind in _FEEDS:
            sitemaps.append(address)
        if "hreflang" in link:
            alternates.append((link["hreflang"].strip(), address))

    common = _find_common_parameters([*links, *nav_links], site_url)
    return ParsedPage(
        title=extract_title(metadata),
        heading=" ".join(heading_text.split()).strip("¶# "),
        description=extract_description(metadata, article),
        article=lxml_html.tostring(article, encoding="unicode", with_tail=False),
        language=str(metadata.get("lang") or ""),
        site_name=extract_site_name(metadata),
        canonical=canonical,
        markdown=markdown,
        links=tuple(_drop_queries(links, common)),
        nav_links=tuple(_drop_queries(nav_links, common)),
        nav=site_nav.from_sidebar(tree, lambda href: url_to_path(site_url, resolve(href) or ""), cache=_NAVS),
        words=words,
        outside=tuple(_find_texts_outside(tree, article_texts)),
        alternates=tuple(alternates),
        sitemaps=tuple(sitemaps),
        llms=tuple(llms),
        hidden=tuple(scan_hidden_texts(find_hidden_texts(article))[:_MAX_HIDDEN]),
        skip_reason=reason,
    )


def _resolve(href: str | None, base: str) -> str:
    """Return the canonical URL of a reference, an empty string if there is none."""
    return (href and canonical_url(href, base)) or ""


def split_words(text: str) -> frozenset[str]:
    """Return the distinct words of a text, case-folded."""
    return frozenset(_WORD.findall(text.casefold()))


def _base_url(tree: etree._Element, url: str) -> str:
    """Return the base of relative links.

    A host may serve a page with and without a trailing slash and not redirect; the links are relative to the canonical
    URL then.
    """
    own = _resolve(extract_canonical_url(tree), url)
    if own.rstrip("/") == url.rstrip("/"):
        url = own
    href = str(tree.xpath("string(//base[@href][1]/@href)")).strip()
    with suppress(ValueError):  # no URL
        return urljoin(url, href)
    return url


def _find_texts_outside(tree: etree._Element, article_texts: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield checksum and number of words of the texts of a page that neither its article nor a link contains."""
    inside = Counter(article_texts)
    for text in _find_texts(tree):
        if inside[text] > 0:
            inside[text] -= 1
            continue
        words = len(_WORD.findall(text))
        if words >= _MIN_TEXT_WORDS and not _is_linked_or_hidden(text.getparent()):
            yield crc32(" ".join(text.split()).encode("utf-8", "replace")), words


def _is_linked_or_hidden(element: etree._Element | None) -> bool:
    """Return whether an element is in a link, or in a part that readers see only on demand, such as a tooltip."""
    while element is not None:
        if element.tag in ("a", "noscript") or element.get("class") == "ttc" or element.get("role") == "tooltip":
            return True
        element = element.getparent()
    return False


def _make_links_absolute(article: etree._Element, base: str) -> None:
    """Resolve the links against `<base>`, because the converter sees the article alone."""
    for name in ("href", "src"):
        for element in article.iterfind(f".//*[@{name}]"):
            value = element.get(name) or ""
            if not value.startswith("#"):  # authors mean the page itself, although browsers resolve it against the base
                with suppress(ValueError):
                    element.set(name, urljoin(base, value))


def _extract_links(tree: etree._Element, resolve: Callable[[str], str | None]) -> dict[str, None]:
    """Return the link targets in a tree, without `nofollow` links."""
    urls = (resolve(href) for href in dict.fromkeys(_find_links(tree)) if href and not href.startswith("#"))
    return {url: None for url in urls if url}


def _find_common_parameters(links: Sequence[str], site_url: str) -> set[str]:
    """Return the parameters that most links to pages of the site have: a version or a view, but no page."""
    queries = [link.partition("?")[2].split("&") for link in links if link.startswith(site_url)]
    counts = Counter(chain.from_iterable(queries))
    return {parameter for parameter, count in counts.items() if parameter and 2 * count > len(queries)}


def _drop_queries(links: Iterable[str], parameters: set[str]) -> Iterable[str]:
    """Return links without queries that have no other parameters."""
    parts = ((link, *link.split("?", 1)) for link in links if "?" in link)
    shorter = {link: path for link, path, query in parts if parameters.issuperset(query.split("&"))}
    return dict.fromkeys(shorter.get(link, link) for link in links)


def _login_or_shell(tree: etree._Element, article: etree._Element, words: frozenset[str]) -> str:
    if len(words) < _MAX_LOGIN_WORDS and article.xpath(".//input[@type='password']"):
        return "asks for a password"
    if len(words) >= _MAX_SHELL_WORDS or not tree.xpath("//script"):
        return ""
    is_shell = tree.xpath(_APP_ROOTS) or article.find(_LATE_PARTS) is not None or not article.xpath(_VISIBLE_CONTENT)
    return SHELL if is_shell else ""
