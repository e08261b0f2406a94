"""What a page's final HTML still shows of an article, and what its template adds: for pages that need a parse."""

from __future__ import annotations

import re
from collections import Counter

from lxml import etree

from mkdocs_roaming.publish.article import article_of, parse, visible_words
from mkdocs_roaming.publish.walk import Element

SHARE = 0.9
"""The share of the converted words that the final HTML has to hold."""


def shown_article(article: str, html: str) -> str | None:
    """Give what the page shows of the article, None where less than 90 % of its words are left."""
    wanted = visible_words(_seen(article_of(_MARKED.format(article))))
    final = _seen(article_of(html))
    if (share := _share(wanted, final)) == 1:
        return article
    if share >= SHARE and final.tag != "body":
        return _html(final)
    return article if _share(wanted, _seen(parse(html))) == 1 else None


def templated_article(article: str | None, html: str) -> str | None:
    """Give the article of a page that has a template of its own: what the template wrote, where the source says little.

    Home pages are made so: the source holds a title, the template all the rest. `article` is None where the page does
    not show it; so is what is given then if the template writes next to nothing, a form for a password for one.
    """
    words = visible_words(article).total() if article is not None else 0
    if words >= _LITTLE:
        return article
    final = _seen(article_of(html))
    there = 0 if final.tag == "body" else visible_words(final).total()
    return _html(final) if there > 2 * words and (article is not None or there >= _LITTLE) else article


def listed_article(article: str | None, html: str) -> str | None:
    """Give the article of a list of posts with the excerpts in it, which only the template writes."""
    final = _seen(article_of(html))
    return _html(final) if final.tag != "body" else article


_LITTLE = 20
_NOT_SHOWN = re.compile(r"display\s*:\s*none", re.IGNORECASE)
_MARKED = '<article class="md-content__inner">{}</article>'
"""How an article is told from what it holds."""


def _html(article: Element) -> str:
    return etree.tostring(article, encoding="unicode", method="html", with_tail=False)


def _share(wanted: Counter[str], there: Element) -> float:
    return sum((wanted & visible_words(there)).values()) / max(sum(wanted.values()), 1)


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
