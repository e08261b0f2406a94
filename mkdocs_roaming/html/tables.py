"""Tables: GFM where it can hold them, clean HTML where it can't."""

from __future__ import annotations

import re
from html import escape

from mkdocs_roaming.html.code import extract_code
from mkdocs_roaming.html.math import extract_tex
from mkdocs_roaming.html.media import find_emoji_text, find_image_source, strip_color_variant
from mkdocs_roaming.html.themes import BLOCK_TAGS, split_names
from mkdocs_roaming.html.visitor import ROLES, Element, Visitor, element_text, is_hidden


def write_table(walk: Visitor, element: Element, out: list[str]) -> None:
    """Write a table."""
    if is_hidden(element):
        return
    head, body = _rows(element)
    rows = head + body
    if not rows:
        return
    if len(rows) == 1 and len(rows[0]) == 1:  # a box, not a table
        walk.blocks(rows[0][0], out)
        return
    if len(head) > 1 or not all(_fits(cell) for row in rows for cell in row):
        out.append(_as_html(walk, element))
    else:
        caption = element.find("caption")
        if caption is not None and (text := walk.line(caption, styles="emphasis")):
            out.append(f"*{text}*")
        out.append(_as_pipes(walk, head[0] if head else None, body))


_ALIGN = re.compile(r"text-align:\s*(left|center|right)")
_DELIMITERS = {"left": ":--", "center": ":-:", "right": "--:"}
_BETWEEN = re.compile(r"\n\s*\n")
_BLANK = re.compile(r"\n(?=[^\S\n]*(?:\n|$))")
_PLAIN_TAGS = frozenset(split_names("em strong code kbd sub sup mark ins del u s b i br abbr"))
_BLOCK_TAGS = frozenset(split_names("p ul ol li dl dt dd h1 h2 h3 h4 h5 h6 blockquote"))
_FRAME_TAGS = frozenset(split_names("table thead tbody tfoot tr"))
_WRAPPERS = frozenset(split_names("p div h1 h2 h3 h4 h5 h6"))
_TABLE_TAGS = frozenset(split_names("table thead tbody tfoot tr th td caption"))
_KEPT = {"td": ("colspan", "rowspan"), "th": ("colspan", "rowspan"), "ol": ("start",)}


def _rows(element: Element) -> tuple[list[list[Element]], list[list[Element]]]:
    """Give the rows of the head and those of the body, the foot's last."""
    head: list[list[Element]] = []
    body: list[list[Element]] = []
    foot: list[list[Element]] = []
    for child in element:
        if child.tag == "tr":
            body.append(_cells(child))
        elif child.tag in ("thead", "tbody", "tfoot"):
            part = {"thead": head, "tfoot": foot}.get(child.tag, body)
            part.extend(_cells(row) for row in child.iterchildren("tr"))
    head, body = [row for row in head if row], [row for row in body + foot if row]
    if not head and body and all(cell.tag == "th" for cell in body[0]):
        head = [body.pop(0)]
    return head, body


def _cells(row: Element) -> list[Element]:
    return [cell for cell in row.iterchildren("td", "th") if ROLES[cell.tag, cell.get("class")] != "skip"]


def _fits(cell: Element) -> bool:
    """Tell whether a cell is one line of text."""
    if cell.get("colspan", "1") != "1" or cell.get("rowspan", "1") != "1":
        return False
    if not len(cell):
        return True
    blocks = sum(child.tag in BLOCK_TAGS for child in cell.iterdescendants())
    return not blocks or _unwrapped(cell, blocks) is not None


def _unwrapped(cell: Element, blocks: int) -> Element | None:
    """Give the one element that all of a cell's text is in, if as many blocks are only wrapped around it."""
    inner = cell
    while blocks:
        if (inner.text and inner.text.strip()) or len(inner) != 1 or (inner[0].tail or "").strip():
            return None
        inner = inner[0]
        if inner.tag not in _WRAPPERS:
            if inner.tag in BLOCK_TAGS:
                return None
            continue
        blocks -= 1
    return inner


def _as_pipes(walk: Visitor, head: list[Element] | None, body: list[list[Element]]) -> str:
    width = max(len(row) for row in ([head] if head else []) + body)
    first = _line(walk, head or []) + "  |" * (width - len(head or []))  # rows that are too short may stay so
    lines = [first, "| " + " | ".join(_delimiters(head, body, width)) + " |"]
    lines.extend(_line(walk, row) for row in body)
    return "\n".join(lines)


def _line(walk: Visitor, row: list[Element]) -> str:
    cells = [walk.line(cell, line_break="<br>").replace("|", "\\|") for cell in row]
    return "|" + "".join(f" {cell} |" if cell else "  |" for cell in cells)


def _delimiters(head: list[Element] | None, body: list[list[Element]], width: int) -> list[str]:
    found = []
    for at in range(width):
        cells = [row[at] for row in ([head] if head else []) + body[:1] if at < len(row)]
        align = next((side for cell in cells if (side := _align(cell))), "")
        found.append(_DELIMITERS.get(align, "---"))
    return found


def _align(cell: Element) -> str:
    if style := cell.get("style"):
        found = _ALIGN.search(style)
        return found[1] if found else ""
    return (cell.get("align") or "").lower()


def _as_html(walk: Visitor, element: Element) -> str:
    pieces: list[str] = []
    _html(walk, element, pieces, 0)
    return _BETWEEN.sub("\n", "".join(pieces)).strip()


def _html(walk: Visitor, element: Element, pieces: list[str], depth: int) -> None:
    tag = element.tag
    role = ROLES[tag, element.get("class")]
    if role == "skip" or depth > 60:
        if depth > 60:
            pieces.append(_text(element_text(element)))
        return
    if role in ("math", "display math", "script"):
        tex, display = extract_tex(element)
        pieces.append(_text(f"$${tex}$$" if display else f"${tex}$") if tex else "")
        return
    if role == "emoji" and tag == "img":
        pieces.append(_text(find_emoji_text(element)))
        return
    if tag == "pre":
        code = escape(extract_code(element), quote=False)
        pieces.append(f"<pre><code>{_BLANK.sub('&#10;', code)}</code></pre>")  # a blank line would end the HTML
        return
    inner = [_text(element.text)] if element.text else []
    for child in element:
        _html(walk, child, inner, depth + 1)
        if child.tail:
            inner.append(_text(child.tail))
    opening, closing = _tags(walk, element)
    if tag in _FRAME_TAGS:
        inner = [piece for piece in inner if piece != " "]
    elif tag in ("td", "th"):
        inner = ["".join(inner).strip()]
    pieces += [opening, *inner, closing]


def _tags(walk: Visitor, element: Element) -> tuple[str, str]:
    tag = element.tag
    if tag == "br":
        return "<br>", ""
    if tag == "hr":
        return "<hr>", ""
    if tag == "a" and (href := element.get("href")) and not href.lower().startswith("javascript:"):
        return f'<a href="{escape(walk.link(href.strip()))}">', "</a>"
    if tag == "img":
        src = find_image_source(element)
        alt = escape(element.get("alt") or "")
        return (f'<img src="{escape(walk.image(strip_color_variant(src)))}" alt="{alt}">' if src else alt), ""
    if tag in _TABLE_TAGS:
        return f"\n<{tag}{_attributes(element)}>", f"</{tag}>" + ("\n" if tag not in ("td", "th", "caption") else "")
    if tag in _BLOCK_TAGS or tag in _PLAIN_TAGS:
        return f"<{tag}{_attributes(element)}>", f"</{tag}>"
    if tag in BLOCK_TAGS:
        return " ", " "
    return "", ""


def _attributes(element: Element) -> str:
    names = _KEPT.get(element.tag, ())
    kept = "".join(f' {name}="{escape(value)}"' for name in names if (value := element.get(name)) and value != "1")
    side = _align(element) if element.tag in ("td", "th") else ""
    return kept + (f' align="{side}"' if side in _DELIMITERS else "")


def _text(text: str) -> str:
    words = " ".join(text.split())
    if not words:
        return " "
    return (" " if text[0].isspace() else "") + escape(words, quote=False) + (" " if text[-1].isspace() else "")
