"""What stands within a line of text: links, images, emphasis, code, math."""

from __future__ import annotations

import re

from mkdocs_roaming.publish.escape import autolink, code_span, destination, escape, quoted
from mkdocs_roaming.publish.idioms import BLOCK_TAGS, PERMALINKS
from mkdocs_roaming.publish.walk import BREAK, Element, Inline, Walk, hidden, text_of, trim


def span(walk: Walk, element: Element, pieces: list[str]) -> None:
    """Write what an element holds, and nothing of itself."""
    if element.attrib and hidden(element):
        return
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
    if href.startswith("#") and (
        element.get("role") == "doc-backlink" or element.get("data-footnote-backref") is not None
    ):
        return
    if element.get("role") == "doc-noteref" or element.get("data-footnote-ref") is not None:
        walk.inline_writers["note reference"](walk, element, pieces)
        return
    if walk.in_heading and href.startswith("#"):
        if says_permalink(element):
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
    if href.startswith("#") or href.partition("#")[2] == walk.heading_id:
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
            _space(text, pieces)
            return
        if text[0].isspace():
            _space(text, pieces)
        if _misread(pieces, stripped, element):
            pieces.append(f"<{tag}>{stripped}</{tag}>")
        else:
            pieces.append(_Emphasised(f"{marker}{stripped}{marker}"))
        if text[-1] in " \n":
            pieces.append(walk.line_break if text.endswith(BREAK) else " ")

    return write


def tag(walk: Walk, element: Element, pieces: list[str]) -> None:
    """Write an element that Markdown has no sign for as the tag that it is."""
    inner: list[str] = []
    walk.inline(element, inner)
    text = "".join(inner).strip()
    if not text:
        _space("".join(inner), pieces)
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
    _before_link(pieces)
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


def line_break(walk: Walk, element: Element, pieces: list[str]) -> None:
    """Write a line break as the line allows: a hard break, a tag in a table, a space in a heading."""
    if walk.plain is not None:
        walk.plain.append(" ")
    if walk.line_break == " ":
        _space(" ", pieces)
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
    pieces.append(f'"{"".join(inner).strip()}"')


def media(walk: Walk, element: Element, pieces: list[str]) -> None:
    """Write a film, a sound or an embedded page as a link to it."""
    source = element.find("source")
    src = element.get("src") or element.get("data-src") or (source.get("src") if source is not None else None)
    if not src or src.startswith(("data:", "about:")) or hidden(element):
        return
    url = destination(walk.image(src))
    _space(" ", pieces)
    title = " ".join((element.get("title") or element.get("aria-label") or "").split())
    if walk.in_link:
        walk.text(title or url, pieces)
    else:
        text = escape(title or url, brackets=True)
        pieces.append((autolink(url, url) if not title else None) or f"[{text}]({url})")
    _space(" ", pieces)


def math(walk: Walk, element: Element, pieces: list[str]) -> None:
    """Write a formula within a line as TeX between dollars."""
    tex, display = formula(element)
    if not tex:
        walk.inline(element, pieces)
        return
    tex = " ".join(tex.split())
    written = f"$${tex}$$" if display else f"${tex}$"
    if walk.plain is not None:
        walk.plain.append(written)
    pieces.append(written)


def script(walk: Walk, element: Element, pieces: list[str]) -> None:
    """Write the formula that a script holds for MathJax; other scripts go."""
    if (element.get("type") or "").startswith("math/tex"):
        math(walk, element, pieces)


def formula(element: Element) -> tuple[str, bool]:
    """Give the TeX that an element was made from, and whether it stands on lines of its own."""
    kind = element.get("type") or ""
    if kind.startswith("math/tex"):
        return text_of(element).strip(), "mode=display" in kind
    classes = element.get("class") or ""
    display = "display" in classes or element.get("display") in ("true", "block") or element.get("mode") == "display"
    for annotation in element.iter("annotation"):
        if annotation.get("encoding") == "application/x-tex":
            return text_of(annotation).strip(), display
    inner = next((child for child in element.iter("script") if (child.get("type") or "").startswith("math/tex")), None)
    if inner is not None:
        return formula(inner)
    if element.tag == "math":
        return (element.get("alttext") or "").strip(), display
    text = text_of(element).strip()
    if found := _DISPLAY.search(text):
        return (found[1] or found[2]).strip(), True
    if found := _INLINE.fullmatch(text):
        return (found[1] or found[2]).strip(), False
    return (text, display) if "math" in classes.split() else ("", False)


_SCRIPT = re.compile(r"\s*(?:javascript|vbscript|data):", re.IGNORECASE)
_NOTES_ONLY = re.compile(r"(?:\[\^[^\]]+\][\s,]*)+")
_DISPLAY = re.compile(r"\\\[(.*)\\\]|^\$\$(.*)\$\$$", re.DOTALL)
_INLINE = re.compile(r"\\\((.*)\\\)|\$(.*)\$", re.DOTALL)
_VARIANT = re.compile(r"#(?:only-(?:light|dark)|gh-(?:light|dark)-mode-only)$")
_DARK = re.compile(r"#(?:only-dark|gh-dark-mode-only)$")


def write_link(walk: Walk, element: Element, href: str, pieces: list[str]) -> None:
    """Write a link, whatever else it may be on its page."""
    if walk.in_link or _SCRIPT.match(href):
        walk.inline(element, pieces)
        return
    inner: list[str] = []
    walk.in_link = True
    walk.inline(element, inner)
    walk.in_link = False
    written = "".join(inner)
    text = trim(written)
    url = walk.link(href.strip())
    if not text:
        _write_wordless_link(walk, element, href, url, pieces)
        return
    if written[:1].isspace():
        _space(written, pieces)
    target = destination(url)
    short = autolink(target, text_of(element).strip()) if len(element) == 0 else None
    _before_link(pieces)
    pieces.append(short or f"[{text}]({target})")
    if written[-1:].isspace():
        pieces.append(" ")


class _Code(str):
    """A piece that is inline code, and the code in it."""

    code: str

    def __new__(cls, code: str) -> _Code:
        piece = super().__new__(cls, code_span(code))
        piece.code = code
        return piece


class _Emphasised(str):
    """A piece between the markers of emphasis."""


def _write_wordless_link(walk: Walk, element: Element, href: str, url: str, pieces: list[str]) -> None:
    """Write a link that shows only an icon by the name that it has for the ear; a bare anchor is none."""
    label = " ".join((element.get("aria-label") or element.get("title") or "").split())
    if not label and href.startswith("#"):
        return
    if walk.plain is not None:
        walk.plain.append(f" {label or url} ")
    _space(" ", pieces)
    pieces.append(
        (None if label else autolink(url, url)) or f"[{escape(label or url, brackets=True)}]({destination(url)})"
    )
    pieces.append(" ")


def _before_link(pieces: list[str]) -> None:
    """Keep a `!` that stands before a link from making it an image."""
    if pieces and pieces[-1].endswith("!"):
        pieces[-1] = pieces[-1][:-1] + "\\!"


def _space(text: str, pieces: list[str]) -> None:
    if text and not (pieces and pieces[-1].endswith((" ", "\n"))):
        pieces.append(" ")


def _misread(pieces: list[str], text: str, element: Element) -> bool:
    """Tell whether markers around the text would not be read as emphasis, between what stands on both sides."""
    before = pieces[-1][-1:] if pieces else ""
    if "~" in (text[0], text[-1], before, (element.tail or "")[:1]):
        return True
    if pieces and isinstance(pieces[-1], _Emphasised):
        return True
    if before.isalnum() and not text[0].isalnum():
        return True
    if text[-1].isalnum():
        return False
    return _after(element)[:1].isalnum()


def _after(element: Element) -> str:
    """Give some of the text that follows an element in its line."""
    while not element.tail:
        following = element.getnext()
        if following is None:
            parent = element.getparent()
            if parent is None or parent.tag in BLOCK_TAGS:
                return ""
            element = parent
        elif text := text_of(following):
            return text
        else:
            element = following
    return element.tail


def _code_text(element: Element) -> str:
    return text_of(element) if len(element) else element.text or ""


def _code_piece(walk: Walk, text: str, pieces: list[str]) -> None:
    if walk.plain is not None:
        walk.plain.append(text)
    if pieces and isinstance(pieces[-1], _Code):  # two that touch would not be read as two
        text = pieces.pop().code + text
    if text:
        pieces.append(_Code(text))


def _linked_code(walk: Walk, element: Element, pieces: list[str]) -> None:
    _code_piece(walk, element.text or "", pieces)
    for child in element:
        href = child.get("href")
        if child.tag == "a" and href and not _SCRIPT.match(href):
            inner: list[str] = []
            _code_piece(walk, _code_text(child), inner)
            if inner:
                _before_link(pieces)
                pieces.append(f"[{''.join(inner)}]({destination(walk.link(href.strip()))})")
        elif len(child) and child.find(".//a[@href]") is not None:
            _linked_code(walk, child, pieces)
        else:
            _code_piece(walk, _code_text(child), pieces)
        _code_piece(walk, child.tail or "", pieces)


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
