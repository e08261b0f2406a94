"""Meta tags of HTML pages: redirects, charset, and whether a page is to be indexed. No tree is built."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from html import unescape
from urllib.parse import urlsplit

_META_STARTS = ("<meta", "<META")
_META = re.compile(
    r"<!--(?:-?>|(?>(?:[^-]++|-(?!-!?>))*))"
    r"|<(noscript|template|script|style|title|textarea|xmp|iframe|noembed|noframes)\b(?>(?:[^<]++|<(?!/\1\b))*)"
    r"""|(<meta\b(?>(?:[^"'<>]++|"[^"]*+"|'[^']*+'){0,99})>)""",
    re.IGNORECASE,
)
"""A meta tag, or a part of a page in which a browser with scripts sees none: a comment, `<noscript>`, `<title>`."""
_ATTRIBUTE = re.compile(r"""([\w-]+)\s*=\s*("[^"]*"|'[^']*'|[^\s"'>]+)""")
"""An attribute of a tag: `name="robots"`. Parsing the HTML of a page takes much longer than looking for four tags."""
_REFRESH = re.compile(
    r"""\s*(\d*)[\d.]*[\s;,]\s*[;,]?\s*(?:url\s*=\s*)?(?:"([^"]+)|'([^']+)|([^"'\s].*))""", re.IGNORECASE
)
"""Seconds and target of a refresh: `0; url=/guide/`. One without a target loads the page itself again."""
_MAX_REDIRECT_SECONDS = 30
"""A page that is shown longer is there to be read."""
_CHARSET = re.compile(r"""charset\s*=\s*["']?([^\s"';]+)""", re.IGNORECASE)
"""The charset of a media type: `text/html; charset=utf-8`."""
_XML_ENCODING = re.compile(r"""<\?xml\b[^>]*?\sencoding\s*=\s*["']([^"']+)""")
"""The encoding in an XML declaration, which browsers read in HTML, too."""
_NOSCRIPT = re.compile(r"</?noscript\b[^>]*>", re.IGNORECASE)
"""A tag around what browsers show without scripts."""
_SCRIPT = re.compile(r"<script\b[^<]*+(?>(?:<(?!/script\b)[^<]*+)*)", re.IGNORECASE)
"""A script with its first tag: `<script>location.replace("/guide/")`."""
_DIRECTIVE_VALUE = re.compile(r":\s*\S+")
"""The value of a directive: `: 50` of `max-snippet: 50`."""
_EXPIRY = re.compile(r"(?i)unavailable_after\s*:\s*((?:[a-z]+,\s*)?[^,]+)")
"""The directive with a date, in which a comma may follow the day: `unavailable_after: Fri, 1 Jan 2027`."""
_ASSETS = re.compile(r"""<(?:script\b[^<>]*?\ssrc|link\b(?=[^<>]*\bstylesheet)[^<>]*?\shref)=["']?(/(?!/)[^\s"'<>]*)""")
"""A script or a style sheet below the root of its host: `<script src="/assets/a.js"`."""


def exclusion_reason(html: str) -> str | None:
    """Return why a page must not be published, None if it may be: it is a redirect, or asks not to be indexed."""
    return "a redirect" if find_redirect(html) else find_page_ban(html)


def find_page_ban(html: str) -> str | None:
    """Return why a page must not be indexed, None if it may be."""
    for tag in _iter_meta_tags(html, "robots"):
        is_for_robots = tag.get("name", "").lower().startswith("robots")
        reason = find_index_ban(tag.get("content", "")) if is_for_robots else None
        if reason:
            return reason
    return None


def _iter_meta_tags(html: str, word: str) -> Iterator[dict[str, str]]:
    """Yield the attributes of the meta tags that are in force and contain a word in lower case."""
    last = max(map(html.rfind, _META_STARTS))  # `lower` takes ten times as long
    head = html[: html.find(">", last) + 1] if last >= 0 else ""
    if word not in head.lower():
        return
    for match in _META.finditer(head):
        if (tag := match[2]) and word in tag.lower():
            yield {name.lower(): unescape(value.strip("\"'")) for name, value in _ATTRIBUTE.findall(tag)}


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
    """Return the target of a page that redirects in HTML, None for any other page.

    A redirect for browsers without scripts counts if a script leads to the same target.
    """
    target = _find_refresh(html)
    if target is None and "<noscript" in html and "refresh" in html:
        target = _find_refresh(_NOSCRIPT.sub("", html))
        scripts = (script for script in _SCRIPT.findall(html) if "location" in script)
        return target if target and any(target in script for script in scripts) else None
    return target


def _find_refresh(html: str) -> str | None:
    for tag in _iter_meta_tags(html, "refresh"):
        is_refresh = tag.get("http-equiv", "").strip().lower() == "refresh"
        if is_refresh and (target := parse_refresh(tag.get("content", ""))):
            return target
    return None


def parse_refresh(value: str) -> str | None:
    """Return the target of a `Refresh` header or of the meta tag of that name, None if it does not redirect."""
    match = _REFRESH.match(value)
    if match is None or int(match[1] or 0) > _MAX_REDIRECT_SECONDS:
        return None
    target = match[match.lastindex or 0].strip()
    with suppress(ValueError):  # no valid URL
        urlsplit(target)
        return target
    return None


def find_charset(html: str) -> str:
    """Return the label of the encoding that a page declares, `""` if it declares none."""
    if declaration := _XML_ENCODING.match(html.lstrip()):
        return declaration[1]
    for tag in _iter_meta_tags(html, "charset"):
        charset = _CHARSET.search(tag.get("content", ""))
        if label := tag.get("charset") or (charset and charset[1]):
            return label
    return ""


def has_absolute_assets(html: str, root: str) -> bool:
    """Return whether a script or style sheet of a page has a path below the root of its site, not a relative one."""
    return any(path.startswith(root) for path in _ASSETS.findall(html))
