"""The article of an HTML page: found in any theme, without uncounted elements, in reading order.

A comment next to each exclusion gives its reason.
"""

from __future__ import annotations

import re

from lxml import etree

from page_content.items import normalize_text

Element = etree._Element

HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")

ARTICLES = (
    *(".md-content__inner", ".theme-doc-markdown", ".sl-markdown-content", "main .vp-doc", "article.bd-article"),
    *("#furo-main-content", "[itemprop=articleBody]", "div.body[role=main]", "div[role=main]", "[role=main]"),
    *("main article", "main", "article", "body"),
)


def find_article(root: Element) -> Element:
    """Return the article of a page: the first match of `ARTICLES` that contains visible text."""
    excluded = set(root.cssselect(", ".join(_EXCLUDED)))
    for selector in ARTICLES:
        for element in root.cssselect(selector):
            if _has_text(element, excluded):
                return element
    return root


def prepare_article(article: Element) -> None:
    """Remove uncounted elements and move the rest into reading order."""
    for element in article.cssselect(", ".join(_EXCLUDED)):
        if element.tag == "script" and (element.get("type") or "").startswith("math/tex"):
            continue
        remove_element(element)
    # Hidden elements. Tab panels are hidden until they are selected, so they count.
    for element in list(article.iter("*")):
        style = (element.get("style") or "").replace(" ", "").replace("visibility:hidden", "display:none")
        if element.get("hidden") is None and "display" not in style:
            continue
        is_panel = element.get("role") == "tabpanel" or "tabbed-block" in get_classes(element)
        if not is_panel and (element.get("hidden") is not None or "display:none" in style):
            remove_element(element)
    _replace_unresolved_references(article)
    # An emoji shown as an image counts as its character.
    for element in article.cssselect("img.twemoji, img.emojione, img.gemoji, img.emoji"):
        replace_with_text(element, element.get("alt") or "")
    # Tab labels form a row on the page; in Markdown each label precedes its panel.
    for labels in article.cssselect(".tabbed-labels, [role=tablist]"):
        _move_labels_to_panels(labels)
    # A file name or label is separated from the text or code that follows it.
    for element in article.cssselect("span.filename, .code-block-caption, span.doc-labels, small.doc-label"):
        element.tag = "div"


def get_text(element: Element, *, excluded_tags: frozenset[str] = frozenset()) -> str:
    """Return the visible text. Block elements and line breaks separate words; other elements do not."""
    pieces: list[str] = []
    _collect_text(element, pieces, excluded_tags)
    return normalize_text("".join(pieces))


def is_heading_permalink(element: Element) -> bool:
    """Return whether a link in a heading targets that heading."""
    heading = next(element.iterancestors(*HEADINGS), None)
    return heading is not None and element.get("href") == f"#{heading.get('id')}"


def get_classes(element: Element) -> set[str]:
    """Return the CSS classes of an element."""
    return set((element.get("class") or "").split())


def remove_element(element: Element) -> None:
    """Remove an element but keep the text that follows it."""
    replace_with_text(element, "")


def replace_with_text(element: Element, text: str) -> None:
    """Replace an element with text."""
    parent = element.getparent()
    if parent is None:
        return
    text += element.tail or ""
    previous = element.getprevious()
    if previous is not None:
        previous.tail = (previous.tail or "") + text
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
# Not counted: invisible to readers, or not part of the article.
_EXCLUDED = (
    # site navigation, on pages without an article element; links from an excerpt to its post are counted
    "nav:not(.md-post__action), [role=navigation], .md-sidebar, .md-header, .md-footer, .md-skip, .md-banner",
    # scripts, drawings, controls; the source of a diagram or formula is extracted before
    "script, style, template, svg, noscript, button:not([role=tab]), select, textarea, object, canvas, datalist, dialog, head",
    # permalinks of headings and back references of footnotes
    ".headerlink, .hash-link, .header-anchor, .anchorjs-link, .heading-anchor, .footnote-backref, .fn-backref",
    # line numbers and buttons of code blocks
    ".linenos, .linenodiv, .lineno, .gutter, .md-clipboard, .copybtn, .md-code__nav, .line-numbers-wrapper",
    # elements that the theme adds to the article: edit links, dates, ratings, tags, paths, breadcrumbs, pagers
    ".md-content__button, .md-source-file, .md-feedback, .md-tags, .md-path, .theme-doc-footer, .pagination-nav",
    ".theme-doc-breadcrumbs, .theme-doc-toc-mobile, .rst-footer-buttons, .prev-next-footer",
    ".md-comments, .giscus, .md-pagination, #__comments",
    # text for screen readers only, and text excluded by the author
    ".visually-hidden, .sr-only, .screen-reader-text, .no-llms, [data-roaming]",
    # the title of a thumbnail, which its link repeats, and the name of the generator
    ".sphx-glr-thumbnail-title, .sphx-glr-signature, .pyodide-editor-bar",
    # prompts of notebooks, the copy of a cell for the clipboard, the second label of a folded cell
    ".jp-InputPrompt, .jp-OutputPrompt, .clipboard-copy-txt, .celltoolbar, div.prompt.highlight-none",
    "p.expanded.admonition-title",
    # the variant of an image or a text for dark color schemes or for print
    ".print-only, .only-print, .d-none.d-print-block, .sd-d-none, .only-dark, .dark-only, [class*='themedComponent--dark']",
    # the second rendering of a formula
    ".katex-html, .MathJax_Preview, .MJX_Assistive_MathML, mjx-assistive-mml",
)


_REFERENCE = re.compile(r"(?<![\w\]\\])\[([^\[\]`]+)\]\[(?:[A-Za-z_]\w*(?:\.\w+)+)?\](?!\()")
_REFERENCE_END = re.compile(r"\]\[(?:[A-Za-z_]\w*(?:\.\w+)+)?\]")


def _replace_unresolved_references(article: Element) -> None:
    """Replace references of autorefs that lead nowhere, `[text][package.name]`, by their text."""
    for element in article.iter("*"):
        in_code = element.tag in ("pre", "code") or next(element.iterancestors("pre", "code"), None) is not None
        if element.text and "][" in element.text and not in_code:
            element.text = _REFERENCE.sub(r"\1", element.text)
        if (element.tail and "][" in element.tail and not in_code) or element.tag == "code":
            element.tail = _REFERENCE.sub(r"\1", element.tail or "")
    for code in article.iter("code"):
        before, parent = code.getprevious(), code.getparent()
        text = (before.tail if before is not None else parent.text if parent is not None else "") or ""
        end = _REFERENCE_END.match(code.tail or "")
        if text.endswith("[") and end:
            code.tail = (code.tail or "")[end.end() :]
            if before is not None:
                before.tail = text[:-1]
            elif parent is not None:
                parent.text = text[:-1]


def _has_text(element: Element, excluded: set[Element]) -> bool:
    if element in excluded:
        return False
    return bool(normalize_text(element.text or "")) or any(
        (isinstance(child.tag, str) and _has_text(child, excluded)) or normalize_text(child.tail or "")
        for child in element
    )


def _move_labels_to_panels(labels: Element) -> None:
    tab_labels = list(labels.iterchildren("label")) or labels.cssselect("[role=tab]")
    container = labels.getparent()
    panels: list[Element] = []
    while container is not None and not panels:
        panels = container.cssselect("[role=tabpanel]") or [
            child
            for content in container.iterchildren("div")
            if "tabbed-content" in get_classes(content)
            for child in content
        ]
        container = container.getparent() if container.get("class") is None else None
    if len(tab_labels) != len(panels):
        return
    for label, panel in zip(tab_labels, panels, strict=True):
        title = etree.SubElement(labels, "p")
        title.text, title.attrib["class"] = get_text(label), "tab-label"
        title.extend(label.iter("img"))
        panel.insert(0, title)
        title.tail, panel.text = panel.text, None
    if len(panels) > 1 and (tab_set := labels.getparent()) is not None and "tabbed-set" in get_classes(tab_set):
        tab_set.tag = "tab-set"  # the panels may be items of a list
    remove_element(labels)


def _collect_text(element: Element, pieces: list[str], excluded_tags: frozenset[str]) -> None:
    is_block = element.tag in _BLOCKS
    if is_block:
        pieces.append(" ")
    pieces.append(element.text or "")
    for child in element:
        if isinstance(child.tag, str) and child.tag not in excluded_tags:
            _collect_text(child, pieces, excluded_tags)
        pieces.append(child.tail or "")
    if is_block:
        pieces.append(" ")
