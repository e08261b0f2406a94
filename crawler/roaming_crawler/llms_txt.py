"""Parser for llms.txt files: tolerant of what authors write, with a list of problems."""

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
        match = _FENCE.match(line)
        if fence:
            hidden.append(line)
            if match and match[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence, hidden = "", []
        elif match:
            fence = match[1]
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
        level = len(heading[1])
        if level == 1:
            parse.titles.append(_plain_text(re.sub(r"!\[[^\[\]]*\]\([^()]*\)", "", heading[2])))
            parse.group = parse.group if len(parse.titles) == 1 else (parse.titles[-1],)
        elif level == 2 or not _LINK.search(heading[2]):
            parse.group = (*parse.group[: level - 2], *filter(None, [_plain_text(heading[2])]))
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
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
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
