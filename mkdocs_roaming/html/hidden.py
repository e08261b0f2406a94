"""Texts of an article that its readers do not see: hidden elements, comments, descriptions of images and links."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lxml import etree

_MIN_CHARS = 20
_MAX_CHARS = 2_000


def find_hidden_texts(article: etree._Element) -> Iterator[str]:
    """Yield the texts of an article that a browser does not show, as far as the article itself says so.

    Style sheets are not evaluated.
    """
    for text in _iter_texts(article):
        shortened = " ".join(text[:_MAX_CHARS].split())
        if len(shortened) >= _MIN_CHARS:
            yield shortened


def _iter_texts(article: etree._Element) -> Iterator[str]:
    hidden: set[etree._Element] = set()
    for comment in article.iter(etree.Comment):
        yield comment.text or ""
    for element in article.iter("*"):
        for name in _ATTRIBUTES:
            yield element.get(name) or ""
        if element.getparent() in hidden:
            hidden.add(element)
        elif _is_hidden(element):
            hidden.add(element)
            yield "".join(map(str, element.itertext()))


def _is_hidden(element: etree._Element) -> bool:
    if element.tag in ("template", "noscript") or element.get("hidden") is not None:
        return True
    style = element.get("style")
    return style is not None and _HIDING.search(f";{style};") is not None


_ATTRIBUTES = ("alt", "title", "aria-label")
_HIDING = re.compile(
    r"[;\s](?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|opacity\s*:\s*0?(?:\.0\d*)?\s*[;!]"
    r"|font(?:-size)?\s*:\s*[01](?:\.\d+)?(?:px|pt|em|rem|%)?\s*[;!]|color\s*:\s*transparent"
    r"|(?:left|top|right|text-indent|margin-left)\s*:\s*-\d{3,}|clip(?:-path)?\s*:\s*(?:inset|rect)\("
    r"|(?:max-)?(?:height|width)\s*:\s*[01](?:px)?\s*[;!]|transform\s*:\s*scale\(0"
    r"|color\s*:\s*(?:#fff(?:fff)?|white|rgba?\(255,\s*255,\s*255|rgba?\([^)]*,\s*0\)))",
    re.IGNORECASE,
)
