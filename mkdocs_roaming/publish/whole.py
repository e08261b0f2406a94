"""Whether a page's final HTML still says what was converted, and whether it wants to be found at all."""

from __future__ import annotations

import re
from collections import Counter

from mkdocs_roaming.publish.html import visible_words

SHARE = 0.9
"""The share of the converted words that the final HTML has to hold."""


def left_out(html: str) -> str | None:
    """Tell why a page is not published, None where it is: it is a redirect, or asks not to be indexed."""
    head = html[: m.end()] if (m := re.search(r"</head\s*>", html, re.IGNORECASE)) else html[:20_000]
    for tag in _META.findall(head):
        if re.search(r"""http-equiv\s*=\s*["']?refresh""", tag, re.IGNORECASE):
            return "a redirect"
        if re.search(r"""name\s*=\s*["']?robots""", tag, re.IGNORECASE) and "noindex" in tag.lower():
            return "noindex"
    return None


def still_whole(article: str, html: str) -> bool:
    """Tell whether the final HTML holds at least 90 % of the article's words.

    An encryption plugin, for one, replaces the article late; its clear text must not be published then.
    """
    if article in html:  # the usual case, at the price of a look
        return True
    if _held(_roughly(article), _roughly(html)):  # minified, say: the same words between other tags
        return True
    return _held(visible_words(article), visible_words(html))


def _held(wanted: Counter[str], there: Counter[str]) -> bool:
    return sum((wanted & there).values()) >= SHARE * sum(wanted.values())


def _roughly(html: str) -> Counter[str]:
    """Count what stands between tags, scripts aside: an eighth of the price of a parse, and never more words."""
    return Counter(_TAG.sub(" ", _UNSEEN.sub(" ", html)).split())


_UNSEEN = re.compile(r"<(script|style|template|svg)\b.*?</\1\s*>|<!--.*?-->", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(r"<[^>]*>")
_META = re.compile(r"<meta\b[^>]*>", re.IGNORECASE)
