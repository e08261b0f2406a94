"""Embedded content: images, emoji, videos, pages, and math as TeX between dollar signs."""

from __future__ import annotations

import re
from itertools import islice

from mkdocs_roaming.html.code import format_fence
from mkdocs_roaming.html.escape import escape_text, format_destination, format_link, format_title
from mkdocs_roaming.html.inline import add_space, escape_exclamation_mark, write_spaced_text
from mkdocs_roaming.html.programs import find_program_language, read_program, shorten_address
from mkdocs_roaming.html.visitor import Element, Visitor, element_text, is_hidden

_SOURCE_ATTRIBUTES = ("src", "data-src", "data-lazy-src", "data-original")
_DELIMITED = re.compile(r"\$\$(.*)\$\$|\\\((.*)\\\)|\$(.*)\$", re.DOTALL)
_NO_DESCRIPTION = "No description has been provided for this image"
"""The alternative text of images in notebooks that have none, by nbconvert. That of docutils is the address."""
_ICON_CLASS = re.compile(
    r"(?:^|[\s-])(?:fa|bi|mdi|ti|ri|icon|octicon|codicon|glyphicon)-"
    r"(?!(?:solid|regular|brands|light|thin|fw|lg|xs|sm|\dx|wrapper)\b)([a-z][\w-]*)"
)
_ICON_SHAPES = {
    "check": re.compile(r"9 16\.17|10 14\.17|1\.06l-\d"),
    "close": re.compile(r"10\.59 12|1\.06 0L\d+ \d+\.94"),
}
"""Parts of the shapes of Material Design Icons and Octicons, whose SVG has no name."""
_MARKDOWN_LINE = re.compile(r"\s*(?:=+|-+|#{1,6}\s.*|>.*|[-+*]\s.*|\d+[.)]\s.*|`{3,}.*|~{3,}.*|<.*)$")


def write_image(visitor: Visitor, element: Element, pieces: list[str]) -> None:
    """Write an image. A `data:` image becomes its alternative text, the dark variant of a light image is dropped."""
    if is_hidden(element):
        return
    src = find_image_source(element)
    alt = _alternative_text(element)
    if not src:
        write_spaced_text(visitor, alt, element, pieces)
        return
    if _has_light_variant(element, src):
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
    return re.sub(r"#(?:only-(?:light|dark)|gh-(?:light|dark)-mode-only)$", "", src)


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


def find_icon_name(element: Element) -> str:
    """Return the name of an icon that is all that an element shows, `""` if nothing names it."""
    for icon in element.iter("svg", "i", "span"):
        if name := icon.get("aria-label") or icon.get("title"):
            return name
        if found := _ICON_CLASS.search(icon.get("class") or ""):
            return found[1]
        shape = next((path.get("d") or "" for path in icon.iter("path")), "")
        if name := next((name for name, part in _ICON_SHAPES.items() if part.search(shape)), ""):
            return name
    return ""


def write_media_block(visitor: Visitor, element: Element, out: list[str]) -> None:
    """Write an embedded page as the program in its address, unless the page also shows the code, or as a link."""
    src = _find_media_source(element)
    fences = [
        format_fence(text.strip("\n"), find_program_language(name, src), name)
        for name, text in read_program(src)
        if not visitor.shows_code(text)
    ]
    if fences and not is_hidden(element):
        out.extend(fences)
        return
    pieces: list[str] = []
    write_media(visitor, element, pieces)
    visitor.end_paragraph(pieces, out)


def write_media(visitor: Visitor, element: Element, pieces: list[str]) -> None:
    """Write a video, a sound or an embedded page as a link to it."""
    src = _find_media_source(element)
    if not src or src.startswith(("data:", "about:")) or is_hidden(element):
        return
    url = shorten_address(visitor.image(src))
    title = " ".join((element.get("title") or element.get("aria-label") or "").split())
    add_space(" ", pieces)
    if visitor.context.in_link:
        visitor.write_text(title or url, pieces)
    else:
        pieces.append(format_link(url, title or url))
    add_space(" ", pieces)


def _find_media_source(element: Element) -> str:
    source = element.find("source")
    return element.get("src") or element.get("data-src") or (source.get("src") if source is not None else "") or ""


def _alternative_text(element: Element) -> str:
    """Return the description of an image. Notebooks and docutils write one for images that have none."""
    text = " ".join((element.get("alt") or "").split())
    return "" if text == _NO_DESCRIPTION or (text == element.get("src") and "/" in text) else text


def _has_light_variant(element: Element, src: str) -> bool:
    """Return whether a dark image has a light variant next to it."""
    parent = element.getparent()
    if not re.search(r"#(?:only-dark|gh-dark-mode-only)$", src) or parent is None:
        return False
    wrapper = parent.getparent() if len(parent) == 1 else parent
    images = (wrapper if wrapper is not None else parent).iter("img")
    return any(
        (other.get("src") or "").endswith(("#only-light", "#gh-light-mode-only")) for other in islice(images, 100)
    )


# Math


def write_math(visitor: Visitor, element: Element, pieces: list[str]) -> None:
    """Write a formula within a line."""
    tex, display = extract_tex(element)
    if not tex:
        visitor.write_inline(element, pieces)
        return
    dollars = "$$" if display else "$"
    written = f"{dollars}{' '.join(tex.split())}{dollars}"
    visitor.record_plain(written)
    pieces.append(written)


def write_script(visitor: Visitor, element: Element, pieces: list[str]) -> None:
    """Write the formula in a script for MathJax. Other scripts are dropped."""
    if (element.get("type") or "").startswith("math/tex"):
        write_math(visitor, element, pieces)


def write_display_math(visitor: Visitor, element: Element, out: list[str]) -> None:
    """Write a formula on lines of its own."""
    tex, _ = extract_tex(element)
    if not tex:
        visitor.write_group(element, out)
        return
    lines = [line.rstrip() for line in tex.splitlines() if line.strip()]
    # TeX does not mind joined lines, but Markdown would read some lines as a list or the like.
    separator = " " if any(_MARKDOWN_LINE.match(line) for line in lines) else "\n"
    out.append(f"$$\n{separator.join(lines)}\n$$")


def write_raw_math(visitor: Visitor, element: Element, out: list[str]) -> None:
    """Write blocks whose formulas are still text, as notebooks leave them to MathJax."""
    with visitor.within(raw_math=True):
        visitor.write_group(element, out)


def extract_tex(element: Element) -> tuple[str, bool]:
    """Return the TeX source of a formula, `""` if there is none, and whether it is display math."""
    kind = element.get("type") or ""
    if kind.startswith("math/tex"):
        return element_text(element).strip(), "mode=display" in kind
    classes = element.get("class") or ""
    display = "display" in classes or element.get("display") in ("true", "block") or element.get("mode") == "display"
    annotation = element.find(".//annotation[@encoding='application/x-tex']")
    if annotation is not None:
        return element_text(annotation).strip(), display
    inner = next((child for child in element.iter("script") if (child.get("type") or "").startswith("math/tex")), None)
    if inner is not None:
        return extract_tex(inner)
    if element.tag == "math":
        return (element.get("alttext") or "").strip(), display
    text = element_text(element).strip()
    return _strip_delimiters(text) or ((text, display) if "math" in classes.split() else ("", False))


def _strip_delimiters(text: str) -> tuple[str, bool] | None:
    """Return the TeX between delimiters, and whether they are those of display math; None without delimiters."""
    begin, end = text.find("\\["), text.rfind("\\]")
    if -1 < begin < end:
        return text[begin + 2 : end].strip(), True
    found = _DELIMITED.fullmatch(text)
    return ((found[1] or found[2] or found[3] or "").strip(), found[1] is not None) if found else None
