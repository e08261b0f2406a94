"""Tests of hostile pages: broken, deeply nested or large ones become Markdown, or a named error, in bounded time."""

from __future__ import annotations

import html

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from tables import read_tables
from timing import count_milliseconds

from mkdocs_roaming.errors import RoamingError
from mkdocs_roaming.html.converter import ConvertedArticle, convert
from mkdocs_roaming.html.document import find_article
from mkdocs_roaming.html.themes import split_names
from mkdocs_roaming.manifest.sections import split_sections

TABLES = read_tables(__file__)

READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
SCALE = 500
MAX_RATIO = 3.0
"""Twice the page may take twice the time, and some noise; a quadratic function takes four times as long."""
FLOOR_MILLISECONDS = 20


def assert_consistent(converted: ConvertedArticle) -> None:
    """Check invariants of the Markdown of every page."""
    assert converted.markdown.startswith("# ")
    assert converted.markdown.endswith("\n")
    assert not converted.markdown.endswith("\n\n")
    assert "\0" not in converted.markdown
    converted.markdown.encode("utf-8")
    read = split_sections(converted.markdown, headings=converted.headings)
    located = split_sections(converted.markdown, headings=converted.headings, offsets=converted.offsets)
    assert located == read
    assert [(s.level, s.title) for s in read] == [(h.level, h.text) for h in converted.headings]


DEEP = TABLES["deep"]


@pytest.mark.parametrize("kind", DEEP)
@pytest.mark.parametrize("depth", [100, 240, 2_000])
def test_convert_deeply_nested_page_keeps_its_text(kind: str, depth: int) -> None:
    converted = convert(DEEP[kind] * depth + "deepest", title="T")
    assert "deepest" in converted.markdown
    assert len(converted.markdown) < 100 * len(DEEP[kind]) * depth
    assert_consistent(converted)


LARGE = TABLES["large"]


def make_large(kind: str, size: int) -> str:
    """Return a page of any size, from parts that are written once and parts that are repeated."""
    page = ""
    for part in LARGE[kind]:
        for piece, count in (part if isinstance(part, dict) else {part: None}).items():
            page += piece if count is None else "".join(piece.replace("{at}", str(at)) for at in range(count * size))
    return page


@pytest.mark.parametrize("kind", LARGE)
def test_convert_page_with_many_elements_keeps_its_text(kind: str) -> None:
    page = make_large(kind, 20)
    converted = convert(page, title="T")
    assert "text" in converted.markdown
    assert len(converted.markdown) < 5 * len(page) + 10_000
    assert_consistent(converted)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*LARGE, *DEEP])
def test_convert_twice_the_page_takes_twice_the_time(kind: str) -> None:
    small, large = (
        make_large(kind, size) if kind in LARGE else DEEP[kind] * (10 * size) for size in (SCALE, 2 * SCALE)
    )
    if count_milliseconds(lambda: convert(large, title="T"), runs=1) < FLOOR_MILLISECONDS:
        return
    ratios = (
        count_milliseconds(lambda: convert(large, title="T"), runs)
        / count_milliseconds(lambda: convert(small, title="T"), runs)
        for runs in (1, 3, 5)
    )
    assert any(ratio < MAX_RATIO for ratio in ratios)


ENTITIES = "".join(f'<!ENTITY e{at} "{f"&e{at - 1};" * 10 if at else "aaaaaaaaaa"}">' for at in range(10))

BROKEN = TABLES["broken"] | {
    "entities that expand exponentially": f"<!DOCTYPE html [{ENTITIES}]><p>&e9;</p>",
    "control characters": "".join(map(chr, range(1, 32))) + "<p>" + "".join(map(chr, range(127, 160))) + "</p>",
    "an unclosed attribute": "<p>a</p><a href='" + "x" * 1000,
}


@pytest.mark.parametrize("kind", BROKEN)
def test_convert_broken_page_returns_consistent_markdown(kind: str) -> None:
    assert_consistent(convert(BROKEN[kind], title="T"))
    assert_consistent(convert(find_article(BROKEN[kind]), title="T"))


def test_convert_does_not_read_files_for_entities() -> None:
    assert "root" not in convert("<!DOCTYPE a [<!ENTITY e SYSTEM 'file:///etc/passwd'>]><p>&e;", title="T").markdown


LOOKS_LIKE_MARKDOWN = TABLES["looks like markdown"]
POSITIONS = TABLES["positions"]


def read_rendered_text(markdown: str) -> str:
    """Return the text of rendered Markdown, including that of HTML in it, without white space."""
    rendered = READER.render(markdown)
    return "".join("".join(str(text) for text in find_article(f"<main>{rendered}</main>").itertext()).split())


@pytest.mark.parametrize("position", POSITIONS)
@pytest.mark.parametrize("text", LOOKS_LIKE_MARKDOWN)
def test_convert_text_that_looks_like_markdown_keeps_it_as_text(text: str, position: str) -> None:
    page = f"{POSITIONS[position].format(html.escape(text))}<p>After.</p>"
    converted = convert(page, title="T")
    assert_consistent(converted)
    plain = convert(f"{POSITIONS[position].format('word')}<p>After.</p>", title="T").markdown
    wanted = read_rendered_text(plain).replace("word", "".join(text.split()))
    assert read_rendered_text(converted.markdown).replace("[!NOTE]", "") == wanted.replace("[!NOTE]", "")


# Any tags in any order

TAGS = split_names(
    """
    a b i em strong del mark sup code pre kbd span div p h1 h2 h3 ul ol li dl dt dd table tr td th thead tbody caption
    blockquote details summary figure figcaption section article nav button label input img br hr svg math script style
    iframe video aside q small header
    """
)
ATTRIBUTES = TABLES["attributes"]
SIGNS = st.text(alphabet="ab1 \n#*_`>-+=.|[](){}!~$\\<&;:\"'\u200b\xa0\ud800é中", max_size=8)
PIECES = st.one_of(
    st.builds("<{} {}>".format, st.sampled_from(TAGS), st.lists(st.sampled_from(ATTRIBUTES), max_size=3).map(" ".join)),
    st.builds("</{}>".format, st.sampled_from(TAGS)),
    SIGNS,
    SIGNS.map(html.escape),
)
SOUP = st.lists(PIECES, max_size=40).map("".join)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(SOUP)
def test_convert_any_tag_soup_returns_consistent_markdown(page: str) -> None:
    try:
        converted = convert(page, title="T")
    except RoamingError:
        return
    assert_consistent(converted)
