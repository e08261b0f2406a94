"""Items of a page, extracted from the HTML of its article.

A comment next to each exclusion gives its reason.
"""

from __future__ import annotations

import copy
import re
from urllib.parse import unquote, urljoin

from lxml import etree, html

from page_content.article import (
    HEADINGS,
    Element,
    get_classes,
    get_text,
    is_heading_permalink,
    prepare_article,
    remove_element,
    replace_with_text,
)
from page_content.items import GFM_KINDS, PART_SEPARATOR, Items, first_words, normalize_text, split_words
from page_content.parameters import extract_parameters


def extract_items(article: Element, base: str) -> Items:
    """Return the items of an article with the URL `base`. The tree is modified."""
    items = Items()
    _extract_footnotes_and_formulas(article, items)
    prepare_article(article)
    _extract_sphinx_objects(article, items)
    extract_parameters(article, items)
    _extract_headings(article, items)
    _extract_code(article, items)
    _extract_blocks(article, items)
    _extract_tables(article, items)
    _extract_media(article, items, base)
    _extract_marked_text(article, items)
    _extract_links(article, items)
    for word in split_words(get_text(article)):
        items.add("words", word)
    return items


def extract_fragment_items(markup: str, base: str) -> tuple[Items, str]:
    """Return the items and the text of HTML within Markdown."""
    try:
        root = html.fragment_fromstring(markup, create_parent="div")
    except (etree.ParserError, ValueError):
        return Items(), ""
    return extract_items(root, base), get_text(root)


def resolve_url(base: str, href: str) -> str:
    """Return an absolute URL with percent-escapes decoded."""
    try:
        return unquote(urljoin(base, href.strip()))
    except ValueError:
        return href


def _extract_headings(article: Element, items: Items) -> None:
    for element in article.iter("h1", "h2", "h3", "h4", "h5", "h6"):
        # Labels of API objects ("classmethod") are placed in the heading but are not part of it.
        text = get_text(element, excluded_tags=frozenset({"div"}))
        code = element.find("./code")
        if "doc-heading" in get_classes(element) and code is not None and (name := _NAME.match(text)):
            # The heading of an API object may be its name, with the signature as code below.
            if name[0] != text:
                items.signatures[get_text(code)] += 1
                items.optional_words.update(split_words(name[0]))
            text = name[0]
        if any(True for _ in element.iterancestors("td", "th")):
            continue  # makes a parameter linkable; Markdown cells contain no headings, and the text counts as a cell
        # The H1 of an API object below a title that the theme hides is not the title of the page.
        may_be_title = "doc-heading" not in get_classes(element) or get_text(article).startswith(get_text(element))
        # A trailing permalink character is not part of the heading, with any class.
        items.add_heading(int(element.tag[1]), text.rstrip("¶#§ ") or text, may_be_title=may_be_title)


def _extract_sphinx_objects(article: Element, items: Items) -> None:
    """Extract the objects of Sphinx domains: a heading with the name, or bold text, and the signature as code."""
    for element in article.cssselect("dt.sig"):
        text = get_text(element)
        items.optional_words.update(split_words(text))
        for link in element.cssselect(".viewcode-link, .viewcode-back"):
            text = text.removesuffix(get_text(link)).rstrip()
        name = "".join(get_text(part) for part in element.cssselect(".sig-prename, .sig-name"))
        items.object_names[name] += 1
        items.optional_words.update(split_words(name))
        items.signatures[text.replace("→", "->")] += 1


def _extract_code(article: Element, items: Items) -> None:
    for element in article.iter("pre"):
        content = _get_code_text(element)
        if any("termy" in get_classes(up) for up in element.iterancestors()):  # HTML that a script shows
            content = _get_terminal_text(content)
            for child in list(element):
                element.remove(child)
            element.text = content
        if not content.strip():
            continue
        items.add("code blocks", content)
        if language := _find_language(element):
            items.add("code languages that the HTML names", f"{language}: {first_words(content)}")
    for element in article.iter("code", "tt", "samp"):
        if not any(True for _ in element.iterancestors("pre", *HEADINGS)):
            # Markdown can write code that contains links only as several code spans.
            for link in element.iter("a"):
                link.text, link.tail = f"{PART_SEPARATOR}{link.text or ''}", f"{PART_SEPARATOR}{link.tail or ''}"
            text = "".join(map(str, element.itertext()))
            items.add(
                "code spans",
                PART_SEPARATOR.join(part for piece in text.split(PART_SEPARATOR) if (part := normalize_text(piece))),
            )
            for link in element.iter("a"):
                link.text, link.tail = (link.text or "")[1:], (link.tail or "")[1:]


def _extract_blocks(article: Element, items: Items) -> None:
    for element in article.cssselect(
        ".tabbed-set > label, .tab-label, .sd-tab-set > label, .vp-code-group > .tabs > label"
    ):
        items.add("tab labels", get_text(element))
    callouts = ".admonition, .theme-admonition, .starlight-aside, .custom-block, .markdown-alert, details"
    for element in reversed(article.cssselect(callouts)):  # inner callouts first
        if any(True for _ in element.iterancestors("td", "th")):
            continue  # HTML tables have no alerts, and the text counts as a cell
        title = next(
            (child for child in element if child.tag == "summary" or "title" in (child.get("class") or "")), None
        )
        # GFM renders the name of a kind as the title: `[!NOTE]` is shown as "Note".
        items.add("admonitions", first_words(_get_text_with_names(element)))
        if title is not None and get_text(title).casefold() in GFM_KINDS:
            replace_with_text(title, "")
    for element in article.iter("li"):
        parent = element.getparent()
        text = first_words(get_text(element, excluded_tags=_LIST_TAGS))
        if parent is None or not text:
            continue
        if parent.tag == "ol":
            items.add("list items", f"{_get_list_number(parent, element)}. {text}")
        else:
            items.add("list items", f"- {text}")
        box = next((box for box in element.iter("input") if box.get("type") == "checkbox"), None)
        if box is not None and next(box.iterancestors("li"), None) is element:
            items.add("tasks", f"[{' ' if box.get('checked') is None else 'x'}] {text}")
    for element in article.iter("dt"):
        if "sig" not in get_classes(element):
            items.add("terms", get_text(element))


def _get_text_with_names(element: Element) -> str:
    """Return the text of a callout, with the name of an API object before its signature."""
    copied = copy.deepcopy(element)
    for code in copied.cssselect(".doc-heading > code"):
        text = get_text(code)
        if (name := _NAME.match(text)) and name[0] != text:
            code.text = f"{name[0]} {code.text or ''}"
    return get_text(copied)


def _get_list_number(parent: Element, element: Element) -> int:
    number = int(parent.get("start") or 1) - 1
    for child in parent.iterchildren("li"):
        number = int(child.get("value") or number + 1)
        if child is element:
            break
    return number


def _extract_tables(article: Element, items: Items) -> None:
    for table in article.iter("table"):
        if table.find(".//pre") is not None and get_classes(table) & {
            "highlighttable",
            "codehilitetable",
            "rouge-table",
        }:
            continue  # layout table: line numbers next to code
        rows = [row for row in table.iter("tr") if next(row.iterancestors("table")) is table]
        if not rows:
            continue
        cells = [[get_text(cell) for cell in row.iterchildren("td", "th")] for row in rows]
        is_layout = len(rows) == 1 and table.find(".//th") is None and table.find(".//ul") is not None
        if is_layout:
            continue  # arranges lists next to each other
        cells = [row for row in cells if any(row)]  # GFM writes a table without a header with an empty header
        if not cells:
            continue
        items.add("tables", f"{len(cells)} rows, {max(map(len, cells))} columns: {first_words(' '.join(cells[0]))}")
        for row in cells:
            for text in row:
                items.add("table cells", text)
        for cell in rows[0].iterchildren("td", "th"):
            if side := _ALIGNMENT.search(f"{cell.get('style') or ''} text-align:{cell.get('align') or ''}"):
                items.add("alignments", f"{side[1]}: {get_text(cell)}")


def _extract_media(article: Element, items: Items, base: str) -> None:
    for element in article.iter("img"):
        source = element.get("src") or ""
        if not source or source.startswith("data:"):
            source = element.get("data-src") or ""
        # An image for a dark color scheme is the variant of another; embedded data has no URL to link to.
        if source and not _DARK_SUFFIX.search(source):
            alt = "" if element.get("alt") == element.get("src") else element.get("alt") or ""  # by docutils
            items.add(
                "images",
                f"{normalize_text(alt)} <{resolve_url(base, _VARIANT_SUFFIX.sub('', source))}>",
            )
    for element in article.iter("iframe", "video", "audio", "embed"):
        inner = element.find("source")
        source = element.get("src") or (inner.get("src") if inner is not None else None) or ""
        items.optional_words.update(split_words(f"{resolve_url(base, source)} {element.get('title') or ''}"))
        # An encoded program is no address: the page shows its code, or a link without it.
        if source and not source.startswith(("data:", "about:")) and not _PROGRAM.search(source):
            items.add("media", resolve_url(base, source))


def _extract_marked_text(article: Element, items: Items) -> None:
    for element in article.iter("strong", "b", "em", "i"):
        # Emphasis does not count in headings, titles and terms, which are bold already; code contains none.
        parent = element.getparent()
        if parent is not None and "doc-section-item" in get_classes(parent):
            continue  # the name of a parameter, which may be written as code
        in_title = any("title" in (up.get("class") or "") for up in element.iterancestors("p", "div"))
        if not in_title and not any(
            True for _ in element.iterancestors(*HEADINGS, "summary", "dt", "th", "code", "pre")
        ):
            items.add("emphasis", get_text(element))
    for element in article.iter("kbd", "sub", "sup", "mark", "ins", "del", "s", "u"):
        items.add("marked text", f"{'del' if element.tag == 's' else element.tag}: {get_text(element)}")


def _extract_links(article: Element, items: Items) -> None:
    for element in article.iter("a"):
        href = (element.get("href") or "").strip()
        if not href or href.casefold().startswith(("javascript:", "data:", "vbscript:")):
            continue
        in_signature = any("sig" in get_classes(up) for up in element.iterancestors("dt"))
        if in_signature or any(True for _ in element.iterancestors("pre")):
            if "__codelineno" not in href:
                items.code_hrefs.append(href)
            continue
        empty = not get_text(element) and element.find(".//img") is None
        if (href.startswith("#") and empty) or is_heading_permalink(element):
            continue  # an anchor without text, or the permalink of a heading
        image = element.find("img") if len(element) == 1 and not get_text(element) else None
        if "glightbox" in get_classes(element) or (image is not None and image.get("src") == href):
            continue  # enlarges the image
        if _PROGRAM.search(href):
            continue  # written without the program
        if empty:
            items.optional_words.update(split_words(href))  # an icon without a name: Markdown shows its URL
        items.hrefs.append(href)


def _extract_footnotes_and_formulas(article: Element, items: Items) -> None:
    """Extract footnotes and formulas first, because they consist of more than their visible text."""
    # An element that shows only an icon counts with its accessible name or tooltip.
    for element in article.cssselect("a[href], span.twemoji[title]"):
        name = element.get("aria-label") or element.get("title") or ""
        if get_text(element) or element.find(".//img") is not None or _PERMALINK.match(name):
            continue
        if name:
            element.text = f" {name} "
        elif element.tag == "a" and not len(element):
            remove_element(element)  # neither visible nor clickable
    for element in article.cssselect("div.footnote li, section.footnotes li, aside.footnote, div.footnotes li"):
        for back_reference in element.cssselect(".footnote-backref, .fn-backref, [role=doc-backlink], span.label"):
            remove_element(back_reference)
        items.add("footnotes", first_words(get_text(element)))
        element.tag = "p"  # its number is its label, not that of a list item
    for element in article.cssselect("a.footnote-ref, a.footnote-reference, a[role=doc-noteref]"):
        parent = element.getparent()  # the reference in the text: `[^1]` in Markdown, a number on the page
        remove_element(parent if parent is not None and parent.tag == "sup" and len(parent) == 1 else element)
    for element in article.cssselect(".arithmatex, .math, .katex, mjx-container"):
        if any(True for up in element.iterancestors() if get_classes(up) & {"arithmatex", "katex", "formulas"}):
            continue
        source = element.find(".//annotation")
        if source is None:
            source = element.find(".//script")
        text = "".join(str(part) for part in (element if source is None else source).itertext()).strip()
        if text:
            items.add("formulas", " ".join(_TEX.sub("", text).split()))
            replace_with_text(element, "")


def _get_code_text(element: Element) -> str:
    for line_break in list(element.iter("br")):
        line_break.text = "\n"
    text = "".join(str(part) for part in element.itertext())
    return text.removeprefix("\n").rstrip("\n")  # browsers ignore the first line end; the last is invisible


def _get_terminal_text(source: str) -> str:
    """Return what an animated terminal shows: the text of its source, with comments and prompts as in a shell."""
    lines = "".join(map(str, html.fragment_fromstring(source, create_parent="div").itertext())).split("\n")
    for at, line in enumerate(lines):
        if line.startswith("// "):
            lines[at] = f"# {line[3:]}"
        elif line.startswith("# ") and "$ " in line:
            lines[at] = " ".join(line[2:].split("$ ", 1))
    return "\n".join(lines)


def _find_language(element: Element) -> str | None:
    """Return the language named by a `pre`, its `code` or an ancestor, if any."""
    candidates = [element, *element.iterchildren("code"), *list(element.iterancestors())[:4]]
    for part in candidates:
        classes = part.get("class") or ""
        if "mermaid" in classes.split():
            return "mermaid"
        if name := part.get("data-lang") or part.get("data-language"):
            return name.casefold()
        if (found := _LANGUAGE.search(classes)) and found[1].casefold() not in _NOT_A_LANGUAGE:
            return _PYTHON.sub("python", found[1].casefold())
    return None


_LIST_TAGS = frozenset({"ul", "ol", "menu", "tab-set"})
_NAME = re.compile(r"[\w.]+")
_LANGUAGE = re.compile(r"(?:^|\s)(?:language|lang|highlight-ipynb hl|highlight)-([\w+#.-]+)")
_NOT_A_LANGUAGE = frozenset(
    {"text", "plaintext", "plain", "txt", "none", "default", "nohighlight", "myst-ansi", "ipythontb"}
)
_PYTHON = re.compile(r"^ipython[23]?$")
_ALIGNMENT = re.compile(r"text-align:\s*(left|right|center)")
_VARIANT_SUFFIX = re.compile(r"#(?:only|gh)-(?:light|dark)(?:-mode-only)?$")
_PERMALINK = re.compile(r"perma|(?:direct )?link to", re.IGNORECASE)
_PROGRAM = re.compile(r"#(?!_CPP)[^#]{200,}|[?&][^?&=#]+=[^&#]{200,}|#code[/=]|[?]code=")
_DARK_SUFFIX = re.compile(r"#(?:only-dark|gh-dark-mode-only)$")
_TEX = re.compile(r"^(?:\\\(|\\\[|\$\$?)|(?:\\\)|\\\]|\$\$?)$")
