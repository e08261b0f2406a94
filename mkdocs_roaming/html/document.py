"""HTML documents: parsing, the metadata of a page, the article in it, and its hidden texts."""

from __future__ import annotations

import copy
import re
from collections import Counter
from collections.abc import Iterator, Mapping

from lxml import etree

from mkdocs_roaming.html.themes import Role, Roles, ThemeSet, compile_selector, load_themes, name_class, tag_roles
from mkdocs_roaming.html.visitor import Element, element_text

_GROUPS = re.compile(
    r"</?(?:div|span|section|font|b|i|em|strong|center|ul|ol|li|blockquote|dl|dd|table|tbody|tr|td)\b[^>]*>",
    re.ASCII | re.IGNORECASE,
)
_LARGE = 50_000
_TOO_MANY_ATTRIBUTES = re.compile(
    r"""<([a-z][a-z0-9-]*+)(?>(?:\s++[^\s>=]++(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s>]*+))?){1000,})[^>]*+>?""",
    re.ASCII | re.IGNORECASE,
)
"""A tag with hundreds of attributes: parsing is slow, because the parser compares each attribute with all others."""
_VOID = re.compile(
    r"""<(bgsound|command|embed|keygen|source|track|wbr)\b(?>(?:[^>"']++|"[^"]*+"|'[^']*+')*)>""",
    re.ASCII | re.IGNORECASE,
)
"""A tag of an element that has no content, which lxml does not know."""
_WORD = re.compile(r"\w+")
_POST_CONTENT = "article.md-post--excerpt > header.md-post__header + div.md-post__content"


def parse_body(html: str) -> Element:
    """Parse a page, or a part of one, and return its body.

    Any text can be parsed. Comments are dropped, and groups (or all tags) that are nested too deeply for lxml.
    """
    text = html.replace("\0", "\ufffd")
    if len(text) > _LARGE:
        text = _TOO_MANY_ATTRIBUTES.sub(r"<\1>", text)
    root, too_deep = _parse(text)
    if too_deep:
        root, too_deep = _parse(_GROUPS.sub(" ", text))
        if too_deep:
            root, _ = _parse(re.sub(r"<[^>]*>", " ", text))
    if root is None:
        return etree.Element("body")
    body = next(root.iterchildren("body"), None)
    return body if body is not None else root


def _parse(text: str) -> tuple[Element | None, bool]:
    """Return the root, None if there is none, and whether lxml dropped elements that are nested too deeply."""
    if not text.strip():
        return None, False
    parser = etree.HTMLParser(huge_tree=True, remove_comments=True, remove_pis=True, encoding="utf-8")
    try:
        root = etree.fromstring(_encode(text), parser)
    except etree.XMLSyntaxError:
        return None, False
    return root, any("depth in document" in entry.message for entry in parser.error_log)


def _encode(text: str) -> bytes:
    """Return HTML for a parser, with the end tags of void elements that would otherwise contain what follows them."""
    return _VOID.sub(r"\g<0></\1>", text).encode("utf-8", "replace")


def parse_document(text: str) -> Element:
    """Parse a whole page, including its comments.

    Raises:
        lxml.etree.ParserError: The page is empty.
    """
    # Plain elements: the element classes of lxml.html cost a fifth of the time that a page takes.
    parser = etree.HTMLParser(encoding="utf-8", huge_tree=True)
    tree = etree.fromstring(_encode(text.replace("\0", "")), parser)
    if tree is None:
        raise etree.ParserError("Document is empty")
    return tree


def find_article(page: str | Element, themes: ThemeSet | None = None) -> Element:
    """Return the article of a page without permalinks, edit buttons and the like, or the whole page if it has none.

    Args:
        page: The HTML, or its tree, which is not changed.
        themes: The themes in use (default: `load_themes()`).
    """
    themes = themes or load_themes()
    root = parse_body(page) if isinstance(page, str) else page
    for article, parts in ((found, part) for name, part in themes.articles for found in compile_selector(name)(root)):
        if not element_text(article).strip():
            continue
        if not isinstance(page, str):
            article = copy.deepcopy(article)
        _assign_roles(article, parts)
        _remove_skipped(article, themes.roles)
        if _has_visible_text(article, themes.roles):
            _move_post_metadata(article)
            return article
    return root if isinstance(page, str) else copy.deepcopy(root)


def _assign_roles(article: Element, parts: Mapping[Role, str]) -> None:
    """Mark elements with the roles that the CSS selectors of a theme give them."""
    for role, selector in parts.items():
        for element in compile_selector(selector)(article):
            element.set("class", f"{element.get('class', '')} {name_class(role)}".strip())


def _remove_skipped(article: Element, roles: Roles) -> None:
    """Remove elements with the role `skip`, except tags that may have a use within the article."""
    for element in [found for found in article.iter() if roles[found.tag, found.get("class")] == "skip"]:
        if element is article:
            continue
        if element.tag == "nav" or tag_roles().get(element.tag) != "skip":  # `title` may be the name of a drawing
            remove_element(element)


def _has_visible_text(article: Element, roles: Roles) -> bool:
    """Return whether an article has text, apart from buttons and scripts."""
    walker = etree.iterwalk(article, events=("start", "end"))
    for event, element in walker:
        if event == "end":
            text = element.tail if element is not article else None
        elif roles[element.tag, element.get("class")] in ("button", "skip", "script"):
            walker.skip_subtree()
            continue
        else:
            text = element.text
        if text and not text.isspace():
            return True
    return False


def _move_post_metadata(article: Element) -> None:
    """Move the date and the author of each post in a list behind its heading.

    They come before the heading, so they would belong to the section of the previous post.
    """
    for content in compile_selector(_POST_CONTENT)(article):
        heading = next(iter(content), None)
        head = content.getprevious()
        if heading is None or head is None or (content.text or "").strip() or tag_roles().get(heading.tag) != "heading":
            continue
        head.tail = heading.tail
        heading.tail = None
        heading.addnext(head)


def count_visible_words(html: str | Element) -> Counter[str]:
    """Count the words of a page that its reader sees."""
    root = parse_body(html) if isinstance(html, str) else html
    words = Counter(_find_words(root))
    for hidden in root.iter("script", "style", "svg", "template", "title"):
        words.subtract(_find_words(hidden))
    return +words


def _find_words(element: Element) -> list[str]:
    return find_words(" ".join(str(text) for text in element.itertext()))


def find_words(text: str) -> list[str]:
    """Return the words of a text as `count_visible_words` counts them."""
    return _WORD.findall(text.casefold())


def remove_element(element: Element) -> None:
    """Remove an element from its tree and keep its tail."""
    parent = element.getparent()
    before = element.getprevious()
    if parent is None:
        return
    if element.tail:
        if before is not None:
            before.tail = (before.tail or "") + element.tail
        else:
            parent.text = (parent.text or "") + element.tail
        element.tail = None
    parent.remove(element)


# Metadata


def remove_own_elements(tree: Element) -> None:
    """Remove what an earlier build of this package has added to a page, such as the widget, except its `<link>`s."""
    for element in tree.findall(".//*[@data-roaming]"):
        if element.tag != "link":
            remove_element(element)


def copy_metadata(tree: Element) -> Element:
    """Return a copy of a page with its language, title, `<meta>`, `<link>` and `<base>` elements alone.

    To read several of them from the copy is faster: a navigation may have thousands of elements.
    """
    page = etree.Element(tree.tag)
    if language := tree.get("lang") or tree.get("xml:lang"):  # XHTML 1.1 has the latter alone
        page.set("lang", language)
    head = etree.SubElement(page, "head")
    for element in tree.iter("base", "link", "meta", "title"):
        parent = element.getparent()
        if element.tag != "title" or (parent is not None and parent.tag == "head"):  # SVG images have titles, too
            head.append(copy.copy(element))
    return page


def extract_title(tree: Element) -> str:
    """Return the whole title of a page, with the name of the site if it has that."""
    return _extract_string(tree, "//head/title")


def extract_site_name(tree: Element) -> str:
    """Return the name of the site in the metadata of a page, `""` if it has none."""
    return _extract_string(tree, "//meta[@property='og:site_name']/@content")


def extract_canonical_url(tree: Element) -> str:
    """Return the canonical URL of a page, `""` if it names none."""
    return _extract_string(tree, "//link[@rel='canonical']/@href")


def extract_description(tree: Element, article: Element) -> str:
    """Return the description of a page, `""` if it is a placeholder of the generator, such as “A VitePress site”.

    A placeholder names the generator, although the site or the heading of the page does not.
    """
    description = _extract_string(tree, "//meta[@name='description']/@content")
    contents = [element.get("content", "") for element in tree.iterfind(".//meta[@name='generator']")]
    generators = {name for content in contents for name in _find_names(content)[:1]}
    named = generators.intersection(_find_names(description))
    named -= set(_find_names(extract_site_name(tree) or extract_title(tree))).intersection(
        _find_names(" ".join(map(element_text, article.iter("h1"))))
    )
    return "" if named else description


def _find_names(text: str) -> list[str]:
    """Return the words of a text; the first one of `mkdocs-1.6.1, mkdocs-material-9.6` is the name of the generator."""
    return re.findall(r"\w+(?:\.\w+)*", text.casefold())


def _extract_string(tree: Element, path: str) -> str:
    """Return the text of the first match of an XPath on one line."""
    return " ".join(str(tree.xpath(f"string({path})")).split())


# Texts that readers do not see: hidden elements, comments, descriptions of images and links

_MIN_HIDDEN_CHARS = 20
_MAX_HIDDEN_CHARS = 2_000


def find_hidden_texts(article: Element) -> Iterator[str]:
    """Yield the texts of an article that a browser does not show, as far as the article itself says so.

    Style sheets are not evaluated.
    """
    for text in _iter_hidden_texts(article):
        shortened = " ".join(text[:_MAX_HIDDEN_CHARS].split())
        if len(shortened) >= _MIN_HIDDEN_CHARS:
            yield shortened


def _iter_hidden_texts(article: Element) -> Iterator[str]:
    hidden: set[Element] = set()
    for comment in article.iter(etree.Comment):
        yield comment.text or ""
    for element in article.iter("*"):
        for name in _DESCRIPTIONS:
            yield element.get(name) or ""
        if element.getparent() in hidden:
            hidden.add(element)
        elif _hides(element):
            hidden.add(element)
            yield "".join(map(str, element.itertext()))


def _hides(element: Element) -> bool:
    if element.tag in ("template", "noscript") or element.get("hidden") is not None:
        return True
    style = element.get("style")
    return style is not None and _HIDING.search(f";{style};") is not None


_DESCRIPTIONS = ("alt", "title", "aria-label")
_HIDING = re.compile(
    r"[;\s](?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|opacity\s*:\s*0?(?:\.0\d*)?\s*[;!]"
    r"|font(?:-size)?\s*:\s*[01](?:\.\d+)?(?:px|pt|em|rem|%)?\s*[;!]|color\s*:\s*transparent"
    r"|(?:left|top|right|text-indent|margin-left)\s*:\s*-\d{3,}|clip(?:-path)?\s*:\s*(?:inset|rect)\("
    r"|(?:max-)?(?:height|width)\s*:\s*[01](?:px)?\s*[;!]|transform\s*:\s*scale\(0"
    r"|color\s*:\s*(?:#fff(?:fff)?|white|rgba?\(255,\s*255,\s*255|rgba?\([^)]*,\s*0\)))",
    re.IGNORECASE,
)
