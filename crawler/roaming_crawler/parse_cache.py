"""What was read of pages, as bytes: from process to process, and from crawl to crawl where a page is as it was."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from dataclasses import fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from mkdocs_roaming._version import __version__
from mkdocs_roaming.html.themes import load_themes
from mkdocs_roaming.manifest.models import Heading, NavItem
from mkdocs_roaming.publish.cache import CONVERTER_VERSION
from mkdocs_roaming.publish.files import write_atomically
from roaming_crawler.parser import ParsedPage, extract_headings, parse_page

PARSER_VERSION = "2"
"""Changes whenever the same HTML is read otherwise: what was read before is read again then."""


class ParseCache:
    """Readings by their keys, one file each, safe to delete."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._used: set[str] = set()

    def get(self, key: str) -> bytes | None:
        """Give a reading; None where there is none."""
        self._used.add(key)
        try:
            return (self._folder / key).read_bytes()
        except OSError:
            return None

    def put(self, key: str, data: bytes) -> None:
        """Keep a reading; a folder that cannot be written to keeps nothing."""
        with suppress(OSError):
            write_atomically(self._folder / key, data)

    def forget_others(self) -> None:
        """Remove what nobody asked for: pages that have changed, or are gone."""
        with suppress(OSError):
            for file in self._folder.iterdir():
                if file.name not in self._used:
                    file.unlink(missing_ok=True)


def cache_key(*parts: str | bytes) -> str:
    """Give the key of a reading: it tells all that the reading depends on, and who reads."""
    digest = hashlib.sha256()
    for part in (__version__, CONVERTER_VERSION + load_themes().fingerprint, PARSER_VERSION, *parts):
        data = part if isinstance(part, bytes) else part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()[:40]


def parse_page_to_json(data: bytes, charset: str, url: str, site_url: str) -> bytes:
    """Read a page that was found at `url`."""
    seen = parse_page(data, charset, url, site_url)
    told: dict[str, Any] = {name: getattr(seen, name) for name in _NAMES}
    # The nav is a text within the text: pages that have the same one share what it is read to.
    return _packed(told | {"words": sorted(seen.words), "nav": json.dumps(_rows(seen.nav))})


def load_page(data: bytes) -> ParsedPage | None:
    """Give a page that was read; None where these bytes tell of none."""
    try:
        told = json.loads(data)
        seen = ParsedPage(**{name: told[name] for name in _NAMES})
        return replace(
            seen,
            links=tuple(seen.links),
            nav_links=tuple(seen.nav_links),
            nav=_nav(told["nav"]),
            words=frozenset(seen.words),
        )
    except (ValueError, KeyError, TypeError):
        return None


def extract_headings_to_json(article: str, title: str) -> bytes:
    """Read the headings that an article would have as Markdown, with their anchors."""
    return _packed([[one.level, one.text, one.anchor] for one in extract_headings(article, title)])


def load_headings(data: bytes) -> tuple[Heading, ...] | None:
    """Give headings that were read; None where these bytes tell of none."""
    try:
        return tuple(Heading(level, text, anchor) for level, text, anchor in json.loads(data))
    except (ValueError, TypeError):
        return None


_NAMES = tuple(field.name for field in fields(ParsedPage))


def _packed(told: Any) -> bytes:
    return json.dumps(told, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _rows(nav: tuple[NavItem, ...]) -> list[Any]:
    return [[item.title, item.path, item.url, _rows(item.children)] for item in nav]


@lru_cache(maxsize=64)
def _nav(text: str) -> tuple[NavItem, ...]:
    return _items(json.loads(text))


def _items(rows: list[Any]) -> tuple[NavItem, ...]:
    return tuple(NavItem(title, path, url, _items(children)) for title, path, url, children in rows)
