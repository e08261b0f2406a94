"""A page's HTML as a tree: the article in it, the words that a reader sees."""

from __future__ import annotations

import copy
import re
from collections import Counter

from lxml import etree

from mkdocs_roaming.publish.idioms import TAG_ROLES, article_finders, excerpt_finder
from mkdocs_roaming.publish.switches import is_switch
from mkdocs_roaming.publish.walk import ROLES, Element, text_of


def parse(html: str | bytes) -> Element:
    """Give the body of a page, or of a part of one, as a tree."""
    data = _bytes(html)
    root, deep = _parsed(data)
    if deep:  # lxml stops there: leave out what only groups, and if that doesn't do, all but the text
        root, deep = _parsed(_GROUPS.sub(b" ", data))
        if deep:
            root, _ = _parsed(_TAGS.sub(b" ", data))
    if root is None:
        return etree.Element("body")
    body = next(root.iterchildren("body"), None)
    return body if body is not None else root


def article_of(page: str | bytes | Element) -> Element:
    """Give the article of a page of any theme, without the theme's own matter in it."""
    ours = isinstance(page, (str, bytes))
    root = parse(page) if isinstance(page, (str, bytes)) else page
    for article in (element for find in article_finders() for element in find(root) if text_of(element).strip()):
        article = article if ours else copy.deepcopy(article)
        _without_chrome(article)
        if _says_something(article):
            _headings_first(article)
            return article
    return root if ours else copy.deepcopy(root)


def visible_words(html: str | Element) -> Counter[str]:
    """Count the words that a reader of the page sees."""
    root = parse(html) if isinstance(html, str) else html
    words = Counter(_words(root))
    for unseen in root.iter("script", "style", "svg", "template", "title"):
        words.subtract(_words(unseen))
    return +words


_GROUPS = re.compile(
    rb"</?(?:div|span|section|font|b|i|em|strong|center|ul|ol|li|blockquote|dl|dd|table|tbody|tr|td)\b[^>]*>",
    re.IGNORECASE,
)
_LARGE = 50_000
_OVERLOADED = re.compile(
    rb"""<([a-z][a-z0-9-]*+)(?:\s++[^\s>=]++(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s>]*+))?){1000,}+[^>]*+>?""",
    re.IGNORECASE,
)
"""A tag with so many attributes that the time of the parser, which compares each with all others, shows."""
_TAGS = re.compile(rb"<[^>]*>")
_WORD = re.compile(r"\w+")
_CHARSET = re.compile(rb"""<meta[^>]+charset\s*=\s*["']?\s*([\w-]+)""", re.IGNORECASE)


def _bytes(html: str | bytes) -> bytes:
    if isinstance(html, bytes):
        html = _decoded(html)
    if "\0" in html:
        html = html.replace("\0", "\ufffd")
    data = html.encode("utf-8", "replace")
    return _OVERLOADED.sub(rb"<\1>", data) if len(data) > _LARGE else data


def _decoded(html: bytes) -> str:
    try:
        return html.decode("utf-8-sig")
    except UnicodeDecodeError:
        named = _CHARSET.search(html[:4096])
        try:
            return html.decode(named[1].decode("ascii") if named else "cp1252", "replace")
        except LookupError:
            return html.decode("cp1252", "replace")


def _parsed(data: bytes) -> tuple[Element | None, bool]:
    if not data.strip():
        return None, False
    parser = etree.HTMLParser(huge_tree=True, remove_comments=True, remove_pis=True, encoding="utf-8")
    try:
        root = etree.fromstring(data, parser)
    except etree.XMLSyntaxError:
        return None, False
    return root, any("depth" in entry.message for entry in parser.error_log)


def _without_chrome(article: Element) -> None:
    unseen = [found for found in article.iter() if ROLES[found.tag, found.get("class")] == "skip"]
    for element in [found for found in unseen if not (isinstance(found, etree._Comment) and is_switch(found.text))]:
        parent = element.getparent()
        if element is article or parent is None:
            continue
        if element.tag != "nav" and TAG_ROLES.get(element.tag) == "skip":
            continue  # a button may be a tab's label, a script a formula
        if element.tail:
            before = element.getprevious()
            if before is not None:
                before.tail = (before.tail or "") + element.tail
            else:
                parent.text = (parent.text or "") + element.tail
            element.tail = None
        parent.remove(element)


def _says_something(article: Element) -> bool:
    """Tell whether a reader sees text in it: not in buttons and scripts alone."""
    walker = etree.iterwalk(article, events=("start", "end"))
    for event, element in walker:
        if event == "end":
            text = element.tail if element is not article else None
        elif ROLES[element.tag, element.get("class")] in ("skip", "script"):
            walker.skip_subtree()
            continue
        else:
            text = element.text
        if text and not text.isspace():
            return True
    return False


def _headings_first(article: Element) -> None:
    """Put what tells of a post's date behind its heading: before it, it would end the section of the post before."""
    for content in excerpt_finder()(article):
        heading, head = next(iter(content), None), content.getprevious()
        if heading is None or head is None or (content.text or "").strip() or TAG_ROLES.get(heading.tag) != "heading":
            continue
        head.tail, heading.tail = heading.tail, None
        heading.addnext(head)


def _words(element: Element) -> list[str]:
    return _WORD.findall(" ".join(str(text) for text in element.itertext()).casefold())
