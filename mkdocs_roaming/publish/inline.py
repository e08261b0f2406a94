"""What stands within a line of text: links, images, emphasis, code, math."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mkdocs_roaming.publish.escape import autolink, code_in, code_span, destination, escape
from mkdocs_roaming.publish.idioms import BACKLINKS, PERMALINKS
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


def link(walk: Walk, element: Element, pieces: list[str]) -> None:
    """Write a link; one from a heading to itself goes, one to a script keeps its text only."""
    href = element.get("href")
    if href is None or walk.in_link:
        walk.inline(element, pieces)
        return
    if len(element.keys()) > 1:
        if element.get("role") == "doc-backlink" or element.get("data-footnote-backref") is not None:
            _write_backlink(walk, element, pieces)
            return
        if element.get("role") == "doc-noteref" or element.get("data-footnote-ref") is not None:
            walk.inline_writers["note reference"](walk, element, pieces)
            return
    if href.startswith(BACKLINKS):
        _write_backlink(walk, element, pieces)
        return
    if walk.in_heading and href.startswith("#"):
        if says_permalink(element):
            if (name := element.get("title")) and next(_emoji(element), None) is not None:
                write_apart(walk, name, element, pieces)
            return
        if href[1:] == walk.heading_id:
            walk.inline(element, pieces)
            return
    write_link(walk, element, href, pieces)


def apart(walk: Walk, element: Element, pieces: list[str]) -> None:
    """Write text that only its looks part from the text around it."""
    part_from_before(walk, pieces)
    walk.inline(element, pieces)
    part_from_after(walk, element, pieces)


def permalink(walk: Walk, element: Element, pieces: list[str]) -> None:
    """Write a link that usually leads from a heading to itself, if it says something."""
    if not says_permalink(element):
        link(walk, element, pieces)


def self_link(walk: Walk, element: Element, pieces: list[str]) -> None:
    """Write a heading's link to itself as its text; in a blog's index it leads to the post, and stays a link."""
    href = element.get("href") or ""
    if href.startswith("#") or (
        href.partition("#")[2] == walk.heading_id and walk.link(href) == walk.link(f"#{walk.heading_id}")
    ):
        walk.inline(element, pieces)
    else:
        link(walk, element, pieces)


def says_permalink(element: Element) -> bool:
    """Tell whether a link says only that it is one, to the place where it stands."""
    if element.get("aria-hidden") == "true":
        return True
    return text_of(element).strip().casefold() in PERMALINKS and element.find(".//img") is None


def card(walk: Walk, element: Element, out: list[str]) -> None:
    """Write a link around blocks: its first line of text is the link."""
    url = destination(walk.link(element.get("href") or ""))
    if _SCRIPT.match(element.get("href") or ""):
        walk.blocks(element, out)
        return
    with walk.within(card=url, in_link=True):
        walk.blocks(element, out)
        unused = walk.card
    if unused is not None:
        out.append(autolink(url, url) or f"[{escape(url, brackets=True)}]({url})")


def emphasis(style: str, marker: str, tag: str) -> Inline:
    """Make the writer of a kind of emphasis; what is emphasised already stays as it is."""

    def write(walk: Walk, element: Element, pieces: list[str]) -> None:
        if style in walk.styles:
            walk.inline(element, pieces)
            return
        before, walk.styles = walk.styles, walk.styles | {style}
        inner: list[str] = []
        walk.inline(element, inner)
        walk.styles = before
        text = "".join(inner)
        stripped = trim(text)
        if not stripped:
            space(text, pieces)
            return
        if text[0].isspace():
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


def code(walk: Walk, element: Element, pieces: list[str]) -> None:
    """Write inline code; links in it stay links, around their part of the code."""
    if not walk.in_link and len(element) and element.find(".//a[@href]") is not None:
        _linked_code(walk, element, pieces)
        return
    _code_piece(walk, _code_text(element), pieces)


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


def before_link(pieces: list[str]) -> None:
    """Keep a `!` that stands before a link from making it an image."""
    if pieces and pieces[-1].endswith("!"):
        pieces[-1] = pieces[-1][:-1] + "\\!"


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
_LONG = 1_000
"""From this length on, inline code is not joined with what follows: joining many takes time."""
_SCRIPT = re.compile(r"\s*(?:javascript|vbscript|data):", re.IGNORECASE)
_NOTES_ONLY = re.compile(r"(?:\[\^[^\]]+\][\s,]*)+")


def write_link(walk: Walk, element: Element, href: str, pieces: list[str]) -> None:
    """Write a link, whatever else it may be on its page."""
    if walk.in_link or _SCRIPT.match(href):
        walk.inline(element, pieces)
        return
    inner: list[str] = []
    walk.in_link = True
    walk.inline(element, inner)
    walk.in_link = False
    written = inner[0] if len(inner) == 1 else "".join(inner)
    text = trim(written)
    url = walk.link(href.strip())
    if not text:
        _write_wordless_link(walk, element, href, url, pieces)
        return
    if written[:1].isspace():
        space(written, pieces)
    target = destination(url)
    short = None
    if target.startswith((text[:3], "mailto:")):
        raw = text_of(element).strip()
        short = autolink(target, raw) if text == escape(raw, brackets=True) else None
    before_link(pieces)
    pieces.append(short or f"[{text}]({target})")
    if written[-1:].isspace():
        pieces.append(" ")


def _write_backlink(walk: Walk, element: Element, pieces: list[str]) -> None:
    """Write a link back to where a note is used: its text, where that is more than an arrow."""
    if any(letter.isalnum() for letter in text_of(element)):
        walk.inline(element, pieces)


def _write_wordless_link(walk: Walk, element: Element, href: str, url: str, pieces: list[str]) -> None:
    """Write a link that shows only an icon by the name that it has for the ear; one that shows nothing goes."""
    label = " ".join((element.get("aria-label") or element.get("title") or "").split())
    if not label and (href.startswith("#") or not len(element)):
        return
    part_from_before(walk, pieces)
    if walk.plain is not None:
        walk.plain.append(label or url)
    pieces.append(autolink(url, label or url) or f"[{escape(label or url, brackets=True)}]({destination(url)})")
    part_from_after(walk, element, pieces)


def _emoji(element: Element) -> Iterator[Element]:
    """Give the icons in an element."""
    return (child for child in element.iterdescendants() if ROLES[child.tag, child.get("class")] == "emoji")


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


def _code_text(element: Element) -> str:
    return text_of(element) if len(element) else element.text or ""


def _code_piece(walk: Walk, text: str, pieces: list[str]) -> None:
    if walk.plain is not None:
        walk.plain.append(text)
    if text and pieces and (before := code_in(pieces[-1])):  # two that touch would not be read as two
        if len(before) < _LONG:
            pieces.pop()
            text = before + text
        else:
            pieces.append(" ")
    if text:
        pieces.append(code_span(text))


def _linked_code(walk: Walk, element: Element, pieces: list[str]) -> None:
    _code_piece(walk, element.text or "", pieces)
    for child in element:
        href = child.get("href")
        if child.tag == "a" and href and not _SCRIPT.match(href):
            inner: list[str] = []
            _code_piece(walk, _code_text(child), inner)
            if inner:
                before_link(pieces)
                pieces.append(f"[{''.join(inner)}]({destination(walk.link(href.strip()))})")
        elif len(child) and child.find(".//a[@href]") is not None:
            _linked_code(walk, child, pieces)
        else:
            _code_piece(walk, _code_text(child), pieces)
        _code_piece(walk, child.tail or "", pieces)
