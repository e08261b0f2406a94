"""An article's HTML, read: the items in it.

Where something on the page is not counted, the reason stands beside it.
"""

from __future__ import annotations

import re
from urllib.parse import unquote, urljoin

from lxml import etree, html

from reading.article import HEADINGS, Element, classes_of, drop, links_heading, prepare, replace, text_of
from reading.items import GFM_KINDS, PART, Items, beginning, clean, words


def read_page(article: Element, base: str) -> Items:
    """Give the items of an article at an address. Its tree is changed."""
    items = Items()
    _notes(article, items)
    prepare(article)
    _headings(article, items)
    _code(article, items)
    _blocks(article, items)
    _tables(article, items)
    _media(article, items, base)
    _marks(article, items)
    _links(article, items)
    for word in words(text_of(article)):
        items.add("words", word)
    return items


def read_part(markup: str, base: str) -> tuple[Items, str]:
    """Give the items and the text of HTML that stands in Markdown."""
    try:
        root = html.fragment_fromstring(markup, create_parent="div")
    except (etree.ParserError, ValueError):
        return Items(), ""
    return read_page(root, base), text_of(root)


def address(base: str, href: str) -> str:
    """Give an absolute address in one spelling."""
    try:
        return unquote(urljoin(base, href.strip()))
    except ValueError:
        return href


def _headings(article: Element, items: Items) -> None:
    for element in article.iter("h1", "h2", "h3", "h4", "h5", "h6"):
        # Labels of API objects ("classmethod") stand in the heading by position only.
        text = text_of(element, without=frozenset({"div"}))
        code = element.find("./code")
        if "doc-heading" in classes_of(element) and code is not None and (name := _NAME.match(text)):
            # The heading of an API object may be its name, with the signature as code below.
            if name[0] != text:
                items.signatures[text_of(code)] += 1
                items.spare.update(words(name[0]))
            text = name[0]
        if any(True for _ in element.iterancestors("td", "th")):
            continue  # what makes a parameter linkable; Markdown's cells hold no headings, and its text is a cell's
        # An API object's H1 further down (under a title that the theme hides) is not the page's title.
        first = "doc-heading" not in classes_of(element) or text_of(article).startswith(text_of(element))
        # What stands at the end is a sign that links a heading to itself, whatever its class.
        items.heading(int(element.tag[1]), text.rstrip("¶#§ ") or text, may_be_title=first)


def _code(article: Element, items: Items) -> None:
    for element in article.iter("pre"):
        content = _code_text(element)
        if not content.strip():
            continue
        items.add("code blocks", content)
        if language := _language(element):
            items.add("languages", f"{language}: {beginning(content)}")
    for element in article.iter("code", "tt", "samp"):
        if not any(True for _ in element.iterancestors("pre", *HEADINGS)):
            # Code with links in it can only be written in parts, each of which is a span of its own.
            for link in element.iter("a"):
                link.text, link.tail = f"{PART}{link.text or ''}", f"{PART}{link.tail or ''}"
            text = "".join(map(str, element.itertext()))
            items.add("code spans", PART.join(part for piece in text.split(PART) if (part := clean(piece))))
            for link in element.iter("a"):
                link.text, link.tail = (link.text or "")[1:], (link.tail or "")[1:]


def _blocks(article: Element, items: Items) -> None:
    for element in article.cssselect(
        ".tabbed-set > label, .read-label, .sd-tab-set > label, .vp-code-group > .tabs > label"
    ):
        items.add("tab labels", text_of(element))
    callouts = ".admonition, .theme-admonition, .starlight-aside, .custom-block, .markdown-alert, details"
    for element in reversed(article.cssselect(callouts)):  # the inner ones first
        title = next(
            (child for child in element if child.tag == "summary" or "title" in (child.get("class") or "")), None
        )
        # GFM draws the five kinds' own names from the mark: `[!NOTE]` is the title "Note".
        items.add("admonitions", beginning(text_of(element)))
        if title is not None and text_of(title).casefold() in GFM_KINDS:
            replace(title, "")
    for element in article.iter("li"):
        parent = element.getparent()
        text = beginning(text_of(element, without=_NESTED))
        if parent is None or not text:
            continue
        if parent.tag == "ol":
            items.add("list items", f"{_number(parent, element)}. {text}")
        else:
            items.add("list items", f"- {text}")
        box = next((box for box in element.iter("input") if box.get("type") == "checkbox"), None)
        if box is not None and next(box.iterancestors("li"), None) is element:
            items.add("tasks", f"[{' ' if box.get('checked') is None else 'x'}] {text}")
    for element in article.iter("dt"):
        items.add("terms", text_of(element))


def _number(parent: Element, element: Element) -> int:
    number = int(parent.get("start") or 1) - 1
    for child in parent.iterchildren("li"):
        number = int(child.get("value") or number + 1)
        if child is element:
            break
    return number


def _tables(article: Element, items: Items) -> None:
    for table in article.iter("table"):
        if table.find(".//pre") is not None and classes_of(table) & {
            "highlighttable",
            "codehilitetable",
            "rouge-table",
        }:
            continue  # a table only to the browser: line numbers beside code
        rows = [row for row in table.iter("tr") if next(row.iterancestors("table")) is table]
        if not rows:
            continue
        cells = [[text_of(cell) for cell in row.iterchildren("td", "th")] for row in rows]
        cells = [row for row in cells if any(row)]  # a head without words is GFM's way of having none
        if not cells:
            continue
        items.add("tables", f"{len(cells)} rows, {max(map(len, cells))} columns: {beginning(' '.join(cells[0]))}")
        for row in cells:
            for text in row:
                items.add("cells", text)
        for cell in rows[0].iterchildren("td", "th"):
            if side := _ALIGN.search(f"{cell.get('style') or ''} text-align:{cell.get('align') or ''}"):
                items.add("alignments", f"{side[1]}: {text_of(cell)}")


def _media(article: Element, items: Items, base: str) -> None:
    for element in article.iter("img"):
        source = element.get("src") or ""
        if not source or source.startswith("data:"):
            source = element.get("data-src") or ""
        # The dark twin of an image for bright pages is the same image; data without an address cannot be linked.
        if source and not (_DARK.search(source) and _has_twin(article, source, element)):
            items.add("images", f"{clean(element.get('alt') or '')} <{address(base, _VARIANT.sub('', source))}>")
    for element in article.iter("iframe", "video", "audio", "embed"):
        inner = element.find("source")
        source = element.get("src") or (inner.get("src") if inner is not None else None) or ""
        items.spare.update(words(f"{address(base, source)} {element.get('title') or ''}"))
        if source and not source.startswith(("data:", "about:")):
            items.add("media", address(base, source))


def _marks(article: Element, items: Items) -> None:
    for element in article.iter("strong", "b", "em", "i"):
        # Within a heading, or a title or a term that is bold anyway, emphasis says nothing more; code holds none.
        around = any("title" in (up.get("class") or "") for up in element.iterancestors("p", "div"))
        if not around and not any(True for _ in element.iterancestors(*HEADINGS, "summary", "dt", "th", "code", "pre")):
            items.add("emphasis", text_of(element))
    for element in article.iter("kbd", "sub", "sup", "mark", "ins", "del", "s", "u"):
        items.add("marked text", f"{'del' if element.tag == 's' else element.tag}: {text_of(element)}")


def _links(article: Element, items: Items) -> None:
    for element in article.iter("a"):
        href = (element.get("href") or "").strip()
        if not href or href.casefold().startswith(("javascript:", "data:", "vbscript:")):
            continue
        if any(True for _ in element.iterancestors("pre")):
            if "__codelineno" not in href:
                items.code_hrefs.append(href)
            continue
        empty = not text_of(element) and element.find(".//img") is None
        if (href.startswith("#") and empty) or links_heading(element):
            continue  # an anchor to stand on, or a heading's link to itself
        if "glightbox" in classes_of(element):
            continue  # shows the image larger
        if empty:
            items.spare.update(words(href))  # an icon that has no name: its address has to do
        items.hrefs.append(href)


def _notes(article: Element, items: Items) -> None:
    """Read footnotes and formulas, which are more than their text, before anything else is changed."""
    # What shows only an icon says what it is named for the ear, or on hovering.
    for element in article.cssselect("a[href], span.twemoji[title]"):
        name = element.get("aria-label") or element.get("title") or ""
        if text_of(element) or element.find(".//img") is not None or _PERMALINK.match(name):
            continue
        if name:
            element.text = f" {name} "
        elif element.tag == "a" and not len(element):
            drop(element)  # nothing to see, nothing to click
    for element in article.cssselect("div.footnote li, section.footnotes li, aside.footnote, div.footnotes li"):
        for back in element.cssselect(".footnote-backref, .fn-backref, [role=doc-backlink], span.label"):
            drop(back)
        items.add("footnotes", beginning(text_of(element)))
        element.tag = "p"  # its number is its label, not a list's
    for element in article.cssselect("a.footnote-ref, a.footnote-reference, a[role=doc-noteref]"):
        parent = element.getparent()  # the mark in the text: `[^1]` in Markdown, a number on the page
        drop(parent if parent is not None and parent.tag == "sup" and len(parent) == 1 else element)
    for element in article.cssselect(".arithmatex, .math, .katex, mjx-container"):
        if any(True for up in element.iterancestors() if classes_of(up) & {"arithmatex", "katex", "math"}):
            continue
        source = element.find(".//annotation")
        if source is None:
            source = element.find(".//script")
        text = "".join(str(part) for part in (element if source is None else source).itertext()).strip()
        if text:
            items.add("math", " ".join(_TEX.sub("", text).split()))
            replace(element, "")


def _code_text(element: Element) -> str:
    for line_break in list(element.iter("br")):
        line_break.text = "\n"
    text = "".join(str(part) for part in element.itertext())
    return text.removeprefix("\n").rstrip("\n")  # browsers leave out the first line end, and nobody sees the last


def _language(element: Element) -> str | None:
    """Give the language that a `pre`, its `code` or what is around them names."""
    around = [element, *element.iterchildren("code"), *list(element.iterancestors())[:4]]
    for part in around:
        classes = part.get("class") or ""
        if "mermaid" in classes.split():
            return "mermaid"
        if name := part.get("data-lang") or part.get("data-language"):
            return name.casefold()
        if (found := _LANGUAGE.search(classes)) and found[1].casefold() not in _PLAIN:
            return found[1].casefold()
    return None


_NESTED = frozenset({"ul", "ol", "menu"})
_NAME = re.compile(r"[\w.]+")
_LANGUAGE = re.compile(r"(?:^|\s)(?:language|lang|highlight)-([\w+#.-]+)")
_PLAIN = frozenset({"text", "plaintext", "plain", "txt", "none", "default", "nohighlight"})
_ALIGN = re.compile(r"text-align:\s*(left|right|center)")
_VARIANT = re.compile(r"#(?:only|gh)-(?:light|dark)(?:-mode-only)?$")
_PERMALINK = re.compile(r"perma|(?:direct )?link to", re.IGNORECASE)
_DARK = re.compile(r"#(?:only-dark|gh-dark-mode-only)$")
_TEX = re.compile(r"^(?:\\\(|\\\[|\$\$?)|(?:\\\)|\\\]|\$\$?)$")


def _has_twin(article: Element, source: str, element: Element) -> bool:
    return any(
        other is not element and other.get("alt") == element.get("alt") and "light" in (other.get("src") or "")[-25:]
        for other in article.iter("img")
    )
