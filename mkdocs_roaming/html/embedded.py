"""Embedded content: images, emoji, videos, pages and programs in addresses."""

from __future__ import annotations

import base64
import json
import re
import zlib
from contextlib import suppress
from itertools import islice
from textwrap import shorten
from urllib.parse import unquote, unquote_plus

from lxml import etree

from mkdocs_roaming.html.code import LANGUAGES, format_fence
from mkdocs_roaming.html.escape import escape_text, format_destination, format_link, format_title
from mkdocs_roaming.html.inline import (
    add_space,
    escape_exclamation_mark,
    is_repeated,
    is_script_url,
    write_spaced_text,
    write_span,
)
from mkdocs_roaming.html.themes import split_names
from mkdocs_roaming.html.visitor import Element, Visitor, element_text, is_hidden

_DARK = ("#only-dark", "#gh-dark-mode-only")
_SOURCE_ATTRIBUTES = split_names(
    "src data-src data-lazy-src data-cmp-src data-original spec-url data-url apidescriptionurl"
)
"""Attributes that hold an address: of lazy images and frames, and of API descriptions."""
_MAX_DESCRIPTION = 1_000
"""Characters of the text that replaces a drawing."""
_DECORATION = etree.XPath("ancestor-or-self::*[@aria-hidden='true'] | self::*[@role='presentation' or @role='none']")
_ALTERNATIVE = etree.XPath("boolean(ancestor-or-self::*[parent::switch][preceding-sibling::*])")
"""Whether an element of a drawing is for browsers that cannot show the one before it."""
_NO_DESCRIPTION = "No description has been provided for this image"
"""The alternative text of images in notebooks that have none, by nbconvert. That of docutils is the address."""
_VARIANT_OR_LOGO = re.compile(r"#(?:only-(?:light|dark)|gh-(?:light|dark)-mode-only)$|(?<=[?&])[^?&=#]+=data:[^&#]+&?")


def write_image(visitor: Visitor, element: Element, pieces: list[str]) -> None:
    """Write an image. A `data:` image becomes its alternative text, an image for a dark color scheme is dropped."""
    src = find_image_source(element)
    if is_hidden(element) or src.endswith(_DARK):
        return
    alt = _alternative_text(element)
    if not src:
        write_spaced_text(visitor, alt, element, pieces)
        return
    visitor.record_plain(alt)
    title = element.get("title")
    escape_exclamation_mark(pieces)
    target = format_destination(visitor.image(strip_color_variant(src)))
    pieces.append(f"![{escape_text(alt, brackets=True)}]({target}{' ' + format_title(title) if title else ''})")


def find_image_source(element: Element) -> str:
    """Return the URL of an image or a frame, `""` if there is none but `data:`."""
    for name in _SOURCE_ATTRIBUTES:
        if (src := (element.get(name) or "").strip()) and not is_script_url(src):
            return src
    candidates = (element.get("srcset") or element.get("data-srcset") or "").split(",")[0].split()
    return candidates[0] if candidates and not candidates[0].startswith("data:") else ""


def strip_color_variant(src: str) -> str:
    """Return the URL of an image without the mark for a dark or light color scheme, and without the logo of a badge."""
    return _VARIANT_OR_LOGO.sub("", src)


def write_emoji(visitor: Visitor, element: Element, pieces: list[str]) -> None:
    """Write an emoji as its character, or the name that the page gives it."""
    if element.tag == "img":
        visitor.write_text(find_emoji_text(element), pieces)
    else:
        write_span(visitor, element, pieces)


def write_drawing(visitor: Visitor, element: Element, pieces: list[str]) -> None:
    """Write a drawing as its name and its labels, unless the text next to it says the same."""
    text = describe_drawing(element)
    if text and not is_repeated(text, element, pieces):
        write_spaced_text(visitor, text, element, pieces)


def describe_drawing(element: Element) -> str:
    """Return the name, the description and the labels of a drawing, `""` if it has none or only decorates."""
    if is_hidden(element) or _DECORATION(element):
        return ""
    parts = (part for part in element.iter("title", "desc", "text", "foreignobject") if not _ALTERNATIVE(part))
    texts = [element.get("aria-label") or "", *(" ".join(map(str, part.itertext())) for part in parts)]
    unique = dict.fromkeys(" ".join(text.split()) for text in texts)
    return shorten("; ".join(filter(None, unique)), _MAX_DESCRIPTION, placeholder=" …")


def find_emoji_text(element: Element) -> str:
    """Return the character of an emoji's image, or its name."""
    return element.get("alt") or element.get("title") or ""


def write_media_block(visitor: Visitor, element: Element, out: list[str]) -> None:
    """Write an embedded page as the program in its address, unless the page shows the code next to it, or as a link."""
    src = _find_media_source(element)
    program = read_program(src)
    shown = _find_neighbouring_code(element) if program else ""
    fences = [
        format_fence("\n".join(text.splitlines()).strip("\n"), _find_program_language(name, src), name)
        for name, text in program.items()
        if _code_key(text) not in shown
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
    if not src or is_hidden(element):
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
    return find_image_source(element) or next((child.get("src") or "" for child in element.iterchildren("source")), "")


def _alternative_text(element: Element) -> str:
    """Return the description of an image. Notebooks and docutils write one for images that have none."""
    text = " ".join((element.get("alt") or "").split())
    return "" if text == _NO_DESCRIPTION or (text == element.get("src") and "/" in text) else text


# Programs in addresses: playgrounds keep source code in the fragment or the query of a URL

_MAX_FILES = 20
_MAX_PROGRAM = 100_000
"""Size of a program. A short address can hold millions of characters."""
_LONG_DATA = re.compile(r"#(?!_CPP)[^#]{200,}|(?<=[?&])[^?&=#]+=[^&#]{200,}&?")
"""A fragment or a query parameter that is no name. Sphinx derives long anchors from signatures in C++."""
_PROGRAM = re.compile(r"(?:[?&#]code=|#code/|#pako:|#base64:|#(?=eN|H4sI))([^&#]+)")
_ENCODED = re.compile(r"[\w+/=$-]+", re.ASCII)
_CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_LANGUAGES = {"py": "python", "marimo": "python", "rust": "rust", "typescript": "ts", "mermaid": "mermaid"}
"""Languages by the suffix of a file, or by a part of the address of a program without files."""


def shorten_address(url: str) -> str:
    """Return an address without the programs and other data in it."""
    return _LONG_DATA.sub("", url).rstrip("?&") if len(url) > 200 else url


def read_program(url: str) -> dict[str, str]:
    """Return the files of the program in an address by name, a single one by `""`."""
    found = _PROGRAM.search(url)
    text = _decode(found[1]) if found else ""
    try:
        value = json.loads(text)
        files = value if isinstance(value, dict) else {entry["name"]: entry["content"] for entry in value}
    except (LookupError, RecursionError, TypeError, ValueError):
        files = {}
    files = {"": files["code"]} if "code" in files else dict(islice(files.items(), _MAX_FILES))
    files = {str(name): content for name, content in files.items() if isinstance(content, str)} or {"": text}
    return {name: content for name, content in files.items() if name.isprintable() and _is_code(content)}


def _find_program_language(name: str, url: str) -> str:
    suffix = name.rpartition(".")[2] or next((part for part in _LANGUAGES if part in _PROGRAM.sub("", url)), "")
    return _LANGUAGES.get(suffix, suffix if suffix in LANGUAGES else "")


def _find_neighbouring_code(element: Element) -> str:
    """Return the text before and after an embedded page without its white space."""
    parent = element.getparent()
    is_alone = element.getprevious() is None and element.getnext() is None  # `len` counts all children
    block = parent if parent is not None and is_alone else element
    return "".join(
        _code_key(element_text(other)) for other in (block.getprevious(), block.getnext()) if other is not None
    )


def _is_code(text: str) -> bool:
    """Return whether decoded text is no noise."""
    return 4 * len(_code_key(text)) > len(text) and not _CONTROL.search(text)


def _code_key(code: str) -> str:
    """Return code without white space and characters that encoders may have changed."""
    return re.sub(r"[^!-~]+", "", code)


def _decode(data: str) -> str:
    """Return text that is percent-encoded, Base64 with or without zlib, or compressed by lz-string; else `""`."""
    digits = unquote(data)
    if not _ENCODED.fullmatch(digits):
        return unquote_plus(data)[:_MAX_PROGRAM]
    digits = digits.rstrip("=$") + "A" * (-len(digits.rstrip("=$")) % 4)  # zeros, which the decoders ignore
    for decode, alphabet in ((_decompress_zlib, ("-_", "+/")), (_decompress_lz, ("-", "/"))):
        with suppress(IndexError, ValueError, zlib.error):
            return decode(base64.b64decode(digits.translate(str.maketrans(*alphabet))))
    return ""


def _decompress_zlib(content: bytes) -> str:
    if content[:1] in (b"\x78", b"\x1f"):
        content = zlib.decompressobj(wbits=47).decompress(content, _MAX_PROGRAM)
    return content.rstrip(b"\0").decode()


def _decompress_lz(content: bytes) -> str:
    """Return text that lz-string has compressed.

    Codes grow with the dictionary, lowest bit first. The first three stand for a new character of 8 or 16 bits, and
    for the end.

    Raises:
        IndexError, ValueError: The content is not valid.
    """
    bits = iter(f"{int.from_bytes(content, 'big'):0{8 * len(content)}b}")

    def read(width: int) -> int:
        return int("".join(islice(bits, width))[::-1], 2)

    entries = ["", "", ""]
    text = ""
    previous = ""
    while len(text) < _MAX_PROGRAM and (code := read(len(entries).bit_length())) != 2:
        if code < 2:
            entries.append(chr(read(8 << code)))
            code = len(entries) - 1
        entry = entries[code] if code < len(entries) else previous + previous[0]
        if previous:
            entries.append(previous + entry[0])
        text += entry
        previous = entry
    if next(islice(bits, 30, None), None) is not None:
        raise ValueError("not compressed by lz-string, or too long")
    return text.encode("utf-16", "surrogatepass").decode("utf-16")
