"""Lists of pages that sites publish: llms.txt files, read tolerantly, and sitemaps, parsed without XML entities."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field

import httpx2
from lxml import etree

from mkdocs_roaming.text.markdown import follow_fence
from roaming_crawler.contents import sniff_kind
from roaming_crawler.fetch import FetchError, Response, decompress
from roaming_crawler.scope import canonical_url, url_origin

MAX_SITEMAPS = 200
MAX_SITEMAP_BYTES = 50_000_000
"""Maximum size of a decompressed sitemap, as the protocol says."""


# Sitemaps


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
        try:
            data = decompress(data, MAX_SITEMAP_BYTES)
        except (FetchError, httpx2.DecodingError) as error:
            return Sitemap(fault=str(error))
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
    return _read_entries(root)


def _read_entries(root: etree._Element) -> Sitemap:
    """Return the URLs below the root of a sitemap, whatever its namespace."""
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


# llms.txt


@dataclass(frozen=True, slots=True)
class LlmsLink:
    """A page that an llms.txt lists."""

    url: str
    title: str
    description: str = ""
    group: tuple[str, ...] = ()
    """The headings above it, from the second level on."""


@dataclass(frozen=True, slots=True)
class LlmsIndex:
    """A parsed llms.txt.

    Attributes:
        title: Name of the site.
        summary: Text of the block quote below the title.
        entries: Listed pages.
        nested: URLs of other llms.txt files.
        full: URLs of llms-full.txt files.
        faults: Problems, as messages.
    """

    title: str = ""
    summary: str = ""
    entries: tuple[LlmsLink, ...] = ()
    nested: tuple[str, ...] = ()
    full: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()


@dataclass(slots=True)
class _Parse:
    base: str
    titles: list[str] = field(default_factory=list)
    summary: list[str] = field(default_factory=list)
    group: tuple[str, ...] = ()
    entries: dict[str, LlmsLink] = field(default_factory=dict)
    mentioned: dict[str, LlmsLink] = field(default_factory=dict)
    """Links within the descriptions of list items."""
    nested: dict[str, None] = field(default_factory=dict)
    full: dict[str, None] = field(default_factory=dict)
    invalid: list[str] = field(default_factory=list)


def parse_llms_txt(text: str, base: str) -> LlmsIndex:
    """Parse an llms.txt; `base` is its URL."""
    parse = _Parse(base)
    for line in _join_wrapped_links(_inline_definitions(list(_prose_lines(text)))):
        _parse_line(line, parse)
    mentioned = {url: entry for url, entry in parse.mentioned.items() if url not in parse.entries}
    return LlmsIndex(
        title=next(filter(None, parse.titles), ""),
        summary=" ".join(parse.summary),
        entries=(*parse.entries.values(), *mentioned.values()),
        nested=tuple(parse.nested),
        full=tuple(parse.full),
        faults=tuple(_find_faults(parse)),
    )


def is_llms_txt_url(url: str) -> bool:
    """Return whether a URL has a file name in use for llms.txt."""
    return bool(_LLMS.search(url))


def _prose_lines(text: str) -> Iterator[str]:
    """Yield the lines outside of code fences and comments. An unclosed fence or comment hides nothing."""
    lines = re.split(r"\r\n|\n|\r", _strip_comments(text.removeprefix("\ufeff")))
    fence = ""
    hidden: list[str] = []
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        before, fence = fence, follow_fence(line, fence)
        if before:
            hidden.append(line)
            if not fence:
                hidden = []
        elif fence:
            pass
        elif re.fullmatch(r" {0,3}={2,}[ \t]*", below) and line.strip():
            yield f"# {line.strip()}"
        else:
            yield line
    yield from hidden


def _strip_comments(text: str) -> str:
    parts, at = [], 0
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start)) >= 0:
        parts.append(text[at:start])
        at = end + 3
    return "".join([*parts, text[at:]])


def _inline_definitions(lines: list[str]) -> list[str]:
    """Replace reference links and HTML links by inline links."""
    targets = {match[1].casefold(): match[2] for line in lines if (match := _DEFINITION.match(line))}

    def inline(match: re.Match[str]) -> str:
        target = targets.get((match[2] or match[1]).casefold())
        return f"[{match[1]}]({target})" if target else match[0]

    converted = [_ANCHOR.sub(r"[\2](\1)", line) if "href" in line else line for line in lines]
    if not targets:
        return converted
    return [_REFERENCE.sub(inline, line) for line in converted if not _DEFINITION.match(line)]


def _join_wrapped_links(lines: list[str]) -> Iterator[str]:
    """Yield the lines, with links that span several lines joined into one."""
    at = 0
    while at < len(lines):
        line, end = lines[at], at + 1
        while (
            end < min(len(lines), at + _MAX_LINK_LINES)
            and line.count("[") > line.count("]")
            and lines[end].strip()
            and not _ITEM.match(lines[end])
            and not _HEADING.match(lines[end])
        ):
            line, end = f"{line} {lines[end].strip()}", end + 1
        if end > at + 1 and not _LINK.search(line):
            line, end = lines[at], at + 1
        yield line
        at = end


def _parse_line(line: str, parse: _Parse) -> None:
    if heading := _HEADING.match(line):
        _parse_heading(len(heading[1]), heading[2], parse)
    elif line.lstrip().startswith(">") and not parse.entries and not parse.group:
        parse.summary.append(line.lstrip().lstrip("> ").strip())
    item = _ITEM.match(line)
    links = list(_LINK.finditer(line))
    starts_with_link = bool(item and links and links[0].start() <= item.start(1) + 2)
    for at, link in enumerate(links):
        # A list item is about its first link; links in its description are listed last.
        rest = line[link.end() :] if item and not at and (starts_with_link or len(links) == 1) else ""
        url = link[2] or link[3] or link[4] or ""
        _add_link(url, _plain_text(link[1]), rest, parse, mentioned=bool(starts_with_link and at))
    _add_bare_urls(line, parse, listed=bool(item or _LABELLED.match(line) or line.count("|") > 1) and not links)


def _parse_heading(level: int, text: str, parse: _Parse) -> None:
    if level == 1:
        parse.titles.append(_plain_text(re.sub(r"!\[[^\[\]]*\]\([^()]*\)", "", text)))
        parse.group = parse.group if len(parse.titles) == 1 else (parse.titles[-1],)
    elif level == 2 or not _LINK.search(text):
        parse.group = (*parse.group[: level - 2], *filter(None, [_plain_text(text)]))


def _add_bare_urls(line: str, parse: _Parse, *, listed: bool) -> None:
    """Add the first URL of a line that lists one, and the URLs of llms.txt files anywhere."""
    for at, match in enumerate(_BARE_URL.finditer(line)):
        url = match[1].rstrip(".,;:*_")
        if listed and not at:
            label = _plain_text(line[: match.start()].replace("|", " ")).strip(" -*+:–—<>")
            _add_link(url, label, line[match.end() :].replace("|", " "), parse)
        elif is_llms_txt_url(url):
            _add_link(url, "", "", parse)


def _add_link(href: str, title: str, rest: str, parse: _Parse, *, mentioned: bool = False) -> None:
    if not href or href.startswith(("#", "mailto:", "tel:", "javascript:", "data:")):
        return
    url = None if _PLACEHOLDER.search(href) else canonical_url(href, parse.base)
    if url is None:
        parse.invalid.append(href[:80])
        return
    if _FULL.search(url):
        parse.full[url] = None
    elif is_llms_txt_url(url):
        if url != parse.base and not _ABRIDGED.search(url):
            parse.nested[url] = None
    else:
        description = re.sub(r"^[\s:–—`-]+", "", _plain_text(rest))
        description = description if re.search(r"\w", description) else ""
        entries = parse.mentioned if mentioned else parse.entries
        if parse.group and url in entries and not entries[url].group:
            del entries[url]  # mentioned above the first group, for example on a map of the groups
        entries.setdefault(url, LlmsLink(url, title or url, description, parse.group))


def _find_faults(parse: _Parse) -> Iterator[str]:
    where = parse.base
    if not parse.titles:
        yield f"{where}: has no title"
    elif len(parse.titles) > 1:
        yield f"{where}: has {len(parse.titles)} titles; “{parse.titles[0]}” is taken as the site's name"
    if not parse.summary:
        yield f"{where}: has no summary"
    if not parse.entries and not parse.nested and not parse.full:
        yield f"{where}: lists no pages"
    if parse.invalid:
        links = "1 link is not a URL" if len(parse.invalid) == 1 else f"{len(parse.invalid)} links are not URLs"
        yield f"{where}: {links}, the first is {parse.invalid[0]!r}"


def _plain_text(text: str) -> str:
    """Remove the marks of inline Markdown."""
    text = re.sub(r"!?\[((?:\\.|[^\[\]\\])*)\]\([^()]*\)", r"\1", text)
    text = re.sub(r"(\*\*|__|`)", "", text)
    return " ".join(re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", text).split())


_MAX_LINK_LINES = 4
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$")
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,4}[.)])[ \t]+(.*)")
_LABEL = r"(?<!!)\[((?:\\.|[^\[\]\\]|\[[^\[\]]*\])*)\]\([ \t]*"
_TITLE = r"(?:[ \t]+(?:\"[^\"]*\"|'[^']*'))?[ \t]*"
_LINK = re.compile(  # the last alternative, a URL with spaces, is not a link in CommonMark, but authors write it
    rf"{_LABEL}(?:(?:<([^<>]*)>|([^\s()]*(?:\([^\s()]*\)[^\s()]*)*)){_TITLE}\)|([^()<>\"']*)\))"
)
_BARE_URL = re.compile(r"<?(https?://[^\s<>\"'`)\]|]+)>?")
_LABELLED = re.compile(r"[ \t>|*_-]*(?:[^.!?|]{1,80}:)?[*_]*[ \t]*<?https?://\S+[ \t|]*$")
_DEFINITION = re.compile(r" {0,3}\[([^\[\]]+)\]:[ \t]+<?([^\s<>]+)>?")
_REFERENCE = re.compile(r"(?<!!)\[([^\[\]]+)\](?:\[([^\[\]]*)\])?(?![(\[])")
_ANCHOR = re.compile(r"<a\s[^<>]*?href\s*=\s*[\"']([^\"'<>\s]+)[\"'][^<>]*>([^<>]*)</a>", re.IGNORECASE)
_LLMS = re.compile(r"(^|/)llms?([-_.][\w.-]*)?\.txt$", re.IGNORECASE)
_FULL = re.compile(r"(^|/)llms?[-_.](\w+[-_.])?full[\w.-]*\.txt$", re.IGNORECASE)
_ABRIDGED = re.compile(r"(^|/)llms?[-_.](ctx|medium|small|tiny|mini)\.txt$", re.IGNORECASE)
_PLACEHOLDER = re.compile(r"\{[^{}]*\}|%7B[^%]*%7D|/:\w+(/|$)|<[\w -]+>", re.IGNORECASE)
