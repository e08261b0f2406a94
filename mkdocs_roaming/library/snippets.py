"""Snippets of search results: the part of a section that matches a query best, as plain text on one line."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from mkdocs_roaming.text.tokenizer import Word, extract_terms

SNIPPET_CHARS = 200

_SEARCHED_CHARS = 200_000
_MAX_LEAD = 60
"""Maximum number of characters before the first match."""
_HEADING = re.compile(r"\A\s*#{1,6}[ \t][^\n]*")  # results show the title already
_CHUNK = re.compile(r"\S{1,40}")  # scripts without spaces have no words to split at
_INLINE_MARKUP = re.compile(r"^[ \t>]*`{3,}.*$|`+|\*\*", re.MULTILINE)
_MARKUP = re.compile(
    r"!?\[([^\]\n]*)\]\([^)\s]*(?:\s+\"[^\"\n]*\")?\)"  # a link or an image: its text remains
    r"|^[ \t]*~{3,}.*$"
    r"|^[ \t]*(?:#{1,6}|>|[-*+])[ \t]+"
    r"|^[ \t]*\|?[-:| ]{3,}$"
    r"|\[\^[^\]]*\]:?|\[!\w+\]|\|"
    r"|</?(?:a|b|br|code|dd|details|div|dl|dt|em|h[1-6]|hr|i|img|kbd|li|ol|p|pre|s|span|strong|su[bp]|summary|t(?:able|body|d|h|head|r)|ul)"
    r"\b[^>\n]{0,200}>",
    re.MULTILINE,
)


def snippet(markdown: str, words: Iterable[Word], language: str = "en", *, max_chars: int = SNIPPET_CHARS) -> str:
    """Return the part of a section's text with the most words of a query; its beginning if it has none.

    The part begins at a sentence or a word.

    Args:
        markdown: The section's text, with its heading.
        words: The words of the query.
        language: The site's language.
        max_chars: Maximum length of the snippet.
    """
    terms = {term for word in words for run in word.runs for term in run}
    text = strip_markdown(_HEADING.sub("", markdown[:_SEARCHED_CHARS], count=1))
    if len(text) <= max_chars:
        return text
    matches = [
        (chunk.start(), chunk.end(), terms & chunk_terms)
        for chunk in _CHUNK.finditer(text)
        if not terms.isdisjoint(chunk_terms := _chunk_terms(chunk[0], language))
    ]
    best_score, best_start = 0.0, 0
    for at, (start, _, _) in enumerate(matches):
        distinct: set[str] = set()
        count = 0
        for _, end, found in matches[at:]:
            if end - start > max_chars - _MAX_LEAD:
                break
            distinct |= found
            count += 1
        if len(distinct) + count / 100 > best_score:
            best_score, best_start = len(distinct) + count / 100, start
    return _cut(text, best_start, max_chars)


def strip_markdown(markdown: str) -> str:
    """Return the text of Markdown without its markup, on one line."""
    return " ".join(_MARKUP.sub(lambda match: match[1] or " ", _INLINE_MARKUP.sub("", markdown)).split())


@lru_cache(1 << 13)
def _chunk_terms(chunk: str, language: str) -> frozenset[str]:
    return frozenset(extract_terms(chunk, language))


def _cut(text: str, match_start: int, max_chars: int) -> str:
    start = 0
    if match_start > _MAX_LEAD:
        lead = text[match_start - _MAX_LEAD : match_start]
        sentence = max(lead.rfind(". "), lead.rfind(": "))
        space = lead.find(" ")
        start = match_start - _MAX_LEAD + (sentence + 2 if sentence >= 0 else space + 1 if space >= 0 else _MAX_LEAD)
    part = text[start : start + max_chars - 2]
    if start + len(part) < len(text):
        space = part.rfind(" ")
        part = (part[:space] if space > max_chars // 2 else part).rstrip(" ,;:") + "…"
    return ("…" if start else "") + part
