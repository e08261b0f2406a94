"""Reads other people's llms.txt: whatever lists pages there is taken, what is not understood is told."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from roaming_crawler.scope import canonical_url


@dataclass(frozen=True, slots=True)
class LlmsLink:
    """A page that an llms.txt lists."""

    url: str
    title: str
    description: str = ""
    group: str = ""


@dataclass(frozen=True, slots=True)
class LlmsIndex:
    """What an llms.txt says: the site's name and summary, its pages, other files of its kind, and what was odd."""

    title: str = ""
    summary: str = ""
    entries: tuple[LlmsLink, ...] = ()
    nested: tuple[str, ...] = ()
    full: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()


@dataclass(slots=True)
class _Reading:
    base: str
    titles: list[str] = field(default_factory=list)
    summary: list[str] = field(default_factory=list)
    group: str = ""
    entries: dict[str, LlmsLink] = field(default_factory=dict)
    aside: dict[str, LlmsLink] = field(default_factory=dict)
    nested: dict[str, None] = field(default_factory=dict)
    full: dict[str, None] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)


def parse_llms_txt(text: str, base: str) -> LlmsIndex:
    """Read an llms.txt that was found at `base`."""
    reading = _Reading(base)
    for line in _whole(_defined(list(_prose(text)))):
        _line(line, reading)
    aside = {url: entry for url, entry in reading.aside.items() if url not in reading.entries}
    return LlmsIndex(
        title=next(filter(None, reading.titles), ""),
        summary=" ".join(reading.summary),
        entries=(*reading.entries.values(), *aside.values()),
        nested=tuple(reading.nested),
        full=tuple(reading.full),
        faults=tuple(_faults(reading)),
    )


def is_llms_txt_url(url: str) -> bool:
    """Tell whether an address is called as files of this kind are."""
    return bool(_LLMS.search(url))


_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,4}[.)])[ \t]+(.*)")
_LABEL = r"(?<!!)\[((?:\\.|[^\[\]\\]|\[[^\[\]]*\])*)\]\([ \t]*"
_TITLE = r"(?:[ \t]+(?:\"[^\"]*\"|'[^']*'))?[ \t]*"
_LINK = re.compile(  # the last form, an address with spaces in it, is no link to CommonMark, but one to its author
    rf"{_LABEL}(?:(?:<([^<>]*)>|([^\s()]*(?:\([^\s()]*\)[^\s()]*)*)){_TITLE}\)|([^()<>\"']*)\))"
)
_BARE = re.compile(r"<?(https?://[^\s<>\"'`)\]|]+)>?")
_LABELLED = re.compile(r"[ \t>|*_-]*(?:[^.!?|]{1,80}:)?[*_]*[ \t]*<?https?://\S+[ \t|]*$")
_DEFINITION = re.compile(r" {0,3}\[([^\[\]]+)\]:[ \t]+<?([^\s<>]+)>?")
_REFERENCE = re.compile(r"(?<!!)\[([^\[\]]+)\](?:\[([^\[\]]*)\])?(?![(\[])")
_ANCHOR = re.compile(r"<a\s[^<>]*?href\s*=\s*[\"']([^\"'<>\s]+)[\"'][^<>]*>([^<>]*)</a>", re.IGNORECASE)
_LLMS = re.compile(r"(^|/)llms?([-_.][\w.-]*)?\.txt$", re.IGNORECASE)
_FULL = re.compile(r"(^|/)llms?[-_.](\w+[-_.])?full[\w.-]*\.txt$", re.IGNORECASE)
_ABRIDGED = re.compile(r"(^|/)llms?[-_.](ctx|medium|small|tiny|mini)\.txt$", re.IGNORECASE)
_MADE_UP = re.compile(r"\{[^{}]*\}|%7B[^%]*%7D|/:\w+(/|$)|<[\w -]+>", re.IGNORECASE)


def _prose(text: str) -> Iterator[str]:
    """Give the lines outside of fences and comments; one that is never closed hides nothing."""
    lines = re.split(r"\r\n|\n|\r", _without_comments(text.removeprefix("\ufeff")))
    fence = ""
    hidden: list[str] = []
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        found = _FENCE.match(line)
        if fence:
            hidden.append(line)
            if found and found[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence, hidden = "", []
        elif found:
            fence = found[1]
        elif re.fullmatch(r" {0,3}={2,}[ \t]*", below) and line.strip():
            yield f"# {line.strip()}"
        else:
            yield line
    yield from hidden


def _without_comments(text: str) -> str:
    kept, at = [], 0
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start)) >= 0:
        kept.append(text[at:start])
        at = end + 3
    return "".join([*kept, text[at:]])


def _defined(lines: list[str]) -> list[str]:
    """Put the address into each link that only names where it is defined, and make HTML's links Markdown's."""
    known = {found[1].casefold(): found[2] for line in lines if (found := _DEFINITION.match(line))}

    def inline(found: re.Match[str]) -> str:
        to = known.get((found[2] or found[1]).casefold())
        return f"[{found[1]}]({to})" if to else found[0]

    given = [_ANCHOR.sub(r"[\2](\1)", line) if "href" in line else line for line in lines]
    return [_REFERENCE.sub(inline, line) for line in given if not _DEFINITION.match(line)] if known else given


def _whole(lines: list[str]) -> Iterator[str]:
    """Give lines, those of a link that goes on below as one."""
    at = 0
    while at < len(lines):
        line, to = lines[at], at + 1
        while (
            to < min(len(lines), at + _LONGEST)
            and line.count("[") > line.count("]")
            and lines[to].strip()
            and not _ITEM.match(lines[to])
            and not _HEADING.match(lines[to])
        ):
            line, to = f"{line} {lines[to].strip()}", to + 1
        if to > at + 1 and not _LINK.search(line):
            line, to = lines[at], at + 1
        yield line
        at = to


_LONGEST = 4
"""The lines that one link may stand on."""


def _line(line: str, reading: _Reading) -> None:
    if heading := _HEADING.match(line):
        if len(heading[1]) == 1:
            reading.titles.append(_plain(re.sub(r"!\[[^\[\]]*\]\([^()]*\)", "", heading[2])))
            reading.group = reading.group if len(reading.titles) == 1 else reading.titles[-1]
        elif len(heading[1]) == 2 or not _LINK.search(heading[2]):
            reading.group = _plain(heading[2])
    elif line.lstrip().startswith(">") and not reading.entries and not reading.group:
        reading.summary.append(line.lstrip().lstrip("> ").strip())
    item = _ITEM.match(line)
    links = list(_LINK.finditer(line))
    led = bool(item and links and links[0].start() <= item.start(1) + 2)
    for at, link in enumerate(links):
        # A line of a list is about the link that it begins with; what its description links to comes last.
        rest = line[link.end() :] if item and not at else ""
        _take(link[2] or link[3] or link[4] or "", _plain(link[1]), rest, reading, aside=bool(led and at))
    _bare(line, reading, listed=bool(item or _LABELLED.match(line) or line.count("|") > 1) and not links)


def _bare(line: str, reading: _Reading, *, listed: bool) -> None:
    """Take the first address of a line that lists one, and any llms.txt, whatever it stands in."""
    for at, bare in enumerate(_BARE.finditer(line)):
        url = bare[1].rstrip(".,;:*_")
        if listed and not at:
            label = _plain(line[: bare.start()].replace("|", " ")).strip(" -*+:–—<>")
            _take(url, label, line[bare.end() :].replace("|", " "), reading)
        elif is_llms_txt_url(url):
            _take(url, "", "", reading)


def _take(href: str, title: str, rest: str, reading: _Reading, *, aside: bool = False) -> None:
    if not href or href.startswith(("#", "mailto:", "tel:", "javascript:", "data:")):
        return
    url = None if _MADE_UP.search(href) else canonical_url(href, reading.base)
    if url is None:
        reading.broken.append(href[:80])
        return
    if _FULL.search(url):
        reading.full[url] = None
    elif is_llms_txt_url(url):
        if url != reading.base and not _ABRIDGED.search(url):
            reading.nested[url] = None
    else:
        about = re.sub(r"^[\s:–—`-]+", "", _plain(rest))
        about = about if re.search(r"\w", about) else ""
        entries = reading.aside if aside else reading.entries
        entries.setdefault(url, LlmsLink(url, title or url, about, reading.group))


def _faults(reading: _Reading) -> Iterator[str]:
    where = reading.base
    if not reading.titles:
        yield f"{where}: has no title"
    elif len(reading.titles) > 1:
        yield f"{where}: has {len(reading.titles)} titles; “{reading.titles[0]}” is taken as the site's name"
    if not reading.summary:
        yield f"{where}: has no summary"
    if not reading.entries and not reading.nested and not reading.full:
        yield f"{where}: lists no page"
    if reading.broken:
        links = "1 link is no address" if len(reading.broken) == 1 else f"{len(reading.broken)} links are no addresses"
        yield f"{where}: {links}, the first is {reading.broken[0]!r}"


def _plain(text: str) -> str:
    """Give inline Markdown without its marks."""
    text = re.sub(r"!?\[((?:\\.|[^\[\]\\])*)\]\([^()]*\)", r"\1", text)
    text = re.sub(r"(\*\*|__|`)", "", text)
    return " ".join(re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", text).split())
