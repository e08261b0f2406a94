"""Sitemaps: parser without XML entities, and a walk over sitemap indexes."""

from __future__ import annotations

import re
import zlib
from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import dataclass, field

from lxml import etree

from roaming_crawler.fetch import Response
from roaming_crawler.scope import canonical_url, url_origin
from roaming_crawler.sniff import sniff_kind

MAX_SITEMAPS = 200
MAX_SITEMAP_BYTES = 50_000_000
"""Maximum size of a decompressed sitemap, as the protocol says."""


@dataclass(frozen=True, slots=True)
class Sitemap:
    """The URLs of pages and of other sitemaps in a sitemap; `fault` is a problem, as a message.

    `alternates` are the languages and URLs of translations, from `<xhtml:link hreflang>`.
    """

    urls: tuple[str, ...] = ()
    sitemaps: tuple[str, ...] = ()
    fault: str = ""
    alternates: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class ListedUrls:
    """The canonical URLs in all sitemaps of a site, each with the URL of its sitemap, and problems as messages.

    `alternates` are the languages and canonical URLs of translations.
    """

    pages: list[tuple[str, str]] = field(default_factory=list)
    alternates: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


async def collect_sitemaps(
    get: Callable[[str], Awaitable[Response | None]], roots: Iterable[str], *, expected: Collection[str]
) -> ListedUrls:
    """Fetch sitemaps and the sitemaps that they list on the same host.

    Args:
        get: Fetches a URL; returns None if there is nothing.
        roots: URLs of the first sitemaps.
        expected: URLs that robots.txt names: it is reported if one of them is not a sitemap.
    """
    found = ListedUrls()
    queue = list(dict.fromkeys(roots))
    seen = set(queue)
    while queue:
        url = queue.pop(0)
        response = await get(url)
        if response is None or sniff_kind(response) == "html":
            if url in expected:
                found.notes.append(f"{url}: named by robots.txt, but is not a sitemap")
            continue
        sitemap = parse_sitemap(response.body)
        if sitemap.fault:
            found.notes.append(f"{url}: {sitemap.fault}")
        for listed in sitemap.urls:
            if page := canonical_url(listed, response.url):
                found.pages.append((page, url))
        for language, listed in sitemap.alternates:
            if page := canonical_url(listed, response.url):
                found.alternates.append((language, page))
        for listed in sitemap.sitemaps:
            nested = canonical_url(listed, response.url)
            if nested and nested not in seen and url_origin(nested) == url_origin(response.url):
                if len(seen) >= MAX_SITEMAPS:
                    found.notes.append(f"{url}: more than {MAX_SITEMAPS} sitemaps; the rest is not read")
                    queue.clear()
                    break
                seen.add(nested)
                queue.append(nested)
    return found


def parse_sitemap(data: bytes) -> Sitemap:
    """Parse a sitemap or a sitemap index in XML or text, gzipped or not.

    Data that is not a sitemap, or unsafe to parse, yields a fault and no URLs.
    """
    if data[:2] == b"\x1f\x8b":
        unpacked = _decompress(data)
        if isinstance(unpacked, str):
            return Sitemap(fault=unpacked)
        data = unpacked
    if re.search(rb"<!(DOCTYPE|ENTITY)", data[:10_000].replace(b"\0", b""), re.IGNORECASE):
        return Sitemap(fault="declares entities or is a web page; not read")
    if not data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"<", b"\xff\xfe", b"\xfe\xff")):
        urls = re.findall(rb"^\s*(https?://\S+)\s*$", data, re.MULTILINE)
        return Sitemap(tuple(url.decode("utf-8", "replace") for url in urls), fault="" if urls else "lists no URLs")
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, recover=True, huge_tree=False)
    try:
        root = etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        return Sitemap(fault=f"not XML ({error})")
    if root is None:
        return Sitemap(fault="not XML")
    found: dict[str, list[str]] = {"url": [], "sitemap": []}
    alternates: list[tuple[str, str]] = []
    for entry in root.iter():
        name = etree.QName(entry).localname if isinstance(entry.tag, str) else ""
        if name == "link" and entry.get("hreflang") and entry.get("href"):
            alternates.append((entry.get("hreflang") or "", entry.get("href") or ""))
        if name in found:
            loc = next((child for child in entry if isinstance(child.tag, str) and child.tag.endswith("loc")), None)
            if loc is not None and loc.text and loc.text.strip():
                found[name].append(loc.text.strip())
    fault = "" if found["url"] or found["sitemap"] else "lists no URLs"
    return Sitemap(tuple(found["url"]), tuple(found["sitemap"]), fault, tuple(dict.fromkeys(alternates)))


def _decompress(data: bytes) -> bytes | str:
    """Decompress gzip up to the size limit; return a message on failure."""
    decompressor = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        unpacked = decompressor.decompress(data, MAX_SITEMAP_BYTES)
    except zlib.error as error:
        return f"not gzip ({error})"
    if decompressor.unconsumed_tail:
        return f"more than {MAX_SITEMAP_BYTES // 10**6} MB decompressed; refused"
    return unpacked
