"""Markdown that a site publishes itself, normalized for publication; everything else stays byte for byte."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from html import escape, unescape
from itertools import takewhile
from typing import Any

from mkdocs_roaming.html.escape import escape_text
from mkdocs_roaming.text.blocks import FRONT_MATTER, find_headings, line_offsets, parse_blocks, split_lines
from mkdocs_roaming.text.markdown import to_single_line

ResolveLink = Callable[[str], str]

_MAX_QUESTIONS = 12
_SIGNS_OF_LINK = ("](", "]:", "href", "src")
_INLINE = re.compile(
    r"(?P<skip>\\.|(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`)|<!--.*?-->)"
    r"|(?P<before>\]\(\s*)(?P<url><[^<>\r\n]*>|(?:\\.|[^\s()<>\\]|\((?:\\.|[^\s()<>\\])*\))+)"
    r"|(?P<tag><[a-zA-Z][^<>]*>)|(?P<bracket>[\[\]])",
    re.DOTALL,
)
"""What matters for links in inline Markdown: `](guide.md` after a bracket, tags, and code to skip. The parser says
which address a link has, but not where it is written."""
_ATTRIBUTE = re.compile(r"""(?P<before>\s(?:href|src)\s*=\s*)(?P<quote>["'])(?P<url>.*?)(?P=quote)""", re.DOTALL | re.I)
"""An attribute with an address in raw HTML, which stays as it is otherwise: ` href="guide.md"`."""
_DEFINITION = re.compile(r"(?P<before>^[ >]*\[(?:\\.|[^\]\\])+\]:\s*)(?P<url><[^<>\r\n]*>|\S+)", re.MULTILINE)
"""The definition of a link: `[name]: guide.md`."""
_BACKSLASH_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_OTHER_SCHEME = re.compile(r"(?!https?:)[a-z][a-z0-9+.-]*:", re.IGNORECASE)
"""The scheme of a URL that does not lead to a page: `mailto:`. `urlsplit` raises for some addresses."""


def normalize_markdown(markdown: str, *, title: str, link: ResolveLink) -> str:
    """Return Markdown without front matter and without a pointer to llms.txt, with a title and resolved links.

    Args:
        markdown: The Markdown of a page.
        title: The title that is added if the text does not begin with an H1.
        link: Resolves the URL of each link and image.
    """
    text = strip_pointer(split_front_matter(markdown)[0])
    headings = find_headings(text)
    if not headings or headings[0].level != 1:
        heading = f"# {escape_text(' '.join(title.split()) or 'Untitled')}\n"
        text = f"{heading}\n{text}" if text else heading
    if any(sign in text for sign in _SIGNS_OF_LINK):
        text = _resolve_links(text, link)
    return text if text.endswith("\n") else text + "\n"


def read_metadata(front_matter: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the front matter of a page says about it, as arguments of `Page`."""
    tags = front_matter.get("tags")
    questions = front_matter.get("questions")
    texts: dict[str, None] = {}
    for question in questions if isinstance(questions, list) else ():
        text = to_single_line(str(question)) if isinstance(question, str | int | float) else ""
        if text:
            texts[text] = None
    return {
        "description": " ".join(str(front_matter.get("description") or "").split()),
        "tags": tuple(map(str, tags)) if isinstance(tags, list) else (),
        "questions": tuple(texts)[:_MAX_QUESTIONS],
    }


def split_front_matter(markdown: str) -> tuple[str, dict[str, str]]:
    """Return the Markdown after its front matter, and the front matter's `key: value` lines with lower-case keys."""
    text = markdown.removeprefix("\ufeff")
    front_matter = FRONT_MATTER.match(text)
    pairs: dict[str, str] = {}
    for line in split_lines(front_matter[1]) if front_matter else ():
        key, colon, value = line.partition(":")
        if colon and key.replace("-", "_").isidentifier() and not key.startswith("-"):
            pairs[key.lower()] = value.strip().strip("\"'")
    return (text[front_matter.end() :], pairs) if front_matter and pairs else (text, {})


def strip_pointer(markdown: str) -> str:
    """Return Markdown without the quote at the top that links to an llms.txt."""
    text = markdown.lstrip("\r\n")
    if not text.lstrip(" ").startswith(">"):
        return text
    lines = takewhile(lambda line: line.lstrip(" ").startswith(">"), text.splitlines(keepends=True))
    quote = "".join(lines)
    return text[len(quote) :].lstrip("\r\n") if "llms.txt" in quote else text


# Links


def _resolve_links(text: str, link: ResolveLink) -> str:
    """Resolve links where CommonMark recognizes them: in prose, HTML and definitions, not in code."""
    document = parse_blocks(text.replace("\0", "\ufffd"))
    resolvers: dict[tuple[int, int], Callable[[str, ResolveLink], str]] = {}
    for block in document.walk():
        if block.kind == "html":
            resolvers[block.start, block.end] = _resolve_in_html
        elif block.kind in ("heading", "paragraph", "row"):
            resolvers[block.start, block.end] = _resolve_in_prose
    for label, reference in document.references.items():
        # CommonMark parses a GFM footnote of one word as a definition.
        is_footnote = label.startswith("^")
        resolvers[reference.start, reference.end] = _resolve_in_prose if is_footnote else _resolve_in_definitions
    offsets = line_offsets(text)
    parts: list[str] = []
    position = 0
    for (first_line, end_line), resolve in sorted(resolvers.items()):
        start = offsets[first_line]
        end = offsets[end_line]
        if start >= position:
            parts += [text[position:start], resolve(text[start:end], link)]
            position = end
    return "".join([*parts, text[position:]])


def _resolve_in_prose(text: str, link: ResolveLink) -> str:
    depth = 0

    def replace(match: re.Match[str]) -> str:
        nonlocal depth
        if match["tag"]:
            return _resolve_in_html(match[0], link)
        if match["bracket"]:
            depth = depth + 1 if match[0] == "[" else max(0, depth - 1)
        if match["skip"] or match["bracket"] or not depth:
            return match[0]
        depth -= 1
        return match["before"] + _resolve_destination(match["url"], link)

    return _INLINE.sub(replace, text)


def _resolve_in_html(text: str, link: ResolveLink) -> str:
    def replace(match: re.Match[str]) -> str:
        href = unescape(match["url"])
        url = _resolve_url(href, link)
        quote = match["quote"]
        return match[0] if url == href else f"{match['before']}{quote}{escape(url, quote=True)}{quote}"

    return _ATTRIBUTE.sub(replace, text)


def _resolve_in_definitions(text: str, link: ResolveLink) -> str:
    def replace(match: re.Match[str]) -> str:
        return match["before"] + _resolve_destination(match["url"], link)

    return _DEFINITION.sub(replace, text)


def _resolve_destination(destination: str, link: ResolveLink) -> str:
    """Return the resolved URL as a link destination, or the unchanged destination if the URL is the same."""
    href = unescape(_BACKSLASH_ESCAPE.sub(r"\1", destination.removeprefix("<").removesuffix(">")))
    url = _resolve_url(href, link)
    if url == href:
        return destination
    needs_brackets = any(character in "()" or character.isspace() for character in url)
    return f"<{url}>" if needs_brackets else url


def _resolve_url(href: str, link: ResolveLink) -> str:
    return href if not href.strip() or _OTHER_SCHEME.match(href) else link(href)
