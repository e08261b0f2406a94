"""What stands within a line of text: emphasis, breaks, boxes of tasks, what only its looks part from the rest."""

from __future__ import annotations

import re

from mkdocs_roaming.publish.walk import BREAK, ROLES, Element, Inline, Walk, hidden, text_of, trim


def span(walk: Walk, element: Element, pieces: list[str]) -> None:
    """Write what an element holds, and nothing of itself."""
    if element.attrib and hidden(element):
        return
    walk.inline(element, pieces)


def classifier(walk: Walk, element: Element, pieces: list[str]) -> None:
    """Write what kind of thing a term is, behind a colon."""
    walk.text(" : ", pieces)
    walk.inline(element, pieces)


def labels(walk: Walk, element: Element, pieces: list[str]) -> None:
    """Write the labels of an API object; those in its heading are written below it."""
    if not walk.in_heading:
        walk.inline(element, pieces)


def skip(walk: Walk, element: Element, pieces: list[str]) -> None:
    """Write nothing."""


def apart(walk: Walk, element: Element, pieces: list[str]) -> None:
    """Write text that only its looks part from the text around it."""
    part_from_before(walk, pieces)
    walk.inline(element, pieces)
    part_from_after(walk, element, pieces)


def emphasis(style: str, marker: str, tag: str) -> Inline:
    """Make the writer of a kind of emphasis; what is emphasised already stays as it is."""

    own = frozenset({style})

    def write(walk: Walk, element: Element, pieces: list[str]) -> None:
        before = walk.styles
        if style in before:
            walk.inline(element, pieces)
            return
        walk.styles = before | own
        inner: list[str] = []
        walk.inline(element, inner)
        walk.styles = before
        text = inner[0] if len(inner) == 1 else "".join(inner)
        stripped = trim(text)
        if not stripped:
            space(text, pieces)
            return
        if text[0] in " \n":
            space(text, pieces)
        if _misread(pieces, stripped, element, nested=bool(before)):
            pieces.append(f"<{tag}>{stripped}</{tag}>")
        else:
            pieces.append(f"{marker}{stripped}{marker}")
        if text[-1] in " \n":
            pieces.append(walk.line_break if text.endswith(BREAK) else " ")

    return write


def tag(walk: Walk, element: Element, pieces: list[str]) -> None:
    """Write an element that Markdown has no sign for as the tag that it is."""
    inner: list[str] = []
    walk.inline(element, inner)
    text = trim("".join(inner))
    if not text:
        space("".join(inner), pieces)
    elif _NOTES_ONLY.fullmatch(text):
        pieces.append(text)
    else:
        pieces.append(f"<{element.tag}>{text}</{element.tag}>")


def line_break(walk: Walk, element: Element, pieces: list[str]) -> None:
    """Write a line break as the line allows: a hard break, a tag in a table, a space in a heading."""
    if walk.plain is not None:
        walk.plain.append(" ")
    if walk.line_break == " ":
        space(" ", pieces)
        return
    if pieces and pieces[-1].endswith(" "):
        pieces[-1] = pieces[-1].rstrip(" ")
    pieces.append(walk.line_break)


def checkbox(walk: Walk, element: Element, pieces: list[str]) -> None:
    """Write the box of a task, at the beginning of its item."""
    if element.get("type") != "checkbox" or "".join(pieces).strip():
        return
    parent = element.getparent()
    for _ in range(3):
        if parent is None or parent.tag == "li":
            break
        parent = parent.getparent()
    if parent is not None and parent.tag == "li":
        pieces[:] = ["[ ] " if element.get("checked") is None else "[x] "]


def quotation(walk: Walk, element: Element, pieces: list[str]) -> None:
    """Write a quotation within a line, in quotation marks."""
    inner: list[str] = []
    walk.inline(element, inner)
    pieces.append(f'"{trim("".join(inner))}"')


def space(text: str, pieces: list[str]) -> None:
    """Write a space for the white space in a text, if none stands there yet."""
    if text and not (pieces and pieces[-1].endswith((" ", "\n"))):
        pieces.append(" ")


def write_apart(walk: Walk, words: str, element: Element, pieces: list[str]) -> None:
    """Write the words that stand for a picture; a reader sees it apart from the words around it."""
    if not words.strip():
        return
    part_from_before(walk, pieces)
    walk.text(" ".join(words.split()), pieces)
    part_from_after(walk, element, pieces)


def part_from_before(walk: Walk, pieces: list[str]) -> None:
    """Write the space that parts what stands for a picture from what is before it."""
    if walk.plain is not None:
        walk.plain.append(" ")
    if pieces and not pieces[-1].endswith(_OPENING):
        space(" ", pieces)


def part_from_after(walk: Walk, element: Element, pieces: list[str]) -> None:
    """Write the space that parts what stands for a picture from what follows it; a full stop needs none."""
    while not element.tail:
        parent = element.getparent()
        if element.getnext() is not None or parent is None or ROLES[parent.tag, parent.get("class")] != "span":
            break
        element = parent
    if not (element.tail or "").startswith(_CLOSING):
        if walk.plain is not None:
            walk.plain.append(" ")
        pieces.append(" ")


_OPENING = ("(", "[", "{", "“", "‘", "«", "/")
_CLOSING = (".", ",", ";", ":", "!", "?", ")", "]", "}", "”", "’", "»", "/", "…")
_MARKED = frozenset({"code span", "image", "math", "note reference", "quotation", "tag"})
"""Roles that are written with a mark in front, wherever they stand."""
_NOTES_ONLY = re.compile(r"(?:\[\^[^\]]+\][\s,]*)+")


def _misread(pieces: list[str], text: str, element: Element, *, nested: bool) -> bool:
    """Tell whether markers around the text would not be read as emphasis, between what stands on both sides."""
    before = pieces[-1][-1:] if pieces else ""
    if before == "*" or "~" in (text[0], text[-1], before, (element.tail or "")[:1]):
        return True
    if nested:  # markers within markers are counted together where nothing but white space parts them
        return bool(before.strip() or _after(element)[:1].strip())
    if before.isalnum() and not text[0].isalnum():
        return True
    return not text[-1].isalnum() and _after(element)[:1].isalnum()


def _after(element: Element) -> str:
    """Give some of the text that follows an element, up to the next mark or the end of the line."""
    while not element.tail:
        following = element.getnext()
        if following is None:
            parent = element.getparent()
            if parent is None or ROLES[parent.tag, parent.get("class")] not in ("span", "text"):
                return ""
            element = parent
        elif (role := ROLES[following.tag, following.get("class")]) in _MARKED:
            return "*"
        elif role != "skip" and (text := text_of(following)):
            return text
        else:
            element = following
    return element.tail
