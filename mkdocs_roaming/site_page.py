"""What a page's HTML says of itself: its title, its address, what it is about."""

from __future__ import annotations

import re

from lxml import etree


def readable(data: bytes) -> str:
    """Give a page's text to be read: UTF-8 as nearly all are, else what the page says or looks like."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        from bs4.dammit import UnicodeDammit  # only for those few pages

        return UnicodeDammit(data, is_html=True).unicode_markup or data.decode("utf-8", "replace")


def parsed(text: str) -> etree._Element:
    """Give a page's tree; raises ParserError or ValueError where there is none in it."""
    # Plain elements: to give each its class, as lxml.html does, takes a fifth of the time that a page is read in.
    parser = etree.HTMLParser(encoding="utf-8", huge_tree=True)
    tree = etree.fromstring(text.replace("\0", "").encode("utf-8", "replace"), parser)
    if tree is None:
        raise etree.ParserError("Document is empty")
    return tree


def marked_as_ours(tree: etree._Element) -> list[etree._Element]:
    """Give the elements that a build of ours has written into a page; none of them is the page itself."""
    return tree.findall(".//*[@data-roaming]")


def drop(element: etree._Element) -> None:
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


def title_of(tree: etree._Element) -> str:
    """Give the page's title, without the site's name behind it."""
    return re.sub(r" [-|–—] (?!.* [-|–—] ).*", "", string_of(tree, "//head/title")).strip() or "Untitled"


def site_name_of(tree: etree._Element) -> str:
    """Give the site's name, as the page says or as its title ends."""
    named = string_of(tree, "//meta[@property='og:site_name']/@content")
    last = re.split(r" [-|–—] ", string_of(tree, "//head/title"))[-1].strip()
    return named or re.sub(r"( v?\d[\w.]*)? documentation$", "", last)  # Sphinx says so unless it is told otherwise


def canonical_of(tree: etree._Element) -> str:
    """Give the address that the page says is its own, `""` where it says none."""
    return string_of(tree, "//link[@rel='canonical']/@href")


def meta_of(tree: etree._Element, name: str) -> str:
    """Give a `<meta>` by its name, `""` where there is none."""
    return string_of(tree, f"//meta[@name='{name}']/@content")


def describes_the_site(tree: etree._Element) -> bool:
    """Tell whether the description is the site's: MkDocs writes it on every page that has none of its own."""
    generator = meta_of(tree, "generator").lower()
    return "mkdocs" in generator or "zensical" in generator


def string_of(tree: etree._Element, path: str) -> str:
    """Give the text of the first thing at an XPath, on one line."""
    return " ".join(str(tree.xpath(f"string({path})")).split())
