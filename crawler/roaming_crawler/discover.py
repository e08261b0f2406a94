"""Finds out which pages a site has: by its manifest, its llms.txt, its sitemap; what its pages link to comes later."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import urljoin

from mkdocs_roaming.errors import ManifestError
from mkdocs_roaming.manifest.io import MANIFEST_PATH, load_manifest
from mkdocs_roaming.manifest.models import Manifest, NavItem
from roaming_crawler.fetch import MEGABYTE, FetchError, Response
from roaming_crawler.llms_full import FullText, split_llms_full
from roaming_crawler.llms_txt import LlmsIndex, is_llms_txt_url, parse_llms_txt
from roaming_crawler.page import PageRef, make_page_ref, merge_page_refs
from roaming_crawler.parser import parse_page
from roaming_crawler.scope import Scope, canonical_url, is_page_url, url_origin
from roaming_crawler.session import ACCEPT_ANY, ACCEPT_HTML, Session
from roaming_crawler.sitemap import MAX_SITEMAP_BYTES, parse_sitemap
from roaming_crawler.sniff import decode_text, sniff_kind

MOST_NESTED = 50
"""The llms.txt files that one crawl follows from others."""
MOST_SITEMAPS = 200
LARGEST_FULL = 50 * MEGABYTE
LARGEST_MANIFEST = 100 * MEGABYTE


@dataclass(slots=True)
class DiscoveredPages:
    """What was found out about a site before its pages are asked for. `notes` tell what was not understood."""

    scope: Scope
    manifest: Manifest | None = None
    root: str = ""
    """Where the manifest's paths start."""
    indexes: list[tuple[str, LlmsIndex]] = field(default_factory=list)
    whole: list[str] = field(default_factory=list)
    """Addresses of texts that hold several pages."""
    full: str = ""
    """That of them which pages are taken from."""
    asked: set[str] = field(default_factory=set)
    """Where lists were looked for."""
    entries: dict[str, PageRef] = field(default_factory=dict)
    sources: dict[str, int] = field(default_factory=dict)
    """How many pages each source listed."""
    notes: list[str] = field(default_factory=list)
    navs: list[tuple[NavItem, ...]] = field(default_factory=list)
    """The navs of pages that are not published themselves: mdBook's stands in a frame."""
    _loosely: dict[str, str] = field(default_factory=dict)

    def add(self, entry: PageRef) -> None:
        """Add a page, or what is new about a known one."""
        loose = loose_key(entry.url)
        known = self.entries.get(entry.url) or self.entries.get(self._loosely.get(loose, ""))
        if known is not None and (known.url == entry.url or known.guessed or entry.guessed):
            del self.entries[known.url]
            entry = merge_page_refs(known, entry)
        self.entries[entry.url] = entry
        self._loosely.setdefault(loose, entry.url)
        if known is not None and known.guessed:
            self._loosely[loose] = entry.url


@dataclass(frozen=True, slots=True)
class DiscoveryConfig:
    """Which sources are asked."""

    manifest: bool = True
    llms: bool = True
    sitemap: bool = True


async def discover(session: Session, scope: Scope, given: str, sources: DiscoveryConfig) -> DiscoveredPages:
    """Find the pages of a site by what it publishes for that; `given` is the address that was asked for."""
    found = DiscoveredPages(scope)
    if sources.manifest:
        await _manifest(session, found)
        if found.manifest:
            return found
    if sources.llms:
        await _llms(session, found, given)
    if sources.sitemap:
        await _sitemaps(session, found)
    if scope.path(given) and is_page_url(given):
        found.add(PageRef(given))
    if not scope.holds(given):
        await _first_page(session, found, given)
    return found


def loose_key(url: str) -> str:
    """Give what the spellings that one page may have, `guide`, `guide/` and `guide.html`, have in common."""
    return url.rstrip("/").removesuffix(".html")


async def _get(session: Session, url: str, cap: int | None = None, accept: str = ACCEPT_ANY) -> Response | None:
    try:
        answer = await session.get(url, accept, probe=accept == ACCEPT_ANY, cap=cap)
    except FetchError:
        return None
    return answer if answer.good else None


async def _manifest(session: Session, found: DiscoveredPages) -> None:
    answer = await _get(session, found.scope.url + MANIFEST_PATH, LARGEST_MANIFEST)
    if answer is None or sniff_kind(answer) != "json":
        return
    try:
        found.manifest = load_manifest(answer.body, where=answer.url)
        found.root = urljoin(answer.url, "../")
    except ManifestError as error:
        found.notes.append(f"{error}; the site is read as any other")


async def _first_page(session: Session, found: DiscoveredPages, given: str) -> None:
    """Take what the given page links to, where it is no part of the crawl itself."""
    answer = await _get(session, given, accept=ACCEPT_HTML)
    if answer is None or sniff_kind(answer) != "html":
        return
    seen = parse_page(answer.body, answer.charset, answer.url, found.scope.url)
    for link in (*seen.links, *seen.nav_links):
        if found.scope.contains(link) and is_page_url(link):
            found.add(make_page_ref(link))
            found.sources["given page"] = found.sources.get("given page", 0) + 1


# llms.txt


async def _llms(session: Session, found: DiscoveredPages, given: str) -> None:
    for spots in (await _declared(session, found.scope, given), _usual(found.scope, given), _unusual(found.scope)):
        for spot in dict.fromkeys(spots):
            if not found.entries and spot not in found.asked:
                found.asked.add(spot)
                await _one_llms(session, found, spot, MOST_NESTED)
    if found.entries:
        await _full(session, found)


async def _declared(session: Session, scope: Scope, given: str) -> list[str]:
    """Give the lists that the first page names, in its `Link` header or its head."""
    answer = await _get(session, given, accept=ACCEPT_HTML)
    if answer is None:
        return []
    head = decode_text(answer.body[:_HEAD], answer.charset) if sniff_kind(answer) == "html" else ""
    named = [*_LINK_HEADER.findall(answer.link), *_LINK_ELEMENT.findall(head)]
    urls = [canonical_url(name, answer.url) for name in named]
    return [url for url in urls if url and is_llms_txt_url(url) and url_origin(url) == url_origin(scope.url)]


def _usual(scope: Scope, given: str) -> list[str]:
    """Give where lists lie: at the given address itself, beside it, at the root, in the usual folders."""
    own = [given] if given.endswith(".txt") else []
    if scope.url.startswith("file:"):
        return [*own, f"{scope.url}llms.txt"]
    origin = url_origin(scope.url)
    beside = [f"{scope.url}llms.txt", f"{origin}/llms.txt"]
    return [*own, *beside, f"{origin}/docs/llms.txt", f"{origin}/.well-known/llms.txt"]


def _unusual(scope: Scope) -> list[str]:
    """Give how else the file is spelled: one in four of those that are called otherwise is `llm.txt`."""
    return [scope.url + name for name in ("llm.txt", "LLMs.txt", "LLMS.txt")]


_HEAD = 100_000
_LINK_HEADER = re.compile(r"<([^<>]*)>")
_LINK_ELEMENT = re.compile(r"<link\b[^<>]*?\bhref\s*=\s*[\"']?([^\"'<>\s]+)", re.IGNORECASE)


async def _one_llms(session: Session, found: DiscoveredPages, spot: str, most: int) -> None:
    """Read an llms.txt and those that it names."""
    todo, seen = [spot], {spot}
    outside: dict[str, int] = {}
    while todo:
        url = todo.pop(0)
        answer = await _get(session, url)
        if answer is None:
            if url != spot:
                found.notes.append(f"{url}: named by an llms.txt, but cannot be fetched")
            continue
        if sniff_kind(answer) != "markdown":
            if sniff_kind(answer) != "html" or url != spot:
                found.notes.append(f"{url}: is {sniff_kind(answer)}, not an llms.txt")
            continue
        text = decode_text(answer.body, answer.charset)
        if url != spot and len(split_llms_full(text, answer.url).by_url()) > 1:  # whole pages under a list's name
            found.whole.append(url)
            continue
        index = parse_llms_txt(text, answer.url)
        found.indexes.append((answer.url, index))
        found.notes += index.faults if url == spot else ()
        _entries(found, index, outside)
        for nested in index.nested:
            if nested in seen:
                continue
            if url_origin(nested) != url_origin(spot):
                outside[url_origin(nested)] = outside.get(url_origin(nested), 0) + 1
            elif len(seen) > most:
                found.notes.append(f"{url}: names more than {most} other llms.txt files; the rest is not read")
                break
            else:
                seen.add(nested)
                todo.append(nested)
    for host, count in outside.items():
        leads = "1 of its links leads" if count == 1 else f"{count} of its links lead"
        found.notes.append(f"{spot}: {leads} out of {found.scope.url}, to {host}; crawl that address to have them")


def _entries(found: DiscoveredPages, index: LlmsIndex, outside: dict[str, int]) -> None:
    for entry in index.entries:
        if found.scope.holds(entry.url) and not found.scope.contains(entry.url):
            continue  # ruled out
        if not found.scope.holds(entry.url):
            host = url_origin(entry.url)
            outside[host] = outside.get(host, 0) + 1
        elif is_page_url(entry.url) or entry.url.endswith((".md", ".mdx", ".markdown", ".txt")):
            found.add(make_page_ref(entry.url, title=entry.title, description=entry.description))
            found.sources["llms.txt"] = found.sources.get("llms.txt", 0) + 1


async def _full(session: Session, found: DiscoveredPages) -> None:
    """Take the pages from llms-full.txt, where it holds all that llms.txt lists."""
    named = [*found.whole, *(url for _, index in found.indexes for url in index.full)]
    beside = [urljoin(url, "llms-full.txt") for url, _ in found.indexes[:1]]
    for url in dict.fromkeys([*named, *beside]):
        if url_origin(url) != url_origin(found.scope.url):
            continue
        answer = await _get(session, url, LARGEST_FULL)
        if answer is None or sniff_kind(answer) != "markdown":
            continue
        pieces = split_llms_full(decode_text(answer.body, answer.charset), answer.url)
        texts = match_texts(pieces, found.entries)
        if _covers(texts, pieces, found):
            for key, text in texts.items():
                found.entries[key].text = text
            found.sources["llms-full.txt"], found.full = len(texts), url
            return
        found.notes.append(
            f"{url}: {len(pieces.pieces)} pages in it by the convention “{pieces.convention}”, {len(texts)} of the "
            f"{len(found.entries)} that llms.txt lists; not used, every page is fetched"
        )


def _covers(texts: dict[str, str], pieces: FullText, found: DiscoveredPages) -> bool:
    """Tell whether a text holds what is listed: all of it, or nearly all of it by address; the rest is then fetched."""
    most = len(found.entries) * (0.9 if pieces.by_url() else 1)
    return bool(texts) and len(texts) >= most


def match_texts(pieces: FullText, entries: dict[str, PageRef]) -> dict[str, str]:
    """Give the text of each entry that exactly one piece is about: by its address, else by its title."""
    by_url = {loose_key(make_page_ref(url).url): piece for url, piece in pieces.by_url().items()}
    if by_url:
        found = {key: by_url.get(loose_key(entry.url)) for key, entry in entries.items()}
        return {key: piece.markdown for key, piece in found.items() if piece}
    listed = Counter(_folded(entry.title) for entry in entries.values())
    held = Counter(_folded(piece.title) for piece in pieces.pieces)
    by_title = {_folded(piece.title): piece.markdown for piece in pieces.pieces}
    return {
        key: by_title[title]
        for key, entry in entries.items()
        if listed[title := _folded(entry.title)] == 1 and held[title] == 1
    }


def _folded(title: str) -> str:
    return " ".join(title.casefold().split())


# Sitemaps


async def _sitemaps(session: Session, found: DiscoveredPages) -> None:
    scope = found.scope
    local = scope.url.startswith("file:")
    named = () if local else (await session.robots(scope.url)).sitemaps
    spots = [url for name in named if (url := canonical_url(name, scope.url))]
    spots += [scope.url + "sitemap.xml", *([] if local else [url_origin(scope.url) + "/sitemap.xml"])]
    todo, seen = list(dict.fromkeys(spots)), set(spots)
    count = 0
    inside: Callable[[str], bool] = scope.contains
    elsewhere: dict[str, str] = {}
    while todo:
        url = todo.pop(0)
        answer = await _get(session, url, MAX_SITEMAP_BYTES)
        if answer is None or sniff_kind(answer) == "html":
            if url in named:
                found.notes.append(f"{url}: named by robots.txt, but is no sitemap")
            continue
        sitemap = parse_sitemap(answer.body)
        if sitemap.fault:
            found.notes.append(f"{url}: {sitemap.fault}")
        for address in sitemap.urls:
            page = canonical_url(address, answer.url)
            if page and inside(page) and is_page_url(page):
                found.add(PageRef(page))
                count += 1
            elif page and not local and url_origin(page) != url_origin(scope.url):
                elsewhere.setdefault(url_origin(page), url)
        for address in sitemap.sitemaps:
            further = canonical_url(address, answer.url)
            if further and further not in seen and url_origin(further) == url_origin(answer.url):
                if len(seen) >= MOST_SITEMAPS:
                    found.notes.append(f"{url}: more than {MOST_SITEMAPS} sitemaps; the rest is not read")
                    todo.clear()
                    break
                seen.add(further)
                todo.append(further)
    if count:
        found.sources["sitemap"] = count
    elif elsewhere:  # a copy of a site, or one that has moved
        host, url = next(iter(elsewhere.items()))
        found.notes.append(f"{url}: lists nothing below {scope.url}, but pages of {host}; crawl that to have them")
