"""Tests of the conversion of HTML to Markdown."""

from __future__ import annotations

import html
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree
from markdown_it import MarkdownIt
from markdown_it.token import Token
from tables import read_tables

from mkdocs_roaming.html import code as html_code
from mkdocs_roaming.html.converter import convert
from mkdocs_roaming.html.document import parse_body
from mkdocs_roaming.html.themes import load_themes
from mkdocs_roaming.html.visitor import Element
from mkdocs_roaming.manifest.sections import split_sections

TABLES = read_tables(__file__)
GOLDEN = Path(__file__).parents[2] / "golden" / "html"
CASES = sorted(GOLDEN.glob("*.html"))
READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def parse_tokens(markdown: str) -> list[Token]:
    """Return every token of a text, including those within lines."""

    def flat(found: list[Token]) -> Iterator[Token]:
        for token in found:
            yield token
            yield from flat(token.children or [])

    return list(flat(READER.parse(markdown)))


def find_code(markdown: str) -> list[str]:
    return [
        token.content.removesuffix("\n") for token in parse_tokens(markdown) if token.type in ("fence", "code_block")
    ]


def find_links(markdown: str) -> list[str]:
    return [str(token.attrs["href"]) for token in parse_tokens(markdown) if token.type == "link_open"]


def extract_code(pre: Element) -> str:
    return html_code.extract_code(pre, load_themes().roles)


def normalize_rendered_text(rendered: str) -> str:
    """Return the text of rendered HTML with white space normalized."""
    spaced = re.sub(r"</?(?:p|li|ul|ol|h\d|blockquote|pre|br|hr|div)\b[^>]*>", r" \g<0> ", rendered)
    return " ".join("".join(str(text) for text in parse_body(spaced).itertext()).split())


def body(markdown: str) -> str:
    """Return the Markdown of a page without its title."""
    return markdown.partition("\n")[2]


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_convert_golden_page_returns_expected_markdown_and_headings(case: Path) -> None:
    """UPDATE=1 writes the Markdown."""
    converted = convert(case.read_text("utf-8"), title="The nav's title")
    expected, headings = case.with_suffix(".md"), case.with_suffix(".json")
    if os.environ.get("UPDATE"):
        expected.write_text(converted.markdown, "utf-8", newline="\n")
    assert converted.markdown == expected.read_text("utf-8")
    if headings.exists():
        found = [[h.level, h.text, h.anchor, *([list(h.anchors)] if h.anchors else [])] for h in converted.headings]
        assert found == json.loads(headings.read_text("utf-8"))


def test_convert_leaves_out_the_id_of_the_whole_article() -> None:
    converted = convert('<article id="main"><h1 id="t">T</h1><p id="a">A.</p></article>', title="T")
    assert converted.headings[0].anchors == ("a",)


@pytest.mark.parametrize(
    ("tags", "levels"),
    [
        ("1212312", "1223423"),
        ("13121", "13232"),
        ("31123", "13234"),  # the title comes first
        ("1133", "1233"),
        ("1123456", "1234566"),
        ("123456", "123456"),
        ("2132", "1232"),
    ],
)
def test_convert_keeps_headings_below_a_later_title(tags: str, levels: str) -> None:
    converted = convert("".join(f"<h{tag}>{at}</h{tag}>" for at, tag in enumerate(tags)), title="T")
    assert "".join(str(heading.level) for heading in converted.headings) == levels
    assert re.findall(r"(?m)^#+", converted.markdown) == ["#" * int(level) for level in levels]


def test_convert_keeps_text_and_anchors_of_a_later_title() -> None:
    page = "<p>a</p><h3>Series</h3><p>b</p><h1>Tides</h1><p id=c>c</p><h2>Ebb</h2><p id=d>d</p>"
    converted = convert(page, title="T")
    assert body(converted.markdown).split() == ["a", "c", "###", "Series", "b", "##", "Ebb", "d"]
    assert [heading.anchors for heading in converted.headings] == [("c",), (), ("d",)]


@pytest.mark.parametrize("title", ["<h1>Leave</h1>", "<h2>Leave</h2>", "<p><b>Leave</b></p>", ""])
def test_convert_takes_bold_lines_as_headings_below_any_form_of_the_title(title: str) -> None:
    lines = "".join(f"<p><b>{name} leave</b></p><p>Ask for it.</p>" for name in ("Annual", "Sick", "Unpaid"))
    headings = convert(f"{title}<p>It is free.</p>{lines}", title="Leave").headings
    assert [(heading.level, heading.text) for heading in headings] == [
        (1, "Leave"),
        (2, "Annual leave"),
        (2, "Sick leave"),
        (2, "Unpaid leave"),
    ]


def test_convert_maps_addresses_of_links_and_images() -> None:
    page = (
        '<p><a href="../a/#b">a</a> <img src="i.png" alt="i"></p><table><tr><td><ul><li><a href="c">c</a></ul></table>'
    )
    page += "<table><tr><td rowspan=2>x</td><td><a href=d>d</a><img src=j.png></td></tr><tr><td>y</table>"
    markdown = convert(
        page, title="T", link=lambda url: f"https://l/{url}", image=lambda url: f"https://i/{url}"
    ).markdown
    assert "[a](https://l/../a/#b)" in markdown
    assert "![i](https://i/i.png)" in markdown
    assert "[c](https://l/c)" in markdown
    assert '<a href="https://l/d">d</a><img src="https://i/j.png" alt="">' in markdown


def find_languages(markdown: str) -> list[str]:
    return [token.info for token in parse_tokens(markdown) if token.type == "fence"]


@pytest.mark.parametrize(("page", "recorded", "languages"), TABLES.values(), ids=list(TABLES))
def test_convert_writes_languages_of_code(page: str, recorded: list[list[str]], languages: list[str]) -> None:
    pairs = [(code, language) for code, language in recorded]
    assert find_languages(convert(page, title="T", code_languages=pairs).markdown) == languages


def test_convert_tree_equals_convert_text_and_keeps_the_tree() -> None:
    page = (GOLDEN / "callouts.html").read_text("utf-8")
    tree = parse_body(page)
    before = etree.tostring(tree)
    assert convert(tree, title="T") == convert(page, title="T")
    assert etree.tostring(tree) == before


# Generated pages

NASTY = st.text(alphabet=st.sampled_from(list("ab1 .-+*_`~#>[](){}!|<&;:\\\"'$=^/\té中")), min_size=1, max_size=12)
CODE = st.text(alphabet=st.sampled_from(list("ab `~#>-\t\n|\\<&")), min_size=1, max_size=20)


def inlines(depth: int = 2) -> st.SearchStrategy[str]:
    leaf = NASTY.map(html.escape) | CODE.map(lambda code: f"<code>x{html.escape(' '.join(code.split()))}</code>")
    if not depth:
        return leaf
    inner = st.lists(inlines(depth - 1), min_size=1, max_size=3).map("".join)
    tagged = st.builds(
        "<{0}>{1}</{0}>".format, st.sampled_from(["b", "i", "span", "del", "strong", "em", "a href='/x'"]), inner
    ).map(lambda text: text.replace("</a href='/x'>", "</a>").replace("<a href='/x'>", "<a href='/x'>x"))
    return leaf | tagged | st.just("<br>")


PARAGRAPHS = st.lists(inlines(), min_size=1, max_size=5).map("".join)
BLOCKS = st.recursive(
    PARAGRAPHS.map(lambda text: f"<p>{text}</p>")
    | st.builds("<h{0}>{1}</h{0}>".format, st.integers(2, 6), NASTY.map(html.escape))
    | CODE.map(lambda code: f"<pre><code>x{html.escape(code)}x\n</code></pre>")
    | st.just("<hr>"),
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3).map(
            lambda parts: f"<ul>{''.join(f'<li>{part}</li>' for part in parts)}</ul>"
        )
        | st.lists(inner, min_size=1, max_size=3).map(
            lambda parts: f"<ol>{''.join(f'<li>{part}</li>' for part in parts)}</ol>"
        )
        | st.lists(inner, min_size=1, max_size=3).map(lambda parts: f"<blockquote>{''.join(parts)}</blockquote>")
        | st.lists(inner, min_size=1, max_size=3).map(
            lambda parts: f"<details><summary>S</summary>{''.join(parts)}</details>"
        )
    ),
    max_leaves=8,
)
ANY_PAGE = st.lists(BLOCKS, min_size=1, max_size=5).map("".join)


@given(ANY_PAGE)
def test_convert_any_page_keeps_headings_and_code(page: str) -> None:
    converted = convert(page, title="T")
    read = split_sections(converted.markdown, headings=converted.headings)
    located = split_sections(converted.markdown, headings=converted.headings, offsets=converted.offsets)
    assert located == read
    assert [(s.level, s.title) for s in read] == [(h.level, h.text) for h in converted.headings]
    assert find_code(converted.markdown) == [extract_code(pre) for pre in parse_body(page).iter("pre")]


@given(PARAGRAPHS)
def test_convert_any_line_keeps_its_text(line: str) -> None:
    markdown = convert(f"<p>{line}</p>", title="T").markdown
    assert normalize_rendered_text(READER.render(body(markdown))).replace(" ", "") == normalize_rendered_text(
        f"<p>{line}</p>"
    ).replace(" ", "")


@given(st.lists(st.lists(NASTY, min_size=2, max_size=2), min_size=1, max_size=3))
def test_convert_any_table_keeps_its_cells(rows: list[list[str]]) -> None:
    page = "<table><tr><th>a</th><th>b</th></tr>" + "".join(
        f"<tr>{''.join(f'<td>{html.escape(cell)}<br><code>{html.escape(cell)}</code></td>' for cell in row)}</tr>"
        for row in rows
    )
    rendered = READER.render(body(convert(page, title="T").markdown))
    cells = ["".join("".join(cell.itertext()).split()) for cell in parse_body(rendered).iter("td")]
    assert cells == ["".join(cell.split()) * 2 for row in rows for cell in row]


@given(st.text(alphabet=st.sampled_from(list("ab \n#*_`>-1.[]()!|~\\<&")), max_size=80))
def test_convert_rendered_markdown_keeps_code_links_and_headings(source: str) -> None:
    rendered = READER.render(source)
    converted = convert(rendered, title="T")
    again = READER.render(body(converted.markdown))
    assert find_code(converted.markdown) == [
        extract_code(pre) for pre in parse_body(rendered).iter("pre") if extract_code(pre).strip()
    ]
    assert find_links(converted.markdown) == [
        href
        for link in parse_body(rendered).iter("a")
        if (href := link.get("href")) is not None and (len(link) or (link.text or "").strip())  # empty ones are dropped
    ]
    read = split_sections(converted.markdown, headings=converted.headings)
    located = split_sections(converted.markdown, headings=converted.headings, offsets=converted.offsets)
    assert located == read
    assert [(s.level, s.title) for s in read] == [(h.level, h.text) for h in converted.headings]
    assert again is not None


@pytest.mark.parametrize(
    "element",
    [
        "<ul hidden><li>secret</ul>",
        "<ul><li hidden>secret<li>b</ul>",
        "<table hidden><tr><td>secret<td>c</table>",
        '<div class="admonition note" style="display: none"><p>secret</div>',
    ],
)
def test_hidden_blocks_are_not_written(element: str) -> None:
    assert "secret" not in convert(f"<p>Open</p>{element}", title="T").markdown
