"""What stands on lines of its own: headings, lists, definitions, quotes, figures."""

from __future__ import annotations

import re

from mkdocs_roaming.html.escape import (
    escape_line_starts,
    escape_text,
    format_destination,
    format_heading,
    normalize_whitespace,
)
from mkdocs_roaming.html.math import extract_tex
from mkdocs_roaming.html.visitor import HARD_BREAK, ROLES, Element, Visitor, element_text, format_bold, is_hidden
from mkdocs_roaming.manifest.models import Heading


def write_group(walk: Visitor, element: Element, out: list[str]) -> None:
    """Write what an element holds, and nothing of itself."""
    if element.attrib and is_hidden(element):
        return
    walk.blocks(element, out)


def write_heading(walk: Visitor, element: Element, out: list[str]) -> None:
    """Write a heading, and note it where it is one of the page's."""
    anchor = find_anchor(element)
    text, plain = render_heading(walk, element, anchor)
    add_heading(walk, int(element.tag[1]), text, plain, anchor, out)


def render_heading(walk: Visitor, element: Element, anchor: str | None) -> tuple[str, str]:
    """Give a heading's text, as Markdown and plain."""
    plain: list[str] = []
    before = walk.in_heading, walk.heading_id, walk.plain
    walk.in_heading, walk.heading_id, walk.plain = True, anchor, plain
    text = walk.line(element)
    walk.in_heading, walk.heading_id, walk.plain = before
    return text, normalize_whitespace("".join(plain)).strip()


def add_heading(
    walk: Visitor, level: int, text: str, plain: str, anchor: str | None, out: list[str], *, titles: bool = True
) -> None:
    """Add a heading to the blocks. Within a list, a quote or a callout it is not the page's, and never a title.

    One that `titles` nothing, such as an object's, is the page's title only where the page begins with it.
    """
    if not text:
        return
    if walk.nested:
        out.append(format_heading(max(level, 2), walk.carded(text)))
        return
    walk.level = level
    if level == 1 and walk.title is None and (titles or not out):
        walk.title = len(out)
    walk.marks.append((len(out), Heading(level, plain, anchor)))
    out.append(format_heading(level, walk.carded(text)))


def find_anchor(element: Element) -> str | None:
    """Give a heading's id: its own, that of the section it opens, or that of an empty anchor in it."""
    if own := element.get("id"):
        return own
    parent = element.getparent()
    if parent is not None and parent.get("id") and _opens(parent, element):
        return parent.get("id")
    for child in element.iterdescendants("a", "span"):
        if name := child.get("id") or child.get("name"):
            return name.removeprefix("user-content-")
    return None


def write_quote(walk: Visitor, element: Element, out: list[str]) -> None:
    """Write a quotation."""
    if parts := walk.contents(element):
        out.append(quote_lines("\n\n".join(parts)))


def quote_lines(text: str) -> str:
    """Give blocks as those of a quote."""
    return "\n".join(f"> {line}" if line else ">" for line in text.split("\n"))


def indent_lines(text: str, width: int) -> str:
    """Give blocks as those of a list item: all but the first line moved in."""
    return _NOT_EMPTY.sub("\n" + " " * width, text) if "\n" in text else text


def write_rule(walk: Visitor, element: Element, out: list[str]) -> None:
    """Write a thematic break, in a form that no list item's marker can be part of; not the one above footnotes."""
    following = element.getnext()
    if following is None or ROLES[following.tag, following.get("class")] != "notes":
        out.append("___" if walk.nested else "---")


def write_list(walk: Visitor, element: Element, out: list[str]) -> None:
    """Write a list, with its numbers; its marker differs from that of a list right before it."""
    if is_hidden(element):
        return
    items = _items(walk, element)
    if not items:
        return
    loose = "simple" not in (element.get("class") or "").split() and _holds_paragraphs(element)
    before = out[-1] if out else ""
    if element.tag == "ol":
        sign = ")" if re.match(r"\d+\. ", before) else "."
        markers = [f"{number}{sign} " for number in _numbers(element, items)]
    else:
        markers = ["* " if before.startswith("- ") else "- "] * len(items)
    lines = [
        marker + indent_lines(_joined(parts, loose), len(marker))
        for marker, (_, parts) in zip(markers, items, strict=True)
    ]
    out.append(("\n\n" if loose else "\n").join(lines))


def write_definitions(walk: Visitor, element: Element, out: list[str]) -> None:
    """Write definitions as a list: the term in bold, what it means below."""
    items: list[list[str]] = []
    term = False
    for child in _entries(element):
        if ROLES[child.tag, child.get("class")] == "skip":
            continue
        if child.tag == "dt":
            walk.nested += 1
            text = format_bold(walk.line(child, styles="strong"))
            walk.nested -= 1
            if not text:
                continue
            if term:
                items[-1][0] += HARD_BREAK + text
            else:
                items.append([text])
            term = True
        else:
            parts = walk.contents(child)
            if not items:
                items.append([])
            items[-1].extend(parts)
            term = False
    written = ["- " + indent_lines("\n\n".join(parts), 2) for parts in items if parts]
    if written:
        out.append("\n\n".join(written))


def write_caption(walk: Visitor, element: Element, out: list[str]) -> None:
    """Write a caption as a line of its own, in emphasis."""
    if text := walk.line(element, styles="emphasis"):
        out.append(f"*{text}*")


def write_rubric(walk: Visitor, element: Element, out: list[str]) -> None:
    """Write a heading that is left out of the table of contents as bold text."""
    if text := walk.line(element, styles="strong"):
        out.append(format_bold(text))


def write_line_block(walk: Visitor, element: Element, out: list[str]) -> None:
    """Write lines that stay lines."""
    lines = [walk.line(line) for line in element.iter("div") if line.get("class") == "line"]
    if text := HARD_BREAK.join(line for line in lines if line):
        out.append(escape_line_starts(text))


def write_file_tree(walk: Visitor, element: Element, out: list[str]) -> None:
    """Write a tree of files, with folders that can be folded, as a list of names."""
    lines = []
    for item in element.iter("li"):
        depth = sum(1 for around in item.iterancestors("li"))
        entry = next((span for span in item.iter("span") if "tree-entry" in (span.get("class") or "").split()), None)
        if entry is not None and (name := " ".join(element_text(entry).split())):
            lines.append("  " * depth + "- " + escape_text(name))
    if lines:
        out.append("\n".join(lines))
    else:
        walk.blocks(element, out)


def write_display_math(walk: Visitor, element: Element, out: list[str]) -> None:
    """Write a formula on lines of its own, as TeX."""
    tex, _ = extract_tex(element)
    if not tex:
        write_group(walk, element, out)
        return
    lines = [line.rstrip() for line in tex.splitlines() if line.strip()]
    # Lines that Markdown would take for its own are joined; TeX doesn't mind.
    joined = " ".join(lines) if any(_MARKDOWN_LINE.match(line) for line in lines) else "\n".join(lines)
    out.append(f"$$\n{joined}\n$$")


def write_pager(walk: Visitor, element: Element, out: list[str]) -> None:
    """Write the numbers that lead to the further pages of a list; its arrows lead to the same."""
    numbers = []
    for child in element:
        href, number = child.get("href"), escape_text(" ".join(element_text(child).split()), brackets=True)
        if number:
            numbers.append(f"[{number}]({format_destination(walk.link(href))})" if href else number)
    if len(numbers) > 1:
        out.append(" ".join(numbers))


def write_labels(walk: Visitor, element: Element, out: list[str]) -> None:
    """Write the labels of an API object as a line of inline code."""
    if names := [" ".join(element_text(child).split()) for child in element]:
        out.append(" ".join(f"`{name}`" for name in names if name))


_NOT_EMPTY = re.compile(r"\n(?=[^\n])")
_TIGHT_LIST = re.compile(r"(?:[-*]|1[.)]) \S")
_MARKDOWN_LINE = re.compile(r"\s*(?:=+|-+|#{1,6}\s.*|>.*|[-+*]\s.*|\d+[.)]\s.*|`{3,}.*|~{3,}.*|<.*)$")


def _opens(parent: Element, element: Element) -> bool:
    """Tell whether a heading is the first thing in a section, bare anchors aside."""
    if parent.tag != "section" and "section" not in (parent.get("class") or "").split():
        return False
    return all(
        before.tag in ("span", "a") and not element_text(before).strip()
        for before in element.itersiblings(preceding=True)
    )


def _items(walk: Visitor, element: Element) -> list[tuple[str | None, list[str]]]:
    """Give the items of a list: their own numbers, if any, and their blocks."""
    items: list[tuple[str | None, list[str]]] = []
    walk.nested += 1
    for child in element:
        role = ROLES[child.tag, child.get("class")]
        if role == "skip" or (child.tag == "li" and is_hidden(child)):
            continue
        parts: list[str] = []
        if child.tag == "li":
            walk.blocks(child, parts)
        else:
            walk.block(child, parts)
        if child.tail and not child.tail.isspace():
            pieces: list[str] = []
            walk.text(child.tail, pieces)
            walk.flush(pieces, parts)
        if not parts and element.tag == "ol" and child.tag == "li":  # an empty item counts
            parts = [""]
        if child.tag in ("ul", "ol") and items:
            items[-1][1].extend(parts)
        elif parts:
            items.append((child.get("value"), parts))
    walk.nested -= 1
    return items


def _holds_paragraphs(element: Element) -> bool:
    for item in element:
        if item.tag == "li" and len(item):
            for child in item:
                if child.tag == "p":
                    return True
    return False


def _numbers(element: Element, items: list[tuple[str | None, list[str]]]) -> list[int]:
    start = element.get("start") or "1"
    number = int(start) if start.isdecimal() and len(start) < 9 else 1
    numbers = []
    for value, _ in items:
        if value and value.isdecimal() and len(value) < 9:
            number = int(value)
        numbers.append(number)
        number += 1
    return numbers


def _joined(parts: list[str], loose: bool) -> str:
    if len(parts) == 1:
        return parts[0]
    if loose:
        return "\n\n".join(parts)
    text = parts[0]
    for part in parts[1:]:
        text += ("\n" if _TIGHT_LIST.match(part) else "\n\n") + part
    return text


def _entries(element: Element) -> list[Element]:
    """Give the terms and definitions of a list, those that stand in groups too."""
    entries: list[Element] = []
    for child in element:
        if child.tag == "div" and (child.find("dt") is not None or child.find("dd") is not None):
            entries.extend(child)
        else:
            entries.append(child)
    return entries
