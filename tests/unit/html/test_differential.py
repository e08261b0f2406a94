"""Differential tests against two other converters, markdownify and html2text.

Both support plain HTML and no theme. So everything that one of them converts wrongly (see `UNSUPPORTED`) is removed
from the pages first. Then headings, links, items, code and cells of both results are compared.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from html2text import HTML2Text
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree
from lxml.cssselect import CSSSelector
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markdownify import markdownify

from mkdocs_roaming.html.converter import convert
from mkdocs_roaming.html.document import parse_body

GOLDEN = Path(__file__).parents[2] / "golden" / "html"
CASES = sorted(set(GOLDEN.glob("*.html")) - {GOLDEN / "titles-repeated.html"})  # the others keep repeated headings
READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
MEASURES = ("headings", "links", "items", "codes", "cells")


HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")


def convert_with_html2text(page: str) -> str:
    reader = HTML2Text(bodywidth=0)
    reader.unicode_snob = True
    reader.skip_internal_links = False
    return reader.handle(page)


def convert_with_markdownify(page: str) -> str:
    return markdownify(page, heading_style="ATX")


PEERS: dict[str, Callable[[str], str]] = {"markdownify": convert_with_markdownify, "html2text": convert_with_html2text}

UNSUPPORTED = (
    # unknown to both
    (".headerlink, .hash-link, .header-anchor, .anchor, .toclink, .header, .toc-backref", "a heading's link to itself"),
    (
        "div.admonition, details, aside, blockquote, .alert, .custom-block, .markdown-alert",
        "admonitions are plain text",
    ),
    (".theme-admonition, .versionadded, .deprecated, .topic, .seealso, .sidebar", "admonitions are plain text"),
    ("a[href*='code/'], a[href*='code='], pre.mermaid, .pyodide, vegachart", "programs stay in addresses and indented"),
    (
        ".tabbed-set, .tabs-container, .sd-tab-set, .tab-set, .sphinx-tabs, starlight-tabs, .vp-code-group, "
        ".mdbook-tabs-container",
        "tabs are plain text",
    ),
    (".termy, .termynal", "terminals are not cleaned"),
    (".footnote, .footnotes, .footnote-ref, sup, .footnote-reference, [role=doc-noteref]", "footnotes are links"),
    (".arithmatex, .math, .katex, .katex-display, math, .MathJax_Preview, script, style, template", "no math"),
    (".linenos, .gutter, .line-numbers-wrapper, .highlighttable, button, .copy, span.lang, .filename", "not code"),
    (
        "figure, .codeBlockTitle_Ktv7, .codeBlockTitle_OeMC, .code-block-caption, .buttonGroup__atx, "
        ".zeroclipboard-container",
        "not code",
    ),
    (".sig, .doc-heading, .doc-signature, dl, .doc-labels, .doc-section-title", "API objects and definitions"),
    (".doc-section-item, table:has(.doc-section-item), table.field-list, table.autosummary", "parameters are lists"),
    ("nav, .toc, .citation, caption, pre:has(pre), pre:has(strong), pre:has(em), code:has(a)", "parts of one theme"),
    ("[hidden], .no-llms, .sr-only, [style*=display]", "hidden"),
    (".prompt.highlight-none, .clipboard-copy-txt, .celltoolbar, .anchor-link", "parts of notebooks"),
    (
        "mark, kbd, q, var, samp, abbr, acronym, ins, sub, s, del, .comment, .line-block, hr",
        "tags without a Markdown sign",
    ),
    ("a:has(svg), a:has(img), a:has(div), a:has(h3), a:has(ul), a:has(a), a:has(code), code a", "links around more"),
    ("a:not([href]), a:empty, a[href^=javascript], a[href*=' '], a[href*='&lt;'], td a[href*='|']", "odd addresses"),
    ("h1 ~ h1", "titles after the first"),
    ("svg, canvas, iframe, redoc, rapi-doc, video, input, img, picture", "pictures"),
    # wrong in plain HTML, by one or both
    ("ol ol, ul ol, ol ul, li pre, li table, li p", "further blocks of an item are not indented enough"),
    ("li[value], ol[start], ol[reversed], ol[type], ol[style], .upperroman, .lowergreek", "labels of items"),
    ("td br, th br, td p, td ul, td pre, table:has(table), table:has([colspan]), table:has([rowspan])", "no cells"),
    ("table:not(:has(thead)), table:not(:has(th + th))", "the first row becomes the head, one column a heading"),
    ("pre:has(br), h1 br, h2 br, h3 br, h4 br, h5 br, h6 br", "breaks where Markdown has none"),
)
"""Selectors of what the peers convert wrongly, with the reason."""

AMBIGUOUS = re.compile(r"[*_`#<>\[\]\\|~&$^+=-]|^\s*\d+[.)]|\u200b|\u00ad|\u00a0")
"""Text in which the peers escape too little or too much."""

MIN_PARTS = {"headings": 40, "links": 15, "items": 20, "codes": 20, "cells": 25}
"""Minimum numbers of parts that remain of the golden pages."""


def plain(page: str) -> str:
    """Remove what the peers convert wrongly, and put paragraphs around code and tables."""
    tree = parse_body(page)
    for selector, _ in UNSUPPORTED:
        for element in CSSSelector(selector)(tree):
            remove(element)
    for element in reversed(list(tree.iter("p", "li", *HEADINGS, "td", "th", "a", "pre", "code", "table"))):
        text = "".join(str(text) for text in element.itertext())
        if element.tag in ("td", "th"):
            if AMBIGUOUS.search(text) or not text.strip():
                element.clear()
                element.text = "cell"
        elif element.tag != "table" and (
            "`" in text if element.tag in ("pre", "code") else AMBIGUOUS.search(text) or not text.strip()
        ):
            remove(element)
        elif element.tag in ("pre", "table"):
            for put in (element.addprevious, element.addnext):
                between = etree.Element("p")
                between.text = "Between."
                put(between)
    return etree.tostring(tree, encoding="unicode", method="html")


def remove(element: etree._Element) -> None:
    parent = element.getparent()
    if parent is None:
        return
    kept = etree.Element("span")
    kept.text = element.tail
    element.tail = None
    parent.replace(element, kept)


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


def assert_agreement(page: str, peer: str) -> dict[str, list[str]]:
    """Assert that both converters return the same parts of a page, and return them."""
    ours = find_parts(convert(page, title="T").markdown)
    if ours["headings"][:1] == ["T"]:  # a page without a title gets one
        del ours["headings"][0]
    theirs = find_parts(PEERS[peer](page))
    for measure in MEASURES:
        assert ours[measure] == theirs[measure], measure
    return ours


@pytest.mark.parametrize("peer", PEERS)
@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_convert_plain_golden_page_agrees_with_peer(case: Path, peer: str) -> None:
    assert_agreement(plain(case.read_text("utf-8")), peer)


@pytest.mark.parametrize("peer", PEERS)
def test_plain_golden_pages_have_enough_to_compare(peer: str) -> None:
    pages = [assert_agreement(plain(case.read_text("utf-8")), peer) for case in CASES]
    for measure, least in MIN_PARTS.items():
        assert sum(len(page[measure]) for page in pages) >= least, measure


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
