"""Tests of hostile pages: broken, deeply nested or large ones become Markdown, or a named error, in bounded time."""

from __future__ import annotations

import html
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from mkdocs_roaming.errors import RoamingError
from mkdocs_roaming.html.converter import ConvertedArticle, convert
from mkdocs_roaming.html.document import find_article
from mkdocs_roaming.html.themes import split_names
from mkdocs_roaming.manifest.sections import split_sections

READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
MANY = 10_000
SECONDS = 10
"""Maximum CPU seconds for a page. Most take a hundredth of that."""


@contextmanager
def time_limit(seconds: float = SECONDS) -> Iterator[None]:
    start = time.process_time()
    yield
    assert time.process_time() - start < seconds


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
@pytest.mark.parametrize("depth", [100, 240, MANY])
def test_convert_deeply_nested_page_keeps_its_text(kind: str, depth: int) -> None:
    with time_limit():
        converted = convert(DEEP[kind] * depth + "deepest", title="T")
    assert "deepest" in converted.markdown
    assert len(converted.markdown) < 100 * len(DEEP[kind]) * depth
    assert_consistent(converted)


LARGE = {
    "attributes": "<p " + " ".join(f"a{at}={at}" for at in range(100_000)) + ">text</p>",
    "attributes with angle brackets": "<p " + " ".join(f"a{at}='>'" for at in range(30_000)) + ">text</p>",
    "classes of one element": f'<p class="{" ".join(f"c{at}" for at in range(100_000))}">text</p>',
    "classes of many elements": "".join(f"<p class=c{at}>text</p>" for at in range(20_000)),
    "huge row and column spans": "<table><tr><td rowspan=99999999>text<td colspan=99999999>b<tr><td rowspan=-1>c</table>",
    "a ragged table": "<table><tr>" + "<td>text" * 2000 + "<tr><td>y" * 2000 + "</table>",
    "adjacent code": "<p>text" + "<code>a</code>" * MANY,
    "adjacent emphasis": "<p>text" + "<b>a</b><i>b</i>" * MANY,
    "emphasis before empty spans": "<p>text" + "<b>a.</b><span></span>" * 3000,
    "dark images": "<p>text" + "<img src=a.png#only-dark alt=x>" * MANY,
    "icons": "<p>text" + "<a href=/x><svg></svg></a>" * MANY,
    "drawings": "<p>text" + "<svg aria-label=a></svg>" * MANY,
    "meanings": "<p>text" + "".join(f"<abbr title=m{at}></abbr>" for at in range(MANY)),
    "unclosed formulas": "<p>text</p><span class=arithmatex>" + "\\[a" * 50_000 + "</span>",
    "backticks": "<p>text</p><pre>" + "`" * 100_000 + "</pre><code>" + " ".join("`" * at for at in range(1, 500)),
    "breaks": "<p>text" + "<br>" * 50_000 + "x" + "<br> " * 50_000,
    "dollars": "<p>text " + "$ a" * 50_000 + "$a " * 50_000,
    "line starters": "<p>text<br>" + "= " * 50_000 + "a<br>" + "- " * 50_000 + "a<br>" + "#" * 50_000,
    "terms": "<dl><dt>text" + "<dt>a" * MANY + "<dd>b",
    "footnotes": "<p>text"
    + "".join(f"<a class=footnote-ref href='#f{at}'>1</a>" for at in range(3000))
    + "<div class=footnote><ol>"
    + "".join(f"<li id=f{at}>x" for at in range(3000)),
    "tabs": "<p>text<div class=tabbed-set>" + "<label>a</label><div class=tabbed-content>b</div>" * 2000,
    "unclosed parentheses of types": "<ul><li class=doc-section-item><b>text</b> (" + "<i>(</i> (" * MANY,
    "words between types": "<ul><li class=doc-section-item><b>text</b> (" + "<i>a</i>, b c: " * MANY + ") – x",
    "white space between types": "<ul><li class=doc-section-item><b>text</b> (<i>a</i>," + " \n" * 100_000 + ") – x",
    "signatures": "<p>text</p><dl class=py>" + "<dt class=sig>a(<dl><dd>b</dd></dl>)" * 3000,
    "programs": "<p>text</p>" + "<div><pre>a = 1</pre><iframe src='https://a.example/?code=a%20=%202'></iframe>" * 3000,
    "a program of many files": "<p>text</p><iframe src='https://a.example/?code={"
    + ",".join(f'"{at}":" "' for at in range(MANY)).replace('"', "%22")
    + "}'></iframe>",
    "a program of zeros": "<p>text</p><iframe src='https://a.example/#code/" + "A" * 1_000_000 + "'></iframe>",
    "a program of ones": "<p>text</p><iframe src='https://a.example/#code/" + "-" * 1_000_000 + "'></iframe>",
    "a deep program": "<p>text</p><iframe src='https://a.example/?code=" + "%5B" * 100_000 + "'></iframe>",
    "unresolved references": "<p>text" + "[a][a.b" * 20_000 + "[<code>a][</code>" * 5000,
    "formulas of notebooks": "<div class=jp-RenderedMarkdown>text" + "$ a$$" * 20_000 + "\\begin{a" * 20_000,
    "buttons of a title": "<h2>text" + "<button>a</button>" * 50_000,
    "a long URL": "<p>text <a href='" + "(&a;" * 100_000 + "'>x</a>",
    "entities": "<p>text " + "&amp;lt;" * 100_000 + "&" * 100_000,
    "less-than signs": "<p>text</p>" + "< " * 100_000,
    "comments": "<p>text</p>" + "<!-- " * 100_000,
    "invisible characters": "<p>text" + "\u200b" * 100_000 + "\xa0" * 100_000,
}


@pytest.mark.parametrize("kind", LARGE)
def test_convert_page_with_many_elements_takes_bounded_time(kind: str) -> None:
    with time_limit():
        converted = convert(LARGE[kind], title="T")
    assert "text" in converted.markdown
    assert len(converted.markdown) < 5 * len(LARGE[kind]) + 1000
    assert_consistent(converted)


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
    with time_limit():
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


@pytest.mark.slow
def test_convert_page_of_20_mb_takes_linear_time() -> None:
    part = "<h2 id='a'>A</h2><p>Some <b>text</b> and <a href='x'>a link</a>.</p><pre><code>code\n</code></pre><ul><li>a"
    small, large = part * 2_000, part * (20_000_000 // len(part))
    start = time.process_time()
    convert(small, title="T")
    middle = time.process_time()
    converted = convert(large, title="T")
    taken, wanted = time.process_time() - middle, (middle - start) * len(large) / len(small)
    assert len(converted.headings) == 1 + len(large) // len(part)
    assert taken < 4 * wanted


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
    with time_limit():
        try:
            converted = convert(page, title="T")
        except RoamingError:
            return
    assert_consistent(converted)
