"""Reads other people's llms.txt: whatever lists pages there is taken, what is not understood is told."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from roaming_crawler.scope import canonical


@dataclass(frozen=True, slots=True)
class Entry:
    """A page that an llms.txt lists."""

    url: str
    title: str
    description: str = ""
    group: str = ""


@dataclass(frozen=True, slots=True)
class Index:
    """What an llms.txt says: the site's name and summary, its pages, other files of its kind, and what was odd."""

    title: str = ""
    summary: str = ""
    entries: tuple[Entry, ...] = ()
    nested: tuple[str, ...] = ()
    full: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()


@dataclass(slots=True)
class _Reading:
    base: str
    titles: list[str] = field(default_factory=list)
    summary: list[str] = field(default_factory=list)
    group: str = ""
    entries: dict[str, Entry] = field(default_factory=dict)
    nested: dict[str, None] = field(default_factory=dict)
    full: dict[str, None] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)


def read_index(text: str, base: str) -> Index:
    """Read an llms.txt that was found at `base`."""
    reading = _Reading(base)
    for line in _prose(text):
        _line(line, reading)
    faults = list(_faults(reading))
    return Index(
        title=reading.titles[0] if reading.titles else "",
        summary=" ".join(reading.summary),
        entries=tuple(reading.entries.values()),
        nested=tuple(reading.nested),
        full=tuple(reading.full),
        faults=tuple(faults),
    )


_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,4}[.)])[ \t]+(.*)")
_LABEL = r"(?<!!)\[((?:\\.|[^\[\]\\]|\[[^\[\]]*\])*)\]\([ \t]*"
_TITLE = r"(?:[ \t]+(?:\"[^\"]*\"|'[^']*'))?[ \t]*"
_LINK = re.compile(  # the last form, an address with spaces in it, is no link to CommonMark, but one to its author
    rf"{_LABEL}(?:(?:<([^<>]*)>|([^\s()]*(?:\([^\s()]*\)[^\s()]*)*)){_TITLE}\)|([^()<>\"']*)\))"
)
_BARE = re.compile(r"<?(https?://[^\s<>\"')\]]+)>?")
_LLMS = re.compile(r"(^|/)llms[\w.-]*\.txt$", re.IGNORECASE)
_FULL = re.compile(r"(^|/)llms-full[\w.-]*\.txt$", re.IGNORECASE)


def _prose(text: str) -> Iterator[str]:
    """Give the lines outside of fences; one that is never closed hides nothing."""
    lines = re.split(r"\r\n|\n|\r", text.removeprefix("\ufeff"))
    fence, opened = "", 0
    hidden: list[str] = []
    for line in lines:
        found = _FENCE.match(line)
        if fence:
            hidden.append(line)
            if found and found[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence, hidden = "", []
        elif found:
            fence, opened = found[1], opened + 1
        else:
            yield line
    yield from hidden


def _line(line: str, reading: _Reading) -> None:
    if heading := _HEADING.match(line):
        if len(heading[1]) == 1:
            reading.titles.append(_plain(heading[2]))
            reading.group = reading.group if len(reading.titles) == 1 else _plain(heading[2])
        elif len(heading[1]) == 2 or not _LINK.search(heading[2]):
            reading.group = _plain(heading[2])
    elif line.lstrip().startswith(">") and not reading.entries and not reading.group:
        reading.summary.append(line.lstrip().lstrip("> ").strip())
    links = list(_LINK.finditer(line))
    if links:
        item = _ITEM.match(line)
        for at, link in enumerate(links):
            # In a list, a line is about its first link; others stand in its description.
            if at and item and links[0].start() <= item.start(1) + 2:
                break
            rest = line[link.end() :] if item and not at else ""
            _take(link[2] or link[3] or link[4] or "", _plain(link[1]), rest, reading)
    elif _ITEM.match(line) and (bare := _BARE.search(line)):
        label = _plain(line[: bare.start()]).strip(" -*+:–—<")
        _take(bare[1].rstrip(".,;:"), label, line[bare.end() :], reading)


def _take(href: str, title: str, rest: str, reading: _Reading) -> None:
    if not href or href.startswith(("#", "mailto:", "tel:", "javascript:", "data:")):
        return
    url = canonical(href, reading.base)
    if url is None:
        reading.broken.append(href[:80])
        return
    if _FULL.search(url):
        reading.full[url] = None
    elif _LLMS.search(url):
        reading.nested[url] = None
    else:
        about = re.sub(r"^[\s:–—-]+", "", _plain(rest))
        about = about if re.search(r"\w", about) else ""
        reading.entries.setdefault(url, Entry(url, title or url, about, reading.group))


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
        yield f"{where}: {len(reading.broken)} links are no addresses, the first is {reading.broken[0]!r}"


def _plain(text: str) -> str:
    """Give inline Markdown without its marks."""
    text = re.sub(r"!?\[((?:\\.|[^\[\]\\])*)\]\([^()]*\)", r"\1", text)
    text = re.sub(r"(\*\*|__|`)", "", text)
    return " ".join(re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", text).split())
