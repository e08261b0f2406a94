"""Images, emoji, videos and embedded pages."""

from __future__ import annotations

import re
from itertools import islice

from mkdocs_roaming.html.escape import escape_text, format_autolink, format_destination, format_title
from mkdocs_roaming.html.inline import add_space, escape_exclamation_mark, write_spaced_text
from mkdocs_roaming.html.visitor import Element, Visitor, is_hidden

_VARIANT = re.compile(r"#(?:only-(?:light|dark)|gh-(?:light|dark)-mode-only)$")
_DARK = re.compile(r"#(?:only-dark|gh-dark-mode-only)$")
_SOURCE_ATTRIBUTES = ("src", "data-src", "data-lazy-src", "data-original")


def write_image(visitor: Visitor, element: Element, pieces: list[str]) -> None:
    """Write an image. A `data:` image becomes its alternative text, the dark variant of a light image is dropped."""
    if is_hidden(element):
        return
    src = find_image_source(element)
    alt = _alternative_text(element)
    if not src:
        write_spaced_text(visitor, alt, element, pieces)
        return
    if _has_light_variant(element, src, alt):
        return
    visitor.record_plain(alt)
    title = element.get("title")
    escape_exclamation_mark(pieces)
    target = format_destination(visitor.image(strip_color_variant(src)))
    pieces.append(f"![{escape_text(alt, brackets=True)}]({target}{' ' + format_title(title) if title else ''})")


def find_image_source(element: Element) -> str:
    """Return the URL of an image, `""` if there is none but `data:`."""
    for name in _SOURCE_ATTRIBUTES:
        if (src := (element.get(name) or "").strip()) and not src.startswith("data:"):
            return src
    candidates = (element.get("srcset") or element.get("data-srcset") or "").split(",")[0].split()
    return candidates[0] if candidates and not candidates[0].startswith("data:") else ""


def strip_color_variant(src: str) -> str:
    """Return the URL of an image without the mark for a dark or light color scheme."""
    return _VARIANT.sub("", src)


def write_emoji(visitor: Visitor, element: Element, pieces: list[str]) -> None:
    """Write an emoji as its character, or the name that the page gives it."""
    if element.tag == "img":
        visitor.write_text(find_emoji_text(element), pieces)
        return
    before = len(pieces)
    visitor.write_inline(element, pieces)
    if len(pieces) == before:
        write_spaced_text(visitor, element.get("title") or "", element, pieces)


def find_emoji_text(element: Element) -> str:
    """Return the character of an emoji's image, or its name."""
    return element.get("alt") or element.get("title") or ""


def write_media(visitor: Visitor, element: Element, pieces: list[str]) -> None:
    """Write a video, a sound or an embedded page as a link to it."""
    source = element.find("source")
    src = element.get("src") or element.get("data-src") or (source.get("src") if source is not None else None)
    if not src or src.startswith(("data:", "about:")) or is_hidden(element):
        return
    url = format_destination(visitor.image(src))
    title = " ".join((element.get("title") or element.get("aria-label") or "").split())
    add_space(" ", pieces)
    if visitor.context.in_link:
        visitor.write_text(title or url, pieces)
    else:
        text = escape_text(title or url, brackets=True)
        pieces.append((format_autolink(url, url) if not title else None) or f"[{text}]({url})")
    add_space(" ", pieces)


def _alternative_text(element: Element) -> str:
    return " ".join((element.get("alt") or "").split())


def _has_light_variant(element: Element, src: str, alt: str) -> bool:
    """Return whether a dark image has a light variant next to it."""
    parent = element.getparent()
    if not _DARK.search(src) or parent is None:
        return False
    wrapper = parent.getparent() if len(parent) == 1 else parent
    images = (wrapper if wrapper is not None else parent).iter("img")
    return any(
        other is not element
        and (other.get("src") or "").endswith(("#only-light", "#gh-light-mode-only"))
        and _alternative_text(other) == alt
        for other in islice(images, 100)
    )
