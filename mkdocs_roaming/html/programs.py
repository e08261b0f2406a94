"""Programs in addresses: playgrounds keep source code, or other data, in the fragment or the query of a URL."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import unquote, unquote_plus

_MAX_CHARS = 100_000
"""Size of a program. A short address can hold millions of characters."""
_LONG = 200
_LONG_DATA = re.compile(rf"#(?!_CPP)[^#]{{{_LONG},}}|(?<=[?&])[^?&=#]+=[^&#]{{{_LONG},}}&?")
"""A fragment or a query parameter that is too long for a name. Sphinx derives long anchors from signatures in C++."""
_PROGRAM = re.compile(r"(?:[?&#]code=|#code/|#pako:|#base64:|#(?=eN|H4sI))([^&#]+)")
_ENCODED = re.compile(r"[\w+/=$-]+", re.ASCII)
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f]")
_LZ_DIGITS = {
    char: f"{index % 64:06b}"
    for index, char in enumerate(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-"
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    )
} | {"$": "", "=": ""}
_LANGUAGES = {"rust": "rust", "typescript": "ts", "mermaid": "mermaid", "marimo": "python", "py": "python"}
"""Languages of programs without a file name, by a part of their address."""


def shorten_address(url: str) -> str:
    """Return an address without the programs and other data in it."""
    return _LONG_DATA.sub("", url).rstrip("?&") if len(url) > _LONG else url


def read_program(url: str) -> list[tuple[str, str]]:
    """Return the files of the program in an address, each with its name; a single one may have none.

    The code may be percent-encoded, Base64 with or without zlib or gzip, or compressed by lz-string; several files
    are JSON.
    """
    found = _PROGRAM.search(url)
    text = next(_decode(found[1]), "") if found else ""
    return (_split_files(text) or [("", text)]) if text.strip() else []


def find_program_language(name: str, url: str) -> str:
    """Return the language of a file of a program, by its name or the address of the program."""
    suffix = name.rpartition(".")[2]
    if suffix:
        return _LANGUAGES.get(suffix, suffix if suffix.isalnum() else "")
    address = _PROGRAM.sub("", url)
    return next((language for part, language in _LANGUAGES.items() if part in address), "")


def _decode(data: str) -> Iterator[str]:
    """Yield the readings of encoded text that are text again."""
    if not _ENCODED.fullmatch(unquote(data)):
        yield unquote_plus(data)[:_MAX_CHARS]
        return
    data = unquote(data)
    for decode in (_decode_base64, _decompress_lz):
        with suppress(ValueError, zlib.error):
            text = decode(data)
            if not _CONTROL.search(text):
                yield text


def _decode_base64(data: str) -> str:
    digits = data.translate(str.maketrans("-_", "+/"))
    content = base64.b64decode(digits + "=" * (-len(digits) % 4), validate=True)
    if content[:1] in (b"\x78", b"\x1f"):
        content = zlib.decompressobj(wbits=47).decompress(content, _MAX_CHARS)
    return content.decode()


def _decompress_lz(data: str) -> str:
    """Return text that lz-string has compressed to a part of a URL.

    Codes grow with the dictionary, lowest bit first. The first three stand for a new character of 8 or 16 bits, and
    for the end.

    Raises:
        ValueError: The data is not valid.
    """
    bits = "".join(_LZ_DIGITS.get(char, " ") for char in data)
    position = size = 0

    def read(width: int) -> int:
        nonlocal position
        position += width
        return int(bits[position - width : position][::-1], 2)

    entries, pieces, previous = ["", "", ""], [""], ""
    while size < _MAX_CHARS and (code := read(len(entries).bit_length())) != 2:
        if code < 2:
            entries.append(chr(read(8 << code)))
            code = len(entries) - 1
        entry = entries[code] if code < len(entries) else previous + previous[:1]
        if not entry or code > len(entries):
            raise ValueError("not compressed by lz-string")
        if previous:
            entries.append(previous + entry[0])
        pieces.append(entry)
        size += len(entry)
        previous = entry
    if len(bits) - position > 12:
        raise ValueError("too long, or not compressed by lz-string")
    return "".join(pieces).encode("utf-16", "surrogatepass").decode("utf-16")


def _split_files(text: str) -> list[tuple[str, str]]:
    """Return the files of a program that is JSON; none if it is not."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return []
    if isinstance(value, dict):
        value = {"": value["code"]} if "code" in value else value.get("files", value)
    entries = value.items() if isinstance(value, dict) else enumerate(value if isinstance(value, list) else ())
    files = []
    for name, entry in entries:
        if isinstance(entry, dict):
            name, entry = entry.get("name", name), entry.get("content")
        if isinstance(entry, str):
            files.append((str(name), entry))
    return files
