"""Embedded content: images, emoji, videos, pages and programs in addresses."""

from __future__ import annotations

import base64
import json
import re
import zlib
from contextlib import suppress
from itertools import islice
from string import ascii_letters, digits
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
from mkdocs_roaming.html.visitor import Blocks, Element, Pieces, Visitor, element_text, is_hidden, read_label

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
"""The mark of a color scheme at the end of an address, `#only-dark`, and the logo in that of a badge."""


def write_image(visitor: Visitor, element: Element, pieces: Pieces) -> None:
    """Write an image. A `data:` image becomes its alternative text, an image for a dark color scheme is dropped."""
    src = find_image_source(element)
    if is_hidden(element) or src.endswith(_DARK):
        return
    alt = read_label(element, "alt")
    if alt == _NO_DESCRIPTION or (alt == element.get("src") and "/" in alt):
        alt = ""
    if not src:
        write_spaced_text(visitor, alt, element, pieces)
        return
    visitor.record_plain(alt)
    escape_exclamation_mark(pieces)
    target = format_destination(visitor.image(strip_color_variant(src)))
    if title := element.get("title"):
        target += " " + format_title(title)
    pieces.append(f"![{escape_text(alt, brackets=True)}]({target})")


def find_image_source(element: Element) -> str:
    """Return the URL of an image or a frame, `""` if there is none but `data:`."""
    for name in _SOURCE_ATTRIBUTES:
        src = element.get(name, "").strip()
        if src and not is_script_url(src):
            return src
    sources = element.get("srcset") or element.get("data-srcset") or ""
    candidates = sources.partition(",")[0].split()
    if not candidates or candidates[0].startswith("data:"):
        return ""
    return candidates[0]


def strip_color_variant(src: str) -> str:
    """Return the URL of an image without the mark for a dark or light color scheme, and without the logo of a badge."""
    return _VARIANT_OR_LOGO.sub("", src)


def write_emoji(visitor: Visitor, element: Element, pieces: Pieces) -> None:
    """Write an emoji as its character, or the name that the page gives it."""
    if element.tag == "img":
        visitor.write_text(read_label(element, "alt", "title"), pieces)
    else:
        write_span(visitor, element, pieces)


def write_drawing(visitor: Visitor, element: Element, pieces: Pieces) -> None:
    """Write a drawing as its name and its labels, unless the text next to it says the same."""
    text = describe_drawing(element)
    if text and not is_repeated(text, element, pieces):
        write_spaced_text(visitor, text, element, pieces)


def describe_drawing(element: Element) -> str:
    """Return the name, the description and the labels of a drawing, `""` if it has none or only decorates."""
    if is_hidden(element) or _DECORATION(element):
        return ""
    texts = [read_label(element, "aria-label")]
    for part in element.iter("title", "desc", "text", "foreignobject"):
        if not _ALTERNATIVE(part):
            text = " ".join(map(str, part.itertext()))
            texts.append(" ".join(text.split()))
    unique = filter(None, dict.fromkeys(texts))
    return shorten("; ".join(unique), _MAX_DESCRIPTION, placeholder=" …")


def write_media_block(visitor: Visitor, element: Element, out: Blocks) -> None:
    """Write an embedded page as the program in its address, unless the page shows the code next to it, or as a link."""
    fences = [] if is_hidden(element) else _format_program(element, _find_media_source(element))
    if fences:
        out.extend(fences)
        return
    pieces: Pieces = []
    write_media(visitor, element, pieces)
    visitor.end_paragraph(pieces, out)


def write_media(visitor: Visitor, element: Element, pieces: Pieces) -> None:
    """Write a video, a sound or an embedded page as a link to it."""
    src = _find_media_source(element)
    if not src or is_hidden(element):
        return
    url = shorten_address(visitor.image(src))
    title = read_label(element, "title", "aria-label") or url
    add_space(" ", pieces)
    if visitor.context.in_link:
        visitor.write_text(title, pieces)
    else:
        pieces.append(format_link(url, title))
    add_space(" ", pieces)


def _find_media_source(element: Element) -> str:
    source = element.find("source")
    inner = source.get("src", "") if source is not None else ""
    return find_image_source(element) or inner


# Programs in addresses: playgrounds keep source code in the fragment or the query of a URL

_MAX_FILES = 20
_MAX_PROGRAM = 100_000
"""Size of a program. A short address can hold millions of characters."""
_LONG_DATA = re.compile(r"#(?!_CPP)[^#]{200,}|(?<=[?&])[^?&=#]+=[^&#]{200,}&?")
"""A fragment or a query parameter that is no name. Sphinx derives long anchors from signatures in C++."""
_LONG_ADDRESS = 200
_PROGRAM = re.compile(r"(?:[?&#]code=|#code/|#pako:|#base64:|#(?=eN|H4sI))([^&#]+)")
"""A program in an address: `?code=…`, `#code/…`, or a fragment that begins like compressed data."""
_ENCODING = frozenset(f"{ascii_letters}{digits}_+/=$-")
"""The digits of Base64 in addresses."""
_BASE64_GROUP = 4
_ZLIB_OR_GZIP = 47
"""The argument of zlib to detect the header."""
_CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
"""Characters that no program contains."""
_MIN_CODE_SHARE = 1 / 4
"""Share of visible ASCII characters in the text of a program."""
_LANGUAGES = {"py": "python", "marimo": "python", "rust": "rust", "typescript": "ts", "mermaid": "mermaid"}
"""Languages by the suffix of a file, or by a part of the address of a program without files."""


def shorten_address(url: str) -> str:
    """Return an address without the programs and other data in it."""
    if len(url) <= _LONG_ADDRESS:
        return url
    return _LONG_DATA.sub("", url).rstrip("?&")


def read_program(url: str) -> dict[str, str]:
    """Return the files of the program in an address by name, a single one by `""`."""
    data = _PROGRAM.search(url)
    if data is None:
        return {}
    text = _decode(data[1])
    try:
        value = json.loads(text)
        files = value if isinstance(value, dict) else {entry["name"]: entry["content"] for entry in value}
    except (LookupError, RecursionError, TypeError, ValueError):
        files = {}
    if "code" in files:
        files = {"": files["code"]}
    contents = {str(name): content for name, content in files.items() if isinstance(content, str)}
    program: dict[str, str] = {}
    for name, content in islice((contents or {"": text}).items(), _MAX_FILES):
        is_noise = len(_code_key(content)) <= _MIN_CODE_SHARE * len(content) or _CONTROL.search(content)
        if name.isprintable() and not is_noise:
            program[name] = content
    return program


def _format_program(element: Element, src: str) -> Blocks:
    """Return the files of the program in an address as code blocks, without those that the page shows next to it."""
    program = read_program(src)
    if not program:
        return []
    parent = element.getparent()
    is_alone = element.getprevious() is None and element.getnext() is None  # `len` counts all children
    block = parent if parent is not None and is_alone else element
    neighbours = [sibling for sibling in (block.getprevious(), block.getnext()) if sibling is not None]
    shown = "".join(_code_key(element_text(sibling)) for sibling in neighbours)
    fences: Blocks = []
    for name, text in program.items():
        if _code_key(text) not in shown:
            code = "\n".join(text.splitlines()).strip("\n")
            fences.append(format_fence(code, _find_program_language(name, src), name))
    return fences


def _find_program_language(name: str, url: str) -> str:
    suffix = name.rpartition(".")[2]
    if not suffix:
        address = _PROGRAM.sub("", url)
        suffix = next((part for part in _LANGUAGES if part in address), "")
    return _LANGUAGES.get(suffix, suffix if suffix in LANGUAGES else "")


def _code_key(code: str) -> str:
    """Return code without white space and characters that encoders may have changed."""
    return "".join(letter for letter in code if "!" <= letter <= "~")


def _decode(data: str) -> str:
    """Return text that is percent-encoded, Base64 with or without zlib, or compressed by lz-string; else `""`."""
    encoded = unquote(data)
    if not _ENCODING.issuperset(encoded):
        return unquote_plus(data)[:_MAX_PROGRAM]
    encoded = encoded.rstrip("=$")
    encoded += "A" * (-len(encoded) % _BASE64_GROUP)  # zeros, which the decoders ignore
    with suppress(ValueError, zlib.error):
        content = base64.b64decode(encoded.replace("-", "+").replace("_", "/"))
        if content.startswith((b"\x78", b"\x1f")):
            content = zlib.decompressobj(wbits=_ZLIB_OR_GZIP).decompress(content, _MAX_PROGRAM)
        return content.rstrip(b"\0").decode()
    with suppress(IndexError, ValueError):
        return _decompress_lz(base64.b64decode(encoded.replace("-", "/")))
    return ""


_BYTE = 8
_END = 2
"""The code of lz-string for the end. Those before it stand for a new character of 8 or 16 bits."""
_MAX_PADDING = 30
"""Bits after the end."""


def _decompress_lz(content: bytes) -> str:
    """Return text that lz-string has compressed. Codes grow with the dictionary, lowest bit first.

    Raises:
        IndexError, ValueError: The content is not valid.
    """
    bits = iter(f"{int.from_bytes(content, 'big'):0{_BYTE * len(content)}b}")

    def read(width: int) -> int:
        return int("".join(islice(bits, width))[::-1], 2)

    entries = ["", "", ""]
    text = ""
    previous = ""
    while len(text) < _MAX_PROGRAM:
        code = read(len(entries).bit_length())
        if code == _END:
            break
        if code < _END:
            entries.append(chr(read(_BYTE << code)))
            code = len(entries) - 1
        entry = entries[code] if code < len(entries) else previous + previous[0]
        if previous:
            entries.append(previous + entry[0])
        text += entry
        previous = entry
    if next(islice(bits, _MAX_PADDING, None), None) is not None:
        raise ValueError("not compressed by lz-string, or too long")
    return text.encode("utf-16", "surrogatepass").decode("utf-16")
