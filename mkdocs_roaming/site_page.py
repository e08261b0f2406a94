"""What a page's HTML says of itself: its title, its address, what it is about."""

from __future__ import annotations

import re

from lxml import html as lxml_html


def readable(data: bytes) -> str:
    """Give a page's text to be read: UTF-8 as nearly all are, else what the page says or looks like."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        from bs4.dammit import UnicodeDammit  # only for those few pages

        return UnicodeDammit(data, is_html=True).unicode_markup or data.decode("utf-8", "replace")


def parsed(text: str) -> lxml_html.HtmlElement:
    """Give a page's tree; raises ParserError or ValueError where there is none in it."""
    parser = lxml_html.HTMLParser(encoding="utf-8", huge_tree=True)
    return lxml_html.document_fromstring(text.replace("\0", "").encode("utf-8", "replace"), parser=parser)


def title_of(tree: lxml_html.HtmlElement) -> str:
    """Give the page's title, without the site's name behind it."""
    return re.sub(r" [-|–—] (?!.* [-|–—] ).*", "", string_of(tree, "//head/title")).strip() or "Untitled"


def site_name_of(tree: lxml_html.HtmlElement) -> str:
    """Give the site's name, as the page says or as its title ends."""
    named = string_of(tree, "//meta[@property='og:site_name']/@content")
    last = re.split(r" [-|–—] ", string_of(tree, "//head/title"))[-1].strip()
    return named or re.sub(r"( v?\d[\w.]*)? documentation$", "", last)  # Sphinx says so unless it is told otherwise


def canonical_of(tree: lxml_html.HtmlElement) -> str:
    """Give the address that the page says is its own, `""` where it says none."""
    return string_of(tree, "//link[@rel='canonical']/@href")


def meta_of(tree: lxml_html.HtmlElement, name: str) -> str:
    """Give a `<meta>` by its name, `""` where there is none."""
    return string_of(tree, f"//meta[@name='{name}']/@content")


def describes_the_site(tree: lxml_html.HtmlElement) -> bool:
    """Tell whether the description is the site's: MkDocs writes it on every page that has none of its own."""
    generator = meta_of(tree, "generator").lower()
    return "mkdocs" in generator or "zensical" in generator


def string_of(tree: lxml_html.HtmlElement, path: str) -> str:
    """Give the text of the first thing at an XPath, on one line."""
    return " ".join(str(tree.xpath(f"string({path})")).split())
