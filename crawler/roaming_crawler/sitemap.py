"""Reads sitemaps: lists and lists of lists, packed or not; XML without entities."""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass

from lxml import etree

MAX_SITEMAP_BYTES = 50_000_000
"""The bytes that a sitemap may have when it is unpacked, as the protocol says."""


@dataclass(frozen=True, slots=True)
class Sitemap:
    """The addresses that a sitemap lists, and the sitemaps."""

    urls: tuple[str, ...] = ()
    sitemaps: tuple[str, ...] = ()
    fault: str = ""


def parse_sitemap(data: bytes) -> Sitemap:
    """Read a sitemap; what is none, or is dangerous to read, has a fault and no addresses."""
    if data[:2] == b"\x1f\x8b":
        unpacked = _unpacked(data)
        if isinstance(unpacked, str):
            return Sitemap(fault=unpacked)
        data = unpacked
    if re.search(rb"<!(DOCTYPE|ENTITY)", data[:10_000].replace(b"\0", b""), re.IGNORECASE):
        return Sitemap(fault="declares entities or is a web page; not read")
    if not data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"<", b"\xff\xfe", b"\xfe\xff")):
        urls = re.findall(rb"^\s*(https?://\S+)\s*$", data, re.MULTILINE)
        return Sitemap(tuple(url.decode("utf-8", "replace") for url in urls), fault="" if urls else "lists no address")
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, recover=True, huge_tree=False)
    try:
        root = etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        return Sitemap(fault=f"not XML ({error})")
    if root is None:
        return Sitemap(fault="not XML")
    found: dict[str, list[str]] = {"url": [], "sitemap": []}
    for entry in root.iter():
        name = etree.QName(entry).localname if isinstance(entry.tag, str) else ""
        if name in found:
            loc = next((child for child in entry if isinstance(child.tag, str) and child.tag.endswith("loc")), None)
            if loc is not None and loc.text and loc.text.strip():
                found[name].append(loc.text.strip())
    fault = "" if found["url"] or found["sitemap"] else "lists no address"
    return Sitemap(tuple(found["url"]), tuple(found["sitemap"]), fault)


def _unpacked(data: bytes) -> bytes | str:
    """Unpack gzip, and stop at the cap; the error in words."""
    packed = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        unpacked = packed.decompress(data, MAX_SITEMAP_BYTES)
    except zlib.error as error:
        return f"not gzip ({error})"
    return f"more than {MAX_SITEMAP_BYTES // 10**6} MB unpacked; refused" if packed.unconsumed_tail else unpacked
