"""Markdown that a site publishes itself, brought into the contract's shape; else as it is."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import escape, unescape

from markdown_it import MarkdownIt

from mkdocs_roaming.html.escape import escape_text as escape_markdown
from mkdocs_roaming.text.markdown import LINE_END, parse_headings

Link = Callable[[str], str]


def normalize_markdown(markdown: str, *, title: str, link: Link) -> str:
    """Give the Markdown without front matter and foreign pointer, under a title, with the addresses `link` gives.

    `title` stands where there is no H1 of its own at the top. What `link` leaves alone stays byte for byte.
    """
    text = strip_pointer(split_front_matter(markdown)[0])
    marks = parse_headings(text)
    if not marks or marks[0].level != 1:
        plain = " ".join(title.split()) or "Untitled"
        text = f"# {escape_markdown(plain)}\n\n{text}" if text else f"# {escape_markdown(plain)}\n"
    text = _linked(text, link)
    return text if text.endswith("\n") else text + "\n"


def split_front_matter(markdown: str) -> tuple[str, dict[str, str]]:
    """Give the Markdown below its front matter, and the front matter's plain `key: value` lines."""
    text = markdown.removeprefix("\ufeff")
    found = _FRONT_MATTER.match(text)
    if not found or not _KEY.search(found[1]):
        return text, {}
    pairs = {key.lower(): value.strip().strip("\"'") for key, value in _KEY.findall(found[1])}
    return text[found.end() :], pairs


def leading_pointer(markdown: str) -> str:
    """Give the quote at its top that points readers to an llms.txt, and what stands before it."""
    text = split_front_matter(markdown)[0]
    return text.removesuffix(strip_pointer(text))


def strip_pointer(markdown: str) -> str:
    """Give the Markdown without the quote at its top that points readers to an llms.txt."""
    text = markdown.lstrip("\r\n")
    found = _QUOTE.match(text)
    return text[found.end() :].lstrip("\r\n") if found and "llms.txt" in found[0] else text


_FRONT_MATTER = re.compile(
    r"\A---[ \t]*(?:\r\n|\n|\r)((?:[^\r\n]*(?:\r\n|\n|\r))*?)(?:---|\.\.\.)[ \t]*(?:\r\n|\n|\r|\Z)"
)
_KEY = re.compile(r"^([A-Za-z_][\w-]*):[ \t]*([^\r\n]*?)[ \t]*$", re.MULTILINE)
_QUOTE = re.compile(r"\A(?: {0,3}>[^\r\n]*(?:\r\n|\n|\r|\Z))+")
_INLINE = re.compile(
    r"(?P<keep>\\.|(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`)|<!--.*?-->)"
    r"|(?P<before>\]\(\s*)(?P<to><[^<>\r\n]*>|(?:\\.|[^\s()<>\\]|\((?:\\.|[^\s()<>\\])*\))+)"
    r"|(?P<tag><[a-zA-Z][^<>]*>)|(?P<bracket>[\[\]])",
    re.DOTALL,
)
_ATTRIBUTE = re.compile(r"""(?P<before>\s(?:href|src)\s*=\s*)(?P<quote>["'])(?P<to>.*?)(?P=quote)""", re.DOTALL | re.I)
_DEFINITION = re.compile(r"(?P<before>^[ >]*\[(?:\\.|[^\]\\])+\]:\s*)(?P<to><[^<>\r\n]*>|\S+)", re.MULTILINE)
_ADDRESS = re.compile(r"\\([!-/:-@\[-`{-~])")


def _linked(text: str, link: Link) -> str:
    """Rewrite addresses where CommonMark reads them: in prose, HTML and definitions, not in code."""
    lines = LINE_END.split(text)
    offsets = [0, *(end.end() for end in LINE_END.finditer(text)), len(text)]
    if not re.search(r"\]\(|\]:|href|src", text):
        return text
    environment: dict[str, dict[str, dict[str, list[int]]]] = {}
    tokens = _READER.parse(text.replace("\0", "\ufffd"), environment)
    places = {
        tuple(token.map): _in_html if token.type == "html_block" else _in_prose
        for token in tokens
        if token.type in ("inline", "html_block") and token.map
    }
    for label, definition in environment.get("references", {}).items():
        # GFM's footnotes look like definitions to CommonMark, where they are one word long.
        places[tuple(definition["map"])] = _in_prose if label.startswith("^") else _in_definitions
    parts: list[str] = []
    at = 0
    for (first, end), rewrite in sorted(places.items()):
        start, stop = offsets[first], offsets[min(end, len(lines))]
        if start < at:
            continue
        parts += [text[at:start], rewrite(text[start:stop], link)]
        at = stop
    return "".join([*parts, text[at:]])


_READER = MarkdownIt("commonmark").disable(
    ["text_join", "emphasis", "entity", "backticks", "link", "image", "autolink"]
)


def _in_prose(text: str, link: Link) -> str:
    opened = 0

    def changed(found: re.Match[str]) -> str:
        nonlocal opened
        if found["tag"]:
            return _in_html(found[0], link)
        if found["bracket"]:
            opened = opened + 1 if found[0] == "[" else max(0, opened - 1)
        if found["keep"] or found["bracket"] or not opened:
            return found[0]
        opened -= 1
        return found["before"] + _moved(found["to"], link)

    return _INLINE.sub(changed, text)


def _in_html(text: str, link: Link) -> str:
    def changed(found: re.Match[str]) -> str:
        href = unescape(found["to"])
        to = _target(href, link)
        return found[0] if to == href else found["before"] + found["quote"] + escape(to, quote=True) + found["quote"]

    return _ATTRIBUTE.sub(changed, text)


def _in_definitions(text: str, link: Link) -> str:
    return _DEFINITION.sub(lambda found: found["before"] + _moved(found["to"], link), text)


def _moved(written: str, link: Link) -> str:
    """Give an address as Markdown writes it, after `link`; as it was written where that changes nothing."""
    href = unescape(_ADDRESS.sub(r"\1", written.removeprefix("<").removesuffix(">")))
    to = _target(href, link)
    if to == href:
        return written
    return f"<{to}>" if re.search(r"[\s()]", to) else to


def _target(href: str, link: Link) -> str:
    return href if not href.strip() or _ELSEWHERE.match(href) else link(href)


_ELSEWHERE = re.compile(r"(?!https?:)[a-z][a-z0-9+.-]*:", re.IGNORECASE)
