"""Meta tags of HTML pages: redirects, and whether a page is to be indexed. No HTML is parsed."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from html import unescape
from urllib.parse import urlsplit

_HEAD_CHARS = 20_000
"""Characters at the beginning of a page that count as its head if no tag ends it."""
_META = re.compile(r"<meta\b[^>]*>", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""([\w-]+)\s*=\s*("[^"]*"|'[^']*'|[^\s"'>]+)""")
"""An attribute of a tag: `name="robots"`. Parsing the HTML of a page takes much longer than looking for four tags."""
_REFRESH_URL = re.compile(r"""\burl\s*=\s*["']?([^"'>\s]+)""", re.IGNORECASE)
"""The target of a redirect: `0; url=/guide/`."""
_DIRECTIVE_VALUE = re.compile(r":\s*\S+")
"""The value of a directive: `: 50` of `max-snippet: 50`."""
_EXPIRY = re.compile(r"(?i)unavailable_after\s*:\s*((?:[a-z]+,\s*)?[^,]+)")
"""The directive with a date, in which a comma may follow the day: `unavailable_after: Fri, 1 Jan 2027`."""
_ASSETS = re.compile(r"""<(?:script\b[^<>]*?\ssrc|link\b(?=[^<>]*\bstylesheet)[^<>]*?\shref)=["']?(/(?!/)[^\s"'<>]*)""")
"""A script or a style sheet below the root of its host: `<script src="/assets/a.js"`."""


def exclusion_reason(html: str) -> str | None:
    """Return why a page must not be published, None if it may be: it is a redirect, or asks not to be indexed."""
    end = html.lower().find("</head")
    for tag in _iter_meta_tags(html[: end if end >= 0 else _HEAD_CHARS]):
        if _is_refresh(tag):
            return "a redirect"
        is_for_robots = tag.get("name", "").lower().startswith("robots")
        reason = find_index_ban(tag.get("content", "")) if is_for_robots else None
        if reason:
            return reason
    return None


def _iter_meta_tags(head: str) -> Iterator[dict[str, str]]:
    """Yield the attributes of meta tags."""
    for tag in _META.findall(head):
        yield {name.lower(): unescape(value.strip("\"'")) for name, value in _ATTRIBUTE.findall(tag)}


def _is_refresh(tag: Mapping[str, str]) -> bool:
    return tag.get("http-equiv", "").lower().startswith("refresh")


def find_index_ban(directives: str) -> str | None:
    """Return why the directives of a robots tag exclude a page from indexes, None if they do not.

    Args:
        directives: The `content` of `<meta name="robots">`, or an `X-Robots-Tag` header without the name of a crawler.
    """
    names = _DIRECTIVE_VALUE.sub("", directives.lower()).replace(",", " ").replace(";", " ").split()
    if "noindex" in names or "none" in names:
        return "noindex"
    expiry = _EXPIRY.search(directives)
    seconds = _parse_date(expiry[1]) if expiry else None
    if expiry is None or seconds is None or seconds >= time.time():
        return None
    return f"unavailable after {expiry[1].strip()}"


def _parse_date(text: str) -> float | None:
    """Return the Unix time of a date of ISO 8601 or RFC 822, in UTC without a time zone; None for others."""
    for parse in (datetime.fromisoformat, parsedate_to_datetime):
        with suppress(ValueError, OverflowError):
            date = parse(text.strip())
            return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    return None


def find_redirect(html: str) -> str | None:
    """Return the target of a page that redirects in HTML, None for any other page."""
    for tag in _iter_meta_tags(html[:_HEAD_CHARS]):
        target = _REFRESH_URL.search(tag.get("content", "")) if _is_refresh(tag) else None
        if target:
            with suppress(ValueError):  # no valid URL
                urlsplit(target[1])
                return target[1]
            return None
    return None


def has_absolute_assets(html: str, root: str) -> bool:
    """Return whether a script or style sheet of a page has a path below the root of its site, not a relative one."""
    return any(path.startswith(root) for path in _ASSETS.findall(html))
