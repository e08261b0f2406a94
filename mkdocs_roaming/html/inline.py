"""What stands within a line of text: emphasis, breaks, boxes of tasks, what only its looks part from the rest."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mkdocs_roaming.html.escape import escape_text, format_autolink, format_destination
from mkdocs_roaming.html.themes import BACKLINKS, PERMALINKS
from mkdocs_roaming.html.visitor import (
    HARD_BREAK,
    ROLES,
    Element,
    InlineWriter,
    Visitor,
    element_text,
    is_hidden,
    strip_breaks,
)


def write_span(walk: Visitor, element: Element, pieces: list[str]) -> None:
    """Write what an element holds, and nothing of itself."""
    if element.attrib and is_hidden(element):
        return
    walk.inline(element, pieces)


def write_classifier(walk: Visitor, element: Element, pieces: list[str]) -> None:
    """Write what kind of thing a term is, behind a colon."""
    walk.text(" : ", pieces)
    walk.inline(element, pieces)


def write_inline_labels(walk: Visitor, element: Element, pieces: list[str]) -> None:
    """Write the labels of an API object; those in its heading are written below it."""
    if not walk.in_heading:
        walk.inline(element, pieces)


def write_nothing(walk: Visitor, element: Element, pieces: list[str]) -> None:
    """Write nothing."""


def write_spaced(walk: Visitor, element: Element, pieces: list[str]) -> None:
    """Write text that only its looks part from the text around it."""
    space_before(walk, pieces)
    walk.inline(element, pieces)
    space_after(walk, element, pieces)


def emphasis_writer(style: str, marker: str, tag: str) -> InlineWriter:
    """Make the writer of a kind of emphasis; what is emphasised already stays as it is."""

    own = frozenset({style})

    def write(walk: Visitor, element: Element, pieces: list[str]) -> None:
        before = walk.styles
        if style in before:
            walk.inline(element, pieces)
            return
        walk.styles = before | own
        inner: list[str] = []
        walk.inline(element, inner)
        walk.styles = before
        text = inner[0] if len(inner) == 1 else "".join(inner)
        stripped = strip_breaks(text)
        if not stripped:
            add_space(text, pieces)
            return
        if text[0] in " \n":
            add_space(text, pieces)
        if _misread(pieces, stripped, element, nested=bool(before)):
            pieces.append(f"<{tag}>{stripped}</{tag}>")
        else:
            pieces.append(f"{marker}{stripped}{marker}")
        if text[-1] in " \n":
            pieces.append(walk.line_break if text.endswith(HARD_BREAK) else " ")

    return write


def write_tag(walk: Visitor, element: Element, pieces: list[str]) -> None:
    """Write an element that Markdown has no sign for as the tag that it is."""
    inner: list[str] = []
    walk.inline(element, inner)
    text = strip_breaks("".join(inner))
    if not text:
        add_space("".join(inner), pieces)
    elif _NOTES_ONLY.fullmatch(text):
        pieces.append(text)
    else:
        pieces.append(f"<{element.tag}>{text}</{element.tag}>")


def write_line_break(walk: Visitor, element: Element, pieces: list[str]) -> None:
    """Write a line break as the line allows: a hard break, a tag in a table, a space in a heading."""
    if walk.plain is not None:
        walk.plain.append(" ")
    if walk.line_break == " ":
        add_space(" ", pieces)
        return
    if pieces and pieces[-1].endswith(" "):
        pieces[-1] = pieces[-1].rstrip(" ")
    pieces.append(walk.line_break)


def write_checkbox(walk: Visitor, element: Element, pieces: list[str]) -> None:
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


def write_quotation(walk: Visitor, element: Element, pieces: list[str]) -> None:
    """Write a quotation within a line, in quotation marks."""
    inner: list[str] = []
    walk.inline(element, inner)
    pieces.append(f'"{strip_breaks("".join(inner))}"')


def add_space(text: str, pieces: list[str]) -> None:
    """Write a space for the white space in a text, if none stands there yet."""
    if text and not (pieces and pieces[-1].endswith((" ", "\n"))):
        pieces.append(" ")


def write_spaced_text(walk: Visitor, words: str, element: Element, pieces: list[str]) -> None:
    """Write the words that stand for a picture; a reader sees it apart from the words around it."""
    if not words.strip():
        return
    space_before(walk, pieces)
    walk.text(" ".join(words.split()), pieces)
    space_after(walk, element, pieces)


def space_before(walk: Visitor, pieces: list[str]) -> None:
    """Write the space that parts what stands for a picture from what is before it."""
    if walk.plain is not None:
        walk.plain.append(" ")
    if pieces and not pieces[-1].endswith(_OPENING):
        add_space(" ", pieces)


def space_after(walk: Visitor, element: Element, pieces: list[str]) -> None:
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
        elif role != "skip" and (text := element_text(following)):
            return text
        else:
            element = following
    return element.tail


# MERGED mkdocs_roaming.publish.hyperlinks:
# Links: around text, pictures and whole blocks; from a heading to itself, from a footnote back.


def write_anchor(walk: Visitor, element: Element, pieces: list[str]) -> None:
    """Write a link; one from a heading to itself goes, one to a script keeps its text only."""
    href = element.get("href")
    if href is None or walk.in_link:
        walk.inline(element, pieces)
        return
    if len(names := element.keys()) > 1:
        role = element.get("role") if "role" in names else None
        if role == "doc-backlink" or "data-footnote-backref" in names:
            _write_backlink(walk, element, pieces)
            return
        if role == "doc-noteref" or "data-footnote-ref" in names:
            walk.inline_writers["note reference"](walk, element, pieces)
            return
    if href.startswith(BACKLINKS):
        _write_backlink(walk, element, pieces)
        return
    if walk.in_heading and href.startswith("#"):
        if is_permalink(element):
            if (name := element.get("title")) and next(_emoji(element), None) is not None:
                write_spaced_text(walk, name, element, pieces)
            return
        if href[1:] == walk.heading_id:
            walk.inline(element, pieces)
            return
    write_link(walk, element, href, pieces)


def write_permalink(walk: Visitor, element: Element, pieces: list[str]) -> None:
    """Write a link that usually leads from a heading to itself, if it says something."""
    if not is_permalink(element):
        write_anchor(walk, element, pieces)


def write_self_link(walk: Visitor, element: Element, pieces: list[str]) -> None:
    """Write a heading's link to itself as its text; in a blog's index it leads to the post, and stays a link."""
    href = element.get("href") or ""
    if href.startswith("#") or (
        href.partition("#")[2] == walk.heading_id and walk.link(href) == walk.link(f"#{walk.heading_id}")
    ):
        walk.inline(element, pieces)
    else:
        write_anchor(walk, element, pieces)


def is_permalink(element: Element) -> bool:
    """Tell whether a link says only that it is one, to the place where it stands."""
    if element.get("aria-hidden") == "true":
        return True
    return element_text(element).strip().casefold() in PERMALINKS and element.find(".//img") is None


def write_card(walk: Visitor, element: Element, out: list[str]) -> None:
    """Write a link around blocks: its first line of text is the link."""
    url = format_destination(walk.link(element.get("href") or ""))
    if is_script_url(element.get("href") or ""):
        walk.blocks(element, out)
        return
    with walk.within(card=url, in_link=True):
        walk.blocks(element, out)
        unused = walk.card
    if unused is not None:
        out.append(format_autolink(url, url) or f"[{escape_text(url, brackets=True)}]({url})")


def write_link(walk: Visitor, element: Element, href: str, pieces: list[str]) -> None:
    """Write a link, whatever else it may be on its page."""
    if walk.in_link or is_script_url(href):
        walk.inline(element, pieces)
        return
    inner: list[str] = []
    walk.in_link = True
    walk.inline(element, inner)
    walk.in_link = False
    written = inner[0] if len(inner) == 1 else "".join(inner)
    text = strip_breaks(written)
    url = walk.link(href.strip())
    if not text:
        _write_wordless_link(walk, element, href, url, pieces)
        return
    if written[:1].isspace():
        add_space(written, pieces)
    target = format_destination(url)
    short = None
    if target.startswith((text[:3], "mailto:")):
        raw = element_text(element).strip()
        short = format_autolink(target, raw) if text == escape_text(raw, brackets=True) else None
    escape_exclamation_mark(pieces)
    pieces.append(short or f"[{text}]({target})")
    if written[-1:].isspace():
        pieces.append(" ")


def escape_exclamation_mark(pieces: list[str]) -> None:
    """Keep a `!` that stands before a link from making it an image."""
    if pieces and pieces[-1].endswith("!"):
        pieces[-1] = pieces[-1][:-1] + "\\!"


def is_script_url(href: str) -> bool:
    """Tell whether an address runs something instead of leading somewhere."""
    return _SCRIPT.match(href) is not None


_SCRIPT = re.compile(r"\s*(?:javascript|vbscript|data):", re.IGNORECASE)


def _write_backlink(walk: Visitor, element: Element, pieces: list[str]) -> None:
    """Write a link back to where a note is used: its text, where that is more than an arrow."""
    if any(letter.isalnum() for letter in element_text(element)):
        walk.inline(element, pieces)


def _write_wordless_link(walk: Visitor, element: Element, href: str, url: str, pieces: list[str]) -> None:
    """Write a link that shows only an icon by the name that it has for the ear; one that shows nothing goes."""
    label = " ".join((element.get("aria-label") or element.get("title") or "").split())
    if not label and (href.startswith("#") or not len(element)):
        return
    space_before(walk, pieces)
    if walk.plain is not None:
        walk.plain.append(label or url)
    pieces.append(
        format_autolink(url, label or url) or f"[{escape_text(label or url, brackets=True)}]({format_destination(url)})"
    )
    space_after(walk, element, pieces)


def _emoji(element: Element) -> Iterator[Element]:
    """Give the icons in an element."""
    return (child for child in element.iterdescendants() if ROLES[child.tag, child.get("class")] == "emoji")
