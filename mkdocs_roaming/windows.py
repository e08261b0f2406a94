"""A section as windows: pieces short enough for one vector each, every one under the titles that it stands below.

A vector of a long text is near to everything and to nothing; the best window of a section finds it more often.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from mkdocs_roaming.headings import cut_at_word
from mkdocs_roaming.words import estimate_tokens

WINDOW = 180
"""The estimated tokens of a window's text: half of what the smallest embedding models read."""
MOST = 40
"""The most windows of a section; what follows is found by words alone."""


def windows(titles: Sequence[str], markdown: str, opening: str = "") -> list[str]:
    """Give the texts that stand for a section, at least one; `opening` where it has no text of its own."""
    head = cut_at_word(" › ".join(" ".join(title.split()) for title in titles[-_CRUMBS:]), _HEAD)
    body = _LINK.sub(r"\1", _HEADING.sub("", markdown, count=1)).strip() or opening
    texts = list(_packed(_pieces(body)))[:MOST]
    return [f"{head}\n\n{text}" for text in texts] or [head]


def _packed(pieces: Iterator[tuple[str, int]]) -> Iterator[str]:
    """Put pieces together as long as they fit one window."""
    held: list[str] = []
    size = 0
    for piece, tokens in pieces:
        if held and size + tokens > WINDOW:
            yield "\n\n".join(held)
            held, size = [], 0
        held.append(piece)
        size += tokens
    if held:
        yield "\n\n".join(held)


def _pieces(text: str) -> Iterator[tuple[str, int]]:
    """Give a text's paragraphs, and the lines, then the words of those that are too long, with their tokens."""
    for paragraph in _BLANK.split(text):
        for piece in _cut(paragraph.strip("\n")):
            if piece.strip():
                yield piece, estimate_tokens(piece)


def _cut(text: str) -> Iterator[str]:
    if estimate_tokens(text) <= WINDOW:
        yield text
    elif "\n" in text:
        yield from _grown(text.splitlines(), "\n")
    elif " " in text:
        yield from _grown(text.split(" "), " ")
    else:
        size = max(len(text) * WINDOW // estimate_tokens(text), 1)
        yield from (text[at : at + size] for at in range(0, len(text), size))


def _grown(parts: Sequence[str], between: str) -> Iterator[str]:
    """Join parts up to the size of a window; a part that is longer by itself is cut."""
    held: list[str] = []
    size = 0
    for part in parts:
        tokens = estimate_tokens(part)
        if held and size + tokens > WINDOW:
            yield between.join(held)
            held, size = [], 0
        if tokens > WINDOW:
            yield from _cut(part)
        else:
            held.append(part)
            size += tokens
    if held:
        yield between.join(held)


_CRUMBS = 6
_HEAD = 200
_HEADING = re.compile(r"\A\s*#{1,6}[ \t][^\n]*")  # its title stands in the breadcrumb
_BLANK = re.compile(r"\n[ \t]*\n")
_LINK = re.compile(  # addresses say nothing; no part runs past where the next link begins: pages may be hostile
    r"!?\[([^\[\]\n]*)\]\((?:[^()\s]|\([^()\s]*\))*(?:\s+\"[^\"\n]*\")?\)"
)
