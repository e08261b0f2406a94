"""The part of a section that answers to a question's words, as plain text on one line."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from mkdocs_roaming.text.tokenizer import Word, extract_terms

SNIPPET_CHARS = 200
"""The most characters of a snippet."""


def snippet(markdown: str, words: Iterable[Word], language: str = "en", *, most: int = SNIPPET_CHARS) -> str:
    """Give the window that holds most of the words, begun at a sentence or a word; the text's beginning for none."""
    wanted = {term for word in words for run in word.runs for term in run}
    text = strip_markdown(_HEADING.sub("", markdown[:_READ], count=1))
    if len(text) <= most:
        return text
    spots = [
        (match.start(), match.end(), wanted & said)
        for match in _SPOT.finditer(text)
        if not wanted.isdisjoint(said := _said(match[0], language))
    ]
    best, begin = 0.0, 0
    for at, (start, _, _) in enumerate(spots):
        seen: set[str] = set()
        count = 0
        for _, end, here in spots[at:]:
            if end - start > most - _LEAD:
                break
            seen |= here
            count += 1
        if len(seen) + count / 100 > best:
            best, begin = len(seen) + count / 100, start
    return _cut(text, begin, most)


def strip_markdown(markdown: str) -> str:
    """Give Markdown's words without its marks, on one line."""
    return " ".join(_DRESS.sub(lambda match: match[1] or " ", _INLINE.sub("", markdown)).split())


@lru_cache(1 << 13)
def _said(spot: str, language: str) -> frozenset[str]:
    return frozenset(extract_terms(spot, language))


def _cut(text: str, begin: int, most: int) -> str:
    start = 0
    if begin > _LEAD:
        earlier = text[begin - _LEAD : begin]
        sentence = max(earlier.rfind(". "), earlier.rfind(": "))
        space = earlier.find(" ")
        start = begin - _LEAD + (sentence + 2 if sentence >= 0 else space + 1 if space >= 0 else _LEAD)
    piece = text[start : start + most - 2]
    if start + len(piece) < len(text):
        space = piece.rfind(" ")
        piece = (piece[:space] if space > most // 2 else piece).rstrip(" ,;:") + "…"
    return ("…" if start else "") + piece


_HEADING = re.compile(r"\A\s*#{1,6}[ \t][^\n]*")  # it stands above the snippet already
_READ = 200_000  # characters in which a window is looked for
_LEAD = 60  # characters before the first word found
_SPOT = re.compile(r"\S{1,40}")  # a script without spaces has no words to go by
_INLINE = re.compile(r"^[ \t>]*`{3,}.*$|`+|\*\*", re.MULTILINE)
_DRESS = re.compile(
    r"!?\[([^\]\n]*)\]\([^)\s]*(?:\s+\"[^\"\n]*\")?\)"  # a link or an image: its text stays
    r"|^[ \t]*~{3,}.*$"
    r"|^[ \t]*(?:#{1,6}|>|[-*+])[ \t]+"
    r"|^[ \t]*\|?[-:| ]{3,}$"
    r"|\[\^[^\]]*\]:?|\[!\w+\]|\|"
    r"|</?(?:a|b|br|code|dd|details|div|dl|dt|em|h[1-6]|hr|i|img|kbd|li|ol|p|pre|s|span|strong|su[bp]|summary|t(?:able|body|d|h|head|r)|ul)"
    r"\b[^>\n]{0,200}>",
    re.MULTILINE,
)
