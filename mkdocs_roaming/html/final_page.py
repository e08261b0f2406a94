"""What a page's final HTML says: whether it wants to be found, and whether it still shows the article."""

from __future__ import annotations

import re
from collections import Counter
from html import unescape

from lxml import etree

from mkdocs_roaming.html.document import count_visible_words, find_article, parse_body
from mkdocs_roaming.html.visitor import Element


def exclusion_reason(html: str) -> str | None:
    """Tell why a page is not published, None where it is: it is a redirect, or asks not to be indexed."""
    head = html[: m.end()] if (m := re.search(r"</head\s*>", html, re.IGNORECASE)) else html[:20_000]
    for tag in _META.findall(head):
        if re.search(r"""http-equiv\s*=\s*["']?refresh""", tag, re.IGNORECASE):
            return "a redirect"
        if re.search(r"""name\s*=\s*["']?robots""", tag, re.IGNORECASE) and "noindex" in tag.lower():
            return "noindex"
    return None


def reconcile_article(article: str, html: str) -> str | None:
    """Give the article to publish in view of the page's final HTML.

    That is the article itself where the page shows all of it, the final one where a part is hidden by now, and None
    where less than 90 % of its words are left: an encryption plugin, for one, replaces articles, or a part of them,
    late, and what it hides must not be published in the clear.
    """
    if article in html or _text(article) in _text(_middle(html)):  # nearly always: unchanged, minified, with new tags
        return article

    return reconcile_by_words(article, html)


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


# MERGED mkdocs_roaming.publish.shown:
# What a page's final HTML still shows of an article, and what its template adds: for pages that need a parse.


SHARE = 0.9


"""The share of the converted words that the final HTML has to hold."""


def reconcile_by_words(article: str, html: str) -> str | None:
    """Give what the page shows of the article, None where less than 90 % of its words are left."""
    wanted = count_visible_words(_seen(find_article(_MARKED.format(article))))
    final = _seen(find_article(html))
    if (share := _share(wanted, final)) == 1:
        return article
    if share >= SHARE and final.tag != "body":
        return _html(final)
    return article if _share(wanted, _seen(parse_body(html))) == 1 else None


def reconcile_template(article: str | None, html: str) -> str | None:
    """Give the article of a page that has a template of its own: what the template wrote, where the source says little.

    Home pages are made so: the source holds a title, the template all the rest. `article` is None where the page does
    not show it; so is what is given then if the template writes next to nothing, a form for a password for one.
    """
    words = count_visible_words(article).total() if article is not None else 0
    if words >= _LITTLE:
        return article
    final = _seen(find_article(html))
    there = 0 if final.tag == "body" else count_visible_words(final).total()
    return _html(final) if there > 2 * words and (article is not None or there >= _LITTLE) else article


def reconcile_post_list(article: str | None, html: str) -> str | None:
    """Give the article of a list of posts with the excerpts in it, which only the template writes."""
    final = _seen(find_article(html))
    return _html(final) if final.tag != "body" else article


_LITTLE = 20


_NOT_SHOWN = re.compile(r"display\s*:\s*none", re.IGNORECASE)


_MARKED = '<article class="md-content__inner">{}</article>'


"""How an article is told from what it holds."""


def _html(article: Element) -> str:
    return etree.tostring(article, encoding="unicode", method="html", with_tail=False)


def _share(wanted: Counter[str], there: Element) -> float:
    return sum((wanted & count_visible_words(there)).values()) / max(sum(wanted.values()), 1)


def _seen(root: Element) -> Element:
    """Take out what is not displayed: that is where cipher text stands."""
    for element in list(root.iter()):
        parent = element.getparent()
        if parent is not None and element is not root and _NOT_SHOWN.search(element.get("style") or ""):
            if element.tail:
                kept = etree.Element("span")
                kept.text = element.tail
                element.addprevious(kept)
            parent.remove(element)
    return root
