"""The 404 page: a place for links to similar addresses, which a script fills, and a link to all pages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from importlib import resources

import msgspec

from mkdocs_roaming.manifest.addresses import ADDRESSES_PATH, collect_addresses
from mkdocs_roaming.manifest.models import (
    LLMS_TXT,
    OUTLINE_PATH,
    Manifest,
    Site,
    root_path,
)
from mkdocs_roaming.publish.elements.search_dialog import name_search_dialog
from mkdocs_roaming.publish.elements.widget import load_translation
from mkdocs_roaming.publish.pointers import MISSING_SCRIPT, find_content_start

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


# No pattern scans beyond the start of the next element of its kind: pages may be hostile, and time is linear.
_HEAD_END = re.compile(r"</head\s*>", re.IGNORECASE)
_TITLE = re.compile(r"</h1\s*>(?:\s*<p\b[^<>]*>(?:[^<]|<(?:/?(?:strong|em|b|i)\b)[^<>]*>)*</p>)?", re.IGNORECASE)
"""The end of a heading, with a short paragraph below it."""
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
