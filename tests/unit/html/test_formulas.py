"""Tests of formulas: MathML becomes TeX, and TeX in the text of a page with a renderer is kept as it is."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

import pytest

from mkdocs_roaming.html.converter import convert
from mkdocs_roaming.html.document import find_article, parse_document
from mkdocs_roaming.html.final_page import reconcile_formulas
from mkdocs_roaming.html.formulas import mark_formulas, read_site_script
from mkdocs_roaming.html.visitor import Element
from roaming_crawler.parser import parse_page


def convert_body(html: str | Element) -> str:
    return convert(html, title="T").markdown.removeprefix("# T\n\n").removesuffix("\n")


@pytest.mark.parametrize(
    ("mathml", "tex"),
    [
        ("<mfrac><mrow><mi>a</mi><mo>+</mo><mn>1</mn></mrow><mi>b</mi></mfrac>", r"\frac{a + 1}{b}"),
        ('<mo>(</mo><mfrac linethickness="0pt"><mi>n</mi><mi>k</mi></mfrac><mo>)</mo>', r"( {n \atop k} )"),
        ('<mfrac linethickness="0.5pt"><mi>n</mi><mi>k</mi></mfrac>', r"\frac{n}{k}"),
        ("<mfrac><mn>1</mn></mfrac>", r"\operatorname{mfrac}(1)"),
        ("<mfrac><mn>1</mn><mn>2</mn><mn>3</mn></mfrac>", r"\operatorname{mfrac}(1, 2, 3)"),
        ("<msqrt><mi>x</mi><mo>+</mo><mn>1</mn></msqrt><mroot><mi>y</mi><mn>3</mn></mroot>", r"\sqrt{x + 1} \sqrt[3]{y}"),
        ("<msup><mrow><mo>(</mo><mi>a</mi><mo>)</mo></mrow><mn>10</mn></msup>", "{( a )}^{10}"),
        ("<msup><msub><mi>a</mi><mi>b</mi></msub><mi>c</mi></msup>", "{a_{b}}^{c}"),
        ("<msubsup><mrow></mrow><mn>6</mn><mn>14</mn></msubsup><mi>C</mi>", "{}_{6}^{14} C"),
        (
            "<mmultiscripts><mi>C</mi><mn>1</mn><none/><mprescripts/><mn>6</mn><mn>14</mn></mmultiscripts>",
            "{}_{6}^{14}C{}_{1}^{}",
        ),
        ("<munderover><mo>∑</mo><mi>i</mi><mi>n</mi></munderover>", "∑_{i}^{n}"),
        ("<munder><mrow><mi>max</mi><mo>&#8289;</mo></mrow><mi>x</mi></munder><mi>f</mi>", r"\mathrm{max}_{x} f"),
        ("<mn>2</mn><mo>&InvisibleTimes;</mo><mn>3</mn>", r"2 \, 3"),
        ("<mover><mo>=</mo><mtext>def</mtext></mover>", r"\overset{\text{def}}{=}"),
        ("<mover><mi>x</mi><mo>^</mo></mover><mover><mi>AB</mi><mo>¯</mo></mover>", r"\hat{x} \overline{\mathrm{AB}}"),
        ('<mi mathvariant="bold">v</mi><mi mathvariant="double-struck">R</mi>', r"\mathbf{v} \mathbb{R}"),
        ('<mfenced open="[" close=")"><mi>a</mi><mi>b</mi></mfenced>', "[a, b)"),
        ('<mfenced separators=";|"><mi>a</mi><mi>b</mi><mi>c</mi><mi>d</mi></mfenced>', "(a; b| c| d)"),
        ("<mtable><mtr><mtd><mn>1</mn></mtd><mtd></mtd></mtr><mtr><mtd><mn>3</mn></mtd></mtr></mtable>",
         r"\begin{matrix} 1 & \\ 3 \end{matrix}"),
        ("<mtable><mlabeledtr><mtd>Eq. 1</mtd><mtd><mi>x</mi></mtd></mlabeledtr></mtable>", r"x \tag*{\mathrm{Eq. 1}}"),
        ('<menclose notation="box"><mi>x</mi></menclose>', r"\enclose{box}{x}"),
        ('<menclose notation="radical"><mi>x</mi></menclose>', r"\sqrt{x}"),
        ("<mphantom><mn>0</mn></mphantom><mn>5</mn>", "5"),
        ("<mn>2</mn><mspace width='1em'/><mn>3</mn>", r"2 \, 3"),
        ("<maction selection='1'><mi>a</mi><mi>b</mi></maction>", "a"),
        ("<apply><plus/><apply><divide/><cn>1</cn><cn>2</cn></apply><ci>x</ci></apply>",
         r"\operatorname{plus}(\operatorname{divide}(1, 2), x)"),
        ('<cn type="rational">1<sep/>3</cn>', r"\operatorname{cn}(1, \operatorname{sep}, 3)"),
        (
            '<semantics><mi>x</mi><annotation-xml encoding="MathML-Content"><ci>wrong</ci></annotation-xml></semantics>',
            "x",
        ),
        ("x<msup><mi>y</mi><mn>2</mn></msup> + z", r"x y^{2} \mathrm{+ z}"),
        ("<p>loose</p><mo>{</mo><mi>a_b</mi>", r"\mathrm{loose} \{ \mathrm{a\_b}"),
        (r"<mtext>5% of $x} \input</mtext>", r"\text{5\% of \$x\} \backslash{}input}"),
    ],
)  # fmt: skip
def test_convert_writes_mathml_as_tex(mathml: str, tex: str) -> None:
    assert convert_body(f"<p><math>{mathml}</math></p>") == f"${tex}$"


@pytest.mark.parametrize(
    "tag", ["mrow", "msqrt", "mfrac", "msup", "mtable", "mfenced", "mmultiscripts", "apply", "semantics"]
)
def test_convert_writes_deep_and_empty_mathml_in_bounded_time(tag: str) -> None:
    start = time.process_time()
    assert "deepest" in convert_body(f"<math>{f'<{tag}>' * 1_500}<mi>deepest</mi>{f'</{tag}>' * 1_500}</math>")
    convert_body(f"<math><{tag}></{tag}></math>" * 1_000)
    assert time.process_time() - start < 5


@pytest.mark.parametrize(
    "formula",
    [
        r"\[x\]",
        r"x \tag{4}",
        "x",
        '<script type="math/tex; mode=display">x</script>',
        '<span class="katex"><math><annotation encoding="application/x-tex">x</annotation></math><b>f(x)</b></span>',
        '<math display="block"><mi>x</mi></math>',
        '<p><img src="x.png" alt="x"></p>',
    ],
)
def test_convert_keeps_the_number_next_to_an_equation(formula: str) -> None:
    label = '<span class="eqno">(4)<a class="headerlink">¶</a></span>'
    for html in (f"{label}{formula}", f"{formula}{label}"):
        assert convert_body(f'<div class="math" id="e">{html}</div>') == "$$\nx \\tag{4}\n$$"


def test_convert_keeps_scripts_of_a_formula_without_tex() -> None:
    formula = '<span class="math inline"><em>v</em><sub><em>i</em>+1</sub><sup>2</sup> + 1</span>'
    assert convert_body(f"<p>{formula}</p>") == "$v_{i+1}^{2} + 1$"


MATHJAX = '<script src="https://cdn.example/npm/mathjax@3/es5/tex-mml-chtml.js"></script>'
MATHJAX_2 = '<script src="/MathJax.js?config={}"></script>'
DOLLARS = """<script>MathJax = {tex: {inlineMath: [['$', '$'], ['\\\\(', '\\\\)']]}}</script>"""
KATEX = '<script src="katex/contrib/auto-render.min.js"></script>'
TEXT = r"$$a_1 * b$$ and \(c_2 * d\), from $5 to *6$"
ESCAPED = r"\$\$a_1 * b\$\$ and \\(c_2 * d\\), from \$5 to \*6\$"
WITHOUT_DOLLARS = r"$$a_1 * b$$ and $c_2 * d$, from \$5 to \*6\$"
WITH_DOLLARS = "$$a_1 * b$$ and $c_2 * d$, from $5 to *6$"


@pytest.mark.parametrize(
    ("head", "markdown"),
    [
        ("", ESCAPED),
        ("<script>let price = '$'</script><meta name='description' content='MathJax, tex-chtml.js'>", ESCAPED),
        ('<link rel="stylesheet" href="katex.min.css"><script src="katex.min.js"></script>', ESCAPED),
        (MATHJAX, WITHOUT_DOLLARS),
        (KATEX, WITHOUT_DOLLARS),
        (MATHJAX + DOLLARS, WITH_DOLLARS),
        (KATEX + '<script>renderMathInElement(a, {delimiters: [{left: "$", right: "$"}]})</script>', WITH_DOLLARS),
        (KATEX.replace("></", """ onload="r(a, {delimiters: [{left: '$', right: '$'}]})"></"""), WITH_DOLLARS),
        (MATHJAX_2.format("TeX-MML-AM_CHTML"), WITHOUT_DOLLARS),
        (MATHJAX_2.format("MML_CHTML"), ESCAPED),
        ('<script src="mathjax@3/es5/mml-chtml.js"></script>', ESCAPED),
        ("<script type='module'>import r from './auto-render.mjs'</script>", WITHOUT_DOLLARS),
        (MATHJAX + DOLLARS.replace("tex:", "options: {ignoreHtmlClass: '.*|', processHtmlClass: 'm'}, tex:"), ESCAPED),
        ('<script src="js/mathjax.js"></script>', WITH_DOLLARS),
        ('<script src="../../js/mathjax.js"></script>' + MATHJAX, WITHOUT_DOLLARS),
    ],
)
def test_mark_formulas_finds_those_that_scripts_of_the_page_look_for(head: str, markdown: str, tmp_path: Path) -> None:
    (tmp_path / "js").mkdir()
    (tmp_path / "js/mathjax.js").write_text(DOLLARS)
    read_script = partial(read_site_script, tmp_path, "https://site.example/d/", "")
    html = f"<html><head>{head}</head><body><main><p>{TEXT}</p></main></body></html>"
    page = parse_document(html)
    article = find_article(page).find(".//p[last()]")
    assert article is not None
    assert mark_formulas(article, page, read_script) == (markdown != ESCAPED)
    assert convert_body(article) == markdown
    assert convert_body(reconcile_formulas(f"<p>{TEXT}</p>", html, read_script)) == markdown


@pytest.mark.parametrize(
    ("article", "markdown"),
    [
        ("a<b>x</b> $$y$$, $$z$$ b<i>u</i> c", "a**x** $$y$$, $$z$$ b*u* c"),
        (r"\[x &lt; y\] <code>$$z$$</code>", "$$x < y$$ `$$z$$`"),
        (r"\begin{align}\begin{cases}a_1\\b\end{cases}\end{align}", r"$$\begin{align}\begin{cases}a_1\\b\end{cases}\end{align}$$"),
        (r"<span class='tex2jax_ignore'>$$a*b$$ <u>\(*c*\)</u></span> $$d$$", r"\$\$a\*b\$\$ <u>\\(\*c\*\\)</u> $$d$$"),
        ("<span class='arithmatex'>\\(x\\)</span> $5 to $6", "$x$ $5 to $6"),
        ("<svg><text>$$a$$ label</text></svg> $$b$$", r"\$\$a\$\$ label $$b$$"),
        (r"\\(a\\) <u>$$b % c" + "\n" + r"d 5\%$$</u>", r"\\\\(a\\\\) <u>$$b d 5\%$$</u>"),
        ("<p>Sum: $$<br>a_1<br/>* b $$<br>c $$d$$<br>e</p>", "Sum: $$a_1 * b$$\\\nc $$d$$\\\ne"),
        ("<h2>On $$x$$</h2><ul><li>$$y$$</li></ul>", "## On $$x$$\n\n- $$y$$"),
    ],
)  # fmt: skip
def test_mark_formulas_leaves_code_and_other_text_alone(article: str, markdown: str) -> None:
    assert convert_body(reconcile_formulas(article, f"<html>{MATHJAX}", lambda src: "")) == markdown


def test_mark_formulas_writes_asciimath_of_asciidoctor_as_code() -> None:
    script = r'<script>MathJax.Hub.Config({asciimath2jax: {delimiters: [["\\$", "\\$"]]}})</script>'
    article = r"<p>Root \$root(3)(x)\$ of \(y\).</p>"
    assert convert_body(reconcile_formulas(article, f"<html>{script}", lambda src: "")) == "Root `root(3)(x)` of $y$."


def test_reconcile_formulas_returns_an_article_without_raw_formulas_unchanged() -> None:
    for article in ("<p>No formula.", "<p>Of <span class='arithmatex'>\\(x\\)</span>."):
        assert reconcile_formulas(article, f"<html>{MATHJAX}{DOLLARS}", lambda src: "") is article


@pytest.mark.parametrize("text", [r"\(", r"\[", "$$ ", "$ ", r"\begin{a}", r"\begin{", "<b>$$x$$</b> $$y$$ "])
def test_mark_formulas_in_hostile_text_takes_linear_time(text: str) -> None:
    start = time.process_time()
    reconcile_formulas(text * 20_000, f"<html>{MATHJAX}{DOLLARS}", lambda src: "")
    assert time.process_time() - start < 10


def test_parse_page_marks_formulas_that_scripts_of_the_page_look_for() -> None:
    url = "https://docs.example/"
    page = parse_page(f"<title>T</title>{MATHJAX}<main><p>$$a_1 * b$$</p></main>".encode(), "", url, url)
    assert convert_body(page.article) == "$$a_1 * b$$"
