"""What an answer really is: told by looking at its bytes, since servers say 200 and `text/markdown` of anything."""

from __future__ import annotations

import codecs
import json
import re
from typing import Literal

from roaming_crawler.fetch import Response

ContentKind = Literal["markdown", "html", "json", "xml", "binary", "nothing"]


def sniff_kind(answer: Response) -> ContentKind:
    """Give what an answer's body is. Markdown is any text that is nothing else."""
    data = answer.body
    if not data.strip():
        return "nothing"
    head = decode_text(data[:4096], answer.charset).lstrip("\ufeff \t\r\n")
    while head.startswith("<!--"):
        end = head.find("-->")
        head = head[end + 3 :].lstrip() if end >= 0 else ""
    if _HTML.match(head) or (answer.kind in ("text/html", "application/xhtml+xml") and _TAGS.search(head)):
        return "html"
    if head.startswith("<?xml") or answer.kind in ("application/xml", "text/xml"):
        return "html" if "<html" in head.lower() else "xml"
    if _binary(data):
        return "binary"
    if head.startswith(("{", "[")) and _is_json(data):
        return "json"
    return "markdown"


def decode_text(data: bytes, charset: str = "") -> str:
    """Give a text's characters: by its byte order mark, as UTF-8, as its server says, else as it looks.

    In that order: what is valid UTF-8 is nothing else, whatever a server says.
    """
    for mark, name in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(name, "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start >= len(data) - 3 and error.reason == "unexpected end of data":  # cut off in mid-character
            return data.decode("utf-8", "ignore")
    if charset:
        try:
            return data.decode(charset)
        except (LookupError, UnicodeDecodeError, ValueError):
            pass
    from bs4.dammit import UnicodeDammit  # only for those few pages

    return UnicodeDammit(data, is_html=True).unicode_markup or data.decode("utf-8", "replace")


_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_HTML = re.compile(r"<(!doctype\s+html|html|head|body|meta|title|script|link)\b", re.IGNORECASE)
_TAGS = re.compile(r"<(html|head|body|main|article|div|p|h1|nav)\b[^>]*>", re.IGNORECASE)


def _binary(data: bytes) -> bool:
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return False
    head = data[:4096]
    odd = sum(1 for byte in head if byte < 32 and byte not in b"\t\n\r\f\x1b")
    return b"\0" in head or odd > len(head) // 20


def _is_json(data: bytes) -> bool:
    try:
        return isinstance(json.loads(data), (dict, list))
    except (ValueError, RecursionError):
        return False
