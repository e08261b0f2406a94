"""Tables: GFM tables if every cell is one line of text, otherwise clean HTML."""

from __future__ import annotations

import re
from html import escape

from mkdocs_roaming.html.code import extract_code, find_block_language, find_own_language
from mkdocs_roaming.html.embedded import describe_drawing, find_image_source, strip_color_variant
from mkdocs_roaming.html.escape import normalize_whitespace
from mkdocs_roaming.html.formulas import format_formula
from mkdocs_roaming.html.themes import block_tags, split_names
from mkdocs_roaming.html.visitor import Blocks, Element, Pieces, Visitor, element_text, has_class, is_hidden, read_label

Row = list[Element]

_ICON = re.compile(
    r"\b(?:fa|bi|mdi|ti|icon|octicon)-(?!(?:solid|regular|brands|fw|lg|\dx|x[sl]|[sm]m)\b)(?P<name>[a-z][\w-]*)"
    r"|(?P<check>9 16\.17|10 14\.17|1\.06l-\d)|(?P<close>10\.59 12|1\.06 0L\d+ \d+\.94)"
)
"""The name of an icon in its class, or a part of its shape: Material Design Icons and Octicons have no names in SVG."""
_BLANK_LINE = re.compile(r"\n(?=[^\S\n]*(?:\n|$))")
"""The end of a line before a blank one."""
_MAX_DEPTH = 60
"""Elements of a table in HTML that are nested deeper are written as plain text."""
_INLINE_TAGS = frozenset(split_names("em strong code kbd sub sup mark ins del u s b i br abbr"))
_BLOCK_TAGS = frozenset(split_names("p ul ol li dl dt dd h1 h2 h3 h4 h5 h6 blockquote"))
_FRAME_TAGS = frozenset(split_names("table thead tbody tfoot tr"))
_CELL_TAGS = frozenset(split_names("td th caption"))
_FORMULA_ROLES = frozenset({"math", "display-math", "script"})
_WRAPPERS = frozenset(split_names("p div h1 h2 h3 h4 h5 h6"))
_ATTRIBUTES = {
    "abbr": ("title",),
    "li": ("value",),
    "ol": ("start", "type", "reversed"),
    "td": ("colspan", "rowspan"),
    "th": ("colspan", "rowspan"),
}
"""Attributes that are kept in HTML, by tag."""


def write_table(visitor: Visitor, element: Element, out: Blocks) -> None:
    """Write a table."""
    if is_hidden(element):
        return
    visitor.record_anchor(element)
    parts: dict[str, list[Row]] = {"thead": [], "tbody": [], "tfoot": []}
    cells: Row = []
    for child in element:
        for row in [child] if child.tag == "tr" else child.iterchildren("tr"):
            cells_of_row = [cell for cell in row.iterchildren("td", "th") if visitor.role(cell) != "skip"]
            if cells_of_row:
                parts.get(child.tag, parts["tbody"]).append(cells_of_row)
                cells += cells_of_row
    if not cells:
        return
    head = parts["thead"]
    body = parts["tbody"] + parts["tfoot"]
    if body and not head and all(cell.tag == "th" for cell in body[0]):
        head = [body.pop(0)]
    is_simple = all(map(_is_one_line, cells))
    is_layout = not head and (len(body) == 1 or all(len(row) == 1 for row in body))  # it only arranges its cells
    if len(cells) == 1 or (is_layout and not is_simple):
        for cell in cells:
            visitor.write_blocks(cell, out)
        return
    if not is_simple:
        pieces: Pieces = []
        _write_html(visitor, element, pieces, 0)
        lines = "".join(pieces).split("\n")
        out.append("\n".join(line for line in lines if line.strip()).strip())
        return
    caption = element.find("caption")
    if caption is not None and (text := visitor.render_line(caption, style="emphasis")):
        out.append(f"*{text}*")
    out.append(_format_pipes(visitor, head[0] if head else [], head[1:] + body))


def write_grid(visitor: Visitor, element: Element, out: Blocks) -> None:
    """Write a table whose cells are not in rows; those of the head have a class that says so."""
    cells = [cell for cell in element if visitor.role(cell) != "skip"]
    width = sum(has_class(cell, "table-header") for cell in cells) or 1
    rows = [cells[start : start + width] for start in range(0, len(cells), width)]
    if rows:
        out.append(_format_pipes(visitor, rows[0], rows[1:]))


def _is_one_line(cell: Element) -> bool:
    """Return whether a cell is one line of text."""
    if cell.get("colspan", "1") != "1" or cell.get("rowspan", "1") != "1":
        return False
    if not len(cell):
        return True
    blocks = sum(child.tag in block_tags() for child in cell.iterdescendants())
    while blocks:  # a single line of text may be wrapped in blocks
        if len(cell) != 1:
            return False
        texts = (cell.text or "") + (cell[0].tail or "")
        if texts.strip():
            return False
        cell = cell[0]
        if cell.tag in _WRAPPERS:
            blocks -= 1
        elif cell.tag in block_tags():
            return False
    return True


# GFM


def _format_pipes(visitor: Visitor, head: Row, body: list[Row]) -> str:
    lines: list[str] = []
    for row in [head, *body]:
        line = "|"
        for cell in row:
            text = visitor.render_line(cell, line_break="<br>") or _find_icon_name(cell)
            escaped = text.replace("|", "\\|")
            line += f" {escaped} |" if escaped else "  |"
        lines.append(line)
    width = max(len(row) for row in [head, *body])
    lines[0] += "  |" * (width - len(head))  # shorter rows are valid, a shorter head is not
    lines.insert(1, "|" + " --- |" * width)
    return "\n".join(lines)


def _find_icon_name(element: Element) -> str:
    """Return the name of an icon that is all that an element shows, `""` if nothing names it."""
    for icon in element.iter("svg", "i", "span"):
        if label := read_label(icon, "aria-label", "title"):
            return label
        shape = "".join(path.get("d", "") for path in icon.iterchildren("path"))
        if match := _ICON.search(f"{icon.get('class', '')} {shape}"):
            return match["name"] or match.lastgroup or ""
    return ""


# HTML


def _write_html(visitor: Visitor, element: Element, pieces: Pieces, depth: int) -> None:
    leaf = _escape_html(element_text(element)) if depth > _MAX_DEPTH else _format_leaf(visitor, element)
    if leaf is not None:
        pieces.append(leaf)
        return
    inner: Pieces = []
    if element.text:
        inner.append(_escape_html(element.text))
    for child in element:
        _write_html(visitor, child, inner, depth + 1)
        if child.tail:
            inner.append(_escape_html(child.tail))
    if element.tag in _FRAME_TAGS:
        inner = [piece for piece in inner if piece != " "]
    elif element.tag in ("td", "th"):
        content = "".join(inner).strip()
        inner = [content or escape(_find_icon_name(element))]
    opening, closing = _format_tags(visitor, element)
    pieces += [opening, *inner, closing]


def _format_leaf(visitor: Visitor, element: Element) -> str | None:
    """Return the HTML of an element that is written as a whole: skipped, a formula, an emoji, code. None for others."""
    role = visitor.role(element)
    if role == "skip":
        return ""
    if role in _FORMULA_ROLES:
        return _escape_html(format_formula(element))
    if role == "drawing":
        return _escape_html(describe_drawing(element))
    if role == "emoji" and element.tag == "img":
        return _escape_html(read_label(element, "alt", "title"))
    if role != "code":
        return None
    code = escape(extract_code(element, visitor.themes.roles), quote=False)
    language = find_block_language(element)
    for parent in element.iterancestors():
        if language is not None or parent.tag in _CELL_TAGS:
            break
        language = find_own_language(parent)
    attribute = f' class="language-{escape(language)}"' if language else ""
    code = _BLANK_LINE.sub("&#10;", code)  # a blank line would end the HTML block
    return f"<pre><code{attribute}>{code}</code></pre>"


def _format_tags(visitor: Visitor, element: Element) -> tuple[str, str]:
    tag = element.tag
    href = element.get("href", "") if tag == "a" else ""
    if tag in ("br", "hr"):
        return f"<{tag}>", ""
    if href and not href.lower().startswith("javascript:"):
        return f'<a href="{escape(visitor.link(href.strip()))}">', "</a>"
    if tag == "img":
        src = find_image_source(element)
        alt = escape(element.get("alt", ""))
        if not src:
            return alt, ""
        address = escape(visitor.image(strip_color_variant(src)))
        return f'<img src="{address}" alt="{alt}">', ""
    attributes = ""
    for name in _ATTRIBUTES.get(tag, ()):
        value = element.get(name, "1")
        if value != "1":
            attributes += f' {name}="{escape(value)}"'
    opening = f"<{tag}{attributes}>"
    closing = f"</{tag}>"
    if tag in _FRAME_TAGS:
        return f"\n{opening}", f"{closing}\n"
    if tag in _CELL_TAGS:
        return f"\n{opening}", closing
    if tag in _BLOCK_TAGS or tag in _INLINE_TAGS:
        return opening, closing
    if tag in block_tags():
        return " ", " "
    return "", ""


def _escape_html(text: str) -> str:
    return escape(normalize_whitespace(text), quote=False)
