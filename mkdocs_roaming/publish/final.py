"""What a page's final HTML says: whether it wants to be found, and whether it still shows the article."""

from __future__ import annotations

import re
from html import unescape


def left_out(html: str) -> str | None:
    """Tell why a page is not published, None where it is: it is a redirect, or asks not to be indexed."""
    head = html[: m.end()] if (m := re.search(r"</head\s*>", html, re.IGNORECASE)) else html[:20_000]
    for tag in _META.findall(head):
        if re.search(r"""http-equiv\s*=\s*["']?refresh""", tag, re.IGNORECASE):
            return "a redirect"
        if re.search(r"""name\s*=\s*["']?robots""", tag, re.IGNORECASE) and "noindex" in tag.lower():
            return "noindex"
    return None


def final_article(article: str, html: str) -> str | None:
    """Give the article to publish in view of the page's final HTML.

    That is the article itself where the page shows all of it, the final one where a part is hidden by now, and None
    where less than 90 % of its words are left: an encryption plugin, for one, replaces articles, or a part of them,
    late, and what it hides must not be published in the clear.
    """
    if article in html or _text(article) in _text(_middle(html)):  # nearly always: unchanged, minified, with new tags
        return article
    from mkdocs_roaming.publish.shown import shown_article  # a parser, which most builds of cached pages never need

    return shown_article(article, html)


def _middle(html: str) -> str:
    """Give the part of a page that the article most probably stands in: menus are most of many pages."""
    start = max(html.find("<article"), html.find("<main"), 0)
    end = max(html.rfind("</article"), html.rfind("</main"))
    return html[start:end] if end > start else html


def _text(html: str) -> str:
    """Give what stands between the tags, without spaces; an eighth of the price of a parse."""
    return "".join(unescape(_TAG.sub("", _UNSEEN.sub("", html))).split())


_UNSEEN = re.compile(r"<(script|style|template|svg)\b.*?</\1\s*>|<!--.*?-->", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(r"<[^>]*>")
_META = re.compile(r"<meta\b[^>]*>", re.IGNORECASE)
