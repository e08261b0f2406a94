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
    Element,
    Visitor,
    element_text,
    format_bold,
    has_class,
    is_paragraph,
    normalized_text,
)

_ITEM = "doc-section-item"
"""mkdocstrings' class of a row or a list item with one parameter."""
_DESCRIPTION = "doc-md-description"
_LABEL = re.compile(r"[,，]? ?([^\W\d_][\w -]*?) ?[:：]?")
"""A word between a type and a default, as in `, default: `."""
_MODIFIER = re.compile(r",\s*((?:optional|required|keyword-only|positional-only|default)\b.*)", re.DOTALL)
"""The end of a type in numpydoc's notation."""
_NAME_TAGS = frozenset({"a", "strong", "b", "em", "code", "span", "h2", "h3", "h4", "h5", "h6"})
_PROSE = re.compile(r"\w\s+\w|\.$")
"""A sign that a text is not an expression: words without punctuation between, or a full stop."""
_TYPOGRAPHY = str.maketrans({"…": "...", "‘": "'", "’": "'", "“": '"', "”": '"'})
"""Characters of code that Sphinx replaces in types."""


def write_table(visitor: Visitor, element: Element, out: list[str]) -> None:
    """Write a table: parameters of mkdocstrings and summaries of Sphinx as a list, any other one as a table."""
    if has_class(element, "field-list"):
        write_field_list(visitor, element, out)
        return
    body = element.find("tbody")
    row = next(iter(element if body is None else body), None)
    if row is not None and has_class(row, _ITEM):
        title = next((cell for cell in element.iter("span") if has_class(cell, "doc-section-title")), None)
        if title is not None:  # the style "spacy" has the title within the table
            out.append(format_bold(escape_text(normalized_text(title).rstrip(":").capitalize()) + ":"))
    elif not has_class(element, "autosummary"):
        tables.write_table(visitor, element, out)
        return
    labels = [normalized_text(cell).casefold() for cell in element.iterfind("thead/tr/th")]
    rows = [row for part in [element, *element.iterchildren("tbody")] for row in part.iterchildren("tr")]
    blocks.add_items((_render_row(visitor, row, labels) for row in rows if row.find("td") is not None), out)


def write_list(visitor: Visitor, element: Element, out: list[str]) -> None:
    """Write a list, with the parameters of mkdocstrings like those of any other tool."""
    item = next(iter(element), None)
    if item is not None and has_class(item, _ITEM):
        blocks.add_items((_render_item(visitor, item) for item in element.iterchildren("li")), out)
    else:
        blocks.write_list(visitor, element, out)


def write_field_list(visitor: Visitor, element: Element, out: list[str]) -> None:
    """Write a field list of Sphinx: parameters as lists, other fields as paragraphs, each with its label in bold.

    It is a definition list, or a table in mkdocstrings' templates for Read the Docs.
    """
    label = None
    for cell in element if element.tag == "dl" else chain(element.iterfind("tr/*"), element.iterfind("*/tr/*")):
        if cell.tag == "dt" or has_class(cell, "field-name"):
            label = cell
        elif label is not None and (cell.tag == "dd" or has_class(cell, "field-body")):
            with visitor.within(depth=visitor.context.depth + 2):  # a field needs more stack than other elements
                _write_field(visitor, label, cell, out)


def _join_head(name: str, details: list[str], parts: list[str]) -> list[str]:
    """Return the blocks of an item: `name (type, default) — description`, followed by the rest of the description."""
    head = ", ".join(filter(None, details))
    if name:
        head = f"{name} ({head})" if head else name
    if not head or not parts or not is_paragraph(parts[0]):
        return [head, *parts] if head else parts
    return [f"{head} — {parts[0]}", *parts[1:]]


# Rows of tables


def _render_row(visitor: Visitor, row: Element, labels: list[str]) -> list[str]:
    """Return the blocks of a row: cells before the description are name and type, cells after it the default."""
    cells = list(row.iterchildren("td"))
    _record_anchors(visitor, row, *cells[0].iter())
    position = _find_description(cells)
    heads = [_format_code(visitor, cell) for cell in cells[:position]]
    details = heads[1:]
    for index, cell in enumerate(cells[position + 1 :], position + 1):
        text = _format_code(visitor, cell)
        if text and cell.find(".//code") is None:
            details.append(visitor.render_line(cell, styles="emphasis"))  # "required"
        elif text:
            details.append(f"{labels[index]}: {text}" if index < len(labels) else text)
    parts: list[str] = []
    for child in cells[position]:
        notes = _find_notes(child)
        details += [_format_note(visitor, note) for note in notes]
        if not notes:
            parts += visitor.render_nested(child)
    if not len(cells[position]):
        parts += visitor.render_nested(cells[position])
    return _join_head(heads[0] if heads else "", details, parts)


def _find_description(cells: list[Element]) -> int:
    """Return the position of the cell with the description: the third, unless one is marked."""
    marked = (index for index, cell in enumerate(cells) if any(has_class(child, _DESCRIPTION) for child in cell))
    return next(marked, min(len(cells) - 1, 2))


def _find_notes(paragraph: Element) -> list[Element]:
    """Return the type and the default in a paragraph below a description, in mkdocstrings' style "spacy"."""
    if paragraph.tag != "p":
        return []
    ends = ("-annotation", "-default")
    return [span for span in paragraph.iter("span") if (span.get("class") or "").endswith(ends)]


def _format_note(visitor: Visitor, note: Element) -> str:
    label, *values = note
    text = ", ".join(_format_code(visitor, value) for value in values)
    if (note.get("class") or "").endswith("-annotation"):
        return text
    return f"{normalized_text(label).rstrip(':').casefold()}: {text}"


# Items of lists


def _render_item(visitor: Visitor, item: Element) -> list[str]:
    """Return the blocks of a list item."""
    visitor.record_anchor(item)
    item = copy.deepcopy(item)
    first = item[0] if len(item) and item[0].tag == "p" and not (item.text or "").strip() else item
    head = _take_head(visitor, first)
    parts = visitor.render_nested(item)
    return parts if head is None else _join_head(*head, parts)


def _take_head(visitor: Visitor, element: Element) -> tuple[str, list[str]] | None:
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
    details = [""]
    if rest.startswith("("):
        found = _find_closing_parenthesis(rest, children[end:])
        if found is None:
            return None
        count, nodes, rest = found
        end = end + count
        details = _format_details(visitor, nodes)
        rest = rest.lstrip()
    dash = re.match(r"[–—]\s*", rest)
    if dash is None and (rest or end < len(children)):
        return None
    _record_anchors(visitor, *(node for child in children[: start + 1] for node in child.iter()))
    name = _format_code(visitor, children[start])
    del element[:end]
    element.text = rest[dash.end() :] if dash else ""
    return name, details


def _find_name(element: Element) -> int | None:
    """Return the position of the name at the beginning of an element; empty anchors may be in front of it."""
    if (element.text or "").strip():
        return None
    for position, child in enumerate(element):
        if child.tag not in ("a", "span") or (element_text(child) + (child.tail or "")).strip():
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
                return count, [*nodes, text[:index]][1:] if nodes else [text[1:index]], text[index + 1 :]
        nodes.append(text)
        if child is None or child.tag in block_tags():
            return None
        nodes.append(child)
        text = child.tail or ""
    return None


def _format_details(visitor: Visitor, nodes: list[str | Element]) -> list[str]:
    """Return type, default and the like, which are separated by words between the elements."""
    details: list[str] = []
    label = ""
    pieces: list[CodePiece] = []

    def end() -> None:
        text, modifiers = _split_modifiers(pieces)
        expression = _format_pieces(visitor, text)
        details.append(f"{label}: {expression}" if label and expression else label or expression)
        details.extend(modifiers)
        pieces.clear()

    for node in nodes:
        if not isinstance(node, str):
            pieces.extend(iter_code_pieces(visitor, node))
        elif any(text.strip() for text, _ in pieces) and (word := _LABEL.fullmatch(" ".join(node.split()))):
            end()
            label = word[1]
        else:
            pieces.append((node, None))
    end()
    return details


def _split_modifiers(pieces: list[CodePiece]) -> tuple[list[CodePiece], list[str]]:
    """Split a type in numpydoc's notation: `int, optional` is `int` and "optional"."""
    text = "".join(text for text, _ in pieces)
    found = _MODIFIER.search(text)
    if found is None:
        return pieces, []
    kept: list[CodePiece] = []
    room = found.start()
    for text, href in pieces:
        kept.append((text[:room], href))
        room = max(room - len(text), 0)
    return kept, [escape_text(" ".join(found[1].split()))]


# Fields


def _write_field(visitor: Visitor, label: Element, body: Element, out: list[str]) -> None:
    visitor.record_anchor(body)
    text = visitor.render_line(label, styles="strong").rstrip(":：").rstrip()
    title = format_bold(f"{text}:") if text else ""
    items = list(_render_body(visitor, body))
    if items:
        out.extend([title] if title else [])
        blocks.add_items(items, out)
        return
    parts = visitor.render_nested(body)
    if title and parts and is_paragraph(parts[0]):
        out.extend([f"{title} {_render_type(visitor, text, body) or parts[0]}", *parts[1:]])
    elif title or parts:
        out.extend([title, *parts] if title else parts)


def _render_body(visitor: Visitor, body: Element) -> Iterator[list[str]]:
    """Yield the blocks of each item, if the body of a field is a list or a single parameter."""
    if len(body) != 1 or (body.text or "").strip():
        return
    content = body[0]
    if content.tag in ("ul", "ol"):
        yield from (_render_item(visitor, item) for item in content.iterchildren("li"))
    elif content.tag == "dl":
        yield from _render_terms(visitor, content)
    elif content.tag == "p":
        content = copy.deepcopy(content)
        if _has_type_only(content):
            return
        head = _take_head(visitor, content)
        if head is not None:
            yield _join_head(*head, [text] if (text := visitor.render_line(content)) else [])


def _render_terms(visitor: Visitor, element: Element) -> Iterator[list[str]]:
    """Yield the blocks of each parameter in numpydoc's definition lists."""
    names: list[str] = []
    details: list[str] = []
    for child in element:
        if child.tag == "dt":
            _record_anchors(visitor, *child.iter())
            term = copy.deepcopy(child)
            for classifier in [node for node in term.iter("span") if has_class(node, "classifier")]:
                details += _format_details(visitor, [classifier])
                classifier.clear()
            names.append(_format_code(visitor, term))
        else:
            yield _join_head(", ".join(names), details, visitor.render_nested(child))
            names = []
            details = []
    if names:
        yield _join_head(", ".join(names), details, [])


def _has_type_only(paragraph: Element) -> bool:
    """Return whether a paragraph is an expression: nothing but emphasis, code and links with punctuation between."""
    texts = [paragraph.text, *(child.tail for child in paragraph)]
    return all(child.tag in ("a", "em", "code", "span") for child in paragraph) and all(
        re.fullmatch(r"\W*", text or "") for text in texts
    )


def _render_type(visitor: Visitor, label: str, body: Element) -> str:
    """Return the type in a field such as "Return type" as code; `""` if the field is text."""
    if len(body) != 1 or body[0].tag != "p":
        return ""
    is_type = "type" in label.casefold().split() and not _PROSE.search(element_text(body[0]))
    if is_type or (len(body[0]) and _has_type_only(body[0])):
        return _format_code(visitor, body[0])
    return ""


# Expressions


def _format_code(visitor: Visitor, element: Element) -> str:
    """Return an element as code."""
    return _format_pieces(visitor, iter_code_pieces(visitor, element))


def _format_pieces(visitor: Visitor, pieces: Iterable[CodePiece]) -> str:
    """Format an expression as code. A link within it is a link around its part of the code."""
    written: list[str] = []
    for href, group in groupby(pieces, key=lambda piece: piece[1]):
        text = "".join(text for text, _ in group).translate(_TYPOGRAPHY)
        if not (words := " ".join(text.split())):
            continue
        code = format_code_span(words)
        if href and not is_script_url(href) and not visitor.context.in_link:
            code = f"[{code}]({visitor.destination(href)})"
        written += [" " if text[0].isspace() else "", code, " " if text[-1].isspace() else ""]
    return "".join(written).strip()


def _record_anchors(visitor: Visitor, *elements: Element) -> None:
    """Record the ids in the name of a parameter, which the visitor does not write."""
    for element in elements:
        if element.get("href") is None:
            visitor.record_anchor(element)
