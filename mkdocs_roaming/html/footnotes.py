"""Footnotes: references, and definitions at the end of the section that first uses them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from mkdocs_roaming.html.escape import indent_lines
from mkdocs_roaming.html.inline import write_plain_link
from mkdocs_roaming.html.visitor import Blocks, Element, Output, Pieces, Visitor, has_class, is_paragraph

_INDENT = 4
"""Spaces before the further lines of a definition."""


def write_footnote_reference(visitor: Visitor, element: Element, pieces: Pieces) -> None:
    """Write a reference to a footnote, or a plain link if the article does not define the footnote."""
    link = element if element.tag == "a" else element.find(".//a")
    href = link.get("href", "") if link is not None else ""
    label = _find_labels(visitor).get(href.partition("#")[2])
    if link is None or label is None:
        write_plain_link(visitor, element, href, pieces)
        return
    visitor.output.footnotes.uses.setdefault(label, len(visitor.output.blocks))
    reference = f"[^{label}]"
    visitor.record_plain(reference)
    pieces.append(reference)


def write_footnote_label(visitor: Visitor, element: Element, pieces: Pieces) -> None:
    """Write a label, except at the beginning of a definition."""
    parent = element.getparent()
    if parent is None or visitor.role(parent) != "footnotes":
        visitor.write_inline(element, pieces)


def collect_footnotes(visitor: Visitor, element: Element, out: Blocks) -> None:
    """Render the definitions in a list of footnotes for the sections that use them.

    The blocks of a footnote are joined without blank lines. Readers that do not know footnotes would read an indented
    block after a blank line as code.
    """
    labels = _find_labels(visitor)
    for target, note in _iter_definitions(element):
        parts = visitor.render_nested(note)
        label = labels.get(target)
        if not parts or label is None:
            continue
        text = parts[0].removeprefix(". ")  # after the number, which is a link back
        for part in parts[1:]:
            text += ("\\\n" if is_paragraph(part) else "\n") + part
        visitor.output.footnotes.definitions[label] = f"[^{label}]: {indent_lines(text, _INDENT)}"


def place_footnotes(output: Output) -> dict[int, list[str]]:
    """Return the definitions by the index of the block before which they belong: the next heading, or the end."""
    end = len(output.blocks)
    ends = [*(index for index, _ in output.headings), end]
    places: dict[int, list[str]] = {}
    for label, definition in output.footnotes.definitions.items():
        use = output.footnotes.uses.get(label, end)
        position = bisect_right(ends, use, hi=len(ends) - 1)
        places.setdefault(ends[position], []).append(definition)
    return places


def _find_labels(visitor: Visitor) -> dict[str, str]:
    """Return the labels of the footnotes that the article defines, by id."""
    footnotes = visitor.output.footnotes
    if footnotes.labels is None:
        footnotes.labels = {}
        for notes in visitor.article.iter("div", "section", "aside", "dl", "ol"):
            if visitor.role(notes) == "footnotes":
                for target, _ in _iter_definitions(notes):
                    footnotes.labels.setdefault(target, str(len(footnotes.labels) + 1))
    return footnotes.labels


def _iter_definitions(notes: Element) -> Iterator[tuple[str, Element]]:
    """Yield ids and elements of the definitions in a list of footnotes."""
    target = notes.get("id")
    if target and (notes.tag == "aside" or notes.get("class") == "footnote-definition"):
        yield target, notes
    elif notes.tag == "dl":
        for term in notes.iterchildren("dt"):
            definition = term.getnext()
            if definition is not None:
                yield term.get("id", ""), definition
    else:
        for note in notes.iter("li", "aside", "div"):
            target = note.get("id")
            if target and (note.tag != "div" or has_class(note, "footnote")):
                yield target, note
