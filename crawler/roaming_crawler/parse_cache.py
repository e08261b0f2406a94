"""Cache of parsed pages, and their serialization between processes and crawls."""

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

PARSER_VERSION = "4"
"""Incremented when the parser returns another result for the same HTML: invalidates the cache."""


class ParseCache:
    """Serialized results by key, one file each. The folder can be deleted at any time."""

    def __init__(self, folder: Path) -> None:
        """Use a folder, which need not exist."""
        self._folder = folder
        self._used: set[str] = set()

    def get(self, key: str) -> bytes | None:
        """Return a cached result, or None."""
        self._used.add(key)
        try:
            return (self._folder / key).read_bytes()
        except OSError:
            return None

    def put(self, key: str, data: bytes) -> None:
        """Cache a result; write errors are ignored."""
        with suppress(OSError):
            write_atomically(self._folder / key, data)

    def remove_unused(self) -> None:
        """Remove the results that were not requested since the cache was opened."""
        with suppress(OSError):
            for file in self._folder.iterdir():
                if file.name not in self._used:
                    file.unlink(missing_ok=True)


def cache_key(*parts: str | bytes) -> str:
    """Return the key of a result: a hash of its inputs and of the parser's version."""
    digest = hashlib.sha256()
    for part in (__version__, CONVERTER_VERSION + load_themes().fingerprint, PARSER_VERSION, *parts):
        data = part if isinstance(part, bytes) else part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()[:40]


def parse_page_to_json(data: bytes, charset: str, url: str, site_url: str) -> bytes:
    """Parse a page and serialize the result; see `parse_page`."""
    page = parse_page(data, charset, url, site_url)
    values: dict[str, Any] = {name: getattr(page, name) for name in _PAGE_FIELDS}
    # The navigation is a JSON string within the JSON, so that pages with the same one share its decoded form.
    return _dump(values | {"words": sorted(page.words), "nav": json.dumps(_nav_to_rows(page.nav))})


def load_page(data: bytes) -> ParsedPage | None:
    """Return a serialized page, or None if the data is invalid."""
    try:
        values = json.loads(data)
        page = ParsedPage(**{name: values[name] for name in _PAGE_FIELDS})
        return replace(
            page,
            links=tuple(page.links),
            nav_links=tuple(page.nav_links),
            nav=_load_nav(values["nav"]),
            words=frozenset(page.words),
            hidden=tuple(page.hidden),
        )
    except (ValueError, KeyError, TypeError):
        return None


def extract_headings_to_json(article: str, title: str) -> bytes:
    """Extract the headings of an article and serialize them; see `extract_headings`."""
    headings = extract_headings(article, title)
    return _dump([[heading.level, heading.text, heading.anchor, heading.anchors] for heading in headings])


def load_headings(data: bytes) -> tuple[Heading, ...] | None:
    """Return serialized headings, or None if the data is invalid."""
    try:
        return tuple(Heading(level, text, anchor, tuple(anchors)) for level, text, anchor, anchors in json.loads(data))
    except (ValueError, TypeError):
        return None


_PAGE_FIELDS = tuple(field.name for field in fields(ParsedPage))


def _dump(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _nav_to_rows(nav: tuple[NavItem, ...]) -> list[Any]:
    return [[item.title, item.path, item.url, _nav_to_rows(item.children)] for item in nav]


@lru_cache(maxsize=64)
def _load_nav(text: str) -> tuple[NavItem, ...]:
    return _rows_to_nav(json.loads(text))


def _rows_to_nav(rows: list[Any]) -> tuple[NavItem, ...]:
    return tuple(NavItem(title, path, url, _rows_to_nav(children)) for title, path, url, children in rows)
