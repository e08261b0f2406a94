"""Images, emoji, films: what a page shows beside its text."""

from __future__ import annotations

import re
from itertools import islice

from mkdocs_roaming.publish.escape import autolink, destination, escape, quoted
from mkdocs_roaming.publish.hyperlinks import before_link
from mkdocs_roaming.publish.inline import space, write_apart
from mkdocs_roaming.publish.walk import Element, Walk, hidden


def image(walk: Walk, element: Element, pieces: list[str]) -> None:
    """Write an image; one that is only data, or the dark twin of a light one, goes."""
    if hidden(element):
        return
    src = source_of(element)
    alt = " ".join((element.get("alt") or "").split())
    if not src:
        write_apart(walk, alt, element, pieces)
        return
    if _has_light_twin(element, src, alt):
        return
    if walk.plain is not None:
        walk.plain.append(alt)
    title = element.get("title")
    before_link(pieces)
    target = destination(walk.image(without_variant(src)))
    pieces.append(f"![{escape(alt, brackets=True)}]({target}{' ' + quoted(title) if title else ''})")


def source_of(element: Element) -> str:
    """Give where an image is; nothing for one that is only data."""
    names = ("src", "data-src", "data-lazy-src", "data-original")
    for name in names:
        if (src := (element.get(name) or "").strip()) and not src.startswith("data:"):
            return src
    candidates = (element.get("srcset") or element.get("data-srcset") or "").split(",")[0].split()
    return candidates[0] if candidates and not candidates[0].startswith("data:") else ""


def without_variant(src: str) -> str:
    """Give the address of an image without the mark that it is shown on a dark or a light ground only."""
    return _VARIANT.sub("", src)


def emoji(walk: Walk, element: Element, pieces: list[str]) -> None:
    """Write an emoji as its character, or the name that the page gives it."""
    if element.tag == "img":
        walk.text(character(element), pieces)
        return
    before = len(pieces)
    walk.inline(element, pieces)
    if len(pieces) == before:
        write_apart(walk, element.get("title") or "", element, pieces)


def character(element: Element) -> str:
    """Give the character that the image of an emoji shows, else its name."""
    return element.get("alt") or element.get("title") or ""


def media(walk: Walk, element: Element, pieces: list[str]) -> None:
    """Write a film, a sound or an embedded page as a link to it."""
    source = element.find("source")
    src = element.get("src") or element.get("data-src") or (source.get("src") if source is not None else None)
    if not src or src.startswith(("data:", "about:")) or hidden(element):
        return
    url = destination(walk.image(src))
    space(" ", pieces)
    title = " ".join((element.get("title") or element.get("aria-label") or "").split())
    if walk.in_link:
        walk.text(title or url, pieces)
    else:
        text = escape(title or url, brackets=True)
        pieces.append((autolink(url, url) if not title else None) or f"[{text}]({url})")
    space(" ", pieces)


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
