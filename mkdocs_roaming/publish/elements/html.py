"""What a build adds to the HTML of every site: links to the Markdown, the 404 page, the name of a dialog.

All elements have the attribute `data-roaming`, so that the next build removes them, whatever they are.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from html import escape
from importlib import resources
from operator import itemgetter

import msgspec

from mkdocs_roaming.manifest.models import (
    LLMS_TXT,
    OUTLINE_PATH,
    Manifest,
    PageEntry,
    Site,
    markdown_path,
    path_to_url,
    relative_url,
    root_path,
    url_to_path,
)
from mkdocs_roaming.text.languages import base_language, load_phrases

MISSING_SCRIPT = "roaming/roaming-missing.js"
ADDRESSES_PATH = "roaming/addresses.json"

LANGUAGES = ("ar", "de", "es", "fr", "he", "ja", "zh")
"""The languages of the texts, besides English, in which only texts of pages are in a file."""

# No pattern scans beyond the start of the next element of its kind: pages may be hostile, and time is linear.
_OWN_ELEMENT = re.compile(
    r"<link\b[^<>]*\sdata-roaming>"
    r"|<(?P<tag>[a-z-]++)(?=[^<>]*\sdata-roaming[\s>])[^<>]*>[^<]*+(?>(?:<(?!/?(?P=tag)\b)[^<]*+)*)</(?P=tag)>"
)
_HEAD_END = re.compile(r"</head\s*>", re.IGNORECASE)
_BODY = re.compile(r"<body\b[^<>]*>", re.IGNORECASE)
_BEFORE_PAGE = re.compile(
    r"""\s+|<!--.*?-->|<input\b[^<>]*>|<(script|label|template|p(?=\sdata-roaming))\b.*?</\1\s*>"""
    r"""|(?P<box><div\b[^<>]*>\s*)?<a\b(?=[^<>]*\shref=["']?\#)[^<>]*>[^<>]*</a\s*>(?(box)\s*</div\s*>)""",
    re.DOTALL,
)
"""What themes have in the body before the page: scripts, switches, a skip link, each complete."""
_VALUE = r"""("[^"<>]*"|'[^'<>]*'|[^\s"'<>=]+)"""
"""The value of an attribute."""
_SEARCH = re.compile(r"""data-md-component=["']?search["'\s>]""")
_DIALOG = re.compile(
    r"""<div\b(?=[^<>]*\sdata-md-component=["']?search["'\s>])(?=[^<>]*\srole=["']?dialog["'\s>])[^<>]*>"""
)
_INPUT = re.compile(r"""<input\b(?=[^<>]*\sdata-md-component=["']?search-query["'\s>])[^<>]*>""")
_NAMES = frozenset(("aria-label", "aria-labelledby", "title"))
_LABEL = re.compile(rf"\saria-label={_VALUE}")
_OWN_NAME = re.compile(rf" aria-label={_VALUE} data-roaming-named")

_TITLE = re.compile(r"</h1\s*>(?:\s*<p\b[^<>]*>(?:[^<]|<(?:/?(?:strong|em|b|i)\b)[^<>]*>)*</p>)?", re.IGNORECASE)
"""The end of a heading, with a short paragraph below it."""
_CAMEL_CASE = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
"""The place between the words of `gettingStarted`."""
_WORD = re.compile(r"[^\W_]+")
_INDEX = re.compile(r"(?:^|/)(?:index|readme)\.html$", re.IGNORECASE)
_VERSION_OR_LANGUAGE = re.compile(
    r"v?\d+(?:[._]\d+)*(?:[._]x)?|latest|stable|main|master|dev|next|current|docs?|documentation"
    r"|[a-z]{2}(?:[-_][a-z]{2})?"
)
"""A folder that says nothing about its pages: `v2.1`, `latest`, `de`."""
_INSTANT_CONTAINER = re.compile(r"""<div\b(?=[^<>]*\bdata-md-component=["']?container\b)[^<>]*>""")


def remove_own_elements(html: str) -> str:
    """Return a page without everything that an earlier build has added."""
    if "data-roaming" not in html:
        return html
    return _OWN_NAME.sub("", _OWN_ELEMENT.sub("", html))


def insert_pieces(html: str, *pieces: tuple[int | None, str]) -> str:
    """Return a page with pieces at offsets of it, in order at the same one; those without an offset are left out."""
    parts = []
    end = 0
    places = ((offset, piece) for offset, piece in pieces if offset is not None)
    for offset, piece in sorted(places, key=itemgetter(0)):
        parts += [html[end:offset], piece]
        end = offset
    return "".join((*parts, html[end:]))


def find_head_end(html: str) -> int | None:
    """Return the offset of the end tag of the head. A search that ignores case takes a hundred times as long."""
    if (end := html.find("</head>")) >= 0:
        return end
    tag = _HEAD_END.search(html)
    return tag.start() if tag else None


def find_content_start(html: str) -> int | None:
    """Return the offset where an element that belongs to the page can be inserted, or None without a body.

    Material and Zensical replace only a container inside the body when they navigate without a page load. An element
    outside of it would keep the data of the previous page.
    """
    begin = find_head_end(html) or 0
    container = _INSTANT_CONTAINER.search(html, begin) if "data-md-component" in html else None
    parent = container or _BODY.search(html, begin)
    return parent.end() if parent else None


def find_page_start(html: str) -> int:
    """Return the offset below the skip link of a page, or at the start of its body; without a body at the end.

    An element there is an early Tab stop. It belongs to no part of the page that themes replace.
    """
    body = _BODY.search(html, find_head_end(html) or 0)
    start = body.end() if body else len(html)
    while element := _BEFORE_PAGE.match(html, start):
        start = element.end()
    return start


def read_asset(path: str) -> bytes:
    """Return a file of the widget, of the page menu or of the 404 page by its published path."""
    return (resources.files("mkdocs_roaming") / "widget" / path.rpartition("/")[2]).read_bytes()


@cache
def load_texts(language: str) -> dict[str, str]:
    """Return the texts of a language tag, in English if there is no translation, which has those of the widget, too."""
    code = base_language(language)
    if code not in LANGUAGES:
        code = "en"
    data = read_asset(f"ask.{code}.json")
    return msgspec.json.decode(data, type=dict[str, str])


@cache
def load_icon(name: str) -> str:
    """Return the SVG of an icon."""
    return read_asset(f"icon-{name}.svg").decode().strip()


# Published pages


def add_markdown_links(html: str, path: str, *, has_llms_txt: bool = True, root: str = "") -> str:
    """Add links to a page's Markdown and to llms.txt: two `<link>`s in its head and a sentence in its body.

    Where the page has no head or no body, that part is left out. The search dialog of Material gets its name.

    Args:
        html: The page.
        path: Its path.
        has_llms_txt: Whether the site has an llms.txt.
        root: See `relative_url`.
    """
    markdown = escape(relative_url(path, markdown_path(path), root))
    llms_txt = escape(relative_url(path, LLMS_TXT, root))
    # Material requests a sitemap next to each target of `[rel=alternate]`: one 404 per page (zensical/zensical#908).
    # The trailing space avoids that selector; readers that split `rel` into tokens ignore it.
    rel = "alternate " if "data-md-component" in html else "alternate"
    head = f'<link rel="{rel}" type="text/markdown" href="{markdown}" data-roaming>'
    listed = ""
    if has_llms_txt:
        head += f'<link rel="describedby" type="text/markdown" href="{llms_txt}" data-roaming>'
        # Agent-readiness checkers look for a URL that ends in `/llms.txt`, also on the home page.
        address = llms_txt if "/" in llms_txt else f"./{llms_txt}"
        listed = f', and all of them are listed in <a href="{address}">llms.txt</a>'
    # Text extractors keep an element with `hidden`; screen readers, the tab key and Material's search skip it. A style
    # attribute would violate a strict content security policy, and a class needs a style sheet on every page.
    sentence = (
        "<p data-roaming data-pagefind-ignore hidden>"
        "For agents and language models, every page of this documentation is also there as Markdown, "
        f'this one at <a href="{markdown}">{markdown.rpartition("/")[2]}</a>{listed}.</p>'
    )
    content = find_content_start(html)
    return insert_pieces(html, (find_head_end(html), head), (content, sentence), find_dialog_name(html))


# The 404 page


def add_similar_pages(html: str, site: Site) -> str:
    """Add a place for links to similar addresses, which a script fills, and a link to all pages.

    Hosts serve the page at any address, so all its links begin at the root of the host. The search dialog of Material
    gets its name.
    """
    root = root_path(site.url)
    texts = load_texts(site.language)
    listing = escape(root + (LLMS_TXT if site.has_llms_txt else OUTLINE_PATH))
    place = (
        f'<nav data-roaming data-roaming-missing aria-label="{escape(texts["similarPages"])}"></nav>'
        f'<noscript data-roaming><p><a href="{listing}">{escape(texts["allPages"])}</a></p></noscript>'
    )
    # At the beginning, because clients cut pages.
    sentence = (
        "<p data-roaming data-pagefind-ignore hidden>For agents and language models: there is no page at this address. "
        f'All pages of this documentation are listed in <a href="{listing}">{listing.rpartition("/")[2]}</a>.</p>'
    )
    head = (
        f'<link rel="describedby" type="text/markdown" href="{listing}" data-roaming>'
        f'<script type="module" src="{escape(root)}{MISSING_SCRIPT}" data-roaming></script>'
    )
    dialog_name = find_dialog_name(html)
    start = find_content_start(html)
    if start is None:
        return insert_pieces(html, dialog_name)
    end = start
    for title in _TITLE.finditer(html):
        end = max(end, title.end())
    return insert_pieces(html, (find_head_end(html), head), (start, sentence), (end, place), dialog_name)


def iter_not_found_files(manifest: Manifest, site: Site) -> Iterator[tuple[str, bytes]]:
    """Yield path and content of the files that the 404 page loads: the script, and the addresses of all pages."""
    yield MISSING_SCRIPT, read_asset(MISSING_SCRIPT)
    yield ADDRESSES_PATH, msgspec.json.encode(collect_addresses(manifest, site)) + b"\n"


class Addresses(msgspec.Struct, frozen=True, omit_defaults=True):
    """The addresses of a site, from which `roaming-missing.js` finds the pages that a missing address may mean.

    Attributes:
        url: URL of the site, with a slash at the end; it may be relative to the script.
        pages: Path and title of all pages in nav order.
        moved: The path to which each old path leads.
        ids: The path of the page with a former id; the id of a page that has moved derives from its old path.
        names: Groups of words that sites use for the same page.
    """

    url: str
    pages: tuple[tuple[str, str], ...]
    moved: dict[str, str] = msgspec.field(default_factory=dict)
    ids: dict[str, str] = msgspec.field(default_factory=dict)
    names: tuple[tuple[str, ...], ...] = ()


def collect_addresses(manifest: Manifest, site: Site) -> Addresses:
    """Return the addresses of a site."""
    paths = {page.path for page in manifest.pages}
    moved = {}
    for path in site.redirects:
        target = url_to_path(site.url, site.follow_redirects(path_to_url(site.url, path)))
        if target in paths:
            moved[path] = target
    ids: dict[str, str] = {}
    known: set[str] = set()
    for page in manifest.pages:
        known.update(_iter_page_words(page))
        for section in page.sections:
            ids |= dict.fromkeys(section.aliases, page.path)
    entries = tuple((page.path, page.title) for page in manifest.pages)
    phrases = load_phrases(site.language, "page_names")
    groups = [tuple("".join(_split_words(name)) for name in phrase.split(", ")) for phrase in phrases]
    names = tuple(group for group in groups if not known.isdisjoint(group))
    return Addresses(site.url or "../", entries, moved, ids, names)


def _iter_page_words(page: PageEntry) -> Iterator[str]:
    """Yield the words of a page's title, slug and folders, without folders of a version or language."""
    path = _INDEX.sub("", unicodedata.normalize("NFC", page.path))
    *folders, slug = path.strip("/").split("/")
    for text in (page.title, slug.removesuffix(".html")):
        words = _split_words(text)
        yield from (*words, "".join(words))
    for folder in folders:
        if not _VERSION_OR_LANGUAGE.fullmatch(folder.lower()):
            yield from _split_words(folder)


def _split_words(text: str) -> list[str]:
    """Return the words of a text without accents and case; `gettingStarted` has two."""
    decomposed = unicodedata.normalize("NFKD", _CAMEL_CASE.sub(" ", text))
    letters = "".join(char for char in decomposed if not unicodedata.combining(char))
    return _WORD.findall(letters.lower())


# The search dialog of Material


def find_dialog_name(html: str) -> tuple[int | None, str]:
    """Return the name of Material's search dialog, that of its input, and its place; no place for a named dialog.

    Agents that read the accessibility tree, and screen readers, announce a dialog by its name.
    """
    search = _SEARCH.search(html)
    dialog = _DIALOG.search(html, html.rfind("<", 0, search.start())) if search else None
    if dialog is None:
        return None, ""
    attributes = [attribute.partition("=")[0] for attribute in dialog[0].split()]
    if not _NAMES.isdisjoint(attributes):
        return None, ""
    field = _INPUT.search(html, dialog.end())
    label = _LABEL.search(field[0]) if field else None
    if label is None:
        return None, ""
    return dialog.end() - 1, f" aria-label={label[1]} data-roaming-named"
