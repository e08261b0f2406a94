"""Tests of hostile pages: broken, deeply nested or large ones become Markdown, or a named error, in bounded time."""

from __future__ import annotations

import html
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from timing import count_milliseconds

from mkdocs_roaming.errors import RoamingError
from mkdocs_roaming.html.converter import ConvertedArticle, convert
from mkdocs_roaming.html.document import find_article
from mkdocs_roaming.html.themes import split_names
from mkdocs_roaming.manifest.sections import split_sections

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
    assert [(s.level, s.title) for s in read] == [(h.level, h.text) for h in converted.headings]


DEEP = {
    "groups": "<div>",
    "emphasis": "<b>",
    "lists": "<ul><li>",
    "definitions": "<dl><dt>a<dd>",
    "quotes": "<blockquote>",
    "tables": "<table><tr><td>",
    "details": "<details><summary>s</summary>",
    "admonitions": "<div class=admonition>",
    "links": "<a href=x>y",
    "code": "<pre><code>",
    "tabs": "<div class=tabbed-set><label>l</label><div class=tabbed-content>",
    "marks": "<mark><p>",
    "headings": "<h2>",
    "parameters": "<ul><li class=doc-section-item><b>x</b> – ",
    "rows of parameters": "<table><tr class=doc-section-item><td>x<td><div class=doc-md-description>",
    "fields": "<dl class=field-list><dt>x<dd><ul><li><p><strong>y</strong> (z) – ",
    "types": "<dl class=field-list><dt>x<dd><p><em>",
}


@pytest.mark.parametrize("kind", DEEP)
@pytest.mark.parametrize("depth", [100, 240, 2_000])
def test_convert_deeply_nested_page_keeps_its_text(kind: str, depth: int) -> None:
    converted = convert(DEEP[kind] * depth + "deepest", title="T")
    assert "deepest" in converted.markdown
    assert len(converted.markdown) < 100 * len(DEEP[kind]) * depth
    assert_consistent(converted)


LARGE: dict[str, Callable[[int], str]] = {
    "attributes": lambda n: "<p " + " ".join(f"a{at}={at}" for at in range(100 * n)) + ">text</p>",
    "attributes with angle brackets": lambda n: "<p " + " ".join(f"a{at}='>'" for at in range(30 * n)) + ">text</p>",
    "classes of one element": lambda n: f'<p class="{" ".join(f"c{at}" for at in range(100 * n))}">text</p>',
    "classes of many elements": lambda n: "".join(f"<p class=c{at}>text</p>" for at in range(20 * n)),
    "huge row and column spans": lambda n: (
        "<table><tr><td rowspan=99999999>text<td colspan=99999999>b<tr><td rowspan=-1>c</table>"
    ),
    "a ragged table": lambda n: "<table><tr>" + "<td>text" * (2 * n) + "<tr><td>y" * (2 * n) + "</table>",
    "adjacent code": lambda n: "<p>text" + "<code>a</code>" * (10 * n),
    "adjacent emphasis": lambda n: "<p>text" + "<b>a</b><i>b</i>" * (10 * n),
    "emphasis before empty spans": lambda n: "<p>text" + "<b>a.</b><span></span>" * (3 * n),
    "dark images": lambda n: "<p>text" + "<img src=a.png#only-dark alt=x>" * (10 * n),
    "icons": lambda n: "<p>text" + "<a href=/x><svg></svg></a>" * (10 * n),
    "drawings": lambda n: "<p>text" + "<svg aria-label=a></svg>" * (10 * n),
    "meanings": lambda n: "<p>text" + "".join(f"<abbr title=m{at}></abbr>" for at in range(10 * n)),
    "unclosed formulas": lambda n: "<p>text</p><span class=arithmatex>" + "\\[a" * (50 * n) + "</span>",
    "backticks": lambda n: (
        "<p>text</p><pre>" + "`" * (100 * n) + "</pre><code>" + " ".join("`" * at for at in range(1, 500))
    ),
    "breaks": lambda n: "<p>text" + "<br>" * (50 * n) + "x" + "<br> " * (50 * n),
    "dollars": lambda n: "<p>text " + "$ a" * (50 * n) + "$a " * (50 * n),
    "line starters": lambda n: "<p>text<br>" + "= " * (50 * n) + "a<br>" + "- " * (50 * n) + "a<br>" + "#" * (50 * n),
    "terms": lambda n: "<dl><dt>text" + "<dt>a" * (10 * n) + "<dd>b",
    "footnotes": lambda n: (
        "<p>text"
        + "".join(f"<a class=footnote-ref href='#f{at}'>1</a>" for at in range(3 * n))
        + "<div class=footnote><ol>"
        + "".join(f"<li id=f{at}>x" for at in range(3 * n))
    ),
    "tabs": lambda n: "<p>text<div class=tabbed-set>" + "<label>a</label><div class=tabbed-content>b</div>" * (2 * n),
    "unclosed parentheses of types": lambda n: "<ul><li class=doc-section-item><b>text</b> (" + "<i>(</i> (" * (10 * n),
    "words between types": lambda n: (
        "<ul><li class=doc-section-item><b>text</b> (" + "<i>a</i>, b c: " * (10 * n) + ") – x"
    ),
    "white space between types": lambda n: (
        "<ul><li class=doc-section-item><b>text</b> (<i>a</i>," + " \n" * (100 * n) + ") – x"
    ),
    "signatures": lambda n: "<p>text</p><dl class=py>" + "<dt class=sig>a(<dl><dd>b</dd></dl>)" * (3 * n),
    "programs": lambda n: (
        "<p>text</p>" + "<div><pre>a = 1</pre><iframe src='https://a.example/?code=a%20=%202'></iframe>" * (3 * n)
    ),
    "a program of many files": lambda n: (
        "<p>text</p><iframe src='https://a.example/?code={"
        + ",".join(f'"{at}":" "' for at in range(10 * n)).replace('"', "%22")
        + "}'></iframe>"
    ),
    "a program of zeros": lambda n: (
        "<p>text</p><iframe src='https://a.example/#code/" + "A" * (1000 * n) + "'></iframe>"
    ),
    "a program of ones": lambda n: (
        "<p>text</p><iframe src='https://a.example/#code/" + "-" * (1000 * n) + "'></iframe>"
    ),
    "a deep program": lambda n: "<p>text</p><iframe src='https://a.example/?code=" + "%5B" * (100 * n) + "'></iframe>",
    "unresolved references": lambda n: "<p>text" + "[a][a.b" * (20 * n) + "[<code>a][</code>" * (5 * n),
    "formulas of notebooks": lambda n: (
        "<div class=jp-RenderedMarkdown>text" + "$ a$$" * (20 * n) + "\\begin{a" * (20 * n)
    ),
    "buttons of a title": lambda n: "<h2>text" + "<button>a</button>" * (50 * n),
    "a long URL": lambda n: "<p>text <a href='" + "(&a;" * (100 * n) + "'>x</a>",
    "entities": lambda n: "<p>text " + "&amp;lt;" * (100 * n) + "&" * (100 * n),
    "less-than signs": lambda n: "<p>text</p>" + "< " * (100 * n),
    "comments": lambda n: "<p>text</p>" + "<!-- " * (100 * n),
    "invisible characters": lambda n: "<p>text" + "\u200b" * (100 * n) + "\xa0" * (100 * n),
}


@pytest.mark.parametrize("kind", LARGE)
def test_convert_page_with_many_elements_keeps_its_text(kind: str) -> None:
    page = LARGE[kind](20)
    converted = convert(page, title="T")
    assert "text" in converted.markdown
    assert len(converted.markdown) < 5 * len(page) + 10_000
    assert_consistent(converted)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*LARGE, *DEEP])
def test_convert_twice_the_page_takes_twice_the_time(kind: str) -> None:
    make_page = LARGE.get(kind) or (lambda n: DEEP[kind] * (10 * n))
    small, large = make_page(SCALE), make_page(2 * SCALE)
    if count_milliseconds(lambda: convert(large, title="T"), runs=1) < FLOOR_MILLISECONDS:
        return
    ratios = (
        count_milliseconds(lambda: convert(large, title="T"), runs)
        / count_milliseconds(lambda: convert(small, title="T"), runs)
        for runs in (1, 3, 5)
    )
    assert any(ratio < MAX_RATIO for ratio in ratios)


ENTITIES = "".join(f'<!ENTITY e{at} "{f"&e{at - 1};" * 10 if at else "aaaaaaaaaa"}">' for at in range(10))

BROKEN = {
    "entities that expand exponentially": f"<!DOCTYPE html [{ENTITIES}]><p>&e9;</p>",
    "file entities": "<!DOCTYPE html [<!ENTITY e SYSTEM 'file:///etc/hostname'>]><p>[&e;]</p>",
    "nul bytes": "<p>a\0b</p><pre>c\0d</pre><h2 id='\0'>e\0</h2><a href='\0'>f</a>",
    "invalid character references": "<p>&#0;&#1;&#xD800;&#x110000;&#99999999999;&#x80;</p><pre>&#xDFFF;</pre>",
    "lone surrogates": "<p>\ud800 a \udfff</p><pre>\udc80</pre><a href='\ud800'>x</a><h2>\ud801</h2>",
    "control characters": "".join(map(chr, range(1, 32))) + "<p>" + "".join(map(chr, range(127, 160))) + "</p>",
    "unclosed everything": "<h2>a<ul><li>b<table><tr><td>c<pre>d<blockquote>e<a href='x'>f<b>g<i>h<code>i",
    "closing tags only": "</p></li></ul></td></table></b></pre></blockquote></div></body></html>text",
    "crossed tags": "<b>a<i>b</b>c</i><p><a href=x>d<p>e</a>f<h2>g<h3>h</h2>i</h3>",
    "a table in a link in a heading": "<h2><a href=x><table><tr><td>a<td>b</table></a></h2>",
    "rows without tables": "<tr><td>a</td></tr><li>b</li><dd>c</dd><td>d<th>e<caption>f",
    "tables in rows": "<table>a<tr>b<table><td>c</table><td><table><tr><th>d</table><caption>e<li>f</table>",
    "attributes without values": "<a href>a</a><img src><ol start><li value>b</ol><td rowspan><h2 id>c</h2><input>",
    "an unclosed attribute": "<p>a</p><a href='" + "x" * 1000,
    "an unclosed comment": "<p>a</p><!-- b <p>c</p>",
    "cdata": "<p>a<![CDATA[b]]>c</p><?php echo 1 ?><p>d</p>",
    "a declaration of another encoding": "<?xml version='1.0' encoding='utf-16'?><meta charset=utf-7><p>+ADw-</p>",
    "closing tag in a script": "<script>var a = '</p></script><p>a</p>';</script><style></p></style>b",
    "foreign tags": "<foo-bar><p>a</p></foo-bar><svg><p>b</p></svg><math><p>c</p></math><template><p>d</p></template>",
    "invalid footnotes": "<a class=footnote-ref href='#n'>1</a><div class=footnote id=n><div class=footnote id=n>x</div>",
    "a footnote in itself": "<div class=footnote><ol><li id=n>x<a class=footnote-ref href='#n'>1</a></ol></div>",
    "parameters without parts": "<ul><li class=doc-section-item></ul><table><tr class=doc-section-item></table>"
    "<table class=autosummary></table><table class=field-list><tr><td class=field-body>a<th class=field-name></table>"
    "<dl class=field-list><dd>a</dd><dt></dt><dt>b</dt><dd></dd><dd><dl><dd></dl></dl><dl class=py><dt class=sig></dl>"
    "<table><tr class=doc-section-item><td><td><div class=doc-md-description><p><span class=x-annotation></table>",
    "lists without items": "<ol><a></a><ul></ul></ol><ul><a></a><ol></ol></ul><ol><ol><ol></ol></ol></ol>",
    "empty admonitions": "<details></details><div class=admonition></div><div class=tabbed-set></div><dl><dt></dl>",
}


@pytest.mark.parametrize("kind", BROKEN)
def test_convert_broken_page_returns_consistent_markdown(kind: str) -> None:
    assert_consistent(convert(BROKEN[kind], title="T"))
    assert_consistent(convert(find_article(BROKEN[kind]), title="T"))


def test_convert_does_not_read_files_for_entities() -> None:
    assert "root" not in convert("<!DOCTYPE a [<!ENTITY e SYSTEM 'file:///etc/passwd'>]><p>&e;", title="T").markdown


LOOKS_LIKE_MARKDOWN = [
    "# a",
    "a\n===",
    "a\n---",
    "---",
    "***",
    "- a",
    "+ a",
    "1. a",
    "1) a",
    "> a",
    "[!NOTE]",
    "```py",
    "~~~",
    "    a",
    "\ta",
    "![a](b)",
    "[a](b)",
    "[a]: b",
    "[^1]: b",
    "[ ] a",
    "<!-- a -->",
    "<div>",
    "</div>",
    "<?a",
    "<![CDATA[a",
    "<a@b.example>",
    "<https://a.example>",
    "| a | b |",
    "|---|",
    ":--|",
    "*a*",
    "_a_",
    "**a**",
    "~~a~~",
    "`a`",
    "``",
    "$a$",
    "&amp;",
    "&#35;",
    "a\\",
    "\\# a",
    "a  ",
    "# a #",
    "{: .a }",
    "Source: https://a.example/",
]
POSITIONS = {
    "a paragraph": "<p>{}</p>",
    "a paragraph with spaces around": "<p> {} </p>",
    "a second line": "<p>x<br>{}</p>",
    "a line between breaks": "<p>x <br> {} <br> x</p>",
    "before code": "<p>{} <code>x</code></p>",
    "after text": "<p>x {}</p>",
    "a heading": "<h2>{}</h2>",
    "an item": "<ul><li>{}</li></ul>",
    "an item's paragraph": "<ol><li><p>x</p><p>{}</p></li></ol>",
    "a quote": "<blockquote><p>{}</p></blockquote>",
    "the title of an admonition": "<details><summary>{}</summary><p>x</p></details>",
    "an admonition": "<div class=admonition><p>{}</p></div>",
    "a cell": "<table><tr><th>x</th></tr><tr><td>{}</td></tr></table>",
    "a cell of a table in HTML": "<table><tr><th colspan=2>x</th></tr><tr><td>{}</td><td>y</td></tr></table>",
    "a link": "<p><a href=x>{}</a></p>",
    "emphasis": "<p><em>{}</em></p>",
    "strong emphasis": "<p>x <strong>{}</strong> y</p>",
    "a term": "<dl><dt>{}</dt><dd>x</dd></dl>",
    "a definition": "<dl><dt>x</dt><dd>{}</dd></dl>",
    "a label": "<div class=tabbed-set><label>{}</label><div class=tabbed-content>x</div></div>",
    "a caption": "<figure><img src=x alt=x><figcaption>{}</figcaption></figure>",
    "the description of a parameter": "<ul><li class=doc-section-item><b>x</b> – <div>{}</div></li></ul>",
    "the type of a parameter": "<ul><li class=doc-section-item><b>x</b> (<code>{}</code>) – y</li></ul>",
    "the name of a parameter": "<ul><li class=doc-section-item><b>{}</b> – y</li></ul>",
    "a field": "<dl class=field-list><dt>x</dt><dd><p>{}</p></dd></dl>",
    "the label of a field": "<dl class=field-list><dt>{}</dt><dd><p>x</p></dd></dl>",
    "a keyboard key": "<p><kbd>{}</kbd></p>",
}


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
CLASSES = split_names(
    """
    admonition admonition-title highlight tabbed-set tabbed-content tabbed-labels footnote footnote-ref arithmatex
    linenos headerlink doc-heading sig py twemoji filename math mermaid keys task-list-item line-block rubric critic
    tab-set tab-label tab-content footnote-definition footnote-reference sd-card-title comment simple glightbox
    """
)
ATTRIBUTES = (
    *(f"class={name}" for name in CLASSES),
    *split_names(
        """
        href=x href=#a href=#fnref:a href=javascript:x src=x.png src=data:x id=a hidden style=display:none type=checkbox
        checked start=3 value=7 rowspan=2 colspan=2 align=center title=t alt=t role=tab role=tabpanel role=tablist
        aria-hidden=true name=n
        """
    ),
)
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
