"""HTML documents: parsing, the metadata of a page, the article in it, and its hidden texts."""

from __future__ import annotations

import copy
import re
from collections import Counter
from collections.abc import Iterator

from lxml import etree

from mkdocs_roaming.html.templates import place_templates
from mkdocs_roaming.html.themes import ROLE_CLASS, Roles, ThemeSet, compile_selector, load_themes, tag_roles
from mkdocs_roaming.html.visitor import Element, element_text

_GROUPS = re.compile(
    r"</?(?:div|span|section|font|b|i|em|strong|center|ul|ol|li|blockquote|dl|dd|table|tbody|tr|td)\b[^>]*>",
    re.ASCII | re.IGNORECASE,
)
"""A tag of an element whose text is as readable without it."""
ANY_TAG = re.compile(r"<[^>]*>")
"""Any tag, for text that is not worth parsing, or that cannot be parsed."""
_LARGE = 50_000
"""Characters of a page that is searched for tags with too many attributes."""
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
_NAME = re.compile(r"\w+(?:\.\w+)*")
"""A name with dots in it: `Node.js`, `1.6.1`."""
_INVISIBLE_ROLES = frozenset({"button", "skip", "script"})
_POST_CONTENT = "article.md-post--excerpt > header.md-post__header + div.md-post__content"


def parse_body(html: str) -> Element:
    """Parse a page, or a part of one, and return its body.

    Any text can be parsed. Comments are dropped, and groups (or all tags) that are nested too deeply for lxml.
    """
    text = html.replace("\0", "\ufffd")
    if len(text) > _LARGE:
        text = _TOO_MANY_ATTRIBUTES.sub(r"<\1>", text)
    root, is_too_deep = _parse(text, remove_comments=True)
    for tags in (_GROUPS, ANY_TAG):
        if is_too_deep:
            root, is_too_deep = _parse(tags.sub(" ", text), remove_comments=True)
    if root is None:
        return etree.Element("body")
    body = root.find("body")
    return body if body is not None else root


def parse_document(text: str) -> Element:
    """Parse a whole page, including its comments, and show the contents of its templates as a browser does.

    Raises:
        lxml.etree.ParserError: The page is empty.
    """
    root, _ = _parse(text.replace("\0", ""), remove_comments=False)
    if root is None:
        raise etree.ParserError("Document is empty")
    if "<template" in text:
        place_templates(root)
    return root


def _parse(text: str, *, remove_comments: bool) -> tuple[Element | None, bool]:
    """Return the root, None if there is none, and whether lxml dropped elements that are nested too deeply."""
    # Plain elements: the element classes of lxml.html cost a fifth of the time that a page takes.
    parser = etree.HTMLParser(
        encoding="utf-8", huge_tree=True, remove_comments=remove_comments, remove_pis=remove_comments
    )
    # The parser does not know some void elements: without end tags they would contain what follows them.
    html = _VOID.sub(r"\g<0></\1>", text).encode("utf-8", "replace")
    try:
        root = etree.fromstring(html, parser)
    except etree.XMLSyntaxError:
        return None, False
    return root, any("depth in document" in entry.message for entry in parser.error_log)


def find_article(page: str | Element, themes: ThemeSet | None = None) -> Element:
    """Return the article of a page without permalinks, edit buttons and the like, or the whole page if it has none.

    Args:
        page: The HTML, or its tree, which is not changed.
        themes: The themes in use (default: `load_themes()`).
    """
    themes = themes or load_themes()
    root = parse_body(page) if isinstance(page, str) else page
    for selector, parts in themes.articles:
        for article in compile_selector(selector)(root):
            if not element_text(article).strip():
                continue
            if not isinstance(page, str):
                article = copy.deepcopy(article)
            for role, part in parts.items():
                for element in compile_selector(part)(article):
                    element.set("class", f"{element.get('class', '')} {ROLE_CLASS}{role}".strip())
            _remove_skipped(article, themes.roles)
            if _has_visible_text(article, themes.roles):
                _move_post_metadata(article)
                return article
    return root if isinstance(page, str) else copy.deepcopy(root)


def _remove_skipped(article: Element, roles: Roles) -> None:
    """Remove elements with the role `skip`, except tags that may have a use within the article."""
    skipped = [element for element in article.iter() if roles[element.tag, element.get("class")] == "skip"]
    for element in skipped:
        is_skipped_by_tag = tag_roles().get(element.tag) == "skip"  # `title` may be the name of a drawing
        if element is not article and (element.tag == "nav" or not is_skipped_by_tag):
            remove_element(element)


def _has_visible_text(article: Element, roles: Roles) -> bool:
    """Return whether an article has text, apart from buttons and scripts."""
    walker = etree.iterwalk(article, events=("start", "end"))
    for event, element in walker:
        if event == "end":
            text = element.tail if element is not article else None
        elif roles[element.tag, element.get("class")] in _INVISIBLE_ROLES:
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
        metadata = content.getprevious()
        has_text_before = bool(content.text and content.text.strip())
        if heading is None or metadata is None or has_text_before or tag_roles().get(heading.tag) != "heading":
            continue
        metadata.tail = heading.tail
        heading.tail = None
        heading.addnext(metadata)


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
    if element.tail and before is not None:
        before.tail = (before.tail or "") + element.tail
    elif element.tail:
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
    named = _find_names(description)
    generators: set[str] = set()
    for element in tree.iterfind(".//meta[@name='generator']"):  # `mkdocs-1.6.1, mkdocs-material-9.6`
        generators.update(_NAME.findall(element.get("content", "").casefold())[:1])
    site = _find_names(extract_site_name(tree) or extract_title(tree))
    heading = _find_names(" ".join(map(element_text, article.iter("h1"))))
    is_placeholder = not generators.isdisjoint(named - (site & heading))
    return "" if is_placeholder else description


def _find_names(text: str) -> set[str]:
    return set(_NAME.findall(text.casefold()))


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
    texts = [comment.text or "" for comment in article.iter(etree.Comment)]
    hidden: set[Element] = set()
    for element in article.iter("*"):
        texts += [element.get(name, "") for name in _DESCRIPTIONS]
        style = element.get("style")
        if element.getparent() in hidden:
            hidden.add(element)
        elif (
            element.tag in ("template", "noscript")
            or element.get("hidden") is not None
            or (style is not None and _HIDING.search(f";{style};"))
        ):
            hidden.add(element)
            texts.append("".join(map(str, element.itertext())))
    for text in texts:
        shortened = " ".join(text[:_MAX_HIDDEN_CHARS].split())
        if len(shortened) >= _MIN_HIDDEN_CHARS:
            yield shortened


_DESCRIPTIONS = ("alt", "title", "aria-label")
_HIDING = re.compile(
    r"[;\s](?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|opacity\s*:\s*0?(?:\.0\d*)?\s*[;!]"
    r"|font(?:-size)?\s*:\s*[01](?:\.\d+)?(?:px|pt|em|rem|%)?\s*[;!]|color\s*:\s*transparent"
    r"|(?:left|top|right|text-indent|margin-left)\s*:\s*-\d{3,}|clip(?:-path)?\s*:\s*(?:inset|rect)\("
    r"|(?:max-)?(?:height|width)\s*:\s*[01](?:px)?\s*[;!]|transform\s*:\s*scale\(0"
    r"|color\s*:\s*(?:#fff(?:fff)?|white|rgba?\(255,\s*255,\s*255|rgba?\([^)]*,\s*0\)))",
    re.IGNORECASE,
)
"""A style that hides text, such as `display: none`, `font-size: 0` or `color: white`."""
