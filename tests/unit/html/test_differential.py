"""Differential tests against two other converters, markdownify and html2text, on pages of what both support.

Headings, links, items, code and cells of both results are compared.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator

import pytest
from html2text import HTML2Text
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markdownify import markdownify

from mkdocs_roaming.html.converter import convert

READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
MEASURES = ("headings", "links", "items", "codes", "cells")


def convert_with_html2text(page: str) -> str:
    reader = HTML2Text(bodywidth=0)
    reader.unicode_snob = True
    reader.skip_internal_links = False
    return reader.handle(page)


def convert_with_markdownify(page: str) -> str:
    return markdownify(page, heading_style="ATX")


PEERS: dict[str, Callable[[str], str]] = {"markdownify": convert_with_markdownify, "html2text": convert_with_html2text}


def find_parts(markdown: str) -> dict[str, list[str]]:
    """Return the parts of a text, by measure."""
    found: dict[str, list[str]] = {measure: [] for measure in MEASURES}
    tokens = READER.parse(markdown)
    for at, token in enumerate(tokens):
        if token.type in ("fence", "code_block"):
            found["codes"].append(token.content.strip("\n"))
        if token.type != "inline":
            continue
        for piece in token.children or []:
            if piece.type == "link_open":
                found["links"].append(str(piece.attrs["href"]))
            elif piece.type == "code_inline":
                found["codes"].append(" ".join(piece.content.split()))
        if measure := measure_of(tokens, at):
            found[measure].append(text_of(token))
    return found


def measure_of(tokens: list[Token], at: int) -> str | None:
    around = tokens[at - 1].type
    if around == "paragraph_open" and tokens[at - 2].type == "list_item_open":
        return "items"
    return {"heading_open": "headings", "th_open": "cells", "td_open": "cells"}.get(around)


def text_of(token: Token) -> str:
    return " ".join("".join(words(token)).split())


def words(token: Token) -> Iterator[str]:
    for piece in token.children or []:
        yield piece.content if piece.type in ("text", "code_inline") else " " if "break" in piece.type else ""


def assert_agreement(page: str, peer: str) -> None:
    """Assert that both converters return the same parts of a page."""
    ours = find_parts(convert(page, title="T").markdown)
    if ours["headings"][:1] == ["T"]:  # a page without a title gets one
        del ours["headings"][0]
    theirs = find_parts(PEERS[peer](page))
    for measure in MEASURES:
        assert ours[measure] == theirs[measure], measure


# Generated pages of constructs that both peers support

WORD = st.text(alphabet="abcxyz ÄñЖ中0123456789,.;:?()%@/", min_size=1, max_size=15).map(lambda text: f"w{text}w")
CODE = st.text(alphabet="ab *_#>-<&|[]()\\~$=\t\n", min_size=1, max_size=40).map(
    lambda code: "x" + re.sub(r"[ \t]+\n", "\n", code) + "x"
)
URL = st.text(alphabet="ab/.-?=#&%", min_size=1, max_size=12).map(lambda path: f"https://lamp.example/{path}a")


def tagged(tag: str, inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return inner.map(lambda text: f"<{tag}>{text}</{tag}>")


def several(inner: st.SearchStrategy[str], between: str = "", least: int = 1) -> st.SearchStrategy[str]:
    return st.lists(inner, min_size=least, max_size=4).map(between.join)


PLAIN = WORD.map(html.escape)
SPAN = (
    PLAIN
    | tagged("strong", PLAIN)
    | tagged("em", PLAIN)
    | st.builds('<a href="{}">{}</a>'.format, URL.map(html.escape), PLAIN)
    | tagged("code", CODE.map(lambda code: html.escape(" ".join(code.split()))))
)
LINE = several(SPAN, " ")
ITEM = tagged("li", LINE)
LIST = tagged("ul", several(ITEM | tagged("li", st.builds("{}<ul>{}</ul>".format, PLAIN, several(ITEM)))))
CELLS = st.integers(2, 4).flatmap(
    lambda width: st.tuples(
        st.lists(PLAIN, min_size=width, max_size=width),
        st.lists(st.lists(LINE, min_size=width, max_size=width), min_size=1, max_size=3),
    )
)


def table(cells: tuple[list[str], list[list[str]]]) -> str:
    head, rows = cells
    return (
        f"<table><thead><tr>{''.join(f'<th>{cell}</th>' for cell in head)}</tr></thead><tbody>"
        + "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
        + "</tbody></table>"
    )


BLOCK = st.one_of(
    *(tagged(f"h{level}", PLAIN) for level in range(2, 7)),
    tagged("p", LINE),
    LIST,
    tagged("ol", several(ITEM)),
    CELLS.map(table).filter(lambda text: "|" not in text),
    CODE.map(lambda code: f"<pre><code>{html.escape(code)}\n</code></pre>"),
)


@pytest.mark.parametrize("peer", PEERS)
@given(page=several(BLOCK, "<p>Between.</p>"))
def test_convert_any_plain_page_agrees_with_peer(peer: str, page: str) -> None:
    assert_agreement(page, peer)


def test_comparison_finds_differences() -> None:
    for broken in ("<h2>a</h2>", "<p><a href='/x'>a</a></p>", "<ul><li>a</li></ul>", "<pre>a</pre>", "<code>a</code>"):
        assert find_parts(convert(broken, title="T").markdown) != find_parts(convert("<p>a</p>", title="T").markdown)
