"""A page's HTML as a tree: the article in it, the words that a reader sees."""

from __future__ import annotations

import copy
import re
from collections import Counter

from lxml import etree

from mkdocs_roaming.html.escape import is_lint_switch
from mkdocs_roaming.html.themes import TAG_ROLES, article_selectors, excerpt_selector
from mkdocs_roaming.html.visitor import ROLES, Element, element_text


def parse_body(html: str | bytes) -> Element:
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


def find_article(page: str | bytes | Element) -> Element:
    """Give the article of a page of any theme, without the theme's own matter in it."""
    ours = isinstance(page, (str, bytes))
    root = parse_body(page) if isinstance(page, (str, bytes)) else page
    for article in (element for find in article_selectors() for element in find(root) if element_text(element).strip()):
        article = article if ours else copy.deepcopy(article)
        _without_chrome(article)
        if _says_something(article):
            _headings_first(article)
            return article
    return root if ours else copy.deepcopy(root)


def count_visible_words(html: str | Element) -> Counter[str]:
    """Count the words that a reader of the page sees."""
    root = parse_body(html) if isinstance(html, str) else html
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
    for element in [
        found for found in unseen if not (isinstance(found, etree._Comment) and is_lint_switch(found.text))
    ]:
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
    for content in excerpt_selector()(article):
        heading, head = next(iter(content), None), content.getprevious()
        if heading is None or head is None or (content.text or "").strip() or TAG_ROLES.get(heading.tag) != "heading":
            continue
        head.tail, heading.tail = heading.tail, None
        heading.addnext(head)


def _words(element: Element) -> list[str]:
    return _WORD.findall(" ".join(str(text) for text in element.itertext()).casefold())


# MERGED mkdocs_roaming.site_page:
# What a page's HTML says of itself: its title, its address, what it is about.


def decode_page(data: bytes) -> str:
    """Give a page's text to be read: UTF-8 as nearly all are, else what the page says or looks like."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        from bs4.dammit import UnicodeDammit  # only for those few pages

        return UnicodeDammit(data, is_html=True).unicode_markup or data.decode("utf-8", "replace")


def parse_document(text: str) -> etree._Element:
    """Give a page's tree; raises ParserError or ValueError where there is none in it."""
    # Plain elements: to give each its class, as lxml.html does, takes a fifth of the time that a page is read in.
    parser = etree.HTMLParser(encoding="utf-8", huge_tree=True)
    tree = etree.fromstring(text.replace("\0", "").encode("utf-8", "replace"), parser)
    if tree is None:
        raise etree.ParserError("Document is empty")
    return tree


def find_own_elements(tree: etree._Element) -> list[etree._Element]:
    """Give the elements that a build of ours has written into a page; none of them is the page itself."""
    return tree.findall(".//*[@data-roaming]")


def remove_element(element: etree._Element) -> None:
    """Take an element out of its tree, with all that is in it; the text behind it stays."""
    parent, before = element.getparent(), element.getprevious()
    if parent is None:
        return
    if before is not None:
        before.tail = (before.tail or "") + (element.tail or "")
    else:
        parent.text = (parent.text or "") + (element.tail or "")
    element.tail = None
    parent.remove(element)


def extract_title(tree: etree._Element) -> str:
    """Give the page's title, without the site's name behind it."""
    return re.sub(r" [-|–—] (?!.* [-|–—] ).*", "", extract_string(tree, "//head/title")).strip() or "Untitled"


def extract_site_name(tree: etree._Element) -> str:
    """Give the site's name, as the page says or as its title ends."""
    named = extract_string(tree, "//meta[@property='og:site_name']/@content")
    last = re.split(r" [-|–—] ", extract_string(tree, "//head/title"))[-1].strip()
    return named or re.sub(r"( v?\d[\w.]*)? documentation$", "", last)  # Sphinx says so unless it is told otherwise


def extract_canonical_url(tree: etree._Element) -> str:
    """Give the address that the page says is its own, `""` where it says none."""
    return extract_string(tree, "//link[@rel='canonical']/@href")


def extract_meta(tree: etree._Element, name: str) -> str:
    """Give a `<meta>` by its name, `""` where there is none."""
    return extract_string(tree, f"//meta[@name='{name}']/@content")


def has_site_description(tree: etree._Element) -> bool:
    """Tell whether the description is the site's: MkDocs writes it on every page that has none of its own."""
    generator = extract_meta(tree, "generator").lower()
    return "mkdocs" in generator or "zensical" in generator


def extract_string(tree: etree._Element, path: str) -> str:
    """Give the text of the first thing at an XPath, on one line."""
    return " ".join(str(tree.xpath(f"string({path})")).split())
