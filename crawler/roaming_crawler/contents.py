"""What responses contain, by their bytes, and what the Markdown of a page holds compared with its HTML."""

from __future__ import annotations

import re
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from html import unescape
from typing import Literal

from mkdocs_roaming._json import decode_json
from mkdocs_roaming.html.document import find_words
from mkdocs_roaming.publish.markdown_source import split_front_matter, strip_pointer
from mkdocs_roaming.sources import decode_text
from mkdocs_roaming.text.meta_tags import find_redirect, parse_refresh
from roaming_crawler.fetch import Response, is_binary

ContentKind = Literal["markdown", "html", "json", "xml", "binary", "nothing"]

_HEAD_BYTES = 4096
_SAME_WORDS = 0.95
"""A source with this share of the other's words, or more, holds as much text."""
_MORE_WORDS = 1.1
"""Minimum ratio of the words of two sources for the larger one to hold more text."""
_INVISIBLE = re.compile(r"<(script|style|svg|template|title)\b.*?</\1\s*>|<!--.*?-->", re.DOTALL | re.IGNORECASE)
"""Elements whose text no reader sees, such as `<style>…</style>`; the text has already been through a parser."""
_CODE_SPAN = re.compile(r"(?<![`\\])(`+)(?!`).*?(?<!`)\1(?!`)|~{3,}.*?~{3,}", re.DOTALL)
"""Code, such as `` `code` `` or a fenced block."""
_INLINE_TAG = re.compile(
    r"</?(?:a|abbr|b|code|em|i|kbd|mark|s|small|span|strong|sub|sup|u|var|wbr)\b[^<>]*>", re.IGNORECASE
)
"""Tags that do not end a word, such as `<b>`."""
_TERMINAL_TAG = re.compile(r"&lt;/?(?:b|font|i|span|u)\b[^<>&]*(?:&quot;[^<>&]*)*&gt;")
"""Escaped tags, which Termynal shows as colours of a terminal."""
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
"""Any other tag, such as `<br>`."""
_LINK_TARGET = re.compile(r"\]\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*(?:\s+\"[^\"]*\")?\)")
"""The target of a link with its title, such as `](guide.md "Title")`."""
_DEFINITION = re.compile(r"^ {0,3}\[[^\]^][^\]]*\]:[ \t]*\S+.*$", re.MULTILINE)
"""A line such as `[name]: https://example.org/`."""
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
"""An escaped character, such as `\\*`."""
_TABLE = re.compile(r"^[ \t>]*\|?[ \t]*:?-{3,}:?[ \t]*(?:\|[ \t]*:?-{3,}:?[ \t]*)*\|[ \t:|-]*$|<table\b", re.MULTILINE)
"""The second line of a table, such as `| --- | --- |`, or the start of one in HTML."""
_ALERT = re.compile(r"^[ \t>*+-]*> ?\[!\w+\]", re.MULTILINE)
"""The first line of an alert, such as `> [!NOTE]`."""
_CODE = re.compile(r"^[ \t>*+-]*(?:\d+\. +)?(?:`{3,}|~{3,})[ \t]*\w", re.MULTILINE)
"""The start of a code block with a language, such as `` ```python ``."""
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,}).*?^[ \t]*\1[`~]*[ \t]*$", re.DOTALL | re.MULTILINE)
"""A fenced code block."""
_GENERATOR_SOURCE = re.compile(
    r"^import .+ from ['\"]|^export (?:const|default|function)\b|^[ \t]*</?[A-Z]\w*(?:[ \t/>]|$)|^<<< [@./]"
    r"|^[ \t]*(?::{3,}[ \t]*[\w{-]|(?:!!!|\?\?\?\+?)[ \t]+\w|=== \"|-{1,2}8<-{1,2})|^\.\. [\w-]+::"
    r"|\{%[^{}]*%\}|\{\{[<%]",
    re.MULTILINE,
)
"""Source that only a site generator understands: `import X from "…"`, `<Tabs>`, `!!! note`, `{% if %}`, `.. note::`."""
_HTML_START = re.compile(r"<(!doctype\s+html|html|head|body|meta|title|script|link)\b", re.IGNORECASE)
"""What only HTML begins with."""
_HTML_TAG = re.compile(r"<(html|head|body|main|article|div|p|h1|nav)\b[^>]*>", re.IGNORECASE)
"""An element that makes a response HTML if the server calls it so."""


def sniff_kind(response: Response) -> ContentKind:
    """Return the content type of a body, whatever the server calls it. Text of no other type is Markdown."""
    data = response.body
    if not data.strip():
        return "html" if response.refresh else "nothing"
    head = decode_text(data[:_HEAD_BYTES], response.charset).lstrip("\ufeff \t\r\n")
    while head.startswith("<!--"):
        head = head.partition("-->")[2].lstrip()
    is_called_html = response.kind in ("text/html", "application/xhtml+xml")
    if _HTML_START.match(head) or (is_called_html and _HTML_TAG.search(head)):
        return "html"
    if head.startswith("<?xml") or response.kind in ("application/xml", "text/xml"):
        return "html" if "<html" in head.lower() else "xml"
    if is_binary(data):
        return "binary"
    if head.startswith(("{", "[")):
        with suppress(ValueError):
            decode_json(data)
            return "json"
    return "markdown"


def read_html(response: Response) -> str:
    """Return the HTML of a successful response, an empty string if it is something else."""
    return response.text if response.ok and sniff_kind(response) == "html" else ""


def find_target(response: Response, html: str) -> str:
    """Return the target of a response that redirects by its `Refresh` header or in its HTML, `""` for any other."""
    return parse_refresh(response.refresh) or find_redirect(html) or ""


@dataclass(frozen=True, slots=True)
class Coverage:
    """What the Markdown of pages has kept of their HTML. Only pages that are converted from HTML count."""

    visible_words: int = 0
    """Words of the articles that a reader sees."""
    words: int = 0
    """Those of them that are in the Markdown."""

    @property
    def share(self) -> float:
        """The share of the visible words that are in the Markdown."""
        return self.words / self.visible_words if self.visible_words else 1.0


def measure_coverage(article: str, markdown: str, lost: int = 0) -> Coverage:
    """Return what the Markdown of a page has kept of its HTML: an article, and `lost` words outside of it."""
    text = _INLINE_TAG.sub("", _INVISIBLE.sub(" ", article))
    if "termy" in article:
        text = _TERMINAL_TAG.sub(" ", text)
    visible = Counter(find_words(unescape(_TAG.sub(" ", text))))
    kept = visible & Counter(find_words(_strip_markup(markdown)))
    return Coverage(visible.total() + lost, kept.total())


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
    own_words = len(find_words(_strip_markup(text)))
    html_words = len(find_words(_strip_markup(converted)))
    has_more = False
    has_less = False
    for pattern in (_TABLE, _ALERT, _CODE):
        own = len(pattern.findall(text))
        in_html = len(pattern.findall(converted))
        if pattern is _TABLE:
            in_html = max(in_html, min(own, article.count("<table")))
        has_more |= own > in_html
        has_less |= own < in_html
    if _is_richer(own_words, html_words, has_more, has_less):
        return "markdown"
    if _is_richer(html_words, own_words, has_less, has_more):
        return "html"
    return "both"


def _is_richer(words: int, other_words: int, has_more: bool, has_less: bool) -> bool:
    if words > 2 * other_words:
        return True
    if has_less or words < _SAME_WORDS * other_words:
        return False
    return has_more or words > _MORE_WORDS * other_words


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
