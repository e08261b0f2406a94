"""The final HTML of a page: how much of the article it still shows.

Nearly all pages are checked with regular expressions. HTML is parsed only if they find a difference.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from html import unescape

from lxml import etree
from lxml import html as lxml_html

from mkdocs_roaming.html.document import (
    ANY_TAG,
    count_visible_words,
    find_article,
    parse_body,
    parse_document,
    remove_element,
)
from mkdocs_roaming.html.formulas import WITH_DOLLARS, mark_formulas
from mkdocs_roaming.html.visitor import Element, is_hidden

MIN_SHARE = 0.9
"""Minimum share of the words of an article that the final HTML must contain."""

_MIN_WORDS = 20
"""An article with fewer words may be completed by its page's template."""
_TITLES = ("h1", "h2", "h3")
_BEGINNING = 64
"""Characters of an article that a page is searched for first: a search for all of it is slow."""
_INVISIBLE = re.compile(r"<(script|style|template|svg)\b.*?</\1\s*>|<!--.*?-->", re.DOTALL | re.IGNORECASE)
"""Comments, and elements whose text is not shown."""


def reconcile_article(article: str, html: str) -> str | None:
    """Return the part of an article that its page still shows.

    Encryption plugins, for example, replace articles, or parts of them, after the conversion. What they hide must not
    be published.

    Args:
        article: The HTML of the article.
        html: The final HTML of the page.

    Returns:
        The article if the page shows all of it, the article of the final page if a part is hidden, None if less than
        `MIN_SHARE` of its words are left.
    """
    start = max(html.find("<article"), html.find("<main"), 0)
    end = max(html.rfind("</article"), html.rfind("</main"))
    main = html[start:end] if end > start else html  # menus are the largest part of many pages
    has_new_frames = main.count("<iframe") > article.count("<iframe")  # plugins for API descriptions add them last
    if not has_new_frames:
        start = html.find(article[:_BEGINNING])
        is_unchanged = start >= 0 and (html.startswith(article, start) or article in html)
        if is_unchanged or _strip_tags(article) in _strip_tags(main):  # or minified
            return article

    marked = f'<article class="md-content__inner">{article}</article>'  # as find_article expects it
    words = count_visible_words(_remove_undisplayed(find_article(marked)))
    final = _remove_undisplayed(find_article(html))
    share = _share(words, count_visible_words(final))
    if share == 1 and not has_new_frames:
        return article
    if share >= MIN_SHARE and final.tag != "body":
        return _serialize(final)
    page = _remove_undisplayed(parse_body(html))
    return article if _share(words, count_visible_words(page)) == 1 else None


def reconcile_formulas(article: str, html: str, read_script: Callable[[str], str]) -> str:
    """Return an article in which the formulas are marked that a script of its page would find in the text."""
    if not WITH_DOLLARS.search(article):
        return article
    root = parse_body(article)
    if not mark_formulas(root, parse_document(html), read_script):
        return article
    return _serialize(root)


def reconcile_template(article: str | None, html: str) -> str | None:
    """Return the article of a page that has its own template, such as a home page.

    Args:
        article: The HTML of the article; None if the page does not show it.
        html: The final HTML of the page.

    Returns:
        The article of the final page if the source has few words and the template adds more, else `article`. A page
        with few words that does not show its article (a password form) remains None.
    """
    words = count_visible_words(article).total() if article is not None else 0
    if words >= _MIN_WORDS:
        return article
    final = _remove_undisplayed(find_article(html))
    if final.tag == "body":
        return article
    final_words = count_visible_words(final).total()
    is_shown = article is not None or final_words >= _MIN_WORDS
    return _serialize(final) if is_shown and final_words > 2 * words else article


def reconcile_post_list(
    article: str | None, html: str, is_left_out: Callable[[str], bool] = lambda href: False
) -> str | None:
    """Return the article of a list of blog posts with the excerpts, which only the template adds.

    Args:
        article: The HTML of the article; None if the page does not show it.
        html: The final HTML of the page.
        is_left_out: Returns whether the post at the address of a link is not published.
    """
    final = _remove_undisplayed(find_article(html))
    remove_excerpts(final, is_left_out)
    return _serialize(final) if final.tag != "body" else article


def remove_excerpts(root: Element, is_left_out: Callable[[str], bool]) -> None:
    """Remove the excerpts of posts that are not published: articles in an article, with a link in their heading."""
    for link in root.findall(".//a[@href]"):
        excerpt = next(link.iterancestors("article"), None)
        if excerpt is None or excerpt is root:
            continue
        titles = (*link.iterancestors(*_TITLES), *link.iter(*_TITLES))
        if titles and is_left_out(link.get("href", "")):
            remove_element(excerpt)


def remove_tag_entries(article: str, is_left_out: Callable[[str], bool]) -> str:
    """Return an article without the entries of Material's tag indexes that link to pages that are not published."""
    root = lxml_html.fragment_fromstring(article, create_parent="div")
    links = [link for link in root.findall(".//li/a[@href]") if is_left_out(link.get("href", ""))]
    for link in links:
        entry = link.getparent()
        entries = entry.getparent()
        heading = entries.getprevious()
        if heading is None or not (heading.get("id") or "").startswith("tag:"):
            continue
        remove_element(entry)
        if not len(entries):
            remove_element(entries)
            remove_element(heading)
    return _serialize(root) if links else article


def _strip_tags(html: str) -> str:
    """Return the text of HTML without white space, eight times as fast as parsing it."""
    text = ANY_TAG.sub("", _INVISIBLE.sub("", html))
    return "".join(unescape(text).split())


def _share(words: Counter[str], final: Counter[str]) -> float:
    return (words & final).total() / max(words.total(), 1)


def _serialize(article: Element) -> str:
    return etree.tostring(article, encoding="unicode", method="html", with_tail=False)


def _remove_undisplayed(root: Element) -> Element:
    """Remove elements that are not displayed: cipher text, for example. Return the root."""
    for element in list(root.iter()):
        if element is not root and is_hidden(element):
            remove_element(element)
    return root
