"""Lost, changed and additional items of a page in the fidelity measures."""

from __future__ import annotations

from pathlib import Path

import pytest
from fidelity import SiteResult, compare_site, main
from page_content.site import find_pages

PAGE = """<!doctype html><html><head><title>Pump</title>
<link rel="canonical" href="https://docs.example/p/{path}">
{alternate}</head><body><nav><a href="../">Home</a> Navigation</nav>
<main><article>{article}</article></main></body></html>"""

HTML = {
    "heading": '<h2 id="a">Pump <code>on</code><a class="headerlink" href="#a">¶</a></h2>',
    "code": '<div class="language-py highlight"><pre><span></span><code>x = 1\n\n  y = "&lt;"\n</code></pre></div>',
    "tabs": '<div class="tabbed-set tabbed-alternate"><input type="radio"><div class="tabbed-labels"><label>Apt</label>'
    '<label>Brew</label></div><div class="tabbed-content"><div class="tabbed-block"><p>one</p></div>'
    '<div class="tabbed-block"><p>two</p></div></div></div>',
    "tabs in an item": '<ol><li>Get it:<div class="tabbed-set"><div class="tabbed-labels"><label>Apt</label><label>Brew'
    '</label></div><div class="tabbed-content"><div><p>one</p></div><div><p>two</p></div></div></div></li></ol>',
    "terminal": '<div class="termy"><div class="highlight"><pre><code>// Start\n$ ebb\n&lt;font color="red"&gt;up'
    "&lt;/font&gt;</code></pre></div></div>",
    "repeated heading": "<h2>ebb.on</h2><h3>ebb.on</h3><p>It runs.</p>",
    "Sphinx object": '<dl><dt class="sig py"><span class="sig-name">on</span>(x) → Valve</dt>'
    "<dd><p>It runs.</p></dd></dl>",
    "admonition": '<div class="admonition danger"><p class="admonition-title">Hot</p><p>Do not touch.</p></div>',
    "default title": '<div class="admonition note"><p class="admonition-title">Note</p><p>It hums.</p></div>',
    "table": '<table><thead><tr><th style="text-align: right">A</th><th>B</th></tr></thead>'
    "<tbody><tr><td>1<br>2</td><td>a|b</td></tr></tbody></table>",
    "list": '<ol start="3"><li>three<ul><li>inner</li></ul></li><li>four</li></ol>',
    "task": '<ul><li><label><input type="checkbox" disabled checked></label> done</li></ul>',
    "terms": "<dl><dt>Ebb</dt><dd>It falls.</dd></dl>",
    "parameter table": "<table><thead><tr><th>Name</th><th>Type</th><th>Description</th><th>Default</th></tr></thead>"
    '<tbody><tr class="doc-section-item"><td><code>depth</code></td><td><code>int | None</code></td><td>'
    '<div class="doc-md-description"><p>How deep.</p></div></td><td><code>3</code></td></tr></tbody></table>',
    "parameter list": '<ul><li class="doc-section-item"><b><code>rate</code></b> (<code>str</code>, default: <code>2</code>)'
    ' – <div class="doc-md-description"><p>How fast.</p></div></li></ul>',
    "parameter fields": '<dl class="field-list"><dt>Parameters<span>:</span></dt><dd><ul><li><p><strong>tide</strong> '
    "(<em>list</em><em>[</em><em>int</em><em>]</em>) – How high.</p></li></ul></dd></dl>",
    "image": '<p><img src="../pump.png#only-light" alt="The pump">'
    '<img src="../night.png#only-dark" alt="The pump"></p>',
    "math": r'<p>So <span class="arithmatex">\(a_1 * b_2 * c\)</span> it is.</p>',
    "footnote": '<p>Wet<sup id="r"><a class="footnote-ref" href="#n">1</a></sup>.</p>'
    '<div class="footnote"><ol><li id="n"><p>'
    'Very wet.<a class="footnote-backref" href="#r">back</a></p></li></ol></div>',
    "marks": "<p><kbd>Ctrl</kbd> <del>gone</del> <strong>bold</strong> H<sub>2</sub>O</p>",
    "links": '<p><a href="../valve/#b">the valve</a> <a href="https://other.example/">other</a></p>',
    "span": "<p>Run <code>ebb</code> now.</p>",
    "video": '<p>A film: <iframe src="https://films.example/ebb"></iframe></p>',
    "hidden": '<p style="display: none">never</p><svg><text>drawn</text></svg><p>seen</p>',
    "excerpt": '<article><nav class="md-post__authors">Ada</nav><h2>Ebb</h2>'
    '<nav class="md-post__action"><a href="../ebb/">Go on</a></nav></article>',
}
MARKDOWN = {
    "heading": "## Pump `on`",
    "code": '```py\nx = 1\n\n  y = "<"\n```',
    "tabs": "**Apt**\n\none\n\n**Brew**\n\ntwo",
    "tabs in an item": "1. Get it:\n   - **Apt**\n\n     one\n\n   - **Brew**\n\n     two",
    "terminal": "```console\n# Start\n$ ebb\nup\n```",
    "repeated heading": "## ebb.on\n\nIt runs.",
    "Sphinx object": "### `on`\n\n```python\non(x) -> Valve\n```\n\nIt runs.",
    "admonition": "> [!CAUTION]\n> **Hot**\n>\n> Do not touch.",
    "default title": "> [!NOTE]\n> It hums.",
    "table": "| A | B |\n| ---: | --- |\n| 1<br>2 | a\\|b |",
    "list": "3. three\n   - inner\n4. four",
    "task": "- [x] done",
    "terms": "- **Ebb**\n\n  It falls.",
    "parameter table": "- `depth` (`int | None`, default: `3`) — How deep.",
    "parameter list": "- `rate` (`str`, default: `2`) — How fast.",
    "parameter fields": "**Parameters:**\n\n- `tide` (`list[int]`) — How high.",
    "image": "![The pump](https://docs.example/p/pump.png)",
    "math": "So $a_1 * b_2 * c$ it is.",
    "footnote": "Wet[^1].\n\n[^1]: Very wet.",
    "marks": "<kbd>Ctrl</kbd> ~~gone~~ **bold** H<sub>2</sub>O",
    "links": "[the valve](https://docs.example/p/valve/index.md#b) [other](https://other.example/)",
    "span": "Run `ebb` now.",
    "video": "A film: <https://films.example/ebb>",
    "hidden": "seen",
    "excerpt": "## Ebb\n\n[Go on](https://docs.example/p/ebb/)",
}
CHANGED_MARKDOWN = {
    "heading": ("### Pump `on`", "headings"),
    "code": ('```py\nx = 1\n  y = "<"\n```', "code blocks"),
    "tabs": ("Apt Brew\n\none\n\ntwo", "tab labels"),
    "tabs in an item": ("1. Get it:\n\n**Apt**\n\none\n\n**Brew**\n\n", "words"),
    "terminal": ('```console\n# Start\n$ ebb\n<font color="red">up</font>\n```', "code blocks"),
    "repeated heading": ("It runs.", "headings"),
    "Sphinx object": ("### `on`", "words"),
    "admonition": ("**Hot**\n\nDo not touch.", "admonitions"),
    "default title": ("It hums.", "admonitions"),
    "table": ("| A | B |\n| --- | --- |\n| 1<br>2 | a\\|b |", "alignments"),
    "list": ("1. three\n   - inner\n2. four", "list items"),
    "task": ("- [ ] done", "tasks"),
    "terms": ("It falls.", "terms"),
    "parameter table": ("- `depth` (`int`, default: `3`) — How deep.", "parameters"),
    "parameter list": ("- `rate` (`str`, default: `2`)", "parameters"),
    "parameter fields": ("**Parameters:**\n\n- (`list[int]`) — How high.", "parameters"),
    "image": ("The pump", "images"),
    "math": ("So a_1 \\* b_2 \\* c it is.", "formulas"),
    "footnote": ("Wet.", "footnotes"),
    "marks": ("Ctrl ~~gone~~ **bold** H<sub>2</sub>O", "marked text"),
    "links": (
        "[the valve](https://docs.example/p/valve/index.md#c) [other](https://other.example/)",
        "links not broken by the conversion",
    ),
    "span": ("Run ebb now.", "code spans"),
    "video": ("A film:", "media"),
    "hidden": ("", "words"),
    "excerpt": ("## Ebb", "links"),
}


def compare_pages(folder: Path, article: str, markdown: str, *, linked: bool = True) -> SiteResult:
    """Write a site of two pages, the first with the given content, and compare it."""
    pages = {"pump/": (f"<h1>Pump</h1>{article}", f"# Pump\n\n{markdown}\n")}
    pages["valve/"] = ('<h1>Valve</h1><p id="b">It opens.</p>', "# Valve\n\nIt opens.\n")
    alternate = '<link rel="alternate" type="text/markdown" href="index.md">' if linked else ""
    for path, (html, text) in pages.items():
        (folder / path).mkdir(exist_ok=True)
        page = PAGE.format(path=path, article=html, alternate=alternate)
        (folder / path / "index.html").write_text(page, "utf-8")
        (folder / path / "index.md").write_text(text, "utf-8")
    return compare_site(find_pages(folder))


@pytest.mark.parametrize("kind", HTML)
def test_equal_content_loses_no_item(kind: str, tmp_path: Path) -> None:
    """Equal HTML and Markdown agree in every measure, without added words."""
    result = compare_pages(tmp_path, HTML[kind], MARKDOWN[kind])

    assert {name: tally.lost for name, tally in result.tallies.items() if tally.lost} == {}
    assert result.tallies["words"].added == []
    assert result.tallies["words"].expected > 2


@pytest.mark.parametrize("kind", CHANGED_MARKDOWN)
def test_changed_markdown_lowers_its_measure(kind: str, tmp_path: Path) -> None:
    """A missing or changed item lowers its measure and is listed with its page."""
    markdown, measure = CHANGED_MARKDOWN[kind]

    tally = compare_pages(tmp_path, HTML[kind], markdown).tallies[measure]

    assert tally.share < 1
    assert tally.lost[0][0] == "pump/index.html"


def test_cases_cover_every_measure(tmp_path: Path) -> None:
    """Only links in code have no case."""
    result = compare_pages(tmp_path, "".join(HTML.values()), "\n\n".join(MARKDOWN.values()))

    assert {name for name, tally in result.tallies.items() if not tally.expected} == {"links in code"}


def test_additional_words_are_counted_as_added(tmp_path: Path) -> None:
    """Words that only the Markdown contains are listed as added."""
    result = compare_pages(tmp_path, "<p>It hums.</p>", "It hums loudly.")

    assert result.tallies["words"].added == [("pump/index.html", "loudly")]
    assert result.tallies["words"].share == 1


def test_page_with_empty_article_uses_the_content_around_it(tmp_path: Path) -> None:
    """Content of the template outside of an empty article counts; menus, banners and buttons do not."""
    (tmp_path / "index.html").write_text(
        "<!doctype html><html><head><title>Ebb</title></head><body><a class='md-skip' href='#'>Skip</a>"
        "<header class='md-header'>Search</header><aside class='md-banner'>Sale</aside><section><h1>Ebb</h1><p>Harbours"
        "</p></section><main><nav>Menu</nav><article class='md-content__inner'> </article><button>Up</button></main>"
        "<footer class='md-footer'>Made by hand</footer></body></html>"
    )
    (tmp_path / "index.md").write_text("# Ebb\n\nHarbours\n")

    words = compare_site(find_pages(tmp_path, url="https://docs.example/p/")).tallies["words"]

    assert (words.expected, words.lost, words.added) == (2, [], [])


def test_links_to_html_and_relative_links_lower_their_measures(tmp_path: Path) -> None:
    """A link to HTML and a relative link are each counted."""
    html = '<p><a href="../valve/">one</a> <a href="../valve/#b">two</a></p>'

    result = compare_pages(tmp_path, html, "[one](https://docs.example/p/valve/) [two](../valve/index.md#b)")

    assert result.tallies["internal links that lead to Markdown"].lost == [
        ("pump/index.html", "https://docs.example/p/valve/"),
    ]
    assert result.tallies["absolute links"].lost == [("pump/index.html", "../valve/index.md#b")]
    assert result.tallies["links"].share == 1


def test_link_broken_on_the_page_is_exempt(tmp_path: Path) -> None:
    """Only links that the conversion breaks are counted."""
    html = '<p><a href="../gone/">gone</a> <a href="../valve/#b">two</a></p>'

    result = compare_pages(
        tmp_path, html, "[gone](https://docs.example/p/gone/) [two](https://docs.example/p/valve/#x)"
    )

    assert [item for _, item in result.tallies["links not broken by the conversion"].lost] == [
        "https://docs.example/p/valve/#x"
    ]


def test_markdown_option_finds_markdown_of_another_tool(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The pattern locates the Markdown of pages without an alternate link; pages without Markdown are listed."""
    compare_pages(tmp_path, "<p>It hums.</p>", "It hums.", linked=False)
    (tmp_path / "pump" / "index.md").rename(tmp_path / "pump" / "page.md.txt")
    (tmp_path / "valve" / "index.md").unlink()

    main([str(tmp_path), "--markdown", "{path}page.md.txt", "--worst", "5"])

    printed = capsys.readouterr().out
    assert "1 pages with Markdown, 1 without, 0 skipped" in printed
    assert "no Markdown: valve/index.html" in printed


def test_except_option_counts_skipped_pages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Skipped pages are reported and not compared."""
    compare_pages(tmp_path, "<p>It hums.</p>", "Nothing.")

    main([str(tmp_path), "--except", "pump/*", "--worst", "5"])

    printed = capsys.readouterr().out
    assert "1 pages with Markdown, 0 without, 1 skipped" in printed
    assert "lost" not in printed
