"""What responses contain, by their bytes, and what the Markdown of a page holds compared with its HTML."""

from __future__ import annotations

import codecs
import re
from collections import Counter
from dataclasses import dataclass
from html import unescape
from typing import Literal

from mkdocs_roaming._json import decode_json
from mkdocs_roaming.html.document import find_words
from mkdocs_roaming.publish.markdown_source import split_front_matter, strip_pointer
from mkdocs_roaming.sources import decode_text
from roaming_crawler.fetch import Response

ContentKind = Literal["markdown", "html", "json", "xml", "binary", "nothing"]


def sniff_kind(response: Response) -> ContentKind:
    """Return the content type of a body, whatever the server calls it. Text of no other type is Markdown."""
    data = response.body
    if not data.strip():
        return "nothing"
    head = decode_text(data[:4096], response.charset).lstrip("\ufeff \t\r\n")
    while head.startswith("<!--"):
        end = head.find("-->")
        head = head[end + 3 :].lstrip() if end >= 0 else ""
    if _HTML_START.match(head) or (response.kind in ("text/html", "application/xhtml+xml") and _HTML_TAG.search(head)):
        return "html"
    if head.startswith("<?xml") or response.kind in ("application/xml", "text/xml"):
        return "html" if "<html" in head.lower() else "xml"
    if _is_binary(data):
        return "binary"
    if head.startswith(("{", "[")) and _is_json(data):
        return "json"
    return "markdown"


def _is_binary(data: bytes) -> bool:
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return False
    head = data[:4096]
    control_chars = sum(1 for byte in head if byte < 32 and byte not in b"\t\n\r\f\x1b")
    return b"\0" in head or control_chars > len(head) // 20


def _is_json(data: bytes) -> bool:
    try:
        return isinstance(decode_json(data), (dict, list))
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class Coverage:
    """What the Markdown of pages has kept of their HTML. Only pages that are converted from HTML count."""

    visible_words: int = 0
    """Words of the articles that a reader sees."""
    words: int = 0
    """Those of them that are in the Markdown."""

    def __add__(self, other: Coverage) -> Coverage:
        """Return the sums."""
        return Coverage(self.visible_words + other.visible_words, self.words + other.words)

    @property
    def share(self) -> float:
        """The share of the visible words that are in the Markdown."""
        return self.words / self.visible_words if self.visible_words else 1.0


def measure_coverage(article: str, markdown: str) -> Coverage:
    """Return what the Markdown of an article has kept of its HTML."""
    text = _INLINE_TAG.sub("", _INVISIBLE.sub(" ", article))
    if "termy" in article:
        text = _TERMINAL_TAG.sub(" ", text)
    visible = Counter(find_words(unescape(_TAG.sub(" ", text))))
    kept = visible & Counter(find_words(_strip_markup(markdown)))
    return Coverage(visible.total(), kept.total())


def find_richer_source(markdown: str, converted: str, article: str = "") -> Literal["html", "markdown", "both"]:
    """Return which source of a page holds more; `both` if each lacks something, or neither does.

    A source holds more if it has more words, or more tables, admonitions or code blocks with a language, and no less of
    anything.

    Args:
        markdown: The site's own Markdown.
        converted: The Markdown that was converted from the HTML.
        article: That HTML. The converter writes tables of parameters as lists, so its tables count, too.
    """
    text = strip_pointer(split_front_matter(markdown)[0])
    own = len(find_words(_strip_markup(text)))
    other = len(find_words(_strip_markup(converted)))
    pairs = [(len(pattern.findall(text)), len(pattern.findall(converted))) for pattern in (_TABLE, _ALERT, _CODE)]
    pairs[0] = pairs[0][0], max(pairs[0][1], min(pairs[0][0], article.count("<table")))
    has_more = any(one > two for one, two in pairs)
    has_less = any(one < two for one, two in pairs)
    if own > 2 * other or (not has_less and own >= 0.95 * other and (has_more or own > 1.1 * other)):
        return "markdown"
    if other > 2 * own or (not has_more and other >= 0.95 * own and (has_less or other > 1.1 * own)):
        return "html"
    return "both"


def shows_generator_source(markdown: str) -> bool:
    """Return whether a text contains the source of a site generator: components, directives, templates."""
    return bool(_GENERATOR_SOURCE.search(_FENCE.sub("", split_front_matter(markdown)[0])))


def _strip_markup(markdown: str) -> str:
    """Return the text of Markdown without the targets of links, tags and escapes; code stays as it is."""
    parts: list[str] = []
    end = 0
    for code in _CODE_SPAN.finditer(markdown):
        parts += [_strip_prose(markdown[end : code.start()]), code[0]]
        end = code.end()
    return "".join([*parts, _strip_prose(markdown[end:])])


def _strip_prose(text: str) -> str:
    text = _LINK_TARGET.sub("]", _DEFINITION.sub("", text))
    text = _TAG.sub(" ", _INLINE_TAG.sub("", text))
    return unescape(_ESCAPE.sub(r"\1", text))


_INVISIBLE = re.compile(r"<(script|style|svg|template|title)\b.*?</\1\s*>|<!--.*?-->", re.DOTALL | re.IGNORECASE)
_CODE_SPAN = re.compile(r"(?<![`\\])(`+)(?!`).*?(?<!`)\1(?!`)|~{3,}.*?~{3,}", re.DOTALL)
_INLINE_TAG = re.compile(
    r"</?(?:a|abbr|b|code|em|i|kbd|mark|s|small|span|strong|sub|sup|u|var|wbr)\b[^<>]*>", re.IGNORECASE
)
_TERMINAL_TAG = re.compile(r"&lt;/?(?:b|font|i|span|u)\b[^<>&]*(?:&quot;[^<>&]*)*&gt;")
"""Escaped tags, which Termynal shows as colours of a terminal."""
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
_LINK_TARGET = re.compile(r"\]\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*(?:\s+\"[^\"]*\")?\)")
_DEFINITION = re.compile(r"^ {0,3}\[[^\]^][^\]]*\]:[ \t]*\S+.*$", re.MULTILINE)
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_TABLE = re.compile(r"^[ \t>]*\|?[ \t]*:?-{3,}:?[ \t]*(?:\|[ \t]*:?-{3,}:?[ \t]*)*\|[ \t:|-]*$|<table\b", re.MULTILINE)
_ALERT = re.compile(r"^[ \t>*+-]*> ?\[!\w+\]", re.MULTILINE)
_CODE = re.compile(r"^[ \t>*+-]*(?:\d+\. +)?(?:`{3,}|~{3,})[ \t]*\w", re.MULTILINE)
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,}).*?^[ \t]*\1[`~]*[ \t]*$", re.DOTALL | re.MULTILINE)
_GENERATOR_SOURCE = re.compile(
    r"^import .+ from ['\"]|^export (?:const|default|function)\b|^[ \t]*</?[A-Z]\w*(?:[ \t/>]|$)|^<<< [@./]"
    r"|^[ \t]*(?::{3,}[ \t]*[\w{-]|(?:!!!|\?\?\?\+?)[ \t]+\w|=== \"|-{1,2}8<-{1,2})|^\.\. [\w-]+::"
    r"|\{%[^{}]*%\}|\{\{[<%]",
    re.MULTILINE,
)
_HTML_START = re.compile(r"<(!doctype\s+html|html|head|body|meta|title|script|link)\b", re.IGNORECASE)
_HTML_TAG = re.compile(r"<(html|head|body|main|article|div|p|h1|nav)\b[^>]*>", re.IGNORECASE)
