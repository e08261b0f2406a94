"""Images, emoji, films: what a page shows beside its text."""

from __future__ import annotations

import re
from itertools import islice

from mkdocs_roaming.html.escape import escape_text, format_autolink, format_destination, format_title
from mkdocs_roaming.html.inline import add_space, escape_exclamation_mark, write_spaced_text
from mkdocs_roaming.html.visitor import Element, Visitor, is_hidden


def write_image(walk: Visitor, element: Element, pieces: list[str]) -> None:
    """Write an image; one that is only data, or the dark twin of a light one, goes."""
    if is_hidden(element):
        return
    src = find_image_source(element)
    alt = " ".join((element.get("alt") or "").split())
    if not src:
        write_spaced_text(walk, alt, element, pieces)
        return
    if _has_light_twin(element, src, alt):
        return
    if walk.plain is not None:
        walk.plain.append(alt)
    title = element.get("title")
    escape_exclamation_mark(pieces)
    target = format_destination(walk.image(strip_color_variant(src)))
    pieces.append(f"![{escape_text(alt, brackets=True)}]({target}{' ' + format_title(title) if title else ''})")


def find_image_source(element: Element) -> str:
    """Give where an image is; nothing for one that is only data."""
    names = ("src", "data-src", "data-lazy-src", "data-original")
    for name in names:
        if (src := (element.get(name) or "").strip()) and not src.startswith("data:"):
            return src
    candidates = (element.get("srcset") or element.get("data-srcset") or "").split(",")[0].split()
    return candidates[0] if candidates and not candidates[0].startswith("data:") else ""


def strip_color_variant(src: str) -> str:
    """Give the address of an image without the mark that it is shown on a dark or a light ground only."""
    return _VARIANT.sub("", src)


def write_emoji(walk: Visitor, element: Element, pieces: list[str]) -> None:
    """Write an emoji as its character, or the name that the page gives it."""
    if element.tag == "img":
        walk.text(find_emoji_text(element), pieces)
        return
    before = len(pieces)
    walk.inline(element, pieces)
    if len(pieces) == before:
        write_spaced_text(walk, element.get("title") or "", element, pieces)


def find_emoji_text(element: Element) -> str:
    """Give the character that the image of an emoji shows, else its name."""
    return element.get("alt") or element.get("title") or ""


def write_media(walk: Visitor, element: Element, pieces: list[str]) -> None:
    """Write a film, a sound or an embedded page as a link to it."""
    source = element.find("source")
    src = element.get("src") or element.get("data-src") or (source.get("src") if source is not None else None)
    if not src or src.startswith(("data:", "about:")) or is_hidden(element):
        return
    url = format_destination(walk.image(src))
    add_space(" ", pieces)
    title = " ".join((element.get("title") or element.get("aria-label") or "").split())
    if walk.in_link:
        walk.text(title or url, pieces)
    else:
        text = escape_text(title or url, brackets=True)
        pieces.append((format_autolink(url, url) if not title else None) or f"[{text}]({url})")
    add_space(" ", pieces)


_VARIANT = re.compile(r"#(?:only-(?:light|dark)|gh-(?:light|dark)-mode-only)$")
_DARK = re.compile(r"#(?:only-dark|gh-dark-mode-only)$")


def _has_light_twin(element: Element, src: str, alt: str) -> bool:
    parent = element.getparent()
    if not _DARK.search(src) or parent is None:
        return False
    around = parent.getparent() if len(parent) == 1 else parent
    return any(
        other is not element
        and (other.get("src") or "").endswith(("#only-light", "#gh-light-mode-only"))
        and " ".join((other.get("alt") or "").split()) == alt
        for other in islice((around if around is not None else parent).iter("img"), 100)
    )
