"""Whether a page's final HTML still says what was converted, and whether it wants to be found at all."""

from __future__ import annotations

import re

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
    wanted = visible_words(article)
    there = visible_words(html)
    return sum((wanted & there).values()) >= SHARE * sum(wanted.values())


_META = re.compile(r"<meta\b[^>]*>", re.IGNORECASE)
