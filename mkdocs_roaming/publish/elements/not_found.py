"""The 404 page: a place for links to similar addresses, which a script fills, and a link to all pages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape
from importlib import resources

import msgspec

from mkdocs_roaming.manifest.addresses import ADDRESSES_PATH, AddressEntry, collect_addresses
from mkdocs_roaming.manifest.models import Manifest, Site, markdown_path, path_to_url, root_path
from mkdocs_roaming.publish.elements.search_dialog import name_search_dialog
from mkdocs_roaming.publish.elements.widget import load_translation
from mkdocs_roaming.publish.pointers import LLMS_TXT, MISSING_SCRIPT, OUTLINE_PATH, find_content_start, relative_url

NOT_FOUND_PAGE = "404.html"

ENGLISH = {"similarPages": "Pages at similar addresses:", "allPages": "List of all pages"}


def add_similar_pages(html: str, site: Site) -> str:
    """Add the place for links, the script, and a link to all pages; those of an earlier build are replaced.

    The search dialog of Material gets its name, as on published pages.

    Hosts serve the page at any address, so all its links begin at the root of the host.
    """
    html = name_search_dialog(remove_similar_pages(html))
    root = root_path(site.url)
    words = ENGLISH | load_translation(site.language)
    listing = escape(root + (LLMS_TXT if site.has_llms_txt else OUTLINE_PATH))
    place = (
        f'<nav data-roaming data-roaming-missing aria-label="{escape(words["similarPages"])}"></nav>'
        f'<noscript data-roaming><p><a href="{listing}">{escape(words["allPages"])}</a></p></noscript>'
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
    start = find_content_start(html)
    if start is None:
        return html
    end = max([start, *(title.end() for title in _TITLE.finditer(html))])
    html = html[:start] + sentence + html[start:end] + place + html[end:]
    closing = _HEAD_END.search(html)
    return html[: closing.start()] + head + html[closing.start() :] if closing else html


def remove_similar_pages(html: str) -> str:
    """Remove what an earlier build has added."""
    return _OWN_ELEMENTS.sub("", html) if "data-roaming-missing" in html else html


def fill_similar_pages(html: str, pages: Sequence[AddressEntry], path: str) -> str:
    """Return a 404 page with the links in place, so that it needs no script; without a place it is not changed.

    Args:
        html: The 404 page.
        pages: The pages.
        path: The requested path. The links are relative to it, because a proxy may have removed its beginning.
    """
    links = "".join(f'<li><a href="{escape(_link(path, page.path))}">{escape(page.title)}</a></li>' for page in pages)

    def fill(place: re.Match[str]) -> str:
        return f"{place['start']}<p>{place['label']}</p><ul>{links}</ul></nav>"

    return _PLACE.sub(fill, html, count=1) if pages else html


def _link(path: str, target: str) -> str:
    """Return the relative URL of a page."""
    return relative_url(path.lstrip("/"), target) + "/" * (not target or target.endswith("/"))


def render_similar_pages(pages: Sequence[AddressEntry], url: str, listing: str = LLMS_TXT) -> str:
    """Return the 404 page as Markdown.

    Args:
        pages: The pages that the address may mean.
        url: URL of the site.
        listing: Path of the list of all pages.
    """
    links = "".join(f"- [{_escape(page.title)}]({path_to_url(url, markdown_path(page.path))})\n" for page in pages)
    similar = f" Pages at similar addresses:\n\n{links}" if pages else "\n"
    name = listing.rpartition("/")[2]
    return f"# Not found\n\nThere is no page at this address.{similar}\nAll pages: [{name}]({url}{listing}).\n"


def _escape(text: str) -> str:
    return re.sub(r"([\\\[\]])", r"\\\1", text)


# No pattern scans beyond the start of the next element of its kind: pages may be hostile, and time is linear.
_HEAD_END = re.compile(r"</head\s*>", re.IGNORECASE)
_TITLE = re.compile(r"</h1\s*>(?:\s*<p\b[^<>]*>(?:[^<]|<(?:/?(?:strong|em|b|i)\b)[^<>]*>)*</p>)?", re.IGNORECASE)
"""The end of a heading, with a short paragraph below it."""
_PLACE = re.compile(r'(?P<start><nav data-roaming data-roaming-missing aria-label="(?P<label>[^"]*)">)</nav>')
_OWN_ELEMENTS = re.compile(
    r"<nav data-roaming data-roaming-missing\b[^<>]*></nav>"
    r"|<noscript data-roaming><p><a\b[^<>]*>[^<]*</a></p></noscript>"
    r"|<p data-roaming\b[^<]*(?:<(?!/?p\b)[^<]*)*</p>"
    r"|<link\b[^<>]*\bdata-roaming>"
    r'|<script type="module" src="[^"]*roaming-missing\.js" data-roaming></script>'
)


def iter_not_found_files(manifest: Manifest, site: Site) -> Iterator[tuple[str, bytes]]:
    """Yield path and content of the files that the 404 page loads: the script, and the addresses of all pages."""
    yield MISSING_SCRIPT, (resources.files("mkdocs_roaming.widget") / MISSING_SCRIPT.rpartition("/")[2]).read_bytes()
    yield ADDRESSES_PATH, msgspec.json.encode(collect_addresses(manifest, site)) + b"\n"
