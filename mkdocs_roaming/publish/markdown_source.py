"""Markdown that a site publishes itself, normalized for publication; everything else stays byte for byte."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from html import escape, unescape
from typing import TYPE_CHECKING, Any

from mkdocs_roaming.html.escape import escape_text
from mkdocs_roaming.text.blocks import FRONT_MATTER, LINE_END, parse_blocks
from mkdocs_roaming.text.markdown import to_single_line

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

ResolveLink = Callable[[str], str]

_MAX_QUESTIONS = 12


def normalize_markdown(markdown: str, *, title: str, link: ResolveLink) -> str:
    """Return Markdown without front matter and without a pointer to llms.txt, with a title and resolved links.

    Args:
        markdown: The Markdown of a page.
        title: The title that is added if the text does not begin with an H1.
        link: Resolves the URL of each link and image.
    """
    text = strip_pointer(split_front_matter(markdown)[0])
    headings = parse_blocks(text).headings
    if not headings or headings[0].level != 1:
        heading = f"# {escape_text(' '.join(title.split()) or 'Untitled')}\n"
        text = f"{heading}\n{text}" if text else heading
    text = _resolve_links(text, link)
    return text if text.endswith("\n") else text + "\n"


def read_metadata(front_matter: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the front matter of a page says about it, as arguments of `Page`."""
    tags, questions = (
        values if isinstance(values := front_matter.get(name), list) else () for name in ("tags", "questions")
    )
    texts = (to_single_line(str(text)) for text in questions if isinstance(text, str | int | float))
    return {
        "description": " ".join(str(front_matter.get("description") or "").split()),
        "tags": tuple(map(str, tags)),
        "questions": tuple(dict.fromkeys(filter(None, texts)))[:_MAX_QUESTIONS],
    }


def split_front_matter(markdown: str) -> tuple[str, dict[str, str]]:
    """Return the Markdown after its front matter, and the front matter's `key: value` lines with lower-case keys."""
    text = markdown.removeprefix("\ufeff")
    found = FRONT_MATTER.match(text)
    if not found or not _KEY.search(found[1]):
        return text, {}
    pairs = {key.lower(): value.strip().strip("\"'") for key, value in _KEY.findall(found[1])}
    return text[found.end() :], pairs


def strip_pointer(markdown: str) -> str:
    """Return Markdown without the quote at the top that links to an llms.txt."""
    text = markdown.lstrip("\r\n")
    found = _QUOTE.match(text)
    return text[found.end() :].lstrip("\r\n") if found and "llms.txt" in found[0] else text


_KEY = re.compile(r"^([A-Za-z_][\w-]*):[ \t]*([^\r\n]*?)[ \t]*$", re.MULTILINE)
_QUOTE = re.compile(r"\A(?: {0,3}>[^\r\n]*(?:\r\n|\n|\r|\Z))+")


# Links


def _resolve_links(text: str, link: ResolveLink) -> str:
    """Resolve links where CommonMark recognizes them: in prose, HTML and definitions, not in code."""
    if not re.search(r"\]\(|\]:|href|src", text):
        return text
    lines = LINE_END.split(text)
    offsets = [0, *(end.end() for end in LINE_END.finditer(text)), len(text)]
    environment: dict[str, dict[str, dict[str, list[int]]]] = {}
    tokens = _load_parser().parse(text.replace("\0", "\ufffd"), environment)
    blocks = {
        tuple(token.map): _resolve_in_html if token.type == "html_block" else _resolve_in_prose
        for token in tokens
        if token.type in ("inline", "html_block") and token.map
    }
    for label, definition in environment.get("references", {}).items():
        # CommonMark parses a GFM footnote of one word as a definition.
        blocks[tuple(definition["map"])] = _resolve_in_prose if label.startswith("^") else _resolve_in_definitions
    parts: list[str] = []
    position = 0
    for (first_line, end_line), resolve in sorted(blocks.items()):
        start = offsets[first_line]
        end = offsets[min(end_line, len(lines))]
        if start < position:
            continue
        parts += [text[position:start], resolve(text[start:end], link)]
        position = end
    return "".join([*parts, text[position:]])


@cache
def _load_parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # slow to import, and few sites publish Markdown

    return MarkdownIt("commonmark").disable(
        ["text_join", "emphasis", "entity", "backticks", "link", "image", "autolink"]
    )


def _resolve_in_prose(text: str, link: ResolveLink) -> str:
    depth = 0

    def replace(found: re.Match[str]) -> str:
        nonlocal depth
        if found["tag"]:
            return _resolve_in_html(found[0], link)
        if found["bracket"]:
            depth = depth + 1 if found[0] == "[" else max(0, depth - 1)
        if found["skip"] or found["bracket"] or not depth:
            return found[0]
        depth -= 1
        return found["before"] + _resolve_destination(found["url"], link)

    return _INLINE.sub(replace, text)


def _resolve_in_html(text: str, link: ResolveLink) -> str:
    def replace(found: re.Match[str]) -> str:
        href = unescape(found["url"])
        url = _resolve_url(href, link)
        return found[0] if url == href else found["before"] + found["quote"] + escape(url, quote=True) + found["quote"]

    return _ATTRIBUTE.sub(replace, text)


def _resolve_in_definitions(text: str, link: ResolveLink) -> str:
    return _DEFINITION.sub(lambda found: found["before"] + _resolve_destination(found["url"], link), text)


def _resolve_destination(destination: str, link: ResolveLink) -> str:
    """Return the resolved URL as a link destination, or the unchanged destination if the URL is the same."""
    href = unescape(_BACKSLASH_ESCAPE.sub(r"\1", destination.removeprefix("<").removesuffix(">")))
    url = _resolve_url(href, link)
    if url == href:
        return destination
    return f"<{url}>" if re.search(r"[\s()]", url) else url


def _resolve_url(href: str, link: ResolveLink) -> str:
    return href if not href.strip() or _OTHER_SCHEME.match(href) else link(href)


_INLINE = re.compile(
    r"(?P<skip>\\.|(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`)|<!--.*?-->)"
    r"|(?P<before>\]\(\s*)(?P<url><[^<>\r\n]*>|(?:\\.|[^\s()<>\\]|\((?:\\.|[^\s()<>\\])*\))+)"
    r"|(?P<tag><[a-zA-Z][^<>]*>)|(?P<bracket>[\[\]])",
    re.DOTALL,
)
_ATTRIBUTE = re.compile(r"""(?P<before>\s(?:href|src)\s*=\s*)(?P<quote>["'])(?P<url>.*?)(?P=quote)""", re.DOTALL | re.I)
_DEFINITION = re.compile(r"(?P<before>^[ >]*\[(?:\\.|[^\]\\])+\]:\s*)(?P<url><[^<>\r\n]*>|\S+)", re.MULTILINE)
_BACKSLASH_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_OTHER_SCHEME = re.compile(r"(?!https?:)[a-z][a-z0-9+.-]*:", re.IGNORECASE)
