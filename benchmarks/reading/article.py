"""A page's article: found in any theme's HTML, freed of what is not counted, and put into the order of reading.

Where something on the page is not counted, the reason stands beside it.
"""

from __future__ import annotations

from lxml import etree

from reading.items import clean

Element = etree._Element

HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")

ARTICLES = (
    *(".md-content__inner", ".theme-doc-markdown", ".sl-markdown-content", "main .vp-doc", "article.bd-article"),
    *("#furo-main-content", "[itemprop=articleBody]", "div.body[role=main]", "div[role=main]", "[role=main]"),
    *("main article", "main", "article", "body"),
)


def article_of(root: Element) -> Element:
    """Give the article of a page: the first of `ARTICLES` that is there and says something that is seen."""
    unseen = set(root.cssselect(", ".join(_UNSEEN)))
    for selector in ARTICLES:
        for found in root.cssselect(selector):
            if _says_something(found, unseen):
                return found
    return root


def prepare(article: Element) -> None:
    """Take out what is not counted, and put the rest into the order in which it is read."""
    for element in article.cssselect(", ".join(_UNSEEN)):
        if element.tag == "script" and (element.get("type") or "").startswith("math/tex"):
            continue
        drop(element)
    # Hidden elements. Panels of tabs are hidden until they are chosen, and so they count.
    for element in list(article.iter("*")):
        if element.get("hidden") is None and "display" not in (element.get("style") or ""):
            continue
        style = (element.get("style") or "").replace(" ", "")
        panel = element.get("role") == "tabpanel" or "tabbed-block" in classes_of(element)
        if not panel and (element.get("hidden") is not None or "display:none" in style):
            drop(element)
    # An emoji drawn as an image is the character that it stands for.
    for element in article.cssselect("img.twemoji, img.emojione, img.gemoji, img.emoji"):
        replace(element, element.get("alt") or "")
    # Labels of tabs stand in a row on the page; in a text each can only stand before its panel.
    for labels in article.cssselect(".tabbed-labels, [role=tablist]"):
        _spread(labels)
    # Icons that say nothing but have a tag of their own vanish by themselves; file names end where code begins.
    for element in article.cssselect("span.filename, .code-block-caption, span.doc-labels, small.doc-label"):
        element.tag = "div"


def text_of(element: Element, *, without: frozenset[str] = frozenset()) -> str:
    """Give the text that is seen. Tags that make a block, and line breaks, part words; others do not."""
    pieces: list[str] = []
    _gather(element, pieces, without)
    return clean("".join(pieces))


def links_heading(element: Element) -> bool:
    """Tell whether a link leads from a heading to itself."""
    heading = next(element.iterancestors(*HEADINGS), None)
    return heading is not None and element.get("href") == f"#{heading.get('id')}"


def classes_of(element: Element) -> set[str]:
    """Give the classes of an element."""
    return set((element.get("class") or "").split())


def drop(element: Element) -> None:
    """Take an element out, but not the text behind it."""
    replace(element, "")


def replace(element: Element, text: str) -> None:
    """Put text in the place of an element."""
    parent = element.getparent()
    if parent is None:
        return
    text += element.tail or ""
    before = element.getprevious()
    if before is not None:
        before.tail = (before.tail or "") + text
    else:
        parent.text = (parent.text or "") + text
    parent.remove(element)


_BLOCKS = frozenset(
    {
        *("address", "article", "aside", "blockquote", "br", "caption", "dd", "details", "div", "dl", "dt", "fieldset"),
        *("figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "legend", "li"),
        *("main", "nav", "ol", "option", "p", "pre", "section", "summary", "table", "tbody", "td", "tfoot", "th"),
        *("thead", "tr", "ul"),
    }
)
# Not counted, since no reader sees it or it is no part of the text.
_UNSEEN = (
    # what leads around the site, where a page has no article of its own; not from an excerpt to the rest of it
    "nav:not(.md-post__action), [role=navigation], .md-sidebar, .md-header, .md-footer, .md-skip, .md-banner",
    # programs, drawings, controls; a diagram's or a formula's source is read before
    "script, style, template, svg, noscript, button, select, textarea, object, canvas, datalist, dialog, head",
    # signs that link a heading to itself, and footnotes back to their use
    ".headerlink, .hash-link, .header-anchor, .anchorjs-link, .heading-anchor, .footnote-backref, .fn-backref",
    # line numbers and the buttons of code blocks
    ".linenos, .linenodiv, .lineno, .gutter, .md-clipboard, .copybtn, .md-code__nav, .line-numbers-wrapper",
    # the theme's own matter within the article: edit links, dates, ratings, tags, paths, breadcrumbs, pagers
    ".md-content__button, .md-source-file, .md-feedback, .md-tags, .md-path, .theme-doc-footer, .pagination-nav",
    ".theme-doc-breadcrumbs, .theme-doc-toc-mobile, .rst-footer-buttons, .prev-next-footer",
    ".md-comments, .giscus, .md-pagination, #__comments",
    # for ears only, or asked to be left out
    ".visually-hidden, .sr-only, .screen-reader-text, .no-llms, [data-roaming]",
    # the second drawing of a formula
    ".katex-html, .MathJax_Preview, .MJX_Assistive_MathML, mjx-assistive-mml",
)


def _says_something(element: Element, unseen: set[Element]) -> bool:
    if element in unseen:
        return False
    return bool(clean(element.text or "")) or any(
        (isinstance(child.tag, str) and _says_something(child, unseen)) or clean(child.tail or "") for child in element
    )


def _spread(labels: Element) -> None:
    found = list(labels.iterchildren("label")) or labels.cssselect("[role=tab]")
    around = labels.getparent()
    panels: list[Element] = []
    while around is not None and not panels:
        panels = around.cssselect("[role=tabpanel]") or [
            child
            for content in around.iterchildren("div")
            if "tabbed-content" in classes_of(content)
            for child in content
        ]
        around = around.getparent() if around.get("class") is None else None
    if len(found) != len(panels):
        return
    for label, panel in zip(found, panels, strict=True):
        title = etree.SubElement(labels, "p")
        title.text, title.attrib["class"] = text_of(label), "read-label"
        panel.insert(0, title)
        title.tail, panel.text = panel.text, None
    drop(labels)


def _gather(element: Element, pieces: list[str], without: frozenset[str]) -> None:
    block = element.tag in _BLOCKS
    if block:
        pieces.append(" ")
    pieces.append(element.text or "")
    for child in element:
        if isinstance(child.tag, str) and child.tag not in without:
            _gather(child, pieces, without)
        pieces.append(child.tail or "")
    if block:
        pieces.append(" ")
