"""Footnotes: references, and definitions at the end of the section that first uses them."""

from __future__ import annotations

from bisect import bisect_right

from mkdocs_roaming.html.escape import indent_lines
from mkdocs_roaming.html.inline import write_plain_link
from mkdocs_roaming.html.visitor import Element, Output, Visitor, has_class, is_paragraph


def write_footnote_reference(visitor: Visitor, element: Element, pieces: list[str]) -> None:
    """Write a reference to a footnote, or a plain link if the article does not define the footnote."""
    link = element if element.tag == "a" else element.find(".//a")
    href = link.get("href", "") if link is not None else ""
    label = _find_labels(visitor).get(href.partition("#")[2])
    if link is None or label is None:
        write_plain_link(visitor, element, href, pieces)
        return
    visitor.output.footnotes.uses.setdefault(label, len(visitor.output.blocks))
    visitor.record_plain(f"[^{label}]")
    pieces.append(f"[^{label}]")


def write_footnote_label(visitor: Visitor, element: Element, pieces: list[str]) -> None:
    """Write a label, except at the beginning of a definition."""
    parent = element.getparent()
    if parent is None or visitor.role(parent) != "footnotes":
        visitor.write_inline(element, pieces)


def collect_footnotes(visitor: Visitor, element: Element, out: list[str]) -> None:
    """Render the definitions in a list of footnotes for the sections that use them."""
    labels = _find_labels(visitor)
    for target, note in _find_definitions(element):
        parts = visitor.render_nested(note)
        parts[:1] = [part.removeprefix(". ") for part in parts[:1]]  # after the number, which is a link back
        if parts and target in labels:
            definition = indent_lines(_join_blocks(parts), 4)
            visitor.output.footnotes.definitions[labels[target]] = f"[^{labels[target]}]: {definition}"


def place_footnotes(output: Output) -> dict[int, list[str]]:
    """Return the definitions by the index of the block before which they belong: the next heading, or the end."""
    places: dict[int, list[str]] = {}
    headings = [index for index, _ in output.headings] + [len(output.blocks)]
    for label, definition in output.footnotes.definitions.items():
        use = output.footnotes.uses.get(label)
        following = len(headings) - 1 if use is None else bisect_right(headings, use, hi=len(headings) - 1)
        places.setdefault(headings[following], []).append(definition)
    return places


def _join_blocks(parts: list[str]) -> str:
    """Join the blocks of a footnote without blank lines.

    Readers that do not know footnotes would read an indented block after a blank line as code.
    """
    text = parts[0]
    for part in parts[1:]:
        text += ("\\\n" if is_paragraph(part) else "\n") + part
    return text


def _find_labels(visitor: Visitor) -> dict[str, str]:
    """Return the labels of the footnotes that the article defines, by id."""
    footnotes = visitor.output.footnotes
    if footnotes.labels is None:
        ids = [
            target
            for notes in visitor.article.iter("div", "section", "aside", "dl", "ol")
            if visitor.role(notes) == "footnotes"
            for target, _ in _find_definitions(notes)
        ]
        footnotes.labels = {target: str(number) for number, target in enumerate(dict.fromkeys(ids), 1)}
    return footnotes.labels


def _find_definitions(notes: Element) -> list[tuple[str, Element]]:
    """Return ids and elements of the definitions in a list of footnotes."""
    if (target := notes.get("id")) and (notes.tag == "aside" or notes.get("class") == "footnote-definition"):
        return [(target, notes)]
    if notes.tag == "dl":
        return [
            (term.get("id") or "", text) for term in notes.iterchildren("dt") if (text := term.getnext()) is not None
        ]
    marked = (note for note in notes.iter("li", "aside", "div") if note.tag != "div" or has_class(note, "footnote"))
    return [(target, note) for note in marked if (target := note.get("id"))]
