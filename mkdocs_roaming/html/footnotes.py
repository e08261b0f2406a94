"""Footnotes: the references in the text, the definitions for the section that first uses them."""

from __future__ import annotations

import re
from bisect import bisect_right

from mkdocs_roaming.html.blocks import indent_lines
from mkdocs_roaming.html.inline import write_link
from mkdocs_roaming.html.visitor import ROLES, Element, Visitor


def write_footnote_reference(walk: Visitor, element: Element, pieces: list[str]) -> None:
    """Write a reference to a footnote, as a plain link where the article doesn't define it."""
    link = element if element.tag == "a" else element.find(".//a")
    href = link.get("href", "") if link is not None else ""
    target = href.partition("#")[2]
    labels = _labels(walk, element)
    if link is None or target not in labels:
        write_link(walk, element, href, pieces)
        return
    label = labels[target]
    walk.note_uses.setdefault(label, len(walk.top))
    if walk.plain is not None:
        walk.plain.append(f"[^{label}]")
    pieces.append(f"[^{label}]")


def write_footnote_label(walk: Visitor, element: Element, pieces: list[str]) -> None:
    """Write a label, but not the one that a definition begins with."""
    parent = element.getparent()
    if parent is None or ROLES[parent.tag, parent.get("class")] != "notes":
        walk.inline(element, pieces)


def collect_footnotes(walk: Visitor, element: Element, out: list[str]) -> None:
    """Keep the definitions of footnotes for the sections that use them."""
    labels = _labels(walk, element)
    for target, note in _defined(element):
        note_parts = walk.contents(note)
        if note_parts and target in labels:
            walk.notes[labels[target]] = f"[^{labels[target]}]: " + indent_lines(_joined(note_parts), 4)


def place_footnotes(walk: Visitor) -> dict[int, list[str]]:
    """Give the definitions by the places in `top` that they stand before; the last one is the end."""
    found: dict[int, list[str]] = {}
    headings = [at for at, _ in walk.marks]
    for label, note in walk.notes.items():
        used = walk.note_uses.get(label)
        following = len(headings) if used is None else bisect_right(headings, used)
        found.setdefault(headings[following] if following < len(headings) else len(walk.top), []).append(note)
    return found


_NO_PARAGRAPH = re.compile(r"(?:[-*>|] |\d+[.)] |```|<|\$\$)")


def _joined(parts: list[str]) -> str:
    """Join the blocks of a note without blank lines: a reader that knows no footnotes takes what follows for code."""
    text = parts[0]
    for part in parts[1:]:
        text += "\n" + part if _NO_PARAGRAPH.match(part) else "\\\n" + part
    return text


def _labels(walk: Visitor, element: Element) -> dict[str, str]:
    if walk.note_labels is None:
        root = element
        while (parent := root.getparent()) is not None:
            root = parent
        ids = [
            target
            for notes in root.iter("div", "section", "aside", "dl", "ol")
            if ROLES[notes.tag, notes.get("class")] == "notes"
            for target, _ in _defined(notes)
        ]
        walk.note_labels = {target: str(at) for at, target in enumerate(dict.fromkeys(ids), 1)}
    return walk.note_labels


def _defined(notes: Element) -> list[tuple[str, Element]]:
    """Give ids and elements of the definitions in a list of footnotes."""
    if notes.get("id") and (notes.tag == "aside" or notes.get("class") == "footnote-definition"):
        return [(notes.get("id") or "", notes)]
    if notes.tag == "dl":
        return [
            (term.get("id") or "", text) for term in notes.iterchildren("dt") if (text := term.getnext()) is not None
        ]
    return [(note.get("id") or "", note) for note in notes.iter("li", "aside") if note.get("id")]
