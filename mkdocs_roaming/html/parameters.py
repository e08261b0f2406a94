"""Parameters of API objects, and what they return and raise, as lists: name, type and default, description.

mkdocstrings writes them as tables or lists, Sphinx as field lists.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Iterator
from itertools import chain, groupby

from mkdocs_roaming.html import blocks, tables
from mkdocs_roaming.html.code import CodePiece, iter_code_pieces
from mkdocs_roaming.html.escape import escape_text, format_code_span
from mkdocs_roaming.html.inline import is_script_url
from mkdocs_roaming.html.themes import block_tags
from mkdocs_roaming.html.visitor import (
    Blocks,
    Element,
    Visitor,
    element_text,
    find_class,
    has_class,
    is_paragraph,
    normalized_text,
)

_ITEM = "doc-section-item"
"""mkdocstrings' class of a row or a list item with one parameter."""
_DESCRIPTION = "doc-md-description"
_DESCRIPTION_POSITION = 2
"""Position of the cell with the description, after name and type."""
_LABEL = re.compile(r"[,，]? ?([^\W\d_][\w -]*?) ?[:：]?")
"""A word between a type and a default, as in `, default: `."""
_MODIFIER = re.compile(r",\s*((?:optional|required|keyword-only|positional-only|default)\b.*)", re.DOTALL)
"""The end of a type in numpydoc's notation."""
_NAME_TAGS = frozenset({"a", "strong", "b", "em", "code", "span", "h2", "h3", "h4", "h5", "h6"})
_PROSE = re.compile(r"\w\s+\w|\.$")
"""A sign that a text is not an expression: words without punctuation between, or a full stop."""
_TYPOGRAPHY = str.maketrans({"…": "...", "‘": "'", "’": "'", "“": '"', "”": '"'})
"""Characters of code that Sphinx replaces in types."""
_FIELD_DEPTH = 2
"""Levels of depth that a field counts for: it needs more stack than other elements."""

Details = list[str]
"""Type, default and the like of a parameter, as Markdown."""


def write_parameters_or_table(visitor: Visitor, element: Element, out: Blocks) -> None:
    """Write a table: parameters of mkdocstrings and summaries of Sphinx as a list, any other one as a table."""
    if has_class(element, "field-list"):
        write_field_list(visitor, element, out)
        return
    body = element.find("tbody")
    row = next(iter(element if body is None else body), None)
    if row is not None and has_class(row, _ITEM):
        title = find_class(element, "doc-section-title", tag="span")
        if title is not None:  # the style "spacy" has the title within the table
            text = normalized_text(title).rstrip(":").capitalize()
            out.append(f"**{escape_text(text)}:**")
    elif not has_class(element, "autosummary"):
        tables.write_table(visitor, element, out)
        return
    labels = [normalized_text(cell).casefold() for cell in element.iterfind("thead/tr/th")]
    items: list[Blocks] = []
    for part in [element, *element.iterchildren("tbody")]:
        rows = (row for row in part.iterchildren("tr") if row.find("td") is not None)
        items.extend(_render_row(visitor, row, labels) for row in rows)
    blocks.add_items(items, out)


def write_list(visitor: Visitor, element: Element, out: Blocks) -> None:
    """Write a list, with the parameters of mkdocstrings like those of any other tool."""
    item = next(iter(element), None)
    if item is not None and has_class(item, _ITEM):
        blocks.add_items((_render_item(visitor, item) for item in element.iterchildren("li")), out)
    else:
        blocks.write_list(visitor, element, out)


def write_field_list(visitor: Visitor, element: Element, out: Blocks) -> None:
    """Write a field list of Sphinx: parameters as lists, other fields as paragraphs, each with its label in bold.

    It is a definition list, or a table in mkdocstrings' templates for Read the Docs.
    """
    if element.tag == "dl":
        cells: Iterable[Element] = element
    else:
        cells = chain(element.iterfind("tr/*"), element.iterfind("*/tr/*"))
    label = None
    for cell in cells:
        if cell.tag == "dt" or has_class(cell, "field-name"):
            label = cell
        elif label is not None and (cell.tag == "dd" or has_class(cell, "field-body")):
            with visitor.within(depth=visitor.context.depth + _FIELD_DEPTH):
                _write_field(visitor, label, cell, out)


def _join_head(name: str, details: Details, parts: Blocks) -> Blocks:
    """Return the blocks of an item: `name (type, default) — description`, followed by the rest of the description."""
    head = ", ".join(filter(None, details))
    if name:
        head = f"{name} ({head})" if head else name
    if not head:
        return parts
    if parts and is_paragraph(parts[0]):
        return [f"{head} — {parts[0]}", *parts[1:]]
    return [head, *parts]


# Rows of tables


def _render_row(visitor: Visitor, row: Element, labels: list[str]) -> Blocks:
    """Return the blocks of a row: cells before the description are name and type, cells after it the default."""
    cells = list(row.iterchildren("td"))
    _record_anchors(visitor, row, *cells[0].iter())
    position = min(len(cells) - 1, _DESCRIPTION_POSITION)
    for index, cell in enumerate(cells):
        if any(has_class(child, _DESCRIPTION) for child in cell):
            position = index
            break
    name, *details = [_format_code(visitor, cell) for cell in cells[:position]] or [""]
    for index, cell in enumerate(cells[position + 1 :], position + 1):
        text = _format_code(visitor, cell)
        if text and cell.find(".//code") is None:
            details.append(visitor.render_line(cell, style="emphasis"))  # "required"
        elif text:
            details.append(f"{labels[index]}: {text}" if index < len(labels) else text)
    description = cells[position]
    parts: Blocks = []
    for child in description:
        notes = _format_notes(visitor, child)
        details += notes
        if not notes:
            parts += visitor.render_nested(child)
    if not len(description):
        parts += visitor.render_nested(description)
    return _join_head(name, details, parts)


def _format_notes(visitor: Visitor, paragraph: Element) -> Details:
    """Return the type and the default in a paragraph below a description, in mkdocstrings' style "spacy"."""
    notes: Details = []
    for note in paragraph.iter("span") if paragraph.tag == "p" else ():
        classes = note.get("class", "")
        if not classes.endswith(("-annotation", "-default")):
            continue
        label, *values = note
        text = ", ".join(_format_code(visitor, value) for value in values)
        if classes.endswith("-default"):
            name = normalized_text(label).rstrip(":").casefold()
            text = f"{name}: {text}"
        notes.append(text)
    return notes


# Items of lists


def _render_item(visitor: Visitor, item: Element) -> Blocks:
    """Return the blocks of a list item."""
    visitor.record_anchor(item)
    item = copy.deepcopy(item)
    has_paragraph = len(item) and item[0].tag == "p" and not (item.text or "").strip()
    head = _take_head(visitor, item[0] if has_paragraph else item)
    parts = visitor.render_nested(item)
    return parts if head is None else _join_head(*head, parts)


def _take_head(visitor: Visitor, element: Element) -> tuple[str, Details] | None:
    """Remove name, type and default from the beginning of a paragraph or an item, and return them as Markdown.

    Returns:
        None if the element does not begin with a name that is followed by a parenthesis, a dash or nothing.
    """
    children = list(element)
    start = _find_name(element)
    if start is None:
        return None
    rest = (children[start].tail or "").lstrip()
    end = start + 1
    details: Details = []
    if rest.startswith("("):
        parenthesis = _find_closing_parenthesis(rest, children[end:])
        if parenthesis is None:
            return None
        count, nodes, rest = parenthesis
        end += count
        details = _format_details(visitor, nodes)
        rest = rest.lstrip()
    has_dash = rest.startswith(("–", "—"))
    if not has_dash and (rest or end < len(children)):
        return None
    for child in children[: start + 1]:
        _record_anchors(visitor, *child.iter())
    name = _format_code(visitor, children[start])
    del element[:end]
    element.text = rest[1:].lstrip() if has_dash else ""
    return name, details


def _find_name(element: Element) -> int | None:
    """Return the position of the name at the beginning of an element; empty anchors may be in front of it."""
    if (element.text or "").strip():
        return None
    for position, child in enumerate(element):
        text = element_text(child) + (child.tail or "")
        if child.tag not in ("a", "span") or text.strip():
            return position if child.tag in _NAME_TAGS else None
    return None


def _find_closing_parenthesis(text: str, children: list[Element]) -> tuple[int, list[str | Element], str] | None:
    """Return what is between parentheses that open at the beginning of a text, which elements and texts follow.

    Returns:
        The number of elements before the closing parenthesis, the texts and elements in the parentheses, and the text
        behind them. None if there is no closing parenthesis.
    """
    nodes: list[str | Element] = []
    depth = 0
    for count, child in enumerate([*children, None]):
        for index, letter in enumerate(text):
            depth += (letter == "(") - (letter == ")")
            if not depth:
                rest = text[index + 1 :]
                if nodes:
                    return count, [*nodes[1:], text[:index]], rest
                return count, [text[1:index]], rest
        nodes.append(text)
        if child is None or child.tag in block_tags():
            return None
        nodes.append(child)
        text = child.tail or ""
    return None


def _format_details(visitor: Visitor, nodes: list[str | Element]) -> Details:
    """Return type, default and the like, which are separated by words between the elements."""
    groups: list[tuple[str, list[CodePiece]]] = [("", [])]
    for node in nodes:
        _, pieces = groups[-1]
        if not isinstance(node, str):
            pieces.extend(iter_code_pieces(visitor, node))
            continue
        label = _LABEL.fullmatch(" ".join(node.split()))
        if label and any(text.strip() for text, _ in pieces):
            groups.append((label[1], []))
        else:
            pieces.append((node, None))
    details: Details = []
    for name, pieces in groups:
        text = "".join(text for text, _ in pieces)
        modifier = _MODIFIER.search(text)
        room = modifier.start() if modifier else len(text)
        kept: list[CodePiece] = []
        for text, href in pieces:
            kept.append((text[:room], href))
            room = max(room - len(text), 0)
        expression = _format_pieces(visitor, kept)
        details.append(": ".join(filter(None, (name, expression))))
        if modifier:  # numpydoc: `int, optional`
            details.append(escape_text(" ".join(modifier[1].split())))
    return details


# Fields


def _write_field(visitor: Visitor, label: Element, body: Element, out: Blocks) -> None:
    visitor.record_anchor(body)
    text = visitor.render_line(label, style="strong").rstrip(":：").rstrip()
    title = f"**{text}:**" if text else ""
    items = list(_render_body(visitor, body))
    if items:
        if title:
            out.append(title)
        blocks.add_items(items, out)
        return
    parts = visitor.render_nested(body)
    if title and parts and is_paragraph(parts[0]):
        parts[0] = f"{title} {_render_type(visitor, text, body) or parts[0]}"
    elif title:
        parts.insert(0, title)
    out.extend(parts)


def _render_body(visitor: Visitor, body: Element) -> Iterator[Blocks]:
    """Yield the blocks of each item, if the body of a field is a list or a single parameter."""
    if len(body) != 1 or (body.text or "").strip():
        return
    content = body[0]
    if content.tag in ("ul", "ol"):
        yield from (_render_item(visitor, item) for item in content.iterchildren("li"))
    elif content.tag == "dl":
        yield from _render_terms(visitor, content)
    elif content.tag == "p" and not _has_type_only(content):
        content = copy.deepcopy(content)
        head = _take_head(visitor, content)
        if head is not None:
            text = visitor.render_line(content)
            yield _join_head(*head, [text] if text else [])


def _render_terms(visitor: Visitor, element: Element) -> Iterator[Blocks]:
    """Yield the blocks of each parameter in numpydoc's definition lists."""
    names: list[str] = []
    details: Details = []
    for child in element:
        if child.tag == "dt":
            _record_anchors(visitor, *child.iter())
            term = copy.deepcopy(child)
            for span in list(term.iter("span")):
                if has_class(span, "classifier"):
                    details += _format_details(visitor, [span])
                    span.clear()
            names.append(_format_code(visitor, term))
        else:
            yield _join_head(", ".join(names), details, visitor.render_nested(child))
            names = []
            details = []
    if names:
        yield _join_head(", ".join(names), details, [])


def _has_type_only(paragraph: Element) -> bool:
    """Return whether a paragraph is an expression: nothing but emphasis, code and links with punctuation between."""
    between = [paragraph.text or ""]
    for child in paragraph:
        if child.tag not in ("a", "em", "code", "span"):
            return False
        between.append(child.tail or "")
    return not any(letter.isalnum() or letter == "_" for letter in "".join(between))


def _render_type(visitor: Visitor, label: str, body: Element) -> str:
    """Return the type in a field such as "Return type" as code; `""` if the field is text."""
    if len(body) != 1 or body[0].tag != "p":
        return ""
    content = body[0]
    is_named_type = "type" in label.casefold().split()
    is_type = is_named_type and not _PROSE.search(element_text(content))
    if is_type or (len(content) and _has_type_only(content)):
        return _format_code(visitor, content)
    return ""


# Expressions


def _format_code(visitor: Visitor, element: Element) -> str:
    """Return an element as code."""
    return _format_pieces(visitor, iter_code_pieces(visitor, element))


def _format_pieces(visitor: Visitor, pieces: Iterable[CodePiece]) -> str:
    """Format an expression as code. A link within it is a link around its part of the code."""
    written = ""
    for href, group in groupby(pieces, key=lambda piece: piece[1]):
        text = "".join(text for text, _ in group).translate(_TYPOGRAPHY)
        words = " ".join(text.split())
        if not words:
            continue
        code = format_code_span(words)
        if href and not is_script_url(href) and not visitor.context.in_link:
            code = f"[{code}]({visitor.destination(href)})"
        if text[0].isspace():
            code = " " + code
        if text[-1].isspace():
            code += " "
        written += code
    return written.strip()


def _record_anchors(visitor: Visitor, *elements: Element) -> None:
    """Record the ids in the name of a parameter, which the visitor does not write."""
    for element in elements:
        if element.get("href") is None:
            visitor.record_anchor(element)
