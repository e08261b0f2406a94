"""Links: around text, pictures and whole blocks; from a heading to itself, from a footnote back."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mkdocs_roaming.publish.escape import autolink, destination, escape
from mkdocs_roaming.publish.idioms import BACKLINKS, PERMALINKS
from mkdocs_roaming.publish.inline import part_from_after, part_from_before, space, write_apart
from mkdocs_roaming.publish.walk import ROLES, Element, Walk, text_of, trim


def link(walk: Walk, element: Element, pieces: list[str]) -> None:
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
        if says_permalink(element):
            if (name := element.get("title")) and next(_emoji(element), None) is not None:
                write_apart(walk, name, element, pieces)
            return
        if href[1:] == walk.heading_id:
            walk.inline(element, pieces)
            return
    write_link(walk, element, href, pieces)


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
    if leads_to_script(element.get("href") or ""):
        walk.blocks(element, out)
        return
    with walk.within(card=url, in_link=True):
        walk.blocks(element, out)
        unused = walk.card
    if unused is not None:
        out.append(autolink(url, url) or f"[{escape(url, brackets=True)}]({url})")


def write_link(walk: Walk, element: Element, href: str, pieces: list[str]) -> None:
    """Write a link, whatever else it may be on its page."""
    if walk.in_link or leads_to_script(href):
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


def before_link(pieces: list[str]) -> None:
    """Keep a `!` that stands before a link from making it an image."""
    if pieces and pieces[-1].endswith("!"):
        pieces[-1] = pieces[-1][:-1] + "\\!"


def leads_to_script(href: str) -> bool:
    """Tell whether an address runs something instead of leading somewhere."""
    return _SCRIPT.match(href) is not None


_SCRIPT = re.compile(r"\s*(?:javascript|vbscript|data):", re.IGNORECASE)


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
