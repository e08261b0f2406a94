"""llms-full.txt and its kin: the Markdown of several pages in one text, which is split into pages.

There is no standard: each tool writes its own dialect. Of the dialects in `DIALECTS`, the one that yields the most
pages is used. Nothing in a code fence is the border of a page.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import urlsplit

from mkdocs_roaming.text.blocks import follow_fence, split_lines

Resolver = Callable[[str], str | None]
"""Returns the address of a page as the caller needs it, None for what is none."""

_FENCE = re.compile(r"\n(?:<[^<>\n]*>)?(?P<fence> {0,3}(?:`{3,}|~{3,})(?:(?!</)[^\n])*)")
"""A line that may open or close fenced code; tools write tags before and after it, such as `</doc>`."""
_TITLE = re.compile(r"\n(?=\#[ \t]|[^\n]+\n=+[ \t]*\n)")
"""A heading of the first level."""
_FIRST_HEADING = re.compile(r"\A\#+(?=[ \t])")
"""The title of a page that is a heading of a lower level in a text of several pages."""
_LAST_LINE = re.compile(
    r"\n(?:[ \t]*\n[ \t]*(?:-{3,}|\*{3,}|_{3,}|={3,})|(?:<!--|[=*~+-]{3,})[ \t]*end\b[^\n]*(?:-->|[=*~+-]{3,}))\Z",
    re.IGNORECASE,
)
"""A rule `---` between two pages, or the end of a file such as `<!-- END guide.md -->`."""
_WRAPPED = re.compile(r"\s*(`{3,}|~{3,})(?:md|mdx|markdown)\n(.*)\n\1", re.DOTALL)
"""A page in a code fence, as tools write files of repositories."""

_PIECES = {
    "marks": r"[*_`]*",
    # The name of a field with the address of a page, such as `Source`, `URL Source` or `file`.
    "name": r"(?:\w+[ _-])?(?:url|uri|link|source|page|path|file(?:name|path)?)%(marks)s:",
    # A line such as `**Source:** https://docs.example/guide/`.
    "source": r"\n(?:[>-][ \t]+)?%(marks)s(?:(?:\w+[ _-])?(?:source|url)%(marks)s:|\[(?:source|url)\]\()[^\n]*",
    "title": r"%(marks)s(?:title|page)%(marks)s:[^\n]*",
    # A line below the address of a page that is no text of it, such as `Edit: https://…` or `Title: Guide`.
    "label": (
        r"\n(?:\#+[ \t]|[>-][ \t]+)?%(marks)s(?:%(name)s|(?:title|desc(?:ription)?|language|code|markdown content"
        r"|published time)%(marks)s:|[a-z][\w ]{0,20}%(marks)s:%(marks)s[ \t]*<?https?:)[^\n]*"
    ),
    "tag": r"(?:project|document|doc|page|file)\b",
    "child": r"(?:source|title|url|link|path|desc(?:ription)?)",
    "attributes": r"""(?:"[^"\n]*"|'[^'\n]*'|[^<>"'])*""",
    "key": r"[a-z_][\w-]*(?:[ \t]*=|:)",
    "front": (
        r"\n(?:(?P<bar>-{3,}|\+{3})[ \t]*(?=\n%(key)s)(?:\n(?:%(key)s|[ \t]+\S|-[ ]|\#)[^\n]*|\n[ \t]*){1,60}?"
        r"\n(?P=bar)|\*{3,}[ \t]*\n(?=\n%(key)s)(?:\n[^\n]+){1,60}?\n-{3,})[ \t]*(?=\n|\Z)"
    ),
    "rule": r"[=*#~+-]",
}
"""Pieces of borders."""
_BORDERS = {
    # llms_txt2ctx, prompts with documents, repomix, Cloudflare
    "tags such as <doc title=…>": (
        r"(?P<header>(?P<mark><)(?:(?:/(?:document_)?content>\s*<)?/%(tag)s>[ \t]*(?=<|\n|\Z)"
        r"(?:\s*</?(?!%(tag)s)[\w-]+>)*|(?:(?!%(tag)s)[\w-]+>\s*<|(?<=[\n> ]<))%(tag)s%(attributes)s>"
        r"(?:\s*<%(child)s>[^<>\n]*</%(child)s>)*(?:\s*<(?:document_)?content>)?(?:%(front)s)?))"
    ),
    # Firecrawl
    "marks such as <|page-1|>": (
        r"\n(?P<header>(?P<mark><\|)[\w-]*\d[\w-]*\|>[ \t]*(?=\n+(?:\#+[ \t]+(?P<title>[^\n]+))?)"
        r"(?:\n+\#{2,6}[ \t][^\n]*)?)"
    ),
    # VitePress, VuePress, Next.js, Fern
    "front matter": r"(?P<header>%(front)s)",
    # Eleventy
    "comments such as <!-- source: … -->": (
        r"\n(?P<header><!--(?![ \t]*end\b)[ \t]*"
        r"(?:[\w -]{1,40}:[ \t]+|(?:begin|start)[ \t]+)?"
        r"(?P<address>(?:\[[^\]\n]*\]\()?\S*?(?:/|\.(?=\w))\S*)[^\n]*-->[ \t]*(?=\n))"
    ),
    # gitingest, repomix, yek
    "rules around the name of a file": (
        r"\n(?P<header>%(rule)s{4,}[ \t]*(?:\n[^\n]*%(name)s[^\n]*){1,6}\n%(rule)s{4,}[ \t]*(?=\n)"
        r"|(?:%(rule)s{3,}(?![ \t]+end\b)[ \t]+"
        r"(?:[a-z][\w ]{0,20}:[ \t]+|(?:begin|start)[ \t]+)?(?=\S+[ \t]+%(rule)s{3,}[ \t]*\n)|>{4}[ \t]+(?=\S+[ \t]*\n)"
        r"|(?=\S+\.mdx?[ \t]*\n---[ \t]*\n|`\S+\.mdx?`:[ \t]*\n))"
        r"(?P<address>[^\s/.]*[/.]\S*)[^\n]*(?:\n---[ \t]*(?=\n))?)"
    ),
    "headings such as # Source: …": (
        r"\n(?P<header>\#{1,6}[ \t]+(?:%(marks)s%(name)s[^\n]*|(?P<address>https?://\S+|(?<=\n\#[ ])\S+\.mdx?)"
        r"[ \t]*(?=\n))"
        r"(?:\n?%(label)s)*)"
    ),
    # Context7, Jina
    "lines Title: … and URL: …": (
        r"\n(?P<header>(?:%(marks)s%(name)s[^\n]*\n\n?%(title)s|%(title)s\n?%(label)s)(?:\n?%(label)s){0,6})"
    ),
    "lines Source: … above a title": (
        r"(?P<header>%(source)s(?:%(label)s)*)(?=(?:\n[ \t]*|\n[ \t]*>[^\n]*){0,12}\n\#[ \t])"
    ),
    # Mintlify, Fumadocs
    "lines Source: … below a title": (
        r"\n[ ]{0,3}(?P<level>\#{1,6})[ \t][^\n]*(?:\n[ \t]*|\n>[^\n]*){0,6}?(?P<header>\n?%(source)s(?:%(label)s)*)"
    ),
    # Fumadocs
    "titles such as # Guide (/guide)": (
        r"\n(?P<level>\#{1,6})[ \t][^\n]{1,200}?(?P<header>[ \t]+\((?P<address>(?:https?:/)?/[^\s()]*)\))[ \t]*(?=\n)"
    ),
}
"""What is at the border of pages, by the name of a dialect; of two dialects with as many pages, the first one counts.

The group `header` is no part of the text of a page. It has fields such as `url` and `title`; the groups `address` and
`title` are others. The group `level` is the level of a heading: all borders have the same one. A pattern with the group
`mark` matches borders even without a name. A search for a line feed is twice as fast as one for `^`.
"""
DIALECTS = {name: re.compile(border % _PIECES % _PIECES % _PIECES, re.IGNORECASE) for name, border in _BORDERS.items()}
UNKNOWN_DIALECT = f"read by its headings, as no other borders of pages were found: {'; '.join(DIALECTS)}"
"""A message about a text that is written in no dialect."""

_FIELD = re.compile(
    r"""([a-z]+)[*_`]*[ \t]*(?:[:=]|\]\(|>(?=[^<\s]))[*_`]*[ \t]*["']?"""
    r"""((?<=")[^"\n]*|(?<=')[^'\n]*|[^"'\n](?:(?!</)[^\n])*)""",
    re.IGNORECASE,
)
"""A field of a header: `source_url: /guide`, `**URL**: /guide`, `url="/guide"`, `<source>guide.md</source>`."""
_ADDRESS = re.compile(r"""(?:\[[^\]\n]*\]\()?[<`'"]*(?=[^\s<>|]*[/.])([^\s<>`"'|]*[^\s<>`"'|)*_])""")
"""The address in the value of a field, which may be the target of a link; a word alone is none."""
_ADDRESS_KEYS = ("url", "canonical", "permalink", "link", "href", "html", "source", "page", "path", "file", "slug")
"""The last words of the names of fields with an address, the most exact first."""


class FullPage(NamedTuple):
    """A page in a text.

    Attributes:
        text: Its Markdown.
        url: Its address; None for other text, and if several pages have the same.
        title: Its title, if that is not in its text.
        description: What it is about.
    """

    text: str = ""
    url: str | None = None
    title: str = ""
    description: str = ""


class FullText(NamedTuple):
    """The pages of a text, and the dialect that it is written in; empty if it is split at its titles."""

    pages: Sequence[FullPage]
    dialect: str = ""


_Border = tuple[int, int, int, FullPage]
"""The offsets of the border of a page, of its header and of its end, and the page without its text."""


def split_full_text(text: str, resolve: Resolver) -> FullText:
    """Split a text into its pages.

    Args:
        text: The text.
        resolve: Returns the address of a page as the caller needs it, None for what is none.
    """
    text = frame_lines(text)
    prose = blank_code(text)
    titles = (match.start() for match in _TITLE.finditer(prose))
    best = FullText(_cut(text, [(start, start, start, FullPage()) for start in titles][1:]))
    most = 0
    for name, border in DIALECTS.items():
        borders = _find_borders(border, prose, resolve)
        if len(borders) <= most:
            continue
        pages = _cut(text, borders)
        named = [page for page in pages if page.url or page.title]
        is_page = any(2 * len(page.text) > len(text) and (page.url or "").startswith("http") for page in named)
        if len(named) > most and (len(named) > 1 or is_page):  # else the text quotes a page
            best = FullText(pages, name)
            most = len(named)
    return best


def frame_lines(text: str) -> str:
    """Return the text with line feeds before and after each line."""
    return "\n".join(("", *split_lines(text.removeprefix("\ufeff")), ""))


def blank_code(text: str) -> str:
    """Return the text with spaces instead of fenced code. An unclosed fence contains nothing."""
    prose: list[str] = []
    fence = ""
    start = end = 0
    for match in _FENCE.finditer(text):
        before = fence
        fence = follow_fence(match["fence"], fence)
        if fence and not before:
            start = match.start("fence")
        elif before and not fence:
            prose += (text[end:start], " " * (match.end("fence") - start))
            end = match.end("fence")
    return "".join((*prose, text[end:]))


def _find_borders(border: re.Pattern[str], prose: str, resolve: Resolver) -> list[_Border]:
    """Return the borders of pages; of those at headings the ones of the most frequent level."""
    found = [(match, _read_header(match.groupdict(""), resolve)) for match in border.finditer(prose)]
    if "mark" not in border.groupindex:
        has_urls = any(page.url for _, page in found)
        found = [(match, page) for match, page in found if page.url or (page.title and not has_urls)]
    if "level" in border.groupindex:
        levels = [match["level"] for match, _ in found]
        level = max(sorted(set(levels)), key=levels.count, default="")
        found = [(match, page) for match, page in found if match["level"] == level]
        hosts = {urlsplit(page.url or "").netloc for _, page in found}
        if level != "#" and len(hosts) > 1:  # the sources of pictures, for example
            return []
    return [(match.start(), *match.span("header"), page) for match, page in found]


def _read_header(groups: Mapping[str, str], resolve: Resolver) -> FullPage:
    """Return the page that a header names."""
    fields = {key.lower(): value for key, value in reversed(_FIELD.findall(groups["header"]))}
    values = (groups.get("address", ""), *(fields.get(key, "") for key in _ADDRESS_KEYS))
    urls = (resolve(address[1].replace("\\", "/")) for address in map(_ADDRESS.match, values) if address)
    title = groups.get("title") or fields.get("title", "")
    description = fields.get("description") or fields.get("desc", "")
    return FullPage("", next(filter(None, urls), None), title.strip(), description.lstrip(" >|-"))


def _cut(text: str, borders: Sequence[_Border]) -> list[FullPage]:
    """Return the texts between borders, without their headers and the rules between them."""
    pages: list[FullPage] = []
    counts = Counter(border[-1].url for border in borders)
    stops = [*(border[0] for border in borders), len(text)]
    for (start, header, end, page), stop in zip([(0, 0, 0, FullPage()), *borders], stops, strict=True):
        body = (text[start:header] + text[end:stop]).strip("\n").rstrip()
        body = _LAST_LINE.sub("", body).rstrip("\n")
        if wrapped := _WRAPPED.fullmatch(body):
            body = wrapped[2]
        if page.url and not page.title:
            body = _FIRST_HEADING.sub("#", body)
        url = page.url if counts[page.url] == 1 else None
        if url or body.strip():
            pages.append(page._replace(text=body + "\n", url=url))
    return pages
