"""Content type from the bytes of a response, because servers label anything as `text/markdown`."""

from __future__ import annotations

import codecs
import json
import re
from typing import Literal

from mkdocs_roaming.sources import decode_text
from roaming_crawler.fetch import Response

ContentKind = Literal["markdown", "html", "json", "xml", "binary", "nothing"]


def sniff_kind(response: Response) -> ContentKind:
    """Return the content type of a response's body. Text of no other type is Markdown."""
    data = response.body
    if not data.strip():
        return "nothing"
    head = decode_text(data[:4096], response.charset).lstrip("\ufeff \t\r\n")
    while head.startswith("<!--"):
        end = head.find("-->")
        head = head[end + 3 :].lstrip() if end >= 0 else ""
    if _HTML_START.match(head) or (response.kind in ("text/html", "application/xhtml+xml") and _HTML_TAG.search(head)):
        return "html"
    if head.startswith("<?xml") or response.kind in ("application/xml", "text/xml"):
        return "html" if "<html" in head.lower() else "xml"
    if _is_binary(data):
        return "binary"
    if head.startswith(("{", "[")) and _is_json(data):
        return "json"
    return "markdown"


def _is_binary(data: bytes) -> bool:
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return False
    head = data[:4096]
    control_chars = sum(1 for byte in head if byte < 32 and byte not in b"\t\n\r\f\x1b")
    return b"\0" in head or control_chars > len(head) // 20


def _is_json(data: bytes) -> bool:
    try:
        return isinstance(json.loads(data), (dict, list))
    except (ValueError, RecursionError):
        return False


_HTML_START = re.compile(r"<(!doctype\s+html|html|head|body|meta|title|script|link)\b", re.IGNORECASE)
_HTML_TAG = re.compile(r"<(html|head|body|main|article|div|p|h1|nav)\b[^>]*>", re.IGNORECASE)
