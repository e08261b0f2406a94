"""Blocks: headings, lists, definitions, quotes, captions and admonitions."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import repeat
from string import ascii_lowercase

from roman_numerals import MAX, RomanNumeral

from mkdocs_roaming.html.code import LANGUAGES
from mkdocs_roaming.html.escape import (
    escape_text,
    format_heading,
    indent_lines,
    normalize_whitespace,
    quote_lines,
)
from mkdocs_roaming.html.themes import tag_roles
from mkdocs_roaming.html.visitor import (
    HARD_BREAK,
    Blocks,
    Element,
    HeadingContext,
    Pieces,
    Visitor,
    element_text,
    has_class,
    is_hidden,
    is_paragraph,
    join_pieces,
    normalized_text,
)
from mkdocs_roaming.manifest.models import Heading

_NUMERALS = re.compile(r"(?P<case>lower|upper)-?(?P<system>alpha|latin|roman|greek)")
"""Numerals of a list as CSS names them, or as the class that docutils and Asciidoctor give it."""
_INTEGER = re.compile(r"\s*([+-]?\d{1,8})(?!\d)")
"""What browsers read of the number of an item; not more than eight digits."""
_NUMERAL_TYPES = {"a": "lower-alpha", "A": "upper-alpha", "i": "lower-roman", "I": "upper-roman"}
_GREEK = "αβγδεζηθικλμνξοπρστυφχψω"
_CLOSE_LISTS = ("- ", "* ", "1. ", "1) ")
"""Beginnings of lists that Markdown reads right below a paragraph."""


def write_heading(visitor: Visitor, element: Element, out: Blocks) -> None:
    """Write a heading."""
    anchor = find_anchor(element)
    text, plain = render_heading(visitor, element, anchor)
    add_heading(visitor, heading_level(element, 1), text, plain, anchor, out)


def heading_level(element: Element, default: int) -> int:
    """Return the level of a heading, the default if its tag does not say it."""
    return int(element.tag[1]) if tag_roles().get(element.tag) == "heading" else default


def render_heading(visitor: Visitor, element: Element, anchor: str | None) -> tuple[str, str]:
    """Return the text of a heading as Markdown and as plain text."""
    heading = HeadingContext(anchor)
    with visitor.within(heading=heading):
        text = visitor.render_line(element)
    return text, normalize_whitespace(join_pieces(heading.plain)).strip()


def add_heading(
    visitor: Visitor, level: int, text: str, plain: str, anchor: str | None, out: Blocks, *, is_title: bool = True
) -> None:
    """Add a heading to the blocks, and to the headings of the page unless it is nested.

    Args:
        visitor: The visitor.
        level: Level of the heading, 1 to 6.
        text: Its Markdown; no heading is added if it is empty.
        plain: Its plain text.
        anchor: Its id.
        out: The blocks.
        is_title: Whether the first heading of level 1 is the page's title wherever it is. The heading of an API object
            is the title only at the beginning of the page.
    """
    if not text:
        return
    context = visitor.context
    output = visitor.output
    if context.nesting:
        if anchor:
            output.anchors.setdefault(anchor, len(output.blocks))
        out.append(format_heading(max(level, 2), visitor.apply_block_link(text)))
        return
    context.level = level
    if level == 1 and output.title is None and (is_title or not out):
        output.title = len(out)
    output.headings.append((len(out), Heading(level, plain, anchor)))
    out.append(format_heading(level, visitor.apply_block_link(text)))


def find_anchor(element: Element) -> str | None:
    """Return the id of a heading: its own, that of the section that it opens, or that of an empty anchor in it."""
    if own := element.get("id"):
        return own
    parent = element.getparent()
    if parent is not None and parent.get("id") and (parent.tag == "section" or has_class(parent, "section")):
        siblings = element.itersiblings(preceding=True)
        if all(sibling.tag in ("span", "a") and not element_text(sibling).strip() for sibling in siblings):
            return parent.get("id")
    for child in element.iterdescendants("a", "span"):
        if name := child.get("id") or child.get("name"):
            return name.removeprefix("user-content-")
    return None


def write_quote(visitor: Visitor, element: Element, out: Blocks) -> None:
    """Write a block quote."""
    if parts := visitor.render_nested(element):
        out.append(quote_lines("\n\n".join(parts)))


def write_rule(visitor: Visitor, element: Element, out: Blocks) -> None:
    """Write a thematic break, except the one above footnotes."""
    following = element.getnext()
    if following is None or visitor.role(following) != "footnotes":
        out.append("___" if visitor.context.nesting else "---")  # `- ---` would be a rule, not an item


def write_list(visitor: Visitor, element: Element, out: Blocks) -> None:
    """Write a list. Its marker differs from that of a list right before it."""
    if element.get("role") == "tablist":
        visitor.block_writers["tablist"](visitor, element, out)
        return
    if is_hidden(element):
        return
    items = _render_items(visitor, element)
    if not items:
        return
    has_paragraphs = any(child.tag == "p" for item in element.iterchildren("li") for child in item)
    loose = has_paragraphs and not has_class(element, "simple")
    if element.tag != "ol":
        add_items((parts for _, parts in items), out, loose=loose)
        return
    is_after_list = bool(out) and out[-1].partition(". ")[0].isdecimal()
    sign = ")" if is_after_list else "."
    style = f"{element.get('style')} {element.get('class')} {_NUMERAL_TYPES.get(element.get('type', ''))}"
    numerals = _NUMERALS.search(style)
    is_reversed = element.get("reversed") is not None
    number = _parse_number(element.get("start"), len(items) if is_reversed else 1)
    markers = []
    for value, parts in items:
        number = _parse_number(value, number)
        label = str(number)
        if numerals and 0 < number <= MAX:
            label = _format_number(number, numerals["system"], numerals["case"])
        if label.isdecimal():
            markers.append(f"{label}{sign} ")
        else:  # Markdown has no letters: they are the first word of an item
            markers.append(f"- {label}. ")
            if not is_paragraph(parts[0]):
                parts.insert(0, "")
        number += -1 if is_reversed else 1
    add_items((parts for _, parts in items), out, loose=loose, markers=markers)


def _render_items(visitor: Visitor, element: Element) -> list[tuple[str | None, Blocks]]:
    """Return the items of a list: their explicit numbers, if any, and their blocks."""
    items: list[tuple[str | None, Blocks]] = []
    roles = visitor.themes.roles
    context = visitor.context
    context.nesting += 1
    for child in element:
        tag = child.tag
        if roles[tag, child.get("class")] == "skip" or (tag == "li" and is_hidden(child)):
            continue
        parts: Blocks = []
        if tag == "li":
            visitor.record_anchor(child)
            visitor.write_blocks(child, parts)
        else:
            visitor.write_block(child, parts)
        if child.tail and not child.tail.isspace():
            visitor.write_paragraph(child.tail, parts)
        if not parts and tag == "li" and element.tag == "ol":  # empty items are numbered, too
            parts = [""]
        if tag in ("ul", "ol", "dd") and items:
            items[-1][1].extend(parts)
        elif parts:
            items.append((child.get("value"), parts))
    context.nesting -= 1
    return items


def _parse_number(value: str | None, default: int) -> int:
    integer = _INTEGER.match(value) if value else None
    return int(integer[1]) if integer else default


def _format_number(number: int, system: str, case: str) -> str:
    """Format a positive number as a Roman numeral or in letters."""
    if system == "roman":
        label = str(RomanNumeral(number))
    else:
        alphabet = _GREEK if system == "greek" else ascii_lowercase
        label = ""
        while number:
            number, index = divmod(number - 1, len(alphabet))
            label = alphabet[index] + label
    return label.upper() if case == "upper" else label.lower()


def add_items(
    items: Iterable[Blocks], out: Blocks, *, loose: bool = False, markers: Iterable[str] | None = None
) -> None:
    """Add a list of items, each of which is a list of blocks; its marker differs from that of a list right before.

    In a list that is not loose, a list follows its text without a blank line.
    """
    markers = markers or repeat("* " if out and out[-1].startswith("- ") else "- ")
    blank_line = "\n\n"
    separator = blank_line if loose else "\n"
    lines = []
    for marker, parts in zip(markers, items, strict=False):
        if not parts:
            continue
        text = parts[0]
        for part in parts[1:]:
            is_close = part.startswith(_CLOSE_LISTS) and part.partition(" ")[2][:1].strip()
            text += (separator if is_close else blank_line) + part
        lines.append(marker + indent_lines(text, marker.index(" ") + 1))
    if lines:
        out.append(separator.join(lines))


def write_definitions(visitor: Visitor, element: Element, out: Blocks) -> None:
    """Write a definition list as a list: the term in bold, its definition below."""
    entries: list[Element] = []
    for child in element:
        is_group = child.tag == "div" and (child.find("dt") is not None or child.find("dd") is not None)
        entries.extend(child if is_group else [child])
    items: list[Blocks] = []
    after_term = False
    for entry in entries:
        if visitor.role(entry) == "skip":
            continue
        visitor.record_anchor(entry)
        if entry.tag == "dt":
            with visitor.within(nesting=visitor.context.nesting + 1):
                text = visitor.render_line(entry, style="strong")
            if not text:
                continue
            if after_term:
                items[-1][0] += f"{HARD_BREAK}**{text}**"
            else:
                items.append([f"**{text}**"])
            after_term = True
        else:
            parts = visitor.render_nested(entry)
            if not items:
                items.append([])
            items[-1].extend(parts)
            after_term = False
    add_items(items, out, loose=True, markers=repeat("- "))


def write_caption(visitor: Visitor, element: Element, out: Blocks) -> None:
    """Write a caption as emphasis on a line of its own. MyST-NB puts whole tables into captions."""
    if element.find(".//table") is not None:
        visitor.write_blocks(element, out)
    elif text := visitor.render_line(element, style="emphasis"):
        out.append(f"*{text}*")


def write_rubric(visitor: Visitor, element: Element, out: Blocks) -> None:
    """Write a heading that is not in the table of contents as bold text."""
    if text := visitor.render_line(element, style="strong"):
        out.append(f"**{text}**")


def write_line_block(visitor: Visitor, element: Element, out: Blocks) -> None:
    """Write the lines of a line block with hard breaks between them."""
    pieces: Pieces = []
    visitor.write_inline(element, pieces)
    visitor.end_paragraph(pieces, out)


def write_pager(visitor: Visitor, element: Element, out: Blocks) -> None:
    """Write the page numbers of a pager. Its arrows lead to the same pages and are dropped."""
    numbers: list[str] = []
    for child in element:
        href = child.get("href")
        number = escape_text(normalized_text(child), brackets=True)
        if number and href:
            number = f"[{number}]({visitor.destination(href)})"
        if number:
            numbers.append(number)
    if len(numbers) > 1:
        out.append(" ".join(numbers))


# Admonitions


def write_admonition(visitor: Visitor, element: Element, out: Blocks) -> None:
    """Write an admonition or details as an alert: its kind, its title unless it only repeats the kind, its content."""
    if element.tag != "details" and is_hidden(element):
        return
    visitor.record_anchor(element)
    kind = visitor.themes.admonition_kind(element.get("class") or "")
    title = next((child for child in element if visitor.role(child) == "admonition-title"), None)
    text = visitor.render_line(title, style="strong") if title is not None else ""
    language = visitor.context.default_language
    if title is not None and has_class(element, "mkdocstrings-source"):  # the title is the name of a file
        suffix = element_text(title).strip().rpartition(".")[2]
        if suffix in LANGUAGES:
            language = "python" if suffix == "py" else suffix
    with visitor.within(written_title=title, default_language=language):
        parts = visitor.render_nested(element)
    if text and text.casefold() != kind.casefold():
        parts.insert(0, f"**{text}**")
    if parts:
        content = "\n\n".join(parts)
        out.append(quote_lines(f"[!{kind}]\n{content}"))


def write_admonition_title(visitor: Visitor, element: Element, out: Blocks) -> None:
    """Write a title that is not the title of the enclosing admonition."""
    if element is not visitor.context.written_title:
        visitor.write_blocks(element, out)
