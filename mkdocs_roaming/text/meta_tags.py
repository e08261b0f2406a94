"""Meta tags of HTML pages: redirects, and whether a page is to be indexed. No HTML is parsed."""

from __future__ import annotations

import re
import time
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from html import unescape
from urllib.parse import urlsplit

_META = re.compile(r"<meta\b[^>]*>", re.IGNORECASE)
_REFRESH = re.compile(r"""http-equiv\s*=\s*["']?refresh""", re.IGNORECASE)
_REFRESH_URL = re.compile(r"""\burl\s*=\s*["']?([^"'>\s]+)""", re.IGNORECASE)
_CONTENT = re.compile(r"""\bcontent\s*=\s*("[^"]*"|'[^']*'|[^\s"'>]+)""", re.IGNORECASE)


def exclusion_reason(html: str) -> str | None:
    """Return why a page must not be published, None if it may be: it is a redirect, or asks not to be indexed."""
    head = html[: end.end()] if (end := re.search(r"(?i)</head\s*>", html)) else html[:20_000]
    for tag in _META.findall(head):
        if _REFRESH.search(tag):
            return "a redirect"
        content = _CONTENT.search(tag) if re.search(r"""(?i)name\s*=\s*["']?robots""", tag) else None
        if content and (reason := find_index_ban(unescape(content[1].strip("\"'")))):
            return reason
    return None


def find_index_ban(directives: str) -> str | None:
    """Return why the directives of a robots tag exclude a page from indexes, None if they do not.

    Args:
        directives: The `content` of `<meta name="robots">`, or an `X-Robots-Tag` header without the name of a crawler.
    """
    names = re.split(r"[\s,;]+", re.sub(r":\s*\S+", "", directives.lower()))
    if "noindex" in names or "none" in names:
        return "noindex"
    expiry = re.search(r"(?i)unavailable_after\s*:\s*((?:[a-z]+,\s*)?[^,]+)", directives)
    is_over = expiry is not None and (seconds := _parse_date(expiry[1])) is not None and seconds < time.time()
    return f"unavailable after {expiry[1].strip()}" if expiry and is_over else None


def _parse_date(text: str) -> float | None:
    """Return the Unix time of a date of ISO 8601 or RFC 822, in UTC without a time zone; None for others."""
    for parse in (datetime.fromisoformat, parsedate_to_datetime):
        with suppress(ValueError, OverflowError):
            date = parse(text.strip())
            return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    return None


def find_redirect(html: str) -> str | None:
    """Return the target of a page that redirects in HTML, None for any other page."""
    tags = _META.findall(html[:20_000])
    found = next((match for tag in tags if _REFRESH.search(tag) and (match := _REFRESH_URL.search(tag))), None)
    target = unescape(found[1]) if found else None
    try:
        urlsplit(target or "")
    except ValueError:  # no valid URL
        return None
    return target


def has_absolute_assets(html: str, root: str) -> bool:
    """Return whether a script or style sheet of a page has a path below the root of its site, not a relative one."""
    return any(path.startswith(root) for path in _ASSETS.findall(html))


_ASSETS = re.compile(r"""<(?:script\b[^<>]*?\ssrc|link\b(?=[^<>]*\bstylesheet)[^<>]*?\shref)=["']?(/(?!/)[^\s"'<>]*)""")
