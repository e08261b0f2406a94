"""Parameters of API objects in HTML: the tables, lists and field lists of API generators, as plain lists.

Markdown writes them as items `name (type, default) — description`. The HTML is brought into the same order, without the
headings of columns and without emphasis, so that every other measure finds names, types, defaults and descriptions.
"""

from __future__ import annotations

import re

from lxml import etree

from page_content.article import Element, get_classes, get_text, remove_element
from page_content.items import Items, first_words, split_words

_LISTS = frozenset({"ul", "ol", "menu", "table", "dl"})
_HEAD = re.compile(r"\s*(?:\(.*\))?\s*", re.DOTALL)
_PROSE = re.compile(r"\w \w|\.$")
_DASHES = re.compile("[–—]")


def format_parameter(head: str, description: str) -> str:
    """Return the item of a parameter: the words of its name, type and default, and the first of its description."""
    return f"{' '.join(split_words(head))}: {first_words(description)}"


def extract_parameters(article: Element, items: Items) -> None:
    """Count the parameters of an article, and rewrite them as lists."""
    for table in list(article.iter("table")):
        rows = [row for row in table.iter("tr") if next(row.iterancestors("table")) is table]
        if any("doc-section-item" in get_classes(row) for row in rows) or "autosummary" in get_classes(table):
            _rewrite_rows(table, rows, items)
        elif "field-list" in get_classes(table):
            for part in [table, *table.iter("tbody", "tr", "th", "td")]:
                part.tag = "div"
    for fields in article.cssselect("dl.field-list, div.field-list"):
        for label in fields.iterchildren("dt"):
            label.tag = "div"
        for term in fields.cssselect("dl > dt"):
            _rewrite_term(term, items)
        for element in list(fields.iter("li", "p")):
            if element.tag == "li" or (element.getparent() in fields[:] and len(element.getparent()) == 1):
                _rewrite_item(element, items)
    for element in list(article.iter("li")):
        if "doc-section-item" in get_classes(element):
            _rewrite_item(element, items)
    for element in article.cssselect("dl > dt.sig"):
        _rewrite_signature(element)


def _rewrite_rows(table: Element, rows: list[Element], items: Items) -> None:
    labels = [get_text(cell) for row in rows for cell in row.iterchildren("th")]
    for head in [*table.iterchildren("thead"), *table.iterchildren("caption")]:
        title = next((cell for cell in head.iter("span") if "doc-section-title" in get_classes(cell)), None)
        if title is not None:  # the style "spacy"
            table.addprevious(_make("p", [title]))
        remove_element(head)
    for row in rows:
        cells = list(row.iterchildren("td"))
        if not cells:
            continue
        description = next(
            (child for cell in cells for child in cell if "doc-md-description" in get_classes(child)), cells[-1]
        )
        notes = [note for note in row.iter("span") if "doc-md-description" not in get_classes(note) and _is_note(note)]
        after = False
        head: list[Element] = []
        for index, cell in enumerate(cells):
            if description is cell or description.getparent() is cell:
                after = True
            else:
                if after and cell.find(".//code") is not None and index < len(labels):
                    cell.insert(0, _make("span", text=f"{labels[index]} "))
                head.append(cell)
        for note in notes:
            if "annotation" in (note.get("class") or ""):
                remove_element(note[0])
        _add_parameter(items, [*head, *notes], description)
        row.tag = "li"
        for part in [*head, *notes, description]:
            part.tag = "div"
        row[:] = [*head, *notes, description]
    table.tag = "ul"


def _is_note(element: Element) -> bool:
    return (element.get("class") or "").endswith(("-annotation", "-default")) and element.find("b") is not None


def _rewrite_term(term: Element, items: Items) -> None:
    """Rewrite a parameter in numpydoc's notation."""
    description = term.getnext()
    term.tag = "div"
    if description is not None and description.tag == "dd":
        _add_parameter(items, [term], description)


def _rewrite_item(item: Element, items: Items) -> None:
    """Rewrite an item that begins with a name, perhaps a type in parentheses, and a dash."""
    start = item[0] if item.tag == "li" and len(item) and item[0].tag == "p" and not (item.text or "").strip() else item
    if not len(start) or (start.text or "").strip():
        return
    head = _make("div")
    for child in list(start):
        tail = child.tail or ""
        dash = _DASHES.search(tail)
        child.tail = tail[: dash.start()] if dash else tail
        head.append(child)
        if dash:
            head.tail = tail[dash.end() :]
            break
    start.insert(0, head)
    name = get_text(head[0])
    if item.tag == "p" and not _PROSE.search(get_text(item)):  # the type in a field such as "Return type"
        for marked in item.iter("em"):
            marked.tag = "span"
    is_head = _HEAD.fullmatch(get_text(head).removeprefix(name)) is not None and head[0].tag not in ("p", "ul", "ol")
    is_head = is_head and (item.tag == "li" or item.find(".//strong") is not None)
    if is_head:
        rest = _make("div")
        rest.text, head.tail = head.tail, None
        rest.extend(list(item)[1:] if start is item else [*list(start)[1:], *list(item)[1:]])
        item[:] = [head, rest]
        _add_parameter(items, [head], rest)
    else:  # an item of text
        text, children = head.tail, list(head)
        remove_element(head)
        start[:] = [*children, *start]
        children[-1].tail = (children[-1].tail or "") + (f"–{text}" if text else "")


def _add_parameter(items: Items, head: list[Element], description: Element) -> None:
    for part in head:
        for marked in part.iter("strong", "b", "em", "i", "h1", "h2", "h3", "h4", "h5", "h6"):
            marked.tag = "span"
    text = get_text(description, excluded_tags=_LISTS)
    if any(map(get_text, head)):
        items.add("parameters", format_parameter(" ".join(map(get_text, head)), text))


def _rewrite_signature(term: Element) -> None:
    """Reduce the signature of an object to its name, which is its heading; the rest is code below it."""
    names = [part for part in term.iter("span") if get_classes(part) & {"sig-prename", "sig-name"}]
    if not names:
        return
    previous = term.getprevious()
    is_overload = previous is not None and previous.tag == "dt" and get_text(previous) == "".join(map(get_text, names))
    for link in term.iter("a"):
        link.attrib.pop("href", None)
    term[:] = [] if is_overload else names


def _make(tag: str, children: list[Element] | None = None, text: str = "") -> Element:
    element = etree.Element(tag)
    element.text = text
    element.extend(children or [])
    return element
