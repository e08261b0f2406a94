"""Tests of formulas: MathML becomes TeX, and TeX in the text of a page with a renderer is kept as it is."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

import pytest
from tables import read_tables

from mkdocs_roaming.html.converter import convert
from mkdocs_roaming.html.document import find_article, parse_document
from mkdocs_roaming.html.final_page import reconcile_formulas
from mkdocs_roaming.html.formulas import mark_formulas, read_site_script
from mkdocs_roaming.html.visitor import Element
from roaming_crawler.fetch import Response
from roaming_crawler.parser import parse_page

TABLES = read_tables(__file__)


def convert_body(html: str | Element) -> str:
    return convert(html, title="T").markdown.removeprefix("# T\n\n").removesuffix("\n")


@pytest.mark.parametrize(("mathml", "tex"), TABLES["convert writes mathml as tex"])
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


@pytest.mark.parametrize("formula", TABLES["convert keeps the number next to an equation"])
def test_convert_keeps_the_number_next_to_an_equation(formula: str) -> None:
    label = '<span class="eqno">(4)<a class="headerlink">¶</a></span>'
    for html in (f"{label}{formula}", f"{formula}{label}"):
        assert convert_body(f'<div class="math" id="e">{html}</div>') == "$$\nx \\tag{4}\n$$"


def test_convert_keeps_scripts_of_a_formula_without_tex() -> None:
    formula = '<span class="math inline"><em>v</em><sub><em>i</em>+1</sub><sup>2</sup> + 1</span>'
    assert convert_body(f"<p>{formula}</p>") == "$v_{i+1}^{2} + 1$"


MATHJAX = '<script src="https://cdn.example/npm/mathjax@3/es5/tex-mml-chtml.js"></script>'
DOLLARS = """<script>MathJax = {tex: {inlineMath: [['$', '$'], ['\\\\(', '\\\\)']]}}</script>"""
TEXT = r"$$a_1 * b$$ and \(c_2 * d\), from $5 to *6$"
MARKED = {
    "none": r"\$\$a_1 * b\$\$ and \\(c_2 * d\\), from \$5 to \*6\$",
    "without dollars": r"$$a_1 * b$$ and $c_2 * d$, from \$5 to \*6\$",
    "all": "$$a_1 * b$$ and $c_2 * d$, from $5 to *6$",
}


@pytest.mark.parametrize(("head", "marked"), TABLES["mark formulas finds those that scripts of the page look for"])
def test_mark_formulas_finds_those_that_scripts_of_the_page_look_for(head: str, marked: str, tmp_path: Path) -> None:
    (tmp_path / "js").mkdir()
    (tmp_path / "js/mathjax.js").write_text(DOLLARS)
    read_script = partial(read_site_script, tmp_path, "https://site.example/d/", "")
    html = f"<html><head>{head}</head><body><main><p>{TEXT}</p></main></body></html>"
    page = parse_document(html)
    article = find_article(page).find(".//p[last()]")
    assert article is not None
    assert mark_formulas(article, page, read_script) == (marked != "none")
    assert convert_body(article) == MARKED[marked]
    assert convert_body(reconcile_formulas(f"<p>{TEXT}</p>", html, read_script)) == MARKED[marked]


@pytest.mark.parametrize(("article", "markdown"), TABLES["mark formulas leaves code and other text alone"])
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
    page = parse_page(Response(url, 200, f"<title>T</title>{MATHJAX}<main><p>$$a_1 * b$$</p></main>".encode()), url)
    assert convert_body(page.article) == "$$a_1 * b$$"
