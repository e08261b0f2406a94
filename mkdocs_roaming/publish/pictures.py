"""Images, emoji, films: what a page shows beside its text."""

from __future__ import annotations

import re

from mkdocs_roaming.publish.escape import autolink, destination, escape, quoted
from mkdocs_roaming.publish.inline import before_link, space
from mkdocs_roaming.publish.walk import Element, Walk, hidden


def image(walk: Walk, element: Element, pieces: list[str]) -> None:
    """Write an image; one that is only data, or the dark twin of a light one, goes."""
    if hidden(element):
        return
    src = element.get("src") or ""
    if not src or src.startswith("data:"):
        src = element.get("data-src") or element.get("data-lazy-src") or element.get("data-original") or src
    if not src and (srcset := element.get("srcset") or element.get("data-srcset")):
        src = srcset.split(",")[0].split()[0] if srcset.split() else ""
    alt = " ".join((element.get("alt") or "").split())
    if not src or src.startswith("data:"):
        walk.text(alt, pieces)
        return
    if _has_light_twin(element, src, alt):
        return
    if walk.plain is not None:
        walk.plain.append(alt)
    title = element.get("title")
    src = _VARIANT.sub("", src)
    before_link(pieces)
    pieces.append(
        f"![{escape(alt, brackets=True)}]({destination(walk.image(src))}{' ' + quoted(title) if title else ''})"
    )


def emoji(walk: Walk, element: Element, pieces: list[str]) -> None:
    """Write an emoji as its character, or the name that the page gives it."""
    if element.tag == "img":
        walk.text(element.get("alt") or element.get("title") or "", pieces)
        return
    before = len(pieces)
    walk.inline(element, pieces)
    if len(pieces) == before and (title := element.get("title")):
        walk.text(title, pieces)


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
        for other in (around if around is not None else parent).iter("img")
    )
